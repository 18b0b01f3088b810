package claude

import (
	"bufio"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
)

// recordedOfOthers is a payload that another agent gave to a hook, one for each
// of its events and sets of members.
type recordedOfOthers struct {
	Agent   string          `json:"agent"`
	Event   string          `json:"event"`
	Payload json.RawMessage `json:"payload"`
}

func otherPayloads(t *testing.T) []recordedOfOthers {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "tables", "otheragents.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []recordedOfOthers
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recordedOfOthers
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	if err := lines.Err(); err != nil || len(out) < 50 {
		t.Fatalf("%d payloads, %v", len(out), err)
	}
	return out
}

func none(string) string { return "" }

// nestedIn is the environment of a Claude Code that was started in the terminals of
// all the other agents, which hand on their variables.
func nestedIn(name string) string {
	return map[string]string{
		"COPILOT_CLI": "1", "QWEN_CODE_SESSION_ID": "q", "GEMINI_SESSION_ID": "g", "session_id": "d", "FACTORY_PROJECT_DIR": "/w",
		"CLAUDE_PROJECT_DIR": "/w",
	}[name]
}

func TestPayloadsOfOtherAgentsAreRecognised(t *testing.T) {
	for _, r := range otherPayloads(t) {
		want := r.Agent
		if r.Event == "U-UserPromptSubmit" { // VS Code's is the same
			want = hook.CopilotOrVSCode
		}
		if got := peek(r.Payload, r.Event).Agent; got != want {
			t.Errorf("%s %s: recognised as %q: %s", r.Agent, r.Event, got, r.Payload)
		}
		if got := PeekIn(nestedIn)(r.Payload, r.Event).Agent; got != r.Agent {
			t.Errorf("%s %s in another's terminal: recognised as %q: %s", r.Agent, r.Event, got, r.Payload)
		}
	}
}

func TestClaudeCodePayloadsAreRecognisedInAnyTerminal(t *testing.T) {
	for _, f := range fixtures(t) {
		for name, env := range map[string]func(string) string{"none": none, "nested": nestedIn} {
			if got := PeekIn(env)(f.Raw.Payload, f.Raw.Event).Agent; got != "" {
				t.Errorf("%s with environment %s: recognised as %q", path.Join(f.Folder, f.Name), name, got)
			}
		}
	}
}

func TestAgentOfAPayload(t *testing.T) {
	const s = `"session_id":"s","hook_event_name":"PreToolUse","cwd":"/w"`
	transcript := func(path string) string { return `{` + s + `,"transcript_path":` + quote(path) + `}` }
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, c := range []struct {
		name, payload string
		env           func(string) string
		want          string
	}{
		{"Claude Code's own folder", transcript("/home/u/.claude/projects/-w/s.jsonl"), nestedIn, ""},
		{"CLAUDE_CONFIG_DIR", transcript("/data/cc/projects/-w/s.jsonl"), nestedIn, ""},
		{"CLAUDE_CONFIG_DIR in another agent's folder", transcript("/home/u/.codex/claude/projects/-w/s.jsonl"), nestedIn, ""},
		{"Windows", transcript(`C:\Users\u\.claude\projects\C--w\s.jsonl`), nestedIn, ""},
		{"a resumed session's transcript has another name", transcript("/home/u/.claude/projects/-w/older.jsonl"), nestedIn, ""},
		{"a project named after another agent", transcript("/home/u/.claude/projects/-home-u--codex/s.jsonl"), nestedIn, ""},
		{"a time that a later Claude Code may send", `{` + s + `,"timestamp":"2026-11-22T10:00:00Z","turn_id":"x","transcript_path":"/h/.claude/projects/-w/s.jsonl"}`, nestedIn, ""},
		{"CODEX_HOME", transcript("/data/cx/sessions/2026/11/22/rollout-2026-11-22T14-11-00-0.jsonl"), none, "codex"},
		{"Codex on Windows", transcript(`C:\Users\u\.codex\sessions\2026\11\22\rollout-x.jsonl`), none, "codex"},
		{"Codex without a transcript", `{` + s + `,"transcript_path":null,"turn_id":"t","model":"m"}`, none, "codex"},
		{"Qwen Code's files elsewhere", transcript("/data/q/projects/-w/chats/s.jsonl"), none, "qwen"},
		{"Qwen Code's folder", transcript("/home/u/.qwen/tmp/s.jsonl"), none, "qwen"},
		{"CLAUDE_CONFIG_DIR is Qwen Code's folder", transcript("/home/u/.qwen/projects/-w/s.jsonl"), none, ""},
		{"CLAUDE_CONFIG_DIR is Codex's folder", transcript("/home/u/.codex/projects/-w/s.jsonl"), nestedIn, ""},
		{"Claude Code's effort, a transcript in another agent's folder", `{` + s + `,"effort":{"level":"high"},"transcript_path":"/h/.codex/x/projects/-w/s/subagents/agent-1.jsonl"}`, nestedIn, ""},
		{"Claude Code's prompt, a transcript with Codex's name", `{` + s + `,"prompt_id":"0198","transcript_path":"/h/x/rollout-1.jsonl"}`, none, ""},
		{"Qwen Code's prompt", `{` + s + `,"prompt_id":"s########3"}`, none, "qwen"},
		{"Gemini's files elsewhere", transcript("/data/g/tmp/ws/chats/session-2026-11-22T14-22-17de.jsonl"), none, "gemini"},
		{"COPILOT_HOME", transcript("/data/c/session-state/s/events.jsonl"), none, "copilot"},
		{"Factory's folder", transcript("/home/u/.factory/sessions/-w/s.jsonl"), none, "droid"},
		{"Droid's permission mode", `{` + s + `,"permission_mode":"auto-high"}`, none, "droid"},
		{"VS Code without a transcript", `{` + s + `,"timestamp":"2026-11-22T10:00:00Z","tool_use_id":"t"}`, none, "vscode"},
		{"VS Code without a project", `{"session_id":"s","hook_event_name":"UserPromptSubmit","timestamp":"2026-11-22T10:00:00Z","prompt":"go"}`, none, "vscode"},
		{"VS Code's older form", `{"sessionId":"s","hookEventName":"Stop","cwd":"/w","timestamp":"2026-11-22T10:00:00Z"}`, none, "vscode"},
		{"VS Code in Copilot's terminal", transcript("/c/User/workspaceStorage/1/GitHub.copilot-chat/transcripts/s.jsonl"), nestedIn, "vscode"},
		{"a time and a permission mode", `{` + s + `,"timestamp":"2026-11-22T10:00:00Z","permission_mode":"default","transcript_path":"/t/s.jsonl"}`, none, ""},
		{"Gemini's start in an unknown place", `{"session_id":"s","hook_event_name":"SessionStart","source":"startup","timestamp":"2026-11-22T10:00:00Z","transcript_path":"/t/s.json"}`, env("GEMINI_SESSION_ID", "s"), "gemini"},
		{"Cursor", `{"conversation_id":"s","hook_event_name":"stop","workspace_roots":[]}`, none, "cursor"},
		{"camel case", `{"sessionId":"s","hookName":"x","cwd":"/w"}`, none, "copilot"},

		// Only the environment shows it.
		{"no sign", `{` + s + `}`, none, ""},
		{"no sign, a transcript in an unknown place", transcript("/t/s1.jsonl"), nestedIn, ""},
		{"Copilot runs the hook", `{` + s + `}`, env("COPILOT_CLI", "1"), "copilot"},
		{"Copilot's terminal, Claude Code's effort", `{` + s + `,"effort":{"level":"high"}}`, nestedIn, ""},
		{"Copilot's terminal, Claude Code's prompt", `{` + s + `,"prompt_id":"0198"}`, nestedIn, ""},
		{"Qwen Code runs the hook", transcript("/t/s1.jsonl"), env("QWEN_CODE_SESSION_ID", "s"), "qwen"},
		{"Qwen Code's terminal", transcript("/t/s1.jsonl"), env("QWEN_CODE_SESSION_ID", "another"), ""},
		{"Gemini runs the hook", transcript("/t/s1.jsonl"), env("GEMINI_SESSION_ID", "s"), "gemini"},
		{"Droid runs the hook", transcript("/t/s1.jsonl"), env("FACTORY_PROJECT_DIR", "/w", "session_id", "s"), "droid"},
		{"the user's own variable session_id", transcript("/t/s1.jsonl"), env("session_id", "s"), ""},
		{"a time alone, as in Cline's payloads", `{"taskId":"1","hookName":"PreToolUse","timestamp":"1795175957341"}`, none, ""},
		{"not JSON", "hello", nestedIn, ""},
		{"nothing", "", nestedIn, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := PeekIn(c.env)([]byte(c.payload), "PreToolUse").Agent; got != c.want {
				t.Errorf("recognised as %q, want %q: %s", got, c.want, c.payload)
			}
		})
	}
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `\`, `\\`) + `"` }

func TestSilenceIsAnObjectForQwenCodeAlone(t *testing.T) {
	for agent, want := range map[string]string{"codex": "", "copilot": "", "droid": "", "gemini": "", "qwen": "{}\n"} {
		if got := string(Silence(agent)); got != want {
			t.Errorf("%s is answered %q, want %q", agent, got, want)
		}
	}
}

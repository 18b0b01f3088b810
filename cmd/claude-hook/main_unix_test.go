//go:build !windows

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/spooltest"
)

const stopEvent = `{"session_id":"s1","prompt_id":"p1","cwd":"/w","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"done"}`

// stored is an event as the spool has it.
type stored struct {
	Host, Session, Event string
	Raw                  bool
	Cut                  int64
	Call                 string // the payload's tool_use_id
}

// TestClaudeHookSaysNothing starts the program as Claude Code does. Whatever
// comes, both outputs stay empty, the exit code is 0, and the event is kept.
func TestClaudeHookSaysNothing(t *testing.T) {
	program := built(t)
	large := fmt.Sprintf(`{"session_id":"s1","hook_event_name":"PostToolUse","tool_name":"Bash","tool_response":{"stdout":"%s"},"tool_use_id":"t1"}`,
		strings.Repeat("a line of text\\n", 5<<20/16))
	many := fmt.Sprintf(`{"session_id":"s1","hook_event_name":"PostToolUse","tool_name":"Glob","tool_response":{"filenames":[%s""]},"tool_use_id":"t2"}`,
		strings.Repeat(`"/w/some/file.go",`, 5<<20/18))
	for name, tc := range map[string]struct {
		payload string
		args    []string
		environ []string
		want    stored
	}{
		"an event":             {stopEvent, []string{"Stop"}, nil, stored{Session: "s1", Event: "Stop"}},
		"no argument":          {stopEvent, nil, nil, stored{Session: "s1", Event: "Stop"}},
		"an unknown event":     {`{"session_id":"s1","hook_event_name":"PreDream"}`, []string{"PreDream"}, nil, stored{Session: "s1", Event: "PreDream"}},
		"nothing":              {"", []string{"SessionEnd"}, nil, stored{Event: "SessionEnd", Raw: true}},
		"a torn payload":       {stopEvent[:60], []string{"Stop"}, nil, stored{Session: "s1", Event: "Stop", Raw: true}},
		"garbage":              {strings.Repeat("\xff\x00", 1000), []string{"PreToolUse"}, nil, stored{Event: "PreToolUse", Raw: true}},
		"5 MB":                 {large, []string{"PostToolUse"}, nil, stored{Session: "s1", Event: "PostToolUse", Cut: int64(len(large)), Call: "t1"}},
		"5 MB of short texts":  {many, []string{"PostToolUse"}, nil, stored{Session: "s1", Event: "PostToolUse", Cut: int64(len(many)), Call: "t2"}},
		"5 MB of garbage":      {strings.Repeat("garbage ", 5<<20/8), []string{"PostToolUse"}, nil, stored{Event: "PostToolUse", Raw: true, Cut: 5 << 20}},
		"a script of the user": {stopEvent, []string{"Stop"}, []string{"HOOKSPAN_CHAIN=/bin/echo"}, stored{Session: "s1", Event: "Stop"}},
		"wrong settings":       {stopEvent, []string{"Stop"}, []string{"HOOKSPAN_CAPTURE=x", "GOGC=x"}, stored{Session: "s1", Event: "Stop"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			cmd := command(t, program, root, tc.payload, tc.args...)
			cmd.Env = append(cmd.Env, tc.environ...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil {
				t.Errorf("ends with %v", err)
			}
			if stdout.Len() > 0 || stderr.Len() > 0 {
				t.Errorf("stdout %q, stderr %q; want nothing", &stdout, &stderr)
			}
			tc.want.Host = hook.HostClaude
			if diff := cmp.Diff([]stored{tc.want}, events(t, root)); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

// TestClaudeHookLeavesOtherAgentsAlone starts the program as other agents do that
// have taken over Claude Code's entries.
func TestClaudeHookLeavesOtherAgentsAlone(t *testing.T) {
	program := built(t)
	const copilot = `{"hook_event_name":"Stop","session_id":"s1","timestamp":"2026-11-22T14:11:00.000Z","cwd":"/w"}`
	for name, tc := range map[string]struct {
		payload string
		environ []string
		out     string
		events  int
	}{
		"Codex":           {`{"session_id":"s1","turn_id":"t","transcript_path":null,"hook_event_name":"Stop"}`, nil, "", 0},
		"Qwen Code":       {`{"session_id":"s1","prompt_id":"s1########1","hook_event_name":"Stop"}`, nil, "{}\n", 0},
		"Copilot":         {copilot, nil, "", 0},
		"Kimi Code":       {`{"session_id":"s1","client_type":"kimi_code_cli","hook_event_name":"UserPromptSubmit","prompt":[]}`, nil, "", 0},
		"by environment":  {`{"session_id":"s1","transcript_path":"/t/s1","hook_event_name":"Stop"}`, []string{"GEMINI_SESSION_ID=s1"}, "", 0},
		"another session": {`{"session_id":"s1","transcript_path":"/t/s1","hook_event_name":"Stop"}`, []string{"GEMINI_SESSION_ID=s2"}, "", 2},
		"Claude Code in their terminal": {
			`{"session_id":"s1","transcript_path":"/h/.claude/projects/-w/s1.jsonl","hook_event_name":"Stop"}`,
			[]string{"COPILOT_CLI=1", "GEMINI_SESSION_ID=s1", "QWEN_CODE_SESSION_ID=s1"},
			"", 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for range 2 {
				cmd := command(t, program, root, tc.payload, "Stop")
				cmd.Env = append(cmd.Env, tc.environ...)
				if out, err := cmd.CombinedOutput(); err != nil || string(out) != tc.out {
					t.Errorf("ends with %v, output %q, want %q", err, out, tc.out)
				}
			}
			if got := events(t, root); len(got) != tc.events {
				t.Errorf("stored %v, want %d events", got, tc.events)
			}
			log, _ := os.ReadFile(filepath.Join(root, "state", "hookspan", "hookspan.log"))
			lines := strings.Count(string(log), "it is not recorded (said once)")
			if want := 1 - min(1, tc.events); lines != want {
				t.Errorf("the log says so %d times, want %d: %s", lines, want, log)
			}
		})
	}
}

// TestClaudeHookRecordsOtherAgents starts the program as Qwen Code and Codex do, and as a
// Claude Code that has taken over their entries.
func TestClaudeHookRecordsOtherAgents(t *testing.T) {
	program := built(t)
	const (
		stop       = `{"session_id":"s1","prompt_id":"s1########1","hook_event_name":"Stop"}`
		geminiStop = `{"session_id":"s1","transcript_path":"/home/dev/.gemini/tmp/p/chats/session-1-s1.jsonl","hook_event_name":"AfterAgent"}`
		kimiPrompt = `{"session_id":"s1","client_type":"kimi_code_cli","hook_event_name":"UserPromptSubmit","prompt":[]}`
		codexStop  = `{"session_id":"s1","turn_id":"t1","transcript_path":null,"hook_event_name":"Stop"}`
	)
	for name, tc := range map[string]struct {
		word, payload, out string
		want               []stored
	}{
		"an event":                    {"qwen", stop, "{}\n", []stored{{Host: hook.HostQwen, Session: "s1", Event: "Stop"}}},
		"nothing":                     {"qwen", "", "{}\n", []stored{{Host: hook.HostQwen, Event: "Stop", Raw: true}}},
		"a torn payload":              {"qwen", stop[:40], "{}\n", []stored{{Host: hook.HostQwen, Session: "s1", Event: "Stop", Raw: true}}},
		"Claude Code's, to Qwen Code": {"qwen", stopEvent, "", nil},
		"Codex's":                     {"codex", codexStop, "", []stored{{Host: hook.HostCodex, Session: "s1", Event: "Stop"}}},
		"nothing from Codex":          {"codex", "", "", []stored{{Host: hook.HostCodex, Event: "Stop", Raw: true}}},
		"Kimi Code's":                 {"kimi", kimiPrompt, "", []stored{{Host: hook.HostKimi, Session: "s1", Event: "Stop"}}},
		"Claude Code's, to Kimi Code": {"kimi", stopEvent, "", nil},
		"Claude Code's, to Codex":     {"codex", stopEvent, "", nil},
		"Gemini CLI's":                {"gemini", geminiStop, "", []stored{{Host: hook.HostGemini, Session: "s1", Event: "Stop"}}},
		"Claude Code's, to Gemini":    {"gemini", stopEvent, "", nil},
		"Gemini CLI's, to Codex":      {"codex", geminiStop, "", nil},
		"Qwen Code's, to Codex":       {"codex", stop, "{}\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if out, err := command(t, program, root, tc.payload, tc.word, "Stop").CombinedOutput(); err != nil || string(out) != tc.out {
				t.Errorf("ends with %v, output %q, want %q", err, out, tc.out)
			}
			if diff := cmp.Diff(tc.want, events(t, root)); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

// TestClaudeHookWithoutAHomeWritesNowhere starts it in a folder that must stay empty, for
// its own agent and for others.
func TestClaudeHookWithoutAHomeWritesNowhere(t *testing.T) {
	program := built(t)
	for _, home := range []string{"HOME=relative", "HOME=."} {
		for _, a := range hook.Agents() {
			args := append(strings.Fields(a.Argument()), "PreToolUse")
			if a.Program != hook.ProgramClaude {
				continue
			}
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), program, args...)
			cmd.Dir, cmd.Env = dir, []string{home, "PATH=/usr/bin:/bin"}
			cmd.Stdin = strings.NewReader(stopEvent)
			if err := cmd.Run(); err != nil {
				t.Errorf("%s %v: %v", home, args, err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%s %v: wrote %v, %v", home, args, left, err)
			}
		}
	}
}

// TestClaudeHookKeepsTheProjectsWill switches recording off in the project,
// which is not where the model has moved to.
func TestClaudeHookKeepsTheProjectsWill(t *testing.T) {
	program := built(t)
	for variable, want := range map[string]int{"CLAUDE_PROJECT_DIR": 0, "OTHER_DIR": 1} {
		root, project := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(project, ".hookspan.env"), []byte("HOOKSPAN_DISABLED=true\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := command(t, program, root, stopEvent, "Stop")
		cmd.Env = append(cmd.Env, variable+"="+project)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: ends with %v, output %q", variable, err, out)
		}
		if got := events(t, root); len(got) != want {
			t.Errorf("%s names the project: %d events stored, want %d", variable, len(got), want)
		}
	}
}

func TestClaudeHookHelp(t *testing.T) {
	out, err := command(t, built(t), t.TempDir(), "", "--help").CombinedOutput()
	if want := "usage: claude-hook EVENT < payload\n"; err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("ends with %v, output %q, want it to begin with %q", err, out, want)
	}
}

// built is the program's file.
func built(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "claude-hook")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// command is the program with its folders in root.
func command(t *testing.T, program, root, payload string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Stdin = root, strings.NewReader(payload)
	cmd.Env = []string{
		"HOME=" + root, "XDG_STATE_HOME=" + filepath.Join(root, "state"), "XDG_CONFIG_HOME=" + filepath.Join(root, "config"),
	}
	return cmd
}

// events are all that the spool below root holds.
func events(t *testing.T, root string) []stored {
	t.Helper()
	var all []stored
	for _, rec := range spooltest.Records(t, filepath.Join(root, "state", "hookspan", "spool")) {
		var p struct {
			Call string `json:"tool_use_id"`
		}
		if err := json.Unmarshal(rec.Payload, &p); err != nil && !rec.Raw {
			t.Error(err)
		}
		all = append(all, stored{rec.Host, rec.Session, rec.Event, rec.Raw, rec.Cut, p.Call})
	}
	return all
}

// TestClaudeHookReadsLines starts the program as opencode's plugin does, which writes
// events as long as opencode runs.
func TestClaudeHookReadsLines(t *testing.T) {
	const prompt = `{"session":"s1","type":"message.part.updated","turn":"m1","message":{"id":"m1"},"part":{"type":"text","text":"go"}}`
	for name, tc := range map[string]struct {
		lines string
		want  []stored
	}{
		"nothing": {"", nil},
		"a turn": {
			prompt + "\n" + `{"session":"s1","type":"session.idle","turn":"m1"}` + "\n",
			[]stored{{Event: "message.part.updated", Session: "s1"}, {Event: "session.idle", Session: "s1"}},
		},
		"a turn that is cut off": {
			prompt + "\n", []stored{{Event: "message.part.updated", Session: "s1"}, {Event: "hookspan.stream_ended", Session: "s1"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if out, err := command(t, built(t), root, tc.lines, "opencode").CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("ends with %v, output %q", err, out)
			}
			for i := range tc.want {
				tc.want[i].Host = hook.HostOpencode
			}
			if diff := cmp.Diff(tc.want, events(t, root)); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

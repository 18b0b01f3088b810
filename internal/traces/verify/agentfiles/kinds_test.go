package agentfiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func write(t *testing.T, home, path, text string) {
	t.Helper()
	path = filepath.Join(home, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestUnknownKindsAreCounted has a row of a kind of the future in the files of each agent: with
// a role, it may be work.
func TestUnknownKindsAreCounted(t *testing.T) {
	files := map[string]struct{ path, row string }{
		"claude-code": {".claude/projects/-w/s.jsonl", `{"type":"new-kind","sessionId":"s"`},
		"codex":       {".codex/sessions/rollout-2026-01-01T00-00-00-01a20018-0000-7000-8000-000000000000.jsonl", `{"type":"new-kind","timestamp":"2026-01-01T00:00:00Z","payload":{}`},
		"copilot-cli": {".copilot/session-state/s/events.jsonl", `{"type":"new-kind","data":{}`},
		"gemini-cli":  {".gemini/tmp/p/chats/session-1.jsonl", `{"type":"new-kind","sessionId":"s"`},
		"kimi-code":   {".kimi-code/sessions/w/s/agents/main/wire.jsonl", `{"type":"new-kind"`},
		"qwen-code":   {".qwen/projects/p/chats/s.jsonl", `{"type":"new-kind","sessionId":"s"`},
		"pi":          {".pi/agent/sessions/-w/1_s.jsonl", `{"type":"new-kind","timestamp":"2026-01-01T00:00:00Z"`},
		"cline":       {".cline/data/tasks/1795175957341/ui_messages.json", `{"ts":1,"type":"say","say":"new-kind"`},
		"cline asks":  {".cline/data/tasks/1795175957341/ui_messages.json", `{"ts":1,"type":"ask","ask":"new-kind"`},
	}
	for _, a := range hook.Agents() {
		if _, ok := files[a.Host]; !ok && a.Plugin == "" {
			t.Errorf("no file of %s with a row of an unknown kind; kinds.txt has those that are known", a.Host)
		}
	}
	for name, file := range files {
		host, _, _ := strings.Cut(name, " ")
		for more, counts := range map[string]bool{`}`: false, `,"role":"assistant"}`: true, `,"x":{"tool_call_id":"c1"}}`: true} {
			home := t.TempDir()
			text := file.row + more + "\n" + file.row + more + "\n"
			if strings.HasSuffix(file.path, ".json") {
				text = "[" + file.row + more + "," + file.row + more + "]"
			}
			write(t, home, file.path, text)
			got, err := Read(t.Context(), host, Env{Home: home})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Unknown) != 1 || got.Unknown[0].Kind != "new-kind" || got.Unknown[0].Count != 2 || got.Unknown[0].Counts != counts {
				t.Errorf("%s with %s: unknown %v", host, more, got.Unknown)
			}
		}
	}
}

// TestLinkedFoldersAreReadOnce has the places where agents look: links to folders, one of them
// under a second name and one to itself, and a database that the environment names.
func TestLinkedFoldersAreReadOnce(t *testing.T) {
	const answer = `{"type":"assistant","sessionId":"s","timestamp":"2026-01-01T00:00:01Z","message":{"id":"m1","model":"m","usage":{"input_tokens":1,"output_tokens":2},"content":[]}}` + "\n"
	home := t.TempDir()
	write(t, home, "elsewhere/projects/-w/s.jsonl", answer)
	write(t, home, "moved/t.jsonl", `{"type":"user","sessionId":"t","timestamp":"2026-01-01T00:00:01Z","message":{"role":"user","content":"go"}}`+"\n")
	for name, to := range map[string]string{
		".claude": "elsewhere", "elsewhere/projects/-other": "elsewhere/projects/-w", "elsewhere/projects/-moved": "moved", "elsewhere/projects/loop": "elsewhere",
	} {
		if err := os.Symlink(filepath.Join(home, filepath.FromSlash(to)), filepath.Join(home, filepath.FromSlash(name))); err != nil {
			skip.Elsewhere(t, "no links: %v", err)
		}
	}
	env := Env{Home: home, Getenv: func(key string) string {
		return map[string]string{"CLAUDE_CONFIG_DIR": filepath.Join(home, "elsewhere") + "/"}[key]
	}}
	got, err := Read(t.Context(), "claude-code", env)
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Sessions["s"]; s == nil || len(s.Files) != 1 || got.Sessions["t"] == nil {
		t.Errorf("sessions %v, want s and t, once each", got.Sessions)
	}
}

// TestWhatAKilledWriterLeftIsAPart distinguishes lines of which nothing was read from the begin
// of a row in front of a whole one, and from JSON that is no row.
func TestWhatAKilledWriterLeftIsAPart(t *testing.T) {
	const row = `{"type":"user","sessionId":"s","timestamp":"2026-01-01T00:00:01Z","message":{"role":"user","content":"go"}}`
	for text, part := range map[string]bool{
		row + "\n" + `{"type":"assist` + row + "\n":                           true,
		row + "\n" + "null\n[]\n\"x\"\n17\n":                                  true,
		row + "\n" + `{"type":"assistant","sessionId":"s","mess` + "\n" + row: false,
		row + "\n" + "\x01\x02 nothing\n" + row:                               false,
	} {
		home := t.TempDir()
		write(t, home, ".claude/projects/-w/s.jsonl", text)
		got, err := Read(t.Context(), "claude-code", Env{Home: home})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Unread) != 1 || got.Unread[0].Part != part {
			t.Errorf("%q: unread %+v, want one with Part %v", text, got.Unread, part)
		}
	}
}

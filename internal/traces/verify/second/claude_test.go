package second

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNoteBehindAnInterruptIsNoAnswer has what Claude Code writes when a session is resumed
// whose last turn was interrupted, and a request that failed.
func TestNoteBehindAnInterruptIsNoAnswer(t *testing.T) {
	const prompt = `{"type":"user","timestamp":"2026-11-26T00:00:01Z","sessionId":"s","promptId":"p","message":{"role":"user","content":"go"}}
`
	for name, tt := range map[string]struct {
		rows     string
		answered bool
	}{
		"interrupted": {`{"type":"user","timestamp":"2026-11-26T00:00:02Z","sessionId":"s","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}
{"type":"assistant","timestamp":"2026-11-26T00:00:03Z","sessionId":"s","isApiErrorMessage":false,"message":{"model":"<synthetic>","content":[{"type":"text","text":"No response requested."}]}}
`, false},
		"failed": {`{"type":"assistant","timestamp":"2026-11-26T00:00:03Z","sessionId":"s","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}
`, true},
	} {
		home := t.TempDir()
		path := filepath.Join(home, ".claude", "projects", "p", "s.jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(prompt+tt.rows), 0o600); err != nil {
			t.Fatal(err)
		}
		reading, err := Read(t.Context(), "claude-code", EnvOf(home, nil))
		if err != nil {
			t.Fatal(err)
		}
		s := reading.Sessions["s"]
		if s == nil || len(s.Turns) != 1 || s.Turns[0].Answered != tt.answered || s.Turns[0].Cut == tt.answered {
			t.Errorf("%s: %+v, want a turn that was answered: %v", name, s, tt.answered)
		}
	}
}

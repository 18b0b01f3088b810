package agents

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/transcript"
)

// TestReadersNameUnknownKinds has rows of a kind of the future in the files of each agent: what
// shows that it may be work is named and counted, at its place.
func TestReadersNameUnknownKinds(t *testing.T) {
	const id = "0a000001-0000-4000-8000-000000000001"
	const at = `"timestamp":"2026-01-01T00:00:0`
	for word, tt := range map[string]struct{ path, begin, row string }{
		"claude": {
			".claude/projects/-w/" + id + ".jsonl",
			`{"type":"user","uuid":"u","sessionId":"` + id + `",` + at + `0Z","message":{"role":"user","content":"go"}}`,
			`{"type":"new-kind","sessionId":"` + id + `",` + at + `1Z","message":{`,
		},
		"copilot": {
			".copilot/session-state/" + id + "/events.jsonl",
			`{"type":"user.message",` + at + `0Z","data":{"content":"go"}}`, `{"type":"new-kind",` + at + `1Z","data":{"x":{}`,
		},
		"gemini": {
			".gemini/tmp/p/chats/session-2026-01-01T00-00-0a000001.jsonl",
			`{"sessionId":"` + id + `","projectHash":"x","startTime":"2026-01-01T00:00:00Z","kind":"main"}` + "\n" + `{"id":"u","type":"user",` + at + `0Z","content":"go"}`,
			`{"id":"n","type":"new-kind",` + at + `1Z","message":{`,
		},
		"qwen": {
			".qwen/projects/p/chats/" + id + ".jsonl",
			`{"uuid":"u","type":"user","sessionId":"` + id + `",` + at + `0Z","message":{"role":"user","parts":[{"text":"go"}]}}`,
			`{"uuid":"n","type":"new-kind","sessionId":"` + id + `",` + at + `1Z","message":{`,
		},
	} {
		for more, weighs := range map[string]bool{`"a":1}}`: false, `"role":"assistant"}}`: true, `"usage":{}}}`: true} {
			if word == "copilot" {
				more = "," + more
			}
			home := t.TempDir()
			path := filepath.Join(home, filepath.FromSlash(tt.path))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(tt.begin+"\n"+tt.row+more+"\n"+tt.row+more+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			agent, _ := All().Named(word)
			f := &transcript.Files{Home: home, Getenv: func(string) string { return "" }, GOOS: "linux"}
			tr, err := f.Read(t.Context(), agent.Reader(), transcript.Query{Session: id, Full: true})
			if err != nil {
				t.Fatalf("%s: %v", word, err)
			}
			var got []string
			for _, u := range tr.Unread {
				got = append(got, u.Reason)
				if !u.At.Equal(time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC)) || u.File != path {
					t.Errorf("%s: at %v in %q", word, u.At, u.File)
				}
			}
			if named := slices.Equal(got, []string{"2 of the unknown kind new-kind"}); named != weighs || !weighs && got != nil {
				t.Errorf("%s with %s: %q, named %v", word, more, got, weighs)
			}
		}
	}
}

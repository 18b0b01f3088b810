package agents

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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
			if err := os.WriteFile(path, []byte(tt.begin+"\n"+tt.row+more+"\n"+strings.Replace(tt.row, `:"n"`, `:"m"`, 1)+more+"\n"), 0o600); err != nil {
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

// TestReadersNameUnknownParts has parts of messages of a kind of the future, and what Cline
// shows and asks.
func TestReadersNameUnknownParts(t *testing.T) {
	const id, sdk = "0a000001-0000-4000-8000-000000000001", "1767225600000_abcde"
	const part = `{"type":"text","text":"hi"},{"type":"new-part","x":1},{"type":"new-part"}`
	const start = `[{"ts":1767225600000,"type":"say","say":"task","text":"go"},{"ts":1767225600100,"type":"say","say":"api_req_started","text":"{}"}`
	for name, tt := range map[string]struct {
		word, session, dialect, want string
		files                        map[string]string
	}{
		"claude's answers": {"claude", id, "", "2 of the unknown kind parts/new-part", map[string]string{
			".claude/projects/-w/" + id + ".jsonl": `{"type":"assistant","uuid":"a","sessionId":"` + id + `","timestamp":"2026-01-01T00:00:01Z","message":{"role":"assistant","id":"m","model":"m","usage":{"output_tokens":1},"content":[` + part + "]}}\n",
		}},
		"claude's prompts": {"claude", id, "", "2 of the unknown kind parts/new-part", map[string]string{
			".claude/projects/-w/" + id + ".jsonl": `{"type":"user","uuid":"a","sessionId":"` + id + `","timestamp":"2026-01-01T00:00:01Z","message":{"role":"user","content":[` + part + "]}}\n",
		}},
		"what Cline shows": {"cline", "1767225600000", "classic", "2 of the unknown kind new-kind", map[string]string{
			".cline/data/tasks/1767225600000/ui_messages.json": start + `,{"ts":1767225601000,"type":"say","say":"new-kind","role":"x"},{"ts":1767225602000,"type":"ask","ask":"new-kind","usage":{}},{"ts":1767225603000,"type":"ask","ask":"idle-kind"}]`,
		}},
		"Cline's parts": {"cline", "1767225600000", "classic", "2 of the unknown kind parts/new-part", map[string]string{
			".cline/data/tasks/1767225600000/ui_messages.json":              start + "]",
			".cline/data/tasks/1767225600000/api_conversation_history.json": `[{"role":"user","content":"go"},{"role":"assistant","ts":1767225601000,"content":[` + part + `]}]`,
		}},
		"Cline's messages": {"cline", sdk, "sdk", "1 of the unknown kind messages/new-role, 2 of the unknown kind parts/new-part", map[string]string{
			".cline/data/sessions/" + sdk + "/" + sdk + ".messages.json": `{"messages":[{"role":"user","ts":1767225600000,"content":"go"},{"role":"user","ts":1767225601000,"content":[` + part + `]},{"role":"new-role","ts":1767225601000,"content":"x"}]}`,
		}},
	} {
		home := t.TempDir()
		for path, text := range tt.files {
			path = filepath.Join(home, filepath.FromSlash(path))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		agent, _ := All().Named(tt.word)
		f := &transcript.Files{Home: home, Getenv: func(string) string { return "" }, GOOS: "linux"}
		tr, err := f.Read(t.Context(), agent.Reader(), transcript.Query{Session: tt.session, Dialect: tt.dialect, Full: true})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, u := range tr.Unread {
			got = append(got, u.Reason)
			if !u.At.Equal(time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC)) || u.File == "" {
				t.Errorf("%s: at %v in %q", name, u.At, u.File)
			}
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

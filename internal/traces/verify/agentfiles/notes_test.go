package agentfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// thread returns the name of a file of Codex and its text: of a thread that another one may have
// started, or from which it was forked.
func thread(n, session int, rows string) (name, text string) {
	id := func(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }
	meta := fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:%02dZ","type":"session_meta","payload":{"id":%q,"session_id":%q,"cwd":"/w"}}`, n, id(n), id(session))
	rows = strings.ReplaceAll(rows, "THREAD", id(1))
	return "rollout-2026-01-01T00-00-00-" + id(n) + ".jsonl", meta + "\n" + rows
}

// TestOnlyWhatAChangeConcernsIsReadAgain has a session with a subagent and a fork, one with a
// damaged line, and another one.
func TestOnlyWhatAChangeConcernsIsReadAgain(t *testing.T) {
	const copied = `{"timestamp":"2026-01-01T00:00:03Z","type":"session_meta","payload":{"id":"THREAD"}}` + "\n"
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		change   func(write func(n, session int, rows string), path func(n int) string) error
		sessions []string
		since    time.Time
		read     string
	}{
		"nothing":         {read: "4"},
		"a new session":   {change: func(write func(int, int, string), _ func(int) string) error { write(6, 6, ""); return nil }, read: "4 6"},
		"another session": {change: func(write func(int, int, string), _ func(int) string) error { write(5, 5, "\n"); return nil }, read: "4 5"},
		"a subagent":      {change: func(write func(int, int, string), _ func(int) string) error { write(2, 1, "\n"); return nil }, read: "1 2 3 4"},
		"a new subagent":  {change: func(write func(int, int, string), _ func(int) string) error { write(6, 1, ""); return nil }, read: "1 2 3 4 6"},
		"a new fork":      {change: func(write func(int, int, string), _ func(int) string) error { write(6, 6, copied); return nil }, read: "1 2 3 4 6"},
		"a removed fork":  {change: func(_ func(int, int, string), path func(int) string) error { return os.Remove(path(3)) }, read: "1 2 4"},
		"traces":          {sessions: []string{"00000000-0000-7000-8000-000000000005"}, read: "4 5"},
		"a time before":   {change: func(write func(int, int, string), _ func(int) string) error { write(6, 6, ""); return nil }, since: now, read: "4"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			path := func(n int) string {
				file, _ := thread(n, n, "")
				return filepath.Join(home, ".codex", "sessions", file)
			}
			write := func(n, session int, rows string) {
				t.Helper()
				_, text := thread(n, session, rows)
				at := now.Add(-time.Hour)
				for _, err := range []error{os.MkdirAll(filepath.Dir(path(n)), 0o755), os.WriteFile(path(n), []byte(text), 0o600), os.Chtimes(path(n), at, at)} {
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			reading := func(notes Notes, since time.Time, sessions []string) (*Files, *Reading) {
				t.Helper()
				files, err := Find(t.Context(), "codex", Env{Home: home})
				if err != nil {
					t.Fatal(err)
				}
				read, err := files.Read(t.Context(), notes, since, sessions)
				if err != nil {
					t.Fatal(err)
				}
				return files, read
			}
			write(1, 1, "")
			write(2, 1, "")
			write(3, 3, copied)
			write(4, 4, "torn\n")
			write(5, 5, "")
			files, read := reading(nil, time.Time{}, nil)
			notes := files.Noted(read, nil, now, nil)
			if c.change != nil {
				if err := c.change(write, path); err != nil {
					t.Fatal(err)
				}
			}
			_, read = reading(notes, c.since, c.sessions)
			var got []string
			for n := range 7 {
				if _, ok := read.notes[path(n)]; ok {
					got = append(got, fmt.Sprint(n))
				}
			}
			if want := strings.Fields(c.read); !slices.Equal(got, want) {
				t.Errorf("read %v, want %v", got, want)
			}
		})
	}
}

// TestFilesThatMayStillChangeAreNotNoted has one that was written after the time.
func TestFilesThatMayStillChangeAreNotNoted(t *testing.T) {
	at := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	files := &Files{all: []found{{"old", 1, at}, {"new", 1, at.Add(time.Second)}}}
	read := &Reading{notes: Notes{"old": {Of: []string{"s"}}, "new": {Of: []string{"s"}}}}
	notes := files.Noted(read, nil, at.Add(time.Second), map[string]bool{"old": true})
	if len(notes) != 1 || !notes.Name(map[string]bool{"old": true}) || notes.Name(map[string]bool{"old": true, "new": true}) {
		t.Errorf("got %+v", notes)
	}
}

package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/transcript"
)

// TestWhatIsNoRowIsNamed has a torn row in the middle, one that is too long, and a last row
// without an end, which may be being written if the file is new.
func TestWhatIsNoRowIsNamed(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".claude", "projects", "-p", "s1.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	row := func(second int) string {
		return fmt.Sprintf(`{"type":"user","sessionId":"s1","uuid":"u%d","timestamp":"2026-01-01T00:00:%02dZ","message":{"role":"user","content":"hi"}}`+"\n", second, second)
	}
	text := row(1) + `{"type":"assist` + "\n" + row(2) + `{"x":"` + strings.Repeat("y", transcript.MaxLine) + "\"}\n" + row(3) + `{"type":"us`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	written := time.Date(2026, 1, 1, 0, 0, 4, 0, time.UTC)
	if err := os.Chtimes(path, written, written); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		now  time.Time
		want string
	}{
		{written.Add(time.Second), "2@2 4@3"},
		{written.Add(24 * time.Hour), "2@2 4@3 6@0"},
	} {
		f := &transcript.Files{Home: home, Now: func() time.Time { return c.now }}
		tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "s1", Full: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range tr.Unread {
			got = append(got, fmt.Sprintf("%d@%d", u.Line, u.At.Second()))
			if u.File != path || u.Reason == "" {
				t.Errorf("%+v", u)
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("at %s: %q, want %q", c.now, got, c.want)
		}
	}
}

// Of a damaged line only what has what all rows have is a row, not an object within one.
func TestWholeRows(t *testing.T) {
	for line, want := range map[string]bool{
		`{"type":"user","timestamp":"2026-11-20T10:00:00Z"}`:                 true,
		`{"type":"user","sessionId":"s"}`:                                    true,
		`{"type":"text","text":"within a message"}`:                          false,
		`{"timestamp":"2026-11-20T10:00:00Z","sessionId":"s","message":"x"}`: false,
	} {
		var r row
		if got := r.parse([]byte(line)) && r.whole(); got != want {
			t.Errorf("%s: whole = %t, want %t", line, got, want)
		}
	}
}

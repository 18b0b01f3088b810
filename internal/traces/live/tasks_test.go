package live

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/spool"
)

// TestTasksEndByTheFiles looks at tasks whose ends no event reports.
func TestTasksEndByTheFiles(t *testing.T) {
	begin := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	file := filepath.Join(t.TempDir(), "session.jsonl")
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write("prompt", begin)
	event := func(session string, kind hook.Kind, after time.Duration) Event {
		return Event{Key: spool.Key{Host: session, Name: session}, Event: hook.Event{Host: session, Session: session, Kind: kind, StoredAt: begin.Add(after), Transcript: file}}
	}
	asked := 0
	tasks := Tasks{Idle: time.Hour, End: func(e *Event) (hook.Kind, time.Time, bool) {
		asked++
		b, err := os.ReadFile(e.Transcript)
		if err != nil || string(b) != "interrupted" || e.Session == "mute" {
			return hook.KindUnknown, time.Time{}, e.Session != "mute"
		}
		return hook.KindRunCancel, begin.Add(time.Minute), true
	}}
	for _, session := range []string{"open", "ended", "mute"} {
		tasks.Note(event(session, hook.KindPrompt, 0))
	}
	tasks.Note(event("ended", hook.KindRunComplete, time.Second))
	tasks.Note(event("other", hook.KindToolStart, time.Second))
	var seen []string
	look := func(after time.Duration) bool {
		t.Helper()
		again, err := tasks.Look(begin.Add(after), func(e Event) error {
			seen = append(seen, e.Session+" "+e.Kind.String())
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return again
	}
	if !look(time.Second) || asked != 2 {
		t.Errorf("asked %d times, want twice: of the open task and of the one whose agent does not tell", asked)
	}
	if !look(2*time.Second) || asked != 2 {
		t.Errorf("asked %d times although nothing was written", asked)
	}
	write("interrupted", begin.Add(time.Minute))
	if look(2 * time.Minute); !slices.Equal(seen, []string{"open " + hook.KindRunCancel.String()}) {
		t.Errorf("saw %v", seen)
	}
	tasks.Note(event("open", hook.KindPrompt, 0))
	if look(2*time.Hour) || asked != 3 {
		t.Errorf("an idle task is at work still; asked %d times", asked)
	}
}

package view

import (
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// EventFilter selects lines. Its zero value selects all.
type EventFilter struct {
	// Host is the agent's, Session the beginning or the end of a session's id.
	Host, Session string
	// In has the folder to be in, Folder the name of one.
	In     store.Filter
	Folder string
	// Failed selects what failed or was denied.
	Failed bool
}

// Wants reports whether the filter selects a line.
func (f *EventFilter) Wants(l *EventLine) bool {
	return (f.Host == "" || l.Agent == f.Host) && (strings.HasPrefix(l.Session, f.Session) || strings.HasSuffix(l.Session, f.Session)) &&
		(f.Folder == "" || slices.Contains(strings.FieldsFunc(l.Directory, func(r rune) bool { return r == '/' || r == '\\' }), f.Folder)) &&
		f.In.In(l.Directory) && (!f.Failed || l.End.Bad())
}

// EventTail has the lines of the last events shown, and then those of each further one.
type EventTail struct {
	Filter EventFilter
	// Last is how many lines of what is there are shown.
	Last int
	// Show shows a line. Asks is called before that for one from which on an agent waits for
	// its user, once: it may ask and notify about one thing. If nil, nothing is.
	Show func(EventLine) error
	Asks func(*EventLine)

	lines    EventLines
	recent   []EventLine
	caughtUp bool
	waiting  map[string]bool // sessions
}

// Add takes the next event. Without texts, its line has none.
func (t *EventTail) Add(e *hook.Event, texts bool) error {
	l, ok := t.lines.Of(e)
	if !ok || !t.Filter.Wants(&l) {
		return nil
	}
	if !texts {
		l.Blank()
	}
	if !t.caughtUp {
		t.recent = append(t.recent, l)
		return nil
	}
	if l.Waiting && !t.waiting[l.Session] && t.Asks != nil {
		t.Asks(&l)
	}
	t.waiting[l.Session] = l.Waiting
	return t.Show(l)
}

// CaughtUp shows the last lines of what was there.
func (t *EventTail) CaughtUp() error {
	for _, l := range t.recent[max(0, len(t.recent)-t.Last):] {
		if err := t.Show(l); err != nil {
			return err
		}
	}
	t.caughtUp, t.recent, t.waiting = true, nil, make(map[string]bool)
	return nil
}

package view

import (
	"bufio"
	"cmp"
	"fmt"
	"io"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// Blamed is a commit that some lines of a file are from, one after the other.
type Blamed struct {
	From int `json:"from"`
	To   int `json:"to"`
	// Commit is its id, and Subject the first line of its message.
	Commit  string `json:"commit"`
	Subject string `json:"subject"`
	// Task is the one with the call that made the commit, nil if none was recorded.
	Task *store.Summary `json:"task"`
}

// Blame writes one line for each commit, with the task that made it.
func Blame(w io.Writer, lines []Blamed, o Options) error {
	t := &table{style: newStyle(o)}
	add := columnsOf(t, lines)
	of := func(part func(*store.Summary) string) func(l *Blamed) (string, string) {
		return func(l *Blamed) (string, string) {
			if l.Task == nil {
				return "-", sgrDim
			}
			return cmp.Or(termtext.Line(part(l.Task)), "-"), ""
		}
	}
	add(&column{name: "LINES", right: true}, func(l *Blamed) (string, string) {
		if l.From == l.To {
			return fmt.Sprint(l.From), ""
		}
		return fmt.Sprintf("%d-%d", l.From, l.To), ""
	})
	add(&column{name: "COMMIT"}, func(l *Blamed) (string, string) { return termtext.CutWidth(l.Commit, shortID, ""), sgrBold })
	add(&column{name: "TASK"}, of(func(s *store.Summary) string { return termtext.CutWidth(s.TraceID, shortID, "") }))
	add(&column{name: "STARTED", order: 2}, func(l *Blamed) (string, string) {
		if l.Task == nil {
			return "-", sgrDim
		}
		return t.age(l.Task.Started), sgrDim
	})
	add(&column{name: "AGENT", order: 3}, of(func(s *store.Summary) string { return s.Host }))
	add(&column{name: "MODEL", order: 1}, of(func(s *store.Summary) string { return s.Model }))
	add(&column{name: "PROMPT", least: minTitle}, func(l *Blamed) (string, string) {
		if l.Task == nil {
			return "not recorded: " + termtext.Line(l.Subject), sgrDim
		}
		return cmp.Or(termtext.Line(l.Task.Title), "-"), ""
	})
	b := bufio.NewWriter(w)
	t.draw(b)
	return b.Flush()
}

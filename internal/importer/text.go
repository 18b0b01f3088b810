package importer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/termtext"
)

// Text shows the report to people, without the unreadable sessions. retention is
// how long the local store keeps traces.
func (r *Report) Text(retention time.Duration) string {
	var b strings.Builder
	line := func(name, text string) { fmt.Fprintf(&b, "%-9s %s\n", name, text) }
	sessions := termtext.Plural(r.Sessions, "session") + " read"
	if r.Unchanged > 0 {
		sessions += fmt.Sprintf(", %d unchanged", r.Unchanged)
	}
	line("sessions", sessions)
	what := "nothing to import"
	if r.Runs > 0 {
		what = fmt.Sprintf("%s of %s, %s, %s to %s", termtext.Plural(r.Runs, "trace"), termtext.Plural(r.NewSessions, "session"),
			termtext.Plural(r.Spans, "span"), r.First.Local().Format(time.DateOnly), r.Last.Local().Format(time.DateOnly))
		if r.DryRun {
			what += " (nothing was sent)"
		}
	}
	line("new", what)
	if left := r.Skipped.texts(); len(left) > 0 {
		line("skipped", strings.Join(left, "; "))
	}
	for _, d := range r.Destinations {
		if r.Runs > 0 || d.Runs+d.Waiting+len(d.Errors) > 0 {
			line(d.Destination, d.text())
			for _, e := range d.Errors {
				line("", "  "+termtext.Value(deliver.WithoutName(e, d.Destination)))
			}
		}
	}
	if !r.KeptUntil.IsZero() {
		line("kept", fmt.Sprintf("until %s on this machine: HOOKSPAN_RETENTION is %s, counted from the import",
			r.KeptUntil.Local().Format(time.DateOnly), days(retention)))
	}
	return b.String()
}

// Waiting reports that a destination has not taken everything and may take it in
// another import.
func (r *Report) Waiting() bool {
	return slices.ContainsFunc(r.Destinations, func(d Delivered) bool { return d.Waiting > 0 })
}

// Stored reports that nothing waits for the local store.
func (r *Report) Stored() bool {
	return !slices.ContainsFunc(r.Destinations, func(d Delivered) bool { return d.Waiting > 0 && d.Destination == storeName })
}

func (s *Skipped) texts() (texts []string) {
	for _, x := range []struct {
		n         int
		what, why string
	}{
		{s.AlreadyThere, "trace", "already there"},
		{s.Captured, "trace", "captured by hooks"},
		{s.Removed, "trace", "deleted before, or removed after HOOKSPAN_RETENTION (--again imports them)"},
		{s.Open, "trace", "still open"},
		{s.TooOld, "trace", "ended before --since"},
		{s.SwitchedOff, "session", "of projects that switched recording off"},
		{s.Inherited, "request", "copied from another session, which counts"},
		{s.Damaged, "line", "damaged, in whole or in part"},
	} {
		if x.n > 0 {
			texts = append(texts, termtext.Plural(x.n, x.what)+" "+x.why)
		}
	}
	return texts
}

func (d *Delivered) text() string {
	var parts []string
	if d.Runs > 0 || d.Waiting == 0 && d.Refused == 0 {
		parts = append(parts, fmt.Sprintf("%s, %s sent", termtext.Plural(d.Runs, "trace"), termtext.Plural(d.Spans, "span")))
	}
	if d.Waiting > 0 {
		parts = append(parts, termtext.Plural(d.Waiting, "trace")+" waiting")
	}
	if d.Refused > 0 {
		parts = append(parts, termtext.Plural(d.Refused, "trace")+" rejected")
	}
	return strings.Join(parts, "; ")
}

// days is a duration, in days if they are whole.
func days(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return termtext.Plural(int(d/(24*time.Hour)), "day")
	}
	return d.String()
}

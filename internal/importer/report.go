package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
)

// Report is what an import did, or would do. Its JSON is stable: members may be
// added, never renamed or given another meaning.
type Report struct {
	Host   string `json:"host"`
	DryRun bool   `json:"dryRun"`
	// Sessions counts the sessions that were read, Unchanged those whose files
	// have not changed since an import that found all their runs known.
	Sessions  int `json:"sessions"`
	Unchanged int `json:"unchangedSessions"`
	// NewSessions, Runs and Spans count what was to be sent: it has not been
	// imported before, nor captured by hooks. First and Last bound it.
	NewSessions int       `json:"newSessions"`
	Runs        int       `json:"tasks"`
	Spans       int       `json:"spans"`
	First       time.Time `json:"first,omitzero"`
	Last        time.Time `json:"last,omitzero"`
	// KeptUntil is when the local store may remove what was imported; zero if it
	// never does.
	KeptUntil time.Time `json:"keptUntil,omitzero"`
	// Skipped counts what was left out.
	Skipped Skipped `json:"skipped"`
	// Destinations are in the order in which they were sent to.
	Destinations []Delivered `json:"destinations,omitempty"`
	// Unreadable are the sessions that could not be read.
	Unreadable []Unreadable `json:"unreadable,omitempty"`

	newest string
}

// Skipped counts the runs that were left out, by reason.
type Skipped struct {
	// AlreadyThere are in the local store under the same id.
	AlreadyThere int `json:"alreadyThere"`
	// Captured were reported by hooks, or are being reported.
	Captured int `json:"captured"`
	// Removed were in the local store until it removed them at the end of the
	// retention.
	Removed int `json:"removed"`
	// Open have not ended.
	Open int `json:"open"`
	// TooOld ended before the requested time, in sessions that continued after
	// it.
	TooOld int `json:"tooOld"`
	// SwitchedOff counts sessions, not runs: recording is switched off for their
	// project.
	SwitchedOff int `json:"switchedOffSessions"`
	// Inherited counts requests in the files of a session that another one counts: it was
	// resumed or forked with a copy of them. Whole runs of them whose original files are
	// gone count as AlreadyThere or Removed.
	Inherited int `json:"inheritedRequests"`
	// Damaged counts lines of which something could not be read.
	Damaged int `json:"damagedLines"`
}

// Delivered is what went to one destination.
type Delivered struct {
	Destination string `json:"destination"`
	// Runs and Spans were taken; where a destination takes a session as one, a
	// run is a session.
	Runs  int `json:"tasks"`
	Spans int `json:"spans"`
	// Waiting were not sent, or not taken and should be tried again.
	Waiting int `json:"waiting"`
	// Refused counts the traces that the destination rejected.
	Refused int `json:"refused"`
	// Errors are what went wrong, one line for each different text, at most ten.
	Errors []string `json:"errors,omitempty"`

	// down reports that nothing more is sent, denials is how often in a row the sender was
	// refused.
	down    bool
	denials int
}

// Unreadable is a session that could not be read.
type Unreadable struct {
	Session string `json:"session"`
	Path    string `json:"path"`
	Error   string `json:"error"`
}

// maxErrors bounds the errors that are kept of one destination.
const maxErrors = 10

func newReport(host string, dry bool, dsts []deliver.Destination) *Report {
	rep := &Report{Host: host, DryRun: dry}
	if dry {
		return rep
	}
	rep.Destinations = make([]Delivered, len(dsts))
	for i := range dsts {
		rep.Destinations[i].Destination = dsts[i].Name
	}
	return rep
}

// Complete reports that nothing failed: no session, no destination.
func (r *Report) Complete() bool {
	return len(r.Unreadable) == 0 && !slices.ContainsFunc(r.Destinations, func(d Delivered) bool {
		return d.Waiting > 0 || d.Refused > 0 || len(d.Errors) > 0
	})
}

// add counts a session and what was left out of it.
func (r *Report) add(f *findings) {
	if f.read {
		r.Sessions++
	}
	if f.unchanged {
		r.Unchanged++
	}
	r.Skipped.AlreadyThere += f.skipped.AlreadyThere
	r.Skipped.Captured += f.skipped.Captured
	r.Skipped.Removed += f.skipped.Removed
	r.Skipped.Open += f.skipped.Open
	r.Skipped.TooOld += f.skipped.TooOld
	r.Skipped.SwitchedOff += f.skipped.SwitchedOff
	r.Skipped.Inherited += f.skipped.Inherited
	r.Skipped.Damaged += f.skipped.Damaged
	if f.unreadable != nil {
		s := f.session
		r.Unreadable = append(r.Unreadable, Unreadable{Session: s.ID, Path: s.Path, Error: f.unreadable.Error()})
	}
}

// found counts runs of a session that are imported.
func (r *Report) found(session string, runs []*tracepb.ResourceSpans) {
	if r.newest != session {
		r.newest = session
		r.NewSessions++
	}
	r.Runs += len(runs)
	r.Spans += otlp.Count(runs)
	for _, run := range runs {
		root := run.GetScopeSpans()[0].GetSpans()[0]
		if start := otlp.Start(root); r.First.IsZero() || start.Before(r.First) {
			r.First = start
		}
		if end := otlp.End(root); end.After(r.Last) {
			r.Last = end
		}
	}
}

// owed adds what became of the traces that earlier imports have left over.
func (r *Report) owed(results []deliver.Result) {
	for _, res := range results {
		for i := range r.Destinations {
			d := &r.Destinations[i]
			if d.Destination != res.Destination {
				continue
			}
			d.Runs, d.Spans, d.Waiting, d.down = res.Runs, res.Spans, res.Waiting, res.Waiting > 0
			for _, text := range res.Errors {
				d.fail(errors.New(text))
			}
		}
	}
}

func (d *Delivered) fail(err error) {
	if t := err.Error(); len(d.Errors) < maxErrors && !slices.Contains(d.Errors, t) {
		d.Errors = append(d.Errors, t)
	}
}

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

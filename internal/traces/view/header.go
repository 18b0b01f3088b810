package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// Header describes a trace in words, each text on one line that is safe for a terminal.
type Header struct {
	Title string
	End   otelmap.End
	// Facts are how it ended, how long it took, when it began, the model, the agent and the
	// runs, Counts the tokens, the cost and the calls.
	Facts, Counts []string
	// Fields are the names by which it is found, and what is missing from it.
	Fields []Field
}

// HeaderOf describes a trace. Its time is in the zone and of the form.
func HeaderOf(s *store.Summary, zone *time.Location, form string) Header {
	var started, runs, missing string
	if !s.Started.IsZero() {
		started = s.Started.In(zone).Format(form)
	}
	if s.Runs > 1 {
		runs = termtext.Plural(s.Runs, "part")
	}
	if s.Evidence != "" && s.Evidence != otelmap.EvidenceComplete {
		missing = s.Evidence + ": " + s.Missing
	}
	h := Header{
		Title: cmp.Or(termtext.Line(s.Title), "untitled"), End: otelmap.OutcomeEnd(s.Outcome), Counts: Counts(s),
		Facts: []string{
			outcomeText(s), duration(s.Duration()), started, termtext.Line(s.Model), termtext.Line(s.Host), runs,
		},
	}
	h.Facts = slices.DeleteFunc(h.Facts, func(f string) bool { return f == "" })
	others := slices.DeleteFunc(slices.Clone(s.Folders), func(dir string) bool { return dir == s.Directory })
	for _, f := range []Field{{"session", s.Session}, {"folder", strings.Join(append([]string{s.Directory}, others...), ", ")}, {"branch", s.Branch}, {"trace", s.TraceID}, {"missing", missing}} {
		if f.Text = termtext.Line(f.Text); f.Text != "" {
			h.Fields = append(h.Fields, f)
		}
	}
	return h
}

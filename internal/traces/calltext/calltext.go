package calltext

import (
	"cmp"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// MaxText is the size in bytes from which a text is cut.
const MaxText = 16 << 20

// Wanted is a call whose texts are looked for.
type Wanted struct {
	ID, Name       string
	Started, Ended time.Time
	// Open reports that the call has not ended, or never did.
	Open bool
	// Preview has the span's texts.
	Preview view.CallText
}

// WantedOf describes the call of a tool span.
func WantedOf(s *tracepb.Span) Wanted {
	one := step.Of(s)
	w := Wanted{
		ID: one.CallID(), Name: one.Tool(), Started: one.Started(), Ended: one.Ended(),
		Preview: view.CallText{Arguments: one.Arguments(), Result: one.Returned(), Error: one.Failure().Message, Place: view.PlacePreview},
	}
	end := one.End()
	w.Open = end == otelmap.EndUnfinished || end == otelmap.EndRunning
	if w.Preview.Error == w.Preview.Result {
		w.Preview.Error = ""
	}
	return w
}

// Record is a call as a source has it.
type Record struct {
	ID, Name string
	Text     view.CallText
	At       time.Time
}

// slack is how far from a span's end the record of its call may be: agents write
// results with their next message.
const slack = 10 * time.Minute

// Choose returns the record of a call, or nil. Of several with the call's id, which
// some models number anew in each reply, it is the one nearest to the call's end. For
// a call without an id, which the agent's hooks may lack while its files have one, it
// is the nearest of its tool whose result fits. Where such a call never ended, its span's
// end is the run's: it is the nearest to its start of those without a result.
func Choose(records []Record, w Wanted) *Record {
	if w.ID == "" && w.Open {
		open := slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.Text.Result != "" || r.Text.Error != "" })
		return nearest(open, Wanted{Name: w.Name}, w.Started)
	}
	return nearest(records, w, w.Ended)
}

func nearest(records []Record, w Wanted, to time.Time) *Record {
	var best *Record
	var bestAway time.Duration
	for i := range records {
		r := &records[i]
		if w.ID != "" && r.ID != w.ID || w.ID == "" && (r.Name != w.Name || !fits(r, w)) {
			continue
		}
		away := slack
		if !r.At.IsZero() {
			away = r.At.Sub(to).Abs()
		}
		if w.ID == "" && away > slack {
			continue
		}
		if best == nil || away < bestAway {
			best, bestAway = r, away
		}
	}
	return best
}

// fits reports whether the previews of a call can be of a record.
func fits(r *Record, w Wanted) bool {
	return begins(cmp.Or(r.Text.Result, r.Text.Error), cmp.Or(w.Preview.Result, w.Preview.Error))
}

// begins reports whether a text begins as its preview does, up to where the preview
// was cut or redacted.
func begins(text, preview string) bool {
	for _, mark := range []string{"…", "[REDACTED"} {
		preview, _, _ = strings.Cut(preview, mark)
	}
	return strings.HasPrefix(strings.TrimSpace(text), strings.TrimSpace(preview))
}

// FromTool describes what the events of a session say about its calls. Events of one
// call are joined by its id or, without one, by its tool and its input.
func FromTool(events []hook.Event) []Record {
	var out []Record
	open := make(map[[2]string][]int)
	for i := range events {
		e := &events[i]
		t := e.Tool
		if t == nil || e.Kind != hook.KindToolStart && e.Kind != hook.KindToolEnd {
			continue
		}
		key := [2]string{t.ID, ""}
		if t.ID == "" {
			key = [2]string{t.Name, t.Input}
		}
		at := cmp.Or(e.Time, e.StoredAt)
		if e.Kind == hook.KindToolStart {
			open[key] = append(open[key], len(out))
			out = append(out, Record{ID: t.ID, Name: t.Name, At: at, Text: view.CallText{Arguments: t.Input}})
			continue
		}
		n := len(out)
		if waiting := open[key]; len(waiting) > 0 {
			n, open[key] = waiting[0], waiting[1:]
		} else {
			out = append(out, Record{ID: t.ID, Name: t.Name, Text: view.CallText{Arguments: t.Input}})
		}
		r := &out[n]
		r.At, r.Text.Result, r.Text.Error = at, t.Output, t.Error
		if r.Text.Error == r.Text.Result {
			r.Text.Error = ""
		}
	}
	return out
}

// FromResults describes what an agent's files say about calls. source describes the
// place of one.
func FromResults(results []hook.ToolResult, source func(*hook.ToolResult) string) []Record {
	out := make([]Record, 0, len(results))
	for i := range results {
		r := &results[i]
		out = append(out, Record{
			ID: r.ID, Name: r.Name, At: cmp.Or(r.At, r.Asked),
			Text: view.CallText{Arguments: r.Input, Result: r.Text, Place: view.PlaceFiles, Source: source(r)},
		})
	}
	return out
}

// each changes the texts.
func each(all []view.CallText, change func(string) string) {
	for i := range all {
		for _, s := range []*string{&all[i].Arguments, &all[i].Result, &all[i].Error} {
			*s = change(*s)
		}
	}
}

// bounded cuts a text that is too long.
func bounded(s string) string {
	if len(s) <= MaxText {
		return s
	}
	return termtext.HeadBytes(s, MaxText) + "\n… " + termtext.Plural(len(s)-MaxText, "byte") + " more"
}

// wants reports which calls are looked for.
func wants(all []Wanted) func(id, name string) bool {
	ids, names := make(map[string]bool), make(map[string]bool)
	for _, w := range all {
		if w.ID == "" {
			names[w.Name] = true
		} else {
			ids[w.ID] = true
		}
	}
	return func(id, name string) bool { return ids[id] || names[name] }
}

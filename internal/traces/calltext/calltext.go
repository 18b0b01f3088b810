package calltext

import (
	"cmp"
	"hash/maphash"
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
	ID, Name string
	// Agent is the id of the subagent that made the call, empty for the main agent.
	Agent          string
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
	ID, Name, Agent string
	Text            view.CallText
	// Began is when the call began or, by an agent's files, was asked for, zero if that is not
	// known. At is when it ended, else Began.
	Began, At time.Time
}

const (
	// slack is how far from a span's end the record of its call may be: agents write
	// results with their next message.
	slack = 10 * time.Minute
	// lag is how much later than the call's hook an agent's files may date the reply that asked
	// for it. No model asks for the next call sooner.
	lag = 100 * time.Millisecond
)

// Choose returns the record of a call, or nil. Of several with the call's id, which
// some models number anew in each reply, it is one of the same agent: the newest that had begun
// when the call did or, if their beginnings are not known, the nearest to the call's end. For
// a call without an id, which the agent's hooks may lack while its files have one, it
// is the nearest of its tool whose result fits. Where such a call never ended, its span's
// end is the run's: it is the nearest to its start of those without a result.
func Choose(records []Record, w Wanted) *Record {
	if w.ID == "" && w.Open {
		open := slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.Text.Result != "" || r.Text.Error != "" })
		return nearest(open, Wanted{Name: w.Name}, w.Started)
	}
	if w.ID != "" {
		records = slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.ID != w.ID })
		if slices.ContainsFunc(records, func(r Record) bool { return r.Agent == w.Agent }) {
			records = slices.DeleteFunc(records, func(r Record) bool { return r.Agent != w.Agent })
		}
		if !slices.ContainsFunc(records, func(r Record) bool { return r.Began.IsZero() }) {
			slices.SortStableFunc(records, func(x, y Record) int { return x.Began.Compare(y.Began) })
			if r, ok := hook.Newest(records, w.Started.Add(lag), func(r Record) time.Time { return r.Began }); ok {
				return &r
			}
		}
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

// FromTool describes what the events of a session say about its calls.
func FromTool(events []hook.Event) []Record {
	var out []Record
	seed := maphash.MakeSeed()
	open := make(map[string]*hook.OpenCalls[int])
	for i := range events {
		e := &events[i]
		t := e.Tool
		if t == nil || e.Kind != hook.KindToolStart && e.Kind != hook.KindToolEnd {
			continue
		}
		of := open[e.Agent]
		if of == nil {
			of = new(hook.OpenCalls[int])
			open[e.Agent] = of
		}
		key := hook.CallKey{ID: t.ID, Name: t.Name, Input: maphash.String(seed, t.Input)}
		at := cmp.Or(e.Time, e.StoredAt)
		if e.Kind == hook.KindToolStart {
			of.Start(key, len(out))
			out = append(out, Record{ID: t.ID, Name: t.Name, Agent: e.Agent, Began: at, At: at, Text: view.CallText{Arguments: t.Input}})
			continue
		}
		n, begun := of.End(key)
		if !begun {
			n = len(out)
			out = append(out, Record{ID: t.ID, Name: t.Name, Agent: e.Agent, Began: at.Add(-max(0, t.Duration)), Text: view.CallText{Arguments: t.Input}})
		}
		r := &out[n]
		r.Began = cmp.Or(t.Started, r.Began)
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
			ID: r.ID, Name: r.Name, Agent: r.Agent, Began: r.Asked, At: cmp.Or(r.At, r.Asked),
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

package deliver

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/internal/testkit/ramdir"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// history is a drawn session with events that are stored late, for a store and two other
// destinations.
type history struct {
	*bench
	key   spool.Key
	turns int
	// late are events that are not stored yet, each with the turn that it is of.
	late []spool.Record
	dsts []*party
	// place is the settings that processes have and events are recorded under.
	place string
	// deleted are the traces that the user has deleted.
	deleted map[string]bool
	d       *Deliverer
}

func newHistory(t *rapid.T) *history {
	h := &history{bench: newBenchIn(t, filepath.Join(ramdir.New(t), "spool")), place: "a", deleted: make(map[string]bool)}
	for _, name := range []string{"store", "otlp", "file"} {
		h.dsts = append(h.dsts, &party{name: name, batch: rapid.SampledFrom([]int{2, 512}).Draw(t, name)})
	}
	h.restart()
	return h
}

// restart is a new process.
func (h *history) restart() {
	var dsts []Destination
	for _, p := range h.dsts {
		dst := Destination{Name: p.name, Client: p, Batch: p.batch, Local: p.name == "store"}
		if p.name == "otlp" {
			dst.Bytes = 4000
		}
		dsts = append(dsts, dst)
	}
	h.d = h.claudeDeliverer(nil, dsts...)
	h.d.Map.IdleTimeout, h.d.Window = 1000*time.Hour, 3000
	place := h.place
	h.d.Judge = func(settings string) (Terms, bool) { return termsOf(settings), settings == place }
}

// termsOf are those of a place: what was recorded at one of them gives the file no texts.
func termsOf(settings string) Terms {
	t := Terms{Capture: "preview"}
	if settings == "b" {
		t.Less = map[string]otelmap.Capture{"file": otelmap.CaptureNone}
	}
	return t
}

// damage cuts the end of a destination's index, as a power cut may.
func (h *history) damage(t *rapid.T) {
	path := h.path(h.key, "runs-"+rapid.SampledFrom(h.dsts).Draw(t, "index").name+".jsonl")
	if b, err := os.ReadFile(path); err == nil {
		if err := os.Truncate(path, rapid.Int64Range(0, int64(len(b))).Draw(t, "size")); err != nil {
			t.Fatal(err)
		}
	}
}

func (h *history) store(recs ...spool.Record) {
	for i := range recs {
		recs[i].Settings = h.place
		h.key = h.append(recs[i])
	}
}

// turn stores a turn, without the events of calls that are drawn to be late.
func (h *history) turn(t *rapid.T) {
	id := fmt.Sprintf("p%d", h.turns)
	h.turns++
	recs := longTurn(id, rapid.IntRange(1, 3).Draw(t, "calls"))
	n := 0
	for _, r := range recs {
		if late := r.Event == "PostToolUse" && rapid.IntRange(0, 2).Draw(t, "late") == 0; late {
			h.late = append(h.late, r)
			continue
		}
		recs[n] = r
		n++
	}
	h.store(recs[:n]...)
}

// refusals are what destinations answer besides success.
var refusals = []error{
	nil,
	&Error{Err: errTest},
	&Error{Err: errTest, Permanent: true},
	&Error{Err: errTest, Permanent: true, Denied: true},
	&Error{Err: errTest, RunOnly: true},
	&Error{Err: errTest, BrokeOff: true},
	&Error{Err: errTest, After: time.Minute},
}

// pass delivers, with answers that are drawn, and perhaps dies before some of the notes of it.
func (h *history) pass(t *rapid.T) {
	if h.turns == 0 {
		return
	}
	var files []saved
	for _, p := range h.dsts {
		s, err := save(h.path(h.key, stateFile(p.name)))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, s)
		answers := rapid.SliceOfN(rapid.SampledFrom(refusals), 0, 4).Draw(t, "answers of "+p.name)
		next := func() (err error) {
			if len(answers) > 0 {
				err, answers = answers[0], answers[1:]
			}
			return err
		}
		p.before = func(context.Context, []*tracepb.ResourceSpans) error { return next() }
		p.after = nil
		if rapid.Bool().Draw(t, "taken and not answered") {
			p.before, p.after = nil, p.before
		}
	}
	h.run(h.d, Pass{Force: rapid.IntRange(0, 3).Draw(t, "force") == 0})
	for _, s := range files {
		if rapid.IntRange(0, 5).Draw(t, "dies") == 0 {
			if err := s.restore(); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.restart()
}

// delete deletes a trace that the store has.
func (h *history) delete(t *rapid.T) {
	ids := slices.Sorted(maps.Keys(h.dsts[0].traces()))
	if len(ids) == 0 {
		return
	}
	trace := rapid.SampledFrom(ids).Draw(t, "trace")
	if _, err := h.d.Forget(t.Context(), map[spool.Key]bool{h.key: false}, map[string]bool{trace: true}); err != nil {
		t.Fatal(err)
	}
	h.deleted[trace] = true
	for id := range h.dsts[0].spans {
		if id.Trace == trace {
			delete(h.dsts[0].spans, id)
		}
	}
}

// traces are those that a destination has.
func (p *party) traces() map[string]bool {
	out := make(map[string]bool)
	for id := range p.spans {
		out[id.Trace] = true
	}
	return out
}

// TestDrawnHistoriesWithLateEvents stores events at every age, while destinations refuse, places
// change, with them who gets texts, traces are deleted, processes die and the index is cut. In the end each destination has each span as
// the whole log gives it, except of what was deleted.
func TestDrawnHistoriesWithLateEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		for range rapid.IntRange(5, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 10).Draw(t, "step") {
			case 0, 1, 2:
				h.turn(t)
			case 3, 4:
				if len(h.late) > 0 {
					i := rapid.IntRange(0, len(h.late)-1).Draw(t, "which")
					h.store(h.late[i])
					h.late = slices.Delete(h.late, i, i+1)
				}
			case 5, 6, 7:
				h.clock.Advance(rapid.SampledFrom([]time.Duration{time.Millisecond, 300 * time.Millisecond, 3 * time.Second, time.Hour}).Draw(t, "time"))
				h.pass(t)
			case 8:
				h.place = rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "place")
				h.restart()
			case 10:
				if h.turns > 0 && rapid.IntRange(0, 3).Draw(t, "damage") == 0 {
					h.damage(t)
				}
			case 9:
				if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
					h.clock.Advance(3 * time.Second)
					h.delete(t)
				}
			}
		}
		h.end(t)
	})
}

func (h *history) end(t *rapid.T) {
	h.turn(t)
	h.store(h.late...)
	for _, p := range h.dsts {
		p.before, p.after = nil, nil
	}
	for range 3 {
		h.clock.Advance(2 * time.Hour)
		h.run(h.d, Pass{Force: true, OtherSettings: true})
	}
	d := *h.d
	d.Judge = func(settings string) (Terms, bool) { return termsOf(settings), true }
	out, err := d.prepare(t.Context(), h.session(h.key), &State{}, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range h.dsts {
		want := 0
		for _, r := range out.runs {
			if h.deleted[r.Trace] {
				continue
			}
			texts := r.spans().GetScopeSpans()[0].GetSpans()
			for i, s := range (&delivery{Deliverer: &d, dst: &Destination{Name: p.name}}).narrow(r).spans().GetScopeSpans()[0].GetSpans() {
				want++
				got := p.spans[idOf(s)]
				if r.settings == "a" && proto.Equal(got, texts[i]) {
					continue // a later event alone may have been recorded without texts
				}
				if !proto.Equal(got, s) {
					t.Errorf("%s: span %v of run %v (-want +got):\n%s", p.name, idOf(s), r.Ref, cmp.Diff(protojson.Format(s), protojson.Format(got)))
				}
			}
		}
		for id := range p.spans {
			if h.deleted[id.Trace] && p.name == "store" {
				t.Errorf("the store has span %v, which was deleted", id)
			} else if !h.deleted[id.Trace] {
				want--
			}
		}
		if want != 0 {
			t.Errorf("%s has %d spans more than the whole log gives", p.name, -want)
		}
		if st := h.state(h.key, p.name); st.Offset != h.size(h.key) || len(st.Parked) != 0 {
			t.Errorf("%s: position %s, want it at the end", p.name, mustJSON(st))
		}
	}
}

package deliver

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// TestSessionOfOtherSettingsIsNotSent has a session whose hooks ran under
// the settings of another project, which wants no texts captured.
func TestSessionOfOtherSettingsIsNotSent(t *testing.T) {
	b := newBench(t)
	recs := oneRun(t, "")
	for i := range recs {
		recs[i].Settings = "none/there"
	}
	k := b.append(recs...)
	b.clock.Advance(time.Minute)
	local, remote := &memory{}, &memory{}
	d := b.deliverer(Destination{Name: "store", Client: local, Local: true}, Destination{Name: "otlp", Client: remote})
	d.Judge = judgeAt("here")

	for _, p := range []Pass{{}, {Force: true}} {
		if r := b.run(d, p)["otlp"]; r.Elsewhere != 1 || r.Runs != 0 || r.Waiting != 0 {
			t.Errorf("%+v: %+v, want one session elsewhere", p, r)
		}
	}
	if len(remote.spans) != 0 || b.state(k, "otlp").Offset != 0 {
		t.Errorf("%d spans went to another project's collector, position %d", len(remote.spans), b.state(k, "otlp").Offset)
	}
	if len(local.spans) == 0 {
		t.Error("the local store has nothing")
	}
	for _, s := range local.spans {
		if text := fmt.Sprint(s.Attributes, s.Events); strings.Contains(text, otelmap.KeyInputValue) || strings.Contains(text, "hookspan.text") {
			t.Errorf("a text was captured: %s", text)
		}
	}
	if r := b.run(d, Pass{Force: true, OtherSettings: true})["otlp"]; r.Runs == 0 {
		t.Errorf("asked for: %+v", r)
	}
}

// judgeAt is the Judge of a process that sends to a place.
func judgeAt(place string) func(string) (Terms, bool) {
	return func(settings string) (Terms, bool) {
		capture, where, _ := strings.Cut(settings, "/")
		return Terms{Capture: otelmap.Capture(capture)}, where == place
	}
}

func TestRefusedRunStaysWithItsDestination(t *testing.T) {
	b := newBench(t)
	recs := oneRun(t, "")
	for i := range recs {
		recs[i].Settings = "full/a"
	}
	k := b.append(recs...)
	b.clock.Advance(time.Minute)
	there := &memory{before: fail(&Error{Err: errTest, Permanent: true})}
	d := b.deliverer(Destination{Name: "otlp", Client: there})
	d.Judge = judgeAt("a")
	if r := b.run(d, Pass{})["otlp"]; r.Parked != 1 {
		t.Fatalf("%s, want one rejected", mustJSON(r))
	}
	here := &memory{}
	other := b.deliverer(Destination{Name: "otlp", Client: here})
	other.Judge = judgeAt("b")
	if r := b.run(other, Pass{Force: true})["otlp"]; r.Elsewhere != 1 || r.Runs != 0 || here.calls != 0 {
		t.Errorf("another project's flush: %s, %d calls; want nothing sent", mustJSON(r), here.calls)
	}
	there.before = nil
	if r := b.run(d, Pass{Force: true})["otlp"]; r.Runs != 1 || len(b.state(k, "otlp").Parked) != 0 {
		t.Errorf("its own flush: %s, want it delivered", mustJSON(r))
	}
}

// TestRefusedRunPassesTodaysSettings captures nothing and redacts since a run was
// refused.
func TestRefusedRunPassesTodaysSettings(t *testing.T) {
	b, m := newBench(t), &memory{before: fail(&Error{Err: errTest, Permanent: true})}
	b.append(oneRun(t, "")...)
	b.clock.Advance(time.Minute)
	d := b.deliverer(Destination{Name: "otlp", Client: m})
	b.run(d, Pass{})
	m.before, d.Map.Capture, d.Redact = nil, otelmap.CaptureNone, renamed
	b.run(d, Pass{Force: true})
	if len(m.spans) == 0 {
		t.Fatal("nothing was sent")
	}
	for _, s := range m.spans {
		if text := fmt.Sprint(s.Attributes, s.Events); s.Name != "redacted" || strings.Contains(text, otelmap.KeyInputValue) || strings.Contains(text, "hookspan.text") {
			t.Errorf("%s went past the settings: %s", s.Name, text)
		}
	}
}

// TestRunsOfOneSessionGoWhereTheyWereRecorded has a session that was continued under
// another environment, and turns that were recorded under both.
func TestRunsOfOneSessionGoWhereTheyWereRecorded(t *testing.T) {
	under := func(place string, recs []spool.Record) []spool.Record {
		for i := range recs {
			recs[i].Settings = "full/" + place
		}
		return recs
	}
	mixed := under("a", turn("p5"))
	mixed[3].Settings = "full/b"
	recs := slices.Concat(under("a", turn("p1")), under("b", turn("p2")), under("a", turn("p3")), under("b", turn("p4")), mixed, under("b", turn("p6")))
	traces := func(m *memory) int {
		out := map[string]bool{}
		for id := range m.spans {
			out[id.Trace] = true
		}
		return len(out)
	}
	for _, order := range [][]string{{"a", "b", "a"}, {"b", "a", "b"}} {
		b := newBench(t)
		k := b.append(recs...)
		b.clock.Advance(time.Hour)
		got := map[string]*memory{"a": {}, "b": {}}
		pass := func(place string, p Pass) Result {
			d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: got[place]})
			d.Judge = judgeAt(place)
			return b.run(d, p)["otlp"]
		}
		for _, place := range order {
			if r := pass(place, Pass{}); r.Elsewhere != 1 || r.Waiting != 0 {
				t.Errorf("%v, %s: %s, want the session to wait elsewhere, too", order, place, mustJSON(r))
			}
		}
		if traces(got["a"]) != 2 || traces(got["b"]) != 3 || got["a"].doubles()+got["b"].doubles() != 0 {
			t.Errorf("%v: %d traces at a, %d at b, %d doubles; want 2, 3 and 0", order, traces(got["a"]), traces(got["b"]), got["a"].doubles()+got["b"].doubles())
		}
		st := b.state(k, "otlp")
		if st.Offset != b.size(k) || len(st.Parked) != 1 || !st.Parked[0].Owed(b.clock.Now().Add(1000*time.Hour)) {
			t.Errorf("%v: %s, want all behind the position, and one run owed", order, mustJSON(st))
		}
		if r := pass("a", Pass{OtherSettings: true}); r.Runs != 1 || r.Elsewhere != 0 {
			t.Errorf("%v: asked for: %s", order, mustJSON(r))
		}
	}
}

// renaming is a memory that replaces every text, and renames the spans.
type renaming struct{}

func (renaming) Clean(string, int) string { return "cleaned" }
func (renaming) At(int64)                 {}
func (renaming) Redact(spans *tracepb.ResourceSpans, _ func(int64) bool) *tracepb.ResourceSpans {
	return renamed(spans)
}

// TestRulesTravelWithTheRecord delivers in a process that knows nothing of the rules of
// the records, one of which has rules that cannot be used.
func TestRulesTravelWithTheRecord(t *testing.T) {
	b, m := newBench(t), &memory{}
	recs := slices.Concat(turn("p1"), turn("p2"))
	for i := range recs {
		recs[i].Settings = []string{"full/", "one/"}[i/4]
	}
	b.append(recs...)
	b.clock.Advance(time.Minute)
	d := b.claudeDeliverer(nil, Destination{Name: "store", Client: m, Local: true})
	d.Judge = func(settings string) (Terms, bool) {
		rules, _, _ := strings.Cut(settings, "/")
		return Terms{Capture: otelmap.CapturePreview, MaxInput: 3, Rules: strings.TrimPrefix(rules, "full")}, true
	}
	broken := errTest
	d.Memory = func(names []string) (Memory, error) {
		if len(names) == 0 {
			return nil, nil
		}
		if !slices.Equal(names, []string{"one"}) {
			t.Errorf("rules %q", names)
		}
		return renaming{}, broken
	}
	if r := b.run(d, Pass{})["store"]; len(r.Errors) != 1 || m.calls != 0 {
		t.Errorf("rules that cannot be used: %s, %d calls; want an error and nothing sent", mustJSON(r), m.calls)
	}
	broken = nil
	b.run(d, Pass{})
	cleaned := 0
	for _, s := range m.spans {
		if s.Name != "redacted" {
			t.Errorf("span %q", s.Name)
		}
		if strings.Contains(fmt.Sprint(s.Attributes), "cleaned") {
			cleaned++
		}
	}
	if cleaned == 0 {
		t.Error("no text was cleaned before it was cut")
	}
}

package deliver

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
)

func TestRepeatedRunIsNotSentAgain(t *testing.T) {
	b := newBench(t)
	k := b.append(oneRun(t, "")...)
	b.clock.Advance(time.Minute)
	dst := &memory{}
	d := b.deliverer(Destination{Name: "otlp", Client: dst})
	if r := b.run(d, Pass{})["otlp"]; r.Runs != 1 {
		t.Fatalf("first: %+v, want one run", r)
	}
	calls := dst.calls
	b.append(oneRun(t, "")...)
	b.clock.Advance(time.Minute)
	if r := b.run(d, Pass{Force: true})["otlp"]; r.Runs != 0 || dst.calls != calls {
		t.Errorf("again: %+v in %d calls, want nothing sent", r, dst.calls-calls)
	}
	if st := b.state(k, "otlp"); st.Offset != b.size(k) {
		t.Errorf("position %d of %d: the repetition holds it up", st.Offset, b.size(k))
	}
}

// TestHostFilesEndRun has a run whose hooks report no end.
func TestHostFilesEndRun(t *testing.T) {
	recs := oneRun(t, "")
	recs = recs[:len(recs)-1]
	events, err := decode(&recs[len(recs)-1])
	if err != nil {
		t.Fatal(err)
	}
	last := events[0].At()
	for _, tt := range []struct {
		name    string
		kind    hook.Kind
		at      time.Time
		outcome string
	}{
		{"under way", hook.KindUnknown, time.Time{}, ""},
		{"interrupted", hook.KindSessionEnd, last.Add(time.Second), "interrupted"},
		{"failed", hook.KindRunError, last.Add(time.Second), "failed"},
		{"an end before the last event is that of an earlier time", hook.KindSessionEnd, last.Add(-2 * time.Second), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.append(recs...)
			b.clock.Advance(time.Minute)
			dst := &memory{}
			d := b.deliverer(Destination{Name: "otlp", Client: dst})
			for host, src := range d.Sources {
				src.End = func(context.Context, string, Facts) (hook.Kind, time.Time, error) { return tt.kind, tt.at, nil }
				d.Sources[host] = src
			}
			r := b.run(d, Pass{})["otlp"]
			if sent := r.Runs == 1; sent != (tt.outcome != "") {
				t.Fatalf("%+v, want it sent: %t", r, tt.outcome != "")
			}
			found := false
			for _, s := range dst.spans {
				found = found || strings.Contains(fmt.Sprint(s.Attributes), fmt.Sprintf("%q", tt.outcome))
			}
			if tt.outcome != "" && !found {
				t.Errorf("no span says %s", tt.outcome)
			}
		})
	}
}

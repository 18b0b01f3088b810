package deliver

import (
	"errors"
	"fmt"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/spool"
)

// TestSweepReadsALongRunOnce has the run continue each time that its log is read.
func TestSweepReadsALongRunOnce(t *testing.T) {
	for name, c := range map[string]struct {
		stored, added []spool.Record
		// reads is how often the session's first record is read.
		reads int
	}{
		"calls are added":             {turn("p1")[:2], turn("p1")[1:3], 1},
		"a subagent ends":             {turn("p1")[:2], []spool.Record{said("SubagentStop", "p1", `"agent_id":"a1","agent_type":"x"`)}, 1},
		"the end of the run is added": {turn("p1")[:2], turn("p1")[2:], 2},
		"the next run is added":       {turn("p1")[:2], turn("p2")[:1], 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: &memory{}})
			reads, src := 0, d.Sources["claude-code"]
			decode := src.Decode
			src.Decode = func(r *spool.Record) ([]hook.Event, error) {
				if r.Offset == 0 {
					reads++
					if reads < 10 && (c.reads == 1 || reads == 1) {
						b.append(c.added...)
						b.clock.Advance(time.Minute)
					}
				}
				return decode(r)
			}
			d.Sources["claude-code"] = src
			b.append(c.stored...)
			b.clock.Advance(time.Minute)
			b.run(d, Pass{})
			if reads != c.reads {
				t.Errorf("the log is read %d times, want %d", reads, c.reads)
			}
		})
	}
}

// TestPanicStopsNoOtherRun has the mapping of one run panic, among few runs and among
// so many that each is mapped when it is sent.
func TestPanicStopsNoOtherRun(t *testing.T) {
	for _, runs := range []int{3, 2 * mappedOnce} {
		t.Run(fmt.Sprintf("%d runs", runs), func(t *testing.T) {
			b, m := newBench(t), &memory{}
			d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 100}, Destination{Name: "store", Client: &memory{}})
			d.Redact = func(rs *tracepb.ResourceSpans) *tracepb.ResourceSpans {
				for s := range otlp.Spans([]*tracepb.ResourceSpans{rs}) {
					if otlp.Text(s.Attributes, "hookspan.prompt.id") == "p1" {
						panic("cannot be mapped")
					}
				}
				return rs
			}
			for i := range runs {
				b.append(turn(fmt.Sprintf("p%d", i))...)
			}
			other := turn("q")
			for i := range other {
				other[i].Session = "behind"
			}
			b.append(other...)
			for range 3 {
				b.clock.Advance(time.Hour)
				b.run(d, Pass{})
			}
			if want := 2 + 2; len(m.ids()) < want || m.doubles() > 0 {
				t.Errorf("%d spans, %d doubles; want the run before and the session behind, once", len(m.ids()), m.doubles())
			}
			if len(b.logged("cannot be mapped")) == 0 {
				t.Error("the log does not say it")
			}
		})
	}
}

// TestPanicInDecodingStopsNoOtherSession has every event of one session panic.
func TestPanicInDecodingStopsNoOtherSession(t *testing.T) {
	b, m := newBench(t), &memory{}
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m})
	src := d.Sources["claude-code"]
	decode := src.Decode
	src.Decode = func(r *spool.Record) ([]hook.Event, error) {
		if r.Session == "s1" {
			panic(errors.New("cannot be read"))
		}
		return decode(r)
	}
	d.Sources["claude-code"] = src
	for _, session := range []string{"s1", "s2", "s3", "s4"} {
		records := turn("p1")
		for i := range records {
			records[i].Session = session
		}
		b.at(b.append(records...), b.clock.Now())
	}
	b.clock.Advance(time.Minute)
	if res := b.run(d, Pass{}); len(m.ids()) != 3*2 || len(res["otlp"].Errors) != 1 {
		t.Errorf("%d spans, errors %q; want the three other sessions", len(m.ids()), res["otlp"].Errors)
	}
	if _, err := d.Running(t.Context(), "otlp"); err == nil {
		t.Error("the running tasks report no error")
	}
}

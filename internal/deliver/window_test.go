package deliver

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/spool"
)

// stamped are the records with the times at which their hooks ran.
func stamped(t tb, recs []spool.Record) []spool.Record {
	t.Helper()
	for i := range recs {
		recs[i].At = began
		events, err := decode(&recs[i])
		if err != nil {
			t.Fatal(err)
		}
		recs[i].At = events[0].At().Add(3 * time.Millisecond)
	}
	return recs
}

// days are Claude Code turns, one a minute, of which some start an agent
// that works on while the next turn is open, and some have a tool whose end is
// stored after that of the turn.
func days() []spool.Record {
	const agent = `"agent_id":"a%d","agent_type":"Explore"`
	var out []spool.Record
	at := began.Add(-24 * time.Hour)
	for n := range 40 {
		recs := turn(fmt.Sprintf("p%d", n))
		if n%7 == 2 {
			recs = append(recs[:3:3], said("SubagentStart", fmt.Sprintf("p%d", n), fmt.Sprintf(agent, n)), recs[3])
		}
		if n%7 == 4 {
			recs = append(recs, said("SubagentStop", fmt.Sprintf("p%d", n-2), fmt.Sprintf(agent, n-2)+`,"stop_hook_active":false`))
		}
		if n%5 == 1 && len(recs) == 4 {
			recs = []spool.Record{recs[0], recs[1], recs[3], recs[2]}
		}
		for i := range recs {
			recs[i].At = at.Add(time.Duration(i) * 100 * time.Millisecond)
		}
		out = append(out, recs...)
		at = at.Add(time.Minute)
	}
	return out
}

// TestLogReadInPartsGivesTheSameSpans delivers sessions in parts of every size,
// down to single records.
func TestLogReadInPartsGivesTheSameSpans(t *testing.T) {
	sessions := map[string][]spool.Record{hook.HostClaude: days()}
	for _, folder := range []string{"classic-session", "next-session", "sdk-session", "e2e-cli2/ok", "e2e-cli3/tools", "e2e-cli3/subagent"} {
		sessions[folder] = stamped(t, recorded(t, folder, ""))
	}
	for name, recs := range sessions {
		t.Run(name, func(t *testing.T) {
			deliver := func(window int64) (map[otlptest.ID]string, int) {
				b, m := newBench(t), &memory{}
				b.keep(recs)
				d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 3})
				d.Map.IdleTimeout = time.Hour
				d.Window = window
				b.clock.Advance(time.Minute)
				b.run(d, Pass{})
				k := spool.SessionKey(recs[0].Host, recs[0].Session)
				if d := m.doubles(); d != 0 {
					t.Errorf("parts of %d bytes: %d spans were sent twice", window, d)
				}
				if st := b.state(k, "otlp"); window > 0 && len(m.ids()) > 0 && st.Offset == 0 {
					t.Errorf("parts of %d bytes: the position is still at the start", window)
				}
				spans := make(map[otlptest.ID]string)
				for id, s := range m.spans {
					spans[id] = mustJSON(s)
				}
				return spans, m.calls
			}
			want, _ := deliver(1 << 40)
			if len(want) == 0 {
				t.Fatal("the session gave no span")
			}
			for _, window := range []int64{1, 700, 3000, 20_000} {
				got, _ := deliver(window)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("parts of %d bytes: spans (-whole +parts):\n%s", window, diff)
				}
			}
		})
	}
}

// keep stores records at their own times.
func (b *bench) keep(recs []spool.Record) {
	b.t.Helper()
	for i := range recs {
		if err := b.spool.Append(&recs[i]); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestPartIsReadOnce reads a long session in parts: memory depends on the
// part, and time on what is new.
func TestPartIsReadOnce(t *testing.T) {
	b, m := newBench(t), &memory{}
	recs := days()
	b.keep(recs)
	b.clock.Advance(time.Minute)
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m})
	d.Window = 2000
	read := 0
	src := d.Sources[hook.HostClaude]
	src.Decode = hooked(src.Decode, func() { read++ })
	src.Transcript = nil
	d.Sources[hook.HostClaude] = src
	b.run(d, Pass{})
	// Where an agent works on, the turns around it are read together.
	if most := 2 * len(recs); read > most {
		t.Errorf("%d records were decoded of %d, want at most %d", read, len(recs), most)
	}
}

// TestWaitingRunsOfUnreadPartsAreCounted keeps the figures of a command
// exact while a destination is down, and does not read in the background what
// cannot be sent.
func TestWaitingRunsOfUnreadPartsAreCounted(t *testing.T) {
	b, m := newBench(t), &memory{}
	recs := days()
	b.keep(recs)
	b.clock.Advance(time.Minute)
	m.before = fail(&Error{Err: errTest})
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m})
	d.Window = 1000
	read := 0
	src := d.Sources[hook.HostClaude]
	decode := src.Decode
	src.Decode = func(r *spool.Record) ([]hook.Event, error) { read++; return decode(r) }
	d.Sources[hook.HostClaude] = src
	if r := b.run(d, Pass{})["otlp"]; r.Waiting == 0 || read > len(recs)/2 {
		t.Errorf("a hook's delivery: %s, %d records read of %d, want something waiting and the first part alone", mustJSON(r), read, len(recs))
	}
	if r := b.run(d, Pass{Force: true})["otlp"]; r.Waiting != 40 || r.Runs != 0 {
		t.Errorf("by hand: %s, want 40 runs waiting", mustJSON(r))
	}
	read = 0
	if r := b.run(d, Pass{})["otlp"]; r.Waiting != 1 || read != 0 || len(r.Errors) != 1 {
		t.Errorf("in the background: %s and %d records read, want it waiting, its error, and none", mustJSON(r), read)
	}
}

// TestHostFilesAreReadForEachPart bounds what is read of the host's files for a
// part of a long log.
func TestHostFilesAreReadForEachPart(t *testing.T) {
	b, m := newBench(t), &memory{}
	recs := days()
	b.keep(recs)
	b.clock.Advance(time.Minute)
	var asked []Facts
	d := b.claudeDeliverer(func(f Facts) *hook.Transcript {
		asked = append(asked, f)
		return nil
	}, Destination{Name: "otlp", Client: m})
	d.Window = 2000
	b.run(d, Pass{})
	slices.SortFunc(asked, func(x, y Facts) int { return x.Since.Compare(y.Since) })
	if len(asked) < 3 {
		t.Fatalf("the files were asked %d times", len(asked))
	}
	for i, f := range asked {
		if last := i == len(asked)-1; last != f.Until.IsZero() {
			t.Errorf("part %d of %d: asked up to %v", i, len(asked), f.Until)
		} else if !last && (f.Until.Before(asked[i+1].Since.Add(fileLead)) || f.Until.After(f.Since.Add(time.Hour))) {
			t.Errorf("part %d: asked from %v up to %v; the next part begins at %v", i, f.Since, f.Until, asked[i+1].Since)
		}
	}
}

// TestPartWithRefusedEndContinues has the host's files say that the one end in a
// part was none: the part alone has nothing to send, and reading goes on.
func TestPartWithRefusedEndContinues(t *testing.T) {
	b, m := newBench(t), &memory{}
	const agent = `"agent_id":"a1","agent_type":"Explore"`
	older, last := turn("p0"), turn("p1")
	recs := slices.Concat(older[:3], []spool.Record{said("SubagentStart", "p0", agent), older[3]}, last)
	refused := len(recs) - 1
	recs = append(recs, said("SubagentStop", "p0", agent+`,"stop_hook_active":false`),
		said("PreToolUse", "p1", `"tool_name":"Bash","tool_input":{},"tool_use_id":"more"`), last[3])
	at := b.clock.Now().Add(-time.Hour)
	for i := range recs {
		recs[i].At = at.Add(time.Duration(i) * 10 * time.Second)
	}
	b.keep(recs[:refused+2])
	part := b.size(spool.SessionKey(recs[0].Host, recs[0].Session))
	b.keep(recs[refused+2:])
	d := b.claudeDeliverer(func(Facts) *hook.Transcript {
		return &hook.Transcript{Ends: []hook.TurnEnd{{Kind: hook.KindRunResume, Turn: "p1", At: recs[refused].At.Add(time.Second)}}}
	}, Destination{Name: "otlp", Client: m})
	d.Window = part
	r := b.run(d, Pass{})["otlp"]
	if r.Runs != 2 || len(m.ids()) != 6 || m.doubles() != 0 {
		t.Errorf("pass: %s, %d spans, %d doubles; want two runs of three", mustJSON(r), len(m.ids()), m.doubles())
	}
}

// TestLongRunIsSentInBatches delivers a run that is longer than the part of the log
// that is read at once.
func TestLongRunIsSentInBatches(t *testing.T) {
	whole := &memory{}
	b := newBench(t)
	recs := stamped(t, oneRun(t, ""))
	b.keep(recs)
	k := spool.SessionKey(recs[0].Host, recs[0].Session)
	b.clock.Advance(time.Minute)
	b.run(b.deliverer(Destination{Name: "store", Client: whole}), Pass{})

	var refuse error
	m := &memory{}
	m.before = func(_ context.Context, spans []*tracepb.ResourceSpans) error {
		if n := otlp.Count(spans); n > 2 {
			t.Errorf("%d spans in a batch", n)
		}
		if m.calls > 1 {
			return refuse
		}
		return nil
	}
	d := b.deliverer(Destination{Name: "otlp", Client: m, Batch: 2})
	d.Window = 1
	refuse = &Error{Err: errTest}
	if r := b.run(d, Pass{})["otlp"]; r.Waiting != 1 || b.state(k, "otlp").Offset != 0 || len(m.spans) != 2 {
		t.Fatalf("failed in the second batch: %s, %d spans taken", mustJSON(r), len(m.spans))
	}
	refuse = &Error{Err: errTest, Permanent: true}
	m.calls = 0
	b.clock.Advance(time.Hour)
	b.run(d, Pass{})
	if p := b.state(k, "otlp").Parked; len(p) != 1 || p[0].Spans != len(whole.spans) {
		t.Fatalf("rejected in the second batch: %s, want %d spans", mustJSON(p), len(whole.spans))
	}

	m = &memory{}
	atOnce := &memory{}
	d = b.deliverer(Destination{Name: "file", Client: m, Batch: 2}, Destination{Name: "infinium", Client: atOnce})
	d.Window = 1
	if r := b.run(d, Pass{})["file"]; r.Runs != 1 || r.Spans != len(whole.spans) || m.calls < 3 {
		t.Errorf("taken: %s in %d calls, want %d spans", mustJSON(r), m.calls, len(whole.spans))
	}
	for _, got := range []*memory{m, atOnce} {
		if diff := cmp.Diff(whole.spans, got.spans, protocmp.Transform()); diff != "" {
			t.Errorf("other spans than of the whole run (-want +got):\n%s", diff)
		}
	}
	if atOnce.calls != 1 {
		t.Errorf("%d calls of a destination without a batch size, want 1", atOnce.calls)
	}
}

package deliver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// oneRun are the events of a run up to and with its end.
func oneRun(t testing.TB, id string) []spool.Record {
	t.Helper()
	recs := recorded(t, "e2e-cli2/ok", id)
	i := slices.IndexFunc(recs, func(r spool.Record) bool { return r.Event == "TaskComplete" })
	if i < 0 {
		t.Fatal("the recording has no TaskComplete")
	}
	return recs[:i+1]
}

func TestRunSettlesBeforeItIsSent(t *testing.T) {
	finished := func(recs []spool.Record) []spool.Record { return recs }
	for _, c := range []struct {
		name  string
		recs  func([]spool.Record) []spool.Record
		age   time.Duration
		slept time.Duration
	}{
		{"has only just ended", finished, 0, 200 * time.Millisecond},
		{"ended a moment ago", finished, 150 * time.Millisecond, 50 * time.Millisecond},
		{"has settled", finished, 200 * time.Millisecond, 0},
		{"ended in the future, the clock was set back", finished, -time.Hour, 0},
		{"misses the end of a tool call", func(recs []spool.Record) []spool.Record {
			return slices.DeleteFunc(recs, func(r spool.Record) bool { return r.Event == "PostToolUse" })
		}, 300 * time.Millisecond, 700 * time.Millisecond},
		{"was cancelled and may yet be completed", func(recs []spool.Record) []spool.Record {
			recs = append(recs, recorded(t, "e2e-cli2/ok", "")[len(recs):]...)
			return slices.DeleteFunc(recs, func(r spool.Record) bool { return r.Event == "TaskComplete" })
		}, 300 * time.Millisecond, otelmap.CancelGrace - 300*time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, m := newBench(t), &memory{}
			k := b.append(c.recs(oneRun(t, ""))...)
			b.clock.Advance(c.age)
			d := b.deliverer(Destination{Name: "store", Client: m})
			r := b.run(d, Pass{Sessions: []spool.Key{k}})["store"]
			if r.Runs != 1 || r.Waiting != 0 {
				t.Errorf("pass: %s, want the run", mustJSON(r))
			}
			var slept time.Duration
			for _, s := range b.clock.Slept() {
				slept += s
			}
			if slept != c.slept {
				t.Errorf("slept %v, want %v", slept, c.slept)
			}
		})
	}
}

func TestSettlingRunTakesLateEvents(t *testing.T) {
	b, m := newBench(t), &memory{}
	recs := recorded(t, "e2e-cli2/ok", "")
	run := len(oneRun(t, ""))
	b.append(recs[:run]...)
	d := b.deliverer(Destination{Name: "store", Client: m})
	added := false
	d.Sleep = func(ctx context.Context, wait time.Duration) error {
		if !added {
			added = true
			b.append(recs[run:]...)
		}
		return b.clock.Sleep(ctx, wait)
	}
	k := spool.SessionKey(hook.HostCline, recs[0].Session)
	b.run(d, Pass{Sessions: []spool.Key{k}})
	wantIDs(t, "store", b.view(k, d.Map).ended(), m.ids())
	if m.doubles() != 0 || !added {
		t.Errorf("%d spans came twice, late events stored %t", m.doubles(), added)
	}
	for _, s := range b.view(k, d.Map).spans {
		for _, span := range s.ScopeSpans[0].Spans {
			if !proto.Equal(m.spans[idOf(span)], span) {
				t.Errorf("span %v was sent without the late events", idOf(span))
			}
		}
	}
}

func TestSettlingEndsWithContext(t *testing.T) {
	b, m := newBench(t), &memory{}
	k := b.append(oneRun(t, "")...)
	d := b.deliverer(Destination{Name: "store", Client: m})
	ctx, cancel := context.WithCancel(t.Context())
	d.Sleep = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
	if _, err := d.Run(ctx, Pass{Sessions: []spool.Key{k}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if len(m.ids()) != 0 || b.state(k, "store").Offset != 0 {
		t.Error("something was sent or acknowledged")
	}
}

func TestLateUsageIsAwaited(t *testing.T) {
	for _, c := range []struct {
		name string
		age  time.Duration
		// here is the read from which on the usage is there; 0 means never.
		here  int
		reads int
	}{
		{"there at once", time.Second, 1, 1},
		{"there at the third read", time.Second, 3, 3},
		{"never", time.Second, 0, 9},
		{"never, long after the end", time.Hour, 0, 1},
		{"never, and the clock was set back", -time.Hour, 0, 36},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, m := newBench(t), &memory{}
			k := b.append(oneRun(t, "")...)
			b.clock.Advance(c.age)
			d := b.deliverer(Destination{Name: "store", Client: m})
			reads := 0
			src := d.Sources[hook.HostCline]
			src.Transcript = func(_ context.Context, _ string, f Facts) (*hook.Transcript, error) {
				if f.Dialect != "classic" || f.Cwd == "" {
					t.Errorf("facts %+v, want the dialect and the directory", f)
				}
				if reads++; reads > 100 {
					return nil, errors.New("asked without end")
				}
				tr := &hook.Transcript{Pending: c.here == 0 || reads < c.here}
				if !tr.Pending {
					at := b.view(k, d.Map).spans
					for _, run := range at {
						root := run.ScopeSpans[0].Spans[0]
						tr.Requests = []hook.Request{{
							ID: "req-1", Start: otlp.Start(root), End: otlp.End(root), Model: "m",
							Usage: &hook.Usage{Input: 41, Output: 1},
						}}
					}
				}
				return tr, nil
			}
			d.Sources[hook.HostCline] = src
			b.run(d, Pass{})
			if reads != c.reads {
				t.Errorf("%d reads, want %d", reads, c.reads)
			}
			var chats int
			for _, s := range m.spans {
				if strings.HasPrefix(s.Name, otelmap.OpChat) {
					chats++
				}
			}
			if want := min(c.here, 1); chats != want || len(m.spans) == 0 {
				t.Errorf("%d chat spans of %d, want %d", chats, len(m.spans), want)
			}
		})
	}
}

func TestUnreadableHostFilesDoNotDelayRun(t *testing.T) {
	b, m := newBench(t), &memory{}
	k := b.append(oneRun(t, "")...)
	b.clock.Advance(time.Minute)
	d := b.deliverer(Destination{Name: "store", Client: m})
	src := d.Sources[hook.HostCline]
	src.Transcript = func(context.Context, string, Facts) (*hook.Transcript, error) { return nil, errTest }
	d.Sources[hook.HostCline] = src
	b.run(d, Pass{})
	wantIDs(t, "store", b.view(k, d.Map).ended(), m.ids())
	if len(b.logged("not all of the host's files was read")) != 1 {
		t.Errorf("log %q, want one line on the usage", b.log)
	}
}

func TestSilentRunIsSentAsAbandoned(t *testing.T) {
	b, m := newBench(t), &memory{}
	recs := oneRun(t, "")
	k := b.append(recs[:len(recs)-1]...)
	d := b.deliverer(Destination{Name: "store", Client: m})
	d.Map.IdleTimeout = 30 * time.Minute
	b.clock.Advance(29 * time.Minute)
	if r := b.run(d, Pass{})["store"]; r.Runs != 0 || b.state(k, "store").Offset != 0 {
		t.Fatalf("pass: %s, want nothing of the open run", mustJSON(r))
	}
	b.clock.Advance(2 * time.Minute)
	if r := b.run(d, Pass{})["store"]; r.Runs != 1 {
		t.Errorf("pass: %s, want the abandoned run", mustJSON(r))
	}
	if at := b.state(k, "store").Offset; at != b.size(k) {
		t.Errorf("position %d, want the log's end %d", at, b.size(k))
	}
}

func TestSessionOfUnknownHostIsKept(t *testing.T) {
	b, m := newBench(t), &memory{}
	recs := oneRun(t, "")
	k := b.append(recs...)
	b.clock.Advance(time.Minute)
	d := b.deliverer(Destination{Name: "store", Client: m})
	d.Sources = nil
	r := b.run(d, Pass{})["store"]
	if len(r.Errors) != 1 || !strings.Contains(r.Errors[0], `"cline"`) || b.state(k, "store").Offset != 0 {
		t.Errorf("pass: %s, want an error that names the host and no position", mustJSON(r))
	}
}

func TestEventWithoutSessionMakesNoRun(t *testing.T) {
	b, m := newBench(t), &memory{}
	k := b.append(recorded(t, "classic-session", "")...)
	b.clock.Advance(time.Hour)
	d := b.deliverer(Destination{Name: "store", Client: m})
	d.Map.IdleTimeout = time.Minute
	src := d.Sources[hook.HostCline]
	src.Decode = func(r *spool.Record) ([]hook.Event, error) {
		events, err := decode(r)
		for i := range events {
			events[i].Session = ""
		}
		return events, err
	}
	d.Sources[hook.HostCline] = src
	if r := b.run(d, Pass{})["store"]; r.Runs != 0 || len(m.ids()) != 0 {
		t.Errorf("pass: %s, want no run", mustJSON(r))
	}
	if at := b.state(k, "store").Offset; at != b.size(k) {
		t.Errorf("position %d, want the log's end %d", at, b.size(k))
	}
	if !b.there(k) {
		t.Error("the events are gone")
	}
}

package deliver

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/spool"
)

// undelivered returns a spool with a session of several runs that a destination does
// not take, and the traces' ids in order.
func undelivered(t *testing.T, answer error) (b *bench, k spool.Key, otlpDst *memory, d *Deliverer, traces []string) {
	t.Helper()
	b = newBench(t)
	k = b.append(recorded(t, "classic-session", "")...)
	b.clock.Advance(time.Minute)
	otlpDst = &memory{before: func(context.Context, []*tracepb.ResourceSpans) error { return answer }}
	d = b.deliverer(Destination{Name: "store", Client: &memory{}, Local: true}, Destination{Name: "otlp", Client: otlpDst})
	b.run(d, Pass{})
	for _, r := range b.view(k, d.Map).runs {
		for s := range otlp.Spans(b.view(k, d.Map).of(r)) {
			if id := otlp.TraceID(s); !slices.Contains(traces, id) {
				traces = append(traces, id)
			}
		}
	}
	if len(traces) < 2 {
		t.Fatalf("the recording has %d runs, want several", len(traces))
	}
	return b, k, otlpDst, d, traces
}

func TestWaitingNamesWhatFlushWillSend(t *testing.T) {
	for name, answer := range map[string]error{
		"down": &Error{Err: errors.New("503")}, "rejected": &Error{Err: errors.New("401"), Permanent: true},
	} {
		b, k, dst, d, traces := undelivered(t, answer)
		var want []string
		for _, trace := range slices.Sorted(slices.Values(traces)) {
			want = append(want, otlp.TaskID(trace, k.Name))
		}
		for range 2 { // it changes nothing
			waiting, err := d.Waiting(t.Context(), &d.Destinations[1])
			if got := slices.Sorted(maps.Keys(waiting)); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v wait, %v, want %v", name, got, err, want)
			}
		}
		if waiting, err := d.Waiting(t.Context(), &d.Destinations[0]); err != nil || len(waiting) > 0 {
			t.Errorf("%s: %v wait for the store, %v, want none", name, waiting, err)
		}
		dst.before = nil
		b.clock.Advance(time.Hour)
		if name == "down" {
			b.run(d, Pass{})
			if waiting, err := d.Waiting(t.Context(), &d.Destinations[1]); err != nil || len(waiting) > 0 {
				t.Errorf("%v still wait, %v", waiting, err)
			}
		}
	}
}

func TestForgottenTracesAreNotSent(t *testing.T) {
	for name, answer := range map[string]error{
		"down": &Error{Err: errors.New("503")}, "rejected": &Error{Err: errors.New("401"), Permanent: true},
	} {
		b, k, dst, d, traces := undelivered(t, answer)
		forgotten, err := d.Forget(t.Context(), map[spool.Key]bool{k: false}, map[string]bool{traces[0]: true})
		if err != nil || forgotten.Waiting != 1 || forgotten.Logs != 0 || forgotten.Kept != 1 {
			t.Errorf("%s: %+v, %v, want one that waited and a log that stays", name, forgotten, err)
		}
		dst.before = nil
		b.clock.Advance(time.Hour)
		b.run(d, Pass{Force: true})
		sent := map[string]bool{}
		for _, id := range dst.ids() {
			sent[id.Trace] = true
		}
		if sent[traces[0]] || len(sent) != len(traces)-1 {
			t.Errorf("%s: sent %v, want all but %s", name, sent, traces[0])
		}
	}
}

// TestForgetWaitsForARunThatHasJustEnded forgets a trace that waits while another run
// of its session settles.
func TestForgetWaitsForARunThatHasJustEnded(t *testing.T) {
	b := newBench(t)
	k := b.append(oneRun(t, "")...)
	b.clock.Advance(time.Minute)
	answer := error(&Error{Err: errors.New("503")})
	dst := &memory{before: func(context.Context, []*tracepb.ResourceSpans) error { return answer }}
	d := b.deliverer(Destination{Name: "otlp", Client: dst})
	b.run(d, Pass{})
	waiting, err := d.Waiting(t.Context(), &d.Destinations[0])
	if err != nil || len(waiting) != 1 {
		t.Fatalf("%v wait, %v, want one", waiting, err)
	}
	recs := recorded(t, "classic-session", "")
	session := oneRun(t, "")[0].Session
	for i := range recs {
		recs[i].Payload = bytes.ReplaceAll(recs[i].Payload, []byte(recs[i].Session), []byte(session))
		recs[i].Session = session
	}
	end := slices.IndexFunc(recs, func(r spool.Record) bool { return r.Event == "TaskComplete" })
	b.append(recs[:end+1]...)
	if got, err := d.Forget(t.Context(), map[spool.Key]bool{k: false}, waiting); err != nil || got.Waiting != 1 {
		t.Errorf("%+v, %v, want one that waited", got, err)
	}
	answer = nil
	b.clock.Advance(time.Hour)
	b.run(d, Pass{Force: true})
	for _, id := range dst.ids() {
		if waiting[id.Trace] {
			t.Fatal("the forgotten trace was sent")
		}
	}
}

func TestForgetRemovesLogsOfEndedSessions(t *testing.T) {
	for _, tt := range []struct {
		name    string
		forget  func(traces []string) []string
		none    bool
		idle    time.Duration
		removed bool
	}{
		{"all of it", func(all []string) []string { return all }, true, 2000 * time.Hour, true},
		{"one still waits", func(all []string) []string { return all[1:] }, true, 2000 * time.Hour, false},
		{"other traces are stored", func(all []string) []string { return all }, false, 2000 * time.Hour, false},
		{"the agent is at work", func(all []string) []string { return all }, true, time.Minute, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, k, _, d, traces := undelivered(t, &Error{Err: errors.New("503")})
			b.clock.Advance(tt.idle)
			ids := map[string]bool{}
			for _, id := range tt.forget(traces) {
				ids[id] = true
			}
			got, err := d.Forget(t.Context(), map[spool.Key]bool{k: tt.none}, ids)
			if err != nil || got.Waiting != len(ids) || (got.Logs == 1) != tt.removed || (got.Kept == 0) != tt.removed {
				t.Errorf("%+v, %v, want removed: %v", got, err, tt.removed)
			}
			_, err = b.spool.Session(k)
			if gone := errors.Is(err, fs.ErrNotExist); gone != tt.removed {
				t.Errorf("the log is gone: %v, want %v", gone, tt.removed)
			}
		})
	}
}

func TestForgetOfAnUnknownSession(t *testing.T) {
	d := newBench(t).deliverer()
	got, err := d.Forget(t.Context(), map[spool.Key]bool{spool.SessionKey(hook.HostCline, "none"): true}, map[string]bool{"a": true})
	if err != nil || got != (Forgotten{}) {
		t.Errorf("got %+v, %v, want nothing", got, err)
	}
}

// TestForgottenTraceIsSentFromNoOtherShell deletes a trace where only the local store is
// set up.
func TestForgottenTraceIsSentFromNoOtherShell(t *testing.T) {
	b, local, remote := newBench(t), &memory{}, &memory{}
	k := b.append(recorded(t, "classic-session", "")...)
	b.clock.Advance(time.Minute)
	here := b.deliverer(Destination{Name: "store", Client: local, Local: true})
	b.run(here, Pass{})
	runs := b.view(k, here.Map).runs
	deleted := runs[0].ID.String()
	if _, err := here.Forget(t.Context(), map[spool.Key]bool{k: false}, map[string]bool{deleted: true}); err != nil {
		t.Fatal(err)
	}
	there := b.deliverer(Destination{Name: "otlp", Client: remote})
	b.run(there, Pass{})
	b.run(there, Pass{Force: true})
	traces := map[string]bool{}
	for _, id := range remote.ids() {
		traces[id.Trace] = true
	}
	if traces[deleted] || len(traces) != len(runs)-1 || b.state(k, "otlp").Offset != b.size(k) {
		t.Errorf("sent %v, want all but %s, and the position %d at the end %d", traces, deleted, b.state(k, "otlp").Offset, b.size(k))
	}
}

// TestLaterRunOfADeletedTraceIsSent deletes a trace that was begun outside, while the session
// works in it.
func TestLaterRunOfADeletedTraceIsSent(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	within := func(recs []spool.Record) []spool.Record {
		for i := range recs {
			recs[i].TraceParent = parent
		}
		return recs
	}
	b, local, remote := newBench(t), &memory{}, &memory{}
	store, otlpDst := Destination{Name: "store", Client: local, Local: true}, Destination{Name: "otlp", Client: remote}
	d := b.claudeDeliverer(nil, store, otlpDst)
	src := d.Sources[hook.HostClaude]
	src.Decode = func(r *spool.Record) ([]hook.Event, error) {
		return claude.Decode(claude.Raw{Payload: r.Payload, Event: r.Event, StoredAt: r.At, Offset: r.Offset, TraceParent: r.TraceParent})
	}
	d.Sources[hook.HostClaude] = src
	remote.before = fail(&Error{Err: errTest, Permanent: true})
	k := b.append(within(turn("p1"))...)
	b.clock.Advance(time.Minute)
	b.run(d, Pass{})
	b.append(within(turn("p2"))[:2]...)
	id := local.ids()[0]
	if _, err := d.Forget(t.Context(), map[spool.Key]bool{k: false}, map[string]bool{id.Trace: true}); err != nil {
		t.Fatal(err)
	}
	local.spans, remote.before = nil, nil
	b.append(within(turn("p2"))[2:]...)
	b.append(within(turn("p3"))...)
	b.clock.Advance(time.Minute)
	b.run(d, Pass{Force: true})
	for name, m := range map[string]*memory{"store": local, "otlp": remote} {
		if n := len(m.spans); n != 4 {
			t.Errorf("%s has %d spans, want those of both later turns", name, n)
		}
	}
}

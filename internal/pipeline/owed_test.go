package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// creditor is a destination that is owed traces.
type creditor struct {
	// got has the traces in the order of the calls.
	got []string
	// before is called before a call takes effect, and can refuse it; after, after it.
	before func(traces []string) error
	after  func()
}

func (c *creditor) UploadTraces(_ context.Context, messages []*tracepb.ResourceSpans) error {
	var traces []string
	for s := range otlp.Spans(messages) {
		if id := otlp.TraceID(s); !slices.Contains(traces, id) {
			traces = append(traces, id)
		}
	}
	if c.before != nil {
		if err := c.before(traces); err != nil {
			return err
		}
	}
	c.got = append(c.got, traces...)
	if c.after != nil {
		c.after()
	}
	return nil
}

// indebted returns a pipeline to the store and an OTLP endpoint, which is owed n traces.
func indebted(t *testing.T, n int, vars ...string) (*Pipeline, *creditor) {
	t.Helper()
	p, err := newSetup(t, append(vars, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1")...).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	p.Owe(p.Deliverer.Destinations)
	c := &creditor{}
	for i := range p.Deliverer.Destinations {
		d := &p.Deliverer.Destinations[i]
		if !d.Local {
			// One trace at a time, as where a trace is a document.
			d.Client, d.Batch = c, 0
			continue
		}
		for k := range n {
			if _, err := p.Deliverer.Send(t.Context(), d, []*tracepb.ResourceSpans{importedRun(k)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p, c
}

// importedRun is a run of one span.
func importedRun(n int) *tracepb.ResourceSpans {
	at := time.Date(2026, 3, 4, 10, n, 0, 0, time.UTC)
	id := fmt.Appendf(nil, "trace-%010d", n)
	span := &tracepb.Span{TraceId: id, SpanId: id[8:], Name: "invoke_agent", StartTimeUnixNano: otlp.UnixNano(at), EndTimeUnixNano: otlp.UnixNano(at.Add(time.Second))}
	span.Attributes = append(span.Attributes, otlp.String(otelmap.KeyHost, "claude-code"), otlp.String(otelmap.KeyConversationID, "s"))
	return &tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{span}}}}
}

// send sends what is owed and returns the result of the endpoint.
func (c *creditor) send(ctx context.Context, t *testing.T, p *Pipeline, pass deliver.Pass) (deliver.Result, error) {
	t.Helper()
	results := make([]deliver.Result, len(p.Deliverer.Destinations))
	for i := range results {
		results[i].Destination = p.Deliverer.Destinations[i].Name
	}
	err := p.sendWhatIsOwed(ctx, pass, results)
	return results[slices.IndexFunc(results, func(r deliver.Result) bool { return r.Destination == "otlp" })], err
}

// owed returns how many traces are owed.
func owed(t *testing.T, p *Pipeline) int {
	t.Helper()
	list, err := p.Store.Owed(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestOwedTracesAreSentOnce ends a delivery after each trace, and has another one complete
// it.
func TestOwedTracesAreSentOnce(t *testing.T) {
	const n = 2*owedAtOnce + 3
	for _, last := range []int{1, 2, owedAtOnce - 1, owedAtOnce, owedAtOnce + 1, n - 1, n} {
		p, c := indebted(t, n)
		ctx, cancel := context.WithCancel(t.Context())
		c.before = func([]string) error { return ctx.Err() }
		c.after = func() {
			if len(c.got) == last {
				cancel()
			}
		}
		res, err := c.send(ctx, t, p, deliver.Pass{Force: true})
		if res.Runs != last || res.Waiting != n-last || owed(t, p) != n-last || last < n && !errors.Is(err, context.Canceled) {
			t.Errorf("ended after %d: %+v, %v; %d owed", last, res, err, owed(t, p))
		}
		c.before, c.after = nil, nil
		if res, err := c.send(t.Context(), t, p, deliver.Pass{Force: true}); err != nil || res.Runs != n-last || res.Waiting > 0 {
			t.Errorf("after %d, the rest: %+v, %v", last, res, err)
		}
		slices.Sort(c.got)
		if len(c.got) != n || len(slices.Compact(c.got)) != n || owed(t, p) > 0 {
			t.Errorf("after %d: %d traces were sent, want each of %d once; %d owed", last, len(c.got), n, owed(t, p))
		}
	}
}

// TestKilledDeliverySendsFewAgain has the process end before it notes an answer.
func TestKilledDeliverySendsFewAgain(t *testing.T) {
	const n = 2*owedAtOnce + 3
	for _, last := range []int{0, 1, owedAtOnce - 1, owedAtOnce, owedAtOnce + 1, n - 1} {
		p, c := indebted(t, n)
		// What a process that is killed would note is not noted.
		kept, err := p.Store.Owed(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		c.before = func([]string) error {
			if len(c.got) == last {
				return errors.New("killed")
			}
			return nil
		}
		if _, err := c.send(t.Context(), t, p, deliver.Pass{Force: true}); err != nil {
			t.Fatal(err)
		}
		for _, o := range kept[last/owedAtOnce*owedAtOnce : last] {
			for k := range n {
				if run := importedRun(k); otlp.TraceID(run.GetScopeSpans()[0].GetSpans()[0]) == o.Trace {
					run.GetScopeSpans()[0].GetSpans()[0].Name += " again" // the row is written with a change
					if _, err := p.Deliverer.Send(t.Context(), &p.Deliverer.Destinations[slices.IndexFunc(p.Deliverer.Destinations, func(d deliver.Destination) bool { return d.Local })], []*tracepb.ResourceSpans{run}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		c.before = nil
		if _, err := c.send(t.Context(), t, p, deliver.Pass{Force: true}); err != nil {
			t.Fatal(err)
		}
		again := len(c.got)
		slices.Sort(c.got)
		if each := len(slices.Compact(c.got)); each != n || again-each >= owedAtOnce || owed(t, p) > 0 {
			t.Errorf("killed after %d: %d traces sent, %d of them again; %d owed", last, each, again-each, owed(t, p))
		}
	}
}

func TestOwedTracesWaitForTheDestination(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		byHand, force, sends bool
		answer               deliver.Answer
	}{
		"a sweep":                              {sends: true},
		"a sweep soon after a failure":         {answer: deliver.Answer{Tried: now.Add(-time.Minute), Taken: now.Add(-time.Hour), Error: "503"}},
		"a sweep after a first failure":        {answer: deliver.Answer{Tried: now.Add(-time.Minute), Error: "503"}},
		"a sweep long after a failure":         {answer: deliver.Answer{Tried: now.Add(-16 * time.Minute), Error: "503"}, sends: true},
		"a sweep after a short failure":        {answer: deliver.Answer{Tried: now.Add(-time.Minute), Taken: now.Add(-62 * time.Second), Error: "503"}, sends: true},
		"an import soon after a failure":       {byHand: true, answer: deliver.Answer{Tried: now.Add(-time.Minute), Error: "503"}, sends: true},
		"an import that was asked to wait":     {byHand: true, answer: deliver.Answer{Tried: now, Error: "503", Until: now.Add(time.Hour)}},
		"a flush by hand that was asked to":    {byHand: true, force: true, answer: deliver.Answer{Tried: now, Error: "503", Until: now.Add(time.Hour)}, sends: true},
		"a sweep after it was asked to wait":   {answer: deliver.Answer{Tried: now.Add(-time.Hour), Error: "503", Until: now.Add(-time.Minute)}, sends: true},
		"a sweep while the clock was set back": {answer: deliver.Answer{Tried: now.Add(time.Hour), Error: "503"}, sends: true},
	} {
		t.Run(name, func(t *testing.T) {
			p, to := indebted(t, 2)
			if !c.answer.Tried.IsZero() {
				c.answer.Target, c.answer.Account = p.setup.Target("otlp"), p.setup.Config.Account("otlp")
				if err := deliver.NoteAnswer(p.setup.Config.StateDir, "otlp", c.answer); err != nil {
					t.Fatal(err)
				}
			}
			p.setup.Now, p.Deliverer.Now, p.setup.ByHand = func() time.Time { return now }, func() time.Time { return now }, c.byHand
			res, err := to.send(t.Context(), t, p, deliver.Pass{Force: c.force, OtherSettings: true})
			if want := map[bool]int{true: 2}[c.sends]; err != nil || len(to.got) != want || res.Runs != want || res.Waiting != 2-want || owed(t, p) != 2-want {
				t.Errorf("got %+v, %v; %d sent", res, err, len(to.got))
			}
		})
	}
}

// TestOnlyTheSendersRefusalIsKept: a trace that is rejected itself is not sent again.
func TestOnlyTheSendersRefusalIsKept(t *testing.T) {
	for denied, left := range map[bool]int{true: 2, false: 0} {
		p, c := indebted(t, 2)
		c.before = func([]string) error { return &deliver.Error{Err: errors.New("no"), Permanent: true, Denied: denied} }
		res, err := c.send(t.Context(), t, p, deliver.Pass{Force: true})
		if err != nil || res.Waiting != left || owed(t, p) != left || len(res.Errors) == 0 {
			t.Errorf("sender refused %t: %+v, %v; %d owed", denied, res, err, owed(t, p))
		}
	}
}

// TestOwedTracesGoWithTheirTraces: what the store removes is owed no more, and another
// import or delivery that is at work sends the rest.
func TestOwedTracesGoWithTheirTraces(t *testing.T) {
	p, c := indebted(t, 3)
	list, err := p.Store.Owed(t.Context(), "otlp")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Store.Delete(t.Context(), []string{list[0].Trace}); err != nil || owed(t, p) != 2 {
		t.Errorf("after Delete %d are owed: %v", owed(t, p), err)
	}
	if err := p.Store.Remove(t.Context(), list[1].Trace); err != nil || owed(t, p) != 1 {
		t.Errorf("after Remove %d are owed: %v", owed(t, p), err)
	}
	alone, err := p.Alone(t.Context(), func() {})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := c.send(t.Context(), t, p, deliver.Pass{Force: true}); err != nil || res.Waiting != 1 || len(c.got) > 0 {
		t.Errorf("during an import: %+v, %v", res, err)
	}
	if err := alone.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Store.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil || owed(t, p) != 0 {
		t.Errorf("after Prune %d are owed: %v", owed(t, p), err)
	}
}

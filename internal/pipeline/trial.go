package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/otlp/otlpjson"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap"
)

// Trial is what one destination answered to the test trace.
type Trial struct {
	Destination string  `json:"destination"`
	Target      string  `json:"target"`
	OK          bool    `json:"ok"`
	Answer      string  `json:"answer"`
	Seconds     float64 `json:"seconds"`
	// Clock says that this machine's clock is off by more than five minutes.
	Clock string `json:"clock,omitempty"`
}

// testHost is the agent of a test trace, so that it is not taken for a task of a
// real one.
const testHost = "hookspan"

// TestTrace maps a small made-up task as a real one is mapped, and returns its
// spans and its trace id.
func (p *Pipeline) TestTrace() (spans []*tracepb.ResourceSpans, id string) {
	now := p.Now()
	session := "hookspan-test-" + strconv.FormatInt(now.UnixNano(), 36)
	b := otelmap.NewBuilder(testHost, session, p.Map, otelmap.Carry{})
	add := func(ms int, e hook.Event) {
		at := now.Add(time.Duration(ms-1000) * time.Millisecond)
		e.Host, e.Dialect, e.Session = testHost, "classic", session
		e.Time, e.StoredAt, e.Hash = at, at, uint64(ms) //nolint:gosec // A small number.
		b.Add(e)
	}
	add(0, hook.Event{Kind: hook.KindRunStart, Name: "TaskStart", Prompt: "hookspan test"})
	add(600, hook.Event{Kind: hook.KindToolEnd, Name: "PostToolUse", Tool: &hook.Tool{
		Name: "execute_command", Input: `{"command":"echo hello"}`, Output: "hello",
		Duration: 400 * time.Millisecond,
	}})
	add(900, hook.Event{Kind: hook.KindRunComplete, Name: "TaskComplete", Result: "This trace was sent by `hookspan test`."})
	run := b.Runs(now)[0]
	id, _ = b.Root(run)
	return []*tracepb.ResourceSpans{p.Clean(b.Spans(run, nil))}, id
}

// Payload returns the test trace in the form that a destination gets.
func (p *Pipeline) Payload(name string, spans []*tracepb.ResourceSpans) (body []byte, err error) {
	if name != config.ExporterInfinium {
		return otlpjson.Encode(spans)
	}
	for _, t := range infinium.Traces(spans, p.setup.forms()) {
		body, err = t.Encode()
	}
	return body, err
}

// Try sends the test trace to a destination. From the local store the trace is
// read back and removed.
func (p *Pipeline) Try(ctx context.Context, d deliver.Destination, spans []*tracepb.ResourceSpans, id string) Trial {
	t := Trial{Destination: d.Name, Target: p.setup.Target(d.Name)}
	start := p.Now()
	within, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	answer, err := p.send(within, d.Client, spans)
	if d.Name == config.ExporterOTLP {
		t.Clock = ClockText(clockOff(time.Duration(p.setup.clock.Load())))
	}
	t.Seconds = p.Now().Sub(start).Seconds()
	// What the client says around an error of deliver's names the endpoint twice.
	if e := (*deliver.Error)(nil); errors.As(err, &e) {
		err = e
	}
	if err == nil || ctx.Err() == nil {
		p.Answered(d.Name, err)
	}
	if err == nil && d.Name == config.ExporterStore {
		answer, err = "taken, read back and removed again", p.readBack(ctx, id, otlp.Count(spans))
	}
	if t.OK, t.Answer = err == nil, answer; err != nil {
		t.Answer = strings.TrimPrefix(deliver.WithoutName(termtext.Message(err), d.Name), t.Target+": ")
	}
	return t
}

// send sends the test trace and returns what the destination made of it.
func (p *Pipeline) send(ctx context.Context, c deliver.Client, spans []*tracepb.ResourceSpans) (answer string, err error) {
	answer = "taken"
	to, ok := c.(*infinium.Client)
	if !ok {
		return answer, c.UploadTraces(ctx, spans)
	}
	for _, t := range infinium.Traces(spans, p.setup.forms()) {
		id, err := to.Send(ctx, &t)
		if err != nil {
			return "", err
		}
		if id != "" {
			answer = "taken as " + id
		}
	}
	return answer, nil
}

// readBack reads the test trace from the local store and removes it, also after
// an interruption, so that no list shows it; with it one that an earlier test left
// because it was killed.
func (p *Pipeline) readBack(ctx context.Context, id string, spans int) error {
	got, err := p.Store.Trace(ctx, id)
	if err == nil && got.Spans != spans {
		err = fmt.Errorf("%d of %d spans can be read back", got.Spans, spans)
	}
	ctx = context.WithoutCancel(ctx)
	left, listErr := p.Store.List(ctx, store.Filter{Host: testHost, Limit: -1})
	for _, t := range left {
		if t.TraceID != id {
			err = errors.Join(err, p.Store.Remove(ctx, t.TraceID))
		}
	}
	return errors.Join(err, listErr, p.Store.Remove(ctx, id))
}

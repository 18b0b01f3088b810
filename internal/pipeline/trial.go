package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/loopback"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/otlp/otlpjson"
	"github.com/hookspan/hookspan/internal/outbound"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// Trial is what one destination answered to the test trace.
type Trial struct {
	Destination string  `json:"destination"`
	Target      string  `json:"target"`
	OK          bool    `json:"ok"`
	Answer      string  `json:"answer"`
	Seconds     float64 `json:"seconds"`
	// Backend is the backend, if it was recognised by its address, and Shows what its pages
	// will have of the trace.
	Backend string `json:"backend,omitempty"`
	Shows   string `json:"shows,omitempty"`
	// Clock says that this machine's clock is off by more than five minutes.
	Clock string `json:"clock,omitempty"`
}

// Payload returns the test trace in the form that a destination gets.
func (p *Pipeline) Payload(d deliver.Destination, spans []*tracepb.ResourceSpans) (body []byte, err error) {
	spans = p.Deliverer.Narrow(d.Capture, spans)
	if d.Name != config.ExporterInfinium {
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
	t.Backend, t.Shows = p.setup.backend(d.Name)
	start := p.Deliverer.Now()
	within, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	answer, err := p.send(within, d.Client, p.Deliverer.Narrow(d.Capture, spans))
	if d.Name == config.ExporterOTLP {
		t.Clock = ClockText(clockOff(time.Duration(p.setup.clock.Load())))
	}
	return p.tried(ctx, t, start, answer, err, func() (string, error) {
		if d.Name != config.ExporterStore {
			return answer, nil
		}
		return "taken, read back and removed again", p.readBack(ctx, id, otlp.Count(spans))
	})
}

// tried completes a trial with what the destination answered. check completes the answer.
func (p *Pipeline) tried(ctx context.Context, t Trial, start time.Time, answer string, err error, check func() (string, error)) Trial {
	t.Seconds = p.Deliverer.Now().Sub(start).Seconds()
	// The client's text around a *deliver.Error names the endpoint a second time.
	if e := (*deliver.Error)(nil); errors.As(err, &e) {
		err = e
	}
	if err == nil || ctx.Err() == nil {
		p.Deliverer.Answered(t.Destination, err)
	}
	if err == nil {
		answer, err = check()
	}
	if err == nil && t.Destination != config.ExporterStore {
		answer += servedBy(ctx, t.Target)
	}
	t.OK, t.Answer = err == nil, answer
	if err != nil {
		t.Answer = strings.TrimPrefix(deliver.WithoutName(termtext.Message(err), t.Destination), t.Target+": ")
	}
	return t
}

// servedBy says whose program serves an address of this machine, if it is not this user's.
func servedBy(ctx context.Context, target string) string {
	u, err := url.Parse(target)
	if err != nil || !outbound.Loopback(u.Hostname()) {
		return ""
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	c, err := loopback.Dial(ctx, &net.Dialer{}, "tcp", net.JoinHostPort(u.Hostname(), port), true)
	if err != nil {
		return ""
	}
	defer func() { _ = c.Close() }()
	if who := loopback.Serving(c); who != "" {
		return ", by " + who
	}
	return ""
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

// readBack reads the test trace from the local store and removes it, also after an
// interruption, so that no list shows it. It also removes what earlier tests that were
// killed have left.
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

package infinium

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/hookspan/hookspan/internal/outbound"
)

// Operations of an Error.
const (
	opSend   = "send trace"
	opHealth = "check health"
)

// Exporter sends runs to Infinium. It implements sdktrace.SpanExporter and is
// safe for concurrent use.
type Exporter struct {
	agent     *url.URL // {base}/agents/{id}
	id        string
	secret    string
	userAgent string
	client    *outbound.Client
	secrets   *outbound.Secrets
	limits    Limits
	attempts  int
	now       func() time.Time
	sleep     func(context.Context, time.Duration) error

	mu       sync.Mutex
	closed   bool
	receipts []Receipt
}

var _ sdktrace.SpanExporter = (*Exporter)(nil)

// New checks the options and returns an exporter. It opens no connection. An
// error names the environment variable that is wrong, never the secret.
func New(o Options) (*Exporter, error) {
	agent, err := o.endpoint()
	if err != nil {
		return nil, err
	}
	if o.MaxInputPreview < 0 || o.MaxOutputPreview < 0 {
		return nil, fmt.Errorf("infinium: CONNECTOR_MAX_INPUT_PREVIEW %d, CONNECTOR_MAX_OUTPUT_PREVIEW %d: want 0 or more characters", o.MaxInputPreview, o.MaxOutputPreview)
	}
	if o.MaxAttempts < 0 {
		return nil, fmt.Errorf("infinium: %d attempts: want 0 or more", o.MaxAttempts)
	}
	e := &Exporter{
		agent:     agent,
		id:        strings.TrimSpace(o.AgentID),
		secret:    strings.TrimSpace(o.AgentSecret),
		secrets:   outbound.NewSecrets(nil, map[string]string{keyHeader: o.AgentSecret}),
		userAgent: "hookspan/" + cmp.Or(oneLine(o.Version), "dev"),
		limits:    Limits{InputPreview: o.MaxInputPreview, OutputPreview: o.MaxOutputPreview},
		attempts:  max(o.MaxAttempts, 1),
		now:       o.Now,
		sleep:     o.Sleep,
	}
	e.client = o.client(e.secrets)
	if e.now == nil {
		e.now = time.Now
	}
	if e.sleep == nil {
		e.sleep = sleep
	}
	return e, nil
}

// Format implements fmt.Formatter, so that no verb prints the secret.
func (e *Exporter) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, e.String())
}

// String names the destination.
func (e *Exporter) String() string {
	return "infinium.Exporter{" + e.agent.Redacted() + "}"
}

// ExportSpans sends one request per run. Spans of one run must come in one
// call: Infinium has no way to add to a trace.
//
// The error joins one *Error for each run that was not accepted, those that can
// be tried again first; Failures lists them. nil means that every run was
// accepted. After trouble that the remaining runs would meet too (no
// connection, redirect, login page, 401, 403, 404, 429) these are not tried and
// fail with the same error.
func (e *Exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.mu.Lock()
	closed := e.closed
	e.mu.Unlock()

	traces := Traces(spans, e.limits)
	var receipts []Receipt
	var failed []*Error
	var stop *Error
	if closed {
		stop = &Error{Class: ClassCanceled, Err: errors.New("exporter is shut down")}
	}
	for i := range traces {
		t := &traces[i]
		fail := stop
		if fail == nil {
			var r Receipt
			if r, fail = e.send(ctx, t); fail == nil {
				receipts = append(receipts, r)
				continue
			}
			if fail.unreached || ctx.Err() != nil {
				stop = fail
			}
		}
		own := *fail
		own.Op, own.Host, own.TraceID, own.RootSpanID = opSend, e.agent.Host, t.TraceID, t.RootSpanID
		failed = append(failed, &own)
	}

	e.mu.Lock()
	e.receipts = receipts
	e.mu.Unlock()
	return join(failed)
}

// Receipts returns the answers to the runs that the last finished ExportSpans
// delivered, in their order.
func (e *Exporter) Receipts() []Receipt {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.receipts)
}

// Shutdown makes further ExportSpans fail and closes idle connections. It
// waits for nothing and always returns nil.
func (e *Exporter) Shutdown(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.client.Close()
	return nil
}

// Health asks the service whether it knows the agent and its secret, and
// returns the agent's name as the service tells it, else its status. An error
// is an *Error.
func (e *Exporter) Health(ctx context.Context) (string, error) {
	a, fail := e.do(ctx, http.MethodGet, "health", nil)
	if fail != nil {
		fail.Op, fail.Host = opHealth, e.agent.Host
		return "", fail
	}
	m := members(a.Body)
	data := members(m["data"])
	name := cmp.Or(member(m, "agentName", "agent_name"), member(data, "agentName", "agent_name"), member(m, "status"), "ok")
	return outbound.Line(e.secrets.Clean(name), maxReceiptRunes), nil
}

// send delivers one run, in as many attempts as are allowed.
func (e *Exporter) send(ctx context.Context, t *Trace) (Receipt, *Error) {
	body, err := t.Encode()
	if err != nil {
		return Receipt{}, &Error{Class: ClassEncode, Err: err}
	}
	for attempt := 1; ; attempt++ {
		a, fail := e.do(ctx, http.MethodPost, "trace", body)
		if fail == nil {
			return Receipt{
				TraceID: t.TraceID, RootSpanID: t.RootSpanID,
				InfiniumID: e.secrets.Clean(receiptID(a.Body)), Status: a.Status,
			}, nil
		}
		if attempt >= e.attempts || !soon(fail.Class) || ctx.Err() != nil {
			return Receipt{}, fail
		}
		wait := cmp.Or(fail.after, min(time.Second<<min(attempt-1, 6), time.Minute))
		if end, ok := ctx.Deadline(); ok && e.now().Add(wait).After(end) {
			return Receipt{}, fail
		}
		if e.sleep(ctx, wait) != nil {
			return Receipt{}, fail
		}
	}
}

// soon reports trouble that may be over within seconds. A redirect or a login
// page waits for a person.
func soon(c Class) bool {
	switch c {
	case ClassNetwork, ClassTimeout, ClassHalfAnswer, ClassRateLimit, ClassServer:
		return true
	}
	return false
}

// do makes one request and classifies its outcome; an answer is a success.
func (e *Exporter) do(ctx context.Context, method, what string, body []byte) (*outbound.Answer, *Error) {
	if err := ctx.Err(); err != nil {
		return nil, broken(ctx, err)
	}
	var payload io.Reader = http.NoBody
	if body != nil {
		payload = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, e.agent.String()+"/"+what, payload)
	if err != nil {
		return nil, &Error{Class: ClassEncode, Err: e.secrets.CleanError(err)}
	}
	req.Header.Set("x-agent-id", e.id)
	req.Header.Set(keyHeader, e.secret)
	req.Header.Set("User-Agent", e.userAgent)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	a, err := e.client.Do(req)
	if err != nil {
		return nil, broken(ctx, err)
	}
	if fail := refused(a, e.now(), e.secrets); fail != nil {
		return nil, fail
	}
	return a, nil
}

// broken classifies a request without an answer.
func broken(ctx context.Context, err error) *Error {
	fail := &Error{Class: ClassNetwork, Err: err}
	var out *outbound.Error
	if errors.As(err, &out) {
		fail.unreached = out.Unreached || out.WrongProtocol()
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		fail.Class = ClassCanceled
	case errors.Is(err, context.DeadlineExceeded) || out != nil && out.Kind == outbound.Timeout:
		fail.Class = ClassTimeout
	}
	return fail
}

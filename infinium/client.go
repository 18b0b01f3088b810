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
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/outbound"
)

// Client sends runs to Infinium. It implements otlptrace.Client and is safe for
// concurrent use.
type Client struct {
	agent   *url.URL // {base}/agents/{id}
	header  http.Header
	http    *outbound.Client
	secrets *outbound.Secrets
	forms   Forms
	now     func() time.Time
	stopped atomic.Bool
}

var _ otlptrace.Client = (*Client)(nil)

// New returns an exporter for the OpenTelemetry SDK that sends by a new Client.
func New(ctx context.Context, o Options) (sdktrace.SpanExporter, error) {
	c, err := NewClient(o)
	if err != nil {
		return nil, err
	}
	return otlptrace.New(ctx, c)
}

// NewClient checks the options and returns a client. It opens no connection. An
// error names the environment variable that is wrong, never the secret.
func NewClient(o Options) (*Client, error) {
	agent, err := o.endpoint()
	if err != nil {
		return nil, err
	}
	secret := strings.TrimSpace(o.AgentSecret)
	secrets := outbound.NewSecrets(nil, map[string]string{keyHeader: secret})
	c := &Client{
		agent: agent, secrets: secrets, forms: o.Forms, now: o.Now,
		header: http.Header{
			"X-Agent-Id": {strings.TrimSpace(o.AgentID)}, keyHeader: {secret},
			"User-Agent":   {"hookspan/" + cmp.Or(oneLine(o.Version), "dev")},
			"Content-Type": {"application/json"}, "Accept": {"application/json"},
		},
		http: outbound.New(outbound.Options{Base: o.HTTPClient, Timeout: cmp.Or(o.Timeout, requestTimeout), Secrets: secrets, AnyUser: o.AnyUser}),
	}
	if c.now == nil {
		c.now = time.Now
	}
	return c, nil
}

// Format implements fmt.Formatter, so that no verb prints the secret.
func (c *Client) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "infinium.Client{"+c.agent.Redacted()+"}")
}

// Start does nothing: each request connects by itself.
func (c *Client) Start(context.Context) error { return nil }

// Stop makes further requests fail and closes idle connections. It waits for
// nothing and always returns nil.
func (c *Client) Stop(context.Context) error {
	c.stopped.Store(true)
	c.http.Close()
	return nil
}

// UploadTraces sends the spans, one request for each run. The error joins one
// *Error for each run that was not accepted, those that can be tried again
// first; Failures lists them. nil means that every run was accepted. After a
// failure that the remaining runs would meet too (no connection, redirect, login
// page, 401, 403, 404, 429) these are not tried and fail with the same error.
func (c *Client) UploadTraces(ctx context.Context, messages []*tracepb.ResourceSpans) error {
	var again, final []error
	var stop *Error
	for _, t := range Traces(messages, c.forms) {
		fail := stop
		if fail == nil {
			if _, err := c.Send(ctx, &t); !errors.As(err, &fail) {
				continue
			}
		}
		if fail.everywhere || classes[fail.Class].everywhere || ctx.Err() != nil {
			stop = fail
		}
		this := *fail
		this.TraceID, this.RootSpanID = t.TraceID, t.RootSpanID
		if this.Retryable() {
			again = append(again, &this)
		} else {
			final = append(final, &this)
		}
	}
	// A caller that reads only the first one must not park a trace that could still
	// be delivered.
	return errors.Join(append(again, final...)...)
}

// Send sends one trace and returns the service's id of it, empty if the answer has
// none. An error is an *Error.
func (c *Client) Send(ctx context.Context, t *Trace) (id string, err error) {
	a, fail := c.post(ctx, t)
	if fail != nil {
		fail.Host, fail.TraceID, fail.RootSpanID = c.agent.Host, t.TraceID, t.RootSpanID
		return "", fail
	}
	return c.secrets.Clean(receiptID(a.Body)), nil
}

// post makes one request and classifies its outcome; an answer is a success.
func (c *Client) post(ctx context.Context, t *Trace) (*outbound.Answer, *Error) {
	body, err := t.Encode()
	switch {
	case err != nil:
		return nil, &Error{Class: ClassEncode, Err: err}
	case c.stopped.Load():
		return nil, &Error{Class: ClassCanceled, Err: errors.New("exporter is shut down"), everywhere: true}
	case ctx.Err() != nil:
		return nil, broken(ctx, ctx.Err())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.agent.String()+"/trace", bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Class: ClassEncode, Err: c.secrets.CleanError(err)}
	}
	req.Header = c.header.Clone()
	a, err := c.http.Do(req)
	if err != nil {
		return nil, broken(ctx, err)
	}
	if fail := refused(a, c.now(), c.secrets); fail != nil {
		return nil, fail
	}
	return a, nil
}

// broken classifies a request without an answer.
func broken(ctx context.Context, err error) *Error {
	fail := &Error{Class: ClassNetwork, Err: err}
	var out *outbound.Error
	if errors.As(err, &out) {
		fail.everywhere = out.Unreached || out.WrongProtocol()
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		fail.Class = ClassCanceled
	case errors.Is(err, context.DeadlineExceeded) || out != nil && out.Kind == outbound.Timeout:
		fail.Class = ClassTimeout
	}
	return fail
}

package infinium

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
	"github.com/hookspan/hookspan/otelmap"
)

// newClient returns a client that sends to the server.
func newClient(t *testing.T, s *infiniumtest.Server, change ...func(*Options)) *Client {
	t.Helper()
	o := Options{
		BaseURL: s.URL(), AgentID: infiniumtest.AgentID, AgentSecret: infiniumtest.AgentSecret, Version: "1.2.3",
		Now: func() time.Time { return start }, Forms: testForms,
	}
	for _, c := range change {
		c(&o)
	}
	e, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestUploadTracesSendsOneRequestPerRun(t *testing.T) {
	s := infiniumtest.New(t)
	e := newClient(t, s)
	spans := append(clineRun().messages(), claudeRun().messages()...)
	if err := e.UploadTraces(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	reqs := s.Requests()
	if len(reqs) != 2 || len(s.Traces()) != 2 {
		t.Fatalf("%d requests, %d traces; want 2 and 2", len(reqs), len(s.Traces()))
	}
	for _, r := range reqs {
		got := map[string]string{"": r.Method + " " + r.Path}
		for _, h := range []string{"X-Agent-Id", "X-Agent-Key", "Content-Type", "User-Agent"} {
			got[h] = r.Header.Get(h)
		}
		want := map[string]string{
			"": "POST /api/v1/agents/agent-test-0001/trace", "X-Agent-Id": infiniumtest.AgentID,
			"X-Agent-Key": infiniumtest.AgentSecret, "Content-Type": "application/json", "User-Agent": "hookspan/1.2.3",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("request (-want +got):\n%s", d)
		}
		if bytes.Contains(r.Body, []byte(infiniumtest.AgentSecret)) {
			t.Error("the secret is in the body")
		}
	}
}

func TestSendReturnsServicesID(t *testing.T) {
	s := infiniumtest.New(t)
	traces := Traces(smallRun(1).messages(), testForms)
	got, err := newClient(t, s).Send(t.Context(), &traces[0])
	if want := "trace-0001"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	s.Always(infiniumtest.Status(401, "no"))
	_, err = newClient(t, s).Send(t.Context(), &traces[0])
	if fails := Failures(err); len(fails) != 1 || fails[0].TraceID != traceID(1).String() {
		t.Errorf("got %v, want one failure of the trace", err)
	}
}

// TestSDKExporter sends what an OpenTelemetry SDK hands to an exporter.
func TestSDKExporter(t *testing.T) {
	s := infiniumtest.New(t)
	e, err := New(t.Context(), Options{BaseURL: s.URL(), AgentID: infiniumtest.AgentID, AgentSecret: infiniumtest.AgentSecret, Forms: testForms})
	if err != nil {
		t.Fatal(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e))
	tracer := provider.Tracer("test")
	ctx, root := tracer.Start(t.Context(), "invoke_agent cline", trace.WithAttributes(attribute.String(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, "a task"))))
	_, tool := tracer.Start(ctx, "execute_tool read_file")
	tool.End()
	root.End()
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := s.Traces()
	if len(got) != 1 || got[0]["name"] != "a task" || len(got[0]["steps"].([]any)) != 1 {
		t.Errorf("got %v, want one trace with one step", got)
	}
}

func TestUploadTracesWithNothingToSend(t *testing.T) {
	s := infiniumtest.New(t)
	if err := newClient(t, s).UploadTraces(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

func TestFaults(t *testing.T) {
	elsewhere := infiniumtest.New(t)
	type outcome struct {
		Class     Class
		Status    int
		Retryable bool
		After     time.Duration
		Stored    int
	}
	tests := map[string]struct {
		answer infiniumtest.Response
		want   outcome // the zero Class is success
		says   []string
	}{
		"created":             {infiniumtest.Response{}, outcome{Stored: 1}, nil},
		"ok without a body":   {infiniumtest.Response{Status: 200, NoBody: true}, outcome{Stored: 1}, nil},
		"no content":          {infiniumtest.Response{Status: 204, NoBody: true}, outcome{Stored: 1}, nil},
		"accepted, not JSON":  {infiniumtest.Response{Status: 202, Body: "thanks"}, outcome{Stored: 1}, nil},
		"a vast answer":       {infiniumtest.Response{Status: 200, Body: strings.Repeat("x", 5<<20)}, outcome{Stored: 1}, nil},
		"a late answer":       {infiniumtest.Response{Delay: time.Millisecond}, outcome{Stored: 1}, nil},
		"closed before":       {infiniumtest.CloseBefore(), outcome{ClassNetwork, 0, true, 0, 0}, []string{"EOF", "INFINIUM_BASE_URL"}},
		"closed half-way":     {infiniumtest.CloseHalfway(), outcome{ClassHalfAnswer, 201, true, 0, 1}, []string{"broke off"}},
		"login page":          {infiniumtest.LoginPage(), outcome{ClassLoginPage, 200, true, 0, 0}, []string{"web page", "sign in"}},
		"unmarked login page": {infiniumtest.Response{Status: 200, Body: "\n<html>"}, outcome{ClassLoginPage, 200, true, 0, 1}, []string{"web page"}},
		"rate limit":          {infiniumtest.RateLimited(""), outcome{ClassRateLimit, 429, true, time.Minute, 0}, []string{"wait 1m0s"}},
		"rate limit, seconds": {infiniumtest.RateLimited("7"), outcome{ClassRateLimit, 429, true, 7 * time.Second, 0}, []string{"wait 7s"}},
		"rate limit, date": {infiniumtest.Response{Status: 429, Header: http.Header{
			"Date": {start.Add(8 * time.Hour).Format(http.TimeFormat)}, "Retry-After": {start.Add(8*time.Hour + 90*time.Second).Format(http.TimeFormat)},
		}}, outcome{ClassRateLimit, 429, true, 90 * time.Second, 0}, nil},
		"rate limit, nonsense": {infiniumtest.RateLimited("soon"), outcome{ClassRateLimit, 429, true, time.Minute, 0}, nil},
		"server error":         {infiniumtest.Status(500, "boom"), outcome{ClassServer, 500, true, 0, 0}, []string{`answered 500 Internal Server Error: "boom"`}},
		"bad gateway page":     {infiniumtest.Response{Status: 502, ContentType: "text/html", Body: "<html>nginx"}, outcome{ClassServer, 502, true, 0, 0}, []string{"502 Bad Gateway; try again"}},
		"down with Retry-After": {
			infiniumtest.Response{Status: 503, Header: http.Header{"Retry-After": {"120"}}},
			outcome{ClassServer, 503, true, 2 * time.Minute, 0},
			nil,
		},
		"moved for good":       {infiniumtest.Redirect(301, elsewhere.URL()+"?token=t0k3n"), outcome{ClassRedirect, 301, true, 0, 0}, []string{elsewhere.URL(), "set INFINIUM_BASE_URL"}},
		"redirect with body":   {infiniumtest.Redirect(307, elsewhere.URL()), outcome{ClassRedirect, 307, true, 0, 0}, []string{elsewhere.URL()}},
		"permanent redirect":   {infiniumtest.Redirect(308, elsewhere.URL()), outcome{ClassRedirect, 308, true, 0, 0}, nil},
		"redirect to nowhere":  {infiniumtest.Redirect(302, ""), outcome{ClassRedirect, 302, true, 0, 0}, nil},
		"not modified":         {infiniumtest.Redirect(304, ""), outcome{ClassRedirect, 304, true, 0, 0}, nil},
		"request timeout":      {infiniumtest.Status(408, ""), outcome{ClassTimeout, 408, true, 0, 0}, nil},
		"bad request":          {infiniumtest.Status(400, "bad"), outcome{ClassRejected, 400, false, 0, 0}, []string{`"bad"`}},
		"unauthorized":         {infiniumtest.Status(401, "bad key"), outcome{ClassAuth, 401, false, 0, 0}, []string{"INFINIUM_AGENT_ID", "INFINIUM_AGENT_SECRET"}},
		"forbidden":            {infiniumtest.Status(403, "no"), outcome{ClassAuth, 403, false, 0, 0}, []string{"INFINIUM_AGENT_SECRET"}},
		"unknown agent":        {infiniumtest.Status(404, "no"), outcome{ClassNotFound, 404, false, 0, 0}, []string{"INFINIUM_AGENT_ID"}},
		"proxy wants a login":  {infiniumtest.Status(407, "no"), outcome{ClassRejected, 407, false, 0, 0}, []string{"HTTPS_PROXY"}},
		"conflict":             {infiniumtest.Status(409, "no"), outcome{ClassRejected, 409, false, 0, 0}, nil},
		"too large":            {infiniumtest.Status(413, "no"), outcome{ClassTooLarge, 413, false, 0, 0}, []string{"CONNECTOR_MAX_INPUT_PREVIEW"}},
		"invalid":              {infiniumtest.Response{Status: 422, Body: `{"detail":"name: too\nlong"}`}, outcome{ClassRejected, 422, false, 0, 0}, []string{`"name: too long"`}},
		"an unknown status":    {infiniumtest.Status(600, "?"), outcome{ClassServer, 600, true, 0, 0}, nil},
		"the secret echoed":    {infiniumtest.Status(500, "got "+strings.Repeat("x", 190)+infiniumtest.AgentSecret), outcome{ClassServer, 500, true, 0, 0}, []string{"got x"}},
		"the secret in a text": {infiniumtest.Response{Status: 400, Body: "key " + infiniumtest.AgentSecret + " is bad"}, outcome{ClassRejected, 400, false, 0, 0}, []string{"key **** is bad"}},
		"the secret in a location": {
			infiniumtest.Redirect(302, elsewhere.URL()+"/"+infiniumtest.AgentSecret), outcome{ClassRedirect, 302, true, 0, 0}, []string{"****"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := infiniumtest.New(t)
			s.Script(tt.answer)
			e := newClient(t, s)
			err := e.UploadTraces(t.Context(), smallRun(1).messages())
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
			got := outcome{Stored: len(s.Traces())}
			var fail *Error
			if errors.As(err, &fail) {
				got.Class, got.Status, got.Retryable, got.After = fail.Class, fail.Status, fail.Retryable(), fail.RetryAfter()
				text := err.Error()
				for _, say := range append(tt.says, strings.TrimPrefix(strings.TrimSuffix(s.URL(), "/api/v1"), "http://"), traceID(1).String()) {
					if !strings.Contains(text, say) {
						t.Errorf("error does not say %q: %s", say, text)
					}
				}
				if strings.Contains(text, "secret-") || strings.Contains(text, "t0k3n") || strings.ContainsAny(text, "\n\r") {
					t.Errorf("error shows a secret or breaks the line: %q", text)
				}
			} else if err != nil {
				t.Fatalf("error %v is no *Error", err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	if n := len(elsewhere.Requests()); n != 0 {
		t.Errorf("%d requests followed a redirect", n)
	}
}

func TestHangingServer(t *testing.T) {
	t.Run("the client's timeout ends it", func(t *testing.T) {
		s := infiniumtest.New(t)
		s.Always(infiniumtest.Hang())
		e := newClient(t, s, func(o *Options) { o.HTTPClient = &http.Client{Timeout: 20 * time.Millisecond} })
		fails := Failures(e.UploadTraces(t.Context(), runs(1)))
		if len(fails) != 1 || fails[0].Class != ClassTimeout || !fails[0].Retryable() {
			t.Errorf("got %v, want one timeout", fails)
		}
	})
	t.Run("the caller's cancelling ends it and what follows", func(t *testing.T) {
		s := infiniumtest.New(t)
		s.Always(infiniumtest.Hang())
		e := newClient(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error)
		go func() { done <- e.UploadTraces(ctx, runs(1, 2, 3)) }()
		if err := s.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		cancel()
		err := <-done
		fails := Failures(err)
		if len(fails) != 3 || len(s.Requests()) != 1 || !errors.Is(err, context.Canceled) {
			t.Fatalf("%d failures, %d requests, %v", len(fails), len(s.Requests()), err)
		}
		for i, f := range fails {
			if f.Class != ClassCanceled || !f.Retryable() || f.TraceID != traceID(uint64(i+1)).String() {
				t.Errorf("failure %d: %v", i, f)
			}
		}
	})
	t.Run("a deadline that has passed sends nothing", func(t *testing.T) {
		s := infiniumtest.New(t)
		ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
		defer cancel()
		fails := Failures(newClient(t, s).UploadTraces(ctx, runs(1)))
		if len(fails) != 1 || fails[0].Class != ClassTimeout || len(s.Requests()) != 0 {
			t.Errorf("%v after %d requests", fails, len(s.Requests()))
		}
	})
	t.Run("a released answer is an answer", func(t *testing.T) {
		s := infiniumtest.New(t)
		s.Script(infiniumtest.Hang())
		done := make(chan error)
		go func() { done <- newClient(t, s).UploadTraces(t.Context(), runs(1)) }()
		if err := s.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		s.Release()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestPartialFailure(t *testing.T) {
	tests := map[string]struct {
		script   []infiniumtest.Response
		failed   []uint64 // in the order of the error, what can be tried again first
		accepted []uint64
		requests int
	}{
		"one of three rejected": {
			[]infiniumtest.Response{{}, infiniumtest.Status(422, "no"), {}}, []uint64{2}, []uint64{1, 3}, 3,
		},
		"what can be tried again comes first": {
			[]infiniumtest.Response{infiniumtest.Status(422, "no"), infiniumtest.Status(500, "no"), {}}, []uint64{2, 1}, []uint64{3}, 3,
		},
		"a poisonous trace does not stop the others": {
			[]infiniumtest.Response{infiniumtest.Status(500, "no"), {}, {}}, []uint64{1}, []uint64{2, 3}, 3,
		},
		"a rate limit ends the tries": {
			[]infiniumtest.Response{{}, infiniumtest.RateLimited("9"), {}}, []uint64{2, 3}, []uint64{1}, 2,
		},
		"wrong credentials end the tries": {
			[]infiniumtest.Response{infiniumtest.Status(401, "no"), {}, {}}, []uint64{1, 2, 3}, nil, 1,
		},
		"a redirect ends the tries": {
			[]infiniumtest.Response{infiniumtest.Redirect(302, "/x"), {}, {}}, []uint64{1, 2, 3}, nil, 1,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := infiniumtest.New(t)
			s.Script(tt.script...)
			e := newClient(t, s)
			err := e.UploadTraces(t.Context(), runs(1, 2, 3))
			if err == nil {
				t.Fatal("a failure went unreported")
			}
			var failed, accepted, want, wantAccepted []string
			for _, f := range Failures(err) {
				failed = append(failed, f.TraceID)
			}
			for _, stored := range s.Traces() {
				tags := stored["environment"].(map[string]any)["custom_tags"].(map[string]any)
				accepted = append(accepted, tags[TagTraceID].(string))
			}
			for _, n := range tt.failed {
				want = append(want, traceID(n).String())
			}
			for _, n := range tt.accepted {
				wantAccepted = append(wantAccepted, traceID(n).String())
			}
			if d := cmp.Diff(want, failed); d != "" {
				t.Errorf("failures (-want +got):\n%s", d)
			}
			if d := cmp.Diff(wantAccepted, accepted); d != "" {
				t.Errorf("accepted (-want +got):\n%s", d)
			}
			if n := len(s.Requests()); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
		})
	}
}

func TestNoServer(t *testing.T) {
	s := infiniumtest.New()
	e := newClient(t, s)
	s.Close()
	fails := Failures(e.UploadTraces(t.Context(), runs(1, 2)))
	if len(fails) != 2 || fails[0].Class != ClassNetwork || fails[1].Class != ClassNetwork || !fails[1].Retryable() {
		t.Errorf("got %v, want two network failures", fails)
	}
}

func TestLargeTraceIsAccepted(t *testing.T) {
	s := infiniumtest.New(t)
	s.SetMaxBody(MaxBodyBytes)
	tr := &tree{id: traceID(1)}
	tr.root("cline", 10)
	for i := range 20_000 {
		tr.tool(uint64(i+2), 1, "read_file", i, i+1, strings.Repeat("i", 150), strings.Repeat("o", 150))
	}
	if err := newClient(t, s).UploadTraces(t.Context(), tr.messages()); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Traces()); n != 1 {
		t.Errorf("%d traces stored, want 1", n)
	}
}

func TestStop(t *testing.T) {
	s := infiniumtest.New(t)
	e := newClient(t, s)
	for range 2 {
		if err := e.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	fails := Failures(e.UploadTraces(t.Context(), runs(1)))
	if len(fails) != 1 || !fails[0].Retryable() || len(s.Requests()) != 0 {
		t.Errorf("got %v after %d requests, want a refusal", fails, len(s.Requests()))
	}
}

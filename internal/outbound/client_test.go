package outbound

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/faultserver"
)

// server gives every request the same answer.
func server(t *testing.T, a faultserver.Answer) *faultserver.Server[faultserver.Answer, faultserver.Incoming] {
	t.Helper()
	s, err := faultserver.Start(faultserver.Options[faultserver.Answer, faultserver.Incoming]{
		Name:   "test server",
		Read:   func(in faultserver.Incoming) *faultserver.Incoming { return &in },
		Choose: func(*faultserver.Incoming, func() (faultserver.Answer, bool)) faultserver.Answer { return a },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func do(ctx context.Context, t *testing.T, c *Client, url string) (*Answer, error) {
	t.Helper()
	t.Cleanup(c.Close)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("request"))
	if err != nil {
		t.Fatal(err)
	}
	return c.Do(req)
}

// kindOf is the error of a request or of its answer.
func kindOf(t *testing.T, a *Answer, err error) *Error {
	t.Helper()
	if err == nil && a != nil {
		err = a.Err
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("answer %+v, error %v: want an *Error", a, err)
	}
	if strings.Contains(e.Error(), "http://") && e.Kind != OtherProtocol || strings.ContainsAny(e.Error(), "\r\n") {
		t.Errorf("error %q, want one line without the URL", e)
	}
	return e
}

func TestEndlessAnswersEndAtTheTimeLimit(t *testing.T) {
	want := map[string]Kind{
		"101, then silence": OtherProtocol, "101, then bytes": OtherProtocol, "101, then a byte at a time": OtherProtocol,
		"100 again and again": TooLong, "103 again and again": TooLong, "a header without end": TooLong, "a body without end": TooLong,
	}
	for name, endless := range faultserver.EndlessAnswers() {
		kind, ok := want[name]
		if !ok {
			kind = Timeout
		}
		if endless.Slow() != (kind == Timeout) {
			t.Errorf("%s: slow %t, want kind %d", name, endless.Slow(), kind)
		}
		for how, c := range map[string]*Client{
			"by default": New(Options{}), "of the caller": New(Options{Base: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}),
		} {
			if how == "of the caller" && kind == TooLong && !strings.Contains(name, "body") {
				continue // The caller's transport has its own limit, 10 MB by default.
			}
			t.Run(name+", a transport "+how, func(t *testing.T) {
				t.Parallel()
				s := server(t, faultserver.Answer{Fault: faultserver.Fault{Endless: &endless}})
				ctx, cancel := context.Background(), context.CancelFunc(func() {})
				if kind == Timeout {
					ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
				}
				defer cancel()
				a, err := do(ctx, t, c, s.Base())
				if e := kindOf(t, a, err); e.Kind != kind || kind == Timeout && !errors.Is(e, context.DeadlineExceeded) {
					t.Errorf("kind %d: %v, want %d", e.Kind, e, kind)
				}
				// The client's own limit, and a caller that gives up.
				c.guard.timeout = 100 * time.Millisecond
				if kind == Timeout {
					a, err = do(t.Context(), t, c, s.Base())
					if e := kindOf(t, a, err); e.Kind != Timeout || !strings.Contains(e.Error(), "within 100ms") {
						t.Errorf("with the client's limit: kind %d: %v", e.Kind, e)
					}
				}
				c.guard.timeout = 0
				ctx, cancel = context.WithCancel(t.Context())
				arrived := len(s.Requests()) + 1
				go func() {
					_ = s.Wait(ctx, arrived)
					cancel()
				}()
				a, err = do(ctx, t, c, s.Base())
				if e := kindOf(t, a, err); kind == Timeout && (e.Kind != Canceled || !errors.Is(e, context.Canceled)) {
					t.Errorf("canceled: kind %d: %v", e.Kind, e)
				}
			})
		}
	}
}

func TestAnswersAreComplete(t *testing.T) {
	s := server(t, faultserver.Answer{Status: 418, Header: http.Header{"X-A": {"b"}}, Body: []byte("tea")})
	for name, o := range map[string]Options{"plain": {}, "once": {Once: true}, "a caller's client": {Base: &http.Client{}}} {
		a, err := do(t.Context(), t, New(o), s.Base())
		if err != nil || a.Status != 418 || a.Header.Get("X-A") != "b" || string(a.Body) != "tea" || a.Err != nil {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	for _, in := range s.Requests() {
		if string(in.Body) != "request" || in.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("request %+v", in)
		}
	}
}

func TestHTTP2AnswersAreComplete(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	a, err := do(t.Context(), t, New(Options{TLS: s.Client().Transport.(*http.Transport).TLSClientConfig}), s.URL)
	if err != nil || string(a.Body) != "HTTP/2.0" {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestAnswersAreReadUpToTheLimit(t *testing.T) {
	body := bytes.Repeat([]byte("x"), 100)
	s := server(t, faultserver.Answer{Body: body})
	if a, err := do(t.Context(), t, New(Options{MaxAnswer: 100}), s.Base()); err != nil || a.Err != nil || len(a.Body) != 100 {
		t.Errorf("%+v, %v: want all of it", a, err)
	}
	a, err := do(t.Context(), t, New(Options{MaxAnswer: 99}), s.Base())
	if e := kindOf(t, a, err); e.Kind != TooLong || len(a.Body) != 99 || e.Error() != "the server answered with more than 99 bytes" {
		t.Errorf("%d bytes and %v", len(a.Body), e)
	}
	s = server(t, faultserver.Answer{Body: body, Fault: faultserver.Fault{CloseHalfway: true}})
	a, err = do(t.Context(), t, New(Options{}), s.Base())
	if e := kindOf(t, a, err); e.Kind != Network || a.Status != 200 || len(a.Body) != 50 {
		t.Errorf("%+v: %v, want half of it", a, e)
	}
}

// TestPackedAnswersAreRead has servers and proxies that pack their answer although
// they were asked not to.
func TestPackedAnswersAreRead(t *testing.T) {
	pack := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, text)
		_ = z.Close()
		return b.Bytes()
	}
	whole := pack(strings.Repeat("tea ", 25))
	for name, c := range map[string]struct {
		coding string
		body   []byte
		want   string
		kind   Kind
		broken bool
	}{
		"gzip":                         {coding: "gzip", body: whole, want: strings.Repeat("tea ", 25)},
		"its other name":               {coding: " X-GZIP", body: whole, want: strings.Repeat("tea ", 25)},
		"nothing at all":               {coding: "gzip"},
		"an end that is missing":       {coding: "gzip", body: whole[:len(whole)-4], want: strings.Repeat("tea ", 25), broken: true},
		"text that is not packed":      {coding: "gzip", body: []byte("tea and more tea"), broken: true},
		"more text than the limit":     {coding: "gzip", body: pack(strings.Repeat("tea ", 1<<20)), want: strings.Repeat("tea ", 50), kind: TooLong, broken: true},
		"a coding that nobody knows":   {coding: "tea", body: []byte("tea"), want: "tea"},
		"packed, and nobody says that": {body: []byte{0x1f, 0x8b}, want: "\x1f\x8b"},
	} {
		header := http.Header{"Content-Type": {"text/plain"}}
		if c.coding != "" {
			header.Set("Content-Encoding", c.coding)
		}
		s := server(t, faultserver.Answer{Header: header, Body: c.body})
		a, err := do(t.Context(), t, New(Options{MaxAnswer: 200}), s.Base())
		if err != nil || string(a.Body) != c.want || (a.Err != nil) != c.broken {
			t.Errorf("%s: %q, %v, %v; want %q", name, a.Body, a.Err, err, c.want)
		} else if c.broken && kindOf(t, a, err).Kind != c.kind {
			t.Errorf("%s: %v", name, a.Err)
		}
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11} //nolint:gosec // The client must refuse it.
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	for _, c := range []*tls.Config{nil, {InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}} { //nolint:gosec // The client must raise it.
		a, err := do(t.Context(), t, New(Options{TLS: c}), s.URL)
		if e := kindOf(t, a, err); e.Kind != Network || !strings.Contains(e.Error(), "protocol version") {
			t.Errorf("kind %d: %v", e.Kind, e)
		}
	}
}

// greeter is a server that sends its bytes, reads or not, and closes.
func greeter(t *testing.T, first bool, greeting string) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if !first {
				_, _ = c.Read(make([]byte, 24))
			}
			_, _ = io.WriteString(c, greeting)
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func TestErrorsNameTheWrongProtocol(t *testing.T) {
	// net/http logs an error about a server that speaks first, which is no failure.
	log.SetOutput(io.Discard)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	const settings = "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00\x40\x00\n"
	for _, tc := range []struct {
		name, url string
		kind      Kind
		says      string
	}{
		{"https to plain HTTP", "https://" + strings.TrimPrefix(server(t, faultserver.Answer{}).Base(), "http://"), OtherProtocol, "write http://"},
		{"http to Go's TLS", "http://" + strings.TrimPrefix(secure.URL, "https://"), OtherProtocol, "write https://"},
		{"http to nginx's TLS", server(t, faultserver.Answer{Status: 400, Body: []byte("<center>The plain HTTP request was sent to HTTPS port</center>")}).Base(), OtherProtocol, "write https://"},
		{"http to a TLS that sends an alert", "http://" + greeter(t, false, "\x15\x03\x01\x00\x02\x02\x46\n"), OtherProtocol, "write https://"},
		{"http to gRPC", "http://" + greeter(t, false, settings), OnlyHTTP2, "gRPC"},
		{"http to gRPC that speaks first", "http://" + greeter(t, true, settings), OnlyHTTP2, "gRPC"},
		{"http to gRPC that gives up", "http://" + greeter(t, false, "\x00\x00\x08\x07\x00\x00\x00\x00\x00xxxxxxxx\n"), OnlyHTTP2, "gRPC"},
		{"https to gRPC without TLS", "https://" + greeter(t, true, settings), OnlyHTTP2, "gRPC"},
		{"http to a mail server", "http://" + greeter(t, true, "220 mail.example ESMTP\r\n"), OtherProtocol, "no HTTP server"},
		{"https to a mail server", "https://" + greeter(t, true, "220 mail.example ESMTP\r\n"), OtherProtocol, "does not speak TLS"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			a, err := do(ctx, t, New(Options{}), tc.url)
			e := kindOf(t, a, err)
			if e.Kind != tc.kind || !strings.Contains(e.Error(), tc.says) || !e.WrongProtocol() {
				t.Errorf("kind %d: %v, want %d and %q", e.Kind, e, tc.kind, tc.says)
			}
		})
	}
}

func TestErrorsOfTheNetwork(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	_ = l.Close()
	for _, tc := range []struct {
		name, url, says string
		unreached       bool
	}{
		{"no listener", "http://" + closed, "no program listens at " + closed + " (connection refused)", true},
		{"a server that hangs up", server(t, faultserver.Answer{Fault: faultserver.Fault{CloseBefore: true}}).Base(), "closed the connection", false},
		{"an unknown scheme", "ftp://" + closed, "unsupported protocol scheme", false},
		{"no host", "http:///path", "no Host", false},
	} {
		a, err := do(t.Context(), t, New(Options{}), tc.url)
		e := kindOf(t, a, err)
		if e.Kind != Network || !strings.Contains(e.Error(), tc.says) || e.Unreached != tc.unreached || e.WrongProtocol() {
			t.Errorf("%s: kind %d, unreached %t: %v, want %q", tc.name, e.Kind, e.Unreached, e, tc.says)
		}
	}
	unknown := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "backend.invalid", IsNotFound: true}}
	}
	a, err := do(t.Context(), t, New(Options{Dial: unknown}), "http://backend.invalid:4318")
	if e := kindOf(t, a, err); !e.Unreached || e.Error() != `no address is known for the name "backend.invalid" (no such host)` {
		t.Errorf("unreached %t: %v", e.Unreached, e)
	}
	// No program accepts here, so the error must name the phase of connecting.
	wait := func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	a, err = do(t.Context(), t, New(Options{Dial: wait, Timeout: time.Millisecond}), "http://127.0.0.1:1")
	if e := kindOf(t, a, err); e.Kind != Timeout || e.Error() != "no connection could be made within 1ms" {
		t.Errorf("kind %d: %v", e.Kind, e)
	}
}

func TestErrorsHoldNoCredentials(t *testing.T) {
	const key = "hcaikAbCdEf12GhIjKl34"
	s := NewSecrets(nil, map[string]string{"x-key": key})
	a, err := do(t.Context(), t, New(Options{Secrets: s}), "http://127.0.0.1:1/?key="+key)
	if e := kindOf(t, a, err); strings.Contains(e.Error(), key) {
		t.Errorf("error %v", e)
	}
	a, err = do(t.Context(), t, New(Options{Secrets: s}), "http://"+greeter(t, true, key+"\n"))
	if e := kindOf(t, a, err); strings.Contains(e.Error(), key[:8]) {
		t.Errorf("error %v", e)
	}
}

package faultserver

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// seen is what the servers of these tests keep of a request.
type seen struct {
	Method, Path, RawPath, Body string
	Err                         error
	Sent                        bool
}

// start starts a server whose scripted answers go out as they are; without one
// it answers 200 and "normal". A request of method DELETE is not kept.
func start(t *testing.T, change ...func(*Options[Answer, seen])) *Server[Answer, seen] {
	t.Helper()
	o := Options[Answer, seen]{
		Name: "test server",
		Read: func(in Incoming) *seen {
			if in.Method == http.MethodDelete {
				return nil
			}
			return &seen{Method: in.Method, Path: in.Path, RawPath: in.RawPath, Body: string(in.Body), Err: in.Err}
		},
		Choose: func(req *seen, next func() (Answer, bool)) Answer {
			a, ok := next()
			if !ok {
				a.Body = []byte("normal")
			}
			a.Sent = func() { req.Sent = true }
			return a
		},
	}
	for _, c := range change {
		c(&o)
	}
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

type reply struct {
	Status int
	Header http.Header
	Body   string
	err    error
}

func ask(ctx context.Context, t *testing.T, s *Server[Answer, seen], method, path, body string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.Base()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{
		// A server of these tests has its own certificate.
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := c.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	return reply{Status: res.StatusCode, Header: res.Header, Body: string(b), err: err}
}

func TestAnswersGoOutAsWritten(t *testing.T) {
	text := http.Header{"Content-Type": {"text/plain"}}
	tests := []struct {
		name   string
		answer Answer
		want   reply // Header: those that must be there, nil values for those that must not
		broken bool
		sent   bool
	}{
		{"nothing said", Answer{}, reply{Status: 200}, false, true},
		{"status, header and body", Answer{Status: 503, Header: text, Body: []byte("down")}, reply{Status: 503, Header: text, Body: "down"}, false, true},
		{"names in lower case", Answer{Header: http.Header{"retry-after": {"3"}}}, reply{Status: 200, Header: http.Header{"Retry-After": {"3"}}}, false, true},
		{"wait", Answer{Status: 429, Header: RetryAfter("7")}, reply{Status: 429, Header: http.Header{"Retry-After": {"7"}}}, false, true},
		{"wait without saying how long", Answer{Status: 429, Header: RetryAfter("")}, reply{Status: 429, Header: http.Header{"Retry-After": nil}}, false, true},
		{"redirect", Answer{Status: 307, Header: Location("http://x/")}, reply{Status: 307, Header: http.Header{"Location": {"http://x/"}}}, false, true},
		{"a type made up", Answer{Body: []byte("<html>")}, reply{Status: 200, Header: http.Header{"Content-Type": {LoginPageType}}, Body: "<html>"}, false, true},
		{"no type at all", Answer{Header: http.Header{"Content-Type": nil}, Body: []byte("<html>")}, reply{Status: 200, Header: http.Header{"Content-Type": nil}, Body: "<html>"}, false, true},
		{"a body where none may be", Answer{Status: 304, Body: []byte("x")}, reply{Status: 304}, false, true},
		{"a delay", Answer{Fault: Fault{Delay: time.Millisecond}, Body: []byte("late")}, reply{Status: 200, Body: "late"}, false, true},
		{"closed before", Answer{Fault: Fault{CloseBefore: true}, Body: []byte("x")}, reply{}, true, false},
		{"closed after a delay", Answer{Fault: Fault{Delay: time.Millisecond, CloseBefore: true}}, reply{}, true, false},
		{"closed half-way", Answer{Status: 201, Fault: Fault{CloseHalfway: true}, Body: []byte("abcd")}, reply{Status: 201, Body: "ab"}, true, true},
		{"closed half-way through nothing", Answer{Fault: Fault{CloseHalfway: true}}, reply{Status: 200}, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t)
			s.Script(tt.answer)
			got := ask(t.Context(), t, s, http.MethodPost, "/", "")
			if (got.err != nil) != tt.broken || got.Status != tt.want.Status || got.Body != tt.want.Body {
				t.Errorf("got %d %q, %v; want %d %q, broken %t", got.Status, got.Body, got.err, tt.want.Status, tt.want.Body, tt.broken)
			}
			for name, want := range tt.want.Header {
				if d := cmp.Diff(want, got.Header[name]); d != "" {
					t.Errorf("%s (-want +got):\n%s", name, d)
				}
			}
			if sent := s.Requests()[0].Sent; sent != tt.sent {
				t.Errorf("Sent called: %t, want %t", sent, tt.sent)
			}
		})
	}
}

func TestTheScriptComesBeforeAlways(t *testing.T) {
	s := start(t)
	s.Always(Answer{Body: []byte("always")})
	s.Script(Answer{Body: []byte("one")}, Answer{Body: []byte("two")})
	var got []string
	for i := range 6 {
		if i == 4 {
			s.Script(Answer{Body: []byte("dropped")})
			s.Reset()
		}
		got = append(got, ask(t.Context(), t, s, http.MethodPost, "/", "").Body)
	}
	if d := cmp.Diff([]string{"one", "two", "always", "always", "normal", "normal"}, got); d != "" {
		t.Errorf("answers (-want +got):\n%s", d)
	}
}

func TestRequestsAreKept(t *testing.T) {
	s := start(t, func(o *Options[Answer, seen]) { o.MaxRead = 3 })
	for _, q := range [][3]string{{http.MethodPost, "/a%2Fb", "abc"}, {http.MethodPut, "/", "abcd"}, {http.MethodDelete, "/", ""}} {
		ask(t.Context(), t, s, q[0], q[1], q[2])
	}
	want := []seen{
		{Method: "POST", Path: "/a/b", RawPath: "/a%2Fb", Body: "abc", Sent: true},
		{Method: "PUT", Path: "/", RawPath: "/", Body: "abc", Err: ErrTooLong, Sent: true},
	}
	sameError := cmp.Comparer(func(x, y error) bool { return errors.Is(x, y) && errors.Is(y, x) })
	if d := cmp.Diff(want, s.Requests(), sameError); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
}

func TestABodyThatBreaksOffIsNotWhole(t *testing.T) {
	s := start(t)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.Base(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
	if err = errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got := s.Requests()[0]; got.Body != "abc" || got.Err == nil || errors.Is(got.Err, ErrTooLong) {
		t.Errorf("got %+v, want an unexpected end", got)
	}
}

func TestWhatIsHeldBackEnds(t *testing.T) {
	for _, fault := range []Fault{{Hang: true}, {Delay: time.Hour}, {Hang: true, Delay: time.Nanosecond}} {
		for _, tt := range []struct {
			name string
			end  func(s *Server[Answer, seen], cancel func())
			ok   bool
		}{
			{"by release", func(s *Server[Answer, seen], _ func()) { s.Release() }, true},
			{"by the client", func(_ *Server[Answer, seen], cancel func()) { cancel() }, false},
			{"by closing the server", func(s *Server[Answer, seen], _ func()) { s.Close(); s.Close() }, false},
		} {
			if tt.ok && !fault.Hang {
				continue // A delay is not released.
			}
			t.Run(tt.name, func(t *testing.T) {
				s := start(t)
				s.Script(Answer{Fault: fault, Body: []byte("at last")})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan reply, 1)
				go func() { done <- ask(ctx, t, s, http.MethodPost, "/", "") }()
				if err := s.Wait(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				if s.Requests()[0].Sent {
					t.Error("sent before its time")
				}
				tt.end(s, cancel)
				if got := <-done; (got.err == nil) != tt.ok || tt.ok && got.Body != "at last" {
					t.Errorf("got %+v, want an answer: %t", got, tt.ok)
				}
			})
		}
	}
}

// What hangs after a Release waits for the next one.
func TestReleaseIsForWhatHangsNow(t *testing.T) {
	s := start(t)
	s.Release()
	s.Script(Answer{Fault: Fault{Hang: true}})
	done := make(chan reply, 1)
	go func() { done <- ask(t.Context(), t, s, http.MethodPost, "/", "") }()
	if err := s.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if s.Requests()[0].Sent {
		t.Error("the earlier Release let it continue")
	}
	s.Release()
	if got := <-done; got.err != nil {
		t.Error(got.err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := start(t).Wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestTLS(t *testing.T) {
	donor := httptest.NewTLSServer(nil)
	cert := donor.TLS.Certificates[0]
	donor.Close()
	s := start(t, func(o *Options[Answer, seen]) {
		o.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	})
	if got := ask(t.Context(), t, s, http.MethodPost, "/", ""); got.err != nil || got.Body != "normal" || !strings.HasPrefix(s.Base(), "https://") {
		t.Errorf("got %+v from %s", got, s.Base())
	}
}

func TestStartNamesTheAddress(t *testing.T) {
	s, err := Start(Options[Answer, seen]{Name: "test server", Address: "256.0.0.1:bad"})
	if err == nil {
		s.Close()
		t.Fatal("started, want an error")
	}
	if want := `start test server on "256.0.0.1:bad": `; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want one that begins with %s", err, want)
	}
}

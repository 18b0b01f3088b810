package infiniumtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// The credentials a new server accepts.
const (
	AgentID     = "agent-test-0001"
	AgentSecret = "secret-test-0001"
)

// basePath is the path of the real service's address.
const basePath = "/api/v1"

// maxRead bounds what is read of one request.
const maxRead = 64 << 20

// Cleaner is the part of testing.TB that closes the server.
type Cleaner interface{ Cleanup(func()) }

// Request is what the server saw of one request.
type Request struct {
	Method string
	// Path is as sent, with its escapes.
	Path   string
	Header http.Header
	Body   []byte
	// JSON is the decoded body, nil when it is no JSON object.
	JSON map[string]any
	// Status is what was answered, 0 when the connection was closed instead.
	Status int
	// Stored reports that the trace was kept.
	Stored bool
}

// Server is the stand-in. It is safe for concurrent use.
type Server struct {
	listener net.Listener
	http     *http.Server
	served   chan struct{}
	stop     chan struct{}
	handlers sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	id       string
	secret   string
	maxBody  int
	script   []Response
	always   *Response
	requests []*Request
	traces   []map[string]any
	release  chan struct{}
	arrived  chan struct{} // closed and replaced at every request
}

// New starts a server on a free loopback port. Given a test, the server is
// closed at its end, else the caller closes it. It panics when no port can be
// had.
func New(tb ...Cleaner) *Server {
	s, err := Start("127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	for _, t := range tb {
		t.Cleanup(s.Close)
	}
	return s
}

// Start starts a server on the address, such as "127.0.0.1:8080".
func Start(address string) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("start Infinium stand-in on %q: %w", address, err)
	}
	s := &Server{
		listener: l, served: make(chan struct{}), stop: make(chan struct{}),
		id: AgentID, secret: AgentSecret, maxBody: MaxBodyBytes,
		release: make(chan struct{}), arrived: make(chan struct{}),
	}
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 30 * time.Second}
	go func() {
		defer close(s.served)
		// The only error is that of Close.
		_ = s.http.Serve(l)
	}()
	return s, nil
}

// Close ends hanging answers, closes every connection and waits until nothing
// of the server runs. Closing twice is harmless.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.stop)
	}
	s.mu.Unlock()
	// The listener's error changes nothing: its end is waited for below.
	_ = s.http.Close()
	<-s.served
	s.handlers.Wait()
}

// enter counts a handler, so that Close can wait for it.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.handlers.Add(1)
	}
	return !s.closed
}

// URL is the address to set as the base URL.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + basePath }

// SetCredentials changes what the server accepts.
func (s *Server) SetCredentials(id, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id, s.secret = id, secret
}

// SetMaxBody changes the size in bytes above which a trace is answered 413.
func (s *Server) SetMaxBody(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.maxBody = n
}

// Script queues answers to the next requests that send a trace with the right
// credentials; each is used once. After them the normal answer returns.
func (s *Server) Script(rs ...Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, rs...)
}

// Always sets the answer to every request beyond the script, until Reset.
func (s *Server) Always(r Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = &r
}

// Reset drops the script and the answer set by Always. What was recorded stays.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.always = nil, nil
}

// Release lets every answer that hangs now go on.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.release)
	s.release = make(chan struct{})
}

// Requests returns what was received so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.requests))
	for i, r := range s.requests {
		out[i] = *r
	}
	return out
}

// Traces returns the stored traces in order. One sent twice is here twice.
func (s *Server) Traces() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.traces)
}

// Wait returns when n requests have arrived, or with ctx's error.
func (s *Server) Wait(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		have, arrived := len(s.requests), s.arrived
		s.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d requests, have %d: %w", n, have, ctx.Err())
		}
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		abort()
	}
	defer s.handlers.Done()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRead))
	if err != nil {
		abort()
	}
	req := &Request{Method: r.Method, Path: r.URL.EscapedPath(), Header: r.Header.Clone(), Body: body}
	// A body that is no object leaves JSON nil, which is answered below.
	_ = json.Unmarshal(body, &req.JSON)

	s.mu.Lock()
	s.requests = append(s.requests, req)
	close(s.arrived)
	s.arrived = make(chan struct{})
	res := s.choose(req)
	release := s.release
	s.mu.Unlock()

	if res.Delay > 0 || res.Hang {
		var timer <-chan time.Time
		if res.Delay > 0 && !res.Hang {
			t := time.NewTimer(res.Delay)
			defer t.Stop()
			timer = t.C
		}
		if !res.Hang {
			release = nil
		}
		select {
		case <-timer:
		case <-release:
		case <-r.Context().Done():
			abort()
		case <-s.stop:
			abort()
		}
	}
	s.answer(w, req, &res)
}

// abort closes the connection without an answer: a handler that merely returns
// has answered 200.
func abort() { panic(http.ErrAbortHandler) }

// choose finds the answer to a request. Faults come before the check of the
// trace, as they would on the way to the real service.
func (s *Server) choose(req *Request) Response {
	rest, ok := strings.CutPrefix(req.Path, basePath+"/agents/")
	id, what, _ := strings.Cut(rest, "/")
	want := map[string]string{"trace": http.MethodPost, "health": http.MethodGet}[what]
	switch {
	case !ok || want == "":
		return Status(http.StatusNotFound, "no such endpoint")
	case req.Method != want:
		return Status(http.StatusMethodNotAllowed, "use "+want)
	case req.Header.Get("X-Agent-Id") != s.id || req.Header.Get("X-Agent-Key") != s.secret:
		return Status(http.StatusUnauthorized, "invalid agent credentials")
	case id != s.id:
		return Status(http.StatusNotFound, "no such agent")
	case what == "health":
		return Response{Status: http.StatusOK, Body: `{"status":"healthy","agentName":"Test Agent","timestamp":"2026-01-01T00:00:00Z"}`}
	case len(req.Body) > s.maxBody:
		return Status(http.StatusRequestEntityTooLarge, fmt.Sprintf("payload of %d bytes exceeds %d", len(req.Body), s.maxBody))
	}
	var res Response
	switch {
	case len(s.script) > 0:
		res, s.script = s.script[0], s.script[1:]
	case s.always != nil:
		res = *s.always
	}
	if !res.stores() {
		return res
	}
	if req.JSON == nil {
		return Status(http.StatusBadRequest, "the body is no JSON object")
	}
	if p := problem(req.JSON); p != "" {
		return Status(http.StatusUnprocessableEntity, p)
	}
	req.Stored = true
	s.traces = append(s.traces, req.JSON)
	if res.Status == 0 {
		res.Status = http.StatusCreated
	}
	if res.Body == "" && !res.NoBody {
		res.Body = fmt.Sprintf(`{"success":true,"traceId":"trace-%04d"}`, len(s.traces))
	}
	return res
}

func (s *Server) answer(w http.ResponseWriter, req *Request, res *Response) {
	if res.CloseBefore || res.CloseHalfway {
		if err := s.breakOff(w, res); err != nil {
			abort()
		}
		return
	}
	s.mu.Lock()
	req.Status = res.Status
	s.mu.Unlock()
	res.apply(w.Header())
	w.WriteHeader(res.Status)
	if !res.NoBody {
		// A client that has gone is no fault of the server's.
		_, _ = io.WriteString(w, res.Body)
	}
}

// breakOff closes the connection, after a part of the answer if it is to be
// half.
func (s *Server) breakOff(w http.ResponseWriter, res *Response) error {
	h, ok := w.(http.Hijacker)
	if !ok {
		return errors.New("connection cannot be taken over")
	}
	conn, _, err := h.Hijack()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if res.CloseHalfway {
		_, err = fmt.Fprintf(conn, "HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			res.Status, len(res.Body)+100, res.Body[:len(res.Body)/2])
	}
	return err
}

package infiniumtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/testkit/faultserver"
)

// The credentials a new server accepts.
const (
	AgentID     = "agent-test-0001"
	AgentSecret = "secret-test-0001"
)

// basePath is the path of the real service's address.
const basePath = "/api/v1"

// Cleaner is the part of testing.TB that closes the server.
type Cleaner = faultserver.Cleaner

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
	base *faultserver.Server[Response, Request]
	// These are guarded by base's lock.
	id      string
	secret  string
	maxBody int
	traces  []map[string]any
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
	s := &Server{id: AgentID, secret: AgentSecret, maxBody: MaxBodyBytes}
	b, err := faultserver.Start(faultserver.Options[Response, Request]{
		Name: "Infinium stand-in", Address: address, Read: read, Choose: s.answer,
	})
	if err != nil {
		return nil, err
	}
	s.base = b
	return s, nil
}

// Close ends hanging answers, closes every connection and waits until nothing
// of the server runs. Closing twice is harmless.
func (s *Server) Close() { s.base.Close() }

// URL is the address to set as the base URL.
func (s *Server) URL() string { return s.base.Base() + basePath }

// SetCredentials changes what the server accepts.
func (s *Server) SetCredentials(id, secret string) {
	s.base.Locked(func() { s.id, s.secret = id, secret })
}

// SetMaxBody changes the size in bytes above which a trace is answered 413.
func (s *Server) SetMaxBody(n int) { s.base.Locked(func() { s.maxBody = n }) }

// Script queues answers to the next requests that send a trace with the right
// credentials; each is used once. After them the normal answer returns.
func (s *Server) Script(rs ...Response) { s.base.Script(rs...) }

// Always sets the answer to every request beyond the script, until Reset.
func (s *Server) Always(r Response) { s.base.Always(r) }

// Reset drops the script and the answer set by Always. What was recorded stays.
func (s *Server) Reset() { s.base.Reset() }

// Release lets every hanging answer continue.
func (s *Server) Release() { s.base.Release() }

// Requests returns what was received so far, in order of arrival.
func (s *Server) Requests() []Request { return s.base.Requests() }

// Wait returns when n requests have arrived, or with ctx's error.
func (s *Server) Wait(ctx context.Context, n int) error { return s.base.Wait(ctx, n) }

// Traces returns the stored traces in order. One sent twice is here twice.
func (s *Server) Traces() (traces []map[string]any) {
	s.base.Locked(func() { traces = slices.Clone(s.traces) })
	return traces
}

// read is what the server reports of a request; one that broke off is none.
func read(in faultserver.Incoming) *Request {
	if in.Err != nil && !errors.Is(in.Err, faultserver.ErrTooLong) {
		return nil
	}
	req := &Request{Method: in.Method, Path: in.RawPath, Header: in.Header, Body: in.Body}
	// A body that is no object leaves JSON nil, which is answered by choose.
	_ = json.Unmarshal(in.Body, &req.JSON)
	return req
}

// answer chooses the response to a request and notes its status when it goes
// out whole.
func (s *Server) answer(req *Request, next func() (Response, bool)) faultserver.Answer {
	res := s.choose(req, next)
	a := res.answer()
	if !res.CloseHalfway {
		a.Sent = func() { req.Status = cmp.Or(res.Status, http.StatusOK) }
	}
	return a
}

// choose finds the answer to a request. Faults come before the check of the
// trace, as they would on the way to the real service.
func (s *Server) choose(req *Request, next func() (Response, bool)) Response {
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
	res, _ := next()
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

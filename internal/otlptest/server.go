package otlptest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Path is where traces are received.
const Path = "/v1/traces"

// maxRead bounds what is read of one request, before and after decompression.
const maxRead = 256 << 20

// Cleaner is the part of testing.TB that closes the server.
type Cleaner interface{ Cleanup(func()) }

// Options say how a server listens. The zero value is a free loopback port
// without TLS.
type Options struct {
	// Address is such as "127.0.0.1:4318"; if empty, "127.0.0.1:0".
	Address string
	// TLS is the server's side; if nil, cleartext.
	TLS *tls.Config
}

// Request is what the server saw of one request.
type Request struct {
	Method, Path string
	Header       http.Header
	// Body is as sent, before decompression.
	Body []byte
	// Spans counts what the body holds, Err says why it could not be decoded.
	Spans int
	Err   error
	// Status is what was answered, 0 when the connection was closed instead.
	Status int
	// Taken counts the spans that were taken.
	Taken int
}

// Server is the receiver. It is safe for concurrent use.
type Server struct {
	listener net.Listener
	scheme   string
	http     *http.Server
	served   chan struct{}
	stop     chan struct{}
	handlers sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	maxSpans int
	maxBytes int
	script   []Answer
	always   *Answer
	requests []*Request
	spans    collection
	release  chan struct{}
	arrived  chan struct{} // closed and replaced at every request
}

// New starts a server on a free loopback port. Given a test, the server is
// closed at its end, else the caller closes it. It panics when no port can be
// had.
func New(tb ...Cleaner) *Server {
	s, err := Start(Options{})
	if err != nil {
		panic(err)
	}
	for _, t := range tb {
		t.Cleanup(s.Close)
	}
	return s
}

// Start starts a server; the caller closes it.
func Start(o Options) (*Server, error) {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("start OTLP receiver on %q: %w", o.Address, err)
	}
	s := &Server{
		listener: l, scheme: "http", served: make(chan struct{}), stop: make(chan struct{}),
		release: make(chan struct{}), arrived: make(chan struct{}),
	}
	if o.TLS != nil {
		s.scheme = "https"
		l = tls.NewListener(l, o.TLS)
	}
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 30 * time.Second,
		// A client that breaks off the handshake is no news.
		ErrorLog: log.New(io.Discard, "", 0),
	}
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

// URL is the whole address to send traces to, path included.
func (s *Server) URL() string { return s.scheme + "://" + s.listener.Addr().String() + Path }

// SetMaxSpans sets the number of spans above which a request is answered 413;
// zero means no limit.
func (s *Server) SetMaxSpans(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.maxSpans = n
}

// SetMaxBytes sets the size of the decompressed body above which a request is
// answered 413; zero means no limit.
func (s *Server) SetMaxBytes(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.maxBytes = n
}

// Script queues answers to the next requests; each is used once. After them the
// answer set by Always returns, else the normal one.
func (s *Server) Script(as ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, as...)
}

// Always sets the answer to every request beyond the script, until Reset.
func (s *Server) Always(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = &a
}

// Reset drops the script, the answer set by Always and the limits. What was
// recorded stays.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.always, s.maxSpans, s.maxBytes = nil, nil, 0, 0
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

// Spans returns the spans taken so far, each once, in order of first arrival.
func (s *Server) Spans() []Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spans.list()
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
			return fmt.Errorf("wait for %d requests, %d have arrived: %w", n, have, ctx.Err())
		}
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	s.handlers.Add(1)
	s.mu.Unlock()
	defer s.handlers.Done()

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRead))
	req := &Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
	var spans []*Span
	var size int
	if err == nil {
		var msg *coltracepb.ExportTraceServiceRequest
		if msg, size, err = Decode(r.Header, body); err == nil {
			spans = Flatten(msg)
		}
	}
	req.Spans, req.Err = len(spans), err

	a, release := s.record(req, spans, size)
	if a.Hang {
		select {
		case <-release:
		case <-r.Context().Done():
		case <-s.stop:
		}
	}
	if a.CloseBefore {
		panic(http.ErrAbortHandler)
	}
	a.write(w, r.Header.Get("Content-Type"))
}

// record notes the request and chooses its answer.
func (s *Server) record(req *Request, spans []*Span, size int) (Answer, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.answer(req, size)
	if req.Err == nil && a.takes() {
		n := len(spans) - int(min(max(a.Rejected, 0), int64(len(spans))))
		req.Taken = n
		s.spans.add(spans[:n])
	}
	if !a.CloseBefore {
		req.Status = max(a.Status, http.StatusOK)
	}
	s.requests = append(s.requests, req)
	close(s.arrived)
	s.arrived = make(chan struct{})
	return a, s.release
}

func (s *Server) answer(req *Request, size int) Answer {
	switch {
	case len(s.script) > 0:
		a := s.script[0]
		s.script = slices.Delete(s.script, 0, 1)
		return a
	case s.always != nil:
		return *s.always
	case req.Method != http.MethodPost:
		return Status(http.StatusMethodNotAllowed, "want POST")
	case req.Path != Path:
		return Status(http.StatusNotFound, "traces go to "+Path)
	case req.Err != nil:
		return Status(http.StatusBadRequest, req.Err.Error())
	case s.maxSpans > 0 && req.Spans > s.maxSpans:
		return tooLarge("spans", req.Spans, s.maxSpans)
	case s.maxBytes > 0 && size > s.maxBytes:
		return tooLarge("bytes", size, s.maxBytes)
	}
	return Answer{}
}

func (a *Answer) write(w http.ResponseWriter, kind string) {
	body := []byte(a.Body)
	switch {
	case a.Body != "":
		kind = a.ContentType
	case a.takes():
		var err error
		if body, err = a.message(kind); err != nil {
			body, kind = []byte(err.Error()), "text/plain"
		}
	}
	for k, v := range a.Header {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Type", kind)
	if a.Sniff {
		w.Header()["Content-Type"] = nil
	}
	if a.CloseHalfway {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+100))
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	_, err := w.Write(body)
	if a.CloseHalfway {
		// The error of a client that has gone already changes nothing.
		err = errors.Join(err, http.NewResponseController(w).Flush())
	}
	if err != nil || a.CloseHalfway {
		panic(http.ErrAbortHandler)
	}
}

// message is the response message in the request's encoding.
func (a *Answer) message(kind string) ([]byte, error) {
	m := &coltracepb.ExportTraceServiceResponse{}
	if a.Rejected != 0 || a.Message != "" {
		m.PartialSuccess = &coltracepb.ExportTracePartialSuccess{RejectedSpans: a.Rejected, ErrorMessage: a.Message}
	}
	if kind == TypeJSON {
		return protojson.Marshal(m)
	}
	return proto.Marshal(m)
}

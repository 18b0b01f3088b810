package otlptest

import (
	"context"
	"crypto/tls"
	"maps"
	"net/http"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/testkit/faultserver"
)

// Path is where traces are received.
const Path = "/v1/traces"

// maxRead bounds what is read of one request, before and after decompression.
const maxRead = 256 << 20

// Cleaner is the part of testing.TB that closes the server.
type Cleaner = faultserver.Cleaner

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

	// decoded and size are of the body after decompression, until the answer is
	// chosen.
	decoded []*Span
	size    int
}

// Server is the receiver. It is safe for concurrent use.
type Server struct {
	base *faultserver.Server[Answer, Request]
	// These are guarded by base's lock.
	maxSpans int
	maxBytes int
	spans    collection
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
	s := &Server{}
	b, err := faultserver.Start(faultserver.Options[Answer, Request]{
		Name: "OTLP receiver", Address: o.Address, TLS: o.TLS, MaxRead: maxRead, Read: read, Choose: s.record,
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

// URL is the whole address to send traces to, path included.
func (s *Server) URL() string { return s.base.Base() + Path }

// SetMaxSpans sets the number of spans above which a request is answered 413;
// zero means no limit.
func (s *Server) SetMaxSpans(n int) { s.base.Locked(func() { s.maxSpans = n }) }

// SetMaxBytes sets the size of the decompressed body above which a request is
// answered 413; zero means no limit.
func (s *Server) SetMaxBytes(n int) { s.base.Locked(func() { s.maxBytes = n }) }

// Script queues answers to the next requests; each is used once. After them the
// answer set by Always returns, else the normal one.
func (s *Server) Script(as ...Answer) { s.base.Script(as...) }

// Always sets the answer to every request beyond the script, until Reset.
func (s *Server) Always(a Answer) { s.base.Always(a) }

// Reset drops the script, the answer set by Always and the limits. What was
// recorded stays.
func (s *Server) Reset() {
	s.base.Reset()
	s.base.Locked(func() { s.maxSpans, s.maxBytes = 0, 0 })
}

// Release lets every hanging answer continue.
func (s *Server) Release() { s.base.Release() }

// Requests returns what was received so far, in order of arrival.
func (s *Server) Requests() []Request { return s.base.Requests() }

// Wait returns when n requests have arrived, or with ctx's error.
func (s *Server) Wait(ctx context.Context, n int) error { return s.base.Wait(ctx, n) }

// Spans returns the spans taken so far, each once, in order of first arrival.
func (s *Server) Spans() (spans []Span) {
	s.base.Locked(func() { spans = s.spans.list() })
	return spans
}

// read returns what the server records of a request.
func read(in faultserver.Incoming) *Request {
	req := &Request{Method: in.Method, Path: in.Path, Header: in.Header, Body: in.Body, Err: in.Err}
	if req.Err != nil {
		return req
	}
	var msg *coltracepb.ExportTraceServiceRequest
	if msg, req.size, req.Err = Decode(in.Header, in.Body); req.Err == nil {
		req.decoded = Flatten(msg)
	}
	req.Spans = len(req.decoded)
	return req
}

// record chooses the answer to a request and takes its spans accordingly.
func (s *Server) record(req *Request, next func() (Answer, bool)) faultserver.Answer {
	a := s.choose(req, next)
	if req.Err == nil && a.takes() {
		req.Taken = req.Spans - int(min(max(a.Rejected, 0), int64(req.Spans)))
		s.spans.add(req.decoded[:req.Taken])
	}
	req.decoded = nil
	if !a.CloseBefore {
		req.Status = max(a.Status, http.StatusOK)
	}
	return a.answer(req.Header.Get("Content-Type"))
}

func (s *Server) choose(req *Request, next func() (Answer, bool)) Answer {
	a, scripted := next()
	switch {
	case scripted:
		return a
	case req.Method != http.MethodPost:
		return Status(http.StatusMethodNotAllowed, "want POST")
	case req.Path != Path:
		return Status(http.StatusNotFound, "traces go to "+Path)
	case req.Err != nil:
		return Status(http.StatusBadRequest, req.Err.Error())
	case s.maxSpans > 0 && req.Spans > s.maxSpans:
		return tooLarge("spans", req.Spans, s.maxSpans)
	case s.maxBytes > 0 && req.size > s.maxBytes:
		return tooLarge("bytes", req.size, s.maxBytes)
	}
	return Answer{}
}

// answer is the answer in the form that goes out; kind is the request's own
// encoding.
func (a *Answer) answer(kind string) faultserver.Answer {
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
	h := make(http.Header)
	maps.Copy(h, a.Header)
	h["Content-Type"] = []string{kind}
	if a.Sniff {
		h["Content-Type"] = nil
	}
	return faultserver.Answer{
		Status: a.Status, Header: h, Body: body,
		Fault: faultserver.Fault{Hang: a.Hang, CloseBefore: a.CloseBefore, CloseHalfway: a.CloseHalfway},
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

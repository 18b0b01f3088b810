package faultserver

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
	"sync"
	"time"
)

// Cleaner is the part of testing.TB that closes a server.
type Cleaner interface{ Cleanup(func()) }

// Incoming is a request as it arrived. Its members are the handler's to keep.
type Incoming struct {
	Method string
	// Path is decoded, RawPath is as sent, with its escapes.
	Path, RawPath string
	Header        http.Header
	Body          []byte
	// Err says why Body is not whole; ErrTooLong where it is longer.
	Err error
}

// ErrTooLong is the error of a request whose body is longer than is read.
var ErrTooLong = errors.New("the body is longer than the server reads")

// Options make a server. Read and Choose are required.
type Options[A, R any] struct {
	// Name is the server's role in errors, such as "OTLP receiver".
	Name string
	// Address is such as "127.0.0.1:4318"; if empty, a free loopback port.
	Address string
	// TLS is the server's side; if nil, cleartext.
	TLS *tls.Config
	// MaxRead bounds what is read of one body, in bytes; if zero, 64 MiB.
	MaxRead int64
	// Read makes of a request what is kept of it. It is called concurrently.
	// Where it returns nil, nothing is kept and the connection is closed.
	Read func(Incoming) *R
	// Choose gives the answer to a request that has just been kept, of which it
	// may complete what is told. next takes the scripted answer, if there is
	// one. Choose is called under the server's lock.
	Choose func(req *R, next func() (A, bool)) Answer
}

// Server is a running server. It is safe for concurrent use.
type Server[A, R any] struct {
	opts     Options[A, R]
	listener net.Listener
	http     *http.Server
	served   chan struct{}
	stop     chan struct{}
	handlers sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	script   []A
	always   *A
	requests []*R
	release  chan struct{}
	arrived  chan struct{} // closed and replaced at every request
}

// Start starts a server; the caller closes it. The error names the address.
func Start[A, R any](o Options[A, R]) (*Server[A, R], error) {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	if o.MaxRead == 0 {
		o.MaxRead = 64 << 20
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("start %s on %q: %w", o.Name, o.Address, err)
	}
	s := &Server[A, R]{
		opts: o, listener: l, served: make(chan struct{}), stop: make(chan struct{}),
		release: make(chan struct{}), arrived: make(chan struct{}),
	}
	if o.TLS != nil {
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

// Base is the scheme, address and port, such as "http://127.0.0.1:4318".
func (s *Server[A, R]) Base() string {
	scheme := "http"
	if s.opts.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + s.listener.Addr().String()
}

// Close ends answers that are held back, closes every connection and waits
// until nothing of the server runs. Closing twice is harmless.
func (s *Server[A, R]) Close() {
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

// Locked runs f under the lock that Choose is called under.
func (s *Server[A, R]) Locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Script queues answers; each is used once.
func (s *Server[A, R]) Script(as ...A) {
	s.Locked(func() { s.script = append(s.script, as...) })
}

// Always sets the answer beyond the script, until Reset.
func (s *Server[A, R]) Always(a A) { s.Locked(func() { s.always = &a }) }

// Reset drops the script and the answer set by Always. What was kept of
// requests stays.
func (s *Server[A, R]) Reset() { s.Locked(func() { s.script, s.always = nil, nil }) }

// Release lets every hanging answer continue.
func (s *Server[A, R]) Release() {
	s.Locked(func() {
		close(s.release)
		s.release = make(chan struct{})
	})
}

// Requests returns what was kept of the requests so far, in order of arrival.
func (s *Server[A, R]) Requests() []R {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]R, len(s.requests))
	for i, r := range s.requests {
		out[i] = *r
	}
	return out
}

// Wait returns when n requests have arrived, or with ctx's error.
func (s *Server[A, R]) Wait(ctx context.Context, n int) error {
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

// enter counts a handler, so that Close can wait for it.
func (s *Server[A, R]) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.handlers.Add(1)
	}
	return !s.closed
}

func (s *Server[A, R]) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		abort()
	}
	defer s.handlers.Done()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opts.MaxRead))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		err = ErrTooLong
	}
	req := s.opts.Read(Incoming{
		Method: r.Method, Path: r.URL.Path, RawPath: r.URL.EscapedPath(),
		Header: r.Header.Clone(), Body: body, Err: err,
	})
	if req == nil {
		abort()
	}
	a, release := s.keep(req)
	if !s.hold(r.Context(), &a.Fault, release) {
		abort()
	}
	if a.Sent != nil && !a.CloseBefore {
		s.Locked(a.Sent)
	}
	if a.Endless != nil {
		a.Endless.write(w, s.stop)
		return
	}
	a.write(w)
}

// keep notes the request and chooses its answer. release ends the answer's
// hanging: a Release that comes after the request has arrived must count.
func (s *Server[A, R]) keep(req *R) (a Answer, release <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	close(s.arrived)
	s.arrived = make(chan struct{})
	return s.opts.Choose(req, s.next), s.release
}

// next takes the answer that is due by the script.
func (s *Server[A, R]) next() (a A, ok bool) {
	switch {
	case len(s.script) > 0:
		a = s.script[0]
		s.script = slices.Delete(s.script, 0, 1)
		return a, true
	case s.always != nil:
		return *s.always, true
	}
	return a, false
}

// hold waits as the fault says and reports whether the answer is to follow.
func (s *Server[A, R]) hold(ctx context.Context, f *Fault, release <-chan struct{}) bool {
	var timer <-chan time.Time
	switch {
	case f.Hang:
	case f.Delay > 0:
		t := time.NewTimer(f.Delay)
		defer t.Stop()
		timer, release = t.C, nil
	default:
		return true
	}
	select {
	case <-timer:
	case <-release:
	case <-ctx.Done():
		return false
	case <-s.stop:
		return false
	}
	return true
}

package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hookspan/hookspan/internal/loopback"
)

const (
	// DefaultPort is the port to which claude-hook and similar scripts post.
	DefaultPort = 3043
	// MaxBody is the size in bytes above which an event is refused.
	MaxBody = 50 << 20
)

// Sink takes events. It may be called from any number of goroutines, and again
// for an event on which it or another sink failed. It may decline an event; an
// error says that it failed to store one.
type Sink interface {
	Take(ctx context.Context, e *Event) (took bool, err error)
}

// Options set how a Server works. The zero value is ready for use.
type Options struct {
	// Recorder takes each event first; the events that it took are counted. If nil,
	// nothing is recorded.
	Recorder Sink
	// Sinks take each event after that, in this order.
	Sinks []Sink
	// Version is the program's, for the status.
	Version string
	// MaxBody is the largest body in bytes. If zero, MaxBody.
	MaxBody int64
	// Memory is how many events are remembered. If zero, 10,000.
	Memory int
	// Window is how long equal bytes without an identity count as one event.
	// If zero, ten seconds.
	Window time.Duration
	// ReadTimeout is the time for a whole request. If zero, 30 s.
	ReadTimeout time.Duration
	// Connections is how many are open at a time. If zero, 256. Beyond that, the one
	// that has waited longest for an event is closed.
	Connections int
	// Grace is how long running requests may take when the server ends. If zero,
	// five seconds.
	Grace time.Duration
	// Now is the clock. If nil, time.Now.
	Now func() time.Time
	// Fault is called with each internal error, if it is not nil.
	Fault func(error)
}

// Server takes events over HTTP.
type Server struct {
	opts    Options
	started time.Time
	seen    memory
	budget  budget

	mu     sync.Mutex
	counts map[Provider]*Status
	strays int64 // requests that no route took
}

// New returns a server that does not listen yet.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.MaxBody = cmp.Or(o.MaxBody, MaxBody)
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	o.Window = cmp.Or(o.Window, defaultWindow)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, 30*time.Second)
	o.Connections = cmp.Or(o.Connections, 256)
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	return &Server{
		opts: o, started: o.Now(), budget: newBudget(),
		seen:   memory{size: o.Memory, window: o.Window, now: o.Now},
		counts: map[Provider]*Status{Claude: {Provider: Claude, Status: "ready"}, Cline: {Provider: Cline, Status: "ready"}},
	}
}

// refusal is an answer other than 200.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 {
		// It may have had a length as well, which net/http does not report; such a
		// connection is closed (RFC 9112, section 6.1).
		w.Header().Set("Connection", "close")
	}
	if err := sameMachine(r); err != nil {
		s.count(&s.strays)
		s.refuse(w, err)
		return
	}
	switch r.URL.Path {
	case "/health":
		if s.allowed(w, r, http.MethodGet, http.MethodHead) {
			reply(w, http.StatusOK, s.health())
		}
	case Claude.Route():
		s.route(w, r, Claude)
	case Cline.Route():
		s.route(w, r, Cline)
	default:
		s.count(&s.strays)
		w.Header().Set("Connection", "close")
		reply(w, http.StatusNotFound, map[string]any{
			"success": false, "error": "Not found",
			"message": "Unknown endpoint: want " + Claude.Route() + ", " + Cline.Route() + " or /health",
		})
	}
}

// sameMachine refuses requests of browsers, which a web page could have sent.
func sameMachine(r *http.Request) *refusal {
	switch err := loopback.Programs().Check(r); {
	case err == nil:
		return nil
	case errors.Is(err, loopback.ErrHost):
		return &refusal{http.StatusForbidden, fmt.Sprintf("host %q: want localhost, 127.0.0.1 or [::1]", r.Host)}
	}
	return &refusal{http.StatusForbidden, "requests of browsers and their web pages are refused: ask with another program, such as curl"}
}

// Serve serves the listeners until the context ends, lets running requests finish,
// and closes the listeners. It then returns nil.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	err := loopback.Serve(ctx, s, loopback.Limits{
		Connections: s.opts.Connections, Read: s.opts.ReadTimeout,
		// The time for writing begins before the body is read.
		Write: s.opts.ReadTimeout + 30*time.Second, Idle: 30 * time.Second, Grace: s.opts.Grace,
	}, listeners...)
	if err != nil {
		return fmt.Errorf("serve events: %w", err)
	}
	return nil
}

func (s *Server) allowed(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	if slices.Contains(methods, r.Method) {
		return true
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	s.count(&s.strays)
	s.refuse(w, &refusal{http.StatusMethodNotAllowed, fmt.Sprintf("method %q: want %s", r.Method, strings.Join(methods, " or "))})
	return false
}

func (s *Server) route(w http.ResponseWriter, r *http.Request, p Provider) {
	if !s.allowed(w, r, http.MethodPost, http.MethodGet, http.MethodHead) {
		return
	}
	if r.Method != http.MethodPost {
		reply(w, http.StatusOK, s.status(p))
		return
	}
	begun, c := s.opts.Now(), s.counts[p]
	repeated, err := s.post(w, r, p)
	var no *refusal
	switch {
	case err == nil:
	case errors.As(err, &no):
		s.count(&c.Refused)
		s.refuse(w, no)
		return
	default:
		s.count(&c.Failed)
		if s.opts.Fault != nil {
			s.opts.Fault(err)
		}
		s.refuse(w, &refusal{http.StatusInternalServerError, "the event was not stored"})
		return
	}
	answer := map[string]any{
		"success": true, "provider": p, "message": "Event processed",
		"duration": s.opts.Now().Sub(begun).Milliseconds(),
	}
	if repeated {
		answer["repeated"] = true
	}
	reply(w, http.StatusOK, answer)
}

// post reads one event and gives it to the sinks.
func (s *Server) post(w http.ResponseWriter, r *http.Request, p Provider) (repeated bool, err error) {
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return false, &refusal{http.StatusUnsupportedMediaType, fmt.Sprintf("content encoding %q: want none", enc)}
	}
	body, release, err := s.read(w, r)
	defer release()
	if err != nil {
		return false, err
	}
	defer loopback.Answer(r)()
	e, err := ParseEvent(p, body)
	if err != nil {
		return false, &refusal{http.StatusBadRequest, err.Error()}
	}
	e.Received = s.opts.Now()
	c, repeated, err := s.seen.take(r.Context(), e.key)
	if err != nil {
		return false, fmt.Errorf("event %q: its copy is still being stored: %w", e.Name, err)
	}
	if repeated {
		s.count(&s.counts[p].Repeated)
		return true, nil
	}
	ok := false
	defer func() { s.seen.settle(c, ok) }()
	// The event is stored even if its sender hangs up.
	if err := s.give(context.WithoutCancel(r.Context()), e); err != nil {
		return false, err
	}
	ok = true
	s.count(&s.counts[p].Processed)
	return false, nil
}

func (s *Server) give(ctx context.Context, e *Event) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("event %q: panic: %v\n%s", e.Name, v, debug.Stack())
		}
	}()
	if s.opts.Recorder != nil {
		if e.Recorded, err = s.opts.Recorder.Take(ctx, e); err != nil {
			return fmt.Errorf("record event %q: %w", e.Name, err)
		}
		if e.Recorded {
			s.count(&s.counts[e.Provider].Recorded)
		}
	}
	for _, sink := range s.opts.Sinks {
		if _, err := sink.Take(ctx, e); err != nil {
			return fmt.Errorf("event %q: %w", e.Name, err)
		}
	}
	return nil
}

// Status is the answer to GET on a route.
type Status struct {
	Provider Provider `json:"provider"`
	Status   string   `json:"status"`
	// Processed are the events that every sink has; Repeated are further copies
	// of them.
	Processed int64 `json:"processedEvents"`
	Repeated  int64 `json:"repeatedEvents"`
	// Recorded are the processed events that the recorder took.
	Recorded int64 `json:"recordedEvents"`
	// Failed are events that could not be stored, Refused requests without an event.
	Failed  int64 `json:"failedEvents"`
	Refused int64 `json:"refusedRequests"`
}

// count adds one to a number that the status reports.
func (s *Server) count(n *int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}

func (s *Server) status(p Provider) Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.counts[p]
}

func (s *Server) health() map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]any{
		"status": "ok", "service": "hookspan-bridge", "version": s.opts.Version,
		"uptimeSeconds":   int64(s.opts.Now().Sub(s.started).Seconds()),
		"recording":       s.opts.Recorder != nil,
		"refusedRequests": s.strays,
		"providers":       []Status{*s.counts[Claude], *s.counts[Cline]},
	}
}

// refuse answers and ends the connection: the following bytes may be a part of the
// refused request.
func (s *Server) refuse(w http.ResponseWriter, r *refusal) {
	w.Header().Set("Connection", "close")
	if r.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	reply(w, r.status, map[string]any{"success": false, "error": r.text})
}

// reply writes an answer. A client that no longer listens is no error.
func reply(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, `{"success":false}`, http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}

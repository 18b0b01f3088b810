package ui

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hookspan/hookspan/internal/loopback"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/internal/ui/hooks"
)

// Options are what a Server needs.
type Options struct {
	// Store is what the page shows. It must not be nil.
	Store *store.Store
	// Token is what each call of the API must carry. It must not be empty.
	Token string
	// Host is the name in the page's address, of NewHost. If empty, 127.0.0.1: an origin
	// that another server may have had.
	Host string
	// Watch are patterns of the files that change when there is something new, StoreFiles
	// the paths of those of the store.
	Watch, StoreFiles []string
	// Running returns the traces of the tasks that run now. It may be nil.
	Running func(context.Context) ([]*store.Trace, error)
	// Whole returns the whole texts of calls of a trace and their source. It may be nil.
	Whole func(context.Context, *store.Trace, ...*view.Row) ([]view.CallText, error)
	// Budgets returns what is used of the user's budgets, as JSON. It may be nil.
	Budgets func(context.Context) (any, error)
	// Limits are for the costs of windows.
	Limits view.Limits
	// Status and Findings return what the view of the status shows, as JSON.
	Status   func(context.Context) (any, error)
	Findings func(context.Context) (any, error)
	// Redactor returns what removes secrets from exported traces, nil where the user switched
	// that off. Without it nothing is exported.
	Redactor func() (*redact.Redactor, error)
	// Hooks lists the configured hooks. It may be nil.
	Hooks *hooks.Catalog
	// Edit changes hooks. If nil, the page only reads.
	Edit *hooks.Editor
	// NoTraces says what to do if there are no traces.
	NoTraces string
	// Past says what an import would find, over an empty store, and Hooked which agents have
	// the hooks. They may be nil.
	Past, Hooked func(context.Context) []string
	// Version is the program's.
	Version string
	// Resume returns the agent's command that continues a trace's session, "" if there is
	// none. If nil, there is none.
	Resume func(ctx context.Context, t *store.Summary) string
	// Agents are the names of the agents as their users know them, by host.
	Agents map[string]string
	// Now is the clock. If nil, time.Now.
	Now func() time.Time
}

// Server answers the requests of the page. It must be made by New.
type Server struct {
	opts   Options
	digest [sha256.Size]byte
	mux    *http.ServeMux
	policy loopback.Policy
	// files are the page's, by path.
	files map[string][]byte
	// slots limit the requests that are answered at a time, streams the open
	// event streams.
	slots, streams chan struct{}
	traces         traceCache
	reasons        reasonCache
	// answers are those of the store that are kept.
	answers struct {
		sync.Mutex
		by map[string]kept
	}
	live runningCache
	// writes are the paths that take a body.
	writes map[string]bool
	// watched are files with hooks.
	watched []string
}

// Limits of one server.
const (
	maxConnections = 128
	maxRunning     = 32
	maxStreams     = 16
	// readTime is for the whole request.
	readTime  = 5 * time.Second
	writeTime = 30 * time.Second
	idleTime  = time.Minute
)

// NewHost returns a host name that no server can have had before, so that no page, service
// worker or cache of one is in its origin. Chromium and Firefox resolve it to this machine.
func NewHost() string { return NewToken()[:32] + ".localhost" }

// TokenHeader carries the token.
const TokenHeader = "X-Hookspan-Token" //nolint:gosec // A name.

// NewToken returns 256 random bits.
func NewToken() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // Never fails.
	return hex.EncodeToString(b)
}

// New returns a server that Serve has yet to start.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Resume == nil {
		o.Resume = func(context.Context, *store.Summary) string { return "" }
	}
	if o.Host == "" {
		o.Host = "127.0.0.1"
	}
	s := &Server{
		opts: o, digest: sha256.Sum256([]byte(o.Token)), mux: http.NewServeMux(),
		policy: loopback.Page(nil, opening), slots: make(chan struct{}, maxRunning), streams: make(chan struct{}, maxStreams), writes: make(map[string]bool),
	}
	if o.Hooks != nil {
		s.watched = o.Hooks.Paths()
	}
	s.routes()
	return s
}

// Serve serves the listeners until the context ends, and closes them. It then
// returns nil. Streams end with it.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	s.allow(listeners)
	err := loopback.Serve(ctx, s, loopback.Limits{
		Connections: maxConnections, Read: readTime, Write: writeTime, Idle: idleTime,
	}, listeners...)
	s.traces.drop()
	return err
}

// allow sets the values of Host that requests may have: the page's name with the port of
// each listener.
func (s *Server) allow(listeners []net.Listener) {
	var hosts []string
	for _, l := range listeners {
		if _, port, err := net.SplitHostPort(l.Addr().String()); err == nil {
			hosts = append(hosts, net.JoinHostPort(s.opts.Host, port))
		}
	}
	s.policy = loopback.Page(hosts, opening)
}

// refusal says why a request is refused, and what would not be.
type refusal struct {
	code       int
	text, hint string
}

// check refuses what is not from this page.
func (s *Server) check(r *http.Request) *refusal {
	const hint = "in a terminal, hookspan ui opens the page that runs already"
	switch err := s.policy.Check(r); {
	case err == nil:
	case errors.Is(err, loopback.ErrHost):
		return &refusal{http.StatusMisdirectedRequest, "this server has another address", hint}
	case errors.Is(err, loopback.ErrOrigin):
		return &refusal{http.StatusForbidden, "another page sent this request", ""}
	default:
		return &refusal{http.StatusForbidden, "another page sent this request", hint}
	}
	if r.Method == http.MethodPost && s.writes[r.URL.Path] {
		return checkBody(r)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return &refusal{http.StatusMethodNotAllowed, "this server only reads: want GET", ""}
	}
	if r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
		return &refusal{http.StatusRequestEntityTooLarge, "a request to this server has no body", ""}
	}
	return nil
}

// Proof shows that a server has the token, without the token: Here answers with it to a
// nonce.
func Proof(token, nonce string) string {
	mac := hmac.New(sha256.New, []byte(token))
	_, _ = io.WriteString(mac, nonce)
	return hex.EncodeToString(mac.Sum(nil))
}

// Here is the path at which a later start asks whether the server of a token still
// listens.
const Here = "/here"

// elsewhere is what a person sees who opens another address of this server, such as the
// bare one or a link of an earlier start. It asks for nothing: a page of another server
// that asks for a token would look the same.
const elsewhere = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>hookspan</title>
<main><h1>hookspan ui runs here, under another address</h1>
<p>The address is a new one each time that hookspan ui starts, so a link from before or without it leads nowhere.</p>
<p>In a terminal of the machine on which it runs, <code>hookspan ui</code> opens the page that runs already and prints its address.</p>
<p>If you forward the port, give it the same number on both sides: <code>ssh -L 3044:localhost:3044</code>.</p></main></html>
`

// Opening is the path that other pages may lead the browser to: the file that hookspan
// ui opens does. Like all views it is the shell, without data.
const Opening = "/open"

func opening(r *http.Request) bool {
	return r.URL.Path == Opening && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// allowed reports whether a request carries the token.
func (s *Server) allowed(r *http.Request) bool {
	given := r.Header.Values(TokenHeader)
	if len(given) != 1 || s.opts.Token == "" {
		return false
	}
	digest := sha256.Sum256([]byte(given[0]))
	return subtle.ConstantTimeCompare(digest[:], s.digest[:]) == 1
}

// contentPolicy is the Content-Security-Policy of every answer.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-store")
	if no := s.check(r); no != nil {
		if no.code == http.StatusMisdirectedRequest && r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/api/") {
			h.Set("Content-Type", types[".html"])
			w.WriteHeader(no.code)
			_, _ = io.WriteString(w, elsewhere)
			return
		}
		s.fail(w, no)
		return
	}
	defer loopback.Answer(r)()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		h.Set("Retry-After", "1")
		s.fail(w, &refusal{http.StatusServiceUnavailable, "too many requests at a time", "close some of the pages"})
		return
	}
	s.mux.ServeHTTP(w, r)
}

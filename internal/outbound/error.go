package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hookspan/hookspan/internal/loopback"
)

// Kind is the reason why a request has no answer.
type Kind int

// The kinds.
const (
	// Network is a connection that could not be made or that broke, and everything
	// without a separate kind.
	Network Kind = iota
	// Timeout is a time limit, or a deadline of the context, that passed.
	Timeout
	// Canceled is a request that the caller canceled.
	Canceled
	// TooLong is a header or a body beyond the limit.
	TooLong
	// OtherProtocol is a server that does not speak what the address's scheme says.
	OtherProtocol
	// OnlyHTTP2 is a server that speaks only HTTP/2 without TLS, as gRPC servers do.
	OnlyHTTP2
)

// Error is a request without an answer, or an answer with an incomplete body. Its
// text is one line without the URL.
type Error struct {
	Kind Kind
	// Unreached reports that no connection could be made.
	Unreached bool
	// Err is the cause; nil if the answer is.
	Err error
	// text is the text of the error; if empty, it is that of the cause.
	text string
}

// Error implements error.
func (e *Error) Error() string {
	if e.text != "" {
		return e.text
	}
	return Line(e.Err.Error(), maxLine)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// WrongProtocol reports whether the address has the wrong scheme or port, so that
// every other request to it would fail too.
func (e *Error) WrongProtocol() bool { return e.Kind == OtherProtocol || e.Kind == OnlyHTTP2 }

// asError takes this package's error out of that of an http.Client, which repeats
// the URL.
func asError(err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	return &Error{Err: err}
}

func tooLong(most int64) *Error {
	return &Error{Kind: TooLong, text: fmt.Sprintf("the server answered with more than %d bytes", most)}
}

func wantsTLS() *Error {
	return &Error{Kind: OtherProtocol, text: "the server speaks TLS at this port, and the address begins with http://: write https://"}
}

// attempt is one request until its answer is read.
type attempt struct {
	ctx   context.Context
	req   *http.Request
	limit time.Duration
	// answered reports that a header arrived.
	answered bool
	// conn is nil as long as there is no connection.
	conn atomic.Pointer[net.Conn]
}

func (a *attempt) connected(i httptrace.GotConnInfo) { a.conn.Store(&i.Conn) }

// explain turns an error of net/http into one that says what to check.
func (a *attempt) explain(err error) *Error {
	e := &Error{Err: err}
	var op *net.OpError
	var dns *net.DNSError
	dialling, looking := errors.As(err, &op) && op.Op == "dial", errors.As(err, &dns)
	e.Unreached = dialling || looking
	if u := (*url.Error)(nil); errors.As(err, &u) {
		e.Err = u.Err
	}
	switch {
	case errors.Is(a.ctx.Err(), context.Canceled):
		e.Kind, e.text = Canceled, "the request was canceled"
		e.Err = errors.Join(context.Canceled, err)
	case a.ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		e.Kind, e.text = Timeout, a.late()
		if a.ctx.Err() != nil {
			e.Err = errors.Join(a.ctx.Err(), err)
		}
	case headerTooLong(err):
		e.Kind, e.text = TooLong, fmt.Sprintf("the server answered with a header of more than %d bytes", maxHeader)
	case dialling && op.Addr != nil && loopback.Refused(err):
		e.text = fmt.Sprintf("no program listens at %s (connection refused)", op.Addr)
	case looking && dns.IsNotFound:
		e.text = fmt.Sprintf("no address is known for the name %q (no such host)", dns.Name)
	default:
		a.protocol(e)
	}
	return e
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// headerTooLong recognizes the error by its text, since it has no type.
func headerTooLong(err error) bool {
	return strings.Contains(err.Error(), "response headers exceeded") || strings.Contains(err.Error(), "read limit of")
}

func (a *attempt) late() string {
	within := "in time"
	if a.limit > 0 {
		within = "within " + a.limit.String()
	}
	switch {
	case a.answered:
		return "the answer was not complete " + within
	case a.conn.Load() == nil:
		return "no connection could be made " + within
	}
	return "no answer came " + within
}

// protocol recognizes a server that speaks another protocol than the address says.
func (a *attempt) protocol(e *Error) {
	var record tls.RecordHeaderError
	secure := a.req.URL.Scheme == "https"
	var first []byte
	if errors.As(e.Err, &record) {
		first = record.RecordHeader[:]
	} else if c := a.conn.Load(); c != nil && !secure && !a.answered {
		if p, ok := (*c).(*prefixConn); ok {
			first = p.start()
		}
	}
	switch {
	case len(first) < 5:
		if errors.Is(e.Err, io.EOF) && !a.answered {
			e.text = "the server closed the connection without an answer (EOF)"
		}
	case isSettings(first):
		e.Kind = OnlyHTTP2
		e.text = "the server speaks HTTP/2 without TLS at this port, as gRPC does, and no HTTP/1.1"
	case secure && string(first[:5]) == "HTTP/":
		e.Kind = OtherProtocol
		e.text = "the server speaks HTTP without TLS at this port, and the address begins with https://: write http://, or the port that has TLS"
	case secure:
		e.Kind = OtherProtocol
		e.text = "the server does not speak TLS at this port, and the address begins with https://"
	case isTLS(first):
		*e = *wantsTLS()
	case string(first[:5]) != "HTTP/":
		e.Kind = OtherProtocol
		e.text = fmt.Sprintf("what answers at this port is no HTTP server: it began with %q", first)
	}
}

// isSettings reports the beginning of an HTTP/2 connection: a frame of type
// SETTINGS, or GOAWAY from a server that closes at once (RFC 9113, section 6).
func isSettings(first []byte) bool {
	return first[0] == 0 && (first[3] == 4 || first[3] == 7) && (len(first) < frameHeader || string(first[5:9]) == "\x00\x00\x00\x00")
}

// isTLS reports an alert or a handshake record (RFC 8446, section 5.1).
func isTLS(first []byte) bool { return (first[0] == 0x15 || first[0] == 0x16) && first[1] == 3 }

// cleartextToTLS reports the answer of a TLS server to a request without TLS, as
// Go, nginx and Apache word it.
func (a *attempt) cleartextToTLS(status int, body []byte) bool {
	if a.req.URL.Scheme != "http" || status != http.StatusBadRequest {
		return false
	}
	text := string(body[:min(len(body), 4<<10)])
	for _, words := range []string{
		"HTTP request to an HTTPS server", "plain HTTP request was sent to HTTPS port", "speaking plain HTTP to an SSL-enabled server port",
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

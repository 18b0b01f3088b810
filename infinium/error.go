package infinium

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/outbound"
)

// Class is the kind of an Error.
type Class string

// The classes. All but ClassTooLarge, ClassAuth, ClassNotFound, ClassRejected
// and ClassEncode can be tried again.
const (
	ClassNetwork Class = "network" // a connection that could not be made or broke
	ClassTimeout Class = "timeout" // no answer in time, or status 408
	// ClassCanceled is a request that the caller canceled, or that was never made
	// because the context had ended or the client was stopped.
	ClassCanceled Class = "canceled"
	// ClassHalfAnswer is a success whose body broke off: the trace may or may
	// not have been stored.
	ClassHalfAnswer Class = "half answer"
	ClassRedirect   Class = "redirect" // any 3xx; redirects are never followed
	// ClassLoginPage is a success with a web page, as captive portals and proxies
	// send it.
	ClassLoginPage Class = "login page"
	ClassRateLimit Class = "rate limit" // 429
	ClassServer    Class = "server"     // 5xx and any status outside the known ranges
	ClassAuth      Class = "auth"       // 401 and 403
	ClassNotFound  Class = "not found"  // 404: no such agent
	ClassTooLarge  Class = "too large"  // 413
	ClassRejected  Class = "rejected"   // 400, 422 and every other 4xx
	ClassEncode    Class = "encode"     // no body within the size limit
)

// Error is a trace that was not accepted. It never holds the agent's secret.
type Error struct {
	// TraceID is the OpenTelemetry trace id in hex.
	TraceID string
	// RootSpanID distinguishes the runs of one trace; empty for late spans.
	RootSpanID string
	// Host is the endpoint's host and port.
	Host string
	// Class is what went wrong.
	Class Class
	// Status is the HTTP status, 0 without an answer.
	Status int
	// Said is the server's message, on one line and cut.
	Said string
	// Err is the cause below, nil when the answer itself is the failure.
	Err error

	after time.Duration
	// everywhere marks a failure that every further request would meet too.
	everywhere bool
}

// class is what an Error's class means.
type class struct {
	// final classes are not worth trying again.
	final bool
	// every further request would meet the same failure.
	everywhere bool
	// detail follows the status in the error's text.
	detail, hint string
}

var classes = map[Class]class{
	ClassNetwork:    {hint: "check the network and INFINIUM_BASE_URL, then try again"},
	ClassTimeout:    {hint: "check the network and INFINIUM_BASE_URL, then try again"},
	ClassHalfAnswer: {detail: ", then broke off", hint: "try again later"},
	ClassRedirect:   {everywhere: true, hint: "redirects are not followed, so that credentials go nowhere else; set INFINIUM_BASE_URL to the service's present address"},
	ClassLoginPage:  {detail: " with a web page", everywhere: true, hint: "a proxy or portal answers in its place: sign in there, or set INFINIUM_BASE_URL to the service itself"},
	ClassRateLimit:  {everywhere: true},
	ClassServer:     {hint: "try again later"},
	ClassAuth:       {final: true, everywhere: true, hint: "check INFINIUM_AGENT_ID and INFINIUM_AGENT_SECRET"},
	ClassNotFound:   {final: true, everywhere: true, hint: "check INFINIUM_AGENT_ID (no such agent there) and INFINIUM_BASE_URL"},
	ClassTooLarge:   {final: true, hint: "lower CONNECTOR_MAX_INPUT_PREVIEW and CONNECTOR_MAX_OUTPUT_PREVIEW, or ask what limits bodies below 950 kB on the way"},
	ClassRejected:   {final: true, hint: "the service refuses this trace as it is; it is not sent again unless asked for"},
	ClassEncode:     {final: true},
}

// OfSender reports a failure that is about the network, the address, the agent or the
// account: any trace would meet it, and the same one may be taken once that is right.
func (e *Error) OfSender() bool { return outbound.OfSender(e.Status) }

// Retryable reports whether sending the same trace again later can succeed
// without any other change, or after the user has repaired the network or the
// address.
func (e *Error) Retryable() bool { return !classes[e.Class].final }

// RetryAfter is how long the server asked to wait, at most a day: its
// Retry-After header, else one minute for status 429. Zero leaves the choice to
// the caller.
func (e *Error) RetryAfter() time.Duration { return e.after }

// Answered reports that the service itself answered, and with a failure that
// may be of this trace alone (500, 501, 505 to 599): other traces may be tried
// at once. 502 and 504 are from a gateway that got no answer from the service,
// 503 is from an overloaded service.
func (e *Error) Answered() bool {
	s := e.Status
	return e.Class == ClassServer && (s == 500 || s == 501 || s >= 505 && s <= 599)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Error names the host, what it answered and what to do next.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("infinium: send trace " + e.TraceID + ": " + e.Host + ": ")
	if e.Status == 0 {
		b.WriteString(string(e.Class))
	} else {
		fmt.Fprintf(&b, "answered %d %s%s", e.Status, http.StatusText(e.Status), classes[e.Class].detail)
	}
	if e.Said != "" {
		fmt.Fprintf(&b, ": %q", e.Said)
	}
	if e.Err != nil {
		b.WriteString(": " + oneLine(e.Err.Error()))
	}
	if h := e.hint(); h != "" {
		b.WriteString("; " + h)
	}
	return b.String()
}

func (e *Error) hint() string {
	switch {
	case e.Class == ClassRateLimit:
		return fmt.Sprintf("wait %s before trying again", e.after)
	case e.Status == http.StatusProxyAuthRequired:
		return "give the proxy's credentials in HTTPS_PROXY"
	}
	return classes[e.Class].hint
}

// Failures returns every *Error within err, as UploadTraces joins them.
func Failures(err error) (out []*Error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			out = append(out, Failures(e)...)
		}
		return out
	}
	var e *Error
	if errors.As(err, &e) {
		out = append(out, e)
	}
	return out
}

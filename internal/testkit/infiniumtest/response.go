package infiniumtest

import (
	"maps"
	"net/http"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/faultserver"
)

// Response is how the server answers one request to send a trace. The zero
// value is the normal answer: the trace is checked and stored.
type Response struct {
	// Status is the HTTP status. If zero, what the check of the trace gives.
	// With a status outside 200 to 299 the trace is not stored.
	Status int
	// Header is added to the answer.
	Header http.Header
	// ContentType is the answer's; if empty, application/json.
	ContentType string
	// Body replaces the normal body. NoBody answers with none.
	Body   string
	NoBody bool
	// Delay is waited before the answer, unless the client goes away.
	Delay time.Duration
	// Hang holds the answer back until Release, until the client goes away or
	// until the server is closed; on Release the answer follows. A trace that
	// would be stored is stored on arrival.
	Hang bool
	// CloseBefore closes the connection instead of answering. The trace is not
	// stored.
	CloseBefore bool
	// CloseHalfway closes the connection within the body of the answer. The
	// trace is checked and stored: its sender cannot know.
	CloseHalfway bool
}

// Status is an answer with the status and an error text.
func Status(code int, message string) Response {
	return Response{Status: code, Body: errorBody(message)}
}

// RateLimited is a 429 with the Retry-After header, which is left out when
// retryAfter is empty.
func RateLimited(retryAfter string) Response {
	r := Status(http.StatusTooManyRequests, "rate limit exceeded")
	r.Header = faultserver.RetryAfter(retryAfter)
	return r
}

// Redirect leads the sender elsewhere; code is a 3xx.
func Redirect(code int, location string) Response {
	return Response{Status: code, Header: faultserver.Location(location), NoBody: true}
}

// LoginPage is a success with a web page, as a captive portal sends it.
func LoginPage() Response {
	return Response{
		Status: http.StatusOK, ContentType: faultserver.LoginPageType, Body: faultserver.LoginPage,
	}
}

// Hang holds the answer back.
func Hang() Response { return Response{Hang: true} }

// CloseBefore closes the connection instead of answering.
func CloseBefore() Response { return Response{CloseBefore: true} }

// CloseHalfway stores the trace and breaks off within the answer.
func CloseHalfway() Response { return Response{CloseHalfway: true} }

// stores reports whether a trace that passes the checks is kept.
func (r *Response) stores() bool {
	return !r.CloseBefore && (r.Status == 0 || r.Status >= 200 && r.Status < 300) && r.ContentType == ""
}

// answer is the response in the form that goes out.
func (r *Response) answer() faultserver.Answer {
	a := faultserver.Answer{
		Status: r.Status, Header: make(http.Header),
		Fault: faultserver.Fault{Delay: r.Delay, Hang: r.Hang, CloseBefore: r.CloseBefore, CloseHalfway: r.CloseHalfway},
	}
	maps.Copy(a.Header, r.Header)
	if r.NoBody {
		return a
	}
	kind := r.ContentType
	if kind == "" {
		kind = "application/json"
	}
	a.Header.Set("Content-Type", kind)
	a.Body = []byte(r.Body)
	return a
}

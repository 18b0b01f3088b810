package otlptest

import (
	"fmt"
	"net/http"

	"github.com/hookspan/hookspan/internal/testkit/faultserver"
)

// Answer is how the server answers one request. The zero value is the normal
// answer: the spans are taken, status 200, an empty response message in the
// request's own encoding.
type Answer struct {
	// Status is the HTTP status; if zero, 200. With a status outside 200 to 299
	// no span is taken.
	Status int
	// Header is added to the answer.
	Header http.Header
	// ContentType and Body replace the normal body where Body is not empty.
	// With Sniff the header is left out.
	ContentType string
	Body        string
	Sniff       bool
	// Refuse leaves the spans out though the status is a success, as a login
	// page does.
	Refuse bool
	// Rejected and Message make the answer a partial success: the last Rejected
	// spans are not taken. A count beyond the request's refuses all and is told
	// as it stands.
	Rejected int64
	Message  string
	// Hang holds the answer back until Release, until the client goes away or
	// until the server is closed. Spans that would be taken are taken on
	// arrival.
	Hang bool
	// CloseBefore closes the connection instead of answering; no span is taken.
	CloseBefore bool
	// CloseHalfway closes the connection within the body of the answer. The
	// spans are taken: their sender cannot know.
	CloseHalfway bool
}

// Status is an answer with the status and a text.
func Status(code int, text string) Answer {
	return Answer{Status: code, ContentType: "text/plain; charset=utf-8", Body: text}
}

// Wait is an answer with the status and a Retry-After header, which is left out
// when after is empty.
func Wait(code int, after string) Answer {
	a := Status(code, http.StatusText(code))
	a.Header = faultserver.RetryAfter(after)
	return a
}

// Redirect leads the sender elsewhere; code is a 3xx.
func Redirect(code int, location string) Answer {
	return Answer{Status: code, Header: faultserver.Location(location)}
}

// LoginPage is a success that carries a web page and takes nothing.
func LoginPage() Answer {
	return Answer{ContentType: faultserver.LoginPageType, Body: faultserver.LoginPage, Refuse: true}
}

// Partial is a partial success that leaves out the last rejected spans.
func Partial(rejected int64, message string) Answer {
	return Answer{Rejected: rejected, Message: message}
}

// Hang holds the answer back.
func Hang() Answer { return Answer{Hang: true} }

// CloseBefore closes the connection instead of answering.
func CloseBefore() Answer { return Answer{CloseBefore: true} }

// CloseHalfway takes the spans and breaks off within the answer.
func CloseHalfway() Answer { return Answer{CloseHalfway: true} }

// tooLarge is the answer to what is above the server's limits.
func tooLarge(what string, n, limit int) Answer {
	return Status(http.StatusRequestEntityTooLarge, fmt.Sprintf("%d %s, at most %d are taken", n, what, limit))
}

func (a *Answer) takes() bool {
	return !a.Refuse && !a.CloseBefore && (a.Status == 0 || a.Status >= 200 && a.Status <= 299)
}

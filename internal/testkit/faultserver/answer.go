package faultserver

import (
	"net/http"
	"strconv"
	"time"
)

// Fault is what goes wrong with one answer. The zero value is no fault.
type Fault struct {
	// Delay is waited before the answer, unless the client goes away or the
	// server is closed.
	Delay time.Duration
	// Hang holds the answer back until Release, until the client goes away or
	// until the server is closed; on Release the answer follows. It makes Delay
	// void.
	Hang bool
	// CloseBefore closes the connection instead of answering.
	CloseBefore bool
	// CloseHalfway closes the connection within the body of the answer.
	CloseHalfway bool
	// Endless is what goes out in place of the answer; if nil, the answer does.
	Endless *Endless
}

// Answer is what goes out. The zero value is an empty 200.
type Answer struct {
	// Status is the HTTP status; if zero, 200.
	Status int
	// Header is the answer's. A name with no values keeps net/http from making
	// up its own, as it does for Content-Type.
	Header http.Header
	// Body is sent as it is.
	Body []byte
	Fault
	// Sent, if set, is called under the server's lock just before the first byte
	// goes out. It is not called where the connection is closed before that.
	Sent func()
}

// RetryAfter is the header of that name; empty where after is.
func RetryAfter(after string) http.Header { return single("Retry-After", after) }

// Location is the header of that name, which is sent even when address is
// empty.
func Location(address string) http.Header { return http.Header{"Location": {address}} }

func single(name, value string) http.Header {
	if value == "" {
		return nil
	}
	return http.Header{name: {value}}
}

// The page that captive portals and proxies send in place of an answer.
const (
	LoginPage     = "<!DOCTYPE html><html><head><title>Sign in</title></head><body><form></form></body></html>"
	LoginPageType = "text/html; charset=utf-8"
)

// missing is how many bytes a half answer announces beyond those of its body.
const missing = 100

// write sends the answer. Where the connection is to be closed, it panics with
// http.ErrAbortHandler: a handler that merely returns has answered 200.
func (a *Answer) write(w http.ResponseWriter) {
	if a.CloseBefore {
		abort()
	}
	for name, values := range a.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	body := a.Body
	if a.CloseHalfway {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+missing))
		body = body[:(len(body)+1)/2]
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	// A client that has gone is no fault of the server's, and half an answer ends
	// in a closed connection whatever comes of it.
	_, _ = w.Write(body)
	if a.CloseHalfway {
		_ = http.NewResponseController(w).Flush()
		abort()
	}
}

func abort() { panic(http.ErrAbortHandler) }

package infinium

import (
	"bytes"
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Waiting times.
const (
	// defaultRateWait is what Infinium's own client waits after a 429 without a
	// Retry-After header.
	defaultRateWait = 60 * time.Second
	maxRetryAfter   = 24 * time.Hour
)

// Texts of answers, in characters.
const (
	maxSaidRunes    = 200
	maxReceiptRunes = 200
)

// Receipt is what the service said of a trace it accepted.
type Receipt struct {
	// TraceID and RootSpanID are the OpenTelemetry ids in hex, as in Trace.
	TraceID    string
	RootSpanID string
	// InfiniumID is the service's own id of the trace; empty when the answer
	// held none.
	InfiniumID string
	// Status is the HTTP status, a 2xx.
	Status int
}

// answer is what came back, as far as it could be read.
type answer struct {
	status int
	header http.Header
	body   []byte
	// broken is the error that ended the body early.
	broken error
}

// failure classifies an answer; nil is success: any 2xx, whatever its body,
// except a web page or a body that broke off. The server's words pass through
// scrub before they are cut.
func (a *answer) failure(now time.Time, scrub func(string) string) *Error {
	e := &Error{Status: a.status}
	switch s := a.status; {
	case s >= 200 && s < 300:
		if a.isPage() {
			e.Class, e.unreached = ClassLoginPage, true
			return e
		}
		if a.broken != nil {
			return &Error{Status: s, Class: ClassHalfAnswer, Err: a.broken}
		}
		return nil
	case s >= 300 && s < 400:
		e.Class, e.Said, e.unreached = ClassRedirect, target(a.header.Get("Location"), scrub), true
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		e.Class, e.unreached = ClassAuth, true
	case s == http.StatusNotFound:
		e.Class, e.unreached = ClassNotFound, true
	case s == http.StatusRequestTimeout:
		e.Class = ClassTimeout
	case s == http.StatusRequestEntityTooLarge:
		e.Class = ClassTooLarge
	case s == http.StatusTooManyRequests:
		e.Class, e.unreached = ClassRateLimit, true
	case s >= 400 && s < 500:
		e.Class = ClassRejected
	default:
		e.Class = ClassServer
	}
	// The markup of an error page says nothing on one line.
	if e.Class != ClassRedirect && !a.isPage() {
		e.Said = said(a.body, scrub)
	}
	wait, given := retryAfter(a.header.Get("Retry-After"), now)
	switch {
	case given && e.Retryable():
		e.after = wait
	case e.Class == ClassRateLimit:
		e.after = defaultRateWait
	}
	return e
}

// isPage reports a web page. Portals are known to leave the content type out.
func (a *answer) isPage() bool {
	kind, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err == nil && (kind == "text/html" || kind == "application/xhtml+xml") {
		return true
	}
	start := strings.ToLower(string(a.body[:min(len(a.body), 200)]))
	start = strings.TrimLeft(start, "\ufeff \t\r\n")
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
}

// target names where a redirect leads; queries may hold tokens and are left
// out.
func target(location string, scrub func(string) string) string {
	u, err := url.Parse(location)
	if err != nil || location == "" {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return "Location: " + cut(oneLine(clean(scrub(u.String()))), maxSaidRunes)
}

// retryAfter reads seconds or an HTTP date (RFC 9110 section 10.2.3); a moment
// that has passed is zero. It reports false when the header says nothing.
func retryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0, false
	}
	if strings.Trim(value, "0123456789") == "" {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter, true
		}
		return time.Duration(n) * time.Second, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), maxRetryAfter), true
}

// members reads the top level of a JSON object; anything else has none.
func members(body []byte) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return nil
	}
	return m
}

// member returns the first of the named members that is a string or a number.
func member(m map[string]json.RawMessage, names ...string) string {
	for _, name := range names {
		raw := bytes.TrimSpace(m[name])
		var s string
		if err := json.Unmarshal(raw, &s); err == nil && s != "" {
			return s
		}
		var n json.Number
		if len(raw) > 0 && raw[0] != '"' && json.Unmarshal(raw, &n) == nil && n != "" {
			return n.String()
		}
	}
	return ""
}

// receiptID finds the service's id of a trace. Its documents name traceId;
// trace_id, data.traceId and data.task_id are forms of other versions.
func receiptID(body []byte) string {
	m := members(body)
	data := members(m["data"])
	id := cmp.Or(member(m, "traceId", "trace_id"), member(data, "traceId", "trace_id", "task_id"))
	return cut(oneLine(clean(id)), maxReceiptRunes)
}

// said is the server's own words: the message of a JSON error, else the body.
func said(body []byte, scrub func(string) string) string {
	m := members(body)
	s := cmp.Or(
		member(m, "error", "message", "detail"),
		member(members(m["error"]), "message", "detail"),
	)
	if s == "" {
		s = string(body)
	}
	s, _ = firstRunes(scrub(s), 8*maxSaidRunes)
	return cut(oneLine(clean(s)), maxSaidRunes)
}

package infinium

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/hookspan/hookspan/internal/outbound"
)

// defaultRateWait is what Infinium's own client waits after a 429 without a
// Retry-After header.
const defaultRateWait = 60 * time.Second

// maxSaidRunes bounds texts of answers, in characters.
const maxSaidRunes = 200

// statuses are the classes of single statuses.
var statuses = map[int]Class{
	http.StatusUnauthorized: ClassAuth, http.StatusForbidden: ClassAuth, http.StatusNotFound: ClassNotFound,
	http.StatusRequestTimeout: ClassTimeout, http.StatusRequestEntityTooLarge: ClassTooLarge, http.StatusTooManyRequests: ClassRateLimit,
}

// classOf is the class of a status, empty for a success.
func classOf(status int) Class {
	switch status / 100 {
	case 2:
		return ""
	case 3:
		return ClassRedirect
	case 4:
		return cmp.Or(statuses[status], ClassRejected)
	}
	return ClassServer
}

// refused classifies an answer; nil is success: any 2xx, whatever its body,
// except a web page or a body that broke off. Secrets are removed from the
// server's text before it is cut.
func refused(a *outbound.Answer, now time.Time, secrets *outbound.Secrets) *Error {
	e := &Error{Status: a.Status, Class: classOf(a.Status)}
	page := outbound.IsPage(a.Header, a.Body)
	broken := (*outbound.Error)(nil)
	switch {
	case e.Class == "" && page:
		e.Class = ClassLoginPage
		return e
	case e.Class == "" && errors.As(a.Err, &broken) && broken.Kind != outbound.TooLong:
		e.Class, e.Err = ClassHalfAnswer, a.Err
		return e
	case e.Class == "":
		return nil
	case e.Class == ClassRedirect:
		e.Said = target(a.Header.Get("Location"), secrets)
	case !page: // The markup of an error page says nothing on one line.
		e.Said = said(a.Body, secrets)
	}
	if wait, given := outbound.RetryAfter(a.Header, now); given && e.Retryable() {
		e.after = wait
	} else if e.Class == ClassRateLimit {
		e.after = defaultRateWait
	}
	return e
}

// target is the address of a redirect, without its query, which may hold a token.
func target(location string, secrets *outbound.Secrets) string {
	u, err := url.Parse(location)
	if err != nil || location == "" {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return "Location: " + outbound.Line(secrets.Clean(u.String()), maxSaidRunes)
}

// members reads a JSON object; anything else has none.
func members(body []byte) (m map[string]any) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&m) != nil {
		return nil
	}
	return m
}

// member returns the first of the named members that is a string or a number.
func member(m any, names ...string) string {
	object, _ := m.(map[string]any)
	for _, name := range names {
		switch v := object[name].(type) {
		case string:
			if v != "" {
				return v
			}
		case json.Number:
			return v.String()
		}
	}
	return ""
}

// receiptID finds the service's id of a trace. Its documents name traceId;
// trace_id, data.traceId and data.task_id are forms of other versions.
func receiptID(body []byte) string {
	m := members(body)
	id := cmp.Or(member(m, "traceId", "trace_id"), member(m["data"], "traceId", "trace_id", "task_id"))
	return outbound.Line(id, maxSaidRunes)
}

// said is the server's message: that of a JSON error, else the body.
func said(body []byte, secrets *outbound.Secrets) string {
	m := members(body)
	s := cmp.Or(member(m, "error", "message", "detail"), member(m["error"], "message", "detail"), string(body))
	return outbound.Line(secrets.Clean(s[:min(len(s), 16*maxSaidRunes)]), maxSaidRunes)
}

package outbound

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
)

// maxLine bounds the text of an error, in characters.
const maxLine = 1000

// MaxRetryAfter is the longest wait that a server can ask for: a mistake in its
// configuration must not silence a destination for a year.
const MaxRetryAfter = 24 * time.Hour

// RetryAfter reads the Retry-After header, seconds or a date (RFC 9110, section
// 10.2.3), and returns at most MaxRetryAfter. A date is measured by the server's clock if
// the answer has its time, else by now. One in the past is zero. It reports false if there
// is no such header or it cannot be read.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0, false
	}
	if strings.Trim(value, "0123456789") == "" {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n > int64(MaxRetryAfter/time.Second) {
			return MaxRetryAfter, true
		}
		return time.Duration(n) * time.Second, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	if server, err := http.ParseTime(h.Get("Date")); err == nil {
		now = server
	}
	return min(max(at.Sub(now), 0), MaxRetryAfter), true
}

// OfSender reports that a status speaks of the credential, the account, the address or the
// network, so that every other request would get it too, and each may be taken once that is
// right.
func OfSender(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusProxyAuthRequired, http.StatusGone:
		return true
	}
	return false
}

// IsPage reports a web page, as captive portals and proxies send it instead of an
// answer. Some leave out the content type, or say that it is plain text.
func IsPage(h http.Header, body []byte) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err == nil && (kind == "text/html" || kind == "application/xhtml+xml") {
		return true
	}
	start := strings.ToLower(string(body[:min(len(body), 200)]))
	start = strings.TrimLeft(start, "\ufeff \t\r\n")
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html") ||
		(kind == "" || kind == "text/plain") && strings.HasPrefix(http.DetectContentType(body), "text/html")
}

// Line makes one line of a server's text: valid UTF-8, with one blank for each run
// of white space and control characters, and cut to most characters, of which the
// last is then an ellipsis.
func Line(text string, most int) string {
	// This is enough even if much of it is white space.
	text = strings.ToValidUTF8(text[:min(len(text), 8*most)], "\ufffd")
	line := strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || r >= 0x7f && r <= 0xa0 || r == '\u2028' || r == '\u2029'
	}), " ")
	if len(termtext.Head(line, most)) == len(line) {
		return line
	}
	return strings.TrimRight(termtext.Head(line, most-1), " ") + "…"
}

package outbound

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxLine bounds the line that an error makes of another's text, in characters.
const maxLine = 1000

// MaxRetryAfter bounds what a server may ask for: a typing error in its
// configuration must not silence a destination for a year.
const MaxRetryAfter = 24 * time.Hour

// RetryAfter reads the header of that name, seconds or a date (RFC 9110, section
// 10.2.3), which is at most MaxRetryAfter. A time that has passed is zero. It
// reports false when the header says nothing.
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
	return min(max(at.Sub(now), 0), MaxRetryAfter), true
}

// IsPage reports a web page in place of an answer, as portals and proxies send
// it. They are known to leave the content type out, or to call it plain text.
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

// Line makes one line of a server's text: valid UTF-8, each run of white space and
// control characters one blank, at most most characters, of which the last is an
// ellipsis where the text is cut.
func Line(text string, most int) string {
	// Enough for what is shown, however much white space is in it.
	text = strings.ToValidUTF8(text[:min(len(text), 8*most)], "\ufffd")
	line := strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || r >= 0x7f && r <= 0xa0 || r == '\u2028' || r == '\u2029'
	}), " ")
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	end := 0
	for range most - 1 {
		_, size := utf8.DecodeRuneInString(line[end:])
		end += size
	}
	return strings.TrimRight(line[:end], " ") + "…"
}

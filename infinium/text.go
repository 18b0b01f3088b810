package infinium

import (
	"strings"

	"github.com/hookspan/hookspan/internal/termtext"
)

// clean makes a text fit for JSON and for the databases behind it: invalid
// UTF-8 and NUL, which PostgreSQL's jsonb refuses, become U+FFFD.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// cut returns at most n characters of s. If it cuts, the last of them is an
// ellipsis, and no white space or other ellipsis is before it.
func cut(s string, n int) string {
	if head := termtext.Head(s, n); n <= 0 || len(head) == len(s) {
		return head
	}
	return strings.TrimRight(termtext.Head(s, n-1), " \t\r\n…") + "…"
}

// oneLine turns each run of white space and control characters into one space.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || (r >= 0x80 && r <= 0xa0) || r == '\u2028' || r == '\u2029'
	}), " ")
}

package infinium

import (
	"strings"
	"unicode/utf8"
)

const ellipsis = "…"

// Limits are the lengths of previews in characters.
type Limits struct {
	// InputPreview bounds prompts and tool inputs. If zero, 200 for Cline and
	// 500 for Claude Code.
	InputPreview int
	// OutputPreview bounds results and error messages. If zero, 300 for Cline
	// and 500 for Claude Code.
	OutputPreview int
}

// clean makes a text fit for JSON and for the databases behind it: invalid
// UTF-8 and NUL, which PostgreSQL's jsonb refuses, become U+FFFD.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// cut returns at most n characters of s. A cut shows as a trailing ellipsis
// that counts as one of them.
func cut(s string, n int) string {
	head, whole := firstRunes(s, n)
	if whole || n <= 0 {
		return head
	}
	shorter, _ := firstRunes(s, n-1)
	return strings.TrimRight(shorter, " \t\r\n"+ellipsis) + ellipsis
}

// firstRunes returns at most n characters of s and whether that is all of it.
func firstRunes(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, true
	}
	end := 0
	for range max(n, 0) {
		if end >= len(s) {
			return s, true
		}
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return s[:end], end == len(s)
}

// oneLine turns any run of white space and control characters into one space.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || (r >= 0x80 && r <= 0xa0) || r == '\u2028' || r == '\u2029'
	}), " ")
}

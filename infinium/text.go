package infinium

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const ellipsis = "…"

// clean makes a text fit for JSON and for the databases behind it: invalid
// UTF-8 and NUL, which PostgreSQL's jsonb refuses, become U+FFFD.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// cut returns at most n characters of s. If it cuts, the last of them is an
// ellipsis.
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

// oneLine turns each run of white space and control characters into one space.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || (r >= 0x80 && r <= 0xa0) || r == '\u2028' || r == '\u2029'
	}), " ")
}

func plural(n int64, noun string) string {
	s := strconv.FormatInt(n, 10) + " " + noun
	if n != 1 {
		s += "s"
	}
	return s
}

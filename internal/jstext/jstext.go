// Package jstext has the operations on text that JavaScript defines otherwise than
// Go's library. Cline and Claude Code are JavaScript: what they read in a text is what
// a hook must see. Pure.
//
//	JavaScript            Go                     differs in
//	s.trim()              strings.TrimSpace      U+FEFF is white space, U+0085 is not
//	parseInt(s, 10)       strconv.ParseInt       the rest after the digits does not count
//	s.replace(/[^a]/g)    strings.Map            a character beyond U+FFFF is two
package jstext

import (
	"math"
	"strings"
	"unicode"
)

// IsSpace reports white space as trim and \s have it.
func IsSpace(r rune) bool {
	return r == '\ufeff' || r != '\u0085' && unicode.IsSpace(r)
}

// Trim is s.trim().
func Trim(s string) string { return strings.TrimFunc(s, IsSpace) }

// Int is parseInt(s, 10). ok is false for NaN, and for a number with more digits than a
// line of a file has.
func Int(s string) (n int64, ok bool) {
	s = strings.TrimLeftFunc(s, IsSpace)
	digits, negative := strings.CutPrefix(s, "-")
	if !negative {
		digits = strings.TrimPrefix(s, "+")
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' || n > math.MaxInt64/100 {
			return signed(n, negative), ok && (c < '0' || c > '9')
		}
		n, ok = n*10+int64(c-'0'), true
	}
	return signed(n, negative), ok
}

func signed(n int64, negative bool) int64 {
	if negative {
		return -n
	}
	return n
}

// Replace is s.replace(/[^...]/g, by) with a class of characters that are all below
// U+FFFF: it replaces each other UTF-16 unit.
func Replace(s string, class func(rune) bool, by rune) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case class(r):
			b.WriteRune(r)
		case r > 0xffff:
			b.WriteRune(by)
			fallthrough
		default:
			b.WriteRune(by)
		}
	}
	return b.String()
}

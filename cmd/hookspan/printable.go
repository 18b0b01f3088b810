package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// steers reports a character that could steer a terminal, or have a text read in
// another order than it stands in: C0 and C1 controls, format characters such as
// bidirectional overrides and invisible ones, and the line ends of Unicode. The
// two joiners that scripts and emoji need are none.
func steers(r rune) bool {
	const zwnj, zwj = '\u200c', '\u200d'
	if r >= ' ' && r < 0x7f || r == zwnj || r == zwj {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// printable is one line of a text that cannot steer the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) {
			return '?'
		}
		return r
	}, s)
}

// screened is printable for whole lines. Everything that is printed for people
// goes through it, so that a text of somebody else's that was forgotten further
// up does no harm.
func screened(s string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) && r != '\n' && r != '\t' {
			return '?'
		}
		return r
	}, s)
}

// screenedJSON escapes such characters in a JSON text. Outside strings there are
// none but line ends.
func screenedJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, func(r rune) bool { return steers(r) && r != '\n' }) {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		switch {
		case !steers(r) || r == '\n':
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

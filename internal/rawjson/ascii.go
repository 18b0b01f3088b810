package rawjson

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// ASCII returns valid JSON with each character beyond ASCII as an escape, so that nothing on
// the way changes it.
func ASCII(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r < utf8.RuneSelf:
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

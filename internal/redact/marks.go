package redact

import "strings"

// cutAt reports whether a text was cut at i: it ends there, or has a cut mark.
func cutAt(seg string, i int, last bool) bool {
	// The match may include dots that belong to the mark.
	for i > 0 && i < len(seg) && seg[i] == '.' && seg[i-1] == '.' {
		i--
	}
	rest := seg[endOf(seg, i, len(seg), oneOf(" \r\n\t")):]
	return markAt(rest) > 0 || rest == "" && last
}

// markAt is the length of the cut mark that text begins with, or 0.
func markAt(text string) int {
	if text == "" || markBytes[text[0]] == "" {
		return 0
	}
	for _, mark := range [...]string{"…", "...", "[...", "[trunc", "(trunc", "<trunc", "[output trunc", "[cut", "\\u2026"} {
		if len(text) >= len(mark) && text[0] == mark[0] && strings.EqualFold(text[:len(mark)], mark) {
			return len(mark)
		}
	}
	return 0
}

// longestMark bounds the length of a cut mark.
const longestMark = 16

// nextMark finds the first cut mark in seg from i on; lo is -1 if there is none.
func nextMark(seg string, i int) (lo, hi int) {
	for ; i+2 < len(seg); i++ {
		second := markBytes[seg[i]]
		if second == "" || strings.IndexByte(second, seg[i+1]) < 0 {
			continue
		}
		if n := markAt(seg[i:]); n > 0 {
			return i, i + n
		}
	}
	return -1, -1
}

// markBytes has, for the first byte of a cut mark, those that may be the second.
var markBytes = [256]string{'.': ".", '[': ".tToOcC", '(': "tT", '<': "tT", '\\': "uU", 0xE2: "\x80"} // "…" is E2 80 A6.

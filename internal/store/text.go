package store

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// clean makes a text from a span safe for one line of a terminal. White space
// of any kind, line ends included, becomes single spaces. What could move the
// cursor, start an escape sequence, reorder or hide text becomes U+FFFD: C0 and
// C1 controls, and format characters such as bidirectional overrides, apart
// from the two joiners that scripts and emoji need.
func clean(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) || r == '\u2028' || r == '\u2029' {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(safe(r))
	}
	return b.String()
}

// plain reports a text that clean leaves as it is, the common case.
func plain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= 0x7f || c == ' ' && (i == 0 || i == len(s)-1 || s[i+1] == ' ') {
			return false
		}
	}
	return true
}

func safe(r rune) rune {
	const zwnj, zwj = '\u200c', '\u200d'
	switch {
	case r == zwnj || r == zwj:
		return r
	case r == utf8.RuneError, unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp):
		return utf8.RuneError
	}
	return r
}

// cleanLines is clean for each line of a text; indentation and the width of
// gaps stay.
func cleanLines(s string) []string {
	s = strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), " \n")
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(strings.Map(safe, strings.ReplaceAll(l, "\t", "    ")), " ")
	}
	return lines
}

// width is the number of columns a clean text takes.
func width(s string) int { return uniseg.StringWidth(s) }

// cutWidth shortens a clean text to at most n columns, the last of which then
// shows the mark; characters that belong together stay together.
func cutWidth(s string, n int, mark string) string {
	if n <= 0 {
		return ""
	}
	// No text is wider than its bytes.
	if len(s) <= n || width(s) <= n {
		return s
	}
	room := n - width(mark)
	used, end, state := 0, 0, -1
	rest := s
	for rest != "" {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used+w > room {
			break
		}
		used += w
		end += len(cluster)
	}
	if room < 0 {
		return strings.Repeat(".", n)
	}
	return strings.TrimRight(s[:end], " ") + mark
}

// padLeft sets a text to the right of n columns, padRight to the left.
func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-width(s))) + s }

func padRight(s string, n int) string { return s + strings.Repeat(" ", max(0, n-width(s))) }

// duration is d as people say it, in at most six columns up to a hundred days.
func duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + duration(-d)
	case d < time.Millisecond && d > 0:
		return "<1ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		return fmt.Sprintf("%d.%ds", d/time.Second, d%time.Second/(100*time.Millisecond))
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// tokens is a count in at most five columns up to a thousand millions.
func tokens(n int64) string {
	switch {
	case n < 0:
		return "0"
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 99_950:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + "k"
	case n < 999_500:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 0, 64) + "k"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + "M"
}

// dollars is a cost: to the cent from a dollar on, else to a hundredth of one.
func dollars(usd float64) string {
	switch {
	case math.IsNaN(usd) || math.IsInf(usd, 0):
		return "$?"
	case math.Abs(usd) >= 1:
		return fmt.Sprintf("$%.2f", usd)
	}
	return fmt.Sprintf("$%.4f", usd)
}

// plural is "1 thing" or "n things".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

package termtext

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Value makes a text safe to print within a line. Each unsafe character, line
// ends and tabs among them, becomes U+FFFD.
func Value(s string) string { return strings.Map(safe, s) }

// Message returns an error's text on one line. The errors that errors.Join joined,
// which puts line ends between them, are separated by semicolons.
func Message(err error) string {
	text := err.Error()
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return text
	}
	var lines, parts []string
	for _, e := range joined.Unwrap() {
		lines, parts = append(lines, e.Error()), append(parts, Message(e))
	}
	return strings.Replace(text, strings.Join(lines, "\n"), strings.Join(parts, "; "), 1)
}

// Screen makes a text of several lines safe to print. Each unsafe character
// becomes U+FFFD; line feeds and tabs stay.
func Screen(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return safe(r)
	}, s)
}

// Line makes one line of a text. Each run of white space, line ends included,
// becomes one space, none at either end; each unsafe character becomes U+FFFD.
func Line(s string) string {
	if isLine(s) {
		return s
	}
	words := strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\u2028' || r == '\u2029' })
	return Value(strings.Join(words, " "))
}

// isLine reports a text that Line returns unchanged, the common case.
func isLine(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= 0x7f || c == ' ' && (i == 0 || i == len(s)-1 || s[i+1] == ' ') {
			return false
		}
	}
	return true
}

// Lines makes each line of a text safe to print. A tab becomes four spaces;
// spaces at the ends of lines and empty lines at the end are removed.
func Lines(s string) []string {
	s = strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), " \t\n")
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(Value(strings.ReplaceAll(l, "\t", "    ")), " ")
	}
	return lines
}

// JSON escapes the unsafe characters in a JSON text, which keeps its meaning.
func JSON(text []byte) []byte {
	unsafe := func(r rune) bool { return r != '\n' && safe(r) != r }
	if !bytes.ContainsFunc(text, unsafe) {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		switch {
		case !unsafe(r):
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

// safe returns the character, or U+FFFD for one that could move the cursor, start
// an escape sequence, reorder text or hide it.
func safe(r rune) rune {
	const zwnj, zwj = '\u200c', '\u200d'
	if r >= ' ' && r < 0x7f || r == zwnj || r == zwj {
		return r
	}
	if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp) {
		return utf8.RuneError
	}
	return r
}

// Cut returns a text of at most n characters. If the text is longer, the last of
// them is an ellipsis. A limit of zero or less is none.
func Cut(s string, n int) string {
	if n <= 0 || len(Head(s, n)) == len(s) {
		return s
	}
	return Head(s, n-1) + "…"
}

// Head returns the first n characters of a text, or all of them if it has fewer.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := 0
	for ; n > 0 && end < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return s[:end]
}

// Tail returns the last n characters of a text, or all of them if it has fewer.
func Tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	begin := len(s)
	for ; n > 0 && begin > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:begin])
		begin -= size
	}
	return s[begin:]
}

// Wrap breaks a safe line into lines of at most n columns, at spaces where there are
// any. The spaces at which it breaks are left out.
func Wrap(s string, n int) []string {
	n = max(n, 2)
	if len(s) <= n || Width(s) <= n {
		return []string{s}
	}
	var out []string
	// The line begins at begin and has the width so far. Its last space is at space,
	// and what is behind it has the width after. Indentation is no place to break at.
	begin, at, space, width, after, state, text := 0, 0, -1, 0, 0, -1, false
	for rest := s; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		blank := cluster == " "
		// A word without a width, such as a joiner by itself, needs a second break.
		for width+w > n && at > begin && !blank {
			switch {
			case space > begin:
				out = append(out, strings.TrimRight(s[begin:space], " "))
				begin, width = space+1, after
			default:
				out = append(out, strings.TrimRight(s[begin:at], " "))
				begin, width = at, 0
			}
			space = -1
		}
		if blank && text {
			space, after = at, -w
		}
		text = text || !blank
		width, after = width+w, after+w
		at += len(cluster)
	}
	return append(out, strings.TrimRight(s[begin:], " "))
}

// Fold breaks a safe line that is printed behind column columns, so that it ends by
// column n. Its further lines are indented by column spaces. If n is zero, or if a word
// is too long for a line, the text stays as it is: a terminal breaks it so that it can
// be copied.
func Fold(s string, column, n int) string {
	room := n - column
	if n <= 0 || Width(s) <= room || slices.ContainsFunc(strings.Fields(s), func(word string) bool { return Width(word) > room }) {
		return s
	}
	return strings.Join(Wrap(s, room), "\n"+strings.Repeat(" ", column))
}

// HeadBytes returns at most the first n bytes of a text, and no part of a
// character.
func HeadBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:max(n, 0)]
}

// Width returns the number of terminal columns that a safe text takes.
func Width(s string) int { return uniseg.StringWidth(s) }

// CutWidth returns a text of at most n columns. If the safe text is wider, the
// mark ends it. Characters that form one grapheme stay together.
func CutWidth(s string, n int, mark string) string {
	// No text is wider than its bytes.
	if n <= 0 {
		return ""
	}
	if len(s) <= n || Width(s) <= n {
		return s
	}
	room := n - Width(mark)
	if room < 0 {
		return strings.Repeat(".", n)
	}
	end, state := 0, -1
	for rest := s; rest != ""; {
		var cluster string
		var width int
		cluster, rest, width, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if room -= width; room < 0 {
			break
		}
		end += len(cluster)
	}
	return strings.TrimRight(s[:end], " ") + mark
}

// Plural returns "1 thing" or "n things".
func Plural[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.FormatInt(int64(n), 10) + " " + thing + "s"
}

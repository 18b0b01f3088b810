package hookmatch

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/dlclark/regexp2/v2"

	"github.com/hookspan/hookspan/internal/userhooks/plain"
)

// matchLimit is how long one regular expression may take on one subject. The
// engine looks at its clock every 100 ms, so that it may be twice as long.
const matchLimit = 100 * time.Millisecond

// expression is a matcher that is an unanchored JavaScript regular expression.
type expression struct {
	text string
	re   *regexp2.Regexp
	// open is re without its negative look-around; nil where it has none.
	open *regexp2.Regexp
}

// Compile reads the matcher of a group for an event as Claude Code does: everything,
// a list of exact names, or an unanchored JavaScript regular expression.
func Compile(event, matcher string) (plain.Matcher, error) {
	out, text := plain.Compile(event, matcher)
	if text == "" {
		return out, nil
	}
	m := expression{text: text}
	var err error
	if group := foreignGroup(text); group != "" {
		err = fmt.Errorf("JavaScript has no group that begins with %s", group)
	} else if m.re, err = compile(text); err == nil {
		if rest, ok := withoutExclusions(text); ok {
			m.open, err = compile(rest)
		}
	}
	if err != nil {
		return out, fmt.Errorf("matcher %q is no JavaScript regular expression: %w; "+
			"use names with | between them, \"*\", or fix the expression", text, err)
	}
	out.Expression = m.match
	return out, nil
}

func compile(text string) (*regexp2.Regexp, error) {
	re, err := regexp2.Compile(escapeAstral(text), regexp2.ECMAScript)
	if err == nil {
		re.MatchTimeout = matchLimit
	}
	return re, err
}

// foreignGroup returns the beginning of the first group that JavaScript does not
// have; the library accepts those of .NET as well.
func foreignGroup(text string) string {
	for i, token := range plain.Tokens(text) {
		if token != "(" || !strings.HasPrefix(text[i:], "(?") {
			continue
		}
		rest := text[i+2:]
		if flags := strings.TrimLeft(rest, "ims-"); strings.HasPrefix(flags, ":") {
			continue // (?:x), and (?i:x) of ES2025
		}
		named := strings.HasPrefix(rest, "<") && len(rest) > 1 && !strings.ContainsAny(rest[1:2], "0123456789>'")
		if !named && !strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "!") {
			return text[i:min(i+3, len(text))]
		}
	}
	return ""
}

// withoutExclusions removes the negative look-around from a regular expression and
// reports whether there was any.
func withoutExclusions(text string) (rest string, found bool) {
	var b strings.Builder
	depth := 0 // inside a look-around: how many groups are open
	for i, token := range plain.Tokens(text) {
		switch {
		case token == "(" && depth > 0:
			depth++
		case strings.HasPrefix(text[i:], "(?!"), strings.HasPrefix(text[i:], "(?<!"):
			b.WriteString("(?:)") // a repetition may follow
			depth, found = 1, true
		case token == ")" && depth > 0:
			depth--
		case depth == 0:
			b.WriteString(token)
		}
	}
	return b.String(), found
}

// escapeAstral writes characters beyond the basic plane as two units, as
// JavaScript sees them without its u flag.
func escapeAstral(text string) string {
	var b strings.Builder
	for _, r := range text {
		if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// units returns the subject's UTF-16 units, which JavaScript matches.
func units(s string) []rune {
	var out []rune
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, rune(u))
	}
	return out
}

// match reports which of the subjects, the names of one tool, fits. If only a
// negative look-around keeps one of them from fitting, the matcher excludes the tool,
// and none fits: ^(?!Read$) means the tool, whatever the host calls it.
func (m expression) match(subjects []string) (subject string, ok bool, err error) {
	for _, s := range subjects {
		fits, err := m.matches(m.re, s)
		if err != nil {
			return "", false, err
		}
		switch {
		case fits && m.open == nil:
			return s, true, nil
		case fits && !ok:
			subject, ok = s, true
		case !fits && m.open != nil:
			if excluded, err := m.matches(m.open, s); excluded || err != nil {
				return s, false, err
			}
		}
	}
	return subject, ok, nil
}

func (m expression) matches(re *regexp2.Regexp, subject string) (bool, error) {
	ok, err := re.MatchRunes(units(subject))
	if err != nil {
		// The engine's error repeats the subject, which may be long.
		return false, fmt.Errorf("matcher %q gives up after %v or too many steps back; simplify it", m.text, matchLimit)
	}
	return ok, nil
}

package hookmatch

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/dlclark/regexp2/v2"

	"github.com/hookspan/hookspan/internal/jstext"
)

// matchLimit is how long one regular expression may take on one subject. The
// engine looks at its clock every 100 ms, so that it may be twice as long.
const matchLimit = 100 * time.Millisecond

// Matcher is the compiled form of a group's matcher.
type Matcher struct {
	// All reports that it matches every subject, also an event without one.
	All bool
	// Names are the exact names that it lists; nil for an expression.
	Names []string

	text string
	re   *regexp2.Regexp
	// open is re without its negative look-around; nil where it has none.
	open *regexp2.Regexp
}

// withoutMatcher are the events on which Claude Code ignores matchers.
var withoutMatcher = []string{
	"UserPromptSubmit", "PostToolBatch", "Stop", "TeammateIdle", "TaskCreated", "TaskCompleted",
	"WorktreeCreate", "WorktreeRemove", "MessageDisplay", "CwdChanged",
}

// HasMatcher reports whether a matcher means something on an event.
func HasMatcher(event string) bool { return !slices.Contains(withoutMatcher, event) }

// Compile reads the matcher of a group for an event as Claude Code does: everything,
// a list of exact names, or an unanchored JavaScript regular expression.
func Compile(event, text string) (Matcher, error) {
	if !HasMatcher(event) || text == "" || text == "*" {
		return Matcher{All: true}, nil
	}
	text = mcpMatcher(text)
	// Two events take fewer characters for a list, and only | between names.
	also, separators := "_- ,|", ",|"
	if event == "StopFailure" || event == "FileChanged" {
		also, separators = "_|", "|"
	}
	special := func(r rune) bool { return !alphanumeric(r) && !strings.ContainsRune(also, r) }
	if !strings.ContainsFunc(text, special) {
		names := []string{}
		for _, name := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
			if name = jstext.Trim(name); name != "" {
				names = append(names, name)
			}
		}
		return Matcher{Names: names}, nil
	}
	m := Matcher{text: text}
	var err error
	if group := foreignGroup(text); group != "" {
		err = fmt.Errorf("JavaScript has no group that begins with %s", group)
	} else if m.re, err = expression(text); err == nil {
		if rest, ok := withoutExclusions(text); ok {
			m.open, err = expression(rest)
		}
	}
	if err != nil {
		return Matcher{}, fmt.Errorf("matcher %q is no JavaScript regular expression: %w; "+
			"use names with | between them, \"*\", or fix the expression", text, err)
	}
	return m, nil
}

func expression(text string) (*regexp2.Regexp, error) {
	re, err := regexp2.Compile(escapeAstral(text), regexp2.ECMAScript)
	if err == nil {
		re.MatchTimeout = matchLimit
	}
	return re, err
}

func alphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// tokens yields the tokens of a regular expression with their places: an escaped
// character with its backslash, a class with its brackets, or one byte.
func tokens(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for i := 0; i < len(text); {
			end := i + 1
			switch text[i] {
			case '\\':
				end++
			case '[':
				for ; end < len(text) && text[end] != ']'; end++ {
					if text[end] == '\\' {
						end++
					}
				}
				end++
			}
			end = min(end, len(text))
			if !yield(i, text[i:end]) {
				return
			}
			i = end
		}
	}
}

// mcpMatcher replaces the characters that the names of MCP tools cannot have by "_",
// as in these names. So mcp__My Server__do_it fits the tool of the server
// "My Server".
func mcpMatcher(text string) string {
	if !strings.Contains(text, "mcp__") {
		return text
	}
	const other = " @/&#"
	const escaped = other + ".+()"
	var b strings.Builder
	for i, token := range tokens(text) {
		end := i + len(token)
		switch {
		case token[0] == '\\' && len(token) == 2 && strings.Contains(escaped, token[1:]):
			token = "_"
		case token == " " && (i == 0 || end == len(text) || strings.IndexByte(" ,|", text[i-1]) >= 0 || strings.IndexByte(" ,|", text[end]) >= 0):
			// Around a name in a list.
		case strings.Contains(other, token):
			token = "_"
		}
		b.WriteString(token)
	}
	return b.String()
}

// foreignGroup returns the beginning of the first group that JavaScript does not
// have; the library accepts those of .NET as well.
func foreignGroup(text string) string {
	for i, token := range tokens(text) {
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
	for i, token := range tokens(text) {
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

// Match reports which of the subjects, the names of one tool, fits. If only a
// negative look-around keeps one of them from fitting, the matcher excludes the tool,
// and none fits: ^(?!Read$) means the tool, whatever the host calls it. Without
// subjects, only a matcher for everything fits.
func (m Matcher) Match(subjects []string) (subject string, ok bool, err error) {
	if m.All && len(subjects) == 0 {
		return "", true, nil
	}
	for _, s := range subjects {
		if m.All || slices.Contains(m.Names, s) {
			return s, true, nil
		}
		if m.re == nil {
			continue
		}
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

func (m Matcher) matches(re *regexp2.Regexp, subject string) (bool, error) {
	ok, err := re.MatchRunes(units(subject))
	if err != nil {
		// The engine's error repeats the subject, which may be long.
		return false, fmt.Errorf("matcher %q gives up after %v or too many steps back; simplify it", m.text, matchLimit)
	}
	return ok, nil
}

// Package plain decides which events a hook is for by its matcher, where that is a list
// of names. Matchers that are expressions, and permission rules, take package hookmatch,
// which links the libraries for them.
package plain

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/jstext"
)

// Matcher is the compiled form of a group's matcher.
type Matcher struct {
	// All reports that it matches every subject, also an event without one.
	All bool
	// Names are the exact names that it lists; nil for an expression.
	Names []string
	// Expression tries an expression on the names of one tool as Match does; nil for
	// names.
	Expression func(subjects []string) (subject string, ok bool, err error)
}

// withoutMatcher are the events on which Claude Code ignores matchers.
var withoutMatcher = []string{
	"UserPromptSubmit", "PostToolBatch", "Stop", "TeammateIdle", "TaskCreated", "TaskCompleted",
	"WorktreeCreate", "WorktreeRemove", "MessageDisplay", "CwdChanged",
}

// HasMatcher reports whether a matcher means something on an event.
func HasMatcher(event string) bool { return !slices.Contains(withoutMatcher, event) }

// Compile reads the matcher of a group for an event if it means everything or a list of
// exact names. If not, it is an expression, and text is what the expression is.
func Compile(event, matcher string) (m Matcher, text string) {
	if !HasMatcher(event) || matcher == "" || matcher == "*" {
		return Matcher{All: true}, ""
	}
	text = mcpMatcher(matcher)
	// Two events take fewer characters for a list, and only | between names.
	also, separators := "_- ,|", ",|"
	if event == "StopFailure" || event == "FileChanged" {
		also, separators = "_|", "|"
	}
	special := func(r rune) bool { return !Alphanumeric(r) && !strings.ContainsRune(also, r) }
	if strings.ContainsFunc(text, special) {
		return Matcher{}, text
	}
	names := []string{}
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		name = jstext.Trim(name)
		if name != "" {
			names = append(names, name)
		}
	}
	return Matcher{Names: names}, ""
}

// Match reports which of the subjects, the names of one tool, fits. Without subjects,
// only a matcher for everything fits.
func (m Matcher) Match(subjects []string) (subject string, ok bool, err error) {
	switch {
	case m.All && len(subjects) == 0:
		return "", true, nil
	case m.All:
		return subjects[0], true, nil
	case m.Expression != nil:
		return m.Expression(subjects)
	}
	for _, s := range subjects {
		if slices.Contains(m.Names, s) {
			return s, true, nil
		}
	}
	return "", false, nil
}

// Alphanumeric reports a letter or digit of ASCII.
func Alphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// Tokens yields the tokens of a regular expression with their places: an escaped
// character with its backslash, a class with its brackets, or one byte.
func Tokens(text string) iter.Seq2[int, string] {
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
	for i, token := range Tokens(text) {
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

// Scope is where a rule's relative paths begin: Dir is the working directory.
type Scope struct {
	Dir, Project, Home, GOOS string
	// Host returns the host that an address leads to, in the one spelling that the URL
	// standard gives it. If nil, a rule on hosts cannot say no.
	Host func(address string) (string, error)
	// Target returns the path that a path leads to through links, to try a rule on it as
	// well. If nil, links are not followed.
	Target func(path string) string
}

// Call is the call of a tool that a rule is tried on.
type Call struct {
	// Tool is the tool's Claude name, Subjects the names it also goes by.
	Tool     string
	Subjects []string
	Input    json.RawMessage
}

// OnHost reports a permission rule on the host of an address, which takes a Scope's Host
// to judge.
func OnHost(rule string) bool { return strings.HasPrefix(rule, "WebFetch(") }

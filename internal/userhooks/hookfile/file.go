package hookfile

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// The handler types. Only TypeCommand and TypeHTTP run here.
const (
	TypeCommand = "command"
	TypeHTTP    = "http"
)

// File is the content of a hooks.json.
type File struct {
	// Path is the file's absolute path.
	Path string
	// Disabled is the file's disableAllHooks.
	Disabled bool
	// Env are the variables that hooks get besides their environment, in the
	// file's order.
	Env []Variable
	// Denied counts the rules of "permissions.deny", which Claude Code applies but
	// Cline does not; DeniedLine is where the list begins.
	Denied, DeniedLine int
	// Handlers are the handlers that can run, in the file's order.
	Handlers []Handler
	// Problems are the faults, in the file's order.
	Problems []Problem
}

// Handler is one hook.
type Handler struct {
	// Event is Claude's name of the event, Matcher the group's matcher; empty
	// matches everything.
	Event, Matcher string
	// Type is TypeCommand or TypeHTTP.
	Type string
	// Command is the shell line, or with Args the program of the exec form.
	Command string
	// Args are the exec form's arguments; nil means shell form, an empty slice
	// exec form without arguments.
	Args []string
	// Shell is "bash" or "powershell"; empty means the system's own.
	Shell string
	// URL, Headers and AllowedEnvVars belong to TypeHTTP.
	URL            string
	Headers        map[string]string
	AllowedEnvVars []string
	// Timeout is the handler's own time limit; 0 means the default.
	Timeout time.Duration
	// If is a permission rule such as "Bash(rm *)"; empty means always.
	If string
	// Async handlers are not waited for.
	Async, AsyncRewake bool
	// Once handlers run once per session.
	Once bool
	// BlockOnFailure is onFailure "block".
	BlockOnFailure bool
	// File and Line are the handler's place.
	File string
	Line int
}

// Problem is something in the file that will not work as written.
type Problem struct {
	Path   string `json:"path"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Event and Matcher say which calls are concerned; Event is empty where all
	// are.
	Event   string `json:"-"`
	Matcher string `json:"-"`
	// Text names what was found, what is allowed and what to do.
	Text string `json:"text"`
	// Dropped reports that a handler does not run because of it.
	Dropped bool `json:"dropped,omitempty"`
	// Mistake reports an error in the file, not a limit of Cline.
	Mistake bool `json:"mistake,omitempty"`
}

// String is the place and the text.
func (p Problem) String() string {
	at := p.Path
	if p.Line > 0 {
		at += ":" + strconv.Itoa(p.Line)
	}
	if p.Column > 0 {
		at += ":" + strconv.Itoa(p.Column)
	}
	return at + ": " + p.Text
}

// Describe returns one line about a handler: the event, the matcher in brackets,
// what runs, which is the text, and the handler's other settings.
func Describe(h Handler, text string) string {
	var b strings.Builder
	b.WriteString(h.Event)
	if !matchesAll(h.Matcher) {
		b.WriteString(" [" + oneLine(h.Matcher) + "]")
	}
	b.WriteString(": ")
	switch {
	case h.Type == TypeHTTP:
		b.WriteString("POST " + oneLine(h.URL))
	case h.Type != TypeCommand:
		b.WriteString("a hook of type " + strconv.Quote(h.Type))
	default:
		b.WriteString(oneLine(text))
	}
	if traits := h.Traits(); len(traits) > 0 {
		b.WriteString(" (" + strings.Join(traits, ", ") + ")")
	}
	return b.String()
}

// Traits are the handler's settings, without what it runs.
func (h Handler) Traits() []string {
	var traits []string
	for _, t := range []struct {
		has  bool
		text string
	}{
		{h.If != "", "if " + oneLine(h.If)},
		{h.Shell != "" && h.Args == nil, "with " + oneLine(h.Shell)},
		{h.Timeout > 0, "at most " + h.Timeout.String()},
		{h.Async || h.AsyncRewake, "in the background"},
		{h.Once, "once per session"},
		{h.BlockOnFailure, "blocks when it fails"},
	} {
		if t.has {
			traits = append(traits, t.text)
		}
	}
	return traits
}

// oneLine escapes a text that has line ends or control characters.
func oneLine(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }) {
		quoted := strconv.Quote(s)
		return quoted[1 : len(quoted)-1]
	}
	return s
}

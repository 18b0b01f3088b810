package hookfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/jsonedit"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/userhooks/plain"
)

// SyntaxError says that a file is no JSON object, and where.
type SyntaxError = jsonedit.SyntaxError

// Parse reads a hooks.json, or a settings.json of Claude Code: keys other than
// "hooks", "env", "permissions" and "disableAllHooks" are ignored. path is for the
// result and the error only. The only error is a *[SyntaxError]; other faults are
// among the Problems.
func Parse(path string, data []byte) (*File, error) {
	r, err := read(path, withoutMark(data), nil)
	if err != nil {
		return nil, err
	}
	return r.finish(), nil
}

// withoutMark removes the byte order mark that Windows programs may write.
func withoutMark(text []byte) []byte {
	return bytes.TrimPrefix(text, []byte(jsonedit.ByteOrderMark))
}

// The members of the file and of a group.
const (
	hooksKey   = "hooks"
	matcherKey = "matcher"
	disableKey = "disableAllHooks"
)

// reading is a file that is being read.
type reading struct {
	// file is the result, without handlers and problems until finish.
	file File
	text []byte
	root *jsonedit.Node
	// The Line of these is a byte of the text until finish counts the lines.
	places   []place
	problems []Problem
	// event and matcher are those of the part that is being read.
	event, matcher string
	// skip reports handlers to leave out, skipped counts them. A nil skip leaves
	// out none.
	skip    func(Handler) bool
	skipped int
	// claude reports that Claude Code runs the hooks, not Cline.
	claude bool
}

// place is a handler and where it is in the text.
type place struct {
	handler Handler
	// runs reports that nothing keeps it from running.
	runs bool
	// list is the group's array, at the handler's index there.
	list *jsonedit.Node
	at   int
}

// read finds all handlers of a text but those that skip reports, also those that
// cannot run.
func read(path string, text []byte, skip func(Handler) bool) (*reading, error) {
	root, err := parseObject(path, text)
	if err != nil {
		return nil, err
	}
	r := &reading{file: File{Path: path}, text: text, root: root, skip: skip}
	r.top()
	return r, nil
}

// readClaude is read for hooks that Claude Code runs.
func readClaude(path string, text []byte) (*reading, error) {
	root, err := parseObject(path, text)
	if err != nil {
		return nil, err
	}
	r := &reading{file: File{Path: path}, text: text, root: root, claude: true}
	r.top()
	return r, nil
}

// parseObject parses a text that must be an object. path may be empty.
func parseObject(path string, text []byte) (*jsonedit.Node, error) {
	root, err := jsonedit.Parse(text)
	if err == nil && !root.Is(text, '{') {
		line, column := jsonedit.Position(text, root.Start)
		err = &SyntaxError{Line: line, Column: column, Text: "found " + root.Kind(text) + ", want an object"}
	}
	if err != nil && path != "" {
		err = fmt.Errorf("hooks file %q: %w", path, err)
	}
	return root, err
}

// problem records a fault at a byte. lost says that a handler does not run because
// of it.
func (r *reading) problem(at int, lost bool, format string, args ...any) {
	r.problems = append(r.problems, Problem{
		Path: r.file.Path, Line: at, Event: r.event, Matcher: r.matcher, Text: fmt.Sprintf(format, args...), Dropped: lost,
	})
}

// wrong records a value of the wrong kind.
func (r *reading) wrong(name string, n *jsonedit.Node, want string, lost bool) {
	r.problem(n.Start, lost, "%s is %s, want %s", name, r.value(n), want)
}

// value describes a value: a short one by its spelling.
func (r *reading) value(n *jsonedit.Node) string {
	const most = 40
	if raw := n.Raw(r.text); raw[0] != '{' && raw[0] != '[' && len(raw) <= most {
		return string(bytes.ToValidUTF8(raw, []byte("\ufffd")))
	}
	return n.Kind(r.text)
}

// lasts returns the members of an object by name; of equal names the last, as in
// JavaScript. Earlier ones are problems if reads has the name or is empty.
func (r *reading) lasts(n *jsonedit.Node, reads ...string) map[string]*jsonedit.Node {
	values := make(map[string]*jsonedit.Node, len(n.Items))
	starts := make(map[string]int, len(n.Items))
	for _, m := range n.Items {
		if before, ok := starts[m.Key]; ok && (len(reads) == 0 || slices.Contains(reads, m.Key)) {
			r.problem(before, len(reads) > 0 && m.Key == hooksKey, again, name(m.Key))
		}
		values[m.Key], starts[m.Key] = m.Value, m.Start
	}
	return values
}

// again says that a member is not read.
const again = "%s appears again further down, and only the last one counts: join them"

// name quotes a key, cut short.
func name(key string) string { return strconv.Quote(termtext.Cut(key, 60)) }

// top reads the file's own members.
func (r *reading) top() {
	members := r.lasts(r.root, hooksKey, disableKey, envKey)
	for _, m := range r.root.Items {
		if known(m.Key) {
			r.event = m.Key
			r.problem(m.Start, true, "%s is outside of %q and is not read: put it inside", name(m.Key), hooksKey)
			r.event = ""
		}
	}
	r.file.Disabled = r.boolean(disableKey, members[disableKey], "hooks run")
	r.env(members[envKey])
	if n := r.root.Get("permissions"); n.Is(r.text, '{') {
		n = n.Get("deny")
		if n.Is(r.text, '[') && len(n.Items) > 0 {
			r.file.Denied = len(n.Items)
			r.file.DeniedLine, _ = jsonedit.Position(r.text, n.Start)
		}
	}
	hooks := members[hooksKey]
	switch {
	case hooks == nil:
		return
	case !hooks.Is(r.text, '{'):
		r.wrong(name(hooksKey), hooks, "an object with a list for each event", true)
		return
	}
	last := make(map[string]*jsonedit.Node, len(hooks.Items))
	for _, m := range hooks.Items {
		last[m.Key] = m.Value
	}
	for _, m := range hooks.Items {
		r.event = m.Key
		if last[m.Key] == m.Value {
			r.list(m)
		} else {
			r.problem(m.Start, true, again, name(m.Key))
		}
	}
	r.event = ""
}

// boolean reads true or false. otherwise says what applies with another value.
func (r *reading) boolean(what string, n *jsonedit.Node, otherwise string) bool {
	if n == nil {
		return false
	}
	raw := string(n.Raw(r.text))
	if raw != "true" && raw != "false" {
		r.wrong(what, n, "true or false; "+otherwise, false)
	}
	return raw == "true"
}

func known(event string) bool { return slices.Contains(claude.EventNames(), event) }

// list reads the groups of an event.
func (r *reading) list(m jsonedit.Item) {
	runs := slices.Contains(Events(), m.Key) || r.claude && known(m.Key)
	if !known(m.Key) {
		hint := "want one of Claude's events"
		if event := nearest(m.Key); event != "" {
			hint = "did you mean " + event + "?"
		}
		r.problem(m.Start, true, "unknown event %s: %s", name(m.Key), hint)
	}
	before, skipped := len(r.places), r.skipped
	if m.Value.Is(r.text, '[') {
		for _, item := range m.Value.Items {
			r.group(item.Value, runs)
			r.matcher = ""
		}
	} else {
		r.wrong(name(m.Key), m.Value, "a list of groups", true)
	}
	// A list of which all handlers are left out is no problem.
	if known(m.Key) && !runs && (len(r.places) > before || r.skipped == skipped) {
		r.problem(m.Start, true, "Cline never gives the event %s; these hooks do not run here", m.Key)
	}
}

// group reads the handlers of one group.
func (r *reading) group(n *jsonedit.Node, runs bool) {
	if !n.Is(r.text, '{') {
		r.wrong("a group of "+name(r.event), n, `an object with "matcher" and "hooks"`, true)
		return
	}
	members := r.lasts(n, hooksKey, matcherKey)
	if m := members[matcherKey]; m != nil {
		if !m.Is(r.text, '"') {
			r.wrong(name(matcherKey), m, "a string; the group does not run", true)
			runs = false
		} else {
			r.matcher = r.str(m)
			if runs && !plain.HasMatcher(r.event) && r.matcher != "" && r.matcher != "*" {
				r.problem(m.Start, false, "the matcher has no effect: %s has none, so the hooks run each time", r.event)
			}
		}
	}
	handlers := members[hooksKey]
	switch {
	case handlers == nil && members["command"] != nil:
		r.problem(n.Start, true, `the hook is in the place of its group: write {"hooks": [...]} around it`)
		return
	case handlers == nil:
		r.problem(n.Start, true, `the group has no "hooks", want a list of hooks`)
		return
	case !handlers.Is(r.text, '['):
		r.wrong(name(hooksKey), handlers, "a list of hooks", true)
		return
	}
	for at, item := range handlers.Items {
		h, ok := r.handler(item.Value)
		if r.skip != nil && r.skip(h) {
			r.skipped++
			continue
		}
		r.places = append(r.places, place{handler: h, runs: ok && runs, list: handlers, at: at})
	}
}

// str is the text of a string.
func (r *reading) str(n *jsonedit.Node) string {
	var s string
	// The text is valid, so the string is.
	_ = json.Unmarshal(n.Raw(r.text), &s)
	return s
}

// finish makes the result. Lines are counted in one pass over the text.
func (r *reading) finish() *File {
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return a.Line - b.Line })
	c := cursor{text: r.text, line: 1, column: 1}
	for _, p := range r.problems {
		p.Line, p.Column = c.position(p.Line)
		r.file.Problems = append(r.file.Problems, p)
	}
	c = cursor{text: r.text, line: 1, column: 1}
	for _, p := range r.places {
		if p.runs {
			p.handler.Line, _ = c.position(p.handler.Line)
			r.file.Handlers = append(r.file.Handlers, p.handler)
		}
	}
	return &r.file
}

// cursor counts lines and characters, forwards only.
type cursor struct {
	text         []byte
	at           int
	line, column int
}

func (c *cursor) position(at int) (line, column int) {
	part := c.text[c.at:at]
	if n := bytes.Count(part, []byte("\n")); n > 0 {
		c.line += n
		c.column = 1
		part = part[bytes.LastIndexByte(part, '\n')+1:]
	}
	c.column += utf8.RuneCount(part)
	c.at = at
	return c.line, c.column
}

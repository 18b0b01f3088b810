package hookfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hookspan/hookspan/internal/jsonedit"
)

// Text is the text of a file with hooks. A blank one is that of an absent file. The
// methods that change it return the new text, in which everything else has the same
// bytes.
type Text struct {
	Data []byte
	// Claude reports that Claude Code runs the hooks, which has more events and types.
	Claude bool
}

// Entry is a hook in a Text.
type Entry struct {
	Handler
	// Runs reports that nothing in the file keeps it from running.
	Runs bool
	// Raw is its text.
	Raw []byte
	// alone reports that its group has no other.
	alone bool
	group *jsonedit.Node
	node  *jsonedit.Node
}

// ParseClaude is [Parse] for a file whose hooks Claude Code runs.
func ParseClaude(path string, data []byte) (*File, error) {
	r, err := readClaude(path, withoutMark(data))
	if err != nil {
		return nil, err
	}
	return r.finish(), nil
}

func (t Text) read() (*reading, error) {
	data := t.Data
	if blank(data) {
		data = []byte("{}\n")
	}
	if t.Claude {
		return readClaude("", data)
	}
	return read("", data, nil)
}

// Entries returns all hooks in the order of the text, those that cannot run too. The
// methods below take their indexes.
func (t Text) Entries() ([]Entry, error) {
	r, err := t.read()
	if err != nil {
		return nil, err
	}
	return r.entries(), nil
}

func (r *reading) entries() []Entry {
	out := make([]Entry, 0, len(r.places))
	lines := cursor{text: r.text, line: 1, column: 1}
	groups := make(map[*jsonedit.Node]*jsonedit.Node)
	for _, event := range r.eventItems() {
		for _, g := range event.Value.Items {
			if g.Value.Is(r.text, '{') {
				groups[g.Value.Get(hooksKey)] = g.Value
			}
		}
	}
	for _, p := range r.places {
		e := Entry{Handler: p.handler, Runs: p.runs, node: p.list.Items[p.at].Value, alone: len(p.list.Items) == 1, group: groups[p.list]}
		e.Raw = e.node.Raw(r.text)
		e.Line, _ = lines.position(p.handler.Line)
		out = append(out, e)
	}
	return out
}

// eventItems are the members of "hooks".
func (r *reading) eventItems() []jsonedit.Item {
	if hooks := r.root.Get(hooksKey); hooks.Is(r.text, '{') {
		return hooks.Items
	}
	return nil
}

// Cut takes out the hooks with these indexes, and the groups and events that become
// empty. jsonedit.Fill with the gaps undoes it.
func (t Text) Cut(list []int) (out []byte, gaps []jsonedit.Gap, err error) {
	r, err := t.read()
	if err != nil {
		return nil, nil, err
	}
	if slices.ContainsFunc(list, func(i int) bool { return i < 0 || i >= len(r.places) }) {
		return nil, nil, errNoEntry
	}
	out, gaps = r.cut(list)
	return out, gaps, nil
}

var errNoEntry = errors.New("there is no such hook in the file")

// Insert puts the text of a hook into the last group of its event that has the same
// matcher, or into a new group.
func (t Text) Insert(event, matcher string, raw []byte) ([]byte, error) {
	r, err := t.read()
	if err != nil {
		return nil, err
	}
	return r.insert(event, matcher, jsonedit.Raw(raw))
}

// Add is Insert for a hook that is not in a file yet. A hook that would not run, and
// one that is there already, are errors.
func (t Text) Add(h Handler) ([]byte, error) {
	r, err := t.read()
	if err != nil {
		return nil, err
	}
	if r.runs(h) {
		return nil, errors.New("the file has the same hook already")
	}
	out, err := r.add(h)
	if err != nil {
		return nil, err
	}
	after, err := Text{out, t.Claude}.read()
	if err != nil {
		return nil, fmt.Errorf("add a hook: %w", err)
	}
	if !after.runs(h) {
		return nil, after.fault(h.Event)
	}
	return out, nil
}

// fault is why a hook of an event does not run.
func (r *reading) fault(event string) error {
	for _, p := range slices.Backward(r.problems) {
		if p.Dropped && p.Event == event {
			return fmt.Errorf("the hook would not run: %s", p.Text)
		}
	}
	return errors.New("the hook would not run")
}

// Change says what to change of a hook. A nil member stays; of the texts an empty one
// is removed, as is a time limit of 0.
type Change struct {
	Event, Matcher, Command, URL, If *string
	Args                             *[]string
	Timeout                          *time.Duration
	Async                            *bool
}

// Change changes a hook. Its other members stay, unknown ones too. It moves to another
// group if its event changes, or if its matcher changes and other hooks are in the
// group.
func (t Text) Change(i int, c Change) ([]byte, error) {
	set := func(key string, value any, keep bool) error {
		r, err := t.read()
		if err != nil {
			return err
		}
		if i < 0 || i >= len(r.places) {
			return errNoEntry
		}
		node := r.entries()[i].node
		if !node.Is(r.text, '{') {
			return errors.New("the hook is no object: change the file itself")
		}
		t.Data = setMember(r, node, key, value, keep)
		return nil
	}
	var err error
	text := func(key string, value *string) {
		if value != nil && err == nil {
			err = set(key, *value, *value != "")
		}
	}
	text("command", c.Command)
	text("url", c.URL)
	text("if", c.If)
	if c.Args != nil && err == nil {
		err = set("args", array(*c.Args), true)
	}
	if c.Timeout != nil && err == nil {
		err = set("timeout", seconds(*c.Timeout), *c.Timeout > 0)
	}
	if c.Async != nil && err == nil {
		err = set("async", *c.Async, *c.Async)
	}
	if err != nil {
		return nil, err
	}
	return t.move(i, c)
}

// move gives a hook another event or matcher.
func (t Text) move(i int, c Change) ([]byte, error) {
	r, err := t.read()
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= len(r.places) {
		return nil, errNoEntry
	}
	e := r.entries()[i]
	event, matcher := e.Event, e.Matcher
	if c.Event != nil {
		event = *c.Event
	}
	if c.Matcher != nil {
		matcher = *c.Matcher
	}
	same := matcher == e.Matcher || matchesAll(matcher) && matchesAll(e.Matcher)
	switch {
	case event == e.Event && same:
		return r.text, nil
	case event == e.Event && e.alone:
		return setMember(r, e.group, matcherKey, matcher, !matchesAll(matcher)), nil
	}
	out, _ := r.cut([]int{i})
	return Text{out, t.Claude}.Insert(event, matcher, bytes.Clone(e.Raw))
}

// setMember sets a member of an object, or with keep unset removes it.
func setMember(r *reading, node *jsonedit.Node, key string, value any, keep bool) []byte {
	style := jsonedit.DetectStyle(r.text, r.root)
	at := -1
	for i, m := range node.Items {
		if m.Key == key {
			at = i // The last one counts.
		}
	}
	switch {
	case at < 0 && !keep:
		return r.text
	case at < 0 && key == matcherKey && len(node.Items) > 0:
		return prepend(r, style, node, jsonedit.Field{Key: key, Value: value})
	case at < 0:
		return style.AddMember(r.text, node, jsonedit.Field{Key: key, Value: value})
	case !keep:
		return jsonedit.Cut(r.text, node, at)
	}
	return style.Put(r.text, node.Items[at].Value, value)
}

// prepend writes a member before the others, which a long one would hide.
func prepend(r *reading, style jsonedit.Style, node *jsonedit.Node, f jsonedit.Field) []byte {
	first := node.Items[0].Start
	between := string(r.text[node.Start+1 : first])
	if between == "" {
		between = " "
	}
	return jsonedit.Splice(r.text, first, first, style.Render(f, "")+","+between)
}

// seconds is a duration as files have it.
func seconds(d time.Duration) jsonedit.Raw {
	return jsonedit.Raw(strconv.FormatFloat(d.Seconds(), 'f', -1, 64))
}

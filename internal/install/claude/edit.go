package claude

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/jsonedit"
)

// emptied records the white space in containers that were empty before hooks were
// put into them, by path: "" for the settings themselves, "hooks", and
// "hooks/EVENT". Taking the hooks out restores it.
type emptied map[string]string

const hooksKey = "hooks"

func eventPath(event string) string { return hooksKey + "/" + event }

// change is what an edit does for one event of a settings file.
type change struct {
	// op is OpCreate, OpUpdate, OpKeep, OpEdited or OpRemove.
	op    install.Op
	event string
	// reason says why, for people; it is empty where the operation says enough.
	reason string
}

// settingsEdit is a settings text that is being changed.
type settingsEdit struct {
	parse func([]byte) (*jsonedit.Node, error)
	// members are all that the settings may have beside hooks; if nil, anything.
	members []string
	text    []byte
	style   jsonedit.Style
	root    *jsonedit.Node
	empty   emptied
}

// openSettings reads a settings text. It must be an object.
func openSettings(text []byte, empty emptied) (*settingsEdit, error) {
	return openParsed(jsonedit.Parse, text, empty)
}

func openParsed(parse func([]byte) (*jsonedit.Node, error), text []byte, empty emptied) (*settingsEdit, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	if !root.Is(text, '{') {
		return nil, fmt.Errorf("found %s, want an object", root.Kind(text))
	}
	e := &settingsEdit{parse: parse, text: text, style: jsonedit.DetectStyle(text, root), root: root, empty: emptied{}}
	maps.Copy(e.empty, empty)
	return e, nil
}

// set takes a changed text. What this package writes is valid.
func (e *settingsEdit) set(text []byte) error {
	root, err := e.parse(text)
	if err != nil {
		return fmt.Errorf("edit settings: %w", err)
	}
	e.text, e.root = text, root
	return nil
}

// check refuses hooks of a form that Claude Code does not read.
func (e *settingsEdit) check() error {
	for _, m := range e.root.Items {
		if e.members != nil && m.Key != hooksKey && !slices.Contains(e.members, m.Key) {
			line, column := jsonedit.Position(e.text, m.Start)
			return fmt.Errorf("line %d, column %d: found %q, want %s and %s alone, or the whole file counts for nothing",
				line, column, m.Key, hooksKey, strings.Join(e.members, ", "))
		}
	}
	hooks := e.root.Get(hooksKey)
	if hooks == nil {
		return nil
	}
	if !hooks.Is(e.text, '{') {
		return e.shapeError(hooksKey, hooks, "an object of events")
	}
	for i, m := range hooks.Items {
		if hooks.Member(m.Key) == i && !m.Value.Is(e.text, '[') {
			return e.shapeError("hooks."+m.Key, m.Value, "an array of groups")
		}
	}
	return nil
}

func (e *settingsEdit) shapeError(name string, n *jsonedit.Node, want string) error {
	line, column := jsonedit.Position(e.text, n.Start)
	return fmt.Errorf("line %d, column %d: %s is %s, want %s", line, column, name, n.Kind(e.text), want)
}

// found is a hookspan handler and its place.
type found struct {
	handler
	event   string
	matcher string
	// list is the event's array, group one of its elements, handlers the
	// group's "hooks".
	list, handlers *jsonedit.Node
	group, at      int
}

// node is the handler's own text.
func (f found) node() *jsonedit.Node { return f.handlers.Items[f.at].Value }

// find lists the hookspan handlers in the order of the text. Parts that Claude
// Code does not read hold none.
func (e *settingsEdit) find() []found {
	hooks := e.root.Get(hooksKey)
	if !hooks.Is(e.text, '{') {
		return nil
	}
	var out []found
	for i, m := range hooks.Items {
		if hooks.Member(m.Key) != i || !m.Value.Is(e.text, '[') {
			continue
		}
		for g, group := range m.Value.Items {
			if !group.Value.Is(e.text, '{') {
				continue
			}
			handlers := group.Value.Get(hooksKey)
			if !handlers.Is(e.text, '[') {
				continue
			}
			var matcher string
			if n := group.Value.Get("matcher"); n != nil {
				_ = json.Unmarshal(n.Raw(e.text), &matcher)
			}
			for at, el := range handlers.Items {
				if h, ok := parseHandler(e.text, el.Value); ok && h.installed() {
					out = append(out, found{
						handler: h, event: m.Key, matcher: matcher,
						list: m.Value, handlers: handlers, group: g, at: at,
					})
				}
			}
		}
	}
	return out
}

// drop removes a handler, and the containers that it leaves empty.
func (e *settingsEdit) drop(f found) error {
	switch hooks := e.root.Get(hooksKey); {
	case len(f.handlers.Items) > 1:
		return e.set(jsonedit.Cut(e.text, f.handlers, f.at))
	case len(f.list.Items) > 1:
		return e.set(jsonedit.Cut(e.text, f.list, f.group))
	case e.restorable(eventPath(f.event)):
		return e.restore(f.list, eventPath(f.event))
	case len(hooks.Items) > 1:
		return e.set(jsonedit.Cut(e.text, hooks, hooks.Member(f.event)))
	case e.restorable(hooksKey):
		return e.restore(hooks, hooksKey)
	case len(e.root.Items) > 1 || !e.restorable(""):
		return e.set(jsonedit.Cut(e.text, e.root, e.root.Member(hooksKey)))
	default:
		return e.restore(e.root, "")
	}
}

func (e *settingsEdit) restorable(path string) bool {
	_, ok := e.empty[path]
	return ok
}

// restore empties a container and restores its white space.
func (e *settingsEdit) restore(c *jsonedit.Node, path string) error {
	return e.set(jsonedit.Splice(e.text, c.Start+1, c.End-1, e.empty[path]))
}

// note records that a container is empty.
func (e *settingsEdit) note(path string, c *jsonedit.Node) {
	if len(c.Items) == 0 {
		e.empty[path] = c.Inner(e.text)
	}
}

// install adds and updates the handlers of all events. It changes nothing where all
// are as wanted.
func (e *settingsEdit) install(w wantedHandler) (changes []change, err error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	var events []string
	for _, f := range e.find() {
		events = append(events, f.event)
	}
	for _, ev := range w.product().events {
		if w.has(ev) {
			events = append(events, ev.name)
		}
	}
	settled := map[string]bool{}
	for _, event := range events {
		if settled[event] {
			continue
		}
		settled[event] = true
		more, err := e.settle(w, event)
		if err != nil {
			return nil, err
		}
		changes = append(changes, more...)
	}
	return changes, nil
}

// settle leaves an event with one handler, as wanted. It makes one change at a
// time, since each moves the rest of the text.
func (e *settingsEdit) settle(w wantedHandler, event string) (changes []change, err error) {
	for {
		same := slices.DeleteFunc(e.find(), func(f found) bool { return f.event != event })
		switch len(same) {
		case 0:
			ev, _ := w.product().event(event)
			return append(changes, change{op: install.OpCreate, event: event}), e.create(w, ev)
		case 1:
			c, err := e.fix(w, same[0])
			return append(changes, c), err
		}
		drop := same[0]
		if !slices.ContainsFunc(same, func(f found) bool { return w.rank(f) < w.rank(drop) }) {
			drop = same[1] // the first is the best
		}
		if err := e.drop(drop); err != nil {
			return nil, err
		}
		changes = append(changes, change{op: install.OpRemove, event: event, reason: "was there twice"})
	}
}

// fix updates one handler.
func (e *settingsEdit) fix(w wantedHandler, f found) (change, error) {
	state, reason := w.judge(f.handler, f.event, f.matcher)
	c := change{op: install.OpKeep, event: f.event, reason: reason}
	ev, known := w.product().event(f.event)
	switch {
	case !known:
		c.op = install.OpRemove
		return c, e.drop(f)
	case state == install.StateInstalled:
		return c, nil
	case state == install.StateEdited && !w.force:
		c.op, c.reason = install.OpEdited, reason+"; it stays as it is (--force takes it over)"
		return c, nil
	case w.force && f.matcher != "" && f.matcher != "*":
		// The matcher may be meant for a handler of the user's beside it.
		if err := e.drop(f); err != nil || !w.has(ev) {
			c.op = install.OpRemove
			return c, err
		}
		c.op = install.OpUpdate
		return c, e.create(w, ev)
	case w.force:
		c.op = install.OpUpdate
		return c, e.set(e.style.Put(e.text, f.node(), w.render(ev, "", nil)))
	}
	c.op = install.OpUpdate
	return c, e.set(e.style.Put(e.text, f.node(), w.render(ev, f.timeout, f.extras)))
}

// create adds an event's group.
func (e *settingsEdit) create(w wantedHandler, ev hookEvent) error {
	hooks := e.root.Get(hooksKey)
	if hooks == nil {
		e.note("", e.root)
		all := jsonedit.Object{{Key: ev.name, Value: jsonedit.Array{w.group(ev)}}}
		return e.set(e.style.AddMember(e.text, e.root, jsonedit.Field{Key: hooksKey, Value: all}))
	}
	list := hooks.Get(ev.name)
	if list == nil {
		e.note(hooksKey, hooks)
		return e.set(e.style.AddMember(e.text, hooks, jsonedit.Field{Key: ev.name, Value: jsonedit.Array{w.group(ev)}}))
	}
	e.note(eventPath(ev.name), list)
	return e.set(e.style.AddElement(e.text, list, w.group(ev)))
}

// uninstall removes every hookspan handler.
func (e *settingsEdit) uninstall() ([]change, error) {
	var changes []change
	for all := e.find(); len(all) > 0; all = e.find() {
		// From the end, so that what was added last goes first.
		f := all[len(all)-1]
		if err := e.drop(f); err != nil {
			return nil, err
		}
		changes = append(changes, change{op: install.OpRemove, event: f.event})
	}
	slices.Reverse(changes)
	return changes, nil
}

package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/jsonedit"
)

// emptied records the white space and comments in containers that were empty before hooks were
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
	agent *Spec
	text  []byte
	style jsonedit.Style
	root  *jsonedit.Node
	empty emptied
	// ours reports that a program is hookspan's.
	ours func(program string) bool
}

// open reads a settings text. It must be an object.
func (a *Spec) open(text []byte, empty emptied, ours func(string) bool) (*settingsEdit, error) {
	e := &settingsEdit{agent: a, empty: emptied{}, ours: ours}
	if err := e.set(text); err != nil {
		return nil, err
	}
	if !e.root.Is(text, '{') {
		return nil, fmt.Errorf("found %s, want an object", e.root.Kind(text))
	}
	e.style = jsonedit.DetectStyle(text, e.root)
	maps.Copy(e.empty, empty)
	return e, nil
}

// set replaces the text.
func (e *settingsEdit) set(text []byte) error {
	parse := jsonedit.Parse
	if e.agent.Comments {
		parse = jsonedit.ParseWithComments
	}
	root, err := parse(text)
	if err != nil {
		return err
	}
	e.text, e.root = text, root
	return nil
}

// check refuses hooks of a form that the agent does not read.
func (e *settingsEdit) check() error {
	if e.agent.NoMark && bytes.HasPrefix(e.text, []byte(jsonedit.ByteOrderMark)) {
		return fmt.Errorf("it begins with a byte order mark (U+FEFF), with which %s does not read it: save it as UTF-8 without one", e.agent.Agent.Name)
	}
	for _, m := range e.root.Items {
		if e.agent.Members != nil && m.Key != hooksKey && !slices.Contains(e.agent.Members, m.Key) {
			line, column := jsonedit.Position(e.text, m.Start)
			return fmt.Errorf("line %d, column %d: found %q, want %s and %s alone, or the whole file counts for nothing",
				line, column, m.Key, hooksKey, strings.Join(e.agent.Members, ", "))
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

// placedHandler is a hookspan handler and its place in the text.
type placedHandler struct {
	handler
	event   string
	matcher string
	// list is the event's array, group one of its elements, handlers the
	// group's "hooks".
	list, handlers *jsonedit.Node
	group, at      int
}

// node is the handler's own text.
func (h placedHandler) node() *jsonedit.Node { return h.handlers.Items[h.at].Value }

// find lists the hookspan handlers in the order of the text: those that start one of
// its programs as an install does.
func (e *settingsEdit) find() []placedHandler {
	return slices.DeleteFunc(e.namesakes(), func(h placedHandler) bool { return !e.ours(h.program) })
}

// foreign lists the commands that only look like hookspan's, for people.
func (e *settingsEdit) foreign() (commands []string) {
	for _, h := range e.namesakes() {
		if command := strings.Join(append([]string{h.program}, h.args...), " "); !e.ours(h.program) && !slices.Contains(commands, command) {
			commands = append(commands, command)
		}
	}
	return commands
}

// mixed lists the commands that start a program of hookspan's and are not as an install
// writes them: with flags, or with other programs in the line.
func (e *settingsEdit) mixed() (commands []string) {
	e.handlers(func(h placedHandler) {
		if !h.installed() && e.ours(h.program) && isProgram(h.program) {
			commands = append(commands, strings.Join(append([]string{h.program}, h.args...), " "))
		}
	})
	return commands
}

// namesakes lists the handlers that start a program of hook.ProgramClaude's name. Parts that the
// agent does not read hold none.
func (e *settingsEdit) namesakes() (out []placedHandler) {
	e.handlers(func(h placedHandler) {
		if h.installed() {
			out = append(out, h)
		}
	})
	return out
}

// handlers visits all handlers that start a command.
func (e *settingsEdit) handlers(visit func(placedHandler)) {
	hooks := e.root.Get(hooksKey)
	if !hooks.Is(e.text, '{') {
		return
	}
	for i, m := range hooks.Items {
		if hooks.Member(m.Key) != i || !m.Value.Is(e.text, '[') {
			continue
		}
		for g, group := range m.Value.Items {
			if !group.Value.Is(e.text, '{') {
				continue
			}
			handlers := group.Value.Get(hooksKey)
			if h, ok := parseHandler(e.text, group.Value); ok && e.agent.ManagedFlat && handlers == nil {
				visit(placedHandler{handler: h, event: m.Key, list: m.Value, handlers: m.Value, group: g, at: g})
			}
			if !handlers.Is(e.text, '[') {
				continue
			}
			var matcher string
			if n := group.Value.Get("matcher"); n != nil {
				_ = json.Unmarshal(n.Raw(e.text), &matcher)
			}
			for at, el := range handlers.Items {
				if h, ok := parseHandler(e.text, el.Value); ok {
					visit(placedHandler{
						handler: h, event: m.Key, matcher: matcher,
						list: m.Value, handlers: handlers, group: g, at: at,
					})
				}
			}
		}
	}
}

// drop removes a handler, and the containers that it leaves empty.
func (e *settingsEdit) drop(h placedHandler) error {
	switch hooks := e.root.Get(hooksKey); {
	case len(h.handlers.Items) > 1:
		return e.set(jsonedit.Cut(e.text, h.handlers, h.at))
	case len(h.list.Items) > 1:
		return e.set(jsonedit.Cut(e.text, h.list, h.group))
	case e.restorable(eventPath(h.event)):
		return e.restore(h.list, eventPath(h.event))
	case len(hooks.Items) > 1:
		return e.set(jsonedit.Cut(e.text, hooks, hooks.Member(h.event)))
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

// restore empties a container and restores what was in it. Comments that were
// written since stay.
func (e *settingsEdit) restore(c *jsonedit.Node, path string) error {
	inner := []byte(c.Inner(e.text))
	if !slices.Equal(jsonedit.Comments(inner), jsonedit.Comments([]byte(e.empty[path]))) {
		return e.set(jsonedit.Cut(e.text, c, 0))
	}
	return e.set(jsonedit.Splice(e.text, c.Start+1, c.End-1, e.empty[path]))
}

// recordEmpty records the white space of a container that is empty.
func (e *settingsEdit) recordEmpty(path string, c *jsonedit.Node) {
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
	for _, h := range e.find() {
		events = append(events, h.event)
	}
	for _, ev := range e.agent.Events {
		if w.version.has(ev.Since) {
			events = append(events, ev.Name)
		}
	}
	for i, event := range events {
		if slices.Contains(events[:i], event) {
			continue
		}
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
		same := slices.DeleteFunc(e.find(), func(h placedHandler) bool { return h.event != event })
		switch len(same) {
		case 0:
			ev, _ := e.agent.event(event)
			return append(changes, change{op: install.OpCreate, event: event}), e.create(w, ev)
		case 1:
			c, err := e.fix(w, same[0])
			return append(changes, c), err
		}
		drop := same[0]
		if !slices.ContainsFunc(same, func(h placedHandler) bool { return w.rank(h) < w.rank(drop) }) {
			drop = same[1] // the first is the best
		}
		if err := e.drop(drop); err != nil {
			return nil, err
		}
		changes = append(changes, change{op: install.OpRemove, event: event, reason: "was there twice"})
	}
}

// staysEdited ends the reason why a handler is left alone.
const staysEdited = "; it stays as it is (--force takes it over)"

// fix updates one handler.
func (e *settingsEdit) fix(w wantedHandler, h placedHandler) (change, error) {
	state, reason := w.judge(h.handler, h.event, h.matcher)
	c := change{op: install.OpKeep, event: h.event, reason: reason}
	ev, known := e.agent.event(h.event)
	switch {
	case !known:
		c.op = install.OpRemove
		return c, e.drop(h)
	case !w.version.has(ev.Since):
		c.op, c.reason = install.OpRemove, fmt.Sprintf("%s %s does not know it and may ignore the whole file", e.agent.Agent.Name, w.version)
		return c, e.drop(h)
	case state == install.StateInstalled:
		return c, nil
	case state == install.StateEdited && !w.force:
		c.op, c.reason = install.OpEdited, reason+staysEdited
		return c, nil
	case w.force && h.matcher != "" && h.matcher != "*":
		// The matcher may be meant for a handler of the user's beside it.
		if err := e.drop(h); err != nil {
			return c, err
		}
		c.op = install.OpUpdate
		return c, e.create(w, ev)
	case w.force:
		c.op = install.OpUpdate
		return c, e.set(e.style.Put(e.text, h.node(), w.render(ev, "", nil)))
	}
	c.op = install.OpUpdate
	return c, e.set(e.style.Put(e.text, h.node(), w.render(ev, h.timeout, h.extras)))
}

// create adds an event's group.
func (e *settingsEdit) create(w wantedHandler, ev Event) error {
	hooks := e.root.Get(hooksKey)
	if hooks == nil {
		e.recordEmpty("", e.root)
		all := jsonedit.Object{{Key: ev.Name, Value: jsonedit.Array{w.group(ev)}}}
		return e.set(e.style.AddMember(e.text, e.root, jsonedit.Field{Key: hooksKey, Value: all}))
	}
	list := hooks.Get(ev.Name)
	if list == nil {
		e.recordEmpty(hooksKey, hooks)
		return e.set(e.style.AddMember(e.text, hooks, jsonedit.Field{Key: ev.Name, Value: jsonedit.Array{w.group(ev)}}))
	}
	e.recordEmpty(eventPath(ev.Name), list)
	return e.set(e.style.AddElement(e.text, list, w.group(ev)))
}

// uninstall removes every hookspan handler.
func (e *settingsEdit) uninstall() ([]change, error) {
	var changes []change
	for all := e.find(); len(all) > 0; all = e.find() {
		// From the end, so that what was added last goes first.
		h := all[len(all)-1]
		if err := e.drop(h); err != nil {
			return nil, err
		}
		changes = append(changes, change{op: install.OpRemove, event: h.event})
	}
	slices.Reverse(changes)
	return changes, nil
}

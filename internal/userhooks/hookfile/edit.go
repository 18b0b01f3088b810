package hookfile

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/hookspan/hookspan/internal/jsonedit"
)

// Add adds a handler to the text of a hooks file: to the last group of its event
// that has the same matcher, else to a new group. An absent file is an empty text.
// If the matcher has the same handler already, changed is false.
//
// A text that is no JSON object gives a *[SyntaxError]. A handler that would not
// run, and a file in which its event is no list, are errors too.
func Add(text []byte, h Handler) (out []byte, changed bool, err error) {
	if blank(text) {
		text = []byte("{}\n")
	}
	r, err := read("", text, nil)
	if err != nil {
		return nil, false, err
	}
	if r.runs(h) {
		return text, false, nil
	}
	out, err = r.add(h)
	if err != nil {
		return nil, false, err
	}
	after, err := read("", out, nil)
	if err != nil {
		return nil, false, fmt.Errorf("add a hook: %w", err)
	}
	if !after.runs(h) {
		return nil, false, fmt.Errorf("add a hook: %s", problemOf(h))
	}
	return out, true, nil
}

// blank reports a text without anything to parse.
func blank(text []byte) bool { return len(bytes.TrimSpace(withoutMark(text))) == 0 }

// runs reports whether a handler that runs does the same as h.
func (r *reading) runs(h Handler) bool {
	return slices.ContainsFunc(r.places, func(p place) bool { return p.runs && Same(p.handler, h) })
}

// problemOf says why a handler does not run in a file in which it is alone.
func problemOf(h Handler) string {
	alone := jsonedit.Object{{Key: hooksKey, Value: jsonedit.Object{{Key: h.Event, Value: jsonedit.Array{group(h)}}}}}
	r, err := read("", []byte(jsonedit.Style{Colon: ":", Comma: ","}.Render(alone, "")), nil)
	if err != nil {
		return err.Error()
	}
	for _, p := range r.problems {
		if p.Dropped {
			return p.Text
		}
	}
	return "it cannot be written to the file"
}

// add writes the handler.
func (r *reading) add(h Handler) ([]byte, error) { return r.insert(h.Event, h.Matcher, render(h)) }

// insert writes a hook to an event and matcher.
func (r *reading) insert(event, matcher string, hook any) ([]byte, error) {
	style := jsonedit.DetectStyle(r.text, r.root)
	hooks := r.root.Get(hooksKey)
	if hooks == nil {
		all := jsonedit.Object{{Key: event, Value: jsonedit.Array{groupOf(matcher, hook)}}}
		return style.AddMember(r.text, r.root, jsonedit.Field{Key: hooksKey, Value: all}), nil
	}
	if !hooks.Is(r.text, '{') {
		return nil, r.refuse(name(hooksKey), hooks, "an object with a list for each event")
	}
	list := hooks.Get(event)
	if list == nil {
		return style.AddMember(r.text, hooks, jsonedit.Field{Key: event, Value: jsonedit.Array{groupOf(matcher, hook)}}), nil
	}
	if !list.Is(r.text, '[') {
		return nil, r.refuse(name(event), list, "a list of groups")
	}
	for _, item := range slices.Backward(list.Items) {
		if !item.Value.Is(r.text, '{') || !r.groupMatches(item.Value, matcher) {
			continue
		}
		if handlers := item.Value.Get(hooksKey); handlers.Is(r.text, '[') {
			return style.AddElement(r.text, handlers, hook), nil
		}
	}
	return style.AddElement(r.text, list, groupOf(matcher, hook)), nil
}

// refuse is the error for a file to which nothing can be added.
func (r *reading) refuse(what string, n *jsonedit.Node, want string) error {
	line, column := jsonedit.Position(r.text, n.Start)
	return fmt.Errorf("line %d, column %d: %s is %s, want %s: fix the file first", line, column, what, n.Kind(r.text), want)
}

// matchesAll reports a matcher that matches everything.
func matchesAll(matcher string) bool { return matcher == "" || matcher == "*" }

// groupMatches reports that a group has the matcher, in any spelling.
func (r *reading) groupMatches(group *jsonedit.Node, matcher string) bool {
	own, n := "", group.Get(matcherKey)
	if n.Is(r.text, '"') {
		own = r.str(n)
	} else if n != nil {
		return false
	}
	return own == matcher || matchesAll(own) && matchesAll(matcher)
}

// Same reports that two handlers do the same on the same calls. Empty args and absent
// args differ.
func Same(a, b Handler) bool { return a.Event == b.Event && reflect.DeepEqual(group(a), group(b)) }

// group is a group of one handler.
func group(h Handler) jsonedit.Object { return groupOf(h.Matcher, render(h)) }

func groupOf(matcher string, hook any) jsonedit.Object {
	var g jsonedit.Object
	if !matchesAll(matcher) {
		g = append(g, jsonedit.Field{Key: matcherKey, Value: matcher})
	}
	return append(g, jsonedit.Field{Key: hooksKey, Value: jsonedit.Array{hook}})
}

// render returns the handler as it is written to a file.
func render(h Handler) jsonedit.Object {
	o := jsonedit.Object{{Key: "type", Value: h.Type}}
	put := func(present bool, key string, value any) {
		if present {
			o = append(o, jsonedit.Field{Key: key, Value: value})
		}
	}
	var headers jsonedit.Object
	for _, key := range slices.Sorted(maps.Keys(h.Headers)) {
		headers = append(headers, jsonedit.Field{Key: key, Value: h.Headers[key]})
	}
	http := h.Type == TypeHTTP
	put(http || h.URL != "", "url", h.URL)
	put(len(headers) > 0, "headers", headers)
	put(len(h.AllowedEnvVars) > 0, "allowedEnvVars", array(h.AllowedEnvVars))
	put(!http || h.Command != "", "command", h.Command)
	put(h.Args != nil, "args", array(h.Args))
	put(h.Shell != "", "shell", h.Shell)
	put(h.If != "", "if", h.If)
	put(h.Timeout > 0, "timeout", seconds(h.Timeout))
	put(h.AsyncRewake, "asyncRewake", true)
	put(h.Async && !h.AsyncRewake, "async", true)
	put(h.Once, "once", true)
	put(h.BlockOnFailure, "onFailure", "block")
	return o
}

func array(list []string) jsonedit.Array {
	a := make(jsonedit.Array, len(list))
	for i, s := range list {
		a[i] = s
	}
	return a
}

// Remove removes all handlers that match, those too that do not run here, and the
// groups and events that become empty. removed are in the order of the text. An
// absent file is an empty text. A handler that does not run has the members that
// could be read.
func Remove(text []byte, match func(Handler) bool) (out []byte, removed []Handler, err error) {
	if blank(text) {
		return text, nil, nil
	}
	r, err := read("", text, nil)
	if err != nil {
		return nil, nil, err
	}
	var list []int
	lines := cursor{text: text, line: 1, column: 1}
	for i, p := range r.places {
		if match(p.handler) {
			p.handler.Line, _ = lines.position(p.handler.Line)
			removed, list = append(removed, p.handler), append(list, i)
		}
	}
	if len(removed) == 0 {
		return text, nil, nil
	}
	out, _ = r.cut(list)
	return out, removed, nil
}

// cut takes out the handlers of some places, and the groups and events that become
// empty.
func (r *reading) cut(list []int) (out []byte, gaps []jsonedit.Gap) {
	if len(list) == 0 {
		return r.text, nil
	}
	gone := make(map[*jsonedit.Node][]bool)
	mark := func(c *jsonedit.Node, i int) {
		if gone[c] == nil {
			gone[c] = make([]bool, len(c.Items))
		}
		gone[c][i] = true
	}
	for _, i := range list {
		mark(r.places[i].list, r.places[i].at)
	}
	emptied := func(c *jsonedit.Node) bool { return gone[c] != nil && !slices.Contains(gone[c], false) }
	hooks := r.root.Get(hooksKey)
	for i, event := range hooks.Items {
		for g, group := range event.Value.Items {
			if emptied(group.Value.Get(hooksKey)) {
				mark(event.Value, g)
			}
		}
		// Without a doubled event's last list, one before it would count.
		doubled := func(other jsonedit.Item) bool { return other.Key == event.Key }
		if emptied(event.Value) && !slices.ContainsFunc(hooks.Items[:i], doubled) {
			mark(hooks, i)
		}
	}
	return jsonedit.CutGaps(r.text, gone)
}

package otelmap

import (
	"slices"

	"github.com/hookspan/hookspan/hook"
)

// pairing finds the calls of one agent.
//
// A host's id decides, but some models number their calls anew in each reply: the id of a
// call that was denied, which has no end, comes again. An end belongs to the newest start
// with its id, tool and input, else, as a hook may have changed the input, to the newest
// with its id and tool. Calls without an id are matched in order.
type pairing struct {
	calls []*call
	// open are the calls without an end by id, by id and tool, and by those and the input;
	// ended calls are dropped from their ends. ended are the latest calls by all three.
	open  map[toolKey][]*call
	ended map[toolKey]*call
	// unasked are the calls of each tool that may still be asked about.
	unasked   map[string][]*call
	questions map[uint64]*item
}

// match finds the calls of one agent, in the order of their first events.
func match(items []*item) []*call {
	p := &pairing{
		open: make(map[toolKey][]*call), ended: make(map[toolKey]*call),
		unasked: make(map[string][]*call), questions: make(map[uint64]*item),
	}
	for i, it := range items {
		if it.Tool == nil {
			continue
		}
		switch it.Kind {
		case hook.KindToolStart:
			c := &call{pre: it}
			if i+1 < len(items) {
				c.next = items[i+1]
			}
			p.start(c)
		case hook.KindToolEnd:
			p.end(it)
		case hook.KindPermission:
			p.ask(it)
		}
	}
	return p.calls
}

// keysOf are the keys of an event's call, the narrowest first.
func keysOf(it *item) []toolKey {
	keys := []toolKey{{it.Tool.ID, it.Tool.Name, it.input}}
	if it.Tool.ID != "" {
		keys = append(keys, toolKey{id: it.Tool.ID, name: it.Tool.Name}, toolKey{id: it.Tool.ID})
	}
	return keys
}

func (p *pairing) start(c *call) {
	p.calls = append(p.calls, c)
	for _, k := range keysOf(c.pre) {
		p.open[k] = append(p.open[k], c)
	}
	p.unasked[c.pre.Tool.Name] = append(p.unasked[c.pre.Tool.Name], c)
}

// newest returns the newest call with a key that has no end, or nil.
func (p *pairing) newest(k toolKey) *call {
	list := p.open[k]
	for len(list) > 0 && list[len(list)-1].post != nil {
		list = list[:len(list)-1]
	}
	if p.open[k] = list; len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

func (p *pairing) end(it *item) {
	keys := keysOf(it)
	var c *call
	switch {
	case it.Tool.ID != "":
		for _, k := range keys[:2] {
			if c = p.newest(k); c != nil {
				break
			}
		}
		if before := p.ended[keys[0]]; c == nil && before != nil && before.echoes(it) {
			before.echo = it
			return
		}
	case len(p.open[keys[0]]) > 0:
		c, p.open[keys[0]] = p.open[keys[0]][0], p.open[keys[0]][1:]
	}
	if c == nil {
		c = &call{}
		p.calls = append(p.calls, c)
	}
	c.post, p.ended[keys[0]] = it, c
}

// ask notes a question about a call. With an id only that is certain: the question may name
// another tool.
func (p *pairing) ask(it *item) {
	asked := func(c *call) bool { return c.post != nil || c.asked != nil }
	name := it.Tool.Name
	p.unasked[name] = slices.DeleteFunc(p.unasked[name], asked)
	c := askedAbout(p.unasked[name], it, askedTwice(p.questions, it))
	if it.Tool.ID != "" {
		c = p.newest(toolKey{id: it.Tool.ID})
	}
	if c != nil && c.asked == nil {
		c.asked = it
	}
}

// echoes reports that a success is that of the call, whose failure was reported before:
// Claude Code runs an organisation's hooks for both.
func (c *call) echoes(it *item) bool {
	return c.echo == nil && c.post.Tool.Status.Failed() && it.Tool.Status == hook.ToolOK
}

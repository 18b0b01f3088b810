package importer

import (
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
)

// claude makes the events of Claude Code's hooks, with the keys that a hook's
// event has.
func (b *builder) claude() {
	b.types = make(map[string]string, len(b.tr.Agents))
	for i := range b.tr.Agents {
		b.types[b.tr.Agents[i].ID] = b.tr.Agents[i].Type
	}
	b.claudePrompts()
	b.tools(func(r *hook.ToolResult) (start, end hook.Event) {
		start = hook.Event{Name: "PreToolUse", Key: key("PreToolUse", r.ID)}
		end = hook.Event{Name: "PostToolUse", Key: key("PostToolUse", r.ID)}
		return start, end
	}, nil)
	for i := range b.tr.Agents {
		a := &b.tr.Agents[i]
		if a.ID == "" {
			continue
		}
		b.add(a.Start, b.agent(hook.Event{
			Kind: hook.KindRunStart, Name: "SubagentStart", Turn: a.Turn, Prompt: a.Task, Key: key("SubagentStart", a.ID),
		}, a.ID))
		b.add(a.End, b.agent(hook.Event{
			Kind: hook.KindRunComplete, Name: "SubagentStop", Turn: a.Turn, Result: a.Result, Key: key("SubagentStop", a.ID),
		}, a.ID))
	}
	for _, end := range b.tr.Ends {
		e := hook.Event{Kind: end.Kind, Turn: end.Turn, Result: end.Result, Message: end.Message, ErrorType: end.ErrorType}
		switch end.Kind {
		case hook.KindRunComplete:
			e.Name, e.Key = "Stop", key("Stop", end.Turn)
		case hook.KindRunError:
			e.Name = "StopFailure"
		case hook.KindSessionEnd:
			// Claude Code has no hook for a turn that the user interrupts.
			e.Name = "interrupt"
		default:
			continue // the turn went on
		}
		b.add(end.At, e)
	}
}

// claudePrompts adds one prompt for each turn, the user's own words first. More
// of one turn are what the host put beside them.
func (b *builder) claudePrompts() {
	typed := make(map[string]bool)
	for _, p := range b.tr.Prompts {
		typed[p.Turn] = typed[p.Turn] || !p.Injected
	}
	// Without a turn the moment tells one prompt from another.
	type identity struct {
		turn, text string
		at         time.Time
	}
	seen := make(map[identity]bool)
	for _, p := range b.tr.Prompts {
		id := identity{turn: p.Turn, text: p.Text}
		if p.Turn == "" {
			id.at = p.At
		}
		if seen[id] || p.Turn != "" && p.Injected && typed[p.Turn] {
			continue
		}
		seen[id] = true
		e := hook.Event{
			Kind: hook.KindPrompt, Name: "UserPromptSubmit", Turn: p.Turn, Prompt: p.Text,
			Key: claude.PromptKey(p.Turn, p.Text),
		}
		if p.Injected {
			e.Attrs, e.Message = injectedAttr(), claude.Summary(p.Text)
		}
		b.add(p.At, e)
	}
}

// key is a hook event's key, empty where nothing tells the event by.
func key(name, id string) string {
	if id == "" {
		return ""
	}
	return name + "/" + id
}

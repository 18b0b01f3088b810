package claude

import (
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/transcript"
)

// addEvents adds the events of Claude Code's hooks, with the keys that a hook's
// event has.
func addEvents(b *transcript.EventBuilder, _ string) {
	addPrompts(b)
	b.AddTools(nil)
	b.AddAgents("SubagentStart", "SubagentStop", func(a *hook.Subagent, e *hook.Event) { e.Turn, e.Key = a.Turn, key(e.Name, a.ID) })
	for _, end := range b.Transcript.Ends {
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
			continue // the turn continued
		}
		b.Add(end.At, e)
	}
}

// addPrompts adds one prompt for each turn, the user's own words first. Other
// prompts of a turn are what the host put beside them, or what woke it when it had ended.
func addPrompts(b *transcript.EventBuilder) {
	typed, ends := make(map[string]bool), make(map[string][]time.Time)
	for _, p := range b.Transcript.Prompts {
		typed[p.Turn] = typed[p.Turn] || !p.Injected
	}
	for _, e := range b.Transcript.Ends {
		if e.Kind != hook.KindRunResume {
			ends[e.Turn] = append(ends[e.Turn], e.At)
		}
	}
	// ended reports that a turn ended between two times: an equal prompt is then another,
	// such as a command that is given again.
	ended := func(turn string, from, to time.Time) bool {
		i, _ := slices.BinarySearchFunc(ends[turn], from, time.Time.Compare)
		return i < len(ends[turn]) && !ends[turn][i].After(to)
	}
	// Without a turn, and of those that waited, only the time distinguishes equal prompts.
	type identity struct {
		turn, text string
		at         time.Time
	}
	seen, newest := make(map[identity]time.Time), make(map[string]time.Time)
	for _, p := range b.Transcript.Prompts {
		id := identity{turn: p.Turn, text: p.Text}
		if p.Turn == "" {
			id.at = p.At
		}
		before, again := seen[id]
		if again && !(p.Queued && p.At.After(before)) && !ended(p.Turn, before, p.At) ||
			p.Turn != "" && p.Injected && typed[p.Turn] && !ended(p.Turn, newest[p.Turn], p.At) {
			continue
		}
		seen[id], newest[p.Turn] = p.At, p.At
		e := hook.Event{Name: "UserPromptSubmit", Turn: p.Turn, Key: claude.PromptKey(p.Turn, p.Text)}
		if again {
			e.Key = ""
		}
		if p.Injected {
			e.Message, e.Background = claude.Summary(p.Text), claude.AgentEnds(p.Text)
		}
		p.Queued = p.Queued && p.Turn == ""
		b.AddPrompt(&p, e)
	}
}

// key is a hook event's key, empty if nothing identifies the event.
func key(name, id string) string {
	if id == "" {
		return ""
	}
	return name + "/" + id
}

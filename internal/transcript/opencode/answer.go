package opencode

import (
	"cmp"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/opencode"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// idleParts are the parts of an answer that say nothing of the work, or what others say.
const idleParts = " file step-start step-finish patch snapshot compaction agent subtask retry "

// answer adds a message of the model: a request, and its tool calls.
func (l *log) answer(m *message, agent *hook.Subagent, created, completed time.Time) {
	turn := cmp.Or(m.data.Text("parentID"), l.person) // version 2 names none
	if agent.ID == "" {
		if l.turns[turn] == "" {
			l.turns[turn] = l.turnAt(turn)
		}
		turn = l.turns[turn]
	}
	if agent.ID != "" {
		turn = agent.Turn
	}
	c := hook.Request{
		ID: m.id, Turn: turn, Agent: agent.ID, Start: created, Provider: m.data.Text("providerID"), Model: m.data.Text("modelID"),
		FinishReason: finish(m.data.Text("finish")), Usage: usage(m),
	}
	kind, class, reason := opencode.End(m.data.Members("error"))
	c.Error, c.Message = class, reason
	var text string
	var last time.Time
	asked := false
	for _, p := range m.parts {
		asked = asked || p.Text("type") == "step-start"
		said := rawjson.Instant(p.Members("time").Get("end"))
		switch p.Text("type") {
		case "text":
			text = hook.Lines(text, modelText(p))
		case "reasoning":
			c.Reasoning = l.keep(hook.Lines(c.Reasoning, p.Text("text")))
		case "tool":
			tool := opencode.Tool(p)
			c.ToolCallIDs = append(c.ToolCallIDs, tool.ID)
			said = tool.Started
			tool.Started = cmp.Or(tool.Started, created) // one that has not begun to run
			l.tool(m, tool, p, agent, turn)
		case "step-finish":
			said = time.Time{} // Kilo's is when the calls of the step have ended
		default:
			if !strings.Contains(idleParts, " "+p.Text("type")+" ") {
				l.Kinds.Meet(l.path, "parts/"+p.Text("type"), created, p)
			}
		}
		if said.After(last) {
			last = said
		}
	}
	// A message is completed when its calls have ended, a request when they are known.
	c.End = completed
	if !last.IsZero() && (completed.IsZero() || last.Before(completed)) && len(c.ToolCallIDs) > 0 {
		c.End = last
	}
	if c.End.Before(c.Start) && !c.End.IsZero() {
		c.End = c.Start
	}
	c.Text = l.keep(text)
	if agent.ID == "" {
		l.turn, l.pending = turn, completed.IsZero() // what was cut off before it stays so
	} else if completed.IsZero() && turn == l.turn {
		l.pending = true
	}
	if own := !asked && len(c.ToolCallIDs) > 0 && c.Usage == nil && c.FinishReason == ""; own {
		return // the user's own command, for which no model was asked
	}
	l.Calls = append(l.Calls, c)
	if agent.ID == "" {
		l.t.Provider, l.t.Model = c.Provider, c.Model
	}
	if completed.IsZero() || kind == hook.KindRunComplete && continues(m.data.Text("finish")) {
		return
	}
	if agent.ID != "" {
		agent.Result, agent.End = c.Text, completed
		return
	}
	end := hook.TurnEnd{Turn: turn, At: completed, Kind: kind, Message: reason, ErrorType: class}
	if kind == hook.KindRunComplete {
		end.Result = c.Text
	}
	l.ends(&end)
}

// ends adds a turn's end, in place of an earlier one of the turn.
func (l *log) ends(end *hook.TurnEnd) {
	if n := len(l.Ends); n > 0 && l.Ends[n-1].Turn == end.Turn {
		l.Ends[n-1] = *end
		return
	}
	l.Ends = append(l.Ends, *end)
}

// continues reports that opencode asks the model again after it stopped for a reason.
func continues(reason string) bool { return reason == "tool-calls" || reason == "unknown" }

// finish gives opencode's reason why the model stopped the spelling of other agents.
func finish(reason string) string {
	if reason == "tool-calls" {
		return "tool_use"
	}
	return strings.ReplaceAll(reason, "-", "_")
}

// tool adds a tool call.
func (l *log) tool(m *message, tool *hook.Tool, part rawjson.Object, agent *hook.Subagent, turn string) {
	if tool.Agent != "" {
		l.spawned[tool.Agent] = spawn{
			call: tool.ID, turn: turn, task: part.Members("state").Members("input").Text("prompt"),
			at: cmp.Or(l.spawned[tool.Agent].at, tool.Started),
		}
	}
	q := l.query
	whole := q.Whole != nil && q.Whole(tool.ID, tool.Name)
	if !whole && !q.Full {
		return
	}
	r := hook.ToolResult{
		ID: tool.ID, Agent: agent.ID, Turn: turn, Name: tool.Name, Input: l.Texts.KeepJSON(tool.Input),
		Text: l.keep(cmp.Or(tool.Output, tool.Error)), Status: tool.Status, Asked: tool.Started, At: tool.Ended,
	}
	if r.At.IsZero() {
		r.Status = hook.ToolUnknown
	}
	if whole {
		r.File, r.Row = l.path, m.row
	}
	l.Results = append(l.Results, r)
}

// modelText is the text of a part, empty for the progress that Kilo shows and then removes.
func modelText(part rawjson.Object) string {
	if part.Is("synthetic") {
		return ""
	}
	return part.Text("text")
}

// usage reads the tokens and the cost of a message; nil if it has none.
func usage(m *message) *hook.Usage {
	tokens := m.data.Members("tokens")
	u := &hook.Usage{
		Input: transcript.TokenCount(tokens, "input"), Output: transcript.TokenCount(tokens, "output") + transcript.TokenCount(tokens, "reasoning"), Reasoning: transcript.TokenCount(tokens, "reasoning"),
		CacheRead: transcript.TokenCount(tokens.Members("cache"), "read"), CacheWrite: transcript.TokenCount(tokens.Members("cache"), "write"),
	}
	if u.TotalInput()+u.Output == 0 {
		return nil
	}
	cost, _ := rawjson.Float(m.data.Get("cost")) // to which Kilo adds that of subagents
	var steps float64
	for _, p := range m.parts {
		if step, ok := rawjson.Float(p.Get("cost")); ok {
			steps += step
			cost = steps
		}
	}
	if cost > 0 {
		u.CostUSD = &cost
	}
	return u
}

// addEvents adds the events that the plugin would have handed on.
func addEvents(b *transcript.EventBuilder, _ string) {
	for _, p := range b.Transcript.Prompts {
		e := hook.Event{Name: "message.part.updated", Turn: p.Turn, Key: opencode.Key("prompt", p.Turn)}
		if p.Queued {
			e.Key, p.Queued = "", false
		}
		b.AddPrompt(&p, e)
	}
	b.AddTools(nil)
	b.AddAgents("message.part.updated", "session.idle", nil)
	for _, end := range b.Transcript.Ends {
		b.Add(end.At, hook.Event{
			Kind: end.Kind, Name: "session.idle", Turn: end.Turn, Result: end.Result, Message: end.Message, ErrorType: end.ErrorType,
			Key: opencode.Key("end", end.Turn),
		})
	}
}

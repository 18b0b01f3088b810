package qwen

import (
	"cmp"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/qwen"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// callKey is a tool call of one agent.
type callKey struct{ agent, id string }

// ask is a call as a model made it, and how it is shown if it has no result.
type ask struct {
	hook.ToolResult
	// result is its place among the results, -1 while it has none.
	result int
	// kind and task are those of the subagent that it starts.
	kind, task string
}

// ask adds a call that an answer asks for.
func (l *log) ask(p part, at time.Time) {
	a := &ask{result: -1, ToolResult: hook.ToolResult{
		ID: p.id, Agent: l.agent, Turn: l.turn, Name: p.name, Input: l.Texts.KeepJSON(rawjson.Canonical(p.input)),
		Status: hook.ToolUnknown, Asked: at, File: l.File, Row: l.Line,
	}}
	if l.agent != "" {
		a.Turn = l.turns[l.agent]
	}
	if p.name == "agent" || p.name == "task" {
		input := rawjson.Members(p.input)
		a.kind, a.task = cmp.Or(input.Text("subagent_type"), "general-purpose"), l.Texts.Keep(input.Text("prompt", "description"))
	}
	l.asks = append(l.asks, a)
	key := callKey{l.agent, p.id}
	l.asked[key] = append(l.asked[key], a)
	// The telemetry of a subagent is in the session's file, which is read first.
	if l.agent != "" {
		l.nameTelemetry(key, a.Name, a.Input)
		if w := l.waiting[key]; len(w) > 0 {
			a.result = w[0]
			return
		}
	}
	name := callKey{l.agent, a.Name}
	l.unreported[name] = append(l.unreported[name], a)
}

// nameTelemetry gives the oldest telemetry row without an id that fits a call the call's.
func (l *log) nameTelemetry(key callKey, name, input string) {
	nameless := callKey{agent: key.agent}
	list := l.waiting[nameless]
	i := slices.IndexFunc(list, func(i int) bool { return l.Results[i].Name == name && l.Results[i].Input == input })
	if i < 0 {
		i = slices.IndexFunc(list, func(i int) bool { return l.Results[i].Name == name })
	}
	if i < 0 {
		return
	}
	l.Results[list[i]].ID = key.id
	l.waiting[key] = append(l.waiting[key], list[i])
	l.waiting[nameless] = slices.Delete(list, i, i+1)
}

// askFor finds the call that a telemetry row is about, nil if no answer has asked for it.
// Before version 0.13 the row has no id: the first call with the tool and the input
// counts, else the first of the turn with the tool, since the user may have changed the
// input.
func (l *log) askFor(r *hook.ToolResult) *ask {
	key := callKey{r.Agent, r.Name}
	list := l.unreported[key]
	i := slices.IndexFunc(list, func(a *ask) bool { return r.ID == a.ID || r.ID == "" && r.Input == a.Input })
	if i < 0 && r.ID == "" {
		i = slices.IndexFunc(list, func(a *ask) bool { return a.Turn == r.Turn })
	}
	if i < 0 {
		return nil
	}
	a := list[i]
	l.unreported[key] = slices.Delete(list, i, i+1)
	l.Texts.Drop(len(a.Input))
	a.Input = "" // the row has it
	return a
}

// addTool adds the end of a call. What it returned is in another row, mostly a later one.
func (l *log) addTool(o rawjson.Object, agent, turn string, began, at time.Time) {
	r := hook.ToolResult{
		ID: o.Text("call_id"), Agent: agent, Turn: turn, Name: o.Text("function_name"),
		Input:  l.Texts.KeepJSON(rawjson.Canonical(o.Get("function_args"))),
		Status: qwen.StatusOf(o.Text("status"), o.Text("error_type"), o.Text("execution_status") != "not_started"),
		Asked:  began, At: at, File: l.File, Row: l.Line,
	}
	r.Ran = r.Status == hook.ToolCancelled && o.Text("execution_status") != ""
	a := l.askFor(&r)
	if a != nil {
		r.ID = a.ID
	}
	if from := o.Text("response_id"); from != "" {
		if i, ok := l.places[callKey{agent, from}]; ok {
			l.Calls[i].ToolCallIDs = appendNew(l.Calls[i].ToolCallIDs, r.ID)
		}
	}
	if a != nil && a.result >= 0 {
		known := &l.Results[a.result]
		r.Text, r.File, r.Row = known.Text, known.File, known.Row
		*known = r
		return
	}
	if a != nil {
		a.result = len(l.Results)
	}
	key := callKey{agent, r.ID}
	l.waiting[key] = append(l.waiting[key], len(l.Results))
	l.Results = append(l.Results, r)
}

// addResult adds what the model got of a call, and the call if there was no row
// for its end.
func (l *log) addResult(r *row) {
	how := r.Members("toolCallResult")
	cancelled := how.Text("status") == "cancelled"
	for _, p := range r.parts() {
		if p.response == nil {
			continue
		}
		key := callKey{l.agent, cmp.Or(p.id, how.Text("callId"))}
		text := l.Texts.Keep(p.result())
		made := &ask{}
		if list := l.asked[key]; len(list) > 0 {
			made = list[0]
			if l.asked[key] = list[1:]; len(list) == 1 {
				delete(l.asked, key)
			}
		} else if len(l.waiting[key]) == 0 {
			l.nameTelemetry(key, p.name, "") // the file begins after the answer
		}
		if w := l.waiting[key]; len(w) > 0 {
			made.result = w[0]
			result := &l.Results[w[0]]
			result.Text, result.File, result.Row = text, l.File, l.Line
			if l.waiting[key] = w[1:]; len(w) == 1 {
				delete(l.waiting, key)
			}
			continue
		}
		status := qwen.StatusOf(how.Text("status"), how.Text("errorType"), how.Text("executionStatus") != "not_started")
		if status == hook.ToolUnknown && rawjson.Member(p.response, "error") != nil {
			status = hook.ToolFailed
		}
		turn := l.turn
		if l.agent != "" {
			turn = l.turns[l.agent]
		}
		made.result = len(l.Results)
		l.Results = append(l.Results, hook.ToolResult{
			ID: key.id, Agent: l.agent, Turn: turn, Name: p.name, Input: made.Input,
			Text: text, Status: status, Ran: status == hook.ToolCancelled && how.Text("executionStatus") != "", Asked: made.Asked, At: r.at, File: l.File, Row: l.Line,
		})
	}
	if cancelled && l.agent == "" {
		// The turn ends with the tool that the user cancels.
		l.end = &hook.TurnEnd{Turn: l.turn, At: r.at, Kind: hook.KindSessionEnd, Message: "interrupted by the user"}
	}
}

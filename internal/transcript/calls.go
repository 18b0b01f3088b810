package transcript

import (
	"time"

	"github.com/hookspan/hookspan/hook"
)

// CallKey is a tool call of one agent.
type CallKey struct{ Agent, ID string }

// Ask notes a call that the model asks for, which has no result yet.
func (l *Log) Ask(call hook.ToolResult) {
	call.Status, call.File, call.Row = hook.ToolUnknown, l.File, l.Line
	l.Asked[CallKey{call.Agent, call.ID}] = call
}

// Answer adds the result of a call, whose text is what the model got.
func (l *Log) Answer(r hook.ToolResult, text string) {
	delete(l.Asked, CallKey{r.Agent, r.ID})
	r.File, r.Row = l.File, l.Line
	r.Input, r.Text = l.Texts.KeepJSON(r.Input), l.Texts.Keep(text)
	l.Results = append(l.Results, r)
}

// Leave adds the calls without a result, which ended at a time, zero if that is not known.
func (l *Log) Leave(status hook.ToolStatus, at time.Time) {
	for _, r := range Unanswered(l.Asked) {
		r.Status, r.At, r.Input = status, at, l.Texts.KeepJSON(r.Input)
		l.Results = append(l.Results, r)
	}
}

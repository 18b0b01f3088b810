package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/otelmap"
)

// EventLine is an event for people and, as JSON, for programs. Its JSON is stable: members
// may be added, never renamed or given another meaning. Texts are whole and may hold
// secrets until Clean is called.
type EventLine struct {
	// Time is the host's, else when the event was stored.
	Time time.Time `json:"time"`
	// Agent is the agent's name, Session its identifier of the conversation.
	Agent   string `json:"agent"`
	Session string `json:"session"`
	// Directory is the working directory.
	Directory string `json:"workingDirectory,omitempty"`
	// Kind is hook.Kind's name, Event the agent's name of its hook.
	Kind  string `json:"kind"`
	Event string `json:"event,omitempty"`
	// Subagent is the kind of the subagent that acts.
	Subagent string `json:"subagent,omitempty"`
	// Tool is set for calls. CallID is the agent's identifier of the call.
	Tool   string `json:"tool,omitempty"`
	CallID string `json:"callId,omitempty"`
	// End is how what the line is about ended. Status is its word, but "cancelled" for what the
	// user stopped and the status of a hook.
	End    otelmap.End `json:"-"`
	Status string      `json:"status,omitempty"`
	// Waiting reports that the agent waits for the user from now on.
	Waiting bool `json:"waiting,omitempty"`
	// Input is a call's parameters, as JSON.
	Input string `json:"input,omitempty"`
	// Text is the prompt, the answer, the failure or the message.
	Text string `json:"text,omitempty"`
	// Took is how long a call took by the agent's measure, or the time of a run since
	// its first event that was seen.
	Took time.Duration `json:"tookNs,omitempty"`
	// Calls, Failures and Denials count the calls of a run that ends, those that were
	// seen. Cancelled calls are among the denials.
	Calls    int `json:"toolCalls,omitempty"`
	Failures int `json:"toolFailures,omitempty"`
	Denials  int `json:"toolDenials,omitempty"`
}

// EventLines turns events into lines. The zero value is ready to use.
type EventLines struct {
	runs map[string]*tally
}

// tally counts what a session's run did.
type tally struct {
	// began is when the run began, zero between runs. turn is the agent's id of it.
	began time.Time
	turn  string
	// closed reports that the session has ended, after which an agent may still report
	// the end of the run.
	closed                   bool
	calls, failures, denials int
	// open are the main agent's calls that have begun and not ended, and whether the user
	// was asked about them; ended those that have an id and were counted.
	open  map[string]*openCall
	ended map[string]bool
	// said is the text of the session's last run, which a notification may repeat.
	said string
}

// waits reports whether the agent waits for the user: for an approval, or for what a
// notification asks.
func waits(e *hook.Event) bool {
	return e.Kind == hook.KindPermission || slices.ContainsFunc(e.Attrs, func(a hook.Attr) bool {
		return a.Value == true && a.Key == otelmap.KeyAwaitsUser || a.Value == "permission_prompt"
	})
}

type openCall struct {
	id    string
	hash  uint64
	asked bool
}

func keyOf(t *hook.Tool) string { return cmp.Or(t.ID, t.Name+"\x00"+t.Input) }

// begin notes a call that has begun. Agents may report the start twice.
func (t *tally) begin(e *hook.Event) {
	if e.Agent != "" || e.Tool == nil {
		return // the calls of a subagent may outlast the run
	}
	if t.open == nil {
		t.open = make(map[string]*openCall)
	}
	if !t.ended[e.Tool.ID] && t.open[keyOf(e.Tool)] == nil {
		t.open[keyOf(e.Tool)] = &openCall{id: e.Tool.ID, hash: e.Hash}
	}
}

// count counts a call that has ended, once.
func (t *tally) count(key, id string, end otelmap.End) {
	delete(t.open, key)
	if t.ended[id] {
		return
	}
	if id != "" {
		if t.ended == nil {
			t.ended = make(map[string]bool)
		}
		t.ended[id] = true
	}
	t.calls++
	switch {
	case end == otelmap.EndDenied:
		t.denials++
	case end.Failed():
		t.failures++
	}
}

// deny counts the call that a hook denied.
func (t *tally) deny(e *hook.Event) {
	for key, c := range t.open {
		if c.hash == e.About {
			t.count(key, c.id, otelmap.EndDenied)
		}
	}
}

// close counts the calls that have not ended when the run has, as the trace has them.
func (t *tally) close(run hook.Kind) {
	for key, c := range t.open {
		end := otelmap.EndUnfinished
		if c.asked || run == hook.KindRunCancel {
			end = otelmap.EndDenied
		}
		t.count(key, "", end)
	}
}

// Of returns the line of an event, or false for one that says nothing to people.
func (l *EventLines) Of(e *hook.Event) (EventLine, bool) {
	out := EventLine{
		Time: e.At(), Agent: e.Host, Session: e.Session, Directory: e.Cwd,
		Kind: e.Kind.String(), Event: e.Name, Subagent: e.AgentType, Text: cmp.Or(e.Message, e.Result, e.Prompt),
	}
	out.Waiting = waits(e)
	open := l.open(e)
	t := l.tally(e)
	if e.Tool != nil {
		out.Tool, out.CallID, out.Input = e.Tool.Name, e.Tool.ID, e.Tool.Input
	}
	switch e.Kind {
	case hook.KindAside:
		return out, false
	case hook.KindToolStart:
		out.End = otelmap.EndRunning
		t.begin(e)
	case hook.KindPermission:
		if e.Tool != nil && t.open[keyOf(e.Tool)] != nil {
			t.open[keyOf(e.Tool)].asked = true
		}
	case hook.KindToolEnd:
		out.End = endsOf[e.Tool.Status]
		if e.Tool.Status == hook.ToolCancelled {
			out.Status = cancelled
		}
		out.Text = cmp.Or(e.Tool.Error, e.Tool.Output)
		out.Took = max(0, e.Tool.Duration)
		t.count(keyOf(e.Tool), e.Tool.ID, out.End)
	case hook.KindHookRuns:
		if e.Answer.Denies() {
			t.deny(e)
		}
		return hookLine(out, e)
	case hook.KindNotification:
		if out.Text == "" || out.Text == t.said {
			return out, false
		}
	case hook.KindRunError:
		out.End, out.Text = otelmap.EndFailed, strings.Trim(e.ErrorType+": "+e.Message, ": ")
		if !open && out.Text == t.said {
			return out, false // an agent may report the failure of a turn twice
		}
	case hook.KindRequestError:
		out.End, out.Text = otelmap.EndFailed, strings.Trim(e.ErrorType+": "+e.Message, ": ")
	case hook.KindRunCancel:
		out.Status, out.End = cancelled, otelmap.EndDenied
	case hook.KindRunComplete:
		out.End = otelmap.EndOK
	}
	if e.Kind.Terminal() && e.Kind != hook.KindSessionEnd && e.ParentAgent == "" {
		t.close(e.Kind)
		out.Took, out.Calls, out.Failures, out.Denials = max(0, e.At().Sub(t.began)), t.calls, t.failures, t.denials
		*t = tally{said: out.Text}
	}
	out.Status = cmp.Or(out.Status, out.End.String())
	return out, true
}

const cancelled = "cancelled"

var endsOf = map[hook.ToolStatus]otelmap.End{
	hook.ToolOK: otelmap.EndOK, hook.ToolFailed: otelmap.EndFailed, hook.ToolDenied: otelmap.EndDenied, hook.ToolCancelled: otelmap.EndDenied, hook.ToolUnknown: otelmap.EndUnknown,
}

// open reports whether a run of the event's session has begun and not ended.
func (l *EventLines) open(e *hook.Event) bool {
	t := l.runs[e.Session]
	return t != nil && !t.began.IsZero()
}

// tally returns the tally of the event's run. A prompt or a start begins a run; session
// starts, session ends and notifications between runs do not.
func (l *EventLines) tally(e *hook.Event) *tally {
	if l.runs == nil {
		l.runs = make(map[string]*tally)
	}
	t := l.runs[e.Session]
	if t == nil {
		t = &tally{}
		l.runs[e.Session] = t
	}
	starts := e.ParentAgent == "" && (e.Kind == hook.KindRunStart || e.Kind == hook.KindRunResume)
	turn := ""
	if e.ParentAgent == "" && e.Agent == "" {
		turn = e.Turn
	}
	follows := turn != "" && t.turn != "" && turn != t.turn // the run before has no end
	if starts || follows || t.closed && !e.Kind.Terminal() {
		*t = tally{said: t.said}
	}
	switch e.Kind {
	case hook.KindSessionEnd:
		t.closed = true
		return t
	case hook.KindSessionStart, hook.KindNotification:
		return t
	}
	if t.began.IsZero() {
		t.began = e.At()
	}
	t.turn = cmp.Or(turn, t.turn)
	return t
}

// hookLine is the line of the user's hooks. Hooks that ran and decided nothing have
// none.
func hookLine(out EventLine, e *hook.Event) (EventLine, bool) {
	if e.Answer.Denies() {
		out.End, out.Status, out.Text = otelmap.EndDenied, otelmap.EndDenied.String(), strings.Trim(e.Answer.By+": "+e.Answer.Reason, ": ")
		return out, true
	}
	for _, r := range e.HookRuns {
		if r.Status != hook.HookOK && r.Status != hook.HookAsync || r.Decision != "" {
			out.Tool, out.Status, out.End, out.Took = r.Tool, r.Status, otelmap.HookEnd(r.Status, r.Decision), r.Duration
			out.Text = fmt.Sprintf("%s: %s", r.Command, cmp.Or(strings.Trim(r.Decision+": "+r.Reason, ": "), r.Status))
			return out, true
		}
	}
	return out, false
}

// Clean removes the secrets from the texts. clean may be nil.
func (l *EventLine) Clean(clean func(string) string) {
	if clean != nil {
		l.Input = rawjson.Clean(l.Input, clean)
		for _, text := range []*string{&l.Text, &l.Directory, &l.Tool, &l.Subagent, &l.Event, &l.Session, &l.CallID} {
			*text = clean(*text)
		}
	}
}

// Blank removes the texts, for sessions of which none are captured.
func (l *EventLine) Blank() { l.Text, l.Input = "", "" }

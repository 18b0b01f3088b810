package view

import (
	"cmp"
	"fmt"
	"hash/maphash"
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
	seed maphash.Seed
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
	// agents are the calls by agent, waiting those of the main agent that have begun and not
	// ended, in order.
	agents  map[string]*agentCalls
	waiting []*openCall
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

// agentCalls are the calls of one agent: those under way, and the newest by their keys.
type agentCalls struct {
	open   hook.OpenCalls[*openCall]
	newest map[hook.CallKey]*openCall
}

type openCall struct {
	key   hook.CallKey
	hash  uint64
	begun time.Time
	// asked reports that the user was asked about the call.
	asked bool
}

// copyWithin is how far apart the copies of one event may be stored. A model that makes a call
// again with the same id and input must have answered meanwhile.
const copyWithin = time.Second

func (t *tally) of(agent string) *agentCalls {
	if t.agents == nil {
		t.agents = make(map[string]*agentCalls)
	}
	if t.agents[agent] == nil {
		t.agents[agent] = &agentCalls{newest: make(map[hook.CallKey]*openCall)}
	}
	return t.agents[agent]
}

// begin notes a call that has begun. Agents may report the start twice.
func (t *tally) begin(e *hook.Event, key hook.CallKey) {
	if e.Tool == nil {
		return
	}
	of, c := t.of(e.Agent), &openCall{key: key, hash: e.Hash, begun: e.StoredAt}
	if before := of.newest[key]; before != nil && before.hash == c.hash && c.begun.Sub(before.begun) <= copyWithin {
		return
	}
	of.newest[key] = c
	of.open.Start(key, c)
	if e.Agent == "" { // the calls of a subagent may outlast the run
		t.waiting = append(t.waiting, c)
	}
}

// end counts the call that has ended. Agents may report the end twice, or a success after a
// failure.
func (t *tally) end(agent string, key hook.CallKey, end otelmap.End) {
	of := t.of(agent)
	c, begun := of.open.End(key)
	if !begun && key.ID != "" && of.newest[key] != nil {
		return
	}
	if !begun {
		of.newest[key] = &openCall{key: key}
	}
	t.waiting = slices.DeleteFunc(t.waiting, func(w *openCall) bool { return w == c })
	t.count(end)
}

func (t *tally) count(end otelmap.End) {
	t.calls++
	switch {
	case end == otelmap.EndDenied:
		t.denials++
	case end.Failed():
		t.failures++
	}
}

// ask notes a question about a call, or that it was allowed. A question may have no id, and spell
// the input differently.
func (t *tally) ask(key hook.CallKey, asked bool) {
	var about *openCall
	for _, c := range t.waiting {
		switch {
		case key.ID != "" && key.ID == c.key.ID:
			about = c
		case key.ID == "" && c.key.Name == key.Name && !c.asked && (about == nil || c.key.Input == key.Input && about.key.Input != key.Input):
			about = c
		}
	}
	if about != nil {
		about.asked = asked
	}
}

// deny counts the call that a hook denied.
func (t *tally) deny(e *hook.Event) {
	for _, c := range slices.Backward(t.waiting) {
		if c.hash == e.About {
			t.end("", c.key, otelmap.EndDenied)
			return
		}
	}
}

// close counts the calls that have not ended when the run has, as the trace has them.
func (t *tally) close(run hook.Kind) {
	for _, c := range t.waiting {
		end := otelmap.EndUnfinished
		if c.asked || run == hook.KindRunCancel {
			end = otelmap.EndDenied
		}
		t.count(end)
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
	var key hook.CallKey
	if e.Tool != nil {
		out.Tool, out.CallID, out.Input = e.Tool.Name, e.Tool.ID, e.Tool.Input
		key = hook.CallKey{ID: e.Tool.ID, Name: e.Tool.Name, Input: maphash.String(l.seed, e.Tool.Input)}
	}
	switch e.Kind {
	case hook.KindAside:
		return out, false
	case hook.KindToolStart:
		out.End = otelmap.EndRunning
		t.begin(e, key)
	case hook.KindPermission, hook.KindNote:
		if e.Agent == "" {
			t.ask(key, e.Kind == hook.KindPermission)
		}
	case hook.KindToolEnd:
		out.End = endsOf[e.Tool.Status]
		if e.Tool.Status == hook.ToolCancelled {
			out.Status = cancelled
		}
		out.Text = cmp.Or(e.Tool.Error, e.Tool.Output)
		out.Took = max(0, e.Tool.Duration)
		t.end(e.Agent, key, out.End)
	case hook.KindHookRuns:
		if e.Answer.Denies() {
			t.deny(e)
		}
		return hookLine(out, e)
	case hook.KindNotification:
		if out.Text == "" || out.Text == t.said {
			return out, false
		}
	case hook.KindRunError, hook.KindRequestError:
		out.End, out.Text = otelmap.EndFailed, strings.Trim(e.ErrorType+": "+e.Message, ": ")
		if e.Kind == hook.KindRunError && !open && out.Text == t.said {
			return out, false // an agent may report the failure of a turn twice
		}
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
		l.runs, l.seed = make(map[string]*tally), maphash.MakeSeed()
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

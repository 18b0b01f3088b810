package qwen

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/qwen"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// log gathers what the files of one session say.
type log struct {
	session string
	// agent is the subagent whose file is read, empty for the session's.
	agent string
	texts transcript.Texts
	rows  *int
	// file and line are the place of the row that is added, in a reading of whole texts.
	file string
	line int

	calls   []hook.LLMCall
	results []hook.ToolResult
	prompts []hook.Prompt
	ends    []hook.TurnEnd
	// end is how the current turn seems to have ended, nil while it is open: a hook
	// can make the model continue, and a failed request can be tried again.
	end *hook.TurnEnd
	// mayRetry reports that end is the failure of a request that is tried again.
	mayRetry bool
	// turn is the current turn, known from its first request on; open reports that
	// it has begun.
	turn string
	open bool
	// turns are the turns in which the agents made their first requests.
	turns map[string]string
	// waiting are the results, by place, whose text comes in a later row.
	waiting map[callKey][]int
	// asks are the calls that answers ask for, in order. asked are those without a
	// result, by id, untold those without a telemetry row, by name.
	asks          []*ask
	asked, untold map[callKey][]*ask

	// answers are the requests as the rows of answers tell them, which count in a file
	// without telemetry.
	answers []hook.LLMCall
	before  time.Time // that of the row before

	version, cwd string
	last         time.Time
	// task, words and first are a subagent's first prompt and last text, and the time
	// of its first row.
	task, words string
	first       time.Time
}

// callKey is a tool call of one agent.
type callKey struct{ agent, id string }

// ask is a call as a model made it, and how it is told if it has no result.
type ask struct {
	hook.ToolResult
	// result is its place among the results, -1 while it has none.
	result int
}

func newLog(session string, maxText int) *log {
	return &log{
		session: session, texts: transcript.Texts{Max: maxText}, rows: new(int),
		turns: make(map[string]string), waiting: make(map[callKey][]int),
		asked: make(map[callKey][]*ask), untold: make(map[callKey][]*ask),
	}
}

// readAll reads the session's file at path and those of its subagents.
func readAll(ctx context.Context, f *transcript.Files, q transcript.Query, path string, maxText int) (*hook.Transcript, error) {
	agents, err := agentFiles(ctx, f, agentsDir(path, q.Session), q.Since)
	errs := []error{err}
	t := &hook.Transcript{Session: q.Session}
	l := newLog(q.Session, maxText)
	read := func(l *log, path string) {
		err := l.readFile(ctx, f, path, q)
		errs = append(errs, err)
		if !errors.Is(err, transcript.ErrNotFound) {
			t.Sources = append(t.Sources, path)
		}
	}
	read(l, path)
	l.calls = append(l.calls, l.untoldRequests()...)
	pending := l.open && l.end == nil
	l.flush()
	known := make(map[string]bool)
	for _, a := range agents {
		known[a.meta.AgentID] = true
		sub := *l
		sub.agent, sub.task, sub.words, sub.first, sub.answers = a.meta.AgentID, "", "", time.Time{}, nil
		read(&sub, a.path)
		sub.calls = append(sub.calls, sub.untoldRequests()...)
		l.calls, l.results, l.asks, l.texts = sub.calls, sub.results, sub.asks, sub.texts
		t.Agents = append(t.Agents, sub.subagent(a.meta))
	}
	if q.Full || q.Whole != nil {
		for _, a := range l.asks {
			if a.result < 0 {
				l.results = append(l.results, a.ToolResult)
			}
		}
	}
	foreign := func(agent string) bool { return agent != "" && !known[agent] }
	t.Calls = slices.DeleteFunc(l.calls, func(c hook.LLMCall) bool { return foreign(c.Agent) || c.End.Before(q.Since) })
	t.ToolResults = slices.DeleteFunc(l.results, func(r hook.ToolResult) bool { return foreign(r.Agent) || cmp.Or(r.At, r.Asked).Before(q.Since) })
	t.Prompts = slices.DeleteFunc(l.prompts, func(p hook.Prompt) bool { return p.At.Before(q.Since) })
	t.Ends = slices.DeleteFunc(l.ends, func(e hook.TurnEnd) bool { return e.At.Before(q.Since) })
	slices.SortStableFunc(t.Calls, func(a, b hook.LLMCall) int { return a.Start.Compare(b.Start) })
	slices.SortStableFunc(t.Agents, func(a, b hook.Subagent) int { return a.Start.Compare(b.Start) })
	for _, c := range slices.Backward(t.Calls) {
		if c.Model != "" && c.Agent == "" {
			t.Provider, t.Model = c.Provider, c.Model
			break
		}
	}
	t.HostVersion, t.Cwd = l.version, l.cwd
	t.Pending = pending && f.Now().Sub(l.last) < transcript.PendingAge
	return t, errors.Join(errs...)
}

// subagent describes the subagent whose file was read.
func (l *log) subagent(m agentMeta) hook.Subagent {
	a := hook.Subagent{
		ID: m.AgentID, Type: m.AgentType, CallID: m.ToolUseID, ParentAgent: m.ParentAgent, Turn: l.turns[m.AgentID],
		Task: cmp.Or(l.task, m.Description), Result: l.words, Start: transcript.ISOTime(m.Created),
	}
	if a.Start.IsZero() {
		a.Start = l.first
	}
	if m.Status != "" && m.Status != "running" {
		a.End = transcript.ISOTime(m.Updated)
	}
	if m.Status == "failed" {
		a.Failure = "the subagent failed"
		if i := l.lastCall(a.ID); i >= 0 {
			a.Failure = cmp.Or(l.calls[i].Message, a.Failure)
		}
	}
	return a
}

// add adds the next row.
func (l *log) add(r *row) {
	if id := r.Text("sessionId"); id != "" && id != l.session {
		return
	}
	if l.agent == "" {
		l.version = cmp.Or(r.Text("version"), l.version)
		l.cwd = cmp.Or(r.Text("cwd"), l.cwd)
		if r.at.After(l.last) {
			l.last = r.at
		}
	}
	if l.first.IsZero() {
		l.first = r.at
	}
	switch r.kind {
	case kindUser:
		l.addPrompt(r)
	case kindAssistant:
		l.addAnswer(r)
	case kindResult:
		l.addResult(r)
	case kindSystem:
		if r.Text("subtype") == "ui_telemetry" && l.agent == "" {
			l.addTelemetry(r.Members("systemPayload").Members("uiEvent"), r.at)
		}
	}
	l.before = r.at
	if l.texts.Over() {
		l.texts.Shrink(func(text, input func(*string)) {
			for _, calls := range [][]hook.LLMCall{l.calls, l.answers} {
				for i := range calls {
					text(&calls[i].Text)
				}
			}
			for i := range l.results {
				text(&l.results[i].Text)
				input(&l.results[i].Input)
			}
			for _, a := range l.asks {
				input(&a.Input)
			}
			for i := range l.prompts {
				text(&l.prompts[i].Text)
			}
			for i := range l.ends {
				text(&l.ends[i].Result)
			}
		})
	}
}

// addPrompt adds a prompt, whose turn the next request names.
func (l *log) addPrompt(r *row) {
	text := textOf(r.parts())
	if l.agent != "" {
		l.task = cmp.Or(l.task, text)
		return
	}
	l.flush()
	l.turn, l.open = "", true
	l.prompts = append(l.prompts, hook.Prompt{
		At: r.at, Text: l.texts.Keep(text), Injected: cmp.Or(r.Text("provenance"), "real_user") != "real_user",
	})
}

// addAnswer adds a model's answer. Its request is in an earlier row.
func (l *log) addAnswer(r *row) {
	parts := r.parts()
	text := textOf(parts)
	l.words = cmp.Or(text, l.words)
	l.addUsage(r, parts)
	called := false
	for _, p := range parts {
		if p.name != "" && p.response == nil {
			called = true
			l.ask(p, r.at)
		}
	}
	if l.agent != "" {
		return
	}
	if i := l.lastCall(""); i >= 0 {
		c := &l.calls[i]
		if c.Text == "" {
			c.Text = l.texts.Keep(text)
		}
		for _, p := range parts {
			if p.name != "" {
				c.ToolCallIDs = appendNew(c.ToolCallIDs, p.id)
			}
		}
	}
	if !called {
		l.end = &hook.TurnEnd{Turn: l.turn, At: r.at, Kind: hook.KindRunComplete, Result: l.texts.Keep(text)}
	}
}

// addUsage adds the request of an answer as its own row tells it.
func (l *log) addUsage(r *row, parts []part) {
	u := r.Members("usageMetadata")
	if u == nil || l.lastCall(l.agent) >= 0 {
		return
	}
	c := hook.LLMCall{
		Kind: hook.CallRequest, ID: r.Text("uuid"), Agent: l.agent, Turn: l.turns[l.agent], Start: l.before, End: r.at,
		Model: r.Text("model"), Text: l.texts.Keep(textOf(parts)), Usage: usageOf(u, &answerCounts),
	}
	if c.Start.IsZero() || c.Start.After(c.End) {
		c.Start = c.End
	}
	for _, p := range parts {
		if p.name != "" {
			c.ToolCallIDs = appendNew(c.ToolCallIDs, p.id)
		}
	}
	if c.Usage != nil {
		c.Usage.CostUSD = transcript.ListCost(&c, false)
	}
	l.answers = append(l.answers, c)
}

// untoldRequests returns the requests of answers of which no telemetry tells.
func (l *log) untoldRequests() []hook.LLMCall {
	if l.lastCall(l.agent) >= 0 {
		return nil
	}
	return l.answers
}

// lastCall is the place of an agent's newest request, -1 if there is none.
func (l *log) lastCall(agent string) int {
	for i := len(l.calls) - 1; i >= 0; i-- {
		if l.calls[i].Agent == agent {
			return i
		}
	}
	return -1
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// flush counts the end of the current turn.
func (l *log) flush() {
	if l.end != nil {
		l.ends = append(l.ends, *l.end)
	}
	l.end, l.open = nil, false
}

// continues notes that a request continues the turn. If it had stopped, one of the
// user's hooks made the model continue.
func (l *log) continues(turn string, at time.Time) {
	if l.end != nil && l.end.Kind == hook.KindRunComplete && l.end.Turn == turn {
		l.ends = append(l.ends, hook.TurnEnd{Turn: turn, At: at, Kind: hook.KindRunResume})
	}
	l.end, l.open = nil, true
}

// addTelemetry adds a request, or the end of a tool call.
func (l *log) addTelemetry(o rawjson.Object, at time.Time) {
	if named := transcript.ISOTime(o.Text("event.timestamp")); !named.IsZero() {
		at = named
	}
	took, _ := rawjson.Millis(o.Get("duration_ms"))
	began := at.Add(-took)
	turn, agent := turnOf(o.Text("prompt_id"))
	switch agent = cmp.Or(o.Text("subagent_id"), agent); {
	case agent != "":
		if l.turns[agent] == "" {
			l.turns[agent] = l.turn
		}
		turn = l.turns[agent]
	case turn != "":
		l.turn = turn
		// What Qwen Code adds to a prompt is of its turn. A prompt before these was
		// interrupted before its first request ended.
		for i := len(l.prompts) - 1; i >= 0 && l.prompts[i].Turn == ""; i-- {
			l.prompts[i].Turn = turn
			if !l.prompts[i].Injected {
				break
			}
		}
	default:
		turn = l.turn
	}
	call := hook.LLMCall{
		Kind: hook.CallRequest, ID: o.Text("response_id"), Turn: turn, Agent: agent, Start: began, End: at,
		Provider: o.Text("auth_type"), Model: o.Text("model"),
	}
	switch o.Text("event.name") {
	case "qwen-code.api_response":
		if agent == "" {
			l.continues(turn, began)
		}
		call.ID = cmp.Or(call.ID, transcript.TimeID("req-", began))
		call.ResponseModel, call.Usage, call.Text = call.Model, usage(o), l.texts.Keep(o.Text("response_text"))
		if call.Usage != nil {
			call.Usage.CostUSD = transcript.ListCost(&call, false)
		}
		l.calls = append(l.calls, call)
	case "qwen-code.api_error":
		call.ID = cmp.Or(call.ID, transcript.TimeID("req-", began))
		call.Error, call.Message = cmp.Or(o.Text("error_type"), "unknown"), o.Text("error_message")
		l.calls = append(l.calls, call)
		if agent == "" {
			l.continues(turn, began)
			l.end = &hook.TurnEnd{Turn: turn, At: at, Kind: hook.KindRunError, Message: call.Message, ErrorType: call.Error}
			l.mayRetry = mayRetry(o)
		}
	case "qwen-code.tool_call":
		l.addTool(o, agent, turn, began, at)
	}
}

// mayRetry reports an error that Qwen Code may answer with another try.
func mayRetry(o rawjson.Object) bool {
	status, ok := rawjson.Int(o.Get("status_code"))
	return !ok || status < 400 || status >= 500 || status == 408 || status == 409 || status == 429
}

// usage returns the tokens of a telemetry row. The input count includes tokens read from the
// cache and tokens written to it; the log does not count the written ones separately. The
// output count includes thinking tokens, except by Google's protocol, where the total
// shows that they are extra.
func usage(o rawjson.Object) *hook.Usage { return usageOf(o, &telemetryCounts) }

// The names of the counts: input, output, thoughts, all, and what came from the cache.
var (
	telemetryCounts = [5]string{"input_token_count", "output_token_count", "thoughts_token_count", "total_token_count", "cached_content_token_count"}
	answerCounts    = [5]string{"promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount", "cachedContentTokenCount"}
)

func usageOf(o rawjson.Object, names *[5]string) *hook.Usage {
	var counts [5]int64
	for i, name := range names {
		if n, ok := rawjson.Float(o.Get(name)); ok {
			counts[i] = transcript.Tokens(&n)
		}
	}
	if o.Get(names[0], names[1]) == nil {
		return nil
	}
	input, output, thoughts := counts[0], counts[1], counts[2]
	if counts[3] == input+output+thoughts {
		output += thoughts
	}
	return &hook.Usage{Input: input, Output: output, Reasoning: thoughts, CacheRead: counts[4], InputIncludesCache: true}
}

// ask adds a call that an answer asks for.
func (l *log) ask(p part, at time.Time) {
	a := &ask{result: -1, ToolResult: hook.ToolResult{
		ID: p.id, Agent: l.agent, Turn: l.turn, Name: p.name, Input: l.texts.KeepJSON(rawjson.Canonical(p.input)),
		Status: hook.ToolUnknown, Asked: at, File: l.file, Row: l.line,
	}}
	if l.agent != "" {
		a.Turn = l.turns[l.agent]
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
	l.untold[name] = append(l.untold[name], a)
}

// nameTelemetry gives the oldest telemetry row without an id that fits a call the call's.
func (l *log) nameTelemetry(key callKey, name, input string) {
	nameless := callKey{agent: key.agent}
	list := l.waiting[nameless]
	i := slices.IndexFunc(list, func(i int) bool { return l.results[i].Name == name && l.results[i].Input == input })
	if i < 0 {
		i = slices.IndexFunc(list, func(i int) bool { return l.results[i].Name == name })
	}
	if i < 0 {
		return
	}
	l.results[list[i]].ID = key.id
	l.waiting[key] = append(l.waiting[key], list[i])
	l.waiting[nameless] = slices.Delete(list, i, i+1)
}

// told finds the call that a telemetry row is about, nil if no answer has asked for it.
// Before version 0.13 the row has no id: the first call with the tool and the input
// counts, else the first with the tool, since the user may have changed the input.
func (l *log) told(r *hook.ToolResult) *ask {
	key := callKey{r.Agent, r.Name}
	list := l.untold[key]
	i := slices.IndexFunc(list, func(a *ask) bool { return r.ID == a.ID || r.ID == "" && r.Input == a.Input })
	if i < 0 && r.ID == "" && len(list) > 0 {
		i = 0
	}
	if i < 0 {
		return nil
	}
	a := list[i]
	l.untold[key] = slices.Delete(list, i, i+1)
	l.texts.Drop(len(a.Input))
	a.Input = "" // the row has it
	return a
}

// addTool adds the end of a call. What it returned is in another row, mostly a later one.
func (l *log) addTool(o rawjson.Object, agent, turn string, began, at time.Time) {
	r := hook.ToolResult{
		ID: o.Text("call_id"), Agent: agent, Turn: turn, Name: o.Text("function_name"),
		Input:  l.texts.KeepJSON(rawjson.Canonical(o.Get("function_args"))),
		Status: qwen.StatusOf(o.Text("status"), o.Text("error_type"), o.Text("execution_status") != "not_started"),
		Asked:  began, At: at, File: l.file, Row: l.line,
	}
	a := l.told(&r)
	if a != nil {
		r.ID = a.ID
	}
	if from := o.Text("response_id"); from != "" {
		for i := len(l.calls) - 1; i >= 0; i-- {
			if c := &l.calls[i]; c.ID == from && c.Agent == agent {
				c.ToolCallIDs = appendNew(c.ToolCallIDs, r.ID)
				break
			}
		}
	}
	if a != nil && a.result >= 0 {
		known := &l.results[a.result]
		r.Text, r.File, r.Row = known.Text, known.File, known.Row
		*known = r
		return
	}
	if a != nil {
		a.result = len(l.results)
	}
	key := callKey{agent, r.ID}
	l.waiting[key] = append(l.waiting[key], len(l.results))
	l.results = append(l.results, r)
}

// addResult adds what the model was told of a call, and the call if there was no row
// for its end.
func (l *log) addResult(r *row) {
	how := r.Members("toolCallResult")
	cancelled := how.Text("status") == "cancelled"
	for _, p := range r.parts() {
		if p.response == nil {
			continue
		}
		key := callKey{l.agent, cmp.Or(p.id, how.Text("callId"))}
		text := l.texts.Keep(p.result())
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
			result := &l.results[w[0]]
			result.Text, result.File, result.Row = text, l.file, l.line
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
		made.result = len(l.results)
		l.results = append(l.results, hook.ToolResult{
			ID: key.id, Agent: l.agent, Turn: turn, Name: p.name, Input: made.Input,
			Text: text, Status: status, Asked: made.Asked, At: r.at, File: l.file, Row: l.line,
		})
	}
	if cancelled && l.agent == "" {
		// The turn ends with the tool that the user cancels.
		l.end = &hook.TurnEnd{Turn: l.turn, At: r.at, Kind: hook.KindSessionEnd, Message: "interrupted by the user"}
	}
}

// addEvents adds the events of Qwen Code's hooks.
func addEvents(b *transcript.EventBuilder, _ string) {
	for i, p := range b.Transcript.Prompts {
		e := hook.Event{Kind: hook.KindPrompt, Name: "UserPromptSubmit", Turn: p.Turn, Prompt: p.Text}
		if p.Turn != "" {
			e.Key = "UserPromptSubmit/" + p.Turn + "/" + strconv.Itoa(i)
		}
		if p.Injected {
			e.Attrs = []hook.Attr{{Key: hook.AttrPromptInjected, Value: true}}
		}
		b.Add(p.At, e)
	}
	b.AddTools(nil)
	for i := range b.Transcript.Agents {
		a := &b.Transcript.Agents[i]
		b.AddFor(a.ID, a.Start, hook.Event{Kind: hook.KindRunStart, Name: "SubagentStart", Turn: a.Turn, Prompt: a.Task})
		ending := a.Ending("SubagentStop")
		ending.Turn = a.Turn
		b.AddFor(a.ID, a.End, ending)
	}
	for _, end := range b.Transcript.Ends {
		e := hook.Event{Kind: end.Kind, Turn: end.Turn, Result: end.Result, Message: end.Message, ErrorType: end.ErrorType}
		switch end.Kind {
		case hook.KindRunComplete:
			e.Name = "Stop"
		case hook.KindRunError:
			e.Name = "StopFailure"
		case hook.KindSessionEnd:
			e.Kind, e.Name = hook.KindRunCancel, qwen.Interrupt
		default:
			continue // the turn continued
		}
		b.Add(end.At, e)
	}
}

package qwen

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/qwen"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// session gathers what the files of one session say.
type session struct {
	*transcript.Log
	id string
	// newest are the places of the agents' newest requests, places those of all, by id.
	newest map[string]int
	places map[callKey]int
	// turns are the turns in which the agents made their first requests.
	turns map[string]string
	// waiting are the results, by place, whose text comes in a later row.
	waiting map[callKey][]int
	// asks are the calls that answers ask for, in order. asked are those without a
	// result, by id, unreported those without a telemetry row, by name.
	asks              []*ask
	asked, unreported map[callKey][]*ask
}

// log adds the rows of one file.
type log struct {
	*session
	// agent is the subagent whose file is read, empty for the session's.
	agent string
	// end is how the current turn seems to have ended, nil while it is open: a hook
	// can make the model continue, and a failed request can be tried again.
	end *hook.TurnEnd
	// mayRetry reports that end is the failure of a request that is tried again.
	mayRetry bool
	// turn is the current turn, known from its first request on; open reports that
	// it has begun.
	turn string
	open bool

	// answers are the requests as the rows of answers have them, which count where no
	// telemetry does: it may be switched on later. due reports that telemetry reported the
	// answer that comes next.
	answers []hook.Request
	due     bool
	before  time.Time // that of the row before

	clock        transcript.Clock
	version, cwd string
	last         time.Time
	// task, words and first are a subagent's first prompt and last text, and the time
	// of its first row.
	task, words string
	first       time.Time
}

// newLog returns the log of a session's own file.
func newLog(id string, maxText int) *log {
	s := &session{
		Log: transcript.NewLog(maxText), id: id, turns: make(map[string]string), waiting: make(map[callKey][]int),
		asked: make(map[callKey][]*ask), unreported: make(map[callKey][]*ask), newest: make(map[string]int), places: make(map[callKey]int),
	}
	return s.log("")
}

// log returns the log of a subagent's file, or of the session's own for no agent.
func (s *session) log(agent string) *log {
	l := &log{session: s, agent: agent}
	s.Others = func(text, input func(*string)) {
		for i := range l.answers {
			text(&l.answers[i].Text)
		}
		for _, a := range s.asks {
			input(&a.Input)
			text(&a.task)
		}
	}
	return l
}

// readAll reads the session's file at path and those of its subagents.
func readAll(ctx context.Context, f *transcript.Files, q transcript.Query, path string, maxText int) (*hook.Transcript, error) {
	agents, listed := agentFiles(ctx, f, agentsDir(path, q.Session), q.Since)
	l := newLog(q.Session, maxText)
	l.clock.Off = !q.Full
	_, there := transcript.Stat(q.Session, path)
	if there || len(agents) == 0 {
		_ = l.readFile(ctx, f, path, q) // the log has the error
	}
	l.addCalls(l.unreportedRequests()...)
	fresh := f.Now().Sub(l.last) < transcript.PendingAge
	pending := fresh && l.open && l.end == nil
	undecided := fresh && l.end != nil && l.end.Kind == hook.KindRunComplete && !exited(ctx, f, q.Session, l.end.At)
	l.flush()
	known := map[string]bool{"": true}
	for _, a := range agents {
		known[a.meta.AgentID] = true
		sub := l.log(a.meta.AgentID)
		sub.clock.Off = !q.Full
		_ = sub.readFile(ctx, f, a.path, q) // the log has the error
		l.addCalls(sub.unreportedRequests()...)
		l.Agents = append(l.Agents, sub.subagent(a.meta))
	}
	l.addUnfiled(known)
	if q.Full || q.Whole != nil {
		for _, a := range l.asks {
			if a.result < 0 {
				l.Results = append(l.Results, a.ToolResult)
			}
		}
	}
	l.Calls = slices.DeleteFunc(l.Calls, func(c hook.Request) bool { return !known[c.Agent] })
	l.Results = slices.DeleteFunc(l.Results, func(r hook.ToolResult) bool { return !known[r.Agent] })
	t, err := l.Transcript(q)
	transcript.SetModel(t)
	t.HostVersion, t.Cwd, t.Pending, t.Undecided = l.version, l.cwd, pending || undecided, undecided
	if t.Moves = l.Moves.Sorted(l.cwd); !there {
		t.Unread = append(t.Unread, transcript.FileGone(path))
	}
	return t, errors.Join(listed, err)
}

// subagent describes the subagent whose file was read.
func (l *log) subagent(m agentMeta) hook.Subagent {
	a := hook.Subagent{
		ID: m.AgentID, Type: m.AgentType, CallID: m.ToolUseID, Turn: l.turns[m.AgentID],
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
			a.Failure = cmp.Or(l.Calls[i].Message, a.Failure)
		}
	}
	return a
}

// add adds the next row.
func (l *log) add(r *row) {
	if id := r.Text("sessionId"); id != "" && id != l.id || l.Again(l.agent, r.Text("uuid"), r.at) {
		return
	}
	l.Moves.Add(l.agent, r.at, r.Text("cwd"))
	if l.agent == "" {
		l.version = cmp.Or(r.Text("version"), l.version)
		l.cwd = cmp.Or(r.Text("cwd"), l.cwd)
	}
	if r.at = l.clock.At(r.at, r.Opens()); l.agent == "" && r.at.After(l.last) {
		l.last = r.at
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
		l.addSystem(r)
	default:
		l.Meet(r.kind, r.at, r.Object)
	}
	l.before = r.at
	l.Shrink()
}

// The rows of the system and their events that say nothing of the work, or what others say.
const (
	idleRows = " ui_telemetry attribution_snapshot chat_compression slash_command at_command custom_title notification session_title" +
		" file_history_snapshot "
	idleEvents = " qwen-code.api_response qwen-code.api_error qwen-code.api_request qwen-code.tool_call qwen-code.user_prompt qwen-code.api_retry "
)

func (l *log) addSystem(r *row) {
	kind, event := r.Text("subtype"), r.Members("systemPayload").Members("uiEvent")
	if kind == "ui_telemetry" && l.agent == "" {
		l.addTelemetry(event, r.at)
	}
	switch name := event.Text("event.name"); {
	case !strings.Contains(idleRows, " "+kind+" "):
		l.Meet("system/"+kind, r.at, r.Object)
	case !strings.Contains(idleEvents, " "+name+" "):
		l.Meet(name, r.at, event)
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
	l.Prompts = append(l.Prompts, hook.Prompt{
		At: r.at, Text: l.Texts.Keep(text), Injected: cmp.Or(r.Text("provenance"), "real_user") != "real_user",
	})
}

// addAnswer adds a model's answer. Its request is in an earlier row.
func (l *log) addAnswer(r *row) {
	parts := r.parts()
	text := textOf(parts)
	l.words = cmp.Or(text, l.words)
	added := l.addUsage(r, parts)
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
	if i := l.lastCall(""); i >= 0 && !added {
		c := &l.Calls[i]
		if c.Text == "" {
			c.Text = l.Texts.Keep(text)
		}
		for _, p := range parts {
			if p.name != "" {
				c.ToolCallIDs = appendNew(c.ToolCallIDs, p.id)
			}
		}
	}
	if !called {
		l.end = &hook.TurnEnd{Turn: l.turn, At: r.at, Kind: hook.KindRunComplete, Result: l.Texts.Keep(text)}
	}
}

// addUsage adds the request of an answer as its own row has it, if nothing else does.
func (l *log) addUsage(r *row, parts []part) (added bool) {
	u := r.Members("usageMetadata")
	reported := l.due || l.agent != "" && l.lastCall(l.agent) >= 0
	if l.due = false; u == nil || reported {
		return false
	}
	c := hook.Request{
		Kind: hook.RequestSingle, ID: r.Text("uuid"), Agent: l.agent, Turn: l.turns[l.agent], Start: l.before, End: r.at,
		Model: r.Text("model"), Text: l.Texts.Keep(textOf(parts)), Usage: usageOf(u, &answerCounts),
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
	return true
}

// noteReported notes that telemetry reported a request of the lead agent: that of the answer that
// comes next, or of the newest one if its tokens are those.
func (l *log) noteReported(u *hook.Usage) {
	n := len(l.answers)
	if l.due = true; n == 0 || u == nil {
		return
	}
	if a := l.answers[n-1].Usage; a != nil && a.Input == u.Input && a.Output == u.Output {
		l.answers, l.due = l.answers[:n-1], false
	}
}

// unreportedRequests returns the requests of answers that no telemetry reports.
func (l *log) unreportedRequests() []hook.Request {
	if l.agent != "" && l.lastCall(l.agent) >= 0 {
		return nil
	}
	return l.answers
}

// lastCall is the place of an agent's newest request, -1 if there is none.
func (l *log) lastCall(agent string) int {
	if i, ok := l.newest[agent]; ok {
		return i
	}
	return -1
}

func (s *session) addCalls(calls ...hook.Request) {
	for _, c := range calls {
		s.newest[c.Agent], s.places[callKey{c.Agent, c.ID}] = len(s.Calls), len(s.Calls)
		s.Calls = append(s.Calls, c)
	}
}

// addUnfiled adds the subagents of which only the session's telemetry has the work, and notes
// that they are known: before version 0.15 they have no files. Each is of the first call that
// asks for an agent of its kind; others work for Qwen Code itself.
func (s *session) addUnfiled(known map[string]bool) {
	type work struct {
		id          string
		first, last time.Time
	}
	var order []*work
	works := make(map[string]*work)
	note := func(agent string, from, to time.Time) {
		if known[agent] {
			return
		}
		w := works[agent]
		if w == nil {
			w = &work{agent, from, to}
			works[agent], order = w, append(order, w)
		}
		if to.After(w.last) {
			w.last = to
		}
	}
	for i := range s.Calls {
		note(s.Calls[i].Agent, s.Calls[i].Start, s.Calls[i].End)
	}
	if len(order) == 0 {
		return
	}
	kinds := make(map[string][]*ask)
	for _, a := range s.asks {
		if a.kind != "" && a.Agent == "" {
			kinds[a.kind] = append(kinds[a.kind], a)
		}
	}
	for _, w := range order {
		kind := w.id[:max(0, strings.LastIndexByte(w.id, '-'))]
		at := slices.IndexFunc(kinds[kind], func(a *ask) bool { return a.result < 0 || !s.Results[a.result].At.Before(w.first) })
		if at < 0 {
			continue
		}
		a := kinds[kind][at]
		kinds[kind], known[w.id] = kinds[kind][at+1:], true
		agent := hook.Subagent{ID: w.id, Type: kind, CallID: a.ID, Turn: cmp.Or(s.turns[w.id], a.Turn), Task: a.task, Start: w.first, End: w.last}
		if a.result >= 0 {
			agent.Result = s.Results[a.result].Text
		}
		s.Agents = append(s.Agents, agent)
	}
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
		l.Ends = append(l.Ends, *l.end)
	}
	l.end, l.open = nil, false
}

// continues notes that a request continues the turn. If it had stopped, one of the
// user's hooks made the model continue. That has the time of the end, not that of the
// request: a hook reports the refusal before the request, and where that begins a part of
// the turn, the refusal is not of an end in this part.
func (l *log) continues(turn string) {
	if l.end != nil && l.end.Kind == hook.KindRunComplete && l.end.Turn == turn {
		l.Ends = append(l.Ends, hook.TurnEnd{Turn: turn, At: l.end.At, Kind: hook.KindRunResume})
	}
	l.end, l.open = nil, true
}

// addTelemetry adds a request, or the end of a tool call.
func (l *log) addTelemetry(o rawjson.Object, at time.Time) {
	if named := transcript.ISOTime(o.Text("event.timestamp")); !named.IsZero() {
		at = l.clock.Move(named)
	}
	took, _ := rawjson.Millis(o.Get("duration_ms"))
	began := at.Add(-took)
	if n := len(l.Prompts); n > 0 && l.clock.Moved() && began.Before(l.Prompts[n-1].At) {
		began = l.Prompts[n-1].At
	}
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
		for i := len(l.Prompts) - 1; i >= 0 && l.Prompts[i].Turn == ""; i-- {
			l.Prompts[i].Turn = turn
			if !l.Prompts[i].Injected {
				break
			}
		}
	default:
		turn = l.turn
	}
	call := hook.Request{
		Kind: hook.RequestSingle, ID: o.Text("response_id"), Turn: turn, Agent: agent, Start: began, End: at,
		Provider: o.Text("auth_type"), Model: o.Text("model"),
	}
	switch o.Text("event.name") {
	case "qwen-code.api_response":
		if agent == "" {
			l.continues(turn)
			l.noteReported(usage(o))
		}
		call.ID = cmp.Or(call.ID, transcript.TimeID("req-", began))
		call.ResponseModel, call.Usage, call.Text = call.Model, usage(o), l.Texts.Keep(o.Text("response_text"))
		if call.Usage != nil {
			call.Usage.CostUSD = transcript.ListCost(&call, false)
		}
		l.addCalls(call)
	case "qwen-code.api_error":
		call.ID = cmp.Or(call.ID, transcript.TimeID("req-", began))
		call.Error, call.Message = cmp.Or(o.Text("error_type"), "unknown"), o.Text("error_message")
		l.addCalls(call)
		if agent == "" {
			l.continues(turn)
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
		counts[i] = transcript.TokenCount(o, name)
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

// addEvents adds the events of Qwen Code's hooks.
func addEvents(b *transcript.EventBuilder, _ string) {
	for i, p := range b.Transcript.Prompts {
		e := hook.Event{Name: "UserPromptSubmit", Turn: p.Turn}
		if p.Turn != "" {
			e.Key = "UserPromptSubmit/" + p.Turn + "/" + strconv.Itoa(i)
		}
		b.AddPrompt(&p, e)
	}
	b.AddTools(nil)
	b.AddAgents("SubagentStart", "SubagentStop", func(a *hook.Subagent, e *hook.Event) { e.Turn = a.Turn })
	b.AddEnds(map[hook.Kind]string{hook.KindRunComplete: "Stop", hook.KindRunError: "StopFailure", hook.KindSessionEnd: qwen.Interrupt}, nil)
}

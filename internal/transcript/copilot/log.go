package copilot

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/copilot"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// The types of rows that are read.
const (
	sessionStart     = "session.start"
	sessionResume    = "session.resume"
	sessionShutdown  = "session.shutdown"
	sessionError     = "session.error"
	modelChange      = "session.model_change"
	userMessage      = "user.message"
	usageRecord      = "session.usage_record"
	assistantMessage = "assistant.message"
	toolStart        = "tool.execution_start"
	toolComplete     = "tool.execution_complete"
	agentStarted     = "subagent.started"
	agentCompleted   = "subagent.completed"
	agentFailed      = "subagent.failed"
	hookStart        = "hook.start"
	hookEnd          = "hook.end"
	taskComplete     = "session.task_complete"
	abort            = "abort"
	// VS Code's record of a request, which Copilot does not keep.
	assistantUsage = "assistant.usage"
)

// idle are the rows that say nothing of the work, or what others say.
const idle = " session.info session.warning session.idle session.truncation session.compaction_start session.compaction_complete session.import_legacy" +
	" session.mode_changed session.plan_changed session.title_changed session.workspace_file_changed session.context_changed session.handoff" +
	" session.snapshot_rewind session.usage_info assistant.turn_start assistant.turn_end assistant.intent assistant.reasoning" +
	" tool.user_requested subagent.configured subagent.selected subagent.deselected system.message system.notification permission.requested" +
	" permission.completed skill.invoked "

// finish is the tool by which the model ends its turn in autopilot.
const finish = "task_complete"

// row is one line of a session's file; data aliases the line. Where versions around 1.0.10
// do not name the agent, it has the id of the call that started it.
type row struct {
	kind, agent string
	at          time.Time
	data        rawjson.Object
	id          string
}

// Parse implements transcript.Row.
func (r *row) Parse(line []byte) bool {
	o := rawjson.Members(line)
	*r = row{o.Text("type"), o.Text("agentId"), transcript.ISOTime(o.Text("timestamp")), o.Members("data"), o.Text("id")}
	if r.agent == "" {
		name := "parentToolCallId"
		if strings.HasPrefix(r.kind, "subagent.") {
			name = "toolCallId"
		}
		r.agent = r.data.Text(name)
	}
	return r.kind != "" && r.data != nil
}

// Time implements transcript.Row.
func (r *row) Time() time.Time { return r.at }

// Opens implements transcript.Row.
func (r *row) Opens() bool { return r.kind == userMessage && r.agent == "" && r.typed() }

// typed reports that a message is the user's: Copilot adds others to the conversation, such
// as instructions that it found, and in autopilot empty ones.
func (r *row) typed() bool {
	if source := r.data.Text("source"); source != "" && source != "user" {
		return false
	}
	text := strings.TrimSpace(r.data.Text("content"))
	attached, _ := r.data.Elements("attachments")
	return (text != "" || len(attached) > 0) && !strings.HasPrefix(text, "<system_notification>") && !strings.HasPrefix(text, "<system_reminder>")
}

// log gathers what the file of a session says.
type log struct {
	*transcript.Log
	// end is how the current turn seems to have ended, nil while it is open. prompted
	// reports that the session has had a turn.
	end      *hook.TurnEnd
	prompted bool
	// caughtUp reports that the file has the end of the hooks at the turn's end. stopped
	// is when these were called. refused reports that one refused the end, so that the
	// next prompt is its answer, unless the session or the turn ends before.
	caughtUp bool
	stopped  time.Time
	refused  bool
	// requests are the places of the requests, by agent and id.
	requests map[agentKey]int
	// input is when an agent was last given something, worked when one last answered.
	input  map[string]time.Time
	worked time.Time
	// opened is the place of the first request since the session was opened, recorded
	// reports that a request since then has a record of its tokens, records that any has.
	opened int
	// shut is when the session ended last.
	shut              time.Time
	checkouts         hook.Checkouts
	recorded, records bool
	// started are the places of the subagents, by id, callers their ids by the calls that
	// started them.
	started map[string]int
	callers map[string]string
	// unread is what is not known.
	unread []hook.Unread
	// parts are the messages that were read, and the requests that have no record.
	parts map[agentKey]bool

	clock               transcript.Clock
	version, cwd, model string
	// editor reports that VS Code wrote the file.
	editor bool
	last   time.Time
}

// agentKey is the id of something of one agent.
type agentKey struct{ agent, id string }

func newLog(maxText int) *log {
	return &log{
		Log: transcript.NewLog(maxText), requests: make(map[agentKey]int), started: make(map[string]int),
		input: make(map[string]time.Time), callers: make(map[string]string), parts: make(map[agentKey]bool),
	}
}

// transcript is what the rows come to.
func (l *log) transcript(f *transcript.Files, q transcript.Query) (*hook.Transcript, error) {
	late := !l.caughtUp && !l.editor && !hook.Elapsed(f.Now(), l.last, transcript.PendingAge)
	l.flush()
	if q.Full || q.Whole != nil {
		l.Leave(hook.ToolUnknown, time.Time{})
	}
	t, err := l.Transcript(q)
	t.HostVersion, t.Cwd, t.Model, t.Pending, t.Undecided = l.version, l.cwd, l.model, late, late
	t.Unread = append(t.Unread, l.unread...)
	t.Moves, t.Checkouts = l.Moves.Sorted(l.cwd), l.checkouts
	t.DoubtCheckouts()
	return t, err
}

// checkedOut takes what was checked out where a session began.
func (l *log) checkedOut(at time.Time, in rawjson.Object) {
	if in.Text("gitRoot") == "" {
		return
	}
	c := hook.Checkout{At: at, Repository: hook.Repository{Branch: hook.PlainWord(in.Text("branch")), Revision: hook.PlainWord(in.Text("headCommit"))}}
	c.Repository.Name, _ = hook.RepositoryAt(in.Text("repository"))
	l.checkouts.Add(c)
}

// add adds the next row.
func (l *log) add(r *row) {
	if l.Again("", r.id, r.at) {
		return
	}
	r.at = l.clock.At(r.at, r.Opens())
	if r.at.After(l.last) {
		l.last = r.at
	}
	d := r.data
	if r.kind == agentStarted {
		l.callers[d.Text("toolCallId")], l.input[r.agent] = r.agent, r.at
	}
	r.agent = cmp.Or(l.callers[r.agent], r.agent)
	switch r.kind {
	case sessionStart, sessionResume:
		l.version = cmp.Or(d.Text("vscodeVersion", "copilotVersion"), l.version)
		l.editor = d.Text("vscodeVersion") != ""
		l.cwd = cmp.Or(d.Members("context").Text("cwd"), l.cwd)
		l.Moves.Add("", r.at, l.cwd)
		l.checkedOut(r.at, d.Members("context"))
		l.model = cmp.Or(d.Text("selectedModel"), l.model)
		l.opened, l.recorded = len(l.Calls), false
	case modelChange:
		l.model = cmp.Or(d.Text("newModel"), l.model)
	case userMessage:
		l.addPrompt(r)
	case usageRecord, assistantUsage:
		l.addUsage(r)
	case assistantMessage:
		l.addAnswer(r)
	case toolStart:
		l.ask(r, "toolName")
	case toolComplete:
		l.input[r.agent] = r.at
		l.addResult(r)
	case agentStarted:
		if _, again := l.started[r.agent]; !again {
			l.started[r.agent] = len(l.Agents)
		}
		l.Agents = append(l.Agents, hook.Subagent{ID: r.agent, Type: d.Text("agentName"), CallID: d.Text("toolCallId"), Start: r.at})
	case agentCompleted, agentFailed:
		if a := l.subagent(r.agent); a != nil {
			a.End, a.Failure = r.at, d.Text("error")
		}
	case hookStart, hookEnd:
		l.addHook(r)
	case taskComplete:
		if r.agent == "" {
			l.complete(r.at, d.Text("summary"))
		}
	case sessionShutdown:
		l.shutDown(r)
	case sessionError:
		l.fail(r)
	case abort:
		l.Leave(hook.ToolCancelled, r.at) // what was running
		l.caughtUp, l.refused = true, false
		l.end = &hook.TurnEnd{At: r.at, Kind: hook.KindSessionEnd, Message: "interrupted by the user"}
	default:
		if !strings.Contains(idle, " "+r.kind+" ") {
			l.Meet(r.kind, r.at, d)
		}
	}
	l.Shrink()
}

func (l *log) shutDown(r *row) {
	if !r.at.Equal(l.shut) { // the row may be there again
		l.addMetrics(r)
	}
	l.shut, l.caughtUp, l.refused = r.at, true, false
}

// fail ends a turn with an error. Others are of the program: servers that do not start, a list that
// does not load.
func (l *log) fail(r *row) {
	answered := l.end != nil && l.end.Kind == hook.KindRunComplete
	kind := r.data.Text("errorType")
	if r.agent == "" && l.prompted && !answered && kind != "mcp" && kind != "model" {
		l.caughtUp = true
		l.end = &hook.TurnEnd{At: r.at, Kind: hook.KindRunError, Message: r.data.Text("message"), ErrorType: kind}
	}
}

// addHook adds a row about the hooks at the end of a turn or of the session.
func (l *log) addHook(r *row) {
	d := r.data
	switch name := d.Text("hookType"); {
	case r.agent != "":
	case r.kind == hookStart && name == "sessionEnd":
		l.caughtUp = true
	case r.kind == hookStart && name == "agentStop":
		// The hooks' payload has this time.
		if l.stopped = l.clock.Move(rawjson.Instant(d.Members("input").Get("timestamp"))); l.stopped.IsZero() {
			l.stopped = r.at
		}
	case name == "agentStop" && d.Members("output").Text("decision") == "block":
		l.end, l.refused, l.caughtUp = nil, true, false
		l.Ends = append(l.Ends, hook.TurnEnd{At: l.stopped, Kind: hook.KindRunResume})
	case name == "agentStop":
		l.caughtUp = true
	}
}

// subagent is one that has been started, or nil.
func (l *log) subagent(id string) *hook.Subagent {
	if i, ok := l.started[id]; ok {
		return &l.Agents[i]
	}
	return nil
}

func (l *log) addPrompt(r *row) {
	text := l.Texts.Keep(r.data.Text("content"))
	l.input[r.agent] = r.at
	if r.agent != "" {
		if a := l.subagent(r.agent); a != nil && a.Task == "" {
			a.Task = text
		}
		return
	}
	l.caughtUp = false
	if !l.refused && !r.typed() {
		return
	}
	l.flush()
	l.prompted = true
	l.Prompts = append(l.Prompts, hook.Prompt{At: r.at, Text: text, Injected: l.refused})
	l.refused = false
}

// flush counts the end of the current turn.
func (l *log) flush() {
	if l.end != nil {
		l.Ends = append(l.Ends, *l.end)
	}
	l.end = nil
}

// ask notes a call that the model made, the name of which is the member name.
func (l *log) ask(r *row, name string) {
	arguments := r.data.Get("arguments")
	if text := []byte(rawjson.Text(arguments)); rawjson.Members(text) != nil { // VS Code's are a text
		arguments = text
	}
	l.Ask(hook.ToolResult{ID: r.data.Text("toolCallId"), Agent: r.agent, Name: r.data.Text(name), Input: rawjson.Canonical(arguments), Asked: r.at})
}

func (l *log) addAnswer(r *row) {
	d := r.data
	text := d.Text("content")
	calls, _ := d.Elements("toolRequests")
	l.worked = r.at
	i, ok := l.requests[agentKey{r.agent, d.Text("apiCallId")}]
	delete(l.requests, agentKey{r.agent, ""})
	if !ok && !l.recorded {
		i, ok = len(l.Calls), true
		l.addUnrecorded(r)
	}
	if ok {
		l.addPart(i, text, d)
	}
	for _, raw := range calls {
		call := rawjson.Members(raw)
		id := call.Text("toolCallId")
		if ok && id != "" && !slices.Contains(l.Calls[i].ToolCallIDs, id) {
			l.Calls[i].ToolCallIDs = append(l.Calls[i].ToolCallIDs, id)
		}
		if _, started := l.Asked[transcript.CallKey{Agent: r.agent, ID: id}]; !started && id != "" {
			l.ask(&row{agent: r.agent, at: r.at, data: call}, "name")
		}
	}
	if r.agent != "" {
		if a := l.subagent(r.agent); a != nil && text != "" {
			a.Result = l.Texts.Keep(text)
		}
		return
	}
	l.end = nil
	if len(calls) == 0 {
		l.complete(r.at, text)
	}
}

// addPart adds one of the messages of a request's answer, each of which has its part of the
// tokens where there is no record.
func (l *log) addPart(i int, text string, d rawjson.Object) {
	c := &l.Calls[i]
	if message := (agentKey{c.Agent, "message " + d.Text("messageId")}); d.Text("messageId") != "" {
		if l.parts[message] {
			return
		}
		l.parts[message] = true
	}
	l.Texts.Drop(len(c.Text))
	c.Text = l.Texts.Keep(hook.Lines(c.Text, text))
	if n, ok := rawjson.Float(d.Get("outputTokens")); ok && l.parts[agentKey{c.Agent, c.ID}] {
		if c.Usage == nil {
			c.Usage = &hook.Usage{InputIncludesCache: true, InputUnknown: true}
		}
		c.Usage.Output += transcript.Tokens(&n)
	}
}

// complete notes that the turn has ended, unless more comes.
func (l *log) complete(at time.Time, result string) {
	l.end = &hook.TurnEnd{At: at, Kind: hook.KindRunComplete, Result: l.Texts.Keep(result)}
}

// addResult adds a call that has ended.
func (l *log) addResult(r *row) {
	d := r.data
	id := d.Text("toolCallId")
	res := l.Asked[transcript.CallKey{Agent: r.agent, ID: id}]
	res.ID, res.Agent, res.At, res.Status = id, r.agent, r.at, hook.ToolOK
	failure := d.Members("error")
	text, code := copilot.Output(d.Members("result").Text("content"))
	success, said := rawjson.Bool(d.Get("success"))
	switch exit, ok := rawjson.Int(d.Members("shellExecution").Get("exitCode")); {
	case failure.Text("code") == "denied", failure.Text("code") == "rejected": // by a rule or a hook, by the user
		res.Status = hook.ToolDenied
	case failure != nil, said && !success, ok && exit != 0, code != "" && code != "0":
		res.Status = hook.ToolFailed
	case !said:
		res.Status = hook.ToolUnknown
	}
	if r.agent == "" && res.Name == finish && success {
		l.complete(r.at, cmp.Or(rawjson.Members([]byte(res.Input)).Text("summary"), text))
	}
	l.Answer(res, cmp.Or(text, failure.Text("message")))
}

// addEvents adds the events of Copilot's hooks.
func addEvents(b *transcript.EventBuilder, _ string) {
	for _, p := range b.Transcript.Prompts {
		if !p.Injected { // the turn continues
			b.Add(p.At, hook.Event{Kind: hook.KindPrompt, Name: "userPromptSubmitted", Prompt: p.Text})
		}
	}
	b.AddTools(nil)
	b.AddAgents("subagentStart", "subagentStop", nil)
	b.AddEnds(map[hook.Kind]string{hook.KindRunComplete: "agentStop", hook.KindRunError: "errorOccurred", hook.KindSessionEnd: "abort"}, nil)
}

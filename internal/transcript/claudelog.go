package transcript

import (
	"cmp"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// claudeBuild gathers what the files of one session say.
type claudeBuild struct {
	session string
	prices  *priceList
	texts   textBudget
	calls   claudeCalls
	results []hook.ToolResult
	prompts []hook.Prompt
	ends    turnEnds
	// words are the few words that stand in every row, once each.
	words map[string]string
	// spawns are the calls that started the agents, by agent.
	spawns map[string]spawn
	// callers are the agents that made calls somebody asks for; the keys are
	// there before the files are read.
	callers map[string]*string

	version, cwd string
	// lastTime is the newest row's of the conversation with the user.
	lastTime time.Time
}

func newClaudeBuild(session string, prices *priceList, maxText int) *claudeBuild {
	return &claudeBuild{
		session: session,
		prices:  prices,
		texts:   textBudget{max: maxText},
		words:   make(map[string]string),
		spawns:  make(map[string]spawn),
		callers: make(map[string]*string),
	}
}

// word is s, in the memory of the same word seen before.
func (b *claudeBuild) word(s string) string {
	if w, ok := b.words[s]; ok {
		return w
	}
	// What comes in more forms than this is no word.
	if len(b.words) < 1000 {
		b.words[s] = s
	}
	return s
}

// spawn is the call that started an agent, and who made it.
type spawn struct{ call, agent string }

// claudeLog reads the rows of one file in order.
type claudeLog struct {
	b *claudeBuild
	// agent is the subagent whose file it is; empty for the lead's.
	agent string

	turn     string
	mode     string
	asked    time.Time // the newest user row's
	last     time.Time // the newest row's
	tools    map[string]toolUse
	requests requestRing
	// refused are the results since the last answer that the user may have cut
	// short rather than refused, and failures, by place in the build.
	refused []int
	// command is the place of a command's prompt plus one, until a row shows
	// whether it was for the model.
	command int
	wasOpen bool
	// copied says that the file began with rows of another session.
	copied bool

	// first is the first row's time, task and opened the first prompt and its
	// turn; words, stop and active are the last answer's text, why it stopped,
	// and the newest row's time. They are a subagent's life.
	first, active time.Time
	task, opened  string
	words, stop   string
	// kind is the agent's type as its answers name it.
	kind string
}

// claudeRequest is a request as Claude Code noted it before sending.
type claudeRequest struct {
	id, model string
	at        time.Time
}

// requestRing holds the newest requests. Answers follow their requests closely;
// those that never got one must not pile up.
type requestRing struct {
	kept [32]claudeRequest
	n    int
}

func (r *requestRing) add(q claudeRequest) {
	r.kept[r.n%len(r.kept)] = q
	r.n++
}

// byID returns a request, the zero one if it is not there.
func (r *requestRing) byID(id string) claudeRequest {
	for _, q := range r.kept {
		if id != "" && q.id == id {
			return q
		}
	}
	return claudeRequest{}
}

// newest returns the newest request since a moment, the zero one if there is
// none.
func (r *requestRing) newest(since time.Time) claudeRequest {
	if r.n == 0 {
		return claudeRequest{}
	}
	q := r.kept[(r.n-1)%len(r.kept)]
	if q.at.Before(since) {
		return claudeRequest{}
	}
	return q
}

// add takes in the next row.
func (l *claudeLog) add(r *claudeRow) {
	switch {
	case r.is("assistant"), r.is("user"), r.is("system"):
	case r.is("api-request"):
		l.requests.add(claudeRequest{id: rawString(r.id), model: rawString(member(r.params, "model")), at: r.at})
		return
	case r.is("attachment"):
		l.addQueued(r)
		return
	default:
		return
	}
	if r.copied(l.b.session) {
		l.forget(r.at)
		return
	}
	if id := rawString(r.session); id != "" && id != l.b.session {
		return
	}
	if r.at.IsZero() {
		r.at = l.last
	}
	l.last = r.at
	if l.agent == "" {
		l.b.version = cmp.Or(rawString(r.version), l.b.version)
		l.b.cwd = cmp.Or(rawString(r.cwd), l.b.cwd)
		if r.at.After(l.b.lastTime) {
			l.b.lastTime = r.at
		}
	}
	switch {
	case r.is("assistant"):
		l.live(r)
		l.addAnswer(r)
	case r.is("user"):
		l.live(r)
		l.addUser(r)
	default:
		l.addSystem(r)
	}
	if l.b.texts.over() {
		l.b.texts.shrink(l.b.calls.list, l.b.results, l.b.prompts, l.b.ends.found)
	}
}

// addQueued takes in what the user typed while the agent was at work: it is put
// before the model within the turn, as an attachment.
func (l *claudeLog) addQueued(r *claudeRow) {
	if !l.lead(r) || rawString(member(r.attachment, "type")) != "queued_command" ||
		rawString(r.session) != l.b.session || r.at.IsZero() {
		return
	}
	if mode := rawString(member(r.attachment, "commandMode")); mode != "" && mode != "prompt" {
		return
	}
	if text := rawString(member(r.attachment, "prompt")); text != "" {
		l.b.prompts = append(l.b.prompts, hook.Prompt{At: r.at, Text: l.b.texts.keep(text), Turn: l.turn})
	}
}

func (l *claudeLog) live(r *claudeRow) {
	if l.first.IsZero() {
		l.first = r.at
	}
	if r.at.After(l.active) {
		l.active = r.at
	}
}

// forget drops what the file has told up to a moment. A fork begins with a copy
// of the other session's rows, under this session's id and with their old
// times; only the answers say whose they are, and the rows before them are
// copies, too.
func (l *claudeLog) forget(until time.Time) {
	if l.agent != "" {
		return
	}
	b := l.b
	old := func(at time.Time, texts int) bool {
		if at.After(until) {
			return false
		}
		b.texts.kept -= texts
		return true
	}
	b.prompts = slices.DeleteFunc(b.prompts, func(p hook.Prompt) bool { return old(p.At, len(p.Text)) })
	b.results = slices.DeleteFunc(b.results, func(r hook.ToolResult) bool { return old(r.At, len(r.Input)+len(r.Text)) })
	b.ends.found = slices.DeleteFunc(b.ends.found, func(e hook.TurnEnd) bool { return old(e.At, 0) })
	b.ends.waiting, b.ends.open, b.ends.barred = false, false, false
	l.turn, l.refused, l.command, l.copied = "", l.refused[:0], 0, true
}

// lead reports that the row belongs to the conversation with the user.
func (l *claudeLog) lead(r *claudeRow) bool { return l.agent == "" && !r.sidechain }

// addAnswer takes in a row of a model's answer, or of what Claude Code put in
// the place of one.
func (l *claudeLog) addAnswer(r *claudeRow) {
	var id, model, stop string
	var blocks, usage []byte
	if !eachMember(r.message, func(key, value []byte) {
		switch string(key) {
		case "id":
			id = rawString(value)
		case "model":
			model = rawString(value)
		case "stop_reason":
			stop = rawString(value)
		case "content":
			blocks = value
		case "usage":
			usage = value
		}
	}) {
		return
	}
	request := rawString(r.request)
	id = cmp.Or(id, request, rawString(r.uuid))
	if id == "" {
		id = "req-" + msID(r.at)
	}
	c := decodeContent(blocks)
	if r.apiError {
		l.addFailure(r, id, c.text())
		return
	}
	if model == syntheticModel {
		return
	}
	l.refused, l.command = l.refused[:0], 0

	agent := cmp.Or(l.agent, rawString(r.agent))
	call, fresh := l.b.calls.at(id, request, agent, r.sidechain)
	if fresh {
		call.Turn = l.turn
		call.Provider = claudeProvider(id)
		call.Start = l.started(r)
	}
	if r.at.After(call.End) {
		call.End = r.at
	}
	if call.Start.IsZero() || call.Start.After(call.End) {
		call.Start = call.End
	}
	call.Model = cmp.Or(l.b.word(model), call.Model)
	call.FinishReason = cmp.Or(l.b.word(stop), call.FinishReason)
	call.counts.add(usage, r.cost)
	if !call.seen(r.uuid) {
		if text := c.text(); text != "" {
			if call.Text != "" {
				l.b.texts.kept -= len(call.Text)
				text = call.Text + "\n" + text
			}
			call.Text = l.b.texts.keep(text)
		}
		l.addUses(r, call, c, agent)
	}
	if call.Text != "" {
		l.words = call.Text
	}
	l.stop = call.FinishReason
	l.kind = cmp.Or(rawString(r.agentType), l.kind)
	if l.lead(r) {
		l.b.ends.answer(call.Turn, id, stop, call.Text, r.at)
	}
}

// started is when the request was sent that a row answers: Claude Code notes it
// since 2.1.329; before, what the request answers is the nearest to know.
func (l *claudeLog) started(r *claudeRow) time.Time {
	if q := l.requests.byID(rawString(r.ref)); !q.at.IsZero() {
		return q.at
	}
	if !l.asked.IsZero() {
		return l.asked
	}
	return r.at
}

// addUses takes in the tool calls that a row asks for.
func (l *claudeLog) addUses(r *claudeRow, call *claudeCall, c content, agent string) {
	for _, b := range c {
		if b.Type != "tool_use" || b.ID == "" {
			continue
		}
		call.ToolCallIDs = append(call.ToolCallIDs, b.ID)
		if l.tools == nil {
			l.tools = make(map[string]toolUse)
		}
		l.tools[b.ID] = toolUse{name: l.b.word(b.Name), input: b.Input, turn: l.turn, at: r.at}
		if caller, wanted := l.b.callers[b.ID]; wanted && caller == nil {
			l.b.callers[b.ID] = &agent
		}
	}
}

// addFailure takes in a request that failed for good: a call without usage.
func (l *claudeLog) addFailure(r *claudeRow, id, text string) {
	name, detail := rawString(r.errorName), rawString(r.errorType)
	call, fresh := l.b.calls.at(id, rawString(r.request), cmp.Or(l.agent, rawString(r.agent)), r.sidechain)
	if fresh {
		call.Turn = l.turn
		call.Provider = claudeProvider(id)
		call.Start = l.asked
		call.Model = l.requests.newest(l.asked).model
		call.Error = cmp.Or(name, detail, "unknown")
		if call.Error == "unknown" {
			call.Error = cmp.Or(detail, call.Error)
		}
		call.Message = text
	}
	call.End = r.at
	if call.Start.IsZero() || call.Start.After(call.End) {
		call.Start = call.End
	}
	if l.lead(r) {
		l.b.ends.failure(id, hook.TurnEnd{
			Turn: l.turn, At: r.at, Kind: hook.KindRunError, Message: text, ErrorType: cmp.Or(name, detail, "unknown"),
		})
	}
}

// addUser takes in a row that the model gets to read: tools' results, a prompt,
// or what Claude Code has to say.
func (l *claudeLog) addUser(r *claudeRow) {
	l.turn = cmp.Or(rawString(r.prompt), l.turn)
	l.asked = r.at
	c := r.messageContent()
	text, kind := r.userText(c)
	lead := l.lead(r)
	switch kind {
	case textNone:
		l.addResults(r, c)
	case textPrompt, textCommand:
		l.mode = cmp.Or(rawString(r.mode), l.mode)
		if l.opened == "" && l.task == "" {
			l.opened, l.task = l.turn, text
		}
		if !lead {
			return
		}
		l.wasOpen = l.b.ends.open
		if kind == textPrompt {
			l.b.ends.prompt(l.turn)
			l.refused = l.refused[:0]
		}
		l.b.prompts = append(l.b.prompts, hook.Prompt{
			At: r.at, Text: l.b.texts.keep(text), Turn: rawString(r.prompt), Injected: r.injected(),
		})
		l.command = 0
		if kind == textCommand {
			l.command = len(l.b.prompts)
		}
	case textInterrupt:
		l.interrupt()
		if lead {
			l.b.ends.interrupted(l.turn, text, r.at)
		}
	case textFeedback:
		if lead {
			l.b.ends.blocked(l.turn, text, r.at)
		}
	}
}

func (l *claudeLog) addResults(r *claudeRow, c content) {
	agent := cmp.Or(l.agent, rawString(r.agent))
	for _, b := range c {
		if b.Type != "tool_result" || b.ToolUseID == "" {
			continue
		}
		use, known := l.tools[b.ToolUseID]
		if !known && l.copied {
			continue // the call was made in the other session
		}
		delete(l.tools, b.ToolUseID)
		text := claudeResultText(b.Content)
		status, asked := toolStatus(r, b.IsError, text)
		l.b.results = append(l.b.results, hook.ToolResult{
			ID:     b.ToolUseID,
			Agent:  agent,
			Turn:   cmp.Or(use.turn, l.turn),
			Name:   use.name,
			Input:  l.b.texts.keepJSON(canonicalJSON(use.input)),
			Text:   l.b.texts.keep(text),
			Status: status,
			Asked:  use.at,
			At:     r.at,
		})
		if status == hook.ToolFailed || status == hook.ToolDenied && !asked && wasRunning(rawString(r.version), l.mode) {
			l.refused = append(l.refused, len(l.b.results)-1)
		}
		if len(r.result) > 0 && r.result[0] == '{' {
			if id := rawString(member(r.result, "agentId")); id != "" {
				l.b.spawns[id] = spawn{b.ToolUseID, agent}
			}
		}
	}
	if l.lead(r) && len(c) > 0 {
		l.b.ends.open = true
	}
}

// interrupt marks the calls whose results the user's interruption is.
func (l *claudeLog) interrupt() {
	for _, i := range l.refused {
		if res := &l.b.results[i]; res.Turn == l.turn {
			res.Status = hook.ToolCancelled
		}
	}
	l.refused = l.refused[:0]
}

func (l *claudeLog) addSystem(r *claudeRow) {
	if !l.lead(r) {
		return
	}
	switch rawString(r.subtype) {
	case "stop_hook_summary", "turn_duration":
		l.b.ends.stopped(r.at)
	case "local_command":
		// The command was Claude Code's own and no prompt.
		if l.command > 0 && l.command == len(l.b.prompts) {
			l.b.prompts = l.b.prompts[:l.command-1]
			l.b.ends.open = l.wasOpen
		}
		l.command = 0
	}
}

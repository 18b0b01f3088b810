package claude

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// build gathers what the files of one session say.
type build struct {
	session string
	texts   transcript.Texts
	// whole is Query.Whole.
	whole   func(id, name string) bool
	calls   responses
	results []hook.ToolResult
	prompts []hook.Prompt
	ends    turnEnds
	// spawns are the calls that started the agents, by agent.
	spawns map[string]spawn
	// callers are the agents that made the calls that started an agent. The
	// keys are set before the files are read.
	callers map[string]*string

	// others has the rows that other sessions count.
	others others
	// shown are hashes of the conversation's rows, true for those of the lead agent; nil
	// for a session without subagents.
	shown map[uint64]bool

	// told are hashes of the results that were read.
	seed maphash.Seed
	told map[uint64]bool

	// damaged are the lines of which something could not be read.
	damaged      int
	version, cwd string
	branch       string
	// lastTime is the newest row's of the conversation with the user.
	lastTime time.Time
}

func newBuild(session string, maxText int) *build {
	return &build{
		session: session,
		texts:   transcript.Texts{Max: maxText},
		spawns:  make(map[string]spawn),
		callers: make(map[string]*string),
		seed:    maphash.MakeSeed(),
		told:    make(map[uint64]bool),
	}
}

// repeats reports that a result was read before: a session that is resumed may begin
// with the rows that its file has already, and an agent's file with the conversation.
func (b *build) repeats(id string, at time.Time) bool {
	told := maphash.Comparable(b.seed, [2]any{id, at.UnixNano()})
	repeats := b.told[told]
	b.told[told] = true
	return repeats && id != "" && !at.IsZero()
}

// owns reports that a subagent's file beside the session's own, mine, is of the session:
// its rows have the session's id, or that of the rows of the first file of a session
// that has none of its name.
func (b *build) owns(agent, mine *head, all *project) bool {
	if agent.session == b.session {
		return true
	}
	if agent.session == "" || agent.session != mine.session || b.others.exists(agent.session) {
		return false
	}
	first := slices.IndexFunc(all.sessions, func(h head) bool { return h.session == mine.session })
	return first >= 0 && all.sessions[first].path == mine.path
}

// shownBefore reports that a subagent's row is a copy of one of the conversation that it was
// asked about.
func (l *fileLog) shownBefore(r *row) bool {
	b := l.b
	if b.shown == nil || r.kind != "user" && r.kind != "assistant" || r.at.IsZero() {
		return false
	}
	id := maphash.Comparable(b.seed, [3]any{r.kind, r.at.UnixNano(), maphash.Bytes(b.seed, rawjson.Member(r.message, "content"))})
	lead, known := b.shown[id]
	if known && l.agent != "" && (lead || l.copier) {
		return true
	}
	b.shown[id] = lead || l.agent == "" && !r.sidechain
	return l.copier && r.at.Before(b.others.since)
}

// moved notes the working directory of a session's file among several, which the rows
// say that no file before it has.
func (b *build) moved(t *hook.Transcript, l *fileLog) {
	if !l.first.IsZero() && b.cwd != "" {
		t.Moves = append(t.Moves, hook.Move{At: l.first, Cwd: b.cwd})
	}
	l.first = time.Time{}
	b.ends.flush()
}

// eachText visits the texts that are kept.
func (b *build) eachText(text, input func(*string)) {
	for _, c := range b.calls.list {
		text(&c.Text)
	}
	for i := range b.results {
		text(&b.results[i].Text)
		input(&b.results[i].Input)
	}
	for i := range b.prompts {
		text(&b.prompts[i].Text)
	}
	for i := range b.ends.found {
		text(&b.ends.found[i].Result)
	}
}

// word is s, in the memory of the same word seen before.
func word(s string) string { return unique.Make(s).Value() }

// spawn is the call that started an agent, and who made it.
type spawn struct{ call, agent string }

// fileLog reads the rows of one file in order.
type fileLog struct {
	b *build
	// agent is the subagent whose file it is; empty for the lead's.
	agent string
	path  string

	turn     string
	turns    rowTurns
	mode     string
	asked    time.Time // the newest user row's
	last     time.Time // the newest row's
	tools    map[string]toolUse
	requests []request
	// refused are the results since the last answer, by index in the build,
	// that failed, or that the user may have interrupted rather than refused.
	refused []int
	// command is the place of a command's prompt plus one, until a row shows
	// whether it was for the model.
	command int
	wasOpen bool
	// queue are the prompts that wait for the agent, removed and attached the newest that it
	// got, as the queue and as an attachment have it.
	queue             []string
	removed, attached string
	// broke is when the user interrupted the turn that the next prompt follows.
	broke time.Time
	// begun says that there was a prompt or an answer.
	begun bool
	// copier is set for an agent whose file begins with rows of the conversation.
	copier bool
	// rows are the ids of the rows of an agent's several files, nil if there is one.
	rows map[string]bool
	// chains are the subagents by the rows of the session's own file that are theirs, sides
	// their logs in the order of their beginnings. in is the file's log for one of them.
	chains rowTurns
	sides  []*fileLog
	in     *fileLog
	// meta is what is known of such a subagent.
	meta agentMeta
	// copied says that the file began with rows of another session.
	copied bool

	// first is the first row's time, task and opened the first prompt and its
	// turn; words, stop and active are the last answer's text, why it stopped,
	// and the newest row's time. They are a subagent's life.
	first, active time.Time
	task, opened  string
	words, stop   string
	// done reports that the newest row is an answer that does not say why it stopped, and
	// that asks for no call.
	done bool
	// kind is the agent's type as its answers name it.
	kind string
}

// request is a request as Claude Code noted it before sending.
type request struct {
	id, model string
	at        time.Time
}

// maxQueued bounds the prompts that wait.
const maxQueued = 32

// maxRequests bounds the requests that are kept. Answers follow their requests
// closely; requests without an answer must not pile up.
const maxRequests = 32

// request returns the request with an id, the zero one if it is not there.
func (l *fileLog) request(id string) request {
	i := slices.IndexFunc(l.requests, func(q request) bool { return q.id == id })
	if i < 0 || id == "" {
		return request{}
	}
	return l.requests[i]
}

// rowTurns are the turns of the newest rows, by the rows' own ids: two terminals on one
// session write their rows into one file, each after rows of the other.
type rowTurns struct{ newer, older map[string]string }

// maxRowTurns bounds the rows of rowTurns, of which twice as many are kept.
const maxRowTurns = 4096

func (t *rowTurns) of(uuid string) (turn string, ok bool) {
	if turn, ok = t.newer[uuid]; !ok {
		turn, ok = t.older[uuid]
	}
	return turn, ok
}

func (t *rowTurns) note(uuid, turn string) {
	if uuid == "" {
		return
	}
	if t.newer == nil || len(t.newer) == maxRowTurns {
		t.newer, t.older = make(map[string]string), t.newer
	}
	t.newer[uuid] = turn
}

// add adds the next row. Its turn is that of the row that it follows.
func (l *fileLog) add(r *row) {
	if side := l.side(r); side != nil {
		side.addRow(r)
		return
	}
	if turn, ok := l.turns.of(r.text("parentUuid")); ok {
		l.turn = turn
	}
	l.addRow(r)
	l.turns.note(r.text("uuid"), l.turn)
}

// side returns the log of the subagent that a row of the session's own file is of, nil
// for none: until some version of 1.0 subagents had no files, and the rows of each follow
// one another from its prompt on.
func (l *fileLog) side(r *row) *fileLog {
	if l.agent != "" || !r.sidechain || r.text("agentId") != "" {
		return nil
	}
	id, uuid := "", r.text("uuid")
	if parent := r.text("parentUuid"); parent != "" {
		id, _ = l.chains.of(parent)
	} else if r.opensTurn() {
		id = uuid
	}
	if id == "" {
		return nil
	}
	l.chains.note(uuid, id)
	i := slices.IndexFunc(l.sides, func(side *fileLog) bool { return side.agent == id })
	if i < 0 {
		i = len(l.sides)
		l.sides = append(l.sides, &fileLog{b: l.b, in: l, agent: id, turn: l.turn, rows: l.rows, meta: l.started(r)})
	}
	l.sides[i].path = l.path
	return l.sides[i]
}

// started returns what the call says that started the subagent with a prompt: the first
// one with this prompt that has no subagent yet.
func (l *fileLog) started(r *row) (m agentMeta) {
	prompt := strings.TrimSpace(r.content().Text())
	line := 0
	for id, use := range l.tools {
		input := rawjson.Members([]byte(use.input))
		if strings.TrimSpace(input.Text("prompt")) != prompt || line > 0 && use.line > line ||
			slices.ContainsFunc(l.sides, func(side *fileLog) bool { return side.meta.ToolUseID == id }) {
			continue
		}
		line = use.line
		m = agentMeta{ToolUseID: id, AgentType: input.Text("subagent_type"), Description: input.Text("description")}
	}
	return m
}

func (l *fileLog) addRow(r *row) {
	var take func(*row)
	switch r.kind {
	case "assistant":
		take = l.addAnswer
	case "user":
		take = l.addUser
	case "system":
		take = l.addSystem
	case "api-request":
		if len(l.requests) == maxRequests {
			l.requests = slices.Delete(l.requests, 0, 1)
		}
		l.requests = append(l.requests, request{id: r.text("id"), model: r.in("params", "model"), at: r.at})
		return
	case "attachment", "queue-operation":
		l.addQueued(r)
		return
	default:
		return
	}
	if r.copied(l.b.session) && l.b.others.exists(r.copiedFrom(l.b.session)) {
		l.b.others.note(r)
		l.forget(r.at)
		return
	}
	if l.elsewhere(r) {
		return
	}
	if r.at.IsZero() {
		r.at = l.last
	}
	l.last = r.at
	if l.agent == "" {
		l.b.version = cmp.Or(r.text("version"), l.b.version)
		l.b.cwd = cmp.Or(r.text("cwd"), l.b.cwd)
		if branch := r.text("gitBranch"); branch != "" && branch != "HEAD" { // which means none
			l.b.branch = word(branch)
		}
		if r.at.After(l.b.lastTime) {
			l.b.lastTime = r.at
		}
	}
	if r.kind != "system" {
		if l.first.IsZero() {
			l.first = r.at
		}
		if r.at.After(l.active) {
			l.active = r.at
		}
	}
	take(r)
	if l.b.texts.Over() {
		l.b.texts.Shrink(l.b.eachText)
	}
}

// elsewhere reports that the row is counted elsewhere: in another session's file, another
// file of this one, or the conversation that an agent was asked about.
func (l *fileLog) elsewhere(r *row) bool {
	if (l.agent == "" || l.in != nil) && l.b.others.has(r, l.b.session) {
		l.b.others.note(r)
		return true
	}
	if l.shownBefore(r) {
		return true
	}
	id := r.text("uuid")
	if l.rows == nil || id == "" {
		return false
	}
	known := l.rows[id]
	l.rows[id] = true
	return known
}

// addQueued adds what the user typed while the agent was at work: the model gets it within
// the turn, as an attachment. Versions around 2.1.50 only note that it was queued, and that
// it was taken from there; what is taken for a turn of its own has a row then.
func (l *fileLog) addQueued(r *row) {
	if !l.lead(r) || r.at.IsZero() || l.elsewhere(r) {
		return
	}
	text := ""
	switch r.text("operation") {
	case "enqueue":
		l.queue = append(l.queue[max(0, len(l.queue)-maxQueued+1):], r.text("content"))
	case "popAll":
		l.queue = nil
	case "dequeue", "remove":
		if len(l.queue) > 0 {
			text, l.queue = l.queue[0], l.queue[1:]
		}
		if r.text("operation") == "dequeue" {
			return
		}
		text, l.removed, l.attached = other(text, l.attached)
	default:
		mode := r.in("attachment", "commandMode")
		if r.in("attachment", "type") != "queued_command" || mode != "" && mode != "prompt" {
			return
		}
		text = r.in("attachment", "prompt")
		text, l.attached, l.removed = other(text, l.removed)
	}
	if text == "" || claude.Injected(text) {
		return
	}
	l.b.prompts = append(l.b.prompts, hook.Prompt{At: r.at, Text: l.b.texts.Keep(text), Turn: l.turn, Queued: true})
}

// other returns a queued prompt, unless it is the one that was noted the other way: later
// versions note both. Then come the newest prompts that were noted one way only.
func other(text, noted string) (fresh, own, left string) {
	if text != "" && text == noted {
		return "", "", ""
	}
	return text, text, noted
}

// forget drops what the file has given up to a time. A fork begins with a copy
// of the other session's rows, under this session's id and with their old
// times; only the answers name their session, and the rows before them are
// copies too.
func (l *fileLog) forget(until time.Time) {
	if l.agent != "" {
		return
	}
	b := l.b
	old := func(at time.Time, texts int) bool {
		if at.After(until) {
			return false
		}
		b.texts.Drop(texts)
		return true
	}
	b.prompts = slices.DeleteFunc(b.prompts, func(p hook.Prompt) bool { return old(p.At, len(p.Text)) })
	b.results = slices.DeleteFunc(b.results, func(r hook.ToolResult) bool { return old(r.At, len(r.Input)+len(r.Text)) })
	b.ends.found = slices.DeleteFunc(b.ends.found, func(e hook.TurnEnd) bool { return old(e.At, 0) })
	b.ends.waiting, b.ends.open, b.ends.barred = false, false, false
	l.turn, l.refused, l.command, l.copied = "", l.refused[:0], 0, true
}

// lead reports that the row belongs to the conversation with the user.
func (l *fileLog) lead(r *row) bool { return l.agent == "" && !r.sidechain }

// addAnswer adds a row of a model's answer, or of what Claude Code wrote instead
// of one.
func (l *fileLog) addAnswer(r *row) {
	m := rawjson.Members(r.message)
	if m == nil {
		return
	}
	model, stop := rawjson.Unquote(m.Get("model")), rawjson.Unquote(m.Get("stop_reason"))
	request := r.text("requestId")
	id := cmp.Or(rawjson.Unquote(m.Get("id")), request, r.text("uuid"))
	if id == "" {
		id = transcript.TimeID("req-", r.at)
	}
	c := transcript.DecodeContent(m.Get("content"))
	failed := r.is("isApiErrorMessage")
	if model == syntheticModel && !failed {
		return
	}
	if l.command > 0 && l.lead(r) {
		l.b.ends.prompt(l.turn) // the command was for the model
	}
	l.command, l.begun = 0, true
	if failed {
		l.addFailure(r, id, claude.FailureText(c.Text()))
		return
	}
	l.refused = l.refused[:0]

	agent := cmp.Or(l.agent, r.text("agentId"))
	call, _ := l.response(r, id, request, agent)
	call.Model = cmp.Or(word(model), call.Model)
	call.ResponseModel = cmp.Or(word(model), call.ResponseModel)
	call.FinishReason = cmp.Or(word(stop), call.FinishReason)
	call.counts.add(m.Get("usage"), r.Get("costUSD"))
	if !call.seen(c) {
		if text := c.Text(); text != "" {
			if call.Text != "" {
				l.b.texts.Drop(len(call.Text))
				text = call.Text + "\n" + text
			}
			call.Text = l.b.texts.Keep(text)
		}
		if thought := c.Reasoning(); thought != "" {
			call.Reasoning = l.b.texts.Keep(hook.Lines(call.Reasoning, thought))
		}
		l.addUses(r, call, c, agent)
	}
	if call.Text != "" {
		l.words = call.Text
	}
	said, calls := c.Text() != "", slices.ContainsFunc(c, func(b transcript.Block) bool { return b.Type == "tool_use" })
	l.stop, l.done = call.FinishReason, stop == "" && said && !calls
	l.kind = cmp.Or(r.text("attributionAgent"), l.kind)
	if l.lead(r) {
		l.b.ends.answer(call.Turn, id, stop, call.Text, said, calls, r.at)
	}
}

// response returns the response that a row belongs to, extended to the row.
func (l *fileLog) response(r *row, id, request, agent string) (call *response, fresh bool) {
	call, fresh = l.b.calls.at(id, request, agent, r.sidechain)
	if fresh {
		call.Turn, call.Provider = l.turn, providerOf(id)
		// Claude Code records the sending of the request since 2.1.329; before,
		// the row that the request answers is the nearest.
		call.Start = l.request(r.text("requestRef")).at
		if call.Start.IsZero() {
			call.Start = l.asked
		}
	}
	if r.at.After(call.End) {
		call.End = r.at
	}
	if call.Start.IsZero() || call.Start.After(call.End) {
		call.Start = call.End
	}
	return call, fresh
}

// addUses adds the tool calls that a row asks for.
func (l *fileLog) addUses(r *row, call *response, c transcript.Content, agent string) {
	for _, b := range c {
		if b.Type != "tool_use" || b.ID == "" {
			continue
		}
		call.ToolCallIDs = append(call.ToolCallIDs, b.ID)
		if l.tools == nil {
			l.tools = make(map[string]toolUse)
		}
		l.tools[b.ID] = toolUse{name: word(b.Name), input: rawjson.Canonical(b.Input), turn: l.turn, agent: agent, at: r.at, line: r.line}
		if caller, wanted := l.b.callers[b.ID]; wanted && caller == nil {
			l.b.callers[b.ID] = &agent
		}
	}
}

// addFailure adds a request that failed for good: a call without usage.
func (l *fileLog) addFailure(r *row, id, text string) {
	name, detail := r.text("error"), r.text("apiErrorType")
	call, fresh := l.response(r, id, r.text("requestId"), cmp.Or(l.agent, r.text("agentId")))
	if fresh {
		if n := len(l.requests); n > 0 && !l.requests[n-1].at.Before(l.asked) {
			call.Model = l.requests[n-1].model
		}
		call.Error = cmp.Or(name, detail, "unknown")
		if name == "unknown" {
			call.Error = cmp.Or(detail, name)
		}
		call.Message = text
	}
	if l.lead(r) {
		l.b.ends.failure(id, hook.TurnEnd{
			Turn: l.turn, At: r.at, Kind: hook.KindRunError, Message: text, ErrorType: cmp.Or(name, detail, "unknown"),
		})
	}
}

// addUser adds a row that the model reads: tools' results, a prompt, or a text
// of Claude Code's.
func (l *fileLog) addUser(r *row) {
	l.turn = cmp.Or(r.text("promptId"), l.turn)
	c := r.content()
	text, kind := r.userText(c)
	l.asked, l.done = r.at, false
	lead := l.lead(r)
	switch kind {
	case textNone:
		l.addResults(r, c)
	case textPrompt, textCommand:
		l.begun = true
		l.follow(r)
		l.mode = cmp.Or(r.text("permissionMode"), l.mode)
		if l.opened == "" && l.task == "" {
			l.opened, l.task = l.turn, text
		}
		if !lead {
			return
		}
		l.dropCommand()
		l.wasOpen = l.b.ends.open
		if kind == textPrompt {
			l.b.ends.prompt(l.turn)
			l.refused = l.refused[:0]
		}
		l.b.prompts = append(l.b.prompts, hook.Prompt{
			At: r.at, Text: l.b.texts.Keep(text), Turn: r.text("promptId"), Injected: r.injected(text),
		})
		if kind == textCommand {
			l.command = len(l.b.prompts)
		}
	case textPrinted:
		if lead {
			l.dropCommand()
		}
	case textHost:
		if lead && r.host && !strings.HasPrefix(text, "<local-command-") {
			l.command = 0 // the command's text for the model
		}
	case textInterrupt:
		l.interrupt()
		l.command, l.broke = 0, r.at
		if lead && l.begun {
			l.b.ends.interrupted(l.turn, text, r.at)
		}
	case textFeedback:
		if lead {
			l.b.ends.blocked(l.turn, text, r.at)
		}
	}
}

// follow has a prompt come after the interruption that it follows. The order of the file
// counts: a plan that is accepted with a cleared context is dated a little earlier.
func (l *fileLog) follow(r *row) {
	if late := l.broke.Sub(r.at); late > 0 && late <= transcript.LineSlack &&
		!slices.ContainsFunc(l.b.prompts, func(p hook.Prompt) bool { return p.At.Equal(r.at) }) { // else it stands there again
		r.at, l.asked = l.broke, l.broke
	}
	l.broke = time.Time{}
}

func (l *fileLog) addResults(r *row, c transcript.Content) {
	agent := cmp.Or(l.agent, r.text("agentId"))
	for _, b := range c {
		if b.Type != "tool_result" || b.ToolUseID == "" {
			continue
		}
		use, known := l.tools[b.ToolUseID]
		if !known && (l.copied || l.agent == "" && !l.begun) {
			continue // the call was made in the other session
		}
		if l.b.whole != nil && !l.b.whole(b.ToolUseID, use.name) {
			delete(l.tools, b.ToolUseID)
			continue
		}
		delete(l.tools, b.ToolUseID)
		if l.b.repeats(b.ToolUseID, r.at) {
			continue
		}
		text := resultText(b.Content)
		status, asked := toolStatus(r, b.IsError, text)
		if b.IsError && l.b.whole == nil {
			text = claude.FailureText(text)
		}
		l.b.results = append(l.b.results, hook.ToolResult{
			ID:     b.ToolUseID,
			Agent:  agent,
			Turn:   cmp.Or(use.turn, l.turn),
			Name:   use.name,
			Input:  l.b.texts.KeepJSON(use.input),
			Text:   l.b.texts.Keep(text),
			Status: status,
			Asked:  use.at,
			At:     r.at,
		})
		if l.b.whole != nil {
			last := &l.b.results[len(l.b.results)-1]
			last.Input, last.Text, last.File, last.Row = use.input, text, l.path, r.line
		}
		if status == hook.ToolFailed || status == hook.ToolDenied && !asked && wasRunning(r.text("version"), l.mode) {
			l.refused = append(l.refused, len(l.b.results)-1)
		}
		if id := r.in("toolUseResult", "agentId"); id != "" {
			l.b.spawns[id] = spawn{b.ToolUseID, agent}
		}
	}
	if l.lead(r) && len(c) > 0 {
		l.b.ends.open = true
	}
}

// addUnanswered adds the calls that have no result, of which another file or row may have
// one.
func (b *build) addUnanswered(agents []subagent, lead *fileLog) {
	answered := make(map[string]bool, len(b.results))
	for i := range b.results {
		answered[b.results[i].ID] = true
	}
	logs := []*fileLog{lead}
	for i := range agents {
		logs = append(logs, agents[i].log)
	}
	for _, l := range logs {
		for _, id := range slices.Sorted(maps.Keys(l.tools)) {
			use := l.tools[id]
			if answered[id] || b.whole != nil && !b.whole(id, use.name) {
				continue
			}
			answered[id] = true
			r := hook.ToolResult{
				ID: id, Agent: use.agent, Turn: use.turn, Name: use.name, Input: use.input, Status: hook.ToolUnknown, Asked: use.at,
			}
			if b.whole != nil {
				r.File, r.Row = l.path, use.line
			} else {
				r.Input = b.texts.KeepJSON(r.Input)
			}
			b.results = append(b.results, r)
		}
	}
}

// interrupt marks the calls whose results are the user's interruption.
func (l *fileLog) interrupt() {
	for _, i := range l.refused {
		if res := &l.b.results[i]; res.Turn == l.turn {
			res.Status = hook.ToolCancelled
		}
	}
	l.refused = l.refused[:0]
}

func (l *fileLog) addSystem(r *row) {
	if !l.lead(r) {
		return
	}
	switch r.text("subtype") {
	case "stop_hook_summary", "turn_duration":
		l.b.ends.stopped(l.turn, r.at)
	case "local_command":
		l.dropCommand()
	}
}

// dropCommand drops the newest prompt if it is a command that Claude Code carried out
// itself: nothing was for the model.
func (l *fileLog) dropCommand() {
	if l.command > 0 && l.command == len(l.b.prompts) {
		l.b.prompts = l.b.prompts[:l.command-1]
		l.b.ends.open = l.wasOpen
	}
	l.command = 0
}

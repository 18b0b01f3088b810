package codex

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// row is one line of a rollout file. Its members alias the line.
type row struct {
	kind    string
	at      time.Time
	payload rawjson.Object
	// flat reports that the row is its own payload.
	flat bool
}

// Parse implements transcript.Row.
func (r *row) Parse(line []byte) bool {
	o := rawjson.Members(line)
	if o == nil {
		return false
	}
	*r = row{kind: o.Text("type"), at: transcript.ISOTime(o.Text("timestamp")), payload: o.Members("payload")}
	if r.payload == nil && o.Get("payload") == nil {
		r.flatten(o)
	}
	return r.payload != nil
}

// Time implements transcript.Row.
func (r *row) Time() time.Time { return r.at }

// Opens implements transcript.Row.
func (r *row) Opens() bool { return r.kind == "event_msg" && r.payload.Text("type") == "task_started" }

// session gathers what the files of one session say.
type session struct {
	*transcript.Log
	// spawned are the subagents in the order of their starts.
	spawned []spawn
	// turns are those of the session, ids count the ids that were made of times.
	turns map[string]bool
	ids   map[string]int
	// made are the calls without a result, by id; done has the place of each result. left
	// are the calls without a result in files that were read.
	made map[string]hook.ToolResult
	done map[callKey]int
	left []hook.ToolResult

	// settingsWithin is how many bytes of rows before the part that is read are searched
	// for the newest settings: each turn's delivery does so.
	settingsWithin int
	// costs reports that the costs are of interest.
	costs bool
}

// log adds the rows of one file.
type log struct {
	*session
	// agent is the subagent whose file is read, empty for the session's.
	agent string

	// clock is the time of the newest row: rows without a time get the next millisecond.
	clock time.Time
	// history is what the file has of other threads.
	history history

	// turn is the current turn of the run, open reports that it has not ended, and
	// aborted that the user has interrupted it.
	turn          string
	open, aborted bool
	// numbered reports that the file has the begin and the end of turns. Where it has
	// none (before 0.99), each prompt begins one. final is the end of a turn without a
	// record of it: the last answer.
	numbered bool
	final    *hook.TurnEnd
	// turnBegan is when the turn began. compacted reports that the conversation was shortened
	// in it, and prompted that it has a prompt.
	turnBegan           time.Time
	compacted, prompted bool
	// input is when the model was last given something: the next request begins then.
	input time.Time
	// words and asked are the text and the calls of the answer whose tokens are still
	// to come.
	words []string
	asked []string
	// began and said are when that answer's request began and its last part came:
	// older versions count the tokens later.
	began, said time.Time
	// recorded reports that the file has records of tokens, total is the running total
	// of the newest count in a file without them.
	recorded bool
	total    string
	// early is the request whose tokens were counted before the first part of its answer
	// (0.34 to 0.63), -1 for none, and heard are the texts of the answer. late reports that the file counts them after it, and
	// came that a part of the answer, thoughts included, has come since the last input.
	early      int
	heard      []string
	late, came bool
	// replied reports that the model has answered since the last input.
	replied bool
	// tier is the service tier that the newest settings ask for, and priced reports that
	// the current turn has had no other than the standard one.
	tier   string
	priced bool

	version, cwd, provider, model string
	repository                    hook.Repository
	// system are the instructions before all prompts.
	system string
	last   time.Time
	result string
}

// maxSettings is that number outside of tests.
const maxSettings = 32 << 20

type callKey struct{ agent, id string }

// spawn is the call that started a subagent.
type spawn struct {
	thread, call, caller, turn, task string
	at                               time.Time
}

// newLog returns the log of a session's own file.
func newLog(maxText int) *log {
	s := &session{
		Log: transcript.NewLog(maxText), settingsWithin: maxSettings,
		made: make(map[string]hook.ToolResult), done: make(map[callKey]int), ids: make(map[string]int), turns: make(map[string]bool),
	}
	return &log{session: s, priced: true, early: -1}
}

// subagent returns the log of a subagent's files.
func (l *log) subagent(s *spawn) *log {
	return &log{session: l.session, agent: s.thread, turn: s.turn, cwd: l.cwd, provider: l.provider, model: l.model, priced: true, early: -1}
}

// readAll reads the session's file at path and those of its subagents.
func readAll(ctx context.Context, f *transcript.Files, q transcript.Query, path string, maxText int) (*hook.Transcript, error) {
	l := newLog(maxText)
	l.costs = q.Whole == nil
	_ = l.readFile(ctx, f, path, q) // the log has the error
	// Codex records the end of a turn once the user's hooks have let it end.
	stopped := l.open && l.numbered && l.replied && !l.calling()
	l.close()
	if f.Now().Sub(l.last) >= transcript.PendingAge {
		l.finish()
	}
	for i := 0; i < len(l.spawned) && i < maxAgents; i++ {
		s := l.spawned[i]
		sub := l.subagent(&s)
		for _, file := range agentFiles(path, s.thread) {
			_ = sub.readFile(ctx, f, file, q) // the log has the error
		}
		sub.close()
		a := hook.Subagent{
			ID: s.thread, CallID: s.call, ParentAgent: s.caller, Turn: s.turn, Task: s.task, Result: sub.result, Start: s.at,
		}
		if !sub.open {
			a.End = sub.last
		}
		if !a.End.Before(q.Since) || a.End.IsZero() {
			l.Agents = append(l.Agents, a)
		}
	}
	if q.Full || q.Whole != nil {
		l.leave()
	}
	t, err := l.Transcript(q)
	if h := &l.history; h.inherited {
		t.Origin, t.OriginTurn = h.from[0].id, h.turn
	}
	if l.history.copies > 0 {
		for _, from := range l.history.from {
			t.CopiedFrom = append(t.CopiedFrom, from.id)
		}
	}
	t.Provider, t.Model, t.HostVersion, t.Cwd, t.System = l.provider, l.model, l.version, l.cwd, l.system
	t.Repository, t.Moves = l.repository, l.Moves.Sorted(l.cwd)
	// The tokens of an answer are written just after it.
	fresh := f.Now().Sub(l.last) < transcript.PendingAge
	t.Undecided = stopped && fresh
	t.Pending = l.open && len(l.words)+len(l.asked) > 0 && fresh || t.Undecided
	return t, err
}

// calling reports a call of the turn without a result. One of a turn that was interrupted
// may never get one.
func (l *log) calling() bool {
	for _, call := range l.made {
		if call.Turn == l.turn {
			return true
		}
	}
	return false
}

// close notes that no row follows.
func (l *log) close() {
	l.await(-1)
	l.left = append(l.left, unanswered(l.made)...)
}

// unanswered are calls that have no result yet, in their order, which it forgets.
func unanswered(made map[string]hook.ToolResult) []hook.ToolResult {
	calls := slices.SortedFunc(maps.Values(made), func(a, b hook.ToolResult) int {
		return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.ID, b.ID))
	})
	clear(made)
	return slices.DeleteFunc(calls, func(c hook.ToolResult) bool { return c.Name == codeMode }) // its nested calls count
}

// leave adds the calls without a result. The item of one may have been completed before its
// output was recorded.
func (l *log) leave() {
	for _, call := range l.left {
		if _, ended := l.done[callKey{call.Agent, call.ID}]; ended {
			continue
		}
		call.Status = hook.ToolUnknown
		l.Results = append(l.Results, call)
	}
}

// add adds the next row.
func (l *log) add(r *row) {
	p := r.payload
	if r.at.IsZero() && !l.clock.IsZero() {
		r.at = l.clock.Add(time.Millisecond)
	}
	l.clock = r.at
	known := l.turns
	if l.agent == "" {
		known = nil
	}
	if r.kind != "session_meta" && l.history.copied(r, known) && !l.setting(r) {
		return
	}
	if r.at.After(l.last) {
		l.last = r.at
	}
	switch r.kind {
	case "session_meta":
		if own := l.history.add(p, r.at); own && l.agent == "" {
			l.version, l.cwd, l.provider = p.Text("cli_version"), p.Text("cwd"), p.Text("model_provider")
			git := p.Members("git")
			l.repository.Name, l.repository.URL = hook.RepositoryAt(git.Text("repository_url"))
			l.repository.Branch = hook.PlainWord(git.Text("branch"))
			l.system = l.Texts.Keep(cmp.Or(p.Text("base_instructions"), p.Members("base_instructions").Text("text")))
			l.Moves.Add("", r.at, l.cwd)
		}
	case "turn_context":
		l.model = cmp.Or(p.Text("model"), l.model)
		l.cwd = cmp.Or(p.Text("cwd"), l.cwd)
		l.Moves.Add(l.agent, r.at, l.cwd)
	case "token_usage_record":
		l.recorded = true
		l.addCall(p.Text("response_id"), p.Members("usage"), r.at)
	case "compacted":
		l.given(r.at)
		l.compacted = true
		if l.agent == "" {
			l.Compactions = append(l.Compactions, r.at)
		}
	case "response_item":
		l.addItem(p, r.at)
		if r.flat && p.Text("type") == "message" {
			l.addFlat(p)
		}
	case "event_msg":
		l.addEvent(p, r.at)
	}
	l.Shrink()
}

// setting reports that a copied row is about the model of the rows that follow. A count
// of tokens may be repeated after the copies.
func (l *log) setting(r *row) bool {
	switch {
	case r.kind == "turn_context":
		return true
	case r.kind != "event_msg":
		return false
	case r.payload.Text("type") == "token_count":
		if total := rawjson.Canonical(r.payload.Members("info").Get("total_token_usage")); total != "" {
			l.total = total
		}
	}
	return r.payload.Text("type") == settings
}

func (l *log) addEvent(p rawjson.Object, at time.Time) {
	switch p.Text("type") {
	case settings:
		l.setTier(p.Members("thread_settings").Text("service_tier"))
	case "task_started":
		l.finish()
		l.given(at)
		l.turnBegan, l.compacted, l.prompted = at, false, false
		l.await(-1)
		l.open, l.aborted, l.numbered, l.priced = true, false, true, standard(l.tier)
		if turn := cmp.Or(p.Text("root_turn_id"), p.Text("turn_id")); l.agent == "" {
			l.turn, l.turns[turn] = turn, true
		}
	case "user_message": // before 0.160
		text := p.Text("message")
		if images, _ := p.Elements("images"); text == "" && len(images) > 0 {
			text = "[image]"
		}
		l.addPrompt(text, at)
	case "item_completed":
		l.addDone(p.Members("item"), instant(p, "started_at_ms", at), instant(p, "completed_at_ms", at))
	case "token_count":
		info := p.Members("info")
		if total := rawjson.Canonical(info.Get("total_token_usage")); !l.recorded && info != nil && total != l.total {
			usage := info.Members("last_token_usage")
			if usage == nil {
				usage = added(info.Members("total_token_usage"), rawjson.Members([]byte(l.total)))
			}
			l.total = total
			// The result of a call may have come since.
			l.late = l.late || l.came || len(l.words)+len(l.asked) > 0
			l.await(-1)
			l.addCall("", usage, at)
			if !l.late {
				l.await(len(l.Calls) - 1)
			}
		}
	case "collab_agent_spawn_end":
		l.addSpawn(p.Text("new_thread_id"), p.Text("call_id"), at)
	case "task_complete":
		l.complete(p, at)
	case "turn_aborted":
		l.open, l.aborted, l.final = false, true, nil
		l.end(hook.TurnEnd{Turn: l.turn, At: at, Kind: hook.KindSessionEnd, Message: "interrupted by the user"})
	}
}

func instant(p rawjson.Object, name string, otherwise time.Time) time.Time {
	if at := rawjson.Instant(p.Get(name)); !at.IsZero() {
		return at
	}
	return otherwise
}

func (l *log) end(e hook.TurnEnd) {
	if l.agent == "" {
		l.Ends = append(l.Ends, e)
	}
}

// given notes that the model was given something.
func (l *log) given(at time.Time) { l.input, l.came, l.replied = at, false, false }

// finish ends a turn without a record of its end with the last answer.
func (l *log) finish() {
	if l.final != nil {
		l.final.Result = l.Texts.Keep(l.final.Result)
		l.end(*l.final)
	}
	l.final = nil
}

// timeID is an id that no other time has.
func (l *log) timeID(prefix string, at time.Time) string {
	id := transcript.TimeID(prefix, at)
	key := l.agent + "/" + id
	if l.ids[key]++; l.ids[key] > 1 {
		id += "-" + strconv.Itoa(l.ids[key])
	}
	return id
}

// await notes that the parts of the request at place i are to come, of none if i is -1, and
// those of the one before have come.
func (l *log) await(i int) {
	if len(l.heard) > 0 {
		l.Calls[l.early].Text = l.Texts.Keep(strings.Join(l.heard, "\n"))
	}
	l.early, l.heard = i, nil
}

func (l *log) addPrompt(text string, at time.Time) {
	l.given(at)
	l.prompted = true
	if !l.numbered && l.agent == "" {
		l.finish()
		l.await(-1)
		l.turn, l.aborted, l.priced = l.timeID("turn-", at), false, standard(l.tier)
	}
	if n := len(l.Prompts); l.agent == "" && text != "" && (n == 0 || l.Prompts[n-1].Text != text || l.Prompts[n-1].Turn != l.turn) {
		l.Prompts = append(l.Prompts, hook.Prompt{At: at, Text: l.Texts.Keep(text), Turn: l.turn})
	}
}

// complete adds the end of a turn, and the request that it failed with.
func (l *log) complete(p rawjson.Object, at time.Time) {
	l.open, l.final = false, nil
	if l.compacted && !l.prompted && l.agent == "" && p.Text("last_agent_message") == "" {
		l.Prompts = append(l.Prompts, hook.Prompt{At: l.turnBegan, Text: "/compact", Turn: l.turn})
	}
	l.result = cmp.Or(p.Text("last_agent_message"), l.result)
	failure := p.Members("error")
	if failure == nil {
		l.end(hook.TurnEnd{Turn: l.turn, At: at, Kind: hook.KindRunComplete, Result: l.Texts.Keep(p.Text("last_agent_message"))})
		return
	}
	message := failure.Text("message")
	// Of a refused request it is the provider's answer.
	message = cmp.Or(rawjson.Members([]byte(message)).Members("error").Text("message"), message)
	class := errorClass(failure)
	l.Calls = append(l.Calls, hook.LLMCall{
		Kind: hook.CallRequest, ID: l.timeID("req-", l.input), Turn: l.turn, Agent: l.agent, Start: l.input, End: at,
		Provider: l.provider, Model: l.model, Error: cmp.Or(class, unclassed), Message: message,
	})
	l.words, l.asked = nil, nil
	l.end(hook.TurnEnd{Turn: l.turn, At: at, Kind: hook.KindRunError, Message: message, ErrorType: class})
}

// answered notes that a part of an answer came: words, or a call if id is not empty.
func (l *log) answered(words, id string, at time.Time) {
	l.came, l.replied = true, true
	switch {
	case l.early >= 0 && id != "":
		l.Calls[l.early].ToolCallIDs = append(l.Calls[l.early].ToolCallIDs, id)
		return
	case l.early >= 0:
		l.heard = append(l.heard, words)
		return
	}
	if len(l.words)+len(l.asked) == 0 {
		l.began = l.input
	}
	l.said = at
	if id != "" {
		l.asked = append(l.asked, id)
		return
	}
	l.words = append(l.words, words)
}

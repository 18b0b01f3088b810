package codex

import (
	"cmp"
	"context"
	"slices"
	"strconv"
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
	// what is the type of the payload.
	what string
	// flat reports that the row is its own payload, and inserted that the file does not have it.
	flat, inserted bool
}

// Kinds of rows, and types of their payloads.
const (
	sessionMeta  = "session_meta"
	responseItem = "response_item"
	event        = "event_msg"
	taskStarted  = "task_started"
	itemDone     = "item_completed"
)

// image stands for one in a prompt.
const image = "[image]"

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
	r.what = r.payload.Text("type")
	return r.payload != nil
}

// Time implements transcript.Row.
func (r *row) Time() time.Time { return r.at }

// Opens implements transcript.Row.
func (r *row) Opens() bool { return r.kind == event && r.what == taskStarted }

// session gathers what the files of one session say.
type session struct {
	*transcript.Log
	// spawned are the subagents in the order of their starts, agents their threads.
	spawned []spawn
	agents  map[string]bool
	// turns are those of the session, ids count the ids that were made of times, made are those
	// of requests.
	turns map[string]bool
	ids   map[string]int
	made  map[madeID]string
	// openCalls are those without a result, by id; done has the place of each result. left
	// are the calls without a result in files that were read.
	openCalls map[string]hook.ToolResult
	done      map[callKey]int
	left      []hook.ToolResult
	// limits are what the rows say of the plan.
	limits []hook.Limit
	// adopted counts the threads, the session first, whose subagents were looked for.
	adopted int
	// shelf is nil until it is needed, beside the files in the folder of the session's.
	shelf  *shelf
	beside map[string][]string

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
	// old rewrites the rows of earlier versions.
	old *ages
	// history is what the file has of other threads.
	history history

	// turn is the current turn of the run, open reports that it has not ended, and
	// aborted that the user has interrupted it.
	turn          string
	open, aborted bool
	// turnBegan is when the turn began. compacted reports that the conversation was shortened
	// in it, and prompted that it has a prompt.
	turnBegan           time.Time
	compacted, prompted bool
	// input is when the model was last given something: the next request begins then.
	// replied reports that it has answered since.
	input   time.Time
	replied bool
	// words and asked are the text and the calls of the answer whose tokens are still
	// to come, began when its request did.
	words []string
	asked []string
	began time.Time
	// running are the calls that were left running, by what the model calls them.
	running map[string]callKey
	// tier is the service tier that the newest settings ask for.
	tier string

	version, cwd, provider, model, app string
	checkouts                          hook.Checkouts
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
	thread, call, turn, task string
	at                       time.Time
}

// newLog returns the log of a session's own file.
func newLog(maxText int) *log {
	s := &session{
		Log: transcript.NewLog(maxText), settingsWithin: maxSettings,
		openCalls: make(map[string]hook.ToolResult), done: make(map[callKey]int), ids: make(map[string]int), turns: make(map[string]bool),
		agents: make(map[string]bool), made: make(map[madeID]string),
	}
	return (&log{session: s}).withAges()
}

func (l *log) withAges() *log {
	l.running = make(map[string]callKey)
	l.old = newAges(func(at time.Time) string { return l.timeID("turn-", at) }, l.inherit, l.take)
	l.old.turns.lead = l.agent == ""
	return l
}

// subagent returns the log of a subagent's files.
func (l *log) subagent(s *spawn) *log {
	return (&log{session: l.session, agent: s.thread, turn: s.turn, cwd: l.cwd, provider: l.provider, model: l.model}).withAges()
}

// readAll reads the session's file at path and those of its subagents.
func readAll(ctx context.Context, f *transcript.Files, q transcript.Query, path string, maxText int) (*hook.Transcript, error) {
	l := newLog(maxText)
	l.costs, l.old.flat.moved.Off = q.Whole == nil, !q.Full
	_ = l.readFile(ctx, f, path, q) // the log has the error
	// Codex records the end of a turn once the user's hooks have let it end.
	stopped := l.open && l.old.turns.numbered && l.replied && !l.calling()
	l.close()
	if f.Now().Sub(l.last) >= transcript.PendingAge {
		l.old.turns.close()
	}
	whole := q.Full || q.Whole != nil
	for i := 0; i < maxAgents && (i < len(l.spawned) || whole && l.adopt(ctx, f, q.Session)); i++ {
		s := l.spawned[i]
		sub := l.subagent(&s)
		sub.old.flat.moved.Off = !q.Full
		for _, file := range l.agentFiles(ctx, f, path, s.thread) {
			_ = sub.readFile(ctx, f, file, q) // the log has the error
		}
		sub.close()
		a := hook.Subagent{
			ID: s.thread, CallID: s.call, Turn: s.turn, Task: s.task, Result: sub.result, Start: s.at,
		}
		if !sub.open {
			a.End = sub.last
		}
		if !a.End.Before(q.Since) || a.End.IsZero() {
			l.Agents = append(l.Agents, a)
		}
	}
	if whole {
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
	t.HostApp, t.Limits = l.app, l.limits
	t.Checkouts, t.Moves, t.Folders = l.checkouts, l.Moves.Sorted(l.cwd), l.Folders
	t.DoubtCheckouts()
	// The tokens of an answer are written just after it.
	fresh := f.Now().Sub(l.last) < transcript.PendingAge
	t.Undecided = stopped && fresh
	t.Pending = l.open && l.old.turns.numbered && len(l.words)+len(l.asked) > 0 && fresh || t.Undecided
	return t, err
}

func (l *log) spawn(s spawn) {
	l.spawned = append(l.spawned, s)
	l.agents[s.thread] = true
}

// adopt adds the subagents of the session and of its subagents that no row names, and
// reports that there were some.
func (l *log) adopt(ctx context.Context, f *transcript.Files, session string) (found bool) {
	if l.shelf == nil {
		l.shelf = shelfOf(ctx, f)
	}
	for ; l.adopted <= len(l.spawned); l.adopted++ {
		thread := session
		if l.adopted > 0 {
			thread = l.spawned[l.adopted-1].thread
		}
		for _, h := range l.shelf.subagents(thread) {
			id := h.self.id
			// One of another thread's, which has a file, is that one's.
			other := h.spawner != "" && h.spawner != thread && len(l.shelf.paths[h.spawner]) > 0
			if other || id == session || transcript.CheckID("thread", id) != nil || l.agents[id] {
				continue
			}
			l.spawn(spawn{thread: id, turn: l.turnAt(h.self.born), at: h.self.born})
			found = true
		}
	}
	return found
}

// turnAt is the turn at a time, by the prompts.
func (l *log) turnAt(at time.Time) string {
	turn := l.turn
	for _, p := range slices.Backward(l.Prompts) {
		if turn = p.Turn; !p.At.After(at) {
			break
		}
	}
	return turn
}

// calling reports a call of the turn without a result. One of a turn that was interrupted
// may never get one.
func (l *log) calling() bool {
	for _, call := range l.openCalls {
		if call.Turn == l.turn {
			return true
		}
	}
	return false
}

// close notes that no row follows.
func (l *log) close() {
	l.old.counts.close()
	l.left = append(l.left, transcript.Unanswered(l.openCalls)...)
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
	l.old.flat.add(r)
	l.Shrink()
}

// inherit leaves out the copies of other threads' rows, but for what they say of the rows
// that follow.
func (l *log) inherit(r *row, next func(*row)) {
	known := l.turns
	if l.agent == "" {
		known = nil
	}
	if r.kind == sessionMeta || !l.history.copied(r, known) {
		l.addLimits(r)
		next(r)
		return
	}
	switch kind := r.what; {
	case r.kind == "turn_context", r.kind == event && kind == settings:
		next(r)
	case r.kind == event && kind == "token_count": // it may be repeated after the copies
		l.old.counts.see(r.payload.Members("info"))
	}
}

// take takes a row in the form of 0.160 and later.
func (l *log) take(r *row) {
	p := r.payload
	if r.at.After(l.last) {
		l.last = r.at
	}
	switch r.kind {
	case sessionMeta:
		if own := l.history.add(p, r.at); own && l.agent == "" {
			l.version, l.cwd, l.provider = p.Text("cli_version"), p.Text("cwd"), p.Text("model_provider")
			if p.Text("originator") == "codex_vscode" {
				l.app = hook.InVSCode
			}
			git := p.Members("git")
			c := hook.Checkout{At: r.at, Repository: hook.Repository{Branch: hook.PlainWord(git.Text("branch")), Revision: hook.PlainWord(git.Text("commit_hash"))}}
			c.Repository.Name, c.Repository.URL = hook.RepositoryAt(git.Text("repository_url"))
			if git != nil {
				l.checkouts.Add(c)
			}
			l.system = l.Texts.Keep(cmp.Or(p.Text("base_instructions"), p.Members("base_instructions").Text("text")))
			l.Moves.Add("", r.at, l.cwd)
		}
	case "turn_context":
		l.model = cmp.Or(p.Text("model"), l.model)
		l.cwd = cmp.Or(p.Text("cwd"), l.cwd)
		l.Moves.Add(l.agent, r.at, l.cwd)
		l.Folders = transcript.AddFolders(l.Folders, l.cwd, p.Get("workspace_roots"))
	case "token_usage_record":
		l.addCall(p.Text("response_id"), p.Members("usage"), r.at)
	case "compacted":
		l.given(r.at)
		l.compacted = true
		if l.agent == "" {
			l.Compactions = append(l.Compactions, r.at)
		}
	case responseItem:
		l.addItem(r.what, p, r.at)
	case event:
		l.addEvent(r.what, p, r.at)
	default:
		l.meet(idleRows, "", r.kind, p, r.at)
	}
}

func (l *log) addEvent(kind string, p rawjson.Object, at time.Time) {
	switch kind {
	case settings:
		l.tier = p.Members("thread_settings").Text("service_tier")
	case taskStarted:
		l.given(at)
		l.turnBegan, l.compacted, l.prompted = at, false, false
		l.open, l.aborted = true, false
		if turn := cmp.Or(p.Text("root_turn_id"), p.Text("turn_id")); l.agent == "" {
			l.turn, l.turns[turn] = turn, true
		}
	case itemDone:
		l.addDone(p.Members("item"), l.instant(p, "started_at_ms", at), l.instant(p, "completed_at_ms", at))
	case "task_complete":
		l.complete(p, at)
	case "turn_aborted":
		l.open, l.aborted = false, true
		l.end(hook.TurnEnd{Turn: l.turn, At: at, Kind: hook.KindSessionEnd, Message: "interrupted by the user"})
	default:
		l.meet(idleEvent, event+"/", kind, p, at)
	}
}

func instant(p rawjson.Object, name string, otherwise time.Time) time.Time {
	if at := rawjson.Instant(p.Get(name)); !at.IsZero() {
		return at
	}
	return otherwise
}

// instant is a time that a row has besides its own, which it does not exceed.
func (l *log) instant(p rawjson.Object, name string, own time.Time) time.Time {
	at, clock := instant(p, name, own), &l.old.flat.moved
	if at.Equal(own) || !clock.Moved() {
		return at
	}
	if at = clock.Move(at); at.After(own) {
		return own
	}
	return at
}

func (l *log) end(e hook.TurnEnd) {
	if l.agent == "" {
		l.Ends = append(l.Ends, e)
	}
}

// given notes that the model was given something.
func (l *log) given(at time.Time) { l.input, l.replied = at, false }

// timeID is an id that no other time has.
func (l *log) timeID(prefix string, at time.Time) string {
	id := transcript.TimeID(prefix, at)
	key := l.agent + "/" + id
	if l.ids[key]++; l.ids[key] > 1 {
		id += "-" + strconv.Itoa(l.ids[key])
	}
	return id
}

func (l *log) addPrompt(text string, at time.Time) {
	l.given(at)
	l.prompted = true
	if n := len(l.Prompts); l.agent == "" && text != "" && (n == 0 || l.Prompts[n-1].Text != text || l.Prompts[n-1].Turn != l.turn) {
		l.Prompts = append(l.Prompts, hook.Prompt{At: at, Text: l.Texts.Keep(text), Turn: l.turn})
	}
}

// complete adds the end of a turn, and the request that it failed with.
func (l *log) complete(p rawjson.Object, at time.Time) {
	l.open = false
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
	l.Calls = append(l.Calls, hook.Request{
		Kind: hook.RequestSingle, ID: l.requestID(l.input, at, nil), Turn: l.turn, Agent: l.agent, Start: l.input, End: at,
		Provider: l.provider, Model: l.model, Error: cmp.Or(class, unclassed), Message: message,
	})
	l.words, l.asked = nil, nil
	l.end(hook.TurnEnd{Turn: l.turn, At: at, Kind: hook.KindRunError, Message: message, ErrorType: class})
}

// answered notes that a part of an answer came: words, or a call if id is not empty.
func (l *log) answered(words, id string) {
	l.replied = true
	if len(l.words)+len(l.asked) == 0 {
		l.began = l.input
	}
	if id != "" {
		l.asked = append(l.asked, id)
		return
	}
	l.words = append(l.words, words)
}

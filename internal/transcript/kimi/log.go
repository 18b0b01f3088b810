package kimi

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/kimi"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// idle are the rows that say nothing of the work, or what others say.
const idle = " metadata runtime.set_binding profile.bind config.update permission.set_mode permission.record_approval_result " +
	"context.apply_compaction context.clear context.undo agent.turn.started agent.turn.ended plugin.session_start " +
	"llm.tools_snapshot token_counting.measured token_counting.rebased token_counting.truncated token_counting.turn_recorded prompt.accepted " +
	"prompt.steered prompt.completed prompt.aborted full_compaction.begin full_compaction.cancel subagent.started subagent.suspended task.started " +
	"task.terminated task.waitDelivered interaction.request interaction.resolved interruptionReminder.recorded mcp.tools_discovered " +
	"tools.update_store tools.set_active_tools tools.reset_active_tools tools.register_user_tool tools.unregister_user_tool goal.create " +
	"goal.update goal.clear plan_mode.enter plan_mode.exit plan_mode.cancel plan.revision cron.add cron.cursor cron.delete " +
	"file_history.tracked file_history.checkpoint staleGuard.recorded staleGuard.cleared swarm_mode.enter swarm_mode.exit tower_mode.enter " +
	"tower_mode.exit "

// row is one line of an agent's file: the members and the kind of its event, if it has one,
// and its time.
type row struct {
	o    rawjson.Object
	kind string
	at   time.Time
}

// Parse implements transcript.Row.
func (r *row) Parse(line []byte) bool {
	o := rawjson.Members(line)
	*r = row{o, o.Text("type"), rawjson.Instant(o.Get("time"))}
	if r.kind == "context.append_loop_event" {
		r.o = o.Members("event")
		r.kind = r.o.Text("type")
	}
	return r.kind != ""
}

// Time implements transcript.Row.
func (r *row) Time() time.Time { return r.at }

// Opens implements transcript.Row.
func (r *row) Opens() bool { return r.kind == "turn.prompt" }

// log gathers what the files of one session say, of the agents one after the other.
type log struct {
	out   *transcript.Log
	noted state
	// copies reports that the session that this one was forked from is there, so that its rows
	// are copies, the last of the turn copied. inherited counts the requests among them.
	copies    bool
	copied    string
	inherited int
	// started are the places of the newest starts of subagents, tasks what they were asked, in
	// order, by their ids.
	started map[string]int
	tasks   map[string][]string
	// last is the time of the lead agent's last row, undecided reports that its turn has not ended.
	last      time.Time
	undecided bool

	// What follows is of the agent whose file is read: the agent, empty for the lead agent, what
	// there was before, and the times of its first and last row.
	agent        string
	before       transcript.Log
	begun, ended time.Time
	clock        transcript.Clock
	// call is the place of its newest request, -1 if it has none, asking the step of that, which is
	// its id until the answer has one, and alias the user's name of its model.
	call          int
	asking, alias string
	step          string // that has begun last
	// turn is the current turn of the lead agent, or the lead agent's when the subagent was asked.
	turn      string
	cancelled bool // the user interrupts the turn
}

func newLog(q transcript.Query) *log {
	return &log{
		out: transcript.NewLog(q.TextLimit()), started: make(map[string]int), tasks: make(map[string][]string),
		clock: transcript.Clock{Off: !q.Full},
	}
}

// open begins the file of an agent.
func (l *log) open(agent string) {
	if agent == lead {
		agent = ""
	}
	l.agent, l.before, l.clock = agent, *l.out, transcript.Clock{Off: l.clock.Off}
	l.begun, l.ended, l.call, l.asking, l.alias, l.step, l.turn, l.cancelled = time.Time{}, time.Time{}, -1, "", "", "", "", false
}

// close ends the file: of a subagent of whose start nothing is known, it has its own.
func (l *log) close() {
	if l.agent == "" {
		l.last = l.ended
	} else if l.subagent(l.agent) == nil && !l.begun.IsZero() {
		l.start(hook.Subagent{ID: l.agent, Type: l.noted.Agents[l.agent].Labels.ProfileName, Start: l.begun, End: l.ended, Result: l.answer()})
	}
}

// transcript is what the rows come to.
func (l *log) transcript(f *transcript.Files, q transcript.Query) (*hook.Transcript, error) {
	if q.Full || q.Whole != nil {
		l.out.Leave(hook.ToolUnknown, time.Time{})
	}
	for i := range l.out.Agents {
		a := &l.out.Agents[i]
		if tasks := l.tasks[a.ID]; len(tasks) > 0 {
			a.Task, l.tasks[a.ID] = tasks[0], tasks[1:]
		}
	}
	t, err := l.out.Transcript(q)
	transcript.SetModel(t)
	t.Cwd, t.Inherited = l.noted.CWD, l.inherited
	if l.copies {
		t.Origin, t.OriginTurn = l.noted.ForkedFrom, l.copied
	} else if l.noted.ForkedFrom != "" {
		t.CopiedFrom = []string{l.noted.ForkedFrom}
	}
	// The row of a turn's end is written when its hooks have ended.
	t.Undecided = l.undecided && !hook.Elapsed(f.Now(), l.last, transcript.PendingAge)
	t.Pending = t.Undecided
	return t, err
}

// add adds the next row.
func (l *log) add(r *row) {
	id := r.kind + " " + r.o.Text("uuid", "parentUuid", "toolCallId", "subagentId", "turnStep", "turnId") + string(r.o.Get("usage", "input", "message"))
	if strings.Contains(idle, " "+r.kind+" ") || l.out.Again(l.agent, id, r.at) {
		return
	}
	if r.kind != "agent.message.appended" { // which comes when the turn has ended
		r.at = l.clock.At(r.at, r.Opens())
	}
	if l.begun.IsZero() {
		l.begun = r.at
	}
	if r.at.After(l.ended) {
		l.ended = r.at
	}
	switch r.kind {
	case "turn.prompt", "turn.steer":
		l.addPrompt(r)
	case "step.begin":
		l.step = r.o.Text("uuid")
	case "llm.request", "usage.record", "content.part", "step.end", "turn.step.retrying", "turn.step.interrupted":
		l.addRequest(r)
	case "tool.call":
		l.ask(r)
	case "tool.result":
		l.addResult(r)
	case "context.append_message":
		if l.agent == "" && r.o.Members("message").Members("origin").Text("name") == "stop_hook" {
			l.out.Ends = append(l.out.Ends, hook.TurnEnd{Turn: l.turn, At: r.at, Kind: hook.KindRunResume})
		}
	case "agent.message.appended":
		m := r.o.Members("message")
		l.identify(m.Members("meta"))
		l.addUnknown(m.Members("message"))
	case "turn.cancel":
		l.cancelled = l.cancelled || r.o.Text("target") != "queued"
	case "turn.ended":
		l.endTurn(r)
	case "subagent.spawned":
		l.start(hook.Subagent{ID: r.o.Text("subagentId"), Type: r.o.Text("subagentName"), CallID: r.o.Text("parentToolCallId"), Turn: l.turn, Start: r.at})
	case "subagent.completed", "subagent.failed", "subagent.cancelled":
		if a := l.subagent(r.o.Text("subagentId")); a != nil {
			a.End, a.Result, a.Failure = r.at, l.out.Texts.Keep(r.o.Text("resultSummary")), r.o.Text("error")
		}
	case "full_compaction.complete":
		if l.agent == "" {
			l.out.Compactions = append(l.out.Compactions, r.at)
		}
	case "forked":
		l.fork()
	default:
		l.out.Meet(r.kind, r.at, r.o)
	}
	l.out.Shrink()
}

// fork leaves out the rows of the file so far: they are of another session.
func (l *log) fork() {
	if !l.copies {
		return
	}
	o, had := l.out, &l.before
	l.inherited += len(o.Calls) - len(had.Calls)
	o.Calls, o.Results, o.Prompts = o.Calls[:len(had.Calls)], o.Results[:len(had.Results)], o.Prompts[:len(had.Prompts)]
	o.Agents, o.Ends, o.Compactions = o.Agents[:len(had.Agents)], o.Ends[:len(had.Ends)], o.Compactions[:len(had.Compactions)]
	maps.DeleteFunc(o.Asked, func(k transcript.CallKey, _ hook.ToolResult) bool { return k.Agent == l.agent })
	delete(l.tasks, l.agent)
	if l.agent == "" {
		l.undecided, l.copied = false, cmp.Or(l.turn, l.copied)
	}
	l.open(cmp.Or(l.agent, lead))
}

// start adds a subagent that has been started.
func (l *log) start(a hook.Subagent) {
	l.started[a.ID] = len(l.out.Agents)
	l.out.Agents = append(l.out.Agents, a)
}

// subagent is the newest start of one, or nil.
func (l *log) subagent(id string) *hook.Subagent {
	if i, ok := l.started[id]; ok && i < len(l.out.Agents) && l.out.Agents[i].ID == id { // else it was a copy
		return &l.out.Agents[i]
	}
	return nil
}

// addPrompt adds what an agent was asked: of the lead agent, it begins a turn unless it was typed
// within one.
func (l *log) addPrompt(r *row) {
	text := l.out.Texts.Keep(kimi.Text(r.o.Get("input")))
	if l.agent != "" {
		l.tasks[l.agent] = append(l.tasks[l.agent], text)
		later, _ := slices.BinarySearchFunc(l.out.Prompts, r.at, func(p hook.Prompt, at time.Time) int { return cmp.Or(p.At.Compare(at), -1) })
		if later > 0 {
			l.turn = l.out.Prompts[later-1].Turn
		}
		return
	}
	if r.Opens() {
		l.turn, l.undecided, l.cancelled = r.o.Text("turnId"), true, false
	}
	origin := r.o.Members("origin")
	typed := origin.Text("kind") == "user" || origin.Text("trigger") == "user-slash" || origin.Text("phase") == "input"
	l.out.Prompts = append(l.out.Prompts, hook.Prompt{At: r.at, Text: text, Turn: l.turn, Injected: !typed, Queued: !r.Opens()})
}

// endTurn adds the end of a turn.
func (l *log) endTurn(r *row) {
	failure := r.o.Members("error")
	l.explain(failure.Text("name", "code"), failure.Text("message"))
	l.cancelled = false
	if l.agent != "" {
		if a := l.subagent(l.agent); a != nil && a.End.IsZero() && a.Start.Before(r.at) { // interrupted with the lead agent
			a.End = r.at
		}
		return
	}
	l.undecided = false
	end := hook.TurnEnd{Turn: l.turn, At: r.at, Kind: hook.KindRunError, Message: failure.Text("message"), ErrorType: failure.Text("name", "code")}
	switch reason := r.o.Text("reason"); reason {
	case "completed":
		end.Kind, end.Result = hook.KindRunComplete, l.answer()
	case "cancelled":
		end.Kind, end.Message = hook.KindSessionEnd, "interrupted by the user"
	default:
		end.ErrorType = cmp.Or(end.ErrorType, reason)
	}
	l.out.Ends = append(l.out.Ends, end)
}

// addEvents adds the events of Kimi Code's hooks.
func addEvents(b *transcript.EventBuilder, _ string) {
	for _, p := range b.Transcript.Prompts {
		b.AddPrompt(&p, hook.Event{Name: "TurnStarted", Turn: p.Turn, Key: claude.PromptKey(p.Turn, p.Text)})
	}
	b.AddTools(nil)
	b.AddAgents("SubagentStart", "SubagentStop", func(a *hook.Subagent, e *hook.Event) { e.Turn = a.Turn })
	b.AddEnds(map[hook.Kind]string{hook.KindRunComplete: "Stop", hook.KindRunError: "StopFailure", hook.KindSessionEnd: "Interrupt"}, nil)
}

package claude

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// shownBefore reports that a subagent's row is a copy of one of the conversation that it was
// asked about.
func (l *fileLog) shownBefore(r *row) bool {
	b := l.b
	if b.shown == nil || r.kind != "user" && r.kind != "assistant" || r.at.IsZero() {
		return false
	}
	id := maphash.Comparable(b.seed, [4]any{
		r.kind, r.at.UnixNano(), rawjson.Text(rawjson.Member(r.message, "id")), maphash.Bytes(b.seed, rawjson.Member(r.message, "content")),
	})
	lead, known := b.shown[id]
	if known && l.agent != "" && (lead || l.of != nil) {
		return true
	}
	b.shown[id] = lead || l.agent == "" && !r.sidechain
	return l.of != nil && r.at.Before(b.others.since)
}

// fileLog reads the rows of one file in order.
type fileLog struct {
	b *build
	// agent is the subagent whose file it is; empty for the lead's.
	agent string
	path  string

	turn     string
	turns    rowTurns
	mode     string
	clock    transcript.Clock
	asking   transcript.Clock // after the newest answer: the rows of what it started follow it
	asked    time.Time        // the newest user row's
	last     time.Time        // the newest row's
	tools    map[string]toolUse
	requests []request
	// refused are the results since the last answer, by index in the build,
	// that failed, or that the user may have interrupted rather than refused.
	refused []int
	// command is the place of a command's prompt plus one, until a row shows
	// whether it was for the model.
	command int
	wasOpen bool
	// queue are the prompts that wait for the agent, given those that it got: how often the
	// queue says so more than attachments do.
	queue []string
	given map[string]int
	// due is a prompt that was just taken from there: that of a schedule has a row like the
	// host's texts.
	due string
	// prompted are the turns that have a prompt.
	prompted map[string]bool
	// compacted is when the conversation was shortened, until a row has a later time.
	compacted time.Time
	// broke is when the user interrupted the turn that the next prompt follows.
	broke time.Time
	// begun says that there was a prompt or an answer.
	begun bool
	// of is the conversation whose rows an agent's file begins with, nil for most agents.
	of *fileLog
	// rows are the ids of the rows of an agent's several files, nil if there is one.
	rows map[string]bool
	// chains are the subagents by the rows of the session's own file that are theirs, sides
	// their logs in the order of their beginnings. in is the file's log for one of them.
	chains rowTurns
	sides  []*fileLog
	sideOf map[string]*fileLog
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

// rowSkew is how much earlier a row may be dated than the one before it that it follows all
// the same: rows of one moment are.
const rowSkew = 10 * time.Millisecond

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

// idleRows are those that say nothing of the work, or what others say.
const idleRows = " summary progress file-history-snapshot file-history-delta last-prompt mode permission-mode ai-title custom-title agent-name" +
	" agent-color agent-setting tag worktree-state attribution-snapshot content-replacement speculation-accept task-summary api-request-blob" +
	" api-request-shape atis-latch tools-used start result started pr-link cost-state "

// knownParts are the kinds of the parts of messages.
const knownParts = " text thinking redacted_thinking tool_use tool_result image document server_tool_use advisor_tool_result" +
	" web_search_tool_result web_fetch_tool_result fallback "

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
		if !strings.Contains(idleRows, " "+r.kind+" ") {
			l.b.kinds.Meet(l.path, r.kind, r.at, r.Object)
		}
		return
	}
	if r.copied(l.b.session) && l.b.others.exists(r.copiedFrom(l.b.session)) {
		l.b.others.note(r)
		l.shownBefore(r)
		l.forget(r.at)
		return
	}
	if l.elsewhere(r) {
		return
	}
	l.date(r)
	if r.kind == "assistant" {
		l.asking = l.clock
	}
	cwd := r.text("cwd")
	l.b.moves.Add(l.agent, r.at, cwd)
	l.checkedOut(r)
	if l.agent == "" || l.b.gone {
		l.b.version = cmp.Or(r.text("version"), l.b.version)
		l.b.app = cmp.Or(l.b.app, appOf(r.text("entrypoint")))
		l.b.cwd = cmp.Or(cwd, l.b.cwd)
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

// checkedOut takes the branch of a row. HEAD means none.
func (l *fileLog) checkedOut(r *row) {
	if branch := r.text("gitBranch"); branch != "" && !r.at.IsZero() {
		if branch == "HEAD" {
			branch = ""
		}
		branch = word(hook.PlainWord(branch))
		l.b.checkouts.Add(hook.Checkout{At: r.at, Agent: l.agent, Repository: hook.Repository{Branch: branch}})
	}
}

// date gives a row a time that follows those of the rows before it. One that a compaction kept
// has its own, and is behind the compaction's.
func (l *fileLog) date(r *row) {
	if r.text("subtype") == compactBoundary {
		l.compacted = r.at
	} else if !r.at.Before(l.compacted) {
		l.compacted = time.Time{}
	}
	if r.at.IsZero() || !r.at.Before(l.compacted) {
		r.at = l.clock.At(r.at, l.lead(r) && r.opensTurn())
	}
	if late := l.last.Sub(r.at); r.at.IsZero() || late > 0 && late <= rowSkew {
		r.at = l.last
	}
	l.last = r.at
}

// elsewhere reports that the row is counted elsewhere: in another session's file, another
// file of this one, or the conversation that an agent was asked about.
func (l *fileLog) elsewhere(r *row) bool {
	shown := l.shownBefore(r) // of a row that is another session's, too: an agent may have a copy
	if (l.agent == "" || l.in != nil) && l.b.others.has(r, l.b.session) {
		l.b.others.note(r)
		return true
	}
	if shown {
		l.b.calls.complete(r)
		return true
	}
	if l.rows == nil {
		return false
	}
	id := r.text("uuid")
	if id == "" {
		return false
	}
	known := l.rows[id]
	l.rows[id] = true
	return known
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
	b.compactions = slices.DeleteFunc(b.compactions, func(at time.Time) bool { return old(at, 0) })
	b.ends.waiting, b.ends.open, b.ends.barred = false, false, false
	l.turn, l.refused, l.command, l.copied = "", l.refused[:0], 0, true
}

// lead reports that the row belongs to the conversation with the user.
func (l *fileLog) lead(r *row) bool { return l.agent == "" && !r.sidechain }

func (l *fileLog) addSystem(r *row) {
	if !l.lead(r) {
		return
	}
	switch r.text("subtype") {
	case "stop_hook_summary", "turn_duration":
		l.b.ends.stopped(l.turn, r.at)
	case compactBoundary:
		l.b.compactions = append(l.b.compactions, r.at)
	case "local_command":
		l.dropCommand()
	}
}

// appOf is the program that Claude Code runs in, by how it was started.
func appOf(entrypoint string) string {
	if entrypoint == "claude-vscode" {
		return hook.InVSCode
	}
	return ""
}

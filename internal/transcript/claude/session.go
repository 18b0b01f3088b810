package claude

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// Dialect is the form of Claude Code's files and hooks.
const Dialect = "claude"

// reader reads the files of a session.
type reader struct {
	files   *transcript.Files
	block   int // bytes read at once from a file's end
	maxLine int // bytes of the longest row that is read
	maxText int // bytes of all texts that are kept
	maxRows int // rows that are taken in; zero for any number

	taken int // rows that have been taken in
}

// agentMeta is agent-<id>.meta.json, what Claude Code notes when it starts a
// subagent.
type agentMeta struct {
	AgentType   string `json:"agentType"`
	Description string `json:"description"`
	ToolUseID   string `json:"toolUseId"`
	Finished    bool   `json:"finished"`
}

// subagent is one subagent's files.
type subagent struct {
	id    string
	paths []string
	meta  agentMeta
	log   *fileLog
}

// read reads the transcript at path, other files of the session's id, and its subagents.
func (r *reader) read(ctx context.Context, path string, q transcript.Query) (*hook.Transcript, error) {
	b := newBuild(q.Session, r.maxText)
	b.whole, b.texts.None = q.Whole, q.Whole != nil
	b.others = newOthers(ctx, r.files, q.Since)
	paths := []string{path}
	for _, s := range slices.Backward(copies(r.files, q.Session, path)) {
		// Another copy that is older than what is asked for has nothing of it.
		if !s.ModTime.Before(q.Since.Add(-transcript.LineSlack)) {
			paths = append(paths, s.Path)
		}
	}
	slices.Reverse(paths) // the path that was named is the newest
	var beside []head
	for _, path := range paths {
		all := readProject(ctx, r.files, filepath.Dir(path), q.Since)
		mine := all.session(path)
		for _, agent := range all.agents {
			if b.owns(&agent, mine, all) {
				beside = append(beside, agent)
			}
		}
		if mine.first != 0 {
			b.others.addEarlier(mine.family(families(ctx, r.files, filepath.Dir(path))), mine)
		}
	}
	agents, err := r.agents(ctx, q.Session, beside, q.Since)
	errs := []error{err}
	if len(agents) > 0 {
		b.shown = make(map[uint64]bool)
	}
	t := &hook.Transcript{Session: q.Session}
	if _, ok := transcript.Stat(q.Session, path); !ok && len(agents) > 0 {
		b.gone, paths = true, nil
		t.Unread = append(t.Unread, transcript.FileGone(path))
	}
	var lead *fileLog
	readLog := func(agent string, paths ...string) *fileLog {
		log := &fileLog{b: b, agent: agent, of: lead.copiedBy(agent), clock: transcript.Clock{Off: !q.Full}}
		if len(paths) > 1 {
			log.rows = make(map[string]bool)
		}
		for _, path := range paths {
			log.path = path
			if err := r.readFile(ctx, path, q, log); err != nil {
				errs = append(errs, err)
				if errors.Is(err, transcript.ErrNotFound) {
					continue
				}
			}
			t.Sources = append(t.Sources, path)
			if agent == "" && len(paths) > 1 {
				log.first = time.Time{}
				b.ends.flush()
			}
		}
		return log
	}
	lead = readLog("", paths...)
	lead.dropCommand()
	open, undecided := b.ends.open, b.ends.waiting && !b.ends.recorded && b.ends.last.Kind == hook.KindRunComplete
	last := b.lastTime
	settled := func(last time.Time) bool { return hook.Elapsed(r.files.Now(), last, transcript.PendingAge) }
	b.ends.finish(settled(last))
	for i := range agents {
		agents[i].log = readLog(agents[i].id, agents[i].paths...)
	}
	for _, side := range lead.sides {
		// Subagents in the background came later, with separate files.
		side.meta.Finished = slices.ContainsFunc(b.results, func(r hook.ToolResult) bool { return r.ID == side.meta.ToolUseID })
		agents = append(agents, subagent{id: side.agent, meta: side.meta, log: side})
	}

	if q.Full || q.Whole != nil {
		b.addUnanswered(agents, lead)
	}
	t.Requests = b.calls.resolve()
	t.Prompts, t.ToolResults, t.Ends, t.Compactions = b.prompts, b.results, b.ends.found, b.compactions
	t.CopiedBy = b.others.copiedBy
	t.HostVersion, t.Cwd, t.Checkouts, t.Moves = b.version, b.cwd, b.checkouts, b.moves.Sorted(b.cwd)
	t.HostApp = b.app
	t.Checkouts.Sort()
	t.Unread, t.Folders = append(t.Unread, b.kinds.Unread()...), b.folders
	if q.Since.IsZero() {
		t.Inherited, t.Damaged = len(b.others.inherited), b.damaged
	}
	for i := range agents {
		if log := agents[i].log; log.done && settled(log.active) {
			log.stop = "end_turn"
		}
		if a, ok := agents[i].agent(b); ok && !agents[i].log.active.Before(q.Since) {
			t.Agents = append(t.Agents, a)
		}
	}
	sortByTime(t)
	for _, c := range slices.Backward(t.Requests) {
		if c.Model != "" {
			t.Provider, t.Model = c.Provider, c.Model
			break
		}
	}
	transcript.DropBefore(t, q.Since)
	t.Pending = open && !settled(last)
	// Since that version, as far as is known, Claude Code records each stop and
	// the answers of the hooks.
	t.Undecided = t.Pending && undecided && !olderThan(b.version, 2, 1, 172)
	return t, errors.Join(errs...)
}

// readFile gives the rows of a file to the log, as far as the query asks for them.
func (r *reader) readFile(ctx context.Context, path string, q transcript.Query, log *fileLog) error {
	before := int64(0)
	head := func(file *transcript.File, start int64) error {
		switch {
		case log.agent == "":
			before = start
		case log.of == nil:
			return r.readHead(ctx, file, log)
		}
		return nil
	}
	var row row
	var beyond error
	lines := r.lines(log.agent != "")
	torn := transcript.Damaged{Max: r.maxLine}
	lost := func(line []byte) {
		log.b.damaged += torn.Left
		lines.Lost(&torn, line)
	}
	lines.Done = func() { torn.End(); lost(nil) }
	take := func() bool {
		if r.taken++; r.maxRows > 0 && r.taken > r.maxRows {
			beyond = transcript.ReadError(path, fmt.Errorf("%w: rows beyond the first %d", transcript.ErrBeyond, r.maxRows))
			return false
		}
		row.line = lines.Row
		log.add(&row)
		return true
	}
	err := lines.File(ctx, r.files, path, q, head, func(line []byte) bool {
		if row.parse(line) {
			torn.End()
			take()
		} else {
			torn.Add(line, func(line []byte) bool { return row.parse(line) && row.whole() && take() })
		}
		lost(line)
		return beyond == nil
	})
	err = cmp.Or(err, beyond)
	if err == nil && before > 0 {
		err = r.readFolders(ctx, path, before, log.b)
	}
	return err
}

// lines reads the rows of a session's file, or of a subagent's.
func (r *reader) lines(agent bool) *transcript.Lines {
	var row row
	return &transcript.Lines{
		Block: r.block, Max: r.maxLine,
		Time: func(line []byte) time.Time {
			if !row.parse(line) {
				return time.Time{}
			}
			return row.at
		},
		Opens: func() bool { return row.sidechain == agent && row.opensTurn() },
	}
}

// readHead reads a subagent's beginning: when it was started, and what for.
func (r *reader) readHead(ctx context.Context, file io.ReaderAt, log *fileLog) error {
	head := &fileLog{b: newBuild(log.b.session, log.b.texts.Max), agent: log.agent}
	err := r.rows(ctx, io.NewSectionReader(file, 0, transcript.MaxHead), func(row *row) bool {
		if row.kind == "user" {
			head.add(row)
		}
		return head.task == ""
	})
	log.first, log.task, log.opened = head.first, head.task, head.opened
	return err
}

// maxFolderSearch is how far before the rows that are read the newest folders are looked for, in
// bytes.
const maxFolderSearch = 1 << 20

// readFolders reads the folders that rows before a place name: those of the first such row, which
// comes before the first answer, and of the newest, which the user's last /add-dir wrote. What
// is beyond the limits of the reading is left out: the rows from the place on come first.
func (r *reader) readFolders(ctx context.Context, path string, place int64, b *build) error {
	file, err := r.files.Open(ctx, path, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // read only
	later, found := b.folders, false
	b.folders = nil
	named := func(row *row) bool { return !row.sidechain && !b.others.has(row, b.session) && b.addFolders(row) }
	err = r.rows(ctx, io.NewSectionReader(file, 0, min(place, transcript.EndSlack)), func(row *row) bool {
		found = named(row)
		return !found && row.kind != "assistant"
	})
	if err == nil && found {
		var row row
		left := maxFolderSearch
		err = r.lines(false).Before(ctx, file, place, func(line []byte) bool {
			left -= len(line)
			return left > 0 && !(bytes.Contains(line, []byte(`"snapshot"`)) && row.parse(line) && named(&row))
		})
	}
	b.folders = hook.Union(b.folders, later)
	if errors.Is(err, transcript.ErrBeyond) {
		return nil
	}
	return err
}

// rows visits the rows of a file until visit returns false.
func (r *reader) rows(ctx context.Context, file transcript.Sized, visit func(*row) bool) error {
	var row row
	return r.lines(false).Each(ctx, file, func(line []byte) bool { return !row.parse(line) || visit(&row) })
}

// agents lists the subagents whose files were written since a time: by id, and those
// that copy rows last. beside are files in the projects' folders.
func (r *reader) agents(ctx context.Context, session string, beside []head, since time.Time) ([]subagent, error) {
	files, err := subagentsOf(r.files, session)
	for _, h := range beside {
		files = append(files, h.path)
	}
	var agents []subagent
	for _, path := range files {
		name, ok := strings.CutSuffix(filepath.Base(path), suffix)
		id, named := strings.CutPrefix(name, agentPrefix)
		if !ok || !named {
			continue
		}
		s, ok := transcript.Stat(id, path)
		// A file's time may be coarser than a row's.
		if !ok || s.ModTime.Before(since.Add(-transcript.LineSlack)) {
			continue
		}
		if i := slices.IndexFunc(agents, func(a subagent) bool { return a.id == id }); i >= 0 {
			agents[i].paths = append(agents[i].paths, path)
			continue
		}
		a := subagent{id: id, paths: []string{path}}
		// Without it, or while it is being written, less is known of the agent.
		metaPath := strings.TrimSuffix(s.Path, suffix) + ".meta.json"
		a.meta, _ = transcript.Small[agentMeta](ctx, r.files, metaPath, false)
		agents = append(agents, a)
	}
	slices.SortFunc(agents, func(a, b subagent) int {
		if x, y := copiesRows(a.id), copiesRows(b.id); x != y {
			if y {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.id, b.id)
	})
	return agents, err
}

// agent returns the agent that its files describe; ok is false where they hold no
// row.
func (a *subagent) agent(b *build) (agent hook.Subagent, ok bool) {
	log := a.log
	if log.first.IsZero() && log.active.IsZero() {
		return hook.Subagent{}, false
	}
	agent = hook.Subagent{
		ID:     a.id,
		Type:   cmp.Or(a.meta.AgentType, log.kind),
		CallID: cmp.Or(a.meta.ToolUseID, b.spawns[a.id]),
		Turn:   log.opened,
		Task:   cmp.Or(log.task, a.meta.Description),
		Result: log.words,
		Start:  log.first,
	}
	if a.meta.Finished || log.stop == "end_turn" {
		agent.End = log.active
	}
	return agent, true
}

// sortByTime puts everything in order of time; what happened at the same time stays in
// the files' order.
func sortByTime(t *hook.Transcript) {
	slices.SortStableFunc(t.Requests, func(a, b hook.Request) int { return a.Start.Compare(b.Start) })
	slices.SortStableFunc(t.Prompts, func(a, b hook.Prompt) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(t.Ends, func(a, b hook.TurnEnd) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(t.Agents, func(a, b hook.Subagent) int { return a.Start.Compare(b.Start) })
}

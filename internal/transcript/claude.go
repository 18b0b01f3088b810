package transcript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// claudeSuffix ends the name of every transcript; before it stands the session
// id, or for a subagent's the prefix and the agent's id.
const (
	claudeSuffix      = ".jsonl"
	claudeAgentPrefix = "agent-"
)

// claudeBlock is how much of a transcript is read at once from its end.
const claudeBlock = 64 << 10

// maxClaudeHead bounds how far a subagent's first row is looked for.
const maxClaudeHead = 1 << 20

// ClaudeQuery says what to read of a Claude Code session.
type ClaudeQuery struct {
	// Session is the session's id, one plain path element.
	Session string
	// Path is the transcript as a hook's payload names it (transcript_path). It
	// is used if it is an absolute path to a regular file named after the
	// session; else the session is searched. May be empty or gone.
	Path string
	// Since leaves out what was over before it, and with it the reading of that
	// part of the files. If zero, everything is read.
	Since time.Time
	// Until lets reading stop where rows are later than this, by a margin. If
	// zero, it goes on to the end.
	Until time.Time
}

// Claude reads a session of Claude Code: its transcript and those of its
// subagents beside it. Calls, tool results, prompts and ends that lie before
// q.Since are left out; a call that was under way then is whole. Calls are one
// for each response of the API, failed requests included, under the ids of the
// messages. Costs are list prices (prices.json) where a row has none of its own.
//
// Errors: ErrNotFound where no place holds the session; a plain error for an id
// that is not one path element. Where a file cannot be read to its end, the
// transcript holds what could be read and stands beside the error. Lines that
// are no rows, rows of unknown types and rows over 8 MiB are passed over: the
// format is internal to Claude Code and changes with its versions.
//
// The texts kept are whole up to 8 MiB in all; in larger sessions each is cut
// to the same length, so that memory follows the number of calls and not the
// file. MaxFileBytes does not apply. Of a run whose rows are further from the
// file's end than half of MaxBytes, the later part is read.
func (f *Finder) Claude(ctx context.Context, q ClaudeQuery) (t *hook.Transcript, err error) {
	if err := checkID("session id", q.Session); err != nil {
		return nil, err
	}
	f, ctx, done := f.within(ctx)
	defer func() { err = done(err) }()
	path, err := f.claudePath(ctx, q)
	if err != nil {
		return nil, err
	}
	r := claudeReader{
		block: claudeBlock, maxLine: maxClaudeLine, maxText: maxClaudeText, maxRows: maxClaudeRows, now: f.now(), left: f.left,
	}
	return r.read(ctx, path, q)
}

// ClaudeSessions lists the sessions of Claude Code on this machine, the newest
// last. The error is the context's.
func (f *Finder) ClaudeSessions(ctx context.Context) ([]SessionFile, error) {
	var found []SessionFile
	for _, root := range f.claudeRoots() {
		for _, project := range list(filepath.Join(root, "projects")) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			entries, err := os.ReadDir(project)
			if err != nil {
				continue // a project of another user's, or gone
			}
			for _, e := range entries {
				id, ok := strings.CutSuffix(e.Name(), claudeSuffix)
				// Subagents of versions before 2.1 lie beside the sessions.
				if !ok || strings.HasPrefix(id, claudeAgentPrefix) {
					continue
				}
				if s, ok := sessionFile(id, filepath.Join(project, e.Name())); ok {
					found = append(found, s)
				}
			}
		}
	}
	return sortSessions(found), nil
}

// claudeRoots returns the folders that may hold Claude Code's projects.
func (f *Finder) claudeRoots() []string {
	var r rootList
	r.add(f.getenv("CLAUDE_CONFIG_DIR"))
	r.add(join(f.Home, ".claude"))
	r.add(join(f.Home, ".config", "claude"))
	return r.dirs
}

// claudePath finds the session's transcript. The folder of a project is made
// from the working directory in a way that changes between versions, so all of
// them are looked into; the file written last wins.
func (f *Finder) claudePath(ctx context.Context, q ClaudeQuery) (string, error) {
	name := q.Session + claudeSuffix
	if filepath.IsAbs(q.Path) && filepath.Base(q.Path) == name {
		if info, err := os.Stat(q.Path); err == nil && info.Mode().IsRegular() {
			return q.Path, nil
		}
	}
	roots := f.claudeRoots()
	var best SessionFile
	for _, root := range roots {
		for _, project := range list(filepath.Join(root, "projects")) {
			if err := ctx.Err(); err != nil {
				return "", err
			}
			s, ok := sessionFile(q.Session, filepath.Join(project, name))
			if ok && (best.Path == "" || s.ModTime.After(best.ModTime)) {
				best = s
			}
		}
	}
	if best.Path == "" {
		return "", fmt.Errorf("session %q: %w: no %s in %s", q.Session, ErrNotFound,
			filepath.Join("projects", "*", name), places(roots))
	}
	return best.Path, nil
}

// claudeReader reads the files of a session.
type claudeReader struct {
	block   int // bytes read at once from a file's end
	maxLine int // bytes of the longest row that is read
	maxText int // bytes of all texts that are kept
	maxRows int // rows that are taken in; zero for any number
	now     time.Time
	// left is how many bytes may still be read; nil for any number.
	left *int64

	taken int // rows that have been taken in
}

// claudeMeta is agent-<id>.meta.json, what Claude Code notes when it starts a
// subagent.
type claudeMeta struct {
	AgentType   string `json:"agentType"`
	Description string `json:"description"`
	ToolUseID   string `json:"toolUseId"`
	// SpawnDepth is 1 for an agent that the lead agent started.
	SpawnDepth int  `json:"spawnDepth"`
	Finished   bool `json:"finished"`
}

// claudeAgent is one subagent's files.
type claudeAgent struct {
	id, path string
	meta     claudeMeta
	log      *claudeLog
}

// read reads the transcript at path and the subagents beside it.
func (r *claudeReader) read(ctx context.Context, path string, q ClaudeQuery) (*hook.Transcript, error) {
	prices, err := loadPrices()
	if err != nil {
		return nil, err
	}
	b := newClaudeBuild(q.Session, prices, r.maxText)
	agents, err := r.agents(ctx, strings.TrimSuffix(path, claudeSuffix), q.Since)
	errs := []error{err}
	for _, a := range agents {
		if a.meta.ToolUseID != "" {
			b.callers[a.meta.ToolUseID] = nil
		}
	}
	t := &hook.Transcript{Session: q.Session}
	readLog := func(path, agent string) *claudeLog {
		log := &claudeLog{b: b, agent: agent}
		if err := r.readFile(ctx, path, q, log); err != nil {
			errs = append(errs, err)
			if errors.Is(err, ErrNotFound) {
				return log
			}
		}
		t.Sources = append(t.Sources, path)
		return log
	}
	readLog(path, "")
	open, undecided := b.ends.open, b.ends.waiting && !b.ends.told && b.ends.last.Kind == hook.KindRunComplete
	b.ends.flush()
	last := b.lastTime
	for i := range agents {
		agents[i].log = readLog(agents[i].path, agents[i].id)
	}

	t.Calls = b.calls.resolve(prices)
	t.Prompts, t.ToolResults, t.Ends = b.prompts, b.results, b.ends.found
	t.HostVersion, t.Cwd = b.version, b.cwd
	for i := range agents {
		if a, ok := agents[i].agent(b); ok && !agents[i].log.active.Before(q.Since) {
			t.Agents = append(t.Agents, a)
		}
	}
	sortClaude(t)
	for _, c := range slices.Backward(t.Calls) {
		if c.Model != "" {
			t.Provider, t.Model = c.Provider, c.Model
			break
		}
	}
	dropBefore(t, q.Since)
	t.Pending = open && r.now.Sub(last) < pendingAge
	// Since that version, as far as is known, it writes down each stop and what
	// the hooks said of it.
	t.Undecided = t.Pending && undecided && !olderThan(b.version, 2, 1, 172)
	return t, errors.Join(errs...)
}

// readFile gives the rows of a file to the log, as far as the query asks for them.
func (r *claudeReader) readFile(ctx context.Context, path string, q ClaudeQuery, log *claudeLog) error {
	file, err := open(ctx, path, 0, r.left)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // read only
	// What is appended from here on is for the next reading.
	size, err := r.untilEnd(ctx, file, file.info.Size(), q.Until)
	if err != nil {
		return wrapRead(path, err)
	}
	// What is read backwards is read forwards again, from where that ended.
	view, settle := file.half()
	start, beyond := r.sinceStart(ctx, view, size, q.Since, log.agent != "")
	settle()
	if beyond != nil && !errors.Is(beyond, ErrBeyond) {
		return wrapRead(path, beyond)
	}
	if start > 0 && log.agent != "" {
		if err := r.readHead(ctx, file, log); err != nil {
			return wrapRead(path, err)
		}
	}
	err = r.rows(ctx, io.NewSectionReader(file, start, size-start), func(row *claudeRow) bool {
		if r.taken++; r.maxRows > 0 && r.taken > r.maxRows {
			beyond = fmt.Errorf("%w: rows beyond the first %d", ErrBeyond, r.maxRows)
			return false
		}
		log.add(row)
		return true
	})
	if err = cmp.Or(err, beyond); err != nil {
		return wrapRead(path, err)
	}
	return nil
}

// readHead reads a subagent's beginning: when it was started, and what for.
func (r *claudeReader) readHead(ctx context.Context, file io.ReaderAt, log *claudeLog) error {
	head := &claudeLog{b: newClaudeBuild(log.b.session, nil, log.b.texts.max), agent: log.agent}
	err := r.rows(ctx, io.NewSectionReader(file, 0, maxClaudeHead), func(row *claudeRow) bool {
		if row.is("user") {
			head.add(row)
		}
		return head.task == ""
	})
	log.first, log.task, log.opened = head.first, head.task, head.opened
	return err
}

// rows visits the rows of a file until visit returns false.
func (r *claudeReader) rows(ctx context.Context, file io.Reader, visit func(*claudeRow) bool) error {
	lines := newLineReader(file, r.maxLine)
	var row claudeRow
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if row.parse(line) && !visit(&row) {
			return nil
		}
	}
}

// agents lists the subagents that may have something since a moment, by id.
func (r *claudeReader) agents(ctx context.Context, dir string, since time.Time) ([]claudeAgent, error) {
	dir = filepath.Join(dir, "subagents")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list subagents %q: %w", dir, err)
	}
	var agents []claudeAgent
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), claudeSuffix)
		id, named := strings.CutPrefix(name, claudeAgentPrefix)
		if !ok || !named {
			continue
		}
		s, ok := sessionFile(id, filepath.Join(dir, e.Name()))
		// A file's time may be coarser than a row's.
		if !ok || s.ModTime.Before(since.Add(-sinceSlack)) {
			continue
		}
		a := claudeAgent{id: id, path: s.Path}
		// Without it, or while it is being written, less is known.
		metaPath := strings.TrimSuffix(s.Path, claudeSuffix) + ".meta.json"
		_ = (&Finder{left: r.left}).readSmall(ctx, metaPath, 1, &a.meta, func() { a.meta = claudeMeta{} })
		agents = append(agents, a)
	}
	return agents, nil
}

// agent makes an agent of what its files say; ok is false where they hold no
// row.
func (a *claudeAgent) agent(b *claudeBuild) (agent hook.Agent, ok bool) {
	log := a.log
	if log.first.IsZero() && log.active.IsZero() {
		return hook.Agent{}, false
	}
	started := b.spawns[a.id]
	agent = hook.Agent{
		ID:     a.id,
		Type:   cmp.Or(a.meta.AgentType, log.kind),
		CallID: cmp.Or(a.meta.ToolUseID, started.call),
		Turn:   log.opened,
		Task:   cmp.Or(log.task, a.meta.Description),
		Result: log.words,
		Start:  log.first,
	}
	caller := b.callers[agent.CallID]
	switch {
	case caller != nil:
		agent.ParentAgent = *caller
	case agent.CallID == started.call:
		agent.ParentAgent = started.agent
	case a.meta.SpawnDepth > 1:
		agent.ParentAgent = hook.ParentUnknown
	}
	if a.meta.Finished || log.stop == "end_turn" {
		agent.End = log.active
	}
	return agent, true
}

// sortClaude puts everything in order of time; what happened at once stays in
// the files' order.
func sortClaude(t *hook.Transcript) {
	slices.SortStableFunc(t.Calls, func(a, b hook.LLMCall) int { return a.Start.Compare(b.Start) })
	slices.SortStableFunc(t.Prompts, func(a, b hook.Prompt) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(t.Ends, func(a, b hook.TurnEnd) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(t.Agents, func(a, b hook.Agent) int { return a.Start.Compare(b.Start) })
}

// dropBefore leaves out what was over before a moment.
func dropBefore(t *hook.Transcript, moment time.Time) {
	if moment.IsZero() {
		return
	}
	t.Calls = slices.DeleteFunc(t.Calls, func(c hook.LLMCall) bool { return c.End.Before(moment) })
	t.Prompts = slices.DeleteFunc(t.Prompts, func(p hook.Prompt) bool { return p.At.Before(moment) })
	t.ToolResults = slices.DeleteFunc(t.ToolResults, func(r hook.ToolResult) bool { return r.At.Before(moment) })
	t.Ends = slices.DeleteFunc(t.Ends, func(e hook.TurnEnd) bool { return e.At.Before(moment) })
}

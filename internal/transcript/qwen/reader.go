// Package qwen reads the session files that Qwen Code keeps, one per session below
// ~/.qwen/projects, with the subagents' files beside them.
//
// The format is internal to Qwen Code and changes with its versions: lines that are
// not rows, rows of unknown types and rows over 8 MiB are skipped. There is a row for
// each request to a model, subagents' and failed ones included, with its tokens; the
// rows of answers that follow repeat the tokens and are not counted. A cost is tokens at list price
// (package prices). The file does not count cache writes, so requests to models that
// price them separately have no cost. Requests of Qwen Code's background agents, such as
// the one that keeps its memory, belong to no turn and are left out. Before version 0.5
// the files are the Gemini CLI's older ones, below ~/.qwen/tmp, which package
// transcript/gemini reads.
package qwen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/qwen"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/internal/transcript/gemini"
)

// A session's file is PROJECT/chats/SESSION.jsonl, a subagent's is
// PROJECT/subagents/SESSION/agent-ID.jsonl with agent-ID.meta.json beside it.
const (
	suffix      = ".jsonl"
	metaSuffix  = ".meta.json"
	agentPrefix = "agent-"
	chats       = "chats"
	subagents   = "subagents"
	// exits has a line for each session whose program has ended.
	exits = "usage_record.jsonl"
)

// Agent reads Qwen Code's files. Read uses Query.Path if it is an absolute path to a
// regular file named after the session, and reads the file from where the turn begins
// that was under way at Query.Since.
var Agent = transcript.Reader{
	Host: hook.HostQwen, Read: read, Sessions: sessions, Parts: parts, AddEvents: addEvents, Timed: true, End: end,
}

func read(ctx context.Context, f *transcript.Files, q transcript.Query) (*hook.Transcript, error) {
	path, err := find(ctx, f, q)
	if err != nil {
		return nil, err
	}
	if older(path) {
		return gemini.Read(ctx, f, q, path)
	}
	return readAll(ctx, f, q, path, q.TextLimit())
}

// older reports a file in the form before version 0.5.
func older(path string) bool { return filepath.Ext(path) != suffix }

// end reports that the last turn has failed or was interrupted, which Qwen Code
// reports to no hook when it is not in a terminal.
func end(ctx context.Context, f *transcript.Files, q transcript.Query) (hook.Kind, time.Time, error) {
	path, err := find(ctx, f, q)
	if err != nil {
		return hook.KindUnknown, time.Time{}, err
	}
	q, ok := q.LastTurn(path)
	if !ok || older(path) {
		return hook.KindUnknown, time.Time{}, nil
	}
	log := newLog(q.Session, transcript.MaxText)
	err = log.readFile(ctx, f, path, q)
	last := log.end
	if err != nil || last == nil || last.Kind == hook.KindRunComplete {
		return hook.KindUnknown, time.Time{}, err
	}
	if last.Kind == hook.KindRunError && log.mayRetry && f.Now().Sub(last.At) < retryAge {
		return hook.KindUnknown, time.Time{}, nil
	}
	return hook.KindSessionEnd, last.At, nil
}

// retryAge is how long after a failed request Qwen Code may still try it again.
const retryAge = 5 * time.Minute

func sessions(ctx context.Context, f *transcript.Files) ([]transcript.Session, error) {
	places := roots(f)
	found, err := transcript.List(ctx, qwen.Dialect, folders(places), func(name string) (id, path string) {
		id, ok := strings.CutSuffix(name, suffix)
		if !ok {
			return "", ""
		}
		return id, name
	})
	if err != nil {
		return nil, err
	}
	found = transcript.WithGone(qwen.Dialect, found, transcript.In(folders(places), filepath.Join("..", subagents)))
	old, err := gemini.Sessions(ctx, f, places, qwen.Dialect)
	return append(found, slices.DeleteFunc(old, func(s transcript.Session) bool { return !older(s.Path) })...), err
}

// agentsDir is the folder with the files of a session's subagents.
func agentsDir(path, session string) string {
	return filepath.Join(filepath.Dir(filepath.Dir(path)), subagents, session)
}

func parts(s transcript.Session) ([]string, error) {
	dir := agentsDir(s.Path, s.ID)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	paths := make([]string, len(entries))
	for i, e := range entries {
		paths[i] = filepath.Join(dir, e.Name())
	}
	return paths, err
}

// find returns the path of a session's file. The folder of a project is made from the
// working directory, so all of them are searched; the file written last wins.
func find(ctx context.Context, f *transcript.Files, q transcript.Query) (string, error) {
	name, places := q.Session+suffix, roots(f)
	own := func(path string) bool { return filepath.Base(path) == name }
	copies := func() []string { return transcript.In(folders(places), name) }
	path, err := transcript.Find(ctx, q, own, copies, places, filepath.Join("projects", "*", chats, name))
	if errors.Is(err, transcript.ErrNotFound) {
		for _, dir := range folders(places) {
			if info, statErr := os.Stat(agentsDir(filepath.Join(dir, name), q.Session)); statErr == nil && info.IsDir() {
				return filepath.Join(dir, name), nil // which is gone
			}
		}
	}
	if errors.Is(err, transcript.ErrNotFound) {
		if path, other := gemini.Find(ctx, f, places, q); !errors.Is(other, transcript.ErrNotFound) {
			return path, other
		}
	}
	return path, err
}

// roots returns the folders that may hold Qwen Code's projects.
func roots(f *transcript.Files) transcript.Folders {
	var r transcript.Folders
	r.Add(f.Getenv("QWEN_RUNTIME_DIR"))
	r.Add(f.Getenv("QWEN_HOME"))
	r.Add(f.Home, ".qwen")
	return r
}

// exited reports that the program of a session has ended since a time, as it writes before
// that: no hook of the user's decides any more.
func exited(ctx context.Context, f *transcript.Files, session string, since time.Time) (found bool) {
	var r exit
	for _, root := range roots(f) {
		file, err := f.Open(ctx, filepath.Join(root, exits), 0)
		if err != nil {
			continue // older versions have none
		}
		_ = transcript.LinesOf(&r).Before(ctx, file, file.Size(), func(line []byte) bool {
			whole := r.Parse(line)
			found = whole && r.session == session && !r.at.Before(since)
			return !found && (!whole || !r.at.Before(since.Add(-transcript.LineSlack)))
		})
		_ = file.Close() // read only
		if found {
			return true
		}
	}
	return false
}

// folders lists the folders with sessions of each project.
func folders(roots transcript.Folders) []string {
	return transcript.In(transcript.Within(roots, "projects", "tmp"), chats) // of which the latter is older
}

// agentMeta is what Qwen Code notes of a subagent.
type agentMeta struct {
	AgentID     string `json:"agentId"`
	AgentType   string `json:"agentType"`
	Description string `json:"description"`
	ToolUseID   string `json:"toolUseId"`
	Created     string `json:"createdAt"`
	Updated     string `json:"lastUpdatedAt"`
	Status      string `json:"status"`
}

// subagent is one subagent's files.
type subagent struct {
	path string
	meta agentMeta
}

// agentFiles lists the subagents whose files were written since a time, by id.
func agentFiles(ctx context.Context, f *transcript.Files, dir string, since time.Time) ([]subagent, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list subagents %q: %w", dir, err)
	}
	var agents []subagent
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		id, named := strings.CutPrefix(name, agentPrefix)
		if !ok || !named {
			continue
		}
		s, ok := transcript.Stat(id, filepath.Join(dir, e.Name()))
		// A file's time may be coarser than a row's.
		if !ok || s.ModTime.Before(since.Add(-transcript.LineSlack)) {
			continue
		}
		a := subagent{path: s.Path}
		// Without it, or while it is being written, less is known of the agent.
		a.meta, _ = transcript.Small[agentMeta](ctx, f, strings.TrimSuffix(s.Path, suffix)+metaSuffix, false)
		a.meta.AgentID = id
		agents = append(agents, a)
	}
	return agents, nil
}

// readFile gives the rows of a file to the log, as far as the query asks for them.
func (l *log) readFile(ctx context.Context, f *transcript.Files, path string, q transcript.Query) error {
	var r row
	// A subagent's first row says what it was started for.
	head := func(file *transcript.File, _ int64) error {
		return transcript.First(ctx, file.Head(), &r, func() bool {
			if r.kind == kindUser {
				l.add(&r)
			}
			return r.kind != kindUser
		})
	}
	if l.agent == "" {
		head = nil
	}
	return l.Read(ctx, f, path, q, &r, head, func() { l.add(&r) })
}

// Package kimi reads the session files that Kimi Code keeps, one for each agent of a session:
// ~/.kimi-code/sessions/FOLDER/SESSION/agents/main/wire.jsonl, and agents/agent-N/wire.jsonl for
// its subagents, which hooks do not name.
//
// The format is internal to Kimi Code and changes with its versions; this is protocol 1.5, of
// version 2.1. Rows of unknown types and rows over 8 MiB are skipped, and of a damaged line the
// whole rows are read. A request has its tokens in two rows, usage.record when it was answered and
// step.end after its calls: it counts once. One that shortens a conversation has the first alone.
// A cost is tokens at list price (package prices).
//
// A fork has copies of the rows of its session, up to the row forked. They count there; if
// the session is gone, they count here.
package kimi

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/kimi"
	"github.com/hookspan/hookspan/internal/transcript"
)

const (
	fileName  = "wire.jsonl"
	lead      = "main"
	stateName = "state.json"
)

// Agent reads Kimi Code's files, each from where the turn begins that was under way at Query.Since.
var Agent = transcript.Reader{
	Host: hook.HostKimi, Read: read, Sessions: sessions, Parts: parts, AddEvents: addEvents, Origin: origin, End: end,
}

// state is what Kimi Code notes of a session beside its rows.
type state struct {
	CWD        string `json:"cwd"`
	ForkedFrom string `json:"forkedFrom"`
	Agents     map[string]struct {
		Labels struct {
			ProfileName string `json:"profileName"`
		} `json:"labels"`
	} `json:"agents"`
}

func read(ctx context.Context, f *transcript.Files, q transcript.Query) (*hook.Transcript, error) {
	path, err := find(ctx, f, q)
	if err != nil {
		return nil, err
	}
	l := newLog(q)
	// While it is being written less is known of the session.
	l.noted, _ = transcript.Small[state](ctx, f, filepath.Join(sessionDir(path), stateName), false)
	if l.noted.ForkedFrom == filepath.Base(sessionDir(path)) {
		l.noted.ForkedFrom = ""
	}
	if l.noted.ForkedFrom != "" {
		_, err := find(ctx, f, transcript.Query{Session: l.noted.ForkedFrom})
		l.copies = err == nil
	}
	others, _ := parts(transcript.Session{Path: path}) // never fails
	for _, path := range append([]string{path}, others...) {
		l.read(ctx, f, path, q)
	}
	return l.transcript(f, q)
}

// origin names the session that a session has copied, and the last turn of that.
func origin(ctx context.Context, f *transcript.Files, q transcript.Query) (session, turn string, err error) {
	q.Since = time.Time{}
	t, err := read(ctx, f, q)
	if t == nil {
		return "", "", err
	}
	return t.Origin, t.OriginTurn, nil
}

// end reports the end of the last turn, which no hook does after one that refused an end. How
// the turn ended is in the transcript.
func end(ctx context.Context, f *transcript.Files, q transcript.Query) (hook.Kind, time.Time, error) {
	path, err := find(ctx, f, q)
	q, ok := q.LastTurn(path)
	if err != nil || !ok {
		return hook.KindUnknown, time.Time{}, err
	}
	l := newLog(q)
	l.read(ctx, f, path, q)
	if l.undecided || len(l.out.Ends) == 0 {
		return hook.KindUnknown, time.Time{}, nil
	}
	return hook.KindSessionEnd, l.out.Ends[len(l.out.Ends)-1].At, nil
}

// read adds the rows of an agent's file. The log has the error.
func (l *log) read(ctx context.Context, f *transcript.Files, path string, q transcript.Query) {
	l.open(filepath.Base(filepath.Dir(path)))
	var r row
	_ = l.out.Read(ctx, f, path, q, &r, nil, func() { l.add(&r) })
	l.close()
}

// sessionDir is the folder of the session whose file is at path.
func sessionDir(path string) string { return filepath.Dir(filepath.Dir(filepath.Dir(path))) }

func sessions(ctx context.Context, f *transcript.Files) ([]transcript.Session, error) {
	return transcript.List(ctx, kimi.Dialect, folders(f), func(name string) (id, path string) {
		return name, filepath.Join(name, "agents", lead, fileName)
	})
}

// parts are the files of the session's subagents, in the order of their numbers.
func parts(s transcript.Session) (paths []string, err error) {
	for _, dir := range transcript.Subfolders(filepath.Dir(filepath.Dir(s.Path))) {
		path := filepath.Join(dir, fileName)
		if _, ok := transcript.Stat(lead, path); ok && filepath.Base(dir) != lead {
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return paths, nil
}

// find returns the path of a session's file. Hooks do not name it, and its folder is made of
// the working directory: all of them are searched, and the file written last wins.
func find(ctx context.Context, f *transcript.Files, q transcript.Query) (string, error) {
	own := func(path string) bool {
		return filepath.Base(path) == fileName && filepath.Base(sessionDir(path)) == q.Session
	}
	rest := filepath.Join(q.Session, "agents", lead, fileName)
	copies := func() []string { return transcript.In(folders(f), rest) }
	return transcript.Find(ctx, q, own, copies, f.Roots(hook.HostKimi), filepath.Join("sessions", "*", rest))
}

// folders lists the folders with the sessions of each working directory.
func folders(f *transcript.Files) []string {
	return transcript.Within(f.Roots(hook.HostKimi), "sessions")
}

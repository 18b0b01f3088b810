// Package codex reads the rollout files that the Codex CLI keeps, one for each session
// and each subagent, below ~/.codex/sessions and ~/.codex/archived_sessions, also those
// that it has compressed.
//
// The format is internal to Codex and changes with its versions: rows of unknown types and
// rows over 8 MiB are skipped, and of a damaged line the whole rows are read. There is a
// record of the tokens of each response; the running totals of older versions count where
// there is none. What earlier versions wrote is rewritten first (ages.go), so that the log
// reads the rows of 0.160. Before September 2025 there are no tokens.
//
// A cost is tokens at list price (package prices), of the tier that the newest settings before
// a request ask for: the standard one or, where the list has it, the fast one. Only this file says how a tool call ended: in the call's item, or
// without one in the text of its output to the model.
//
// A fork's file begins with a copy of the session that it was forked from. A copied turn
// counts where its original is, else in the oldest file that has a copy.
//
// In code mode the model writes a script that makes calls. The script is a call, and so are
// those of its calls that the file names. Before 0.160 it names few.
package codex

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/codex"
	"github.com/hookspan/hookspan/internal/transcript"
)

// A rollout file is sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl.
const (
	prefix = "rollout-"
	suffix = ".jsonl"
)

// Agent reads Codex's files. Read uses Query.Path if it is an absolute path to a
// regular file named after the session, and reads the files from where the turn
// begins that was under way at Query.Since.
var Agent = transcript.Reader{
	Host: hook.HostCodex, Read: read, Sessions: sessions, AddEvents: addEvents, End: end, Origin: origin,
	Parts: func(transcript.Session) ([]string, error) { return nil, nil }, // the listing has them
}

func read(ctx context.Context, f *transcript.Files, q transcript.Query) (*hook.Transcript, error) {
	path, err := find(ctx, f, q)
	if err != nil {
		return nil, err
	}
	return readAll(ctx, f, q, path, q.TextLimit())
}

// origin names the thread that the session was forked from, and the last turn of the copy.
func origin(ctx context.Context, f *transcript.Files, q transcript.Query) (session, turn string, err error) {
	path, err := find(ctx, f, q)
	if err != nil {
		return "", "", err
	}
	h, err := headOf(ctx, f, path, true)
	if len(h.from) == 0 || h.parent != "" {
		return "", "", err
	}
	return h.from[0].id, h.turn, err
}

// end reports that the last turn has failed or was interrupted, of which the former is
// reported to no hook.
func end(ctx context.Context, f *transcript.Files, q transcript.Query) (hook.Kind, time.Time, error) {
	path, err := find(ctx, f, q)
	if err != nil {
		return hook.KindUnknown, time.Time{}, err
	}
	q, ok := q.LastTurn(path)
	if !ok {
		return hook.KindUnknown, time.Time{}, nil
	}
	l := newLog(transcript.MaxText)
	l.old.flat.moved.Off = true
	if err := l.readFile(ctx, f, path, q); err != nil || l.open || len(l.Ends) == 0 {
		return hook.KindUnknown, time.Time{}, err
	}
	last := l.Ends[len(l.Ends)-1]
	if last.Kind == hook.KindRunComplete {
		return hook.KindUnknown, time.Time{}, nil
	}
	return hook.KindSessionEnd, last.At, nil
}

// sessions lists the sessions. A subagent's file is named in its first row; one of a session
// that is gone is listed.
func sessions(ctx context.Context, f *transcript.Files) (found []transcript.Session, err error) {
	shelf := shelfOf(ctx, f)
	related := shelf.related()
	for id, paths := range shelf.paths {
		for _, path := range paths {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			parent := shelf.heads().parents[path]
			if s, ok := transcript.Described(id, path, shelf.heads().infos[path]); ok && (parent == "" || len(shelf.paths[parent]) == 0) {
				s.Dialect = codex.Dialect
				for _, other := range related[path] {
					if other != path {
						s.Others = append(s.Others, other)
					}
				}
				found = append(found, s)
			}
		}
	}
	return found, ctx.Err()
}

// idOf is the id in the name of a file: its last five groups.
func idOf(name string) (id string, ok bool) {
	rest, named := strings.CutPrefix(name, prefix)
	for _, end := range [...]string{suffix, packed, single} {
		base, ended := strings.CutSuffix(rest, end)
		if parts := strings.Split(base, "-"); named && ended && len(parts) > 5 {
			return strings.Join(parts[len(parts)-5:], "-"), true
		}
	}
	return "", false
}

func find(ctx context.Context, f *transcript.Files, q transcript.Query) (string, error) {
	places := f.Roots(hook.HostCodex)
	own := func(path string) bool {
		id, ok := idOf(filepath.Base(path))
		return ok && id == q.Session
	}
	copies := func() (paths []string) {
		for _, dir := range days(places) {
			paths = append(paths, byThread(dir)[q.Session]...)
		}
		return paths
	}
	want := filepath.Join("sessions", "*", "*", "*", prefix+"*-"+q.Session+suffix) + " or other rollout file"
	return transcript.Find(ctx, q, own, copies, places, want)
}

// rollouts lists the names of rollout files in a folder. One that cannot be listed has none.
// While Codex compresses a file, it is there twice.
func rollouts(dir string) (names []string) {
	entries, _ := os.ReadDir(dir) // by name
	for _, e := range entries {
		name := e.Name()
		if n := len(names); n > 0 && name == names[n-1]+strings.TrimPrefix(packed, suffix) {
			continue
		}
		if _, ok := idOf(name); ok {
			names = append(names, name)
		}
	}
	return names
}

// archive is the folder of the sessions that the user has put away.
const archive = "archived_sessions"

// days lists the folders that may hold rollout files: of each day, those above them, where
// older versions wrote, and the archive.
func days(roots transcript.Folders) (dirs []string) {
	var add func(dir string, levels int)
	add = func(dir string, levels int) {
		dirs = append(dirs, dir)
		if levels > 0 {
			for _, sub := range transcript.Subfolders(dir) {
				add(sub, levels-1)
			}
		}
	}
	for _, root := range roots {
		add(filepath.Join(root, "sessions"), 3)
		add(filepath.Join(root, archive), 3)
	}
	return dirs
}

// maxAgents bounds the subagents of one session.
const maxAgents = 1000

// readFile gives the rows of a file to the log, as far as the query asks for them.
func (l *log) readFile(ctx context.Context, f *transcript.Files, path string, q transcript.Query) error {
	l.history = history{elsewhere: elsewhere(ctx, f, &l.history.self)}
	var r row
	return l.ReadLines(path, q, &r, func() { l.add(&r) }, func(lines *transcript.Lines, visit func(line []byte) bool) error {
		if !plain(path) {
			return eachRow(ctx, f, path, lines, 0, visit)
		}
		return lines.File(ctx, f, path, q, func(file *transcript.File, start int64) error { return l.head(ctx, file, start) }, visit)
	})
}

// head reads what the rows before start say of those from there on.
func (l *log) head(ctx context.Context, file *transcript.File, start int64) error {
	var r row
	// The first row has the version and the folder, those after it may say that copies follow.
	err := transcript.First(ctx, file.Head(), &r, func() bool {
		meta := r.kind == sessionMeta
		if meta {
			l.add(&r)
		}
		return meta
	})
	if err != nil || !l.costs {
		return err
	}
	// The settings of a turn are recorded where they were changed.
	passed := 0
	err = transcript.LinesOf(&r).Before(ctx, file, start, func(line []byte) bool {
		if passed += len(line); passed > l.settingsWithin {
			l.tier = unknownTier
			return false
		}
		if !bytes.Contains(line, []byte(settings)) || !r.Parse(line) || r.kind != event || r.what != settings {
			return true
		}
		l.add(&r)
		return false
	})
	if errors.Is(err, transcript.ErrBeyond) {
		l.tier = unknownTier
		return nil
	}
	return err
}

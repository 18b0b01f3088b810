// Package pi reads the session files that Pi keeps, one for each session below
// ~/.pi/agent/sessions.
//
// A file is a tree: after a step back the rows of a new branch follow those of the one that
// was left, whose work was done all the same. So all rows count, in the order in which they
// were written. A fork begins with copies of another session's rows, with their ids and times:
// they count for the session that they are copies of, or, if its file is gone, for the fork
// that began first.
//
// Each message of the model is one request with its tokens and the cost that Pi reckons in
// USD; 0 is none, since Pi also writes it for a model without a price. Requests that are no
// message, such as those that keep a cache warm, and those for summaries have no duration: two
// that make one summary are one here. They come between turns, too, and then are part of the
// turn before them, at its end. The result of a call may have the sum of requests that the
// tool has made.
//
// The format is documented (version 3); versions 1 and 2 are rewritten by the first program
// that continues a session. Rows of unknown types and rows over 8 MiB are skipped.
package pi

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/pi"
	"github.com/hookspan/hookspan/internal/transcript"
)

// A session's file is sessions/--FOLDER--/TIME_SESSION.jsonl, or TIME_SESSION.jsonl in a folder
// that the user names.
const (
	folder = "sessions"
	suffix = ".jsonl"
)

// Agent reads Pi's files. Read uses Query.Path if it is an absolute path to a regular file of
// the session, and reads the file from where the turn begins that was under way at Query.Since.
var Agent = transcript.Reader{
	Host: hook.HostPi, Read: read, Sessions: sessions, AddEvents: addEvents, Origin: origin, Timed: true,
	Parts: func(transcript.Session) ([]string, error) { return nil, nil }, // all is in the session's file
}

func read(ctx context.Context, f *transcript.Files, q transcript.Query) (*hook.Transcript, error) {
	path, err := find(ctx, f, q)
	if err != nil {
		return nil, err
	}
	h, _ := headOf(ctx, f, path)
	l := &log{out: transcript.NewLog(q.TextLimit()), head: h, query: q, clock: transcript.Clock{Off: !q.Full}}
	l.copied = parentOf(f, path, h) != ""
	if h.parent != "" && !l.copied {
		l.copies = copiesOf(ctx, f, h)
	}
	var r row
	_ = l.out.Read(ctx, f, path, q, &r, nil, func() { l.add(&r) }) // the log has the error
	t, err := l.transcript(f)
	switch {
	case l.copied && l.base.id != "":
		t.Origin, t.OriginTurn = ownerOf(ctx, f, path, h, l.base.at), l.base.id
	case h.parent != "" && !l.copied:
		t.CopiedFrom = []string{sessionOf(h.parent)}
	}
	return t, err
}

// origin names the session that has the last turn which one has copied, and that turn, while the
// file is there that it was forked from.
func origin(ctx context.Context, f *transcript.Files, q transcript.Query) (session, turn string, err error) {
	path, err := find(ctx, f, q)
	if errors.Is(err, transcript.ErrNotFound) {
		return "", "", nil
	}
	h, _ := headOf(ctx, f, path)
	if err != nil || h.parent == "" {
		return "", "", err
	}
	t, err := read(ctx, f, transcript.Query{Session: q.Session, Path: path, Until: h.born})
	return t.Origin, t.OriginTurn, err
}

func sessions(ctx context.Context, f *transcript.Files) (found []transcript.Session, err error) {
	for _, path := range files(f) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, info := headOf(ctx, f, path)
		if s, ok := transcript.Described(cmp.Or(h.session, sessionOf(path)), path, info); ok {
			s.Dialect, s.Cwd = pi.Dialect, h.cwd
			found = append(found, s)
		}
	}
	return found, nil
}

// files lists the files of sessions.
func files(f *transcript.Files) []string {
	type key struct{}
	return transcript.Recall(f, key{}, func(f *transcript.Files) (paths []string) {
		for _, root := range places(f) {
			for _, dir := range append(transcript.Subfolders(root), root) {
				entries, _ := os.ReadDir(dir) // a folder that cannot be listed has none
				for _, e := range entries {
					if strings.HasSuffix(e.Name(), suffix) {
						paths = append(paths, filepath.Join(dir, e.Name()))
					}
				}
			}
		}
		return paths
	})
}

// places returns the folders that may have folders of sessions.
func places(f *transcript.Files) transcript.Folders {
	var r transcript.Folders
	r.Add(f.Getenv("PI_CODING_AGENT_SESSION_DIR"))
	r.Add(f.Getenv("PI_CODING_AGENT_DIR"), folder)
	r.Add(f.Home, ".pi", "agent", folder)
	return r
}

// find returns the path of a session's file. Its name ends with the session's id, unless the
// user has chosen it.
func find(ctx context.Context, f *transcript.Files, q transcript.Query) (string, error) {
	own := func(path string) bool {
		h, _ := headOf(ctx, f, path)
		return cmp.Or(h.session, sessionOf(path)) == q.Session
	}
	copies := func() []string {
		all := files(f)
		named := slices.DeleteFunc(slices.Clone(all), func(path string) bool { return sessionOf(path) != q.Session })
		if len(named) == 0 {
			named = slices.DeleteFunc(slices.Clone(all), func(path string) bool { return !own(path) })
		}
		return named
	}
	return transcript.Find(ctx, q, own, copies, places(f), filepath.Join("*", "*_"+q.Session+suffix))
}

// sessionOf returns the id in the name of a session's file.
func sessionOf(path string) string {
	_, id, _ := strings.Cut(strings.TrimSuffix(baseName(path), suffix), "_")
	return id
}

// baseName is the last element of a path of any system.
func baseName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// head is what the first rows of a file say.
type head struct {
	session, cwd string
	born         time.Time
	// parent is the path of the file that it was forked from, first the id of the first row,
	// which forks have in common.
	parent, first string
}

// headOf reads the first rows of a file. It is empty for a file that is no session.
func headOf(ctx context.Context, f *transcript.Files, path string) (h head, info os.FileInfo) {
	says, info := f.Fact(path, func() (says []string, err error) {
		err = eachRow(ctx, f, path, (*transcript.File).Head, func(r *row) bool {
			if says == nil && r.kind == "session" {
				says = []string{r.o.Text("id"), r.o.Text("cwd"), r.o.Text("timestamp"), r.o.Text("parentSession"), ""}
				return true
			}
			if says != nil {
				says[len(says)-1] = r.id
			}
			return false
		})
		return says, err
	})
	if len(says) == 5 {
		h = head{says[0], says[1], transcript.ISOTime(says[2]), says[3], says[4]}
	}
	return h, info
}

// eachRow gives visit the rows of a part of a file until it returns false.
func eachRow(ctx context.Context, f *transcript.Files, path string, part func(*transcript.File) transcript.Sized, visit func(*row) bool) error {
	file, err := f.Open(ctx, path, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // read only
	var r row
	return transcript.First(ctx, part(file), &r, func() bool { return visit(&r) })
}

// rowKey is the id and the time of a row, which its copies have as well.
type rowKey struct {
	id string
	at int64
}

// rowsOf returns the rows of a file. What cannot be read has none.
func rowsOf(ctx context.Context, f *transcript.Files, path string) map[rowKey]bool {
	type key struct{ rows string }
	return transcript.Recall(f, key{path}, func(f *transcript.Files) map[rowKey]bool {
		rows := make(map[rowKey]bool)
		whole := func(file *transcript.File) transcript.Sized { return file }
		_ = eachRow(ctx, f, path, whole, func(r *row) bool {
			rows[rowKey{r.id, r.at.UnixNano()}] = true
			return true
		})
		return rows
	})
}

// parentOf returns the path of the file that a session was forked from, empty if it is gone or the
// session is no fork.
func parentOf(f *transcript.Files, path string, h head) string {
	if h.parent == "" {
		return ""
	}
	name := baseName(h.parent)
	if beside := filepath.Join(filepath.Dir(path), name); beside != path {
		if _, ok := transcript.Stat("-", beside); ok {
			return beside
		}
	}
	all := files(f)
	if i := slices.IndexFunc(all, func(other string) bool { return other != path && baseName(other) == name }); i >= 0 {
		return all[i]
	}
	return ""
}

// maxForks bounds how many forks of forks are followed.
const maxForks = 100

// ownerOf returns the session in which a copied row was written: the one of a fork's forebears that
// had begun then.
func ownerOf(ctx context.Context, f *transcript.Files, path string, h head, at time.Time) string {
	for range maxForks {
		path = parentOf(f, path, h)
		if path == "" {
			return sessionOf(h.parent)
		}
		h, _ = headOf(ctx, f, path)
		if h.parent == "" || at.After(h.born) {
			break
		}
	}
	return h.session
}

// copiesOf returns the rows that a fork may have of sessions which began before it.
func copiesOf(ctx context.Context, f *transcript.Files, h head) (copies []map[rowKey]bool) {
	for _, other := range files(f) {
		if o, _ := headOf(ctx, f, other); o.first == h.first && cmp.Or(o.born.Compare(h.born), cmp.Compare(o.session, h.session)) < 0 {
			copies = append(copies, rowsOf(ctx, f, other))
		}
	}
	return copies
}

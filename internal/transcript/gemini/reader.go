// Package gemini reads the session files that the Gemini CLI keeps, one for each
// session below ~/.gemini/tmp, with the subagents' files in a folder beside it. Until
// about version 0.39 a file is one JSON object with a list of the rows, a form that
// Qwen Code had before 0.5.
//
// The format is internal to the Gemini CLI and changes with its versions: lines that
// are not rows, rows of unknown types and rows over 8 MiB are skipped. A row of the
// model is one request with its tokens; it is written again when its tools are done. A
// session that is resumed begins with a copy of its rows, which is skipped. A failed
// request has no row. The files do not have when a request began: it is taken to begin
// with the row before it. They have no costs: a cost is tokens at list price (package
// prices).
package gemini

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/gemini"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// A session's file is tmp/PROJECT/chats/session-TIME-ID8.jsonl, where ID8 is the
// beginning of its id; those of its subagents are chats/SESSION/AGENT.jsonl.
const (
	suffix = ".jsonl"
	// document ends the names of files in the older form.
	document = ".json"
	chats    = "chats"
	// projectFile is in tmp/PROJECT.
	projectFile = ".project_root"
	// idLength is how much of an id is in a file's name.
	idLength = 8
)

// Agent reads the Gemini CLI's files. Read uses Query.Path if it is an absolute path
// to a regular file named after the session, and reads the file from where the turn
// begins that was under way at Query.Since.
var Agent = transcript.Reader{
	Host: hook.HostGemini, Read: read, Sessions: sessions, Parts: parts, AddEvents: addEvents, Timed: true,
}

func read(ctx context.Context, f *transcript.Files, q transcript.Query) (*hook.Transcript, error) {
	path, err := find(ctx, f, q)
	if err != nil {
		return nil, err
	}
	return Read(ctx, f, q, path)
}

func sessions(ctx context.Context, f *transcript.Files) ([]transcript.Session, error) {
	return Sessions(ctx, f, roots(f), gemini.Dialect)
}

// Sessions lists the sessions below folders such as ~/.gemini. Their ids are in the files;
// a file that names none has an id after its name, for which Read returns why.
func Sessions(ctx context.Context, f *transcript.Files, places transcript.Folders, dialect string) ([]transcript.Session, error) {
	var found []transcript.Session
	for _, path := range files(places, "") {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, ok := headOf(ctx, f, path)
		if ok && h.kind == kindSubagent {
			continue
		}
		if !ok {
			h.session = nameID(path)
		}
		if s, ok := transcript.Stat(h.session, path); ok {
			s.Dialect = dialect
			found = append(found, s)
		}
	}
	return transcript.WithGone(dialect, found, folders(places)), nil
}

// nameID makes an id of a file's name.
func nameID(path string) string {
	name := filepath.Base(path)
	return strings.Map(func(r rune) rune {
		if transcript.CheckID("", string(r)) != nil {
			return '-'
		}
		return r
	}, strings.TrimSuffix(name, filepath.Ext(name)))
}

// files lists the files of sessions. If some are named after session, it lists only these.
func files(places transcript.Folders, session string) (paths []string) {
	for _, dir := range folders(places) {
		here, _ := agentFiles(dir) // a folder that cannot be listed has none
		paths = append(paths, here...)
	}
	begin := session[:min(idLength, len(session))]
	named := func(path string) bool { return strings.Contains(filepath.Base(path), begin) }
	if !slices.ContainsFunc(paths, named) {
		return paths
	}
	return slices.DeleteFunc(paths, func(path string) bool { return !named(path) })
}

// find returns the path of a session's file. The folder of a project is named by the
// Gemini CLI, so all of them are searched; the file written last wins.
func find(ctx context.Context, f *transcript.Files, q transcript.Query) (string, error) {
	return Find(ctx, f, roots(f), q)
}

// Find returns the path of a session's file below folders such as ~/.gemini.
func Find(ctx context.Context, f *transcript.Files, places transcript.Folders, q transcript.Query) (string, error) {
	belongs := func(path string) bool {
		h, ok := headOf(ctx, f, path)
		return ok && h.session == q.Session
	}
	copies := func() (paths []string) {
		return slices.DeleteFunc(files(places, q.Session), func(path string) bool { return !belongs(path) })
	}
	path, err := transcript.Find(ctx, q, belongs, copies, places, filepath.Join("tmp", "*", chats, "*"+suffix+" with it"))
	if errors.Is(err, transcript.ErrNotFound) && nameID(q.Path) == q.Session && slices.Contains(files(places, q.Session), q.Path) {
		return "", transcript.ReadError(q.Path, fmt.Errorf("%w: found no id of a session, want a session of the Gemini CLI or of Qwen Code", transcript.ErrForm))
	}
	return path, err
}

// roots returns the folders that may be the Gemini CLI's.
func roots(f *transcript.Files) transcript.Folders {
	var r transcript.Folders
	r.Add(f.Getenv("GEMINI_CLI_HOME"), ".gemini")
	r.Add(f.Home, ".gemini")
	return r
}

// folders lists the folders with the sessions of each project.
func folders(places transcript.Folders) []string {
	return transcript.In(transcript.Within(places, "tmp"), chats)
}

// namedAfter lists the files in a folder whose names have the beginning of a session's id, at
// their own beginning or after a dash.
func namedAfter(f *transcript.Files, dir, session string) []string {
	type key struct{ dir string }
	all := transcript.Recall(f, key{dir}, func(*transcript.Files) map[string][]string {
		all := make(map[string][]string)
		entries, _ := os.ReadDir(dir) // a folder that cannot be listed has none
		for _, e := range entries {
			ext := filepath.Ext(e.Name())
			if ext != suffix && ext != document {
				continue
			}
			path, rest, more := filepath.Join(dir, e.Name()), strings.TrimSuffix(e.Name(), ext), true
			for more {
				if id := rest[:min(idLength, len(rest))]; !slices.Contains(all[id][max(0, len(all[id])-1):], path) {
					all[id] = append(all[id], path)
				}
				_, rest, more = strings.Cut(rest, "-")
			}
		}
		return all
	})
	return all[session[:min(idLength, len(session))]]
}

// twins returns the files of a session that are in the folder of one of them, by the time at
// which each was begun. A session may have two: a newer version of the program writes a file of
// lines beside the older JSON file. Until about March 2026 a subagent's file looks like one of the
// session; those are returned as agents.
func twins(ctx context.Context, f *transcript.Files, path, session string) (paths, agents []string) {
	type twin struct {
		path    string
		started time.Time
	}
	var found []twin
	first := time.Time{}
	for _, other := range append(namedAfter(f, filepath.Dir(path), session), path) {
		if other == path && slices.ContainsFunc(found, func(t twin) bool { return t.path == path }) {
			continue
		}
		h, ok := headOf(ctx, f, other)
		_, regular := transcript.Stat(session, other)
		if other != path && (!ok || !regular || h.session != session || h.kind == kindSubagent) {
			continue
		}
		found = append(found, twin{other, h.started})
		if first.IsZero() || h.started.Before(first) {
			first = h.started
		}
	}
	// The order is by what the files say: when they were written is another where they are copies.
	slices.SortStableFunc(found, func(a, b twin) int {
		return cmp.Or(a.started.Compare(b.started), cmp.Compare(a.path, b.path))
	})
	for _, t := range found {
		if delegated(ctx, f, t.path, len(found) > 1 && t.started.After(first)) {
			agents = append(agents, t.path)
			continue
		}
		paths = append(paths, t.path)
	}
	return paths, agents
}

// delegated reports that a file is a subagent's: it begins with what a subagent is told, or, if
// there is a file before it, has the call by which one ends.
func delegated(ctx context.Context, f *transcript.Files, path string, later bool) (found bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	begun := false
	visit := func(r *row) bool {
		if text, _ := r.text(); !begun && r.kind == kindUser {
			begun = true
			found = slices.ContainsFunc(tasks[:], func(task string) bool { return strings.HasPrefix(text, task) })
		}
		calls, _ := r.Elements("toolCalls")
		found = found || slices.ContainsFunc(calls, func(raw []byte) bool { return rawjson.Members(raw).Text("name") == finish })
		if found || begun && !later {
			stop()
		}
		return ctx.Err() == nil
	}
	if filepath.Ext(path) == document {
		_ = f.Stream(ctx, path, func(file io.Reader) error { // reading the rows reports what is wrong
			return transcript.StreamList(ctx, file, func(string, []byte) {}, func(o rawjson.Object) {
				if r := (row{Object: o}); r.known() {
					visit(&r)
				}
			})
		})
		return found
	}
	if file, err := f.Open(ctx, path, 0); err == nil {
		var r row
		_ = transcript.First(ctx, file, &r, func() bool { return visit(&r) }) // as above
		_ = file.Close()                                                      // read only
	}
	return found
}

// agentsDir is the folder with the files of a session's subagents.
func agentsDir(path, session string) string { return filepath.Join(filepath.Dir(path), session) }

func parts(s transcript.Session) ([]string, error) { return agentFiles(agentsDir(s.Path, s.ID)) }

func agentFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list subagents %q: %w", dir, err)
	}
	var paths []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == suffix || ext == document {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

// projectDir returns the folder that the session at path worked in. The Gemini CLI
// writes it once for all sessions of a project; that it is the session's shows its hash
// in the first row. It is empty if nothing says it.
func projectDir(ctx context.Context, f *transcript.Files, path string) string {
	h, ok := headOf(ctx, f, path)
	if !ok {
		return ""
	}
	file, err := f.Open(ctx, filepath.Join(filepath.Dir(filepath.Dir(path)), projectFile), maxPath)
	if err != nil {
		return "" // a version that does not write it
	}
	defer func() { _ = file.Close() }() // read only
	text, err := io.ReadAll(file)
	dir := strings.TrimSpace(string(text))
	if sum := sha256.Sum256([]byte(dir)); err != nil || hex.EncodeToString(sum[:]) != h.project {
		return ""
	}
	return dir
}

// headOf reads what the beginning of a file says of the session.
func headOf(ctx context.Context, f *transcript.Files, path string) (h head, ok bool) {
	if _, regular := transcript.Stat("-", path); !regular {
		return h, false
	}
	file, err := f.Open(ctx, path, 0)
	if err != nil {
		return h, false
	}
	defer func() { _ = file.Close() }() // read only
	if filepath.Ext(path) == document {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		member := func(name string, value []byte) {
			if h.member(name, value); name == "messages" && h.session != "" {
				stop() // the rest is mostly rows
			}
		}
		_ = transcript.StreamList(ctx, file.Head(), member, func(rawjson.Object) {}) // it ends early
		return h, h.session != ""
	}
	_ = transcript.First(ctx, file.Head(), &h, func() bool { return false }) // what cannot be read says nothing
	return h, h.session != ""
}

// maxPath bounds the file with a project's path, in bytes.
const maxPath = 1 << 15

// readFile gives the rows of a file to the log, as far as the query asks for them.
func (l *log) readFile(ctx context.Context, f *transcript.Files, path string, q transcript.Query) error {
	if filepath.Ext(path) == document {
		return l.Note(path, l.readDocument(ctx, f, path, q))
	}
	var r row
	return l.Read(ctx, f, path, q, &r, nil, func() { l.add(&r) })
}

// readDocument gives the rows of a file in the older form to the log, all of them: such
// a file is written anew with each row.
func (l *log) readDocument(ctx context.Context, f *transcript.Files, path string, q transcript.Query) error {
	before, gathered, rows := *l, *l.Log, l.Rows()
	err := f.Stream(ctx, path, func(file io.Reader) error {
		*l, *l.Log = before, gathered
		l.requests, l.tools, l.seen = maps.Clone(before.requests), maps.Clone(before.tools), maps.Clone(before.seen)
		list, n := false, 0
		var beyond error
		member := func(name string, _ []byte) { list = list || name == "messages" }
		err := transcript.StreamList(ctx, file, member, func(o rawjson.Object) {
			r := row{Object: o}
			if n++; !r.known() || beyond != nil {
				return
			}
			if beyond = l.CountRow(q, path, n); beyond == nil {
				l.add(&r)
			}
		})
		if err = cmp.Or(err, beyond); err != nil {
			return err
		}
		if !list || n > 0 && l.Rows() == rows {
			return fmt.Errorf("%w: found no messages that have an id and a type", transcript.ErrForm)
		}
		return nil
	})
	if l.Rows() > rows {
		err = f.Rest(path, err)
	}
	return err
}

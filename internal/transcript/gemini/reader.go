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
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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
var Agent = transcript.Agent{
	Host: gemini.Host, Read: read, Sessions: sessions, Parts: parts, AddEvents: addEvents, Timed: true,
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
	return found, nil
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
	for _, root := range places {
		for _, project := range transcript.Subfolders(filepath.Join(root, "tmp")) {
			dir := filepath.Join(project, chats)
			entries, _ := os.ReadDir(dir) // a folder that cannot be listed has none
			for _, e := range entries {
				if ext := filepath.Ext(e.Name()); ext == suffix || ext == document {
					paths = append(paths, filepath.Join(dir, e.Name()))
				}
			}
		}
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
	if filepath.IsAbs(q.Path) && belongs(q.Path) {
		return q.Path, nil
	}
	var copies []string
	for _, path := range files(places, q.Session) {
		if belongs(path) {
			copies = append(copies, path)
		} else if path == q.Path && nameID(path) == q.Session {
			return "", transcript.ReadError(path, fmt.Errorf("%w: found no id of a session, want a session of the Gemini CLI or of Qwen Code", transcript.ErrForm))
		}
	}
	newest, ok := transcript.Newest(q.Session, copies)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case !ok:
		return "", places.NotFound(q.Session, filepath.Join("tmp", "*", chats, "*"+suffix+" with it"))
	}
	return newest.Path, nil
}

// roots returns the folders that may be the Gemini CLI's.
func roots(f *transcript.Files) transcript.Folders {
	var r transcript.Folders
	r.Add(f.Getenv("GEMINI_CLI_HOME"), ".gemini")
	r.Add(f.Home, ".gemini")
	return r
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
		if strings.HasSuffix(e.Name(), suffix) {
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
	begin := io.NewSectionReader(file, 0, min(file.Size(), maxHead))
	if filepath.Ext(path) == document {
		_ = transcript.StreamList(ctx, begin, h.member, func(rawjson.Object) {}) // what is beyond is not asked for
		return h, h.session != ""
	}
	lines := &transcript.Lines{Block: transcript.LineBlock, Max: transcript.MaxLine}
	damaged := transcript.Damaged{Max: lines.Max}
	_ = lines.Each(ctx, begin, func(line []byte) bool {
		if h, ok = parseHead(line); !ok {
			damaged.Add(line, func(line []byte) bool {
				if !ok {
					h, ok = parseHead(line)
				}
				return ok
			})
		}
		return !ok
	})
	return h, ok
}

const (
	// maxPath bounds the file with a project's path, in bytes.
	maxPath = 1 << 15
	// maxHead bounds how far what a file says of its session is looked for.
	maxHead = 1 << 20
	// maxRows bounds the rows that are taken in, since memory follows them.
	maxRows = 1_000_000
)

// readFile gives the rows of a file to the log, as far as the query asks for them.
func (l *log) readFile(ctx context.Context, f *transcript.Files, path string, q transcript.Query) error {
	if filepath.Ext(path) == document {
		return l.readDocument(ctx, f, path, q)
	}
	var r row
	lines := &transcript.Lines{
		Block: transcript.LineBlock, Max: transcript.MaxLine,
		Time: func(line []byte) time.Time {
			if !r.parse(line) {
				return time.Time{}
			}
			return r.at
		},
		Opens: func() bool { return r.prompt() },
	}
	var err error
	take := func(line []byte) bool {
		if !r.parse(line) {
			return false
		}
		if *l.rows++; *l.rows > maxRows {
			err = transcript.ReadError(path, fmt.Errorf("%w: rows beyond the first %d", transcript.ErrBeyond, maxRows))
			return true
		}
		if q.Whole != nil {
			l.file, l.line = path, lines.Row
		}
		l.add(&r)
		return true
	}
	damaged := transcript.Damaged{Max: lines.Max}
	lines.Done = func() { damaged.End(); lines.Lost(&damaged, nil) }
	read := lines.File(ctx, f, path, q, nil, func(line []byte) bool {
		if take(line) || r.Object != nil {
			damaged.End()
		} else {
			damaged.Add(line, take)
		}
		lines.Lost(&damaged, line)
		return err == nil
	})
	return errors.Join(read, err)
}

// readDocument gives the rows of a file in the older form to the log, all of them: such
// a file is written anew with each row.
func (l *log) readDocument(ctx context.Context, f *transcript.Files, path string, q transcript.Query) error {
	maxText := l.texts.Max
	return f.Stream(ctx, path, func(file io.Reader) error {
		*l = *newLog(maxText)
		list, n := false, 0
		member := func(name string, _ []byte) { list = list || name == "messages" }
		err := transcript.StreamList(ctx, file, member, func(o rawjson.Object) {
			r := row{Object: o}
			if n++; !r.known() {
				return
			}
			if *l.rows++; *l.rows > maxRows {
				return
			}
			if q.Whole != nil {
				l.file, l.line = path, n
			}
			l.add(&r)
		})
		switch {
		case err != nil:
			return err
		case *l.rows > maxRows:
			return fmt.Errorf("%w: rows beyond the first %d", transcript.ErrBeyond, maxRows)
		case !list || n > 0 && *l.rows == 0:
			return fmt.Errorf("%w: found no messages that have an id and a type", transcript.ErrForm)
		}
		return nil
	})
}

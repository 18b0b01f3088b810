// Package gemini reads the session files that the Gemini CLI keeps, one for each
// session below ~/.gemini/tmp, with the subagents' files in a folder beside it.
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
	"github.com/hookspan/hookspan/internal/transcript"
)

// A session's file is tmp/PROJECT/chats/session-TIME-ID8.jsonl, where ID8 is the
// beginning of its id; those of its subagents are chats/SESSION/AGENT.jsonl.
const (
	prefix = "session-"
	suffix = ".jsonl"
	chats  = "chats"
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
	return readAll(ctx, f, q, path, q.TextLimit())
}

// sessions lists the sessions, whose ids are in their files' first rows.
func sessions(ctx context.Context, f *transcript.Files) ([]transcript.Session, error) {
	var found []transcript.Session
	for _, path := range files(roots(f), "") {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, ok := headOf(ctx, f, path)
		if !ok || h.kind == kindSubagent {
			continue
		}
		if s, ok := transcript.Stat(h.session, path); ok {
			s.Dialect = gemini.Dialect
			found = append(found, s)
		}
	}
	return found, nil
}

// files lists the files of sessions whose ids begin as session does.
func files(places transcript.Folders, session string) (paths []string) {
	end := suffix
	if session != "" {
		end = "-" + session[:min(idLength, len(session))] + suffix
	}
	for _, root := range places {
		for _, project := range transcript.Subfolders(filepath.Join(root, "tmp")) {
			dir := filepath.Join(project, chats)
			entries, _ := os.ReadDir(dir) // a folder that cannot be listed has none
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), end) {
					paths = append(paths, filepath.Join(dir, e.Name()))
				}
			}
		}
	}
	return paths
}

// find returns the path of a session's file. The folder of a project is named by the
// Gemini CLI, so all of them are searched; the file written last wins.
func find(ctx context.Context, f *transcript.Files, q transcript.Query) (string, error) {
	belongs := func(path string) bool {
		h, ok := headOf(ctx, f, path)
		return ok && h.session == q.Session
	}
	if name := filepath.Base(q.Path); filepath.IsAbs(q.Path) && strings.HasPrefix(name, prefix) && belongs(q.Path) {
		return q.Path, nil
	}
	places := roots(f)
	copies := slices.DeleteFunc(files(places, q.Session), func(path string) bool { return !belongs(path) })
	newest, ok := transcript.Newest(q.Session, copies)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case !ok:
		name := prefix + "*-" + q.Session[:min(idLength, len(q.Session))] + suffix
		return "", places.NotFound(q.Session, filepath.Join("tmp", "*", chats, name))
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

// headOf reads the first row of a file.
func headOf(ctx context.Context, f *transcript.Files, path string) (h head, ok bool) {
	if _, regular := transcript.Stat("-", path); !regular {
		return h, false
	}
	file, err := f.Open(ctx, path, 0)
	if err != nil {
		return h, false
	}
	defer func() { _ = file.Close() }() // read only
	lines := &transcript.Lines{Block: transcript.LineBlock, Max: transcript.MaxLine}
	_ = lines.Each(ctx, io.NewSectionReader(file, 0, min(file.Size(), maxHead)), func(line []byte) bool {
		h, ok = parseHead(line)
		return false
	})
	return h, ok
}

const (
	// maxPath bounds the file with a project's path, in bytes.
	maxPath = 1 << 15
	// maxHead bounds how far a file's first row is looked for.
	maxHead = 1 << 20
	// maxRows bounds the rows that are taken in, since memory follows them.
	maxRows = 1_000_000
)

// readFile gives the rows of a file to the log, as far as the query asks for them.
func (l *log) readFile(ctx context.Context, f *transcript.Files, path string, q transcript.Query) error {
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
	read := lines.File(ctx, f, path, q, nil, func(line []byte) bool {
		if !r.parse(line) {
			lines.Torn(line)
			return true
		}
		if *l.rows++; *l.rows > maxRows {
			err = transcript.ReadError(path, fmt.Errorf("%w: rows beyond the first %d", transcript.ErrBeyond, maxRows))
			return false
		}
		if q.Whole != nil {
			l.file, l.line = path, lines.Row
		}
		l.add(&r)
		return true
	})
	return errors.Join(read, err)
}

// Package claude reads the transcripts that Claude Code keeps, one per session
// and per subagent below ~/.claude/projects.
//
// The format is internal to Claude Code and changes with its versions: lines
// that are not rows, rows of unknown types and rows over 8 MiB are skipped.
// Calls are one for each response of the API, failed requests included, under
// the ids of the messages. Sums over them equal Claude Code's own, with these
// exceptions. A cost is tokens at list price (package prices) if a row gives
// none: the dearer tier of older models above 200,000 tokens is not modelled, and
// a model that is not in the list has no cost, in the fast mode or otherwise. A fork's own sum counts the answers it has copied; here they are the
// other session's calls.
package claude

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// suffix ends the name of every transcript. The name is the session id,
// or for a subagent's the prefix and the agent's id.
const (
	suffix      = ".jsonl"
	agentPrefix = "agent-"
)

// subagents is the folder with the subagents' transcripts, beside the session's in
// a folder of its name.
const subagents = "subagents"

// Agent reads Claude Code's files. Read uses Query.Path if it is an absolute
// path to a regular file named after the session, and reads the files from
// where the turn begins that was under way at Query.Since.
var Agent = transcript.Reader{Host: hook.HostClaude, Read: read, Sessions: sessions, Parts: parts, AddEvents: addEvents, Origin: origin, End: end}

// read reads a session's transcript, which may be several files, and those of its
// subagents.
//
// The texts kept are whole up to 8 MiB in all; in larger sessions each is cut
// to the same length, so that memory follows the number of calls and not the
// file. Of a run whose rows are further from the file's end than half of what
// may be read, the later part is read.
func read(ctx context.Context, f *transcript.Files, q transcript.Query) (*hook.Transcript, error) {
	path, err := find(ctx, f, q)
	if err != nil {
		return nil, err
	}
	r := reader{
		files: f, block: transcript.LineBlock, maxLine: transcript.MaxLine, maxText: transcript.MaxText, maxRows: transcript.MaxRows,
	}
	return r.read(ctx, path, q)
}

// end reports that the user has interrupted the last turn: no hook reports that.
func end(ctx context.Context, f *transcript.Files, q transcript.Query) (hook.Kind, time.Time, error) {
	path, err := find(ctx, f, q)
	if err != nil {
		return hook.KindUnknown, time.Time{}, err
	}
	s, ok := transcript.Stat(q.Session, path)
	if !ok {
		return hook.KindUnknown, time.Time{}, nil
	}
	q.Since, q.Until = s.ModTime, time.Time{} // the last turn
	r := reader{files: f, block: transcript.LineBlock, maxLine: transcript.MaxLine, maxRows: transcript.MaxRows}
	b := newBuild(q.Session, transcript.MaxText)
	if err := r.readFile(ctx, path, q, &fileLog{b: b, path: path, clock: transcript.Clock{Off: true}}); err != nil || b.ends.open || b.ends.last.Kind != hook.KindSessionEnd {
		return hook.KindUnknown, time.Time{}, err
	}
	return hook.KindRunCancel, b.ends.last.At, nil
}

// sessions lists the sessions of Claude Code on this machine.
func sessions(ctx context.Context, f *transcript.Files) ([]transcript.Session, error) {
	var found []transcript.Session
	var away []string // folders of sessions whose own file is not beside them
	for _, project := range projects(roots(f)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(project)
		if err != nil {
			continue // another user's project, or one just removed
		}
		// Subagents of versions before 2.1 are beside the sessions.
		var beside, folders []string
		first := len(found)
		for _, e := range entries {
			id, ok := strings.CutSuffix(e.Name(), suffix)
			path := filepath.Join(project, e.Name())
			if e.IsDir() && !ok {
				folders = append(folders, path)
			}
			if ok && strings.HasPrefix(id, agentPrefix) {
				beside = append(beside, path)
			} else if s, here := transcript.Stat(id, path); ok && here {
				s.Dialect = Dialect
				found = append(found, s)
			}
		}
		here := make(map[string]bool, len(folders))
		for i := range found[first:] {
			found[first+i].Others = beside
			here[found[first+i].ID] = true
		}
		away = append(away, slices.DeleteFunc(folders, func(path string) bool { return here[filepath.Base(path)] })...)
	}
	return withAgents(found, away), nil
}

// withAgents adds the subagents' files of some folders to their sessions. A session of which
// nothing else is left has the one that was written last as its own.
func withAgents(found []transcript.Session, folders []string) []transcript.Session {
	if len(folders) == 0 {
		return found
	}
	index := make(map[string]int, len(found))
	for i := range found {
		index[found[i].ID] = i
	}
	for _, folder := range folders {
		id := filepath.Base(folder)
		paths, _ := agentFiles(filepath.Join(folder, subagents), 0) // Read reports it
		paths = slices.DeleteFunc(paths, func(path string) bool { return filepath.Ext(path) != suffix })
		if i, known := index[id]; known {
			found[i].Others = slices.Concat(found[i].Others, paths)
		} else if s, ok := transcript.Newest(id, paths); ok {
			s.Dialect, s.Others = Dialect, slices.DeleteFunc(paths, func(path string) bool { return path == s.Path })
			index[id] = len(found)
			found = append(found, s)
		}
	}
	return found
}

// parts lists the files of a session's subagents below its folder.
func parts(s transcript.Session) (paths []string, err error) {
	for _, path := range append([]string{s.Path}, s.Others...) {
		if strings.HasPrefix(filepath.Base(path), agentPrefix) {
			continue
		}
		below, e := agentFiles(filepath.Join(strings.TrimSuffix(path, suffix), subagents), 0)
		paths, err = append(paths, below...), errors.Join(err, e)
	}
	return paths, err
}

// find returns the path of a session's transcript. The folder of a project is
// made from the working directory in a way that changes between versions, so
// all of them are searched. Of several the one written last is returned.
func find(ctx context.Context, f *transcript.Files, q transcript.Query) (string, error) {
	name := q.Session + suffix
	if filepath.IsAbs(q.Path) && filepath.Base(q.Path) == name {
		if _, ok := transcript.Stat(q.Session, q.Path); ok {
			return q.Path, nil
		}
	}
	found := copies(f, q.Session, "")
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case len(found) == 0:
		for _, folder := range named(f, q.Session) {
			if paths, _ := agentFiles(filepath.Join(folder, subagents), 0); len(paths) > 0 {
				return folder + suffix, nil // which is gone
			}
		}
		return "", roots(f).NotFound(q.Session, filepath.Join("projects", "*", name))
	}
	return found[len(found)-1].Path, nil
}

// roots returns the folders that may hold Claude Code's projects.
func roots(f *transcript.Files) transcript.Folders {
	r := f.Roots(hook.HostClaude)
	r.Add(f.Home, ".config", "claude")
	return r
}

func projects(roots transcript.Folders) []string { return transcript.Within(roots, "projects") }

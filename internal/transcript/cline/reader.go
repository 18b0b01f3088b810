// Package cline reads the files that Cline keeps about its sessions.
//
// The classic form is one folder per task in the editor's storage
// (ui_messages.json and its neighbours); the SDK form is one folder per session
// below ~/.cline (a manifest and one messages file per agent). Sums over
// Transcript.Calls equal what Cline itself shows for the same files, deleted
// requests and subagents included. A request's end is not exact: if Cline
// recorded none, it is the time of the next row.
package cline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// The forms of Cline's files and hooks. Next is Cline's SDK bundle inside an
// editor, whose hooks report a conversation and whose files are the SDK's.
const (
	DialectClassic = "classic"
	DialectNext    = "next"
	DialectSDK     = "sdk"
)

// Agent reads Cline's files. A query without a dialect is about a classic task.
var Agent = transcript.Reader{
	Host: hook.HostCline, Read: read, Sessions: sessions, AddEvents: addEvents, Timed: true, End: end,
}

func read(ctx context.Context, f *transcript.Files, q transcript.Query) (*hook.Transcript, error) {
	roots := sessionRoots(f)
	switch q.Dialect {
	case DialectSDK:
		for _, root := range roots {
			t, err := readSDK(ctx, f, filepath.Join(root, q.Session), q.Session, q)
			if !errors.Is(err, transcript.ErrNotFound) || t != nil {
				return t, err
			}
		}
		return nil, roots.NotFound(q.Session, "manifest and no messages")
	case DialectNext:
		at, ok := conversationTime(q.Session)
		if !ok {
			return nil, fmt.Errorf("conversation id %q refused: want conv_<milliseconds>_<random>", q.Session)
		}
		for _, root := range roots {
			id, err := sessionAt(ctx, f, root, at, q.Cwd)
			if err != nil {
				return nil, err
			}
			if id != "" {
				return readSDK(ctx, f, filepath.Join(root, id), id, q)
			}
		}
		return nil, roots.NotFound(q.Session, fmt.Sprintf("session of an editor in %q", q.Cwd))
	}
	roots = classicRoots(f)
	var copies []string
	for _, root := range roots {
		copies = append(copies, filepath.Join(root, "tasks", q.Session, uiFile))
	}
	newest, ok := transcript.Newest(q.Session, copies)
	if name := filepath.Base(q.Path); !ok && (name == historyFile || name == oldestFile) {
		return nil, transcript.ReadError(q.Path, fmt.Errorf("%w: found no %s beside it, which has the requests", transcript.ErrForm, uiFile))
	}
	if !ok {
		return nil, roots.NotFound(q.Session, filepath.Join("tasks", q.Session, uiFile))
	}
	return readClassic(ctx, f, filepath.Dir(newest.Path), q)
}

// end reports the end of a session of the SDK's. A program that is interrupted
// records it although the hook it then starts gets an empty payload, or none is
// started at all. The error is ErrNotFound if there is no record.
func end(ctx context.Context, f *transcript.Files, q transcript.Query) (hook.Kind, time.Time, error) {
	if q.Dialect != DialectSDK {
		return hook.KindUnknown, time.Time{}, nil
	}
	roots := sessionRoots(f)
	for _, root := range roots {
		m, err := transcript.Small[manifest](ctx, f, filepath.Join(root, q.Session, q.Session+".json"), true)
		if errors.Is(err, transcript.ErrNotFound) {
			continue
		}
		if err != nil {
			return hook.KindUnknown, time.Time{}, err
		}
		kind, at := m.end()
		return kind, at, nil
	}
	return hook.KindUnknown, time.Time{}, roots.NotFound(q.Session, "manifest")
}

// taskIndex is the file in which classic Cline lists its tasks, below a root.
const taskIndex = "state/taskHistory.json"

// sessions lists the tasks of classic Cline, whichever editor or command line
// wrote them, and the sessions of its SDK. A folder without messages is
// no task, one with neither a manifest nor the lead's messages no session.
func sessions(ctx context.Context, f *transcript.Files) ([]transcript.Session, error) {
	var found []transcript.Session
	for _, root := range classicRoots(f) {
		dirs := transcript.Subfolders(filepath.Join(root, "tasks"))
		if len(dirs) == 0 {
			continue
		}
		cwds := taskFolders(ctx, f, filepath.Join(root, filepath.FromSlash(taskIndex)))
		for _, dir := range dirs {
			id := filepath.Base(dir)
			s, ok := transcript.Stat(id, filepath.Join(dir, uiFile))
			for _, name := range [...]string{historyFile, oldestFile} {
				if !ok {
					s, ok = transcript.Stat(id, filepath.Join(dir, name)) // read says what is missing
				}
			}
			if ok {
				s.Dialect, s.Cwd = DialectClassic, cwds[id]
				found = append(found, s)
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	seen := make(map[string]bool)
	for _, root := range sessionRoots(f) {
		for _, dir := range transcript.Subfolders(root) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			id := filepath.Base(dir)
			manifest, ok := transcript.Stat(id, filepath.Join(dir, id+".json"))
			messages, okMessages := transcript.Stat(id, filepath.Join(dir, id+messagesSuffix))
			if !ok && !okMessages || seen[id] {
				continue // read takes the first place that holds the session
			}
			seen[id] = true
			s := manifest
			if !ok {
				s = messages
			}
			s.Dialect, s.HookPrefix = DialectSDK, conversationPrefix
			if messages.ModTime.After(s.ModTime) {
				s.ModTime = messages.ModTime
			}
			found = append(found, s)
		}
	}
	return found, nil
}

// taskFolders reads the working directory of each task from Cline's own list.
// Without the list, or if it is damaged, the directories are not known.
func taskFolders(ctx context.Context, f *transcript.Files, path string) map[string]string {
	type task struct {
		ID  string `json:"id"`
		Cwd string `json:"cwdOnTaskInitialization"`
	}
	tasks, _ := transcript.Small[[]task](ctx, f, path, false)
	cwds := make(map[string]string, len(tasks))
	for _, t := range tasks {
		cwds[t.ID] = t.Cwd
	}
	return cwds
}

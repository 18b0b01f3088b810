package transcript

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// ErrNotFound reports that none of the places Cline writes to holds the session.
// It is wrapped with what was looked for and where.
var ErrNotFound = errors.New("not found")

// DefaultMaxFileBytes bounds one file that is streamed. Cline's own files
// reach some tens of megabytes in very long tasks.
const DefaultMaxFileBytes = 512 << 20

// maxSmallFileBytes bounds manifests and metadata, which are read whole.
const maxSmallFileBytes = 64 << 20

// Finder finds and reads the files Cline keeps about a session. Its methods may
// be called from several goroutines; the fields must not change meanwhile.
type Finder struct {
	// Home is the user's home directory. If empty, only places named by the
	// environment are searched.
	Home string
	// Getenv gives the environment Cline ran in (os.Getenv). If nil, no
	// variable is set.
	Getenv func(string) string
	// GOOS decides where editors keep their files. If empty, runtime.GOOS.
	GOOS string
	// MaxBytes bounds what one reading of a session reads in all. If zero,
	// DefaultMaxBytes.
	MaxBytes int64
	// MaxTime bounds how long one reading takes. If zero, DefaultMaxTime.
	MaxTime time.Duration
	// MaxFileBytes bounds each file of Cline's. If zero, DefaultMaxFileBytes.
	MaxFileBytes int64
	// Sleep waits between two readings of a file that was being written; it
	// returns early with the context's error. If nil, a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the wall clock, used only to tell a request under way from one
	// that never ended. If nil, time.Now.
	Now func() time.Time

	// left is how many bytes the reading under way may still read; nil where
	// none is.
	left *int64
}

func (f *Finder) getenv(name string) string {
	if f.Getenv == nil {
		return ""
	}
	return f.Getenv(name)
}

func (f *Finder) goos() string {
	if f.GOOS == "" {
		return runtime.GOOS
	}
	return f.GOOS
}

func (f *Finder) now() time.Time {
	if f.Now == nil {
		return time.Now()
	}
	return f.Now()
}

// maxIDLen is far above any id Cline makes (a task id has 13 characters).
const maxIDLen = 128

// checkID refuses everything that is not one plain path element. Ids come from
// payloads, and a payload must never choose a path.
func checkID(noun, id string) error {
	ok := id != "" && len(id) <= maxIDLen
	for i := 0; ok && i < len(id); i++ {
		c := id[i]
		ok = c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-'
	}
	if ok {
		return nil
	}
	if len(id) > maxIDLen {
		id = id[:maxIDLen] + "..."
	}
	return fmt.Errorf("%s %q refused: want 1 to %d of letters, digits, \"_\" and \"-\"", noun, id, maxIDLen)
}

// Classic reads tasks/<taskID>/ of the Cline that wrote it, whichever editor or
// command line that was; the newest ui_messages.json wins if several places
// hold the id.
//
// Errors: ErrNotFound where no place holds the task; a plain error for an id
// that is not one path element. Where a file is damaged or cannot be read, the
// transcript holds what could be read and stands beside the error. Missing
// neighbours of ui_messages.json are no error: the transcript is then poorer.
func (f *Finder) Classic(ctx context.Context, taskID string) (*hook.Transcript, error) {
	return f.classic(ctx, taskID, false)
}

// ClassicHistory reads what Classic reads and the task's tool calls
// (ToolResults, those without an answer with a zero At) and completions (Ends)
// beside it, which stand in for hooks where there were none. All texts of the
// conversation are kept in memory. Errors are as for Classic.
func (f *Finder) ClassicHistory(ctx context.Context, taskID string) (*hook.Transcript, error) {
	return f.classic(ctx, taskID, true)
}

func (f *Finder) classic(ctx context.Context, taskID string, whole bool) (t *hook.Transcript, err error) {
	if err := checkID("task id", taskID); err != nil {
		return nil, err
	}
	f, ctx, done := f.within(ctx)
	defer func() { err = done(err) }()
	roots := f.classicRoots()
	var dir string
	var newest time.Time
	for _, root := range roots {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		candidate := filepath.Join(root, "tasks", taskID)
		info, err := os.Stat(filepath.Join(candidate, uiFile))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if dir == "" || info.ModTime().After(newest) {
			dir, newest = candidate, info.ModTime()
		}
	}
	if dir == "" {
		return nil, fmt.Errorf("task %q: %w: no %s in %s", taskID, ErrNotFound,
			filepath.Join("tasks", taskID, uiFile), places(roots))
	}
	return f.readClassic(ctx, dir, whole)
}

// SDK reads the session's folder below the SDK's session folder: the manifest,
// the lead agent's messages and those of every subagent beside it.
//
// Errors are as for Classic. These files are not written atomically, so one
// that is cut off is read again a few times before it counts as damaged.
func (f *Finder) SDK(ctx context.Context, sessionID string) (t *hook.Transcript, err error) {
	if err := checkID("session id", sessionID); err != nil {
		return nil, err
	}
	f, ctx, done := f.within(ctx)
	defer func() { err = done(err) }()
	roots := f.sessionRoots()
	for _, root := range roots {
		dir := filepath.Join(root, sessionID)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		t, err := f.readSDK(ctx, dir, sessionID)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		return t, err
	}
	return nil, fmt.Errorf("session %q: %w: no manifest and no messages in %s", sessionID, ErrNotFound, places(roots))
}

// Next finds the session that a conversation of Cline's SDK bundle inside an
// editor belongs to, and reads it like SDK. Hook payloads there carry a
// conversation id, conv_<ms>_<random>, and no session id.
//
// The session is the newest one an editor started in cwd at or before the
// conversation's moment; one that had ended by then is taken only if no other
// fits. Two windows on one folder cannot be told apart. An empty cwd finds
// nothing, as any answer would be a guess.
func (f *Finder) Next(ctx context.Context, conversationID, cwd string) (t *hook.Transcript, err error) {
	if err := checkID("conversation id", conversationID); err != nil {
		return nil, err
	}
	at, ok := conversationTime(conversationID)
	if !ok {
		return nil, fmt.Errorf("conversation id %q refused: want conv_<milliseconds>_<random>", conversationID)
	}
	f, ctx, done := f.within(ctx)
	defer func() { err = done(err) }()
	roots := f.sessionRoots()
	for _, root := range roots {
		id, err := f.sessionAt(ctx, root, at, cwd)
		if err != nil {
			return nil, err
		}
		if id != "" {
			return f.readSDK(ctx, filepath.Join(root, id), id)
		}
	}
	return nil, fmt.Errorf("conversation %q: %w: no session of an editor in %q started by %s in %s",
		conversationID, ErrNotFound, cwd, at.Format(time.RFC3339), places(roots))
}

// places lists folders for an error message.
func places(roots []string) string {
	if len(roots) == 0 {
		return "any place (no home directory is known)"
	}
	return strings.Join(roots, ", ")
}

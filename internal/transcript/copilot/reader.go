// Package copilot reads the event files that the GitHub Copilot CLI keeps, one for each
// session below ~/.copilot/session-state, with the work of its subagents.
//
// The format is internal to Copilot and changes with its versions: rows of unknown types and
// rows over 8 MiB are skipped, and of a damaged line the whole rows are read. There is a
// record of the tokens of each request; before 1.0.102 there are the tokens of each answer,
// and at the end of the session the sums of all by model. GitHub's models are paid for in premium requests and credits,
// not in money, so that their requests have no cost. That of a request with the user's own
// key is tokens at list price (package prices).
//
// Copilot writes rows late, some seconds after the hooks. The file has caught up when it
// has the end of the hooks that report the turn's end; until then, and if one of them
// refused it, the last turn is undecided.
package copilot

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/copilot"
	"github.com/hookspan/hookspan/internal/transcript"
)

// A session's file is session-state/SESSION/events.jsonl, until the end of 2025
// session-state/SESSION.jsonl.
const (
	folder   = "session-state"
	fileName = "events.jsonl"
	suffix   = ".jsonl"
)

// Agent reads Copilot's files. Read uses Query.Path if it is an absolute path to a
// regular file in a folder named after the session, and reads the file from where the
// turn begins that was under way at Query.Since. While there is no file, it returns an
// undecided transcript.
var Agent = transcript.Reader{
	Host: hook.HostCopilot, Read: read, Sessions: sessions, Parts: parts, AddEvents: addEvents, Timed: true, End: end,
}

// VSCode reads the transcripts of VS Code's Local agent, which are in the same form. They are
// found by Query.Path alone. VS Code writes all rows before it calls a hook.
var VSCode = transcript.Reader{
	Host: hook.HostVSCode, Sessions: func(context.Context, *transcript.Files) ([]transcript.Session, error) { return nil, nil }, Parts: parts, AddEvents: addEvents, Timed: true,
	Read: func(ctx context.Context, f *transcript.Files, q transcript.Query) (*hook.Transcript, error) {
		if _, there := transcript.Stat(q.Session, q.Path); !there {
			return nil, transcript.ErrNotFound
		}
		return read(ctx, f, q)
	},
}

func read(ctx context.Context, f *transcript.Files, q transcript.Query) (*hook.Transcript, error) {
	path, err := find(ctx, f, q)
	if errors.Is(err, transcript.ErrNotFound) && q.Path != "" { // a hook has named it
		return &hook.Transcript{Session: q.Session, Pending: true, Undecided: true}, nil
	}
	if err != nil {
		return nil, err
	}
	l := newLog(q.TextLimit())
	l.clock.Off = !q.Full
	_ = l.readFile(ctx, f, path, q) // the log has the error
	stored := l.addStored(ctx, f, path, q.Session)
	t, err := l.transcript(f, q)
	return t, errors.Join(err, stored)
}

// end reports that the last turn has failed or was interrupted, as no hook says for
// sure: the hook of a failed request runs before Copilot decides whether to send it again.
func end(ctx context.Context, f *transcript.Files, q transcript.Query) (hook.Kind, time.Time, error) {
	path, err := find(ctx, f, q)
	if errors.Is(err, transcript.ErrNotFound) {
		return hook.KindUnknown, time.Time{}, nil
	}
	if err != nil {
		return hook.KindUnknown, time.Time{}, err
	}
	q, ok := q.LastTurn(path)
	if !ok {
		return hook.KindUnknown, time.Time{}, nil
	}
	l := newLog(transcript.MaxText)
	if err := l.readFile(ctx, f, path, q); err != nil || l.end == nil || l.end.Kind == hook.KindRunComplete {
		return hook.KindUnknown, time.Time{}, err
	}
	return l.end.Kind, l.end.At, nil
}

func sessions(ctx context.Context, f *transcript.Files) ([]transcript.Session, error) {
	return transcript.List(ctx, copilot.Dialect, transcript.In(f.Roots(hook.HostCopilot), folder), func(name string) (id, path string) {
		if id, flat := strings.CutSuffix(name, suffix); flat {
			return id, name
		}
		return name, filepath.Join(name, fileName)
	})
}

// parts has no files: subagents are in the session's.
func parts(transcript.Session) ([]string, error) { return nil, nil }

// find returns the path of a session's file.
func find(ctx context.Context, f *transcript.Files, q transcript.Query) (string, error) {
	places := f.Roots(hook.HostCopilot)
	own := func(path string) bool {
		name := filepath.Base(path)
		return name == fileName && filepath.Base(filepath.Dir(path)) == q.Session || name == q.Session+suffix
	}
	copies := func() []string {
		return transcript.In(places, filepath.Join(folder, q.Session, fileName), filepath.Join(folder, q.Session+suffix))
	}
	return transcript.Find(ctx, q, own, copies, places, filepath.Join(folder, q.Session, fileName))
}

// readFile gives the rows of the file to the log, as far as the query asks for them.
func (l *log) readFile(ctx context.Context, f *transcript.Files, path string, q transcript.Query) error {
	var r row
	// The first row has the version and the folder.
	head := func(file *transcript.File, _ int64) error {
		return transcript.First(ctx, file.Head(), &r, func() bool {
			l.add(&r)
			return false
		})
	}
	return l.Read(ctx, f, path, q, &r, head, func() { l.add(&r) })
}

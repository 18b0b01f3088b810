package transcript

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// ErrNotFound reports that none of the places an agent writes to holds the
// session. It is wrapped with what was looked for and where.
var ErrNotFound = errors.New("not found")

// Reader is what an agent's package provides to have the agent's files read.
// The functions are called through the methods of Files, which check the
// session id first and bound what one call reads.
type Reader struct {
	// Host is the agent's name, as in hook.Event.
	Host string
	// Read reads one session. The error wraps ErrNotFound, with no transcript,
	// if no place holds the session. If a file is damaged or cannot be read,
	// Read returns what could be read together with the error.
	Read func(context.Context, *Files, Query) (*hook.Transcript, error)
	// Sessions lists the sessions of this machine in any order, the same id
	// more than once if several places hold it. The error is the context's.
	Sessions func(context.Context, *Files) ([]Session, error)
	// Parts lists the files besides Session.Path that Read would read of a session.
	// It is nil for an agent whose files cannot be listed without reading them.
	Parts func(Session) ([]string, error)
	// AddEvents adds the events that hooks would have reported of a session.
	AddEvents func(b *EventBuilder, dialect string)
	// Timed reports that the agent's hooks say when an event happened.
	Timed bool
	// Origin names the session that a session was forked from and the turn
	// after which, both empty for a session that is no fork. It is nil for an
	// agent that cannot fork sessions.
	Origin func(context.Context, *Files, Query) (session, turn string, err error)
	// End reports the end of a session as the agent's files record it, which
	// is hook.KindUnknown for a session without one. It is nil for an agent
	// whose hooks always report the end.
	End func(context.Context, *Files, Query) (hook.Kind, time.Time, error)
}

// Query says which session to read, and how much of it.
type Query struct {
	// Session is the agent's id of the session, one plain path element.
	Session string
	// Dialect is the form of the agent's files, as in hook.Event.
	Dialect string
	// Path is the session's file as a hook's payload names it. An agent that
	// uses it checks it first, and searches if the check fails. It may be empty.
	Path string
	// Cwd is the session's working directory, for an agent whose hooks report
	// another id than its files have.
	Cwd string
	// Since leaves out what ended before it. If zero, everything is read. An
	// agent may return more.
	Since time.Time
	// Until is the time up to which rows are of interest. If zero, all are. An
	// agent may return more.
	Until time.Time
	// Full asks for the tool calls and the ends of turns too if hooks usually
	// report them.
	Full bool
	// Whole, if it is not nil, asks for the tool calls for which it returns true,
	// with whole texts and their places, those without a result included. An agent
	// may leave out other texts. The id is empty if the call has none.
	Whole func(id, name string) bool
}

// Session is a session that an agent has kept on this machine.
type Session struct {
	// ID is the agent's id of the session, one plain path element.
	ID string
	// Dialect is the form of its files, as in hook.Event.
	Dialect string
	// Path is the session's main file.
	Path string
	// Others are other files that may have rows of the session. They must not be changed.
	Others []string
	// ModTime is the time of the newest write to any of the session's files
	// that the listing looked at.
	ModTime time.Time
	// Cwd is the session's working directory if the listing has it.
	Cwd string
	// HookPrefix begins the ids under which hooks report the session's work. It
	// is empty if hooks report the session under its own id.
	HookPrefix string
}

// Read reads one session of an agent.
func (f *Files) Read(ctx context.Context, a Reader, q Query) (t *hook.Transcript, err error) {
	if !f.here(q.Path) {
		q.Path = ""
	}
	err = f.limited(ctx, q.Session, func(ctx context.Context, f *Files) (err error) {
		if t, err = a.Read(ctx, f, q); t != nil {
			t.Unread = append(t.Unread, *f.unread...)
			once(t)
		}
		return err
	})
	return t, err
}

// once drops the requests and the results whose rows are in the files again: those with the id,
// the end and the tokens of another request, or the id, the end and the status of another result.
// What only one of two rows of a request says is kept.
func once(t *hook.Transcript) {
	type row struct {
		agent, id, name string
		end             int64
		status          hook.ToolStatus
		tokens          hook.Usage
	}
	seed := maphash.MakeSeed()
	at := make(map[uint64]int, len(t.Requests))
	requests := t.Requests[:0]
	for _, c := range t.Requests {
		r := row{agent: c.Agent, id: c.ID, end: cmp.Or(c.End, c.Start).UnixNano(), tokens: *cmp.Or(c.Usage, &hook.Usage{})}
		r.tokens.CostUSD = nil
		key := maphash.Comparable(seed, r)
		i, again := at[key]
		if !again || c.ID == "" {
			at[key] = len(requests)
			requests = append(requests, c)
			continue
		}
		have := &requests[i]
		have.Text, have.Reasoning = cmp.Or(have.Text, c.Text), cmp.Or(have.Reasoning, c.Reasoning)
		if len(have.ToolCallIDs) == 0 {
			have.ToolCallIDs = c.ToolCallIDs
		}
	}
	t.Requests = requests
	clear(at)
	t.ToolResults = slices.DeleteFunc(t.ToolResults, func(r hook.ToolResult) bool {
		key := maphash.Comparable(seed, row{agent: r.Agent, id: r.ID, name: r.Name, end: r.At.UnixNano(), status: r.Status})
		at[key]++
		return at[key] > 1 && r.ID != "" && !r.At.IsZero()
	})
}

// Sessions lists an agent's sessions, the newest last. Several that have one id are
// listed once, with the path of the one that was written last. The error is the
// context's.
func (f *Files) Sessions(ctx context.Context, a Reader) ([]Session, error) {
	found, err := a.Sessions(ctx, f.withDefaults())
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found, func(a, b Session) int {
		return cmp.Or(a.ModTime.Compare(b.ModTime), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Path, b.Path))
	})
	type key struct{ dialect, id string }
	newest := make(map[key]int, len(found))
	for i, s := range found {
		newest[key{s.Dialect, s.ID}] = i
	}
	kept := found[:0]
	copies := make(map[key][]string)
	for i, s := range found {
		k := key{s.Dialect, s.ID}
		if newest[k] != i {
			copies[k] = slices.Concat(copies[k], []string{s.Path}, s.Others)
			continue
		}
		if other := copies[k]; other != nil {
			s.Others = slices.Concat(s.Others, other)
		}
		kept = append(kept, s)
	}
	return slices.Clip(kept), nil
}

// Origin names the session that a session was forked from and the turn after
// which. Both are empty for a session that is no fork.
func (f *Files) Origin(ctx context.Context, a Reader, q Query) (session, turn string, err error) {
	if a.Origin == nil {
		return "", "", nil
	}
	err = f.limited(ctx, q.Session, func(ctx context.Context, f *Files) (err error) {
		session, turn, err = a.Origin(ctx, f, q)
		return err
	})
	return session, turn, err
}

// End reports how and when a session ended as the agent's files record it. The
// kind is hook.KindUnknown if they do not.
func (f *Files) End(ctx context.Context, a Reader, q Query) (kind hook.Kind, at time.Time, err error) {
	if a.End == nil {
		return hook.KindUnknown, time.Time{}, nil
	}
	err = f.limited(ctx, q.Session, func(ctx context.Context, f *Files) (err error) {
		kind, at, err = a.End(ctx, f, q)
		return err
	})
	return kind, at, err
}

// Stamp identifies the state of a session's files by their names, sizes and times
// of modification; newest is the newest of these times. ok is false if the files
// cannot be listed.
func (a Reader) Stamp(s Session) (stamp string, newest time.Time, ok bool) {
	if a.Parts == nil {
		return "", time.Time{}, false
	}
	parts, err := a.Parts(s)
	if err != nil {
		return "", time.Time{}, false
	}
	h := sha256.New()
	for _, path := range slices.Concat([]string{s.Path}, s.Others, parts) {
		info, err := os.Stat(path)
		if err != nil {
			return "", time.Time{}, false
		}
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		_, _ = fmt.Fprintf(h, "%q %d %d\n", path, info.Size(), info.ModTime().UnixNano()) // never fails
	}
	return hex.EncodeToString(h.Sum(nil)), newest, true
}

// Stat describes the session whose main file is at path. ok is false if the
// file is not a regular one, or the id could not be read again.
func Stat(id, path string) (s Session, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return Session{}, false
	}
	return Described(id, path, info)
}

// Described is Stat for a file that was looked at.
func Described(id, path string, info os.FileInfo) (s Session, ok bool) {
	if info == nil || !info.Mode().IsRegular() || CheckID("session id", id) != nil {
		return Session{}, false
	}
	return Session{ID: id, Path: path, ModTime: info.ModTime()}, true
}

// Newest returns the one of several files of a session that was written last.
// ok is false if there is none.
func Newest(id string, paths []string) (newest Session, ok bool) {
	for _, path := range paths {
		if s, found := Stat(id, path); found && (!ok || s.ModTime.After(newest.ModTime)) {
			newest, ok = s, true
		}
	}
	return newest, ok
}

// maxIDLen is far above the length of any agent's ids.
const maxIDLen = 128

// CheckID refuses an id that is not one plain path element. Ids come from
// payloads, and a payload must never choose a path.
func CheckID(noun, id string) error {
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

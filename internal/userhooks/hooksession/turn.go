package hooksession

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/files/regular"
)

const (
	// repliesFor is how long the reply to an event counts for copies of it, which arrive
	// within a second.
	repliesFor = 5 * time.Minute
	// maxReplies is the size in bytes at which a file of replies ends, and lastReplies
	// how much of it is read.
	maxReplies, lastReplies = 1 << 20, 128 << 10
	// maxReply is the longest reply that is kept, in bytes. For a copy of an event with a
	// longer one the hooks run again.
	maxReply = 32 << 10
)

// Turn is the right to run the hooks for an event. Of the processes that got the same event
// one has it at a time, until it ends it or itself ends in any way.
type Turn struct {
	s    Session
	key  string
	file *os.File // nil where there is no lock: a hook that runs twice does less harm than a guard that does not run
}

// Turn takes the turn of an event with this payload. If another process has run the hooks
// for it, the turn is nil and the reply is that one's. It waits for a process that
// runs them; the error is that of ctx.
func (s Session) Turn(ctx context.Context, event string, payload []byte) (turn *Turn, reply string, err error) {
	sum := sha256.Sum256(append([]byte(event+"\x00"), payload...))
	t := &Turn{s: s, key: hex.EncodeToString(sum[:12])}
	if t.file, err = s.lock(ctx, "turn-"+t.key); err != nil {
		return nil, "", err
	}
	if reply, ok := s.reply(t.key); ok {
		t.End("")
		return nil, reply, nil
	}
	return t, "", nil
}

// End keeps the reply, one line, for copies of the event, and ends the turn. An empty
// reply is none: the hooks run for the next copy.
func (t *Turn) End(reply string) {
	if reply != "" && len(reply) <= maxReply {
		t.s.keepReply(fmt.Sprintf("%s %d %s\n", t.key, t.s.now().UnixMilli(), reply))
	}
	if t.file != nil {
		// A process that waits for the removed file finds the reply.
		err := os.Remove(t.file.Name())
		_ = t.file.Close()
		if err != nil { // Windows removes no open file
			_ = os.Remove(t.file.Name())
		}
	}
}

// lock opens a file of the session and waits for its lock. Without an error the file is nil
// where there is no lock.
func (s Session) lock(ctx context.Context, name string) (*os.File, error) {
	f, _, err := regular.Open(filepath.Join(s.dir, name), regular.Options{Flag: os.O_CREATE | os.O_RDWR, Perm: 0o600, NoLink: true})
	if err != nil {
		return nil, nil
	}
	if err := filelock.Wait(ctx, f); err != nil {
		_ = f.Close()
		return nil, ctx.Err()
	}
	return f, nil
}

func (s Session) openReplies() (*os.File, os.FileInfo, error) {
	return regular.Open(filepath.Join(s.dir, "replies"), regular.Options{Flag: os.O_CREATE | os.O_APPEND | os.O_RDWR, Perm: 0o600, NoLink: true})
}

func (s Session) keepReply(line string) {
	f, info, err := s.openReplies()
	if err != nil {
		return
	}
	if info.Size() > maxReplies {
		// If a copy of an earlier event still comes, its hooks run again.
		_ = f.Truncate(0)
	}
	_, _ = f.WriteString(line)
	_ = f.Close()
}

// reply finds the newest reply of that key.
func (s Session) reply(key string) (reply string, ok bool) {
	f, info, err := s.openReplies()
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }()
	last := make([]byte, 1+min(info.Size(), lastReplies))
	last[0] = '\n'
	if _, err := f.ReadAt(last[1:], info.Size()-int64(len(last)-1)); err != nil {
		return "", false
	}
	// Forwards, since bytes.LastIndex takes many times as long.
	mark := []byte("\n" + key + " ")
	for {
		_, after, found := bytes.Cut(last, mark)
		if !found {
			break
		}
		last, ok = after, true
	}
	line, _, _ := bytes.Cut(last, []byte("\n"))
	stamp, reply, _ := strings.Cut(string(line), " ")
	ms, err := strconv.ParseInt(stamp, 10, 64)
	return reply, ok && err == nil && s.now().Sub(time.UnixMilli(ms)).Abs() <= repliesFor
}

// Once takes the turn of a handler that runs once in a session, and reports whether it has
// not run yet. If so, begun must be called when it has started, or with false when it
// could not be: then it may run at the next event.
func (s Session) Once(ctx context.Context, key string) (begun func(started bool), may bool) {
	sum := sha256.Sum256([]byte(key))
	f, err := s.lock(ctx, "once-"+hex.EncodeToString(sum[:12]))
	if f == nil {
		return func(bool) {}, err == nil
	}
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		_ = f.Close()
		return nil, false
	}
	return func(started bool) {
		if started {
			_, _ = f.WriteString("started\n")
		}
		_ = f.Close()
	}, true
}

package hooksession

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/filelock"
	"github.com/hookspan/hookspan/internal/regular"
)

const (
	// maxPostponed is the size in bytes above which events are no longer postponed.
	maxPostponed = 4 << 20
	// lockWait is how long Postponed waits for a process that postpones an event.
	lockWait = 50 * time.Millisecond
)

// postponed begins an event that no hook ran for. Its payload follows in the next
// Size bytes, and a line end.
type postponed struct {
	Event string    `json:"event"`
	At    time.Time `json:"at"`
	Cwd   string    `json:"cwd"`
	Size  int       `json:"size"`
}

func (s Session) openPostponed(flag int) (*os.File, os.FileInfo, error) {
	return regular.Open(filepath.Join(s.dir, "postponed"), regular.Options{Flag: flag | os.O_RDWR, Perm: 0o600, NoLink: true})
}

// Postpone keeps an event, without waiting for other processes, until the runner
// takes it.
func (s Session) Postpone(raw hook.Raw) error {
	f, info, err := s.openPostponed(os.O_CREATE | os.O_APPEND)
	if errors.Is(err, os.ErrNotExist) && s.Open() == nil {
		f, info, err = s.openPostponed(os.O_CREATE | os.O_APPEND)
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if info.Size() > maxPostponed {
		return errors.New("too many events are postponed")
	}
	once, stop := context.WithCancel(context.Background())
	stop()
	if err := filelock.Wait(once, f); err != nil {
		return err // another process works on the file
	}
	text, err := json.Marshal(postponed{raw.Event, raw.StoredAt, raw.Cwd, len(raw.Payload)})
	if err != nil {
		return err
	}
	_, err = f.Write(append(append(append(text, '\n'), raw.Payload...), '\n'))
	return err
}

// Postponed takes the postponed events, in the order in which they were kept. Of an
// event that was reported twice it returns one. What cannot be read is lost.
func (s Session) Postponed() []hook.Raw {
	f, _, err := s.openPostponed(0)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	ctx, stop := context.WithTimeout(context.Background(), lockWait)
	defer stop()
	if filelock.Wait(ctx, f) != nil {
		return nil // the next event takes them
	}
	data, err := io.ReadAll(f)
	if err != nil || len(data) == 0 || f.Truncate(0) != nil {
		return nil
	}
	var out []hook.Raw
	seen := make(map[string]bool)
	for r := bufio.NewReader(bytes.NewReader(data)); ; {
		line, err := r.ReadBytes('\n')
		var p postponed
		if err != nil || json.Unmarshal(line, &p) != nil || p.Size < 0 || p.Size > len(data) {
			return out
		}
		payload := make([]byte, p.Size+1)
		if _, err := io.ReadFull(r, payload); err != nil {
			return out
		}
		if payload = payload[:p.Size]; seen[string(payload)] {
			continue
		}
		seen[string(payload)] = true
		out = append(out, hook.Raw{Payload: payload, Event: p.Event, StoredAt: p.At, Cwd: p.Cwd})
	}
}

package hooksession

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/files/regular"
)

const (
	// maxPostponed is the size in bytes above which events are no longer postponed.
	maxPostponed = 4 << 20
	// lockWait is how long Postponed waits for a process that postpones an event.
	lockWait = 50 * time.Millisecond
)

// An event that no hook ran for is a line, then its payload and a line end. The line
// has the size of the payload, when the event was stored in ns since 1970, its name and
// its folder, both quoted as in Go.

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
	text := make([]byte, 0, len(raw.Payload)+256)
	text = append(strconv.AppendInt(text, int64(len(raw.Payload)), 10), '\t')
	text = append(strconv.AppendInt(text, raw.StoredAt.UnixNano(), 10), '\t')
	text = append(strconv.AppendQuote(text, raw.Event), '\t')
	text = append(strconv.AppendQuote(text, raw.Cwd), '\n')
	_, err = f.Write(append(append(text, raw.Payload...), '\n'))
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
		line, err := r.ReadString('\n')
		words := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if err != nil || len(words) != 4 {
			return out
		}
		size, badSize := strconv.ParseUint(words[0], 10, 31)
		at, badTime := strconv.ParseInt(words[1], 10, 64)
		event, badName := strconv.Unquote(words[2])
		cwd, badFolder := strconv.Unquote(words[3])
		if errors.Join(badSize, badTime, badName, badFolder) != nil || int(size) >= len(data) {
			return out
		}
		payload := make([]byte, size+1)
		if _, err := io.ReadFull(r, payload); err != nil {
			return out
		}
		payload = payload[:size]
		if seen[string(payload)] {
			continue
		}
		seen[string(payload)] = true
		out = append(out, hook.Raw{Payload: payload, Event: event, StoredAt: time.Unix(0, at), Cwd: cwd})
	}
}

package bridge

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/loopback"
	"github.com/hookspan/hookspan/internal/rawjson"
)

const (
	// maxStoredEvents and maxStoredBytes bound the file of events.
	maxStoredEvents = 10_000
	maxStoredBytes  = 50 << 20
	// maxLoadedBytes is the largest file of another writer that is extended; a
	// larger one is moved aside.
	maxLoadedBytes = 2 * maxStoredBytes
	// maxStoredErrors and maxErrorBytes bound the file of errors.
	maxStoredErrors = 1_000
	maxErrorBytes   = 5 << 20
	// previewRunes is how much of a malformed payload an error quotes.
	previewRunes = 200
	// isoMillis is the form of JavaScript's Date.toISOString.
	isoMillis = "2006-01-02T15:04:05.000Z"
)

// FileStore keeps events in the files that the agent-hooks scripts read:
// AGENT-hook-events.json and AGENT-hook-events-errors.json in one folder, each a
// JSON array. Any number of processes may write to them at once.
type FileStore struct {
	// Dir is the folder, created if it is missing.
	Dir string
	// Agent begins the files' names.
	Agent Provider
	// Now is the clock. If nil, time.Now.
	Now func() time.Time
	// MaxEvents and MaxBytes are the number and the size above which the oldest
	// events are dropped, down to nine tenths. If zero, 10,000 and 50 MiB.
	MaxEvents int
	MaxBytes  int

	// written describes the file that this store wrote last, as it left it.
	written atomic.Pointer[fs.FileInfo]
}

// EventsPath is the file of events.
func (s *FileStore) EventsPath() string {
	return filepath.Join(s.Dir, string(s.Agent)+"-hook-events.json")
}

// ErrorsPath is the file of errors.
func (s *FileStore) ErrorsPath() string {
	return filepath.Join(s.Dir, string(s.Agent)+"-hook-events-errors.json")
}

// Take implements Sink.
func (s *FileStore) Take(ctx context.Context, e *Event) (bool, error) {
	if e.Provider != s.Agent {
		return false, nil
	}
	err := s.Append(ctx, e.Body)
	return err == nil, err
}

// problem is one entry of the file of errors.
type problem struct {
	context string
	err     error
	more    any
}

// Append adds events at the end, in this order; a payload that is not a JSON object
// is kept as text. An event that is too large for the file is left out and noted
// in the file of errors. After an error no event is stored.
func (s *FileStore) Append(ctx context.Context, events ...[]byte) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	var notes []problem
	old, err := s.load(s.EventsPath(), &notes)
	if err != nil {
		return err
	}
	now := s.now()
	most := cmp.Or(s.MaxBytes, maxStoredBytes)
	for _, payload := range events {
		if len(payload) > most/2 {
			notes = append(notes, problem{
				"event_too_large", fmt.Errorf("event has %d bytes, want at most %d: left out", len(payload), most/2),
				map[string]any{"rawDataPreview": preview(payload)},
			})
			continue
		}
		text, err := stamp(payload, now)
		if err != nil {
			notes = append(notes, problem{"json_parse_error", err, map[string]any{"rawDataPreview": preview(payload)}})
		}
		old = append(old, text)
	}
	kept, dropped := trim(old, cmp.Or(s.MaxEvents, maxStoredEvents), most)
	if dropped > 0 {
		notes = append(notes, problem{
			"events_dropped", fmt.Errorf("the file is full: the %d oldest events are dropped", dropped),
			map[string]any{"dropped": dropped, "kept": len(kept)},
		})
	}
	if err := s.write(s.EventsPath(), kept); err != nil {
		return err
	}
	// The events are stored; a missing note is no error.
	_ = s.note(notes)
	return nil
}

// LogError adds an entry to the file of errors. more is additional data for
// encoding/json.
func (s *FileStore) LogError(ctx context.Context, about string, err error, more any) error {
	unlock, lerr := s.lock(ctx)
	if lerr != nil {
		return lerr
	}
	defer unlock()
	return s.note([]problem{{about, err, more}})
}

func (s *FileStore) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

func (s *FileStore) lock(ctx context.Context) (unlock func(), err error) {
	if s.Dir == "" {
		return nil, errors.New("event folder: no home folder is known, name one")
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("event folder: %w", err)
	}
	lock, err := filelock.Folder(ctx, s.Dir)
	if err != nil {
		return nil, fmt.Errorf("lock event folder %q: %w", s.Dir, err)
	}
	return func() { _ = lock.Close() }, nil
}

// note writes entries to the file of errors; the lock is held.
func (s *FileStore) note(notes []problem) error {
	if len(notes) == 0 {
		return nil
	}
	old, err := s.load(s.ErrorsPath(), &notes)
	if err != nil {
		return err
	}
	now := s.now()
	for _, n := range notes {
		text, err := rawjson.Marshal(map[string]any{
			"timestamp": now.UTC().Format(isoMillis), "context": n.context,
			"error":          map[string]any{"message": n.err.Error(), "name": "Error", "code": code(n.err)},
			"additionalData": n.more, "__hook_error_logged": now.UnixMilli(),
		})
		if err != nil {
			return fmt.Errorf("error entry %q: %w", n.context, err)
		}
		old = append(old, indent(text))
	}
	old, _ = trim(old, maxStoredErrors, maxErrorBytes)
	return s.write(s.ErrorsPath(), old)
}

// load reads the texts of the elements of a file's array. An unreadable file is
// moved aside, which is added to the notes. A single value counts as an array of
// one.
func (s *FileStore) load(path string, notes *[]problem) ([][]byte, error) {
	b, info, why := regular.ReadStat(path, regular.Options{Max: maxLoadedBytes})
	if errors.Is(why, fs.ErrNotExist) {
		return nil, nil
	}
	if why == nil {
		b = rawjson.Trim(b)
		if len(b) == 0 {
			return nil, nil
		}
		if !s.wrote(info) {
			why = rawjson.Check(b)
		}
	}
	if why == nil {
		if elements, ok := rawjson.Elements(b); ok {
			return elements, nil
		}
		return [][]byte{indent(b)}, nil
	}
	aside := fmt.Sprintf("%s.unreadable-%d", path, s.now().UnixNano())
	if _, err := os.Lstat(aside); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("events %q cannot be read (%w), and %q is in the way", path, why, aside)
	}
	if err := os.Rename(path, aside); err != nil {
		return nil, fmt.Errorf("events %q cannot be read (%w) nor moved aside: %w", path, why, err)
	}
	*notes = append(*notes, problem{
		"fallback_file_read_error", fmt.Errorf("the file could not be read and was moved aside: %w", why),
		map[string]any{"file": path, "movedTo": aside},
	})
	return nil, nil
}

// wrote says that nobody has changed a file since this store wrote it. It is not
// checked again then, which would take nearly half of the time of adding to a large one.
func (s *FileStore) wrote(info fs.FileInfo) bool {
	own := s.written.Load()
	return own != nil && os.SameFile(*own, info) && (*own).Size() == info.Size() && (*own).ModTime().Equal(info.ModTime())
}

// write replaces a file. A symbolic link stays one.
func (s *FileStore) write(path string, elements [][]byte) error {
	mode := fs.FileMode(0o600)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
		if info, err := os.Stat(path); err == nil {
			mode = info.Mode().Perm()
		}
	}
	atomicfile.RemoveTemps(path)
	size := len("\n]")
	err := atomicfile.WriteFunc(path, atomicfile.Options{Mode: mode}, func(w io.Writer) error {
		out := bufio.NewWriterSize(w, 1<<20) // keeps its first error for Flush
		before := "[\n  "
		for _, e := range elements {
			_, _ = out.WriteString(before)
			_, _ = out.Write(e)
			size += len(before) + len(e)
			before = ",\n  "
		}
		if len(elements) == 0 {
			_, _ = out.WriteString("[]")
		} else {
			_, _ = out.WriteString("\n]")
		}
		return out.Flush()
	})
	if err != nil {
		return fmt.Errorf("events %q: %w", path, err)
	}
	// A writer who knows no lock may have replaced it already.
	if info, err := os.Stat(path); err == nil && info.Size() == int64(size) {
		s.written.Store(&info)
	}
	return nil
}

// stamp returns an event as it is written to the file. The error says why it is
// kept as text.
func stamp(payload []byte, now time.Time) ([]byte, error) {
	var members []byte
	body := rawjson.Trim(payload)
	err := rawjson.Check(body)
	if err == nil && body[0] != '{' {
		err = errors.New("the event is not a JSON object")
	}
	if err == nil {
		members = bytes.TrimSpace(body[1 : len(body)-1])
	} else {
		raw, eerr := rawjson.Marshal(strings.ToValidUTF8(string(payload), "\ufffd"))
		if eerr != nil {
			return nil, eerr
		}
		members = append([]byte(`"__hook_raw":`), raw...)
	}
	out := bytes.NewBuffer(make([]byte, 0, len(members)+96))
	out.WriteByte('{')
	out.Write(members)
	if len(members) > 0 {
		out.WriteByte(',')
	}
	fmt.Fprintf(out, `"__hook_timestamp":%q,"__hook_received":%d}`, now.UTC().Format(isoMillis), now.UnixMilli())
	return indent(bytes.ToValidUTF8(out.Bytes(), []byte("\ufffd"))), err
}

// A value of up to maxIndented bytes and maxLevels levels is indented, unless that
// adds more than maxSpace bytes: white space grows with the square of the depth.
const (
	maxIndented = 256 << 10
	maxLevels   = 32
	maxSpace    = 128 << 10
)

// indent indents a valid value as an element of the array.
func indent(text []byte) []byte {
	const step = "  "
	var out bytes.Buffer
	if len(text) > maxIndented || !rawjson.ValidWithin(text, maxLevels) || json.Indent(&out, text, step, step) != nil || out.Len() > len(text)+maxSpace {
		return text
	}
	return out.Bytes()
}

// trim drops the oldest elements of a file that exceeds its bounds, down to nine
// tenths of them, so that not every further event drops one more.
func trim(elements [][]byte, most, bytes int) (kept [][]byte, dropped int) {
	size := 0
	for _, e := range elements {
		size += len(e) + 4
	}
	if len(elements) <= most && size <= bytes {
		return elements, 0
	}
	for dropped < len(elements)-1 && (len(elements)-dropped > most-most/10 || size > bytes-bytes/10) {
		size -= len(elements[dropped]) + 4
		dropped++
	}
	return elements[dropped:], dropped
}

// preview is the beginning of a payload, as the file of errors quotes it.
func preview(payload []byte) string {
	text := []rune(strings.ToValidUTF8(string(payload[:min(len(payload), 4*previewRunes)]), "\ufffd"))
	return string(text[:min(len(text), previewRunes)])
}

// code is Node's name for an error, if the scripts know it.
func code(err error) string {
	switch {
	case loopback.Refused(err):
		return "ECONNREFUSED"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "ETIMEDOUT"
	case errors.Is(err, fs.ErrPermission):
		return "EACCES"
	}
	return ""
}

package deliver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/otlp/otlpjson"
)

// NewFile returns a client that appends OTLP/JSON to a file, one request per line,
// as the specification of the OpenTelemetry file exporter requires. It makes the
// file with mode 0600. A line is on the disk when UploadTraces returns.
func NewFile(path string) (Client, error) {
	if path == "" {
		return nil, fmt.Errorf("file destination: HOOKSPAN_FILE_PATH is not set")
	}
	return file(path), nil
}

// file is the path of a file destination.
type file string

// UploadTraces implements Client.
func (f file) UploadTraces(_ context.Context, messages []*tracepb.ResourceSpans) error {
	line, err := otlpjson.Encode(messages)
	if err == nil {
		err = within(callTime(messages), func() error { return appendLine(string(f), line) })
	}
	if err != nil {
		return &Error{Err: fmt.Errorf("file destination: %w", err)}
	}
	return nil
}

// within calls f and waits for so long. No system call of a file on a server that hangs returns:
// what f waits for then ends with the process, which otherwise would stay.
func within(d time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(d):
		return fmt.Errorf("the file system has not answered for %s", d)
	}
}

func appendLine(path string, line []byte) (err error) {
	f, _, err := regular.Open(path, regular.Options{NoLink: true, Private: true, Flag: os.O_RDWR | os.O_APPEND | os.O_CREATE, Perm: 0o600})
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	// Other processes may write to the same file. Without the lock a line that is
	// being written would look torn.
	if err := lockFile(f); err != nil {
		return fmt.Errorf("lock %q: %w", path, err)
	}
	if err := syncName(f); err != nil {
		return fmt.Errorf("sync the folder of %q: %w", path, err)
	}
	var out bytes.Buffer
	if torn(f) {
		out.WriteByte('\n')
	}
	out.Write(line)
	out.WriteByte('\n')
	if _, err := f.Write(out.Bytes()); err != nil {
		return err
	}
	return f.Sync()
}

// fileWait bounds the wait for other processes, which append within milliseconds.
const fileWait = 5 * time.Second

func lockFile(f *os.File) error {
	ctx, cancel := context.WithTimeout(context.Background(), fileWait)
	defer cancel()
	err := filelock.Wait(ctx, f)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("another program has held the lock for %s", fileWait)
	}
	return err
}

// syncName makes the name of an empty file survive a power cut before the first
// line is written.
func syncName(f *os.File) error {
	fi, err := f.Stat()
	if err != nil || fi.Size() > 0 {
		return err
	}
	return atomicfile.SyncFolder(filepath.Dir(f.Name()))
}

// torn reports that the last line of the file is incomplete, as after a crash.
func torn(f *os.File) bool {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return false
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], end-1)
	return err == nil && last[0] != '\n'
}

package infiniumexporter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
)

// parked is a folder of traces that Infinium refused, one file each: a line of
// OTLP JSON, as any OTLP receiver takes it.
type parked struct {
	dir string
	now func() time.Time
}

// openParked makes the folder and proves that it can be written.
func openParked(dir string) (*parked, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("parked_directory %q: %w", dir, err)
	}
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return nil, fmt.Errorf("parked_directory %q cannot be written: %w", dir, err)
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return nil, fmt.Errorf("parked_directory %q: %w", dir, err)
	}
	return &parked{dir: dir, now: time.Now}, nil
}

// write keeps a trace; when it returns, the trace is on the disk. The name ends
// in ids alone, in hex, so that no text of a span reaches the file system.
func (p *parked) write(name string, td ptrace.Traces) (string, error) {
	var m ptrace.JSONMarshaler
	line, err := m.MarshalTraces(td)
	if err != nil {
		return "", err
	}
	path := filepath.Join(p.dir, p.now().UTC().Format("20060102T150405.000000000Z")+"-"+name+".jsonl")
	return path, atomicfile.Write(path, append(line, '\n'), atomicfile.Options{Sync: atomicfile.SyncName})
}

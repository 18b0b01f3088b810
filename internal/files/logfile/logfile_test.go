package logfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestLogIsMovedAsideOnce has many writers find the log too large at the same time.
func TestLogIsMovedAsideOnce(t *testing.T) {
	for round := range 100 {
		path := filepath.Join(t.TempDir(), "hookspan.log")
		err := os.WriteFile(path, []byte("first\n"), 0o600)
		if err = errors.Join(err, os.Truncate(path, maxSize+1)); err != nil {
			t.Fatal(err)
		}
		const writers = 16
		begin := make(chan struct{})
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				<-begin
				Log{Path: path, Who: "test"}.Line("line")
			})
		}
		close(begin)
		wg.Wait()
		old, err := os.ReadFile(path + ".1")
		if err != nil || !bytes.HasPrefix(old, []byte("first\n")) {
			t.Fatalf("round %d: the large log is gone: %d bytes, error %v", round, len(old), err)
		}
		now, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if n := bytes.Count(append(old, now...), []byte("test: line\n")); n != writers {
			t.Fatalf("round %d: %d lines, want %d", round, n, writers)
		}
	}
}

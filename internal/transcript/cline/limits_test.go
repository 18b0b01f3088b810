package cline

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/transcript"
)

func TestFilesOfASessionShareOneLimit(t *testing.T) {
	f := newFinder(t)
	root := filepath.Join(f.Home, ".cline", "data", "sessions")
	copyDir(t, root, "sdk/tools")
	const id = "1795174957841_0jeru"
	whole, err := query(t.Context(), f, DialectSDK, id)
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	for _, path := range whole.Sources {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	// A decoder reads ahead of what it needs, to the end of the file.
	f.MaxBytes = size + int64(len(whole.Sources))
	if _, err := query(t.Context(), f, DialectSDK, id); err != nil {
		t.Errorf("error %v at %d bytes", err, f.MaxBytes)
	}
	f.MaxBytes = size / 2
	tr, err := query(t.Context(), f, DialectSDK, id)
	if !errors.Is(err, transcript.ErrBeyond) || tr == nil {
		t.Errorf("transcript %t, error %v, want what was read and %v", tr != nil, err, transcript.ErrBeyond)
	}
	f.MaxTime = time.Nanosecond
	if _, err := query(t.Context(), f, DialectSDK, id); !errors.Is(err, transcript.ErrBeyond) {
		t.Errorf("error %v without time, want %v", err, transcript.ErrBeyond)
	}
}

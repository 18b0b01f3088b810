package transcript

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestWaitingForATornFileEndsWithTheContext(t *testing.T) {
	f := (&Files{}).withDefaults()
	path := filepath.Join(t.TempDir(), "torn.json")
	if err := os.WriteFile(path, []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := f.Stream(ctx, path, func(r io.Reader) error {
		cancel()
		_, err := io.Copy(io.Discard, r)
		return errors.Join(err, io.ErrUnexpectedEOF)
	})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error = %v, want both the context's and the file's", err)
	}
}

package transcript

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
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

// A file that is whole but for what some writers and file systems do to it is read at once.
func TestDocumentsAreReadAsTheyWereMeant(t *testing.T) {
	for name, text := range map[string]string{
		"as JSON demands":                `{"a":"x\ty"}`,
		"a byte order mark":              "\ufeff" + `{"a":"x\ty"}`,
		"a raw control character":        "{\"a\":\"x\ty\"}",
		"NUL before it":                  "\x00\x00" + `{"a":"x\ty"}`,
		"a mark and a control character": "\ufeff{\"a\":\"x\ty\"}\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			f := (&Files{}).withDefaults()
			f.Sleep = func(context.Context, time.Duration) error { t.Error("the file was waited for"); return nil }
			path := filepath.Join(t.TempDir(), "file.json")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			v, err := Small[struct{ A string }](t.Context(), f, path, true)
			if err != nil || v.A != "x\ty" {
				t.Errorf("%q, %v", v.A, err)
			}
		})
	}
}

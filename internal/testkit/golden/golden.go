// Package golden compares what a test got with a file of testdata. With -update the test
// writes the file instead; read the difference before you keep it.
package golden

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Updating reports that the golden files are being written.
func Updating() bool { return *update }

// Check compares a text with a file, given by its path below testdata. How a checkout ends
// lines is no difference.
func Check[T ~string | ~[]byte](t testing.TB, file string, got T) {
	t.Helper()
	if want := File(t, file, []byte(got)); want != nil {
		if diff := cmp.Diff(lines(string(want)), lines(string(got))); diff != "" {
			t.Errorf("%s (-want +got); -update writes it anew:\n%s", file, diff)
		}
	}
}

func lines(text string) []string {
	return strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
}

// File returns a file of testdata for a test that compares by itself, after it was written
// with got if the golden files are written anew. Where there is none, the test fails and the
// file is nil.
func File(t testing.TB, file string, got []byte) []byte {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(file))
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, got, 0o644)); err != nil { //nolint:gosec // Files of the checkout.
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path) //nolint:gosec // A file of testdata.
	if err != nil {
		t.Errorf("%v: -update writes it", err)
		return nil
	}
	return want
}

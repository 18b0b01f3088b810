// Package golden holds what tests found against files in the folder testdata of their
// package. Tests alone import it.
package golden

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/files/regular"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Text compares a text with testdata/name.
func Text(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(got), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := regular.Read(path, regular.Options{})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", path, diff)
	}
}

// JSON compares a value with testdata/name, as indented JSON.
func JSON(t testing.TB, name string, v any) {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	Text(t, name, string(b)+"\n")
}

package hookrun

import (
	"os"
	"path/filepath"
	"testing"
)

// Links are followed also where what they lead to does not exist.
func TestTarget(t *testing.T) {
	needsUnix(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.MkdirAll(at("real"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"folder": "real", "gone": "real/none", "far": at("elsewhere/x"), "loop": "loop"} {
		if err := os.Symlink(to, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	for in, want := range map[string]string{
		at("folder/new/file"): at("real/new/file"), at("gone"): at("real/none"), at("far"): at("elsewhere/x"), at("real"): at("real"),
		at("loop"): at("loop"), "": "",
	} {
		if got := target(in); got != want {
			t.Errorf("%q leads to %q, want %q", in, got, want)
		}
	}
}

package install

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestMoveAsideWithoutLinks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "TaskStart")
	writeFile(t, path, "mine", 0o750)
	writeFile(t, filepath.Join(dir, "aside", "other"), "", 0o600)
	a := Action{Path: path, Chained: filepath.Join(dir, "aside", "TaskStart"), Content: []byte("ours"), Mode: 0o755}
	if err := moveAside(a); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, path) + " " + readFile(t, a.Chained); got != "ours mine" {
		t.Errorf("hook file and sidecar are %q", got)
	}
	if err := moveAside(a); !errors.Is(err, ErrChanged) {
		t.Errorf("second time: %v, want ErrChanged", err)
	}
	if got := readFile(t, path) + " " + readFile(t, a.Chained); got != "ours mine" {
		t.Errorf("after the refusal hook file and sidecar are %q", got)
	}
}

func TestFailedChainLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "TaskStart")
	writeFile(t, script, "mine", 0o755)
	was, err := Look(script)
	if err != nil {
		t.Fatal(err)
	}
	a := Action{Chained: filepath.Join(dir, "aside", "TaskStart"), Content: []byte("ours"), Mode: 0o755, Was: was}
	// A hook folder that vanishes under the step cannot be written to.
	a.Path = filepath.Join(dir, "gone", "TaskStart")
	if err := a.chain(); err == nil {
		t.Fatal("chained into a missing folder")
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

// TestLookReadsTheBeginningOfAHugeFile: a user's file may be a program of any size.
func TestLookReadsTheBeginningOfAHugeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "TaskStart")
	writeFile(t, path, "#!/bin/sh\n", 0o755)
	if err := os.Truncate(path, maxFileBytes+1); err != nil {
		t.Fatal(err)
	}
	f, err := Look(path)
	if err != nil || len(f.Data) != startBytes || string(f.Data[:10]) != "#!/bin/sh\n" {
		t.Errorf("%d bytes were read (%v), want the first %d", len(f.Data), err, startBytes)
	}
}

package hooksession

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newSession(t *testing.T) Session {
	t.Helper()
	m := Session{dir: filepath.Join(t.TempDir(), "cline", "s"), now: time.Now}
	if err := m.Open(); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTextsAreTakenOnceAndInOrder(t *testing.T) {
	m := newSession(t)
	if err := m.Keep([]string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	if err := m.Keep([]string{"c"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, m.Take()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := m.Take(); got != nil {
		t.Errorf("taken again: %q", got)
	}
	long := strings.Repeat("x", maxPending-1)
	if err := m.Keep([]string{long, "yy", "z"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{long, "z"}, m.Take()); diff != "" {
		t.Error("want what fits into one answer")
	}
	if diff := cmp.Diff([]string{"yy"}, m.Take()); diff != "" {
		t.Errorf("left for the next (-want +got):\n%s", diff)
	}
}

func TestSweepRemovesOldSessions(t *testing.T) {
	dir := t.TempDir()
	old, recent := Session{dir: filepath.Join(dir, "cline", "old"), now: time.Now}, Session{dir: filepath.Join(dir, "cline", "new"), now: time.Now}
	for _, m := range []Session{old, recent} {
		if err := m.Open(); err != nil {
			t.Fatal(err)
		}
		if err := m.Write([][]byte{[]byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{"", "pending", "transcript.jsonl"} {
		if err := os.Chtimes(filepath.Join(old.dir, name), past, past); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "problems.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(dir, time.Now().Add(-24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old.dir); err == nil {
		t.Error("the old one is there")
	}
	if _, err := os.Stat(recent.Transcript()); err != nil {
		t.Error(err)
	}
	if err := Sweep(filepath.Join(dir, "none"), time.Now()); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
}

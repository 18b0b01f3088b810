package hooksession

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

func TestClaimSucceedsForOneProcess(t *testing.T) {
	m := newSession(t)
	var wg sync.WaitGroup
	var won sync.Map
	for i := range 32 {
		wg.Go(func() {
			if m.Claim("PreToolUse", []byte("payload")) {
				won.Store(i, true)
			}
		})
	}
	wg.Wait()
	n := 0
	won.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d claimed the event, want one", n)
	}
	if !m.Claim("PostToolUse", []byte("payload")) || !m.Claim("PreToolUse", []byte("other")) {
		t.Error("another event counts as the same")
	}
}

func TestClaimExpires(t *testing.T) {
	s := newSession(t)
	began := time.Now()
	s.now = func() time.Time { return began }
	if !s.Claim("PreToolUse", []byte("a")) {
		t.Error("the first claim is refused")
	}
	began = began.Add(claimsFor)
	if s.Claim("PreToolUse", []byte("a")) {
		t.Error("a claim ended too early")
	}
	began = began.Add(time.Millisecond)
	if !s.Claim("PreToolUse", []byte("b")) || s.Claim("PreToolUse", []byte("b")) {
		t.Error("want another event claimed once")
	}
	began = began.Add(claimsFor)
	if !s.Claim("PreToolUse", []byte("a")) {
		t.Error("want the claim ended")
	}
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

func TestClaimsFileStaysSmall(t *testing.T) {
	s := newSession(t)
	path := filepath.Join(s.dir, "claims")
	if err := os.WriteFile(path, bytes.Repeat([]byte("x\n"), maxClaims), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !s.Claim("PreToolUse", []byte("a")) {
			t.Error("a claim beside many others is refused")
		}
	}
	if s.Claim("PreToolUse", []byte("a")) {
		t.Error("a claim in the new file is forgotten")
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 1000 {
		t.Errorf("the claims of a long session are kept: %v %v", info, err)
	}
}

package clinehooks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newMemory(t *testing.T) memory {
	t.Helper()
	m := memory{dir: filepath.Join(t.TempDir(), "cline", "s"), now: time.Now}
	if err := m.open(); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestOneOfManyClaimsAnEvent(t *testing.T) {
	m := newMemory(t)
	var wg sync.WaitGroup
	var won sync.Map
	for i := range 32 {
		wg.Go(func() {
			if m.claim("PreToolUse", []byte("payload")) {
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
	if !m.claim("PostToolUse", []byte("payload")) || !m.claim("PreToolUse", []byte("other")) {
		t.Error("another event counts as the same")
	}
}

func TestClaimsAreForgotten(t *testing.T) {
	m := newMemory(t)
	m.claim("PreToolUse", []byte("a"))
	m.once("k")
	m.now = func() time.Time { return time.Now().Add(claimsFor - time.Minute) }
	m.forgetClaims()
	if m.claim("PreToolUse", []byte("a")) {
		t.Error("a claim was forgotten too early")
	}
	m.now = func() time.Time { return time.Now().Add(claimsFor + time.Minute) }
	m.forgetClaims()
	if !m.claim("PreToolUse", []byte("a")) || m.once("k") {
		t.Error("want the claim forgotten, and nothing else")
	}
}

func TestTextsAreTakenOnceAndInOrder(t *testing.T) {
	m := newMemory(t)
	if err := m.keep([]string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	if err := m.keep([]string{"c"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, m.take()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := m.take(); got != nil {
		t.Errorf("taken again: %q", got)
	}
	long := strings.Repeat("x", maxPending-1)
	if err := m.keep([]string{long, "yy", "z"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{long, "z"}, m.take()); diff != "" {
		t.Error("want what fits into one answer")
	}
	if diff := cmp.Diff([]string{"yy"}, m.take()); diff != "" {
		t.Errorf("left for the next (-want +got):\n%s", diff)
	}
}

func TestSweepRemovesWhatIsLongPast(t *testing.T) {
	dir := t.TempDir()
	old, recent := memory{dir: filepath.Join(dir, "cline", "old"), now: time.Now}, memory{dir: filepath.Join(dir, "cline", "new"), now: time.Now}
	for _, m := range []memory{old, recent} {
		if err := m.open(); err != nil {
			t.Fatal(err)
		}
		if err := m.write([][]byte{[]byte("{}")}); err != nil {
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
	if _, err := os.Stat(recent.transcript()); err != nil {
		t.Error(err)
	}
	if err := Sweep(filepath.Join(dir, "none"), time.Now()); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestClaimsOfALongSessionAreForgotten(t *testing.T) {
	m := memory{dir: t.TempDir(), now: func() time.Time { return time.Now().Add(2 * claimsFor) }}
	if err := m.open(); err != nil {
		t.Fatal(err)
	}
	const events = 1000
	for i := range events {
		m.claim("PreToolUse", fmt.Append(nil, i))
	}
	left, err := filepath.Glob(filepath.Join(m.dir, "claim-*"))
	if err != nil || len(left) == 0 || len(left) > events/2 {
		t.Errorf("%d claims are left of %d, %v", len(left), events, err)
	}
}

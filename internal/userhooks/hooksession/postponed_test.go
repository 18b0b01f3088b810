package hooksession

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/filelock"
)

func TestPostponedEventsAreTakenOnceAndInOrder(t *testing.T) {
	s := Session{dir: filepath.Join(t.TempDir(), "cline", "new"), now: time.Now}
	at := time.Unix(1785585600, 123456789)
	event := func(name, cwd, payload string) hook.Raw {
		return hook.Raw{Event: name, Cwd: cwd, Payload: []byte(payload), StoredAt: at}
	}
	want := []hook.Raw{
		event("PreToolUse", "/w", "{\n\"a\":1}\n"),
		event("", "C:\\a\tb\nc", "{}"),
		event("TaskComplete", "\xff", `{"x":"`+strings.Repeat("y", 100_000)+`"}`),
	}
	for _, raw := range append(want, want[0], want[2]) {
		if err := s.Postpone(raw); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, s.Postponed()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := s.Postponed(); got != nil {
		t.Errorf("taken again: %d", len(got))
	}
	if err := s.Postpone(want[1]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[1:2], s.Postponed()); diff != "" {
		t.Errorf("afterwards (-want +got):\n%s", diff)
	}
}

func TestPostponedStopsAtDamagedEvent(t *testing.T) {
	for _, damage := range []string{"x", "5\t1\t\"a\"\t\"b\"\n{", "9999999\t1\t\"a\"\t\"b\"\n", "-1\t1\t\"a\"\t\"b\"\n", "2\t1\ta\tb\n{}\n", "\n"} {
		s := newSession(t)
		if err := s.Postpone(hook.Raw{Payload: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(s.dir, "postponed"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprint(f, damage); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got := s.Postponed(); len(got) != 1 {
			t.Errorf("%q: %d events, want the one before it", damage, len(got))
		}
	}
}

func TestPostponeFailsWhenFullOrLocked(t *testing.T) {
	s := newSession(t)
	path := filepath.Join(s.dir, "postponed")
	if err := os.WriteFile(path, make([]byte, maxPostponed+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.Postpone(hook.Raw{Payload: []byte("{}")}) == nil {
		t.Error("an event is postponed behind too many")
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := filelock.Wait(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	if s.Postpone(hook.Raw{Payload: []byte("{}")}) == nil {
		t.Error("an event is postponed while the runner takes those before it")
	}
}

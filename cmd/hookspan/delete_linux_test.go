package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// onPrompt is a standard error on which a question has consequences.
type onPrompt struct {
	bytes.Buffer
	f func()
}

func (p *onPrompt) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "[y/N]") {
		p.f()
	}
	return p.Buffer.Write(b)
}

// TestDeleteRemovesWhatItHasShown lets a task end while the question waits.
func TestDeleteRemovesWhatItHasShown(t *testing.T) {
	for _, args := range [][]string{{"delete", "--all"}, {"delete", "--grep", "task"}, {"prune", "--before", "now"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			a, _, _ := newTestApp(t, "list")
			if code := run(context.Background(), a); code != 0 {
				t.Fatalf("exit code %d", code)
			}
			s, err := store.Open(t.Context(), a.cfg.StorePath())
			if err == nil {
				err = s.UploadTraces(t.Context(), ended(a, 1))
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close() //nolint:errcheck // The test has ended.
			outer, inner := terminalPair(t)
			asked := &onPrompt{f: func() {
				if err := s.UploadTraces(t.Context(), ended(a, 2)); err != nil {
					t.Error(err)
				}
				if _, err := outer.WriteString("y\n"); err != nil {
					t.Error(err)
				}
			}}
			var stdout bytes.Buffer
			c := newApp(args, inner, &stdout, asked, a.environ)
			c.home, c.goos = a.home, a.goos
			if code := run(context.Background(), c); code != 0 || !strings.Contains(stdout.String(), "deleted 1 trace\n") {
				t.Errorf("exit code %d, %q, %q", code, &stdout, asked.String())
			}
			left, err := s.List(t.Context(), store.Filter{})
			if err != nil || len(left) != 1 || left[0].TraceID != fmt.Sprintf("aa%030x", 2) {
				t.Errorf("left are %+v, %v, want the task that ended meanwhile", left, err)
			}
		})
	}
}

// terminalPair returns the two ends of a pseudo-terminal.
func terminalPair(t *testing.T) (outer, inner *os.File) {
	t.Helper()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		skip.Missing(t, "no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = outer.Close() })
	n, err := unix.IoctlGetInt(int(outer.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(outer.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		inner, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inner.Close() })
	return outer, inner
}

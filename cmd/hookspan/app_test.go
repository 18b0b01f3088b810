package main

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/config"
)

// newTestApp returns the program with a new home folder and a minimal environment.
func newTestApp(t *testing.T, args ...string) (a *app, stdout, stderr *bytes.Buffer) {
	t.Helper()
	home := t.TempDir()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	a = newApp(args, strings.NewReader(""), stdout, stderr, []string{"HOME=" + home, "USERPROFILE=" + home})
	a.home, a.goos, a.cfg = home, runtime.GOOS, &config.Config{}
	return a, stdout, stderr
}

func TestPanicExitsWith1(t *testing.T) {
	a, _, stderr := newTestApp(t, "list", "--since", "1h")
	a.now = func() time.Time { panic("no clock") }
	if code := run(context.Background(), a); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if !strings.Contains(stderr.String(), "hookspan: internal error: no clock") {
		t.Errorf("got %q", stderr)
	}
}

func TestInterruptExitsWith130(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a, _, stderr := newTestApp(t, "flush")
	if code := run(ctx, a); code != 130 || stderr.String() != "hookspan: interrupted\n" {
		t.Errorf("exit code %d and %q, want 130", code, stderr)
	}
}

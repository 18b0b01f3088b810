package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/traces/store"
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

func TestWhatCannotBeReadHasAHint(t *testing.T) {
	a, _, stderr := newTestApp(t)
	a.exitCode(context.Background(), fmt.Errorf("open spool: %w", fs.ErrPermission))
	if text := stderr.String(); !strings.Contains(text, "open spool: ") || !strings.Contains(text, "\nhint: look at the owner and mode") {
		t.Errorf("got %q", text)
	}
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

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestLostOutputIsAnError writes to a full disk what each command prints.
func TestLostOutputIsAnError(t *testing.T) {
	a, _, _ := newTestApp(t, "list")
	if code := run(context.Background(), a); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	s, err := store.Open(t.Context(), a.cfg.StorePath())
	if err == nil {
		err = errors.Join(s.UploadTraces(t.Context(), ended(a, 1)), s.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprintf("aa%030x", 1)
	for _, args := range []string{
		"--version", "version", "version --json", "help", "help list", "config", "config --json", "status", "status --json", "doctor", "doctor --json", "verify " + id,
		"flush", "test", "hooks list", "hooks list --json", "list", "list --json", "stats", "stats --by day", "stats --by day --csv", "show", "show --json",
		"export", "export --format otlp", "export --format html", "delete " + id + " --dry-run", "prune --before now --dry-run",
		"import claude", "pause", "resume", "uninstall cline --dry-run", "completion bash",
	} {
		var stderr bytes.Buffer
		c := newApp(strings.Fields(args), strings.NewReader(""), fullDisk{}, &stderr, a.environ)
		c.home, c.goos = a.home, a.goos
		if code := run(context.Background(), c); code != 1 || !strings.Contains(stderr.String(), syscall.ENOSPC.Error()) {
			t.Errorf("%s: exit code %d, %q, want 1 and the reason", args, code, &stderr)
		}
	}
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			each(sub)
		}
		var stderr bytes.Buffer
		c := newApp(append(strings.Fields(cmd.CommandPath())[1:], "--help"), strings.NewReader(""), fullDisk{}, &stderr, a.environ)
		c.home, c.goos = a.home, a.goos
		if code := run(context.Background(), c); code != 1 || !strings.Contains(stderr.String(), syscall.ENOSPC.Error()) {
			t.Errorf("%s --help: exit code %d, %q", cmd.CommandPath(), code, &stderr)
		}
	}
	each(rootCmd(a))
	// A reader such as head that ends early has what it wanted.
	var stderr bytes.Buffer
	c := newApp([]string{"version"}, strings.NewReader(""), writerFunc(func([]byte) (int, error) { return 0, syscall.EPIPE }), &stderr, a.environ)
	if code := run(context.Background(), c); code != 0 || stderr.Len() > 0 {
		t.Errorf("exit code %d, %q for a pipe that is closed", code, &stderr)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

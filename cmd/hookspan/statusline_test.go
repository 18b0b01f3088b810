package main

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

// TestStatusLineWaitsForNothing ends only if neither an input without an end nor a store
// that another process has locked is waited for. A slow machine may have less in the line.
func TestStatusLineWaitsForNothing(t *testing.T) {
	a, _, _ := newTestApp(t, "list")
	if code := run(context.Background(), a); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	endless, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), endless.Close() })
	db, err := sql.Open("sqlite", a.cfg.StorePath())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	for _, tt := range []struct {
		name, lock string
		stdin      io.Reader
		want       string
	}{
		{"an input without an end", "SELECT 1", endless, `^(today \$0\.00)?\n$`},
		{"a store that another process has locked", "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", strings.NewReader(`{"cost":{"total_cost_usd":0.5}}`), `^(task \$0\.50)?\n$`},
	} {
		if _, err := db.ExecContext(t.Context(), tt.lock); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "hookspan", "statusline")
		cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(os.Environ(), a.environ...), tt.stdin, &stdout, &stderr
		if err := cmd.Run(); err != nil || !regexp.MustCompile(tt.want).MatchString(stdout.String()) || stderr.Len() > 0 {
			t.Errorf("%s: %v: %q, said %q, want %q", tt.name, err, &stdout, &stderr, tt.want)
		}
	}
}

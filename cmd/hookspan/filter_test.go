package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// TestProjectThroughALink names a folder by a symbolic link, whose target the agent has
// reported, and by the target's own path.
func TestProjectThroughALink(t *testing.T) {
	a, _, _ := newTestApp(t, "list")
	if code := run(context.Background(), a); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	target, link := filepath.Join(base, "target"), filepath.Join(base, "link")
	if err := errors.Join(os.MkdirAll(filepath.Join(target, "below"), 0o700), os.Symlink(target, link)); err != nil {
		skip.Missing(t, "no symbolic links here: %v", err)
	}
	s, err := store.Open(t.Context(), a.cfg.StorePath())
	if err != nil {
		t.Fatal(err)
	}
	for n, dir := range []string{target, link, filepath.Join(target, "below"), filepath.Join(target, "gone"), target + "2"} {
		task := ended(a, n)
		span := task[0].ScopeSpans[0].Spans[0]
		span.Attributes = append(span.Attributes, otlp.String(otelmap.KeyWorkingDirectory, dir))
		if err := s.UploadTraces(t.Context(), task); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in, project string
		want        int
	}{
		{link, ".", 4}, {link, link, 4}, {target, ".", 3}, {base, "./link", 4}, {base, "./link/below", 1}, {base, "./link/gone", 1}, {base, ".", 5}, {base, "./other", 0},
	} {
		t.Chdir(c.in)
		for _, command := range []string{"list", "stats"} {
			var stdout, stderr bytes.Buffer
			args := []string{command, "--json", "--project", c.project}
			b := newApp(args, strings.NewReader(""), &stdout, &stderr, a.environ)
			b.home, b.goos = a.home, a.goos
			code := run(context.Background(), b)
			got := strings.Count(stdout.String(), `"traceId"`)
			if command == "stats" {
				var all struct{ Totals store.Totals }
				if err := json.Unmarshal(stdout.Bytes(), &all); err != nil {
					t.Fatal(err, stdout.String())
				}
				got = all.Totals.Traces
			}
			if code != 0 || got != c.want {
				t.Errorf("in %s: %s --project %s: exit code %d, %d traces, want %d: %s", c.in, command, c.project, code, got, c.want, &stderr)
			}
		}
	}
}

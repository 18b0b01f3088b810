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
	"time"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/skip"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/otelmap"
)

func TestPeriod(t *testing.T) {
	zone := time.FixedZone("there", 2*60*60)
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, zone)
	at := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2026, month, day, hour, minute, 0, 0, zone)
	}
	for word, want := range map[string][2]time.Time{
		"now":                  {now, now},
		"today":                {at(3, 4, 0, 0), at(3, 5, 0, 0)},
		"yesterday":            {at(3, 3, 0, 0), at(3, 4, 0, 0)},
		"30d":                  {at(2, 2, 12, 0), at(2, 2, 12, 0)},
		"1d":                   {at(3, 3, 12, 0), at(3, 3, 12, 0)},
		"2w":                   {at(2, 18, 12, 0), at(2, 18, 12, 0)},
		"12h":                  {at(3, 4, 0, 0), at(3, 4, 0, 0)},
		"1h30m":                {at(3, 4, 10, 30), at(3, 4, 10, 30)},
		"2026-01-31":           {at(1, 31, 0, 0), at(2, 1, 0, 0)},
		"2026-03-04":           {at(3, 4, 0, 0), at(3, 5, 0, 0)},
		"2026-01-31T15:04":     {at(1, 31, 15, 4), at(1, 31, 15, 4)},
		"2026-01-31 15:04":     {at(1, 31, 15, 4), at(1, 31, 15, 4)},
		"2026-01-31T13:04:00Z": {at(1, 31, 15, 4), at(1, 31, 15, 4)},
	} {
		from, to, err := period(word, now)
		if err != nil || !from.Equal(want[0]) || !to.Equal(want[1]) {
			t.Errorf("%q gives %s to %s, %v, want %s", word, from, to, err, want)
		}
	}
	for _, word := range []string{"", "d", "w", "0d", "-1d", "1.5d", "1dd", "01d", "99999999d", "soon", "-5h", "0s", "2026-02-30", "31.1.2026", "2026"} {
		if from, _, err := period(word, now); err == nil || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "30d") {
			t.Errorf("%q gives %s, %v, want an error that names it and what is allowed", word, from, err)
		}
	}
}

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

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// TestPlanWindows imports a session of Codex's and draws status lines of Claude Code's, both as
// the agents wrote them but for the times, and asks for the windows.
func TestPlanWindows(t *testing.T) {
	a, _, _ := newTestApp(t, "list")
	if code := run(context.Background(), a); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	now := time.Now().UTC()
	began := now.Add(-10 * time.Hour)
	recorded := func(path string, pairs ...string) string {
		b, err := os.ReadFile(filepath.FromSlash(path))
		if err != nil {
			t.Fatal(err)
		}
		return strings.NewReplacer(pairs...).Replace(string(b))
	}
	seconds := func(at time.Time) string { return fmt.Sprint(at.Unix()) }
	rollout := recorded("../../internal/transcript/codex/testdata/limits/codex.jsonl", "2026-11-29T15:23:57", began.Format("2006-01-02T15:04:05"),
		"1795965837", seconds(began), "1795973039", seconds(began.Add(2*time.Hour)), "1796311436", seconds(began.Add(96*time.Hour)))
	session := filepath.Join(a.home, ".codex", "sessions", began.Format("2006"), began.Format("01"), began.Format("02"), "rollout-"+began.Format("2006-01-02T15-04-05")+"-01a227e7-df5f-76d2-878c-dbb3b61c3228.jsonl")
	if err := os.MkdirAll(filepath.Dir(session), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(session, []byte(rollout), 0o600); err != nil {
		t.Fatal(err)
	}
	hookspan := func(stdin string, args ...string) string {
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "hookspan", args...)
		cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(os.Environ(), a.environ...), strings.NewReader(stdin), &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Errorf("%v: %v: %s%s", args, err, &stdout, &stderr)
		}
		return stdout.String()
	}
	hookspan("", "import", "codex")
	hookspan("", "import", "codex") // nothing new

	lines := strings.Split(strings.TrimSpace(recorded("../../internal/traces/view/testdata/statusline/subscription.jsonl",
		"1795972200", seconds(now.Add(90*time.Minute)), "1796223600", seconds(now.Add(75*time.Hour+30*time.Minute)))), "\n")
	if got := hookspan(lines[len(lines)-1], "statusline"); !strings.Contains(got, " · 5h 35 %, 1h29m left · 7d 9 %, 3d03h left\n") {
		t.Errorf("the status line is %q", got)
	}
	// Several agents at once, of which some idle.
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			hookspan(strings.Replace(lines[len(lines)-1], `"used_percentage":35`, fmt.Sprintf(`"used_percentage":%d`, 30+i/2), 1), "statusline")
		})
	}
	all.Wait()
	hookspan(lines[0], "statusline")
	hookspan(recorded("../../internal/traces/view/testdata/statusline/key.jsonl"), "statusline")

	kept := a.said()
	var shares []float64
	for _, l := range kept[hook.HostClaude] {
		if l.Lasts(5 * time.Hour) {
			shares = append(shares, l.Used)
		}
	}
	slices.Sort(shares)
	if want := []float64{30, 31, 32, 33, 34, 35}; !slices.Equal(shares, want) || len(kept[hook.HostClaude]) != len(want)+1 || len(kept[hook.HostCodex]) != 3 {
		t.Errorf("kept are %v of Claude Code's five hours, and %+v", shares, kept)
	}

	var stats struct{ Groups []store.Group }
	if err := json.Unmarshal([]byte(hookspan("", "stats", "--by", "block", "--json", "--agent", "codex")), &stats); err != nil {
		t.Fatal(err)
	}
	if g := stats.Groups; len(g) != 1 || g[0].UsedPercent == nil || *g[0].UsedPercent != 23 {
		t.Errorf("the windows are %+v", g)
	}
	if got := hookspan("", "stats", "--by", "block"); !strings.Contains(got, "USED") || !strings.Contains(got, "23%") {
		t.Errorf("the windows are\n%s", got)
	}
	if got := hookspan("", "stats", "--by", "block", "--csv"); !strings.Contains(got, ",used_percent\n") || !strings.Contains(got, ",23\n") {
		t.Errorf("the windows are\n%s", got)
	}
}

// TestStatusLineWithoutAPlaceForLimits is switched off, or cannot write the file.
func TestStatusLineWithoutAPlaceForLimits(t *testing.T) {
	input := fmt.Sprintf(`{"rate_limits":{"five_hour":{"used_percentage":34,"resets_at":%d}}}`, time.Now().Add(time.Hour+30*time.Second).Unix())
	for name, prepare := range map[string]func(a *app) error{
		"switched off":   func(a *app) error { a.environ = append(a.environ, "HOOKSPAN_DISABLED=true"); return nil },
		"a folder there": func(a *app) error { return os.MkdirAll(a.cfg.LimitsPath(), 0o700) },
	} {
		a, _, _ := newTestApp(t, "list")
		if code := run(context.Background(), a); code != 0 {
			t.Fatalf("exit code %d", code)
		}
		if err := prepare(a); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "hookspan", "statusline")
		cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(os.Environ(), a.environ...), strings.NewReader(input), &stdout, &stderr
		if err := cmd.Run(); err != nil || !strings.Contains(stdout.String(), "5h 34 %, 1h00m left") || stderr.Len() > 0 {
			t.Errorf("%s: %v: %q, said %q", name, err, &stdout, &stderr)
		}
		if info, err := os.Stat(a.cfg.LimitsPath()); err == nil && info.Mode().IsRegular() {
			t.Errorf("%s: there is a file", name)
		}
	}
}

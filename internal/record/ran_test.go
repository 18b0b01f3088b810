package record

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
)

// TestPrograms runs hooks as several programs do, and reads what is noted of them.
func TestPrograms(t *testing.T) {
	state := t.TempDir()
	begin := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	now := begin
	run := func(head hook.Head) {
		now = now.Add(time.Minute)
		p := Process{
			Agent: Agent{
				Facts: hook.AgentOf(hook.HostClaude), Peek: func([]byte, string) hook.Head { return head },
				Guests: []Agent{{Facts: hook.AgentOf(hook.HostCursor), Peek: func([]byte, string) hook.Head { return head }}},
			},
			Stdin: strings.NewReader("{}"), Stdout: io.Discard, Environ: []string{"HOME=" + state, "XDG_STATE_HOME=" + state}, Home: state, GOOS: "linux", Dir: state,
			Now: func() time.Time { return now }, Spawn: func(...string) error { return nil },
		}
		p.Run()
	}
	run(hook.Head{Session: "s", Name: "Stop", Kind: hook.KindRunComplete})
	run(hook.Head{Session: "s", Name: "New\nHook" + strings.Repeat("x", 200)})
	run(hook.Head{Session: "s", Name: "Stop", Kind: hook.KindRunComplete})
	for range 2 {
		run(hook.Head{Session: "d", Name: "Stop", Kind: hook.KindRunComplete, Agent: "droid"})
	}
	for _, version := range []string{"1", "2", "2"} {
		run(hook.Head{Session: "c", Name: "Stop", Kind: hook.KindRunComplete, Agent: "cursor", Version: version})
	}
	type notes = map[string]map[string]int
	cursors := notes{hook.RanFirst: {"2026-11-29T10:06:00Z": 1}, hook.RanFor: {"claude": 1}, hook.RanVersion: {"1": 1, "2": 1}}
	want := []hook.Ran{
		{Program: "claude-hook", Agent: "claude", Last: begin.Add(3 * time.Minute), Notes: notes{hook.RanFirst: {"2026-11-29T10:01:00Z": 1}, hook.RanUnknown: {"New Hook" + strings.Repeat("x", 92): 1}}},
		{Program: "claude-hook", Agent: "cursor", Last: begin.Add(8 * time.Minute), Notes: cursors},
		{Program: "claude-hook", Agent: "droid", Last: begin.Add(5 * time.Minute), Notes: notes{hook.RanFirst: {"2026-11-29T10:04:00Z": 1}, hook.RanFor: {"claude": 1}, hook.RanLeft: {"Stop": 2}}},
	}
	got := Programs(filepath.Join(state, "hookspan"))
	if len(got) == 3 && got[1].Latest[hook.RanVersion] != "2" {
		t.Errorf("%v", got[1].Latest)
	}
	for i := range got {
		got[i].Last, got[i].Latest = got[i].Last.UTC(), nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	path := filepath.Join(state, "hookspan", ranFolder, "claude-hook.droid")
	if err := os.WriteFile(path, []byte(strings.Repeat("left x\n", maxNotes/7+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	run(hook.Head{Session: "d", Name: "Stop", Agent: "droid"})
	if info, err := os.Stat(path); err != nil || info.Size() > maxNotes+7 || !info.ModTime().Equal(now) {
		t.Errorf("a full file: %d bytes of %v, %v", info.Size(), info.ModTime(), err)
	}
}

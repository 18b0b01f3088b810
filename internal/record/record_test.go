package record

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/spool"
)

func TestRecordStoresTheSameAsRun(t *testing.T) {
	c := newCall(t)
	if stored, err := c.Record(); err != nil || !stored {
		t.Fatalf("stored %v, %v", stored, err)
	}
	ran := newCall(t)
	ran.Run()
	want := ran.records()
	want[0].Cwd = c.Dir
	if d := cmp.Diff(want, c.records()); d != "" {
		t.Errorf("-hook +recorded:\n%s", d)
	}
	if c.stdout.Len() > 0 || len(c.spawned) > 0 {
		t.Errorf("answered %q, started %q", &c.stdout, c.spawned)
	}
}

func TestRecordStartsADelivery(t *testing.T) {
	c := newCall(t)
	c.Event, c.Stdin = "TaskComplete", strings.NewReader(doneEvent)
	if stored, err := c.Record(); err != nil || !stored {
		t.Fatalf("stored %v, %v", stored, err)
	}
	want := [][]string{{"flush", "--detached", "--session", "cline/" + spool.SessionKey("cline", "17").Name}}
	if d := cmp.Diff(want, c.spawned); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestRecordReportsWhatItDoesNotStore(t *testing.T) {
	for name, tc := range map[string]struct {
		with func(c *call)
		fail bool
	}{
		"switched off": {func(c *call) { c.setenv("HOOKSPAN_DISABLED", "true") }, false},
		"paused":       {func(c *call) { c.write("state/hookspan/paused", "") }, false},
		"by the project": {func(c *call) {
			c.write("project/.hookspan.env", "HOOKSPAN_DISABLED=true\n")
		}, false},
		"in a private folder": {func(c *call) { c.setenv("HOOKSPAN_DISABLED_PROJECTS", c.path("project")) }, false},
		"sent by another agent": {func(c *call) {
			c.Agent.Peek = func([]byte, string) hook.Head { return hook.Head{Session: "17", Agent: "codex"} }
		}, false},
		"no place for it": {func(c *call) {
			c.write("file", "")
			c.Environ[0] = "XDG_STATE_HOME=" + c.path("file")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t)
			tc.with(c)
			if stored, err := c.Record(); stored || (err != nil) != tc.fail {
				t.Errorf("stored %v, error %v", stored, err)
			}
			if n := len(c.records()); n != 0 {
				t.Errorf("%d events stored", n)
			}
		})
	}
}

func TestRecordCutsLargePayloads(t *testing.T) {
	c := newCall(t)
	c.Stdin = stream(`{"hookName":"PostToolUse","taskId":"17","x":"`, "x", 10<<20, `"}`)
	if stored, err := c.Record(); err != nil || !stored {
		t.Fatalf("stored %v, %v", stored, err)
	}
	if all := c.records(); len(all) != 1 || all[0].Cut == 0 || all[0].Raw || all[0].Session != "17" {
		t.Errorf("%d events stored", len(all))
	}
}

//go:build !windows

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/spool"
)

const stopEvent = `{"session_id":"s1","prompt_id":"p1","cwd":"/w","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"done"}`

// stored is an event as the spool has it.
type stored struct {
	Host, Session, Event string
	Raw                  bool
	Cut                  int64
}

// TestClaudeHookSaysNothing starts the program as Claude Code does. Whatever
// comes, both outputs stay empty, the exit code is 0, and the event is kept.
func TestClaudeHookSaysNothing(t *testing.T) {
	program := filepath.Join(t.TempDir(), "claude-hook")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	large := fmt.Sprintf(`{"session_id":"s1","hook_event_name":"PostToolUse","tool_name":"Bash","tool_response":{"stdout":"%s"},"tool_use_id":"t1"}`,
		strings.Repeat("a line of text\\n", 5<<20/16))
	for name, tc := range map[string]struct {
		payload string
		args    []string
		environ []string
		want    stored
	}{
		"an event":               {stopEvent, []string{"Stop"}, nil, stored{Session: "s1", Event: "Stop"}},
		"no argument":            {stopEvent, nil, nil, stored{Session: "s1", Event: "Stop"}},
		"an event nobody knows":  {`{"session_id":"s1","hook_event_name":"PreDream"}`, []string{"PreDream"}, nil, stored{Session: "s1", Event: "PreDream"}},
		"nothing":                {"", []string{"SessionEnd"}, nil, stored{Event: "SessionEnd", Raw: true}},
		"a torn payload":         {stopEvent[:60], []string{"Stop"}, nil, stored{Event: "Stop", Raw: true}},
		"garbage":                {strings.Repeat("\xff\x00", 1000), []string{"PreToolUse"}, nil, stored{Event: "PreToolUse", Raw: true}},
		"5 MB":                   {large, []string{"PostToolUse"}, nil, stored{Session: "s1", Event: "PostToolUse", Cut: int64(len(large))}},
		"5 MB of garbage":        {strings.Repeat("garbage ", 5<<20/8), []string{"PostToolUse"}, nil, stored{Event: "PostToolUse", Raw: true, Cut: 5 << 20}},
		"a script of the user's": {stopEvent, []string{"Stop"}, []string{"HOOKSPAN_CHAIN=/bin/echo"}, stored{Session: "s1", Event: "Stop"}},
		"wrong settings":         {stopEvent, []string{"Stop"}, []string{"HOOKSPAN_CAPTURE=x", "GOGC=x"}, stored{Session: "s1", Event: "Stop"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			cmd := exec.CommandContext(t.Context(), program, tc.args...)
			cmd.Dir = root
			cmd.Env = append([]string{
				"HOME=" + root, "XDG_STATE_HOME=" + filepath.Join(root, "state"), "XDG_CONFIG_HOME=" + filepath.Join(root, "config"),
			}, tc.environ...)
			cmd.Stdin = strings.NewReader(tc.payload)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil {
				t.Errorf("ends with %v", err)
			}
			if stdout.Len() > 0 || stderr.Len() > 0 {
				t.Errorf("stdout %q, stderr %q; want nothing", &stdout, &stderr)
			}
			tc.want.Host = claude.Host
			if diff := cmp.Diff([]stored{tc.want}, events(t, filepath.Join(root, "state", "hookspan", "spool"))); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

// events are all that the spool in dir holds.
func events(t *testing.T, dir string) []stored {
	t.Helper()
	sp, err := spool.Open(dir, spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sp.Close() }()
	keys, err := sp.Sessions()
	if err != nil {
		t.Fatal(err)
	}
	var all []stored
	for _, k := range keys {
		s, err := sp.Session(k)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Reader(0)
		if err != nil {
			t.Fatal(err)
		}
		for r.Next() {
			rec := r.Record()
			all = append(all, stored{rec.Host, rec.Session, rec.Event, rec.Raw, rec.Cut})
		}
		if err := errors.Join(r.Err(), r.Close(), s.Close()); err != nil || len(r.Damage()) > 0 {
			t.Errorf("read %s: %v, damage %v", k, err, r.Damage())
		}
	}
	return all
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// follow starts hookspan tail, runs hook processes of many sessions at the same time,
// and interrupts it once it has printed as many events: each one once, those of a
// session in their order. follow SESSIONS EVENTS.
func follow(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: follow SESSIONS EVENTS")
	}
	sessions, err := strconv.Atoi(args[0])
	ts.Check(err)
	each, err := strconv.Atoi(args[1])
	ts.Check(err)
	hook, err := copyAlone(ts, "claude-hook")
	ts.Check(err)
	var env []string
	for _, name := range []string{"HOME", "PATH"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	event := func(session, n int) error {
		payload := fmt.Sprintf(`{"session_id":"s%d","hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Bash","tool_use_id":"%d","tool_input":{"command":"true"}}`, session, n)
		cmd := exec.CommandContext(context.Background(), hook) //nolint:gosec // The program is ours.
		cmd.Stdin, cmd.Env = strings.NewReader(payload), env
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			return fmt.Errorf("claude-hook: %w, said %q", err, out)
		}
		return nil
	}
	// Once it prints the last event that is stored, it follows.
	ts.Check(event(0, -1))
	path, err := find(ts.Getenv("PATH"), "hookspan")
	ts.Check(err)
	tail := exec.CommandContext(context.Background(), path, "tail", "--json", "-n", "1") //nolint:gosec // The program is ours.
	tail.Env = env
	out, err := tail.StdoutPipe()
	ts.Check(err)
	ts.Check(tail.Start())
	defer func() { _ = tail.Process.Kill() }()
	lines := bufio.NewScanner(out)
	next := func() (session, n int) {
		if !lines.Scan() {
			ts.Fatalf("hookspan tail ended: %v", lines.Err())
		}
		var l struct{ Session, CallID string }
		ts.Check(json.Unmarshal(lines.Bytes(), &l))
		session, err := strconv.Atoi(strings.TrimPrefix(l.Session, "s"))
		ts.Check(err)
		n, err = strconv.Atoi(l.CallID)
		ts.Check(err)
		return session, n
	}
	next()
	var wg sync.WaitGroup
	errs := make([]error, sessions)
	for s := range sessions {
		wg.Go(func() {
			for n := 0; n < each && errs[s] == nil; n++ {
				errs[s] = event(s, n)
			}
		})
	}
	want := make([]int, sessions)
	for range sessions * each {
		s, n := next()
		if want[s] != n {
			ts.Fatalf("session %d: event %d, want %d", s, n, want[s])
		}
		want[s]++
	}
	wg.Wait()
	ts.Check(errors.Join(errs...))
	ts.Check(tail.Process.Signal(os.Interrupt))
	for lines.Scan() {
		ts.Fatalf("one line too many: %s", lines.Bytes())
	}
	if err := tail.Wait(); err != nil {
		ts.Fatalf("interrupted: %v, want exit code 0", err)
	}
}

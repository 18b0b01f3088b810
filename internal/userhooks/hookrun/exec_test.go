package hookrun

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

const megabyte = 1 << 20

func TestCommand(t *testing.T) {
	exec := func(command string, args ...string) hookfile.Handler {
		h := shell(command)
		h.Args = append([]string{}, args...)
		return h
	}
	bash := func(line string) hookfile.Handler {
		h := shell(line)
		h.Shell = "bash"
		return h
	}
	big := strings.Repeat("x", 5*megabyte)
	for name, tc := range map[string]struct {
		hook    hookfile.Handler
		payload string
		dir     string
		exit    int
		stdout  string
		size    int // of stdout, where it is long
		failed  string
		note    string
		verdict verdict.Decision
	}{
		"says nothing":               {hook: shell("exit 0")},
		"prints":                     {hook: shell("echo hi"), stdout: "hi\n"},
		"gets the payload":           {hook: shell("cat"), payload: `{"a":1}`, stdout: `{"a":1}`},
		"gets a long payload":        {hook: shell("wc -c | tr -d ' '"), payload: big, stdout: strconv.Itoa(len(big)) + "\n"},
		"reads nothing of it":        {hook: shell("echo hi"), payload: big, stdout: "hi\n"},
		"closes its input":           {hook: shell("exec <&-; echo hi"), payload: big, stdout: "hi\n"},
		"reads the beginning alone":  {hook: shell("head -c 3"), payload: big, stdout: "xxx"},
		"gives back what it gets":    {hook: shell("cat"), payload: big[:megabyte/2], size: megabyte / 2},
		"blocks":                     {hook: shell("echo no >&2; exit 2"), exit: 2, verdict: verdict.Deny},
		"fails":                      {hook: shell("exit 7"), exit: 7},
		"decides":                    {hook: shell(`echo '{"decision":"block","reason":"no"}'`), stdout: "{\"decision\":\"block\",\"reason\":\"no\"}\n", verdict: verdict.Deny},
		"ends by a signal":           {hook: shell("echo why >&2; kill -9 $$"), failed: "signal: killed"},
		"prints without end":         {hook: shell("head -c 67108864 /dev/zero"), size: megabyte, note: "stdout is cut: 66060288 bytes"},
		"decides at length":          {hook: shell(`printf '{"decision":"block","reason":"'; head -c 2000000 /dev/zero | tr '\0' x; echo '"}'`), size: megabyte, note: "stdout is cut", verdict: verdict.Deny},
		"decides after a long blank": {hook: shell(`head -c 2000000 /dev/zero | tr '\0' ' '; echo '{"decision":"block"}'`), size: megabyte, note: "stdout is cut", verdict: verdict.Deny},
		"allows, and a long blank":   {hook: shell(`echo '{"decision":"approve"}'; head -c 2000000 /dev/zero | tr '\0' ' '`), size: megabyte, note: "stdout is cut", verdict: verdict.Allow},
		"complains without end":      {hook: shell("head -c 50000000 /dev/zero >&2; echo hi"), stdout: "hi\n"},
		"has a program and words":    {hook: exec("printf", "%s|", "a b", "$HOME", ""), stdout: "a b|$HOME||"},
		"has a program alone":        {hook: exec("true")},
		"is looked for in Dir":       {hook: exec("./here"), stdout: "here\n"},
		"has no program":             {hook: exec("no-such-program-here"), failed: `program "no-such-program-here" is not on PATH`},
		"has no file":                {hook: exec("./none"), failed: "no such file"},
		"is not executable":          {hook: exec("./plain"), failed: "try chmod +x"},
		"is a folder":                {hook: exec("./folder"), failed: "try chmod +x"},
		"is no program":              {hook: exec("./text"), failed: "exec format error"},
		"is empty":                   {hook: exec(""), failed: "the command is empty"},
		"has no such command":        {hook: shell("no-such-program-here 2>/dev/null"), exit: 127},
		"is for bash":                {hook: bash(`[[ a == a ]] && echo "$0"`), stdout: "bash\n"},
		"is for no known shell":      {hook: hookfile.Handler{Event: preToolUse, Type: hookfile.TypeCommand, Command: "x", Shell: "fish"}, failed: `shell "fish" is not known`},
		"runs where it should":       {hook: shell(`test "$(pwd -P)" = "$(cd "$PWD" && pwd -P)" && basename "$PWD"`), dir: "folder", stdout: "folder\n"},
		"has lost its folder":        {hook: shell("true"), dir: "none", failed: "is gone"},
		"has no terminal":            {hook: shell("(: </dev/tty) 2>/dev/null && echo a terminal; exit 0")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for file, mode := range map[string]os.FileMode{"here": 0o700, "plain": 0o600} {
				if err := os.WriteFile(w.path(file), []byte("#!/bin/sh\necho here\n"), mode); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(w.path("text"), []byte("\x00no program"), 0o700); err != nil { //nolint:gosec // It has to look like a program.
				t.Fatal(err)
			}
			if err := os.Mkdir(w.path("folder"), 0o700); err != nil {
				t.Fatal(err)
			}
			w.Dir = filepath.Join(w.dir, tc.dir)
			run := w.one(t.Context(), t, tc.hook, tc.payload)
			w.gone(t)
			o := run.Output
			if tc.failed != "" {
				if !o.Failed || !strings.Contains(o.Stderr, tc.failed) || !strings.Contains(run.Err, tc.failed) || len(run.Verdict.Errors) == 0 {
					t.Errorf("failed %t: %q, %q, %q; want %q", o.Failed, o.Stderr, run.Err, run.Verdict.Errors, tc.failed)
				}
				return
			}
			if o.Failed || o.TimedOut || o.Exit != tc.exit {
				t.Errorf("exit %d, failed %t, timed out %t: %s", o.Exit, o.Failed, o.TimedOut, o.Stderr)
			}
			if tc.size != 0 && len(o.Stdout) != tc.size {
				t.Errorf("%d bytes of stdout, want %d", len(o.Stdout), tc.size)
			}
			if tc.size == 0 && o.Stdout != tc.stdout {
				t.Errorf("stdout %q, want %q", o.Stdout, tc.stdout)
			}
			if len(o.Stderr) > maxOutput || !strings.HasPrefix(run.Err, tc.note) || (tc.note == "") != (run.Err == "") {
				t.Errorf("%d bytes of stderr, %q; want %q", len(o.Stderr), run.Err, tc.note)
			}
			if run.Verdict.Decision != tc.verdict {
				t.Errorf("verdict %q, want %q", run.Verdict.Decision, tc.verdict)
			}
			if run.Started.IsZero() || run.Duration <= 0 {
				t.Errorf("started %v, took %v", run.Started, run.Duration)
			}
		})
	}
}

// stubborn are hooks that are hard to stop. Each reports that it has started
// by a line on the fifo "ready".
var stubborn = map[string]struct {
	line string
	// linux reports that the system must know the descendants of a process.
	linux bool
}{
	"does what it is told":          {line: `echo > ready; sleep 1000; :`},
	"ignores the polite signal":     {line: `trap '' TERM INT HUP; echo > ready; while :; do sleep 1000; done`},
	"restarts what is ended":        {line: `trap '' TERM; (trap '' TERM; while :; do sleep 1000; done) & echo > ready; while :; do sleep 1000; done`},
	"has a silent child":            {line: `sleep 1000 & echo > ready; wait`},
	"forks twice":                   {line: `(sleep 1000 & (trap '' TERM; echo > ready; sleep 1000; :) & ); sleep 1000; :`},
	"forks twice into a session":    {line: `(setsid sh -c 'trap "" TERM; echo > ready; while :; do sleep 1000; done' >/dev/null 2>&1 & ); sleep 1000; :`, linux: true},
	"drops its environment as well": {line: `(setsid env -i PATH="$PATH" sh -c ': '$TOKEN'; trap "" TERM; echo > ready; while :; do sleep 1000; done' >/dev/null 2>&1 & ); sleep 1000; :`, linux: true},
	"its child leaves its parents":  {line: `(env -i PATH="$PATH" setsid sh -c ': '$TOKEN'; (setsid sh -c ": '$TOKEN'; echo > ready; sleep 1000; :" &) ' & ) ; sleep 1000; :`, linux: true},
	"prints without end":            {line: `echo > ready; yes`},
	"prints and ignores":            {line: `trap '' TERM; echo > ready; while :; do echo x; done`},
	"never reads":                   {line: `echo > ready; exec sleep 1000`},
	"stops itself":                  {line: `echo > ready; kill -STOP $$; :`},
	"ended, and its child prints":   {line: `(echo > ready; while :; do echo x; done) & exit 0`},
	"ended, and its heir prints":    {line: `(setsid sh -c 'trap "" TERM; echo > ready; while :; do echo x; done' &); exit 0`, linux: true},
}

func TestStoppedHookLeavesNoProcess(t *testing.T) {
	for name, tc := range stubborn {
		t.Run(name, func(t *testing.T) {
			if tc.linux && runtime.GOOS != "linux" {
				skip.Missing(t, "only Linux finds orphans")
			}
			w := newWorld(t)
			ready := w.fifo(t, "ready")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			done := make(chan Run, 1)
			go func() { done <- w.one(ctx, t, shell(tc.line), strings.Repeat("x", 5*megabyte)) }()
			await(t, ready, 1)
			began := time.Now()
			stop()
			run := <-done
			t.Logf("gone %v after it was stopped", time.Since(began).Round(time.Millisecond))
			w.gone(t)
			if !run.Output.Failed && run.Err == "" {
				t.Errorf("%+v: want it noted that it was stopped", run.Output)
			}
		})
	}
}

func TestTimeLimit(t *testing.T) {
	w := newWorld(t)
	for name, tc := range map[string]struct {
		limit, fallback, budget time.Duration
		// all reports that it is the limit of all hooks together.
		all bool
	}{
		"of the hook":     {limit: 20 * time.Millisecond, fallback: time.Hour, budget: time.Hour},
		"of each hook":    {fallback: 20 * time.Millisecond},
		"of the call":     {limit: time.Hour, budget: 20 * time.Millisecond, all: true},
		"is over already": {budget: -1, all: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := shell("echo early; exec sleep 1000")
			h.Timeout = tc.limit
			for policy, denied := range map[OnError]bool{"": tc.all, OnErrorLimits: tc.all, OnErrorAllow: false, OnErrorDeny: true} {
				w.DefaultTimeout, w.Budget, w.OnError = tc.fallback, tc.budget, policy
				run := w.one(t.Context(), t, h, "{}")
				w.gone(t)
				if !run.Output.TimedOut || len(run.Verdict.Errors) == 0 {
					t.Errorf("on error %q: %+v, %+v; want it timed out", policy, run.Output, run.Verdict)
				}
				if (run.Verdict.Decision == verdict.Deny) != denied {
					t.Errorf("on error %q: %+v; want denied %t", policy, run.Verdict, denied)
				}
			}
			w.OnError, h.BlockOnFailure, h.Command = OnErrorAllow, true, "trap '' TERM; while :; do sleep 1000; done"
			if run := w.one(t.Context(), t, h, "{}"); run.Verdict.Decision != verdict.Deny {
				t.Errorf("%+v; want it denied", run.Verdict)
			}
		})
	}
}

func TestHookThatEndedBeforeLateLimitIsInTime(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Minute))
	defer cancel()
	done := make(chan struct{})
	close(done)
	for range 100 {
		if p := new(process); !p.inTime(ctx, done) || p.late {
			t.Fatal("the limit counts, want what was done")
		}
	}
	if new(process).inTime(ctx, make(chan struct{})) {
		t.Error("what is not done is in time")
	}
	if got := lateness(ctx); got != grace {
		t.Errorf("a minute late: %v, want %v", got, grace)
	}
	if got := lateness(t.Context()); got != 0 {
		t.Errorf("late without a limit: %v", got)
	}
}

// lateLimit is an expired time limit. Its first Err is nil, so that a hook starts.
type lateLimit struct {
	context.Context
	started atomic.Bool
}

func (c *lateLimit) Err() error {
	if c.started.CompareAndSwap(false, true) {
		return nil
	}
	return c.Context.Err()
}

func TestCallIsDeniedWhereTheLimitOfItsHookWasNoticedLate(t *testing.T) {
	late, end := context.WithDeadline(t.Context(), time.Now().Add(-time.Minute))
	defer end()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		command string
		ctx     context.Context
		denied  bool
	}{
		"the hook runs":                   {"exec tail -f /dev/null", late, true},
		"the hook has left a child":       {"tail -f /dev/null & exit 0", late, true},
		"the hook is cancelled, no limit": {"exec tail -f /dev/null", cancelled, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := shell(tt.command)
			b := newWorld(t).newBatch([]hookfile.Handler{h})
			run := &Run{Handler: h, event: toolCall("")}
			o := b.command(&lateLimit{Context: tt.ctx}, run)
			if why := b.unguarded(run, o, false); (why != "") != tt.denied {
				t.Errorf("denied because of %q, want denied %t", why, tt.denied)
			}
		})
	}
}

// TestProcessesLeftByEndedHook has hooks that end in time and leave a process. It stays
// if it holds none of their output.
func TestProcessesLeftByEndedHook(t *testing.T) {
	const free = " </dev/null >/dev/null 2>&1 & echo $!"
	for name, tc := range map[string]struct {
		line  string
		stays bool
		linux bool
	}{
		"holds nothing":                {line: "sleep 1000" + free, stays: true},
		"holds nothing, in a session":  {line: "setsid sleep 1000" + free, stays: true, linux: true},
		"holds stdin":                  {line: "exec 3<&0; sleep 1000 <&3 >/dev/null 2>&1 & echo $!", stays: true},
		"holds stdout":                 {line: "sleep 1000 2>/dev/null & echo $!"},
		"holds stderr":                 {line: "sleep 1000 >/dev/null & echo $!"},
		"holds all, in a session":      {line: "setsid sleep 1000 & echo $!", linux: true},
		"holds stdout and ignores":     {line: `(trap "" TERM; while :; do sleep 1000; done) & echo $!`},
		"holds stdout and complains":   {line: `(trap 'echo no; exit 0' TERM; while :; do sleep 1; done) & echo $!`},
		"one holds it and one nothing": {line: "sleep 1001 & sleep 1000" + free, stays: true, linux: true},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.linux && runtime.GOOS != "linux" {
				skip.Missing(t, "only Linux finds the processes that hold a pipe")
			}
			w := newWorld(t)
			run := w.one(t.Context(), t, shell(tc.line), strings.Repeat("x", megabyte))
			if run.Output.Failed || run.Output.TimedOut || run.Output.Exit != 0 || strings.Count(run.Output.Stdout, "\n") != 1 {
				t.Errorf("%+v", run.Output)
			}
			if alone := strings.Contains(name, "holds nothing") || strings.Contains(name, "stdin"); alone != (run.Err == "") {
				t.Errorf("noted: %q", run.Err)
			}
			if !tc.stays {
				w.gone(t)
				return
			}
			// During exec its environment and arguments are empty.
			left := w.left(t)
			for range 200 {
				if len(left) > 0 {
					break
				}
				time.Sleep(time.Millisecond)
				left = w.left(t)
			}
			if len(left) != 1 || strconv.Itoa(left[0].pid)+"\n" != run.Output.Stdout {
				t.Errorf("left: %v, want %s", left, run.Output.Stdout)
			}
		})
	}
}

// TestLateOutputCounts has a child that prints when its hook has ended.
func TestLateOutputCounts(t *testing.T) {
	w := newWorld(t)
	run := w.one(t.Context(), t, shell(`p=$$; (while kill -0 $p 2>/dev/null; do :; done; echo late) & exit 0`), "")
	if run.Output.Stdout != "late\n" || run.Output.Exit != 0 {
		t.Errorf("%+v, want what came late", run.Output)
	}
	w.gone(t)
}

func TestStoppingOneHookKeepsOthers(t *testing.T) {
	w := newWorld(t)
	stopped, other := w.fifo(t, "stopped"), w.fifo(t, "other")
	slow := shell(`(setsid sh -c 'echo $$ > stopped; sleep 1000; :' &); sleep 1000; :`)
	slow.Timeout = 300 * time.Millisecond
	w.fifo(t, "done")
	// Its orphan has no sign: neither mark nor session nor parents.
	fine := shell(`(setsid env -i PATH="$PATH" sh -c 'read x < other; echo unharmed; echo > done' &); read y < done; echo fine`)
	go func() {
		var pid int
		if line := await(t, stopped, 1); line != "" {
			pid, _ = strconv.Atoi(strings.TrimSpace(line))
		}
		w.outlives(t, pid)
		_, _ = other.WriteString("\n")
	}()
	res := w.Run(t.Context(), []hookfile.Handler{slow, fine}, []Event{toolCall("{}")})
	if !res.Runs[0].Output.TimedOut || res.Runs[1].Output.Stdout != "unharmed\nfine\n" {
		t.Errorf("%+v\n%+v", res.Runs[0].Output, res.Runs[1].Output)
	}
	w.gone(t)
}

// TestHooksEndWithRunner ends the program that runs the hooks.
func TestHooksEndWithRunner(t *testing.T) {
	const line = `(setsid sh -c 'trap "" TERM; echo child > ready; sleep 1000; :' &); echo $$ > ready; trap '' TERM; while :; do sleep 1000; done`
	start := func(t *testing.T, line string) (world, *exec.Cmd, int) {
		w := newWorld(t)
		ready := w.fifo(t, "ready")
		cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // This program.
		cmd.Dir, cmd.Env = w.dir, append(w.Env, runVariable+"="+line)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for text := range strings.FieldsSeq(await(t, ready, 2)) {
			if pid, err := strconv.Atoi(text); err == nil {
				return w, cmd, pid
			}
		}
		t.Fatal("the hook did not say who it is")
		return world{}, nil, 0
	}
	if runtime.GOOS != "linux" {
		skip.Missing(t, "only Linux finds orphans")
	}
	t.Run("politely", func(t *testing.T) {
		w, cmd, _ := start(t, line)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: want it to end by itself", err)
		}
		for _, p := range w.left(t) {
			t.Errorf("left: %v", p)
		}
	})
	t.Run("by force", func(t *testing.T) {
		w, cmd, pid := start(t, line)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		// The processes that it has started stay: no process is left to end them.
		if w.outlives(t, pid) {
			t.Error("the hook outlives the program that waits for it")
		}
	})
}

func TestAsyncIsNotWaitedFor(t *testing.T) {
	for name, rewake := range map[string]bool{"async": false, "asyncRewake": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			out, hold := w.fifo(t, "out"), w.fifo(t, "hold")
			h := shell(`read x < hold; cat > out; echo '{"decision":"block"}'; exit 2`)
			h.Async, h.AsyncRewake = !rewake, rewake
			run := w.one(t.Context(), t, h, "payload\n")
			if !run.Async || run.Err != "" || run.Verdict.Decision != verdict.NoDecision {
				t.Errorf("%+v", run)
			}
			// It still runs after Run has returned.
			if _, err := hold.WriteString("\n"); err != nil {
				t.Fatal(err)
			}
			if got := await(t, out, 1); got != "payload\n" {
				t.Errorf("got %q on its input, want the payload", got)
			}
			for _, name := range []string{"no-such-program-here", "./text"} {
				h.Command, h.Args = name, []string{}
				if err := os.WriteFile(w.path("text"), []byte("\x00"), 0o700); err != nil { //nolint:gosec // It has to look like a program.
					t.Fatal(err)
				}
				if run := w.one(t.Context(), t, h, ""); run.Err == "" || len(run.Verdict.Errors) == 0 {
					t.Errorf("%s: no error, want one", name)
				}
			}
		})
	}
}

func BenchmarkHook(b *testing.B) {
	needsUnix(b)
	hooks := func(n int) []hookfile.Handler {
		var out []hookfile.Handler
		for i := range n {
			out = append(out, shell("true "+strconv.Itoa(i)))
		}
		return out
	}
	for _, n := range []int{1, 8} {
		b.Run("directly/"+strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				var wg sync.WaitGroup
				for i := range n {
					wg.Go(func() {
						if err := exec.CommandContext(b.Context(), "/bin/sh", "-c", "true "+strconv.Itoa(i)).Run(); err != nil {
							b.Error(err)
						}
					})
				}
				wg.Wait()
			}
		})
	}
	for _, n := range []int{1, 8} {
		b.Run("hooks/"+strconv.Itoa(n), func(b *testing.B) {
			r := &Runner{GOOS: runtime.GOOS, Env: os.Environ(), Dir: b.TempDir()}
			for b.Loop() {
				res := r.Run(b.Context(), hooks(n), []Event{toolCall("{}")})
				if len(res.Runs) != n || res.Runs[0].Err != "" {
					b.Fatalf("%+v", res.Runs)
				}
			}
		})
	}
}

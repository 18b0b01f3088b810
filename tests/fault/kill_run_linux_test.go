package fault_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/built"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// killRunRows kill whole runs and parts of them.
var killRunRows = []proof.Row{{
	Name:  "SIGKILL of a hookspan run, of a hook, of a delivery, of all of them, at a random moment",
	Rule:  "the next run on the same disk delivers once what was answered for; from a disk that is gone, what a run has said is delivered has arrived",
	Short: 16, Long: 1000,
	Run: killRuns,
}}

// job is what a hookspan run of the test runs: an agent that calls its hooks and notes which have answered.
const job = `for e in UserPromptSubmit PreToolUse PostToolUse Stop; do
echo '{"session_id":"'$0'","cwd":"/w","hook_event_name":"'$e'","prompt":"do it","prompt_id":"p","tool_name":"Read","tool_use_id":"t1","tool_input":{}}' | "$1" $e && echo $e >>answered-$0
done`

// victims kill at a moment of the part of a run in which they live, and report whether there was
// something to kill: pid leads the group of the run, its command and the hooks.
var victims = []struct {
	name string
	part float64
	kill func(w *lab.World, pid int) bool
}{
	{"all", 1, func(w *lab.World, pid int) bool {
		return syscall.Kill(-pid, syscall.SIGKILL) == nil && lab.EndDeliveries(w.Home) == nil
	}},
	{"run", 1, func(_ *lab.World, pid int) bool { return syscall.Kill(pid, syscall.SIGKILL) == nil }},
	{"hook", 0.1, func(_ *lab.World, pid int) bool { return lab.Kill(lab.Program(pid, "claude-hook")) }},
	{"delivery", 1, func(w *lab.World, _ int) bool { return lab.Kill(lab.Delivery(w.Home)) }},
}

func killRuns(t *testing.T, r *proof.Result) {
	w := lab.New(t, "HOOKSPAN_EXPORTERS=store,otlp")
	rnd := rand.New(rand.NewPCG(57, 1)) //nolint:gosec // No secret hangs on it.
	times := &moments{rnd: rnd, mean: float64(300 * time.Millisecond)}
	killed, said := make(map[string]int), 0
	for i := range r.N {
		session, victim := fmt.Sprintf("run-%d", i), victims[rnd.IntN(len(victims))]
		cmd := w.Program("hookspan", "run", "--wait", "1m", "--", "sh", "-c", job, session, built.Program(lab.Programs, "claude-hook"))
		var errs bytes.Buffer
		cmd.Stderr, cmd.SysProcAttr = &errs, &syscall.SysProcAttr{Setpgid: true}
		moment, began := time.Duration(victim.part*float64(times.draw())), time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended, hit := make(chan struct{}), make(chan bool)
		go func() {
			timer := time.NewTimer(moment)
			defer timer.Stop()
			select {
			case <-ended:
				hit <- false
				return
			case <-timer.C:
			}
			for { // A hook or a delivery may begin only now.
				select {
				case <-ended:
					hit <- false
					return
				default:
				}
				if victim.kill(w, cmd.Process.Pid) {
					hit <- true
					return
				}
			}
		}()
		_ = cmd.Wait()
		close(ended)
		if <-hit {
			killed[victim.name]++
		} else {
			times.took(time.Since(began))
		}
		// The command of a killed run ends by itself.
		if err := errors.Join(lab.AwaitGroup(cmd.Process.Pid), lab.EndDeliveries(w.Home)); err != nil {
			t.Fatal(err)
		}
		r.Trial(1)
		delivered := strings.Contains(errs.String(), "delivered to otlp") && !strings.Contains(errs.String(), "not ")
		if i%2 == 0 {
			next := w.Program("hookspan", "run", "--wait", "1m", "--", "true")
			if out, err := next.CombinedOutput(); err != nil || strings.Contains(string(out), "not ") && !strings.Contains(string(out), "no task") {
				r.Break("the next run: %v, %s", err, out)
			}
			if marks, err := os.ReadDir(filepath.Join(w.State(), "runs")); err != nil || len(marks) > 0 {
				r.Break("marks of runs stay: %v, %v", marks, err)
			}
			delivered = true
		}
		if delivered {
			said++
			checkArrived(r, w, session)
		}
		if i%2 == 1 {
			if err := os.RemoveAll(w.State()); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.Note("killed %v; %d of %d said or were made to deliver", killed, said, r.N)
}

// checkArrived compares what has arrived of a session with what its hooks had answered for.
func checkArrived(r *proof.Result, w *lab.World, session string) {
	text, _ := os.ReadFile(filepath.Join(w.Work, "answered-"+session)) //nolint:gosec // The test's own.
	answered := strings.Fields(string(text))
	var got []string
	for _, s := range w.OTLP.Spans() {
		if otlp.Text(s.Proto.GetAttributes(), otelmap.KeyConversationID) == session {
			got = append(got, strings.Fields(s.Name)[0])
			if s.Count > 1 {
				r.Note("%s of %s came %d times", s.Name, session, s.Count)
			}
		}
	}
	slices.Sort(got)
	want := []string{}
	if slices.Contains(answered, "PreToolUse") {
		want = append(want, otelmap.OpExecuteTool)
	}
	if slices.Contains(answered, "UserPromptSubmit") {
		want = append(want, otelmap.OpInvokeAgent)
	}
	for _, op := range slices.Compact(slices.Clone(got)) {
		if n := len(slices.DeleteFunc(slices.Clone(got), func(o string) bool { return o != op })); n > 1 {
			r.Break("%s: %d spans %s, want one", session, n, op)
		}
	}
	for _, op := range want {
		if !slices.Contains(got, op) {
			r.Break("%s: %q were answered for, %q have arrived", session, answered, got)
		}
	}
}

package fault_test

import (
	"bytes"
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

// killRunRows kill whole runs.
var killRunRows = []proof.Row{{
	Name:  "SIGKILL of all processes of a hookspan run at a random moment",
	Rule:  "the next run on the same disk delivers once what was answered for; from a disk that is gone, what a run has said is delivered has arrived",
	Short: 12, Long: 1000,
	Run: killRuns,
}}

// job is what a hookspan run of the test runs: an agent that calls its hooks and notes which have answered.
const job = `for e in UserPromptSubmit PreToolUse PostToolUse Stop; do
echo '{"session_id":"'$0'","cwd":"/w","hook_event_name":"'$e'","prompt":"do it","prompt_id":"p","tool_name":"Read","tool_use_id":"t1","tool_input":{}}' | "$1" $e && echo $e >>answered-$0
done`

func killRuns(t *testing.T, r *proof.Result) {
	w := lab.New(t, "HOOKSPAN_EXPORTERS=store,otlp")
	times := &moments{rnd: rand.New(rand.NewPCG(57, 1)), mean: float64(300 * time.Millisecond)} //nolint:gosec // No secret hangs on it.
	killed, said := 0, 0
	for i := range r.N {
		session := fmt.Sprintf("run-%d", i)
		cmd := w.Program("hookspan", "run", "--wait", "1m", "--", "sh", "-c", job, session, built.Program(lab.Programs, "claude-hook"))
		var errs bytes.Buffer
		cmd.Stderr, cmd.SysProcAttr = &errs, &syscall.SysProcAttr{Setpgid: true}
		moment, began := times.draw(), time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(moment, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		_ = cmd.Wait()
		timer.Stop()
		if cmd.ProcessState.ExitCode() < 0 {
			killed++
		} else {
			times.took(time.Since(began))
		}
		if err := lab.EndDeliveries(w.Home); err != nil {
			t.Fatal(err)
		}
		r.Trial(1)
		delivered := strings.Contains(errs.String(), "delivered to otlp") && !strings.Contains(errs.String(), "not ")
		if i%2 == 0 {
			next := w.Program("hookspan", "run", "--wait", "1m", "--", "true")
			if out, err := next.CombinedOutput(); err != nil || strings.Contains(string(out), "not ") && !strings.Contains(string(out), "no task") {
				r.Break("the next run: %v, %s", err, out)
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
	r.Note("%d runs were killed, %d ended before their moment came; %d said or were made to deliver", killed, r.N-killed, said)
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

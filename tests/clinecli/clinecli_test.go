package clinecli_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/skip"
	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/internal/built"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

func TestMain(m *testing.M) {
	if code, inner := clinecli.Inner(os.Stdin, os.Stdout, os.Stderr); inner {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// newHarness returns a harness for the test and its subtests.
func newHarness(t *testing.T) *clinecli.Harness {
	t.Helper()
	if testing.Short() {
		skip.Elsewhere(t, "drives the real Cline programs; left out by -short")
	}
	cache, err := rig.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	return clinecli.NewHarness(cache, t.TempDir())
}

// do executes the run, or skips the test where this machine cannot. CLI 2 on a
// loaded machine sometimes resumes a task and then does nothing at all until it
// is killed: such a run says nothing about hookspan, and is done again, twice at most.
func do(t *testing.T, h *clinecli.Harness, run *clinecli.Run) *clinecli.Result {
	t.Helper()
	again := *run
	again.Env = maps.Clone(run.Env)
	res, err := h.Do(t.Context(), filepath.Join(t.ArtifactDir(), "1"), run)
	rig.Check(t, "Cline", err)
	for _, dir := range []string{"2", "3"} {
		i := stalled(t, run, res)
		if i < 0 {
			break
		}
		t.Logf("step %d: Cline neither called a hook nor asked the model for %s; the run is done once more", i, res.Steps[i].Took)
		retry := again
		retry.Env = maps.Clone(again.Env)
		res, err = h.Do(t.Context(), filepath.Join(t.ArtifactDir(), dir), &retry)
		rig.Check(t, "Cline", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			logResult(t, res)
		}
	})
	return res
}

// stalled is the first step in which Cline ran out of time without a sign of
// life, or -1. Where no hook is recorded nobody can tell.
func stalled(t *testing.T, run *clinecli.Run, res *clinecli.Result) int {
	t.Helper()
	recs, err := clinecli.Recorded(res.Arena)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for i, s := range res.Steps {
		cline := len(recs) > 0 && run.Steps[i].Program == nil && run.Steps[i].WaitTraces == 0
		alive := s.Requests > asked || slices.ContainsFunc(recs, func(r rig.Recorded) bool {
			// The hooks at the end of the step before may be recorded late.
			return r.Name != complete && r.Name != cancel && r.Name != "Notification" && r.At.After(s.Started)
		})
		if cline && s.TimedOut && !alive {
			return i
		}
		asked = s.Requests
	}
	return -1
}

// logResult shows what happened, for the reader of a failed test.
func logResult(t *testing.T, res *clinecli.Result) {
	t.Helper()
	for _, r := range res.Requests {
		t.Logf("request %d: status %d, complete %v, usage %+v", r.N, r.Status, r.Complete, r.Usage)
	}
	recs, err := clinecli.Recorded(res.Arena)
	if err != nil {
		t.Log(err)
	}
	res.Report(t, recs)
}

// canonical gives the names of the recorded hooks with what Cline leaves to
// chance taken out: CLI 2 with -y fires TaskComplete and TaskCancel at the same
// time in either order, fires TaskCancel once or twice, and may be gone before
// a Notification; CLI 3 may be gone before SessionShutdown.
func canonical(names []string) []string {
	var out []string
	for _, n := range names {
		last := len(out) - 1
		switch {
		case n == "Notification" || n == "SessionShutdown":
		case n == cancel && last >= 0 && out[last] == cancel:
		case n == complete && last >= 0 && out[last] == cancel:
			out = append(out[:last], complete, cancel)
		default:
			out = append(out, n)
		}
	}
	return out
}

func TestCanonicalOrder(t *testing.T) {
	t.Parallel()
	want := []string{start, cancel, resume, complete, cancel}
	for _, in := range [][]string{
		{start, cancel, cancel, "Notification", resume, cancel, complete, "Notification"},
		{start, cancel, resume, complete, cancel, cancel},
		{start, cancel, "SessionShutdown", resume, complete, "Notification", cancel},
	} {
		if diff := cmp.Diff(want, canonical(in)); diff != "" {
			t.Errorf("canonical(%q) (-want +got):\n%s", in, diff)
		}
	}
}

// TestScenarios puts both programs through every scenario with hookspan
// installed as a user installs it, and compares what Cline's own files, the
// recorder beside hookspan, the model, the receivers and hookspan itself say.
func TestScenarios(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	bin := t.TempDir()
	if err := built.Put(t.Context(), bin, "cmd/hookspan", "cmd/cline-hook"); err != nil {
		t.Fatal(err)
	}
	for name, sc := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hookspan := func(args ...string) rig.Step {
				return rig.Step{Program: []string{filepath.Join(bin, "hookspan")}, Args: args}
			}
			// What the hooks start by themselves must deliver with no help, but for a
			// run without an end, which needs a later look.
			deliver := rig.Step{WaitTraces: len(sc.traces), Timeout: 30 * time.Second}
			if sc.endless {
				deliver = sh("for i in $(seq 100); do " + bin + "/hookspan flush --wait && " + bin + "/hookspan list --json | grep -q traceId && exit; sleep 0.1; done; exit 1")
			}
			steps := slices.Concat(sc.steps, []rig.Step{
				deliver, hookspan("flush", "--wait"), hookspan("list", "--json"), hookspan("show", "--json"), hookspan("doctor"),
			})
			env := maps.Clone(sc.env)
			if sc.hub {
				env = map[string]string{"CLINE_SESSION_BACKEND_MODE": ""}
			}
			res := do(t, h, &clinecli.Run{
				CLI: sc.cli, Script: sc.script, Env: env, Steps: steps,
				Setup: func(a *rig.Arena) error {
					return clinecli.Hookspan{Bin: bin, Settings: sc.settings, Record: !sc.bare && !sc.beside, Beside: sc.beside}.Setup(t.Context(), a, sc.cli)
				},
			})
			checkCline(t, &sc, res)
			traces := checkTraces(t, &sc, res)
			checkOwnView(t, &sc, traces, res.Steps[len(sc.steps):])
			if len(res.Killed) > 0 != sc.hub {
				t.Errorf("processes outlived the run: %q", res.Killed)
			}
		})
	}
}

// checkCline compares what Cline itself did and thought.
func checkCline(t *testing.T, sc *scenario, res *clinecli.Result) {
	t.Helper()
	for i, want := range sc.exits {
		if s := res.Steps[i]; s.ExitCode != want || s.TimedOut || s.Error != "" {
			t.Errorf("step %d ended with code %d (timed out: %v, error: %q), want %d", i, s.ExitCode, s.TimedOut, s.Error, want)
		}
	}
	if !sc.bare {
		names, err := clinecli.RecordedNames(res.Arena)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sc.hooks, canonical(names)); diff != "" {
			t.Errorf("hooks Cline called (-want +got):\n%s", diff)
		}
	}
	rows, err := clinecli.HookStatuses(res.Arena)
	if err != nil {
		t.Fatal(err)
	}
	if sc.cli == clinecli.CLI2 && len(rows) == 0 {
		t.Error("Cline's chat shows no hook")
	}
	// With -y CLI 2 may be gone before it has written how the hooks at the end of
	// a task ended; over ACP it stays.
	leaves := slices.ContainsFunc(sc.steps, func(s rig.Step) bool { return slices.Contains(s.Args, "-y") })
	for _, r := range rows {
		// Two hooks of one event are joined without blank answers, so that the row
		// of a silent hook of the user's stays as it would without hookspan's.
		if sc.beside || (leaves && (r.Hook == cancel || r.Hook == complete)) {
			continue
		}
		if r.Status != "completed" {
			t.Errorf("Cline's chat shows hook %s %s as %q, want completed", r.Hook, r.Tool, r.Status)
		}
	}
	if sc.cline != nil {
		sc.cline(t, res)
	}
}

// checkTraces compares what was delivered with the scenario and the model, and
// returns it.
func checkTraces(t *testing.T, sc *scenario, res *clinecli.Result) []*rig.Trace {
	t.Helper()
	for _, s := range res.Strays {
		t.Errorf("a receiver got what it does not know: %s", s)
	}
	traces, wrong := rig.Traces(res.Spans)
	for _, w := range wrong {
		t.Error(w)
	}
	if len(traces) != len(sc.traces) {
		t.Fatalf("%d traces, want %d", len(traces), len(sc.traces))
	}
	for i, want := range sc.traces {
		got := traces[i]
		if got.Root == nil {
			continue // Traces has said so.
		}
		t.Run(fmt.Sprintf("trace %d", i), func(t *testing.T) {
			wrong := got.CompareOutcome(want.outcome, want.prompt, "cline")
			wrong = append(wrong, got.CompareTokens(tokensOf(res, want.step), want.lastOpen)...)
			for _, w := range wrong {
				t.Error(w)
			}
			if diff := cmp.Diff(want.tools, got.Tools()); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			if linked := i > 0 && got.LinksTo(traces[i-1]); linked != want.linked {
				t.Errorf("links of the root %+v; linked to the run before: %v, want %v", got.Root.Links, linked, want.linked)
			}
		})
	}
	for _, w := range rig.CheckInfinium(res.Posts, len(traces)) {
		t.Error(w)
	}
	return traces
}

// tokensOf are the counts of the requests that the model answered during the
// step.
func tokensOf(res *clinecli.Result, step int) []rig.Tokens {
	from := 0
	if step > 0 {
		from = res.Steps[step-1].Requests
	}
	return clinecli.Tokens(res.Requests[from:res.Steps[step].Requests])
}

// checkOwnView compares what hookspan's own commands say. The steps are the
// delivery by itself, flush, list, show and doctor.
func checkOwnView(t *testing.T, sc *scenario, traces []*rig.Trace, steps []rig.StepResult) {
	t.Helper()
	for i, name := range []string{"delivery", "flush --wait", "list --json", "show --json", "doctor"} {
		if name == "doctor" && !sc.bare {
			continue // It rightly reports the recorder in the place of cline-hook.
		}
		if s := steps[i]; s.ExitCode != 0 {
			t.Errorf("%s ended with code %d: %s\n%s%s", name, s.ExitCode, s.Error, s.Stdout, s.Stderr)
		}
	}
	want := make([]rig.Listed, len(sc.traces))
	for i, tr := range sc.traces {
		want[i] = rig.Listed{Outcome: tr.outcome, Title: tr.prompt, Tools: len(tr.tools)}
		for _, tool := range tr.tools {
			want[i].CountError(tool.Error)
		}
	}
	wrong := rig.CheckList(steps[2].Stdout, want)
	for _, w := range append(wrong, rig.CheckShown(steps[3].Stdout, traces[len(traces)-1])...) {
		t.Error(w)
	}
}

package claudecli_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/skip"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/built"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

func TestMain(m *testing.M) {
	if code, inner := claudecli.Inner(os.Stdin, os.Stdout, os.Stderr); inner {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// do executes the run, or skips the test where this machine cannot.
func do(t *testing.T, run *claudecli.Run) *claudecli.Result {
	t.Helper()
	cache, err := rig.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	res, err := claudecli.Do(t.Context(), cache, t.ArtifactDir(), run)
	rig.Check(t, "Claude Code", err)
	t.Cleanup(func() {
		if t.Failed() {
			logResult(t, res)
		}
	})
	return res
}

// logResult shows what happened, for the reader of a failed test.
func logResult(t *testing.T, res *claudecli.Result) {
	t.Helper()
	for _, r := range res.Requests {
		t.Logf("request %d: %s turn %d, status %d, complete %v, usage %+v, calls %+v, results %+v", r.N, r.Part, r.Turn, r.Status, r.Complete, r.Usage, r.Calls, r.Results)
	}
	recs, err := res.Arena.Recorded()
	if err != nil {
		t.Log(err)
	}
	res.Report(t, recs)
}

// payload is what tests read of a recorded hook call.
type payload struct {
	Session string `json:"session_id"`
	Prompt  string `json:"prompt"`
	Turn    string `json:"prompt_id"`
}

// TestScenarios puts Claude Code through every scenario with hookspan installed
// as a user installs it, and compares what the recorder beside hookspan, the
// model, the receivers and hookspan itself say.
func TestScenarios(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		skip.Elsewhere(t, "drives the real Claude Code program; left out by -short")
	}
	bin := t.TempDir()
	if err := built.Put(t.Context(), bin, "cmd/hookspan", "cmd/claude-hook"); err != nil {
		t.Fatal(err)
	}
	for name, sc := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hookspan := func(args ...string) rig.Step {
				return rig.Step{Program: []string{filepath.Join(bin, "hookspan")}, Args: args}
			}
			// What the hooks start by themselves must deliver with no help.
			deliver := rig.Step{WaitTraces: len(sc.traces), Timeout: 30 * time.Second}
			res := do(t, &claudecli.Run{
				Script: sc.script,
				Steps: slices.Concat(sc.steps, []rig.Step{
					deliver, hookspan("flush", "--wait"), hookspan("list", "--json"), hookspan("show", "--json"), hookspan("doctor"),
				}),
				Setup: func(a *rig.Arena) error {
					if err := sc.settings.Write(a); err != nil {
						return err
					}
					return a.InstallHookspan(t.Context(), bin, nil, "claude")
				},
			})
			prompts := checkClaude(t, &sc, res)
			traces := checkTraces(t, &sc, res, prompts)
			checkOwnView(t, &sc, traces, res.Steps[len(sc.steps):])
			if len(res.Killed) > 0 {
				t.Errorf("processes outlived the run: %q", res.Killed)
			}
		})
	}
}

// checkClaude compares what Claude Code itself did, and returns the prompts it
// reported in order.
func checkClaude(t *testing.T, sc *scenario, res *claudecli.Result) (prompts []payload) {
	t.Helper()
	for i, want := range sc.exits {
		if s := res.Steps[i]; s.ExitCode != want || s.TimedOut || s.Error != "" {
			t.Errorf("step %d ended with code %d (timed out: %v, error: %q), want %d", i, s.ExitCode, s.TimedOut, s.Error, want)
		}
		if s := sc.steps[i]; s.Signal != nil && !res.Steps[i].Signalled {
			t.Errorf("step %d was over before the signal", i)
		}
	}
	recs, err := res.Arena.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	hooks := make(map[string]int)
	for _, r := range recs {
		hooks[r.Name]++
		if r.Name == "UserPromptSubmit" {
			var p payload
			if err := json.Unmarshal(r.Payload, &p); err != nil {
				t.Errorf("payload of a prompt: %v", err)
			}
			prompts = append(prompts, p)
		}
	}
	// Claude Code continues and ends without waiting for these.
	delete(hooks, "StopFailure")
	// Tools run at the same time report in any order, so the kinds are counted.
	if diff := gocmp.Diff(sc.hooks, hooks); diff != "" {
		t.Errorf("hooks Claude Code called (-want +got):\n%s", diff)
	}
	return prompts
}

// checkTraces compares what was delivered with the scenario, the model and the
// prompts, and returns it.
func checkTraces(t *testing.T, sc *scenario, res *claudecli.Result, prompts []payload) []*rig.Trace {
	t.Helper()
	for _, s := range res.Strays {
		t.Errorf("a receiver got what it does not know: %s", s)
	}
	traces, wrong := rig.Traces(res.Spans)
	for _, w := range wrong {
		t.Error(w)
	}
	if len(traces) != len(sc.traces) || len(prompts) != len(sc.traces) {
		t.Fatalf("%d traces of %d prompts, want %d", len(traces), len(prompts), len(sc.traces))
	}
	for i, want := range sc.traces {
		got := traces[i]
		if got.Root == nil {
			continue // Traces has said so.
		}
		t.Run(fmt.Sprintf("trace %d", i), func(t *testing.T) {
			requests := slices.DeleteFunc(slices.Clone(res.Requests), func(r mockanthropic.Request) bool { return r.Label != want.label })
			wrong := got.CompareOutcome(want.outcome, cmp.Or(want.task, prompts[i].Prompt), "claude-code")
			wrong = append(wrong, claudecli.CompareModel(got, requests, want.tools)...)
			for _, w := range append(wrong, compareRoot(got, &want, requests, prompts[i])...) {
				t.Error(w)
			}
			if linked := i > 0 && got.LinksTo(traces[i-1]); linked != (i > 0) {
				t.Errorf("links of the root %+v do not lead to the run before", got.Root.Links)
			}
		})
	}
	for _, w := range rig.CheckInfinium(res.Posts, len(traces)) {
		t.Error(w)
	}
	return traces
}

// compareRoot compares the identities and texts on the root. It returns what
// differs, one line each.
func compareRoot(got *rig.Trace, want *wantTrace, requests []mockanthropic.Request, p payload) (wrong []string) {
	attrs := map[string]string{
		otelmap.KeyConversationID: p.Session, otelmap.KeyPromptID: p.Turn, otelmap.KeyHostVersion: claudecli.Version,
	}
	for _, r := range requests {
		if r.Part == mockanthropic.PartMain && r.Finish == "end_turn" && want.outcome == otelmap.OutcomeCompleted {
			attrs[otelmap.KeyOutputValue] = r.Text
		}
	}
	for _, k := range slices.Sorted(maps.Keys(attrs)) {
		if v := got.Root.Attrs.String(k); v != attrs[k] {
			wrong = append(wrong, fmt.Sprintf("%s %q, want %q", k, v, attrs[k]))
		}
	}
	if !strings.Contains(got.Root.StatusMessage, want.message) {
		wrong = append(wrong, fmt.Sprintf("status of the root says %q, want %q in it", got.Root.StatusMessage, want.message))
	}
	blocked := slices.ContainsFunc(got.Root.Events, func(e sink.Event) bool { return e.Attrs[otelmap.KeyStopBlocked] == true })
	if blocked != want.blocked {
		wrong = append(wrong, fmt.Sprintf("the root reports a blocked stop: %v, want %v", blocked, want.blocked))
	}
	return wrong
}

// checkOwnView compares what hookspan's own commands say. The steps are the
// delivery by itself, flush, list, show and doctor.
func checkOwnView(t *testing.T, sc *scenario, traces []*rig.Trace, steps []rig.StepResult) {
	t.Helper()
	for i, name := range []string{"delivery", "flush --wait", "list --json", "show --json", "doctor"} {
		if s := steps[i]; s.ExitCode != 0 {
			t.Errorf("%s ended with code %d: %s\n%s%s", name, s.ExitCode, s.Error, s.Stdout, s.Stderr)
		}
	}
	want := make([]rig.Listed, len(sc.traces))
	for i, tr := range sc.traces {
		want[i] = rig.Listed{Outcome: tr.outcome, Title: tr.title, Tools: len(tr.tools)}
		for _, tool := range tr.tools {
			want[i].CountError(tool.Error)
		}
	}
	wrong := rig.CheckList(steps[2].Stdout, want)
	for _, w := range append(wrong, rig.CheckShown(steps[3].Stdout, traces[len(traces)-1])...) {
		t.Error(w)
	}
}

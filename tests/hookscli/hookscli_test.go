package hookscli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/hookscli"
	"github.com/hookspan/hookspan/tests/internal/built"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }

// plan is a run of one of Cline's programs.
type plan struct {
	cli clinecli.CLI
	// soft has denied commands softened.
	soft   bool
	phases []hookscli.Phase
}

// rows are the table's rows of these names, in this order.
func rows(names ...string) []hookscli.Row {
	table := hookscli.Table()
	out := make([]hookscli.Row, len(names))
	for i, name := range names {
		k := slices.IndexFunc(table, func(r hookscli.Row) bool { return r.Name == name })
		out[i] = table[k]
	}
	return out
}

// stopping is a phase that ends with a row that stops Cline.
func stopping(names ...string) hookscli.Phase {
	return hookscli.Phase{Rows: rows(names...), Stops: true}
}

// going is a phase of all rows that let a host continue.
func going(h hookscli.Host, soft bool) hookscli.Phase {
	var p hookscli.Phase
	for _, r := range hookscli.Table() {
		switch {
		case r.On(h, soft).Stopped:
		case r.Name == "project": // not trusted at first
		case r.Name == "over" && h == hookscli.CLI3: // which may end before it could report that
		default:
			p.Rows = append(p.Rows, r)
		}
	}
	return p
}

// trusting is a phase before which the user trusts the project's hooks.
func trusting(p hookscli.Phase, bin string) hookscli.Phase {
	p.Before = []rig.Step{{Program: []string{filepath.Join(bin, "hookspan")}, Args: []string{"hooks", "trust", "--yes"}}}
	return p
}

func plans(bin string) map[string]plan {
	untrusted := hookscli.Phase{Rows: []hookscli.Row{hookscli.Untrusted()}}
	withUntrusted := func(p hookscli.Phase) hookscli.Phase {
		p.Rows = append(slices.Clone(untrusted.Rows), p.Rows...)
		return p
	}
	all := map[string]plan{
		"cli3 soft": {cli: clinecli.CLI3, soft: true, phases: []hookscli.Phase{
			withUntrusted(going(hookscli.CLI3, true)), trusting(hookscli.Phase{Rows: rows("project")}, bin),
		}},
		"cli3":             {cli: clinecli.CLI3, phases: []hookscli.Phase{stopping("exit-two")}},
		"cli3 json-deny":   {cli: clinecli.CLI3, phases: []hookscli.Phase{stopping("json-deny")}},
		"cli3 read-secret": {cli: clinecli.CLI3, phases: []hookscli.Phase{stopping("read-secret")}},
		"cli2": {cli: clinecli.CLI2, phases: []hookscli.Phase{
			withUntrusted(going(hookscli.CLI2, false)), trusting(stopping("project"), bin),
		}},
	}
	// Cline 2 starts again after each row that stops it. What stops it is the same
	// for all, so the short form has one for each way to deny: exit code 2 (project,
	// above) and one part of a call. JSON stops Cline 3 above.
	stops := []string{"read-secret"}
	if proof.Soak() {
		stops = append(stops, "json-deny", "exit-two", "lookahead", "own-name", "if-rule", "two-hooks", "update")
	}
	for _, row := range stops {
		all["cli2 "+row] = plan{cli: clinecli.CLI2, phases: []hookscli.Phase{stopping(row)}}
	}
	return all
}

// done hands a run's result out, or skips the test where this machine cannot.
func done(t *testing.T, d *hookscli.Done, err error) *hookscli.Done {
	t.Helper()
	rig.Check(t, "the agents", err)
	t.Cleanup(func() {
		if t.Failed() {
			logDone(t, d)
		}
	})
	return d
}

// ended fails the test unless each step ended by itself: what a run that was cut off did not do
// says nothing.
func ended(t *testing.T, d *hookscli.Done) {
	t.Helper()
	for i, step := range d.Steps {
		if step.TimedOut || step.Error != "" {
			t.Fatalf("step %d: timed out %v, %s", i, step.TimedOut, step.Error)
		}
	}
}

// logDone says where the whole of a failed test's run stands, and how its steps
// ended.
func logDone(t *testing.T, d *hookscli.Done) {
	t.Helper()
	path := filepath.Join(d.Arena.Dir, "done.json")
	data, err := json.MarshalIndent(d, "", "  ")
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	t.Logf("the whole run: %s, %v; kept with -artifacts -outputdir DIR", path, err)
	for i, s := range d.Steps {
		t.Logf("step %d: exit code %d %s, %s, timed out %v, %s", i, s.ExitCode, s.Signal, s.Took.Round(time.Millisecond), s.TimedOut, s.Error)
	}
}

// complain fails the test with what is wrong. What would make more than a screen
// goes to a file beside the run.
func complain(t *testing.T, d *hookscli.Done, wrong []string) {
	t.Helper()
	const most = 45 // lines
	said := 0
	for i, w := range wrong {
		if said += 1 + strings.Count(w, "\n"); said > most {
			path := filepath.Join(d.Arena.Dir, "wrong.txt")
			err := os.WriteFile(path, []byte(strings.Join(wrong, "\n")), 0o600)
			t.Errorf("and %d more: %s, %v", len(wrong)-i, path, err)
			return
		}
		t.Errorf("%.1500s", w)
	}
}

// TestSameVerdicts gives the same hooks to Claude Code and to both of Cline's
// programs, and wants the same to come of them.
func TestSameVerdicts(t *testing.T) {
	if testing.Short() {
		skip.Elsewhere(t, "drives the real agents; left out by -short")
	}
	t.Parallel()
	cache, err := rig.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := built.Put(t.Context(), bin, "cmd/hookspan", "cmd/cline-hook"); err != nil {
		t.Fatal(err)
	}
	ctx, dir := t.Context(), t.ArtifactDir()
	claude := sync.OnceValues(func() (*hookscli.Done, error) {
		return hookscli.RunClaude(ctx, cache, filepath.Join(dir, "claude"), hookscli.Table())
	})
	t.Run("claude", func(t *testing.T) {
		t.Parallel()
		d, err := claude()
		done(t, d, err)
		ended(t, d)
		complain(t, d, compare(d, 0, hookscli.Table(), false))
	})
	h := clinecli.NewHarness(cache, t.TempDir())
	for name, p := range plans(bin) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := &hookscli.ClineRun{CLI: p.cli, Bin: bin, Table: hookscli.Table(), Phases: p.phases, Traces: len(p.phases)}
			if p.soft {
				run.Settings = []string{"HOOKSPAN_HOOKS_SOFT_DENY=true"}
			}
			d, err := hookscli.RunCline(t.Context(), h, t.ArtifactDir(), run)
			done(t, d, err)
			var wrong []string
			var worked []hookscli.Row
			for i, phase := range p.phases {
				wrong = append(wrong, compare(d, i, phase.Rows, p.soft)...)
				worked = append(worked, phase.Rows...)
			}
			ended(t, d)
			if len(d.Killed) > 0 {
				t.Errorf("processes outlived the run: %q", d.Killed)
			}
			real, err := claude()
			if err != nil {
				t.Fatal(err)
			}
			complain(t, d, slices.Concat(wrong, hookscli.ComparePayloads(real, d), hookscli.CompareTraces(d, worked, p.soft)))
		})
	}
}

// compare compares what became of a phase's rows. It returns what differs.
func compare(d *hookscli.Done, phase int, rows []hookscli.Row, soft bool) (wrong []string) {
	for _, r := range rows {
		if diff := cmp.Diff(r.On(d.Host, soft), d.Phases[phase].Outcomes[r.Name]); diff != "" {
			wrong = append(wrong, fmt.Sprintf("%s: %s (-want +got):\n%s", r.Name, r.What, diff))
		}
	}
	return wrong
}

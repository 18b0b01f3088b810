package scenario

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// What the agents' scripts and users have in common.
const (
	// Long is a command that runs until it is interrupted.
	Long = "echo running > " + rig.WordMark + "; tail -f /dev/null"
	// BlockOnce is a hook of the user's, without its end, that has the agent continue once.
	BlockOnce = `mkdir blocked 2>/dev/null && { echo 'keep going' >&2; exit 2; }; `
	// Deny is a hook of the user's, without its end, that denies what is forbidden.
	Deny = `payload=$(cat); case $payload in *forbidden*) echo 'a hook says no' >&2; exit 2;; esac; `
)

// How a call can end.
const (
	Failed    = otelmap.ErrorToolFailure
	Denied    = otelmap.ErrorToolDenied
	Cancelled = otelmap.ErrorToolCancelled
)

// OK is a call of the lead agent's that works.
func OK(text string) Tool { return Tool{Text: text, Under: -1} }

// Bad is a call of the lead agent's that does not.
func Bad(kind, text string) Tool { return Tool{Error: kind, Text: text, Under: -1} }

// Parallel are n calls that print their number, and what must have come of them.
func Parallel(n int, call func(command string) llm.Call) (calls []llm.Call, tools []Tool) {
	for i := range n {
		calls, tools = append(calls, call(fmt.Sprintf("echo n%d.", i))), append(tools, OK(fmt.Sprintf("n%d.", i)))
	}
	return calls, tools
}

// Interrupted is a step that is interrupted once the agent runs Long.
func Interrupted(s rig.Step) rig.Step {
	s.Signal = &rig.Signal{Number: syscall.SIGINT, When: rig.Condition{Mark: true}}
	return s
}

// Submitted finds the prompts in the calls of the hook event: the members of its payload
// that have the session, the turn (if not empty) and the text. A subagent's are left out.
func Submitted(event, session, turn, text string) func(*testing.T, []rig.Recorded, *rig.Result) []Prompt {
	return func(t *testing.T, recs []rig.Recorded, _ *rig.Result) (list []Prompt) {
		t.Helper()
		for i, p := range Payloads[map[string]any](t, recs) {
			if said, ok := p[text].(string); ok && recs[i].Name == event && p["agent_id"] == nil && p["agentId"] == nil {
				of, _ := p[session].(string)
				in, _ := p[turn].(string)
				list = append(list, Prompt{Session: of, Turn: in, Text: said})
			}
		}
		return list
	}
}

// RemovedDisturbsNothing has the agent ask the model so often while hookspan's hooks are
// installed and hookspan is gone.
func (g *Agent) RemovedDisturbsNothing(t *testing.T, script llm.Script, step rig.Step, requests int) {
	t.Helper()
	cache, bin := g.Programs(t)
	res := g.Try(t, cache, script, []rig.Step{step}, func(a *rig.Arena) error {
		return errors.Join(g.Settings(a, nil), a.InstallHookspan(t.Context(), bin, nil, g.Word), a.RemoveHookspan(bin))
	})
	res.CheckUndisturbed(t, len(res.Requests), requests)
}

// ManagedRunOnce has hooks in the machine's settings, which nobody trusts by hand, and
// these further files of the machine's. The case has one step and one trace: the agent runs
// the hooks once for each of its calls, they are recognised, and an install adds none.
func (g *Agent) ManagedRunOnce(t *testing.T, c *Case, files map[string]string) *rig.Result {
	t.Helper()
	cache, bin := g.Programs(t)
	hookspan := Hookspan(bin)
	res := g.Try(t, cache, c.Script, []rig.Step{
		hookspan("install", "--managed"), hookspan("install", g.Word), c.Steps[0],
		{WaitTraces: 1, Timeout: time.Minute},
		hookspan("flush", "--wait"), hookspan("status", "--json"), hookspan("doctor"), hookspan("reconcile", "--json"),
	}, func(a *rig.Arena) error {
		return errors.Join(
			g.Settings(a, c.More), a.MakeEtc(), a.Write(files),
			a.InstallHookspan(t.Context(), bin, nil, "--managed", "--dry-run"), // for the env file
		)
	})
	traces, wrong := rig.Traces(res.Spans)
	if len(traces) != 1 || len(wrong) > 0 {
		t.Fatalf("%d traces, want one: %q", len(traces), wrong)
	}
	var got, want []string
	for _, s := range traces[0].Operation(otelmap.OpExecuteTool) {
		got = append(got, s.Attrs.String(otelmap.KeyErrorType))
	}
	for _, tool := range c.Traces[0].Tools {
		want = append(want, tool.Error)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("how the calls ended (-want +got):\n%s", diff)
	}
	for i, want := range map[int]string{1: "your organisation manages: none are added", 5: `"hooks": "installed",
      "managed": true`, 6: g.Name + "'s hooks are installed", 7: `"changed": false`} {
		if s := res.Steps[i]; s.ExitCode != 0 || !strings.Contains(s.Stdout, want) {
			t.Errorf("step %d: code %d, want %q in\n%s%s", i, s.ExitCode, want, s.Stdout, s.Stderr)
		}
	}
	return res
}

// InRun has the agent work twice at once in one hookspan run, after other steps with a task each:
// when that has ended, what it says is true, and all tasks have arrived.
func (g *Agent) InRun(t *testing.T, program rig.Program, script llm.Script, step rig.Step, before ...rig.Step) {
	t.Helper()
	cache, bin := g.Programs(t)
	command, err := program.Command(t.Context(), cache)
	rig.Check(t, g.Name, err)
	step.Args = slices.Concat([]string{"run", "--wait", "1m", "--", "sh", "-c", `"$@" & "$@"; wait`, "twice"}, command, step.Args)
	step.Program = []string{filepath.Join(bin, "hookspan")}
	res := g.Try(t, cache, script, append(before, step), func(a *rig.Arena) error {
		_, err := g.install(t.Context(), a, bin, &Case{Script: script})
		return err
	})
	traces, wrong := rig.Traces(res.Spans)
	sessions := make(map[string]bool)
	for _, trace := range traces {
		sessions[trace.Root.Attrs.String(otelmap.KeyConversationID)] = true
	}
	ran, want := res.Steps[len(before)], 2+len(before)
	_, said, _ := strings.Cut(ran.Stderr, "hookspan: run: ")
	t.Log(ran.Took, said)
	if len(traces) != want || len(sessions) != want || len(wrong) > 0 || ran.ExitCode != 0 {
		t.Errorf("%d traces of %d sessions, %q, exit code %d; want %d tasks", len(traces), len(sessions), wrong, ran.ExitCode, want)
	}
	if !strings.HasPrefix(said, "2 tasks · ") || !strings.Contains(said, " · delivered to otlp") || strings.Contains(said, "not ") {
		t.Errorf("it says %q, want that two tasks are delivered", said)
	}
}

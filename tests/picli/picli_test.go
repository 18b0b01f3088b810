package picli_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/picli"
)

func TestMain(m *testing.M) { rig.Main(m) }

func bash(command string) llm.Call {
	return llm.Call{Name: "bash", Args: map[string]any{"command": command}}
}

func read(name string) llm.Call {
	return llm.Call{Name: "read", Args: map[string]any{"path": name}}
}

var turn = llm.Answer

var ok, bad = scenario.OK, scenario.Bad

func pi(prompt string, args ...string) rig.Step {
	return rig.Step{Args: append(append([]string{"-p"}, args...), prompt), Timeout: 3 * time.Minute}
}

// ended sends a signal to Pi while a command runs.
func ended(number syscall.Signal) rig.Step {
	s := pi("start something long")
	s.Signal = &rig.Signal{Number: number, When: rig.Condition{Mark: true}}
	return s
}

const failed, denied, cancelled = scenario.Failed, scenario.Denied, scenario.Cancelled

func scenarios() map[string]scenario.Case {
	const parallel = 8
	calls, tools := scenario.Parallel(parallel, func(c string) llm.Call { return bash("sleep 0.2; " + c) })
	write := llm.Call{Name: "write", Args: map[string]any{"path": "new.txt", "content": "made by the agent"}}
	edit := llm.Call{Name: "edit", Args: map[string]any{"path": "a.txt", "edits": []map[string]any{{"oldText": "alpha", "newText": "omega"}}}}
	long := llm.Script{Main: []llm.Turn{turn("Long.", bash(scenario.Long)), turn("Never.")}}
	cut := []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeInterrupted, Tools: []scenario.Tool{bad(cancelled, "")}}}
	return map[string]scenario.Case{
		"tools, parallel, denied, second turn": {
			Script: llm.Script{Main: []llm.Turn{
				turn("Four at once.", bash("echo one"), bash("echo worse >&2; exit 3"), write, edit),
				turn("Again.", read("missing.txt"), llm.Call{Name: "no_such_tool", Args: map[string]any{"x": 1}}, llm.Call{Name: "read", Args: map[string]any{"x": 1}}),
				turn("Two.", bash("echo forbidden"), bash("echo good")),
				turn("All.", calls...),
				turn("All done."),
				turn("Read.", read("b.txt")),
				turn("Second."),
			}},
			Steps: []rig.Step{pi("fix the login"), pi("go on", "-c")}, Exits: []int{0, 0},
			Traces: []scenario.Trace{
				{Requests: 5, Outcome: otelmap.OutcomeCompleted, Tools: append([]scenario.Tool{
					ok("one"), bad(failed, "worse"), ok("Successfully wrote"), ok("Successfully replaced"),
					bad(failed, "no such file"), bad(failed, "not found"), bad(failed, "Validation failed"),
					bad(denied, "an extension says no"), ok("good"),
				}, tools...)},
				{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("beta")}},
			},
		},
		"said while it works": {
			Script: llm.Script{Main: []llm.Turn{turn("Run.", bash("echo steering")), turn("Changed."), turn("After.")}},
			Steps:  []rig.Step{pi("run it"), pi("and then", "-c")}, Exits: []int{0, 0},
			Traces: []scenario.Trace{
				{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("steering")}},
				{Requests: 1, Outcome: otelmap.OutcomeCompleted},
			},
		},
		"said for afterwards": {
			Script: llm.Script{Main: []llm.Turn{turn("Run.", bash("echo following")), turn("First."), turn("Second.")}},
			Steps:  []rig.Step{pi("run it")}, Exits: []int{0},
			Traces: []scenario.Trace{{Requests: 3, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("following")}}},
		},
		"an extension starts another prompt after the answer": {
			Script: llm.Script{Main: []llm.Turn{turn("Unfinished."), turn("Undone."), turn("Finished.")}},
			Steps:  []rig.Step{pi("do it all")}, Exits: []int{0},
			Traces: []scenario.Trace{
				{Requests: 1, Outcome: otelmap.OutcomeCompleted},
				{Requests: 1, Outcome: otelmap.OutcomeCompleted, Task: "carry on"},
				{Requests: 1, Outcome: otelmap.OutcomeCompleted, Task: "still"},
			},
		},
		"two prompts in a process": {
			Script: llm.Script{Main: []llm.Turn{turn("First."), turn("Second.")}},
			Steps:  []rig.Step{pi("one", "zero")}, Exits: []int{0},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeCompleted}, {Requests: 1, Outcome: otelmap.OutcomeCompleted}},
		},
		"interrupted tool": {Script: long, Steps: []rig.Step{ended(syscall.SIGINT)}, Exits: []int{scenario.AnyCode}, Traces: cut, Unended: true, Leaves: true},
		"killed":           {Script: long, Steps: []rig.Step{ended(syscall.SIGKILL)}, Exits: []int{scenario.AnyCode}, Traces: cut, Unended: true, Leaves: true},
		// Pi stops its command, and says that the task was aborted.
		"terminated": {Script: long, Steps: []rig.Step{ended(syscall.SIGTERM)}, Exits: []int{143}, Traces: []scenario.Trace{{
			Requests: 1, Outcome: otelmap.OutcomeInterrupted, Tools: []scenario.Tool{bad(cancelled, "aborted")},
		}}, Leaves: true},
		"provider error, again": {
			Script: llm.Script{Main: []llm.Turn{{HTTPError: 400}, turn("Better.")}},
			Steps:  []rig.Step{pi("never answered"), pi("try again", "-c")}, Exits: []int{1, 0},
			Traces: []scenario.Trace{
				{Requests: 1, Outcome: otelmap.OutcomeFailed, Message: "scripted refusal"},
				{Requests: 1, Outcome: otelmap.OutcomeCompleted},
			},
		},
		"stopped while it waits to try again": {
			Script: llm.Script{Main: []llm.Turn{{HTTPError: 502}, turn("Never.")}},
			Steps:  []rig.Step{pi("never answered")}, Exits: []int{0},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeFailed, Message: "scripted refusal"}},
		},
		"retried": {
			Script: llm.Script{Main: []llm.Turn{{HTTPError: 500}, turn("Run.", bash("echo one")), turn("Done.")}},
			Steps:  []rig.Step{pi("do it")}, Exits: []int{0},
			Traces: []scenario.Trace{{Requests: 3, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("one")}}},
		},
	}
}

// TestScenarios puts Pi through every scenario.
func TestScenarios(t *testing.T) {
	t.Parallel()
	picli.Agent.Run(t, scenarios())
}

func TestTwoAtOnceInARun(t *testing.T) {
	t.Parallel()
	picli.Agent.InRun(t, picli.Agent.Program, llm.Script{Main: []llm.Turn{turn("First."), turn("Second.")}}, pi("do it"))
}

func TestAsks(t *testing.T) {
	t.Parallel()
	search := llm.Call{Name: "mcp__hookspan__search", Args: map[string]any{"query": scenario.Asked}}
	picli.Agent.Asks(t, search, pi("Feed the "+scenario.Asked), pi("What was done?"), "mcp__hookspan__search", "mcp", "add", "hookspan", "--exposure", "direct", "--")
}

// TestCompactionIsWithinItsTask fills the model's context in the middle of a task: Pi compacts
// the session and continues.
func TestCompactionIsWithinItsTask(t *testing.T) {
	t.Parallel()
	cache, bin := picli.Agent.Programs(t)
	hookspan := scenario.Hookspan(bin)
	script := llm.Script{Main: []llm.Turn{
		turn("First.", bash("seq 2000")), {Text: "Second.", Calls: []llm.Call{bash("echo two")}, In: 99_500, Out: 10}, turn("Third.", bash("echo three")), turn("All done."),
	}}
	steps := []rig.Step{
		pi("work long"),
		{WaitTraces: 1, Timeout: time.Minute},
		hookspan("flush", "--wait"),
		hookspan("list", "--json"), hookspan("verify"), hookspan("import", "pi", "--dry-run", "--json"),
	}
	res := picli.Agent.Try(t, cache, script, steps, func(a *rig.Arena) error {
		more := map[string]string{"compaction": `{"keepRecentTokens": 50}`}
		return errors.Join(picli.Agent.Settings(a, more), a.InstallHookspan(t.Context(), bin, nil, "pi"))
	})
	for i, s := range res.Steps {
		if s.ExitCode != 0 || s.TimedOut {
			t.Errorf("step %d ended with code %d (timed out: %v)\n%s%s", i, s.ExitCode, s.TimedOut, s.Stdout, s.Stderr)
		}
	}
	for _, wrong := range rig.CheckList(res.Steps[3].Stdout, []rig.Listed{{Outcome: otelmap.OutcomeCompleted, Title: "work long", Tools: 3}}) {
		t.Error(wrong)
	}
	compacted := false
	for _, s := range res.Spans {
		for _, e := range s.Events {
			compacted = compacted || e.Name == otelmap.EventCompaction
		}
	}
	if !compacted {
		t.Error("no span has the compaction")
	}
	var imported struct {
		Runs    int
		Skipped struct{ AlreadyThere int }
	}
	err := json.Unmarshal([]byte(res.Steps[5].Stdout), &imported)
	if err != nil || imported.Runs != 0 || imported.Skipped.AlreadyThere != 1 {
		t.Errorf("import says %q, %v; want the one trace that is stored", res.Steps[5].Stdout, err)
	}
}

// TestExtensionWithoutItsProgram runs Pi with a hook program that is gone, one that ends at once
// and one that never reads: Pi says nothing of it, and waits for a second at most.
func TestExtensionWithoutItsProgram(t *testing.T) {
	t.Parallel()
	cache, bin := picli.Agent.Programs(t)
	for name, program := range map[string]string{"gone": "", "ends": "#!/bin/sh\nexit 1\n", "hangs": "#!/bin/sh\nexec sleep 600 < /dev/null\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := llm.Script{Main: []llm.Turn{turn("Run.", bash("seq 30000"), bash("seq 30000")), turn("All done.")}}
			res := picli.Agent.Try(t, cache, script, []rig.Step{pi("do it")}, func(a *rig.Arena) error {
				err := errors.Join(picli.Agent.Settings(a, nil), a.InstallHookspan(t.Context(), bin, nil, "pi"))
				return cmp.Or(err, replaceProgram(a, program))
			})
			s := res.Steps[0]
			if s.ExitCode != 0 || s.TimedOut || strings.TrimSpace(s.Stdout) != "All done." || strings.Contains(s.Stderr, "hookspan") {
				t.Errorf("Pi ended with code %d\n%s\n%s", s.ExitCode, s.Stdout, s.Stderr)
			}
			if len(res.Requests) != 2 {
				t.Errorf("%d requests, want 2", len(res.Requests))
			}
		})
	}
}

// replaceProgram has the extension start another program, or one that is not there.
func replaceProgram(a *rig.Arena, program string) error {
	path := filepath.Join(a.Home, ".pi", "agent", "extensions", "hookspan.js")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	other := filepath.Join(a.Dir, "program")
	_, rest, _ := strings.Cut(string(text), "const hook = ")
	quoted, _, _ := strings.Cut(rest, "\n")
	err = os.WriteFile(path, []byte(strings.Replace(string(text), quoted, `"`+other+`"`, 1)), 0o644) //nolint:gosec // A file of the arena.
	if program == "" {
		return err
	}
	return errors.Join(err, os.WriteFile(other, []byte(program), 0o755)) //nolint:gosec // A program of the arena.
}

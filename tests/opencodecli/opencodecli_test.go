package opencodecli_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/opencodecli"
)

func TestMain(m *testing.M) { rig.Main(m) }

func bash(command string) llm.Call {
	return llm.Call{Name: "bash", Args: map[string]any{"command": command, "description": "does it"}}
}

func task(description string) llm.Call {
	return llm.Call{Name: "task", Args: map[string]any{
		"subagent_type": "general", "description": description, "prompt": "look around the house",
	}}
}

func read(name string) llm.Call {
	return llm.Call{Name: "read", Args: map[string]any{"filePath": rig.WordWorkspace + "/" + name}}
}

var turn = llm.Answer

var ok, bad = scenario.OK, scenario.Bad

// opencode runs the agent. On a busy machine Kilo takes minutes to start.
func opencode(prompt string, args ...string) rig.Step {
	return rig.Step{Args: append(args, prompt), Timeout: 7 * time.Minute}
}

// secret is a rule that denies commands.
const secret = `{"bash": {"echo secret*": "deny"}}`

// long is a call that is interrupted while it runs, cut its task.
var (
	long = llm.Script{Main: []llm.Turn{turn("Long.", bash("echo running > "+rig.WordMark+"; sleep 300")), turn("Never.")}}
	cut  = []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeInterrupted, Tools: []scenario.Tool{bad(cancelled, "")}}}
)

const failed, denied, cancelled = scenario.Failed, scenario.Denied, scenario.Cancelled

func scenarios() map[string]scenario.Case {
	const parallel = 8
	calls, tools := scenario.Parallel(parallel, func(c string) llm.Call { return bash("sleep 0.2; " + c) })
	killed := opencode("start something long")
	killed.Signal = &rig.Signal{Number: syscall.SIGKILL, When: rig.Condition{Mark: true}}
	write := llm.Call{Name: "write", Args: map[string]any{"filePath": rig.WordWorkspace + "/new.txt", "content": "made by the agent"}}
	all := map[string]scenario.Case{
		// One start of opencode takes seconds, so it meets much of what can happen to a call.
		"tools, parallel, denied, second turn": {
			More: map[string]string{"permission": secret},
			Script: llm.Script{Main: []llm.Turn{
				turn("Three at once.", bash("echo one"), bash("echo worse >&2; exit 3"), write),
				turn("Again.", read("missing.txt"), llm.Call{Name: "no_such_tool", Args: map[string]any{"x": 1}}, bash("echo forbidden"), bash("echo secret")),
				turn("All.", calls...),
				turn("All done."),
				turn("Read.", read("b.txt")),
				turn("Second."),
			}},
			Steps: []rig.Step{opencode("fix the login"), opencode("go on", "--continue")}, Exits: []int{0, 0},
			Traces: []scenario.Trace{
				{Requests: 4, Outcome: otelmap.OutcomeCompleted, Tools: append([]scenario.Tool{
					ok("one"), bad(failed, "worse"), ok("Wrote file"), bad(failed, "File not found"), bad(failed, "unavailable tool"),
					bad(failed, "a plugin says no"), bad(denied, "specified a rule which prevents"),
				}, tools...)},
				{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("beta")}},
			},
		},
		"subagent": {
			Script: llm.Script{
				Main: []llm.Turn{
					turn("Delegate.", task("look around")),
					turn("Delegated."),
				},
				Sub: []llm.Turn{turn("Sub looks.", bash("echo sub"), read("nope.txt")), turn("Sub done.")},
			},
			Steps: []rig.Step{opencode("delegate it")}, Exits: []int{0},
			Traces: []scenario.Trace{{Requests: 4, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{
				ok("Sub done."), {Text: "sub", Under: 0}, {Error: failed, Text: "File not found", Under: 0},
			}}},
		},
		"interrupted tool": {Script: long, Steps: []rig.Step{scenario.Interrupted(opencode("start something long"))}, Exits: []int{scenario.AnyCode}, Traces: cut, Unended: true, Leaves: true},
		"provider error": {
			Script: llm.Script{Main: []llm.Turn{{HTTPError: 400}}},
			Steps:  []rig.Step{opencode("never answered")}, Exits: []int{1},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeFailed, Message: "scripted refusal"}},
		},
	}
	if proof.Soak() {
		all["killed"] = scenario.Case{Script: long, Steps: []rig.Step{killed}, Exits: []int{scenario.AnyCode}, Traces: cut, Unended: true, Leaves: true}
		// opencode exits at once.
		all["unknown model"] = scenario.Case{
			Script: llm.Script{Main: []llm.Turn{turn("Never.")}},
			Steps:  []rig.Step{opencode("never asked", "--model", "mock/nope")}, Exits: []int{1},
			Traces: []scenario.Trace{{Model: "nope", Outcome: otelmap.OutcomeFailed, Message: "Model not found"}}, Unended: true,
		}
	}
	return all
}

// TestScenarios puts opencode through every scenario.
func TestScenarios(t *testing.T) {
	t.Parallel()
	opencodecli.Agent.Run(t, scenarios())
}

// TestForks puts the forks through what opencode is put through.
func TestForks(t *testing.T) {
	t.Parallel()
	for _, g := range opencodecli.Forks {
		t.Run(g.Name, func(t *testing.T) {
			g.Run(t, scenarios())
			t.Run("allowed", func(t *testing.T) { allowed(t, g) })
			t.Run("compaction", func(t *testing.T) { compaction(t, g) })
			t.Run("asks", func(t *testing.T) { asks(t, g) })
			t.Run("two at once", func(t *testing.T) { twoAtOnce(t, g) })
		})
	}
}

// allowed interrupts a call that the agent has asked about and that was allowed.
func allowed(t *testing.T, g *scenario.Agent) {
	t.Helper()
	t.Parallel()
	g.Run(t, map[string]scenario.Case{"allowed, then interrupted": {
		More: map[string]string{"permission": `{"bash": {"*": "ask"}}`}, Script: long,
		Steps: []rig.Step{scenario.Interrupted(opencode("start something long"))}, Exits: []int{scenario.AnyCode}, Traces: cut, Unended: true, Leaves: true,
	}})
}

// TestPluginWithoutItsProgram runs opencode with a hook program that is gone, one that
// ends at once and one that never reads: opencode notices nothing.
func TestPluginWithoutItsProgram(t *testing.T) {
	t.Parallel()
	cache, bin := opencodecli.Agent.Programs(t)
	programs := map[string]string{"gone": "", "hangs": "#!/bin/sh\nexec sleep 600 < /dev/null\n"}
	if proof.Soak() {
		programs["ends"] = "#!/bin/sh\nexit 1\n"
	}
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := llm.Script{Main: []llm.Turn{turn("Run.", bash("seq 30000")), turn("All done.")}}
			res := opencodecli.Agent.Try(t, cache, script, []rig.Step{opencode("do it")}, func(a *rig.Arena) error {
				err := errors.Join(opencodecli.Agent.Settings(a, nil), a.InstallHookspan(t.Context(), bin, nil, "opencode"))
				return cmp.Or(err, replaceProgram(a, program))
			})
			s := res.Steps[0]
			if s.ExitCode != 0 || s.TimedOut || !strings.Contains(s.Stdout, "All done.") || strings.Contains(s.Stderr, "hookspan") {
				t.Errorf("opencode ended with code %d\n%s\n%s", s.ExitCode, s.Stdout, s.Stderr)
			}
			if len(res.Requests) != 2 {
				t.Errorf("%d requests, want 2", len(res.Requests))
			}
		})
	}
}

// replaceProgram changes the program that the plugin starts, or removes it.
func replaceProgram(a *rig.Arena, program string) error {
	plugin, err := os.ReadFile(filepath.Join(a.Home, ".config", "opencode", "plugin", "hookspan.js"))
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(plugin), "const hook = ")
	quoted, _, _ := strings.Cut(rest, "\n")
	var path string
	if err := json.Unmarshal([]byte(quoted), &path); err != nil {
		return fmt.Errorf("the plugin's program %s: %w", quoted, err)
	}
	if path = filepath.Clean(path); !strings.HasPrefix(path, a.Dir) {
		changed := filepath.Join(a.Dir, "program")
		text := strings.Replace(string(plugin), quoted, fmt.Sprintf("%q", changed), 1)
		if err := os.WriteFile(filepath.Join(a.Home, ".config", "opencode", "plugin", "hookspan.js"), []byte(text), 0o644); err != nil {
			return err
		}
		path = changed
	} else if err := os.Remove(path); err != nil {
		return err
	}
	if program == "" {
		return nil
	}
	return os.WriteFile(path, []byte(program), 0o755)
}

// TestTwoAtOnceInARun runs opencode once before: where it has no database yet, both make its tables,
// and one fails.
func TestTwoAtOnceInARun(t *testing.T) { twoAtOnce(t, opencodecli.Agent) }

func twoAtOnce(t *testing.T, g *scenario.Agent) {
	t.Helper()
	t.Parallel()
	script := llm.Script{Main: []llm.Turn{turn("Before."), turn("First."), turn("Second.")}}
	g.InRun(t, g.Program, script, opencode("do it"), opencode("begin"))
}

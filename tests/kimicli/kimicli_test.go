package kimicli_test

import (
	"maps"
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/kimicli"
)

func TestMain(m *testing.M) { rig.Main(m) }

func shell(command string) llm.Call {
	return llm.Call{Name: "Bash", Args: map[string]any{"command": command}}
}

func read(name string) llm.Call {
	return llm.Call{Name: "Read", Args: map[string]any{"path": name}}
}

func agent(prompt string) llm.Call {
	return llm.Call{Name: "Agent", Args: map[string]any{"description": "look around", "prompt": prompt}}
}

var turn = llm.Answer

var ok, bad = scenario.OK, scenario.Bad

func kimi(prompt string, args ...string) rig.Step {
	return rig.Step{Args: append(args, "-p", prompt), Timeout: 3 * time.Minute}
}

// denies is a hook of the user's.
const denies = scenario.Deny + "true"

const failed, cancelled = scenario.Failed, scenario.Cancelled

func scenarios() map[string]scenario.Case {
	const parallel = 8
	calls, tools := scenario.Parallel(parallel, func(c string) llm.Call { return shell("sleep 0.2; " + c) })
	write := llm.Call{Name: "Write", Args: map[string]any{"path": "new.txt", "content": "made by the agent"}}
	return map[string]scenario.Case{
		// A start of Kimi Code takes seconds, so one meets much of what can happen to a call.
		"tools, parallel, denied, second turn": {
			More: map[string]string{"PreToolUse": denies},
			Script: llm.Script{Main: []llm.Turn{
				turn("Three at once.", shell("echo one"), shell("echo worse >&2; exit 3"), write),
				turn("Again.", read("missing.txt"), llm.Call{Name: "no_such_tool", Args: map[string]any{"x": "y"}}),
				turn("Two.", shell("echo forbidden"), shell("echo good")),
				turn("All.", calls...),
				turn("All done."),
				turn("Read.", read("b.txt")),
				turn("Second."),
			}},
			Steps: []rig.Step{kimi("fix the login"), kimi("go on", "-c")}, Exits: []int{0, 0},
			Hooks: map[string]int{"SessionStart": 2, "UserPromptSubmit": 2, "TurnStarted": 2, "PreToolUse": 7 + parallel, "Stop": 2},
			Traces: []scenario.Trace{
				{Requests: 5, Outcome: otelmap.OutcomeCompleted, Tools: append([]scenario.Tool{
					ok("one"), bad(failed, "worse"), ok("new.txt"), bad(failed, "does not exist"), bad(failed, "not found"),
					bad(failed, "a hook says no"), ok("good"),
				}, tools...)},
				{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("beta")}},
			},
		},
		"subagent": {
			Script: llm.Script{
				Main: []llm.Turn{turn("Delegate.", agent("look around the house")), turn("Delegated.")},
				Sub:  []llm.Turn{turn("Sub looks.", shell("echo sub"), read("nope.txt")), turn("Sub done.")},
			},
			Steps: []rig.Step{kimi("delegate it")}, Exits: []int{0},
			Hooks: map[string]int{
				"SessionStart": 1, "UserPromptSubmit": 1, "TurnStarted": 2, "PreToolUse": 3, "SubagentStart": 1, "SubagentStop": 1, "Stop": 2,
			},
			Traces: []scenario.Trace{{Requests: 4, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{
				ok("Sub done."), {Text: "sub", Under: 0}, {Error: failed, Text: "does not exist", Under: 0},
			}}},
		},
		"blocked stop": {
			More: map[string]string{"Stop": scenario.BlockOnce + "true"},
			Script: llm.Script{Main: []llm.Turn{
				turn("First answer."), turn("Going on.", shell("echo more")), turn("Second answer."),
			}},
			Steps: []rig.Step{kimi("do all of it")}, Exits: []int{0},
			Hooks: map[string]int{"SessionStart": 1, "UserPromptSubmit": 1, "TurnStarted": 1, "PreToolUse": 1, "Stop": 1},
			Traces: []scenario.Trace{{
				Requests: 3, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("more")}, Blocked: true,
			}},
			Silent: true,
		},
		"compaction": {
			Script: llm.Script{Main: []llm.Turn{
				turn("One.", shell("echo one")), {Text: "Two.", Calls: []llm.Call{shell("echo two")}, In: 96000}, turn(kimicli.Summary), turn("Done."),
			}},
			Steps: []rig.Step{kimi("fill it up")}, Exits: []int{0},
			Hooks: map[string]int{"SessionStart": 1, "UserPromptSubmit": 1, "TurnStarted": 1, "PreToolUse": 2, "PreCompact": 1, "PostCompact": 1, "Stop": 1},
			Traces: []scenario.Trace{{
				Requests: 4, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("one"), ok("two")},
			}},
		},
		"interrupted tool": {
			Script: llm.Script{Main: []llm.Turn{
				turn("Long.", shell(scenario.Long)), turn("Never."),
			}},
			Steps: []rig.Step{scenario.Interrupted(kimi("start something long"))}, Exits: []int{130},
			Hooks:  map[string]int{"SessionStart": 1, "UserPromptSubmit": 1, "TurnStarted": 1, "PreToolUse": 1, "Interrupt": 1},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeInterrupted, Tools: []scenario.Tool{bad(cancelled, "")}}},
		},
		"provider error": {
			Script: llm.Script{Main: []llm.Turn{{HTTPError: 400}}},
			Steps:  []rig.Step{kimi("never answered")}, Exits: []int{1},
			Hooks:  map[string]int{"SessionStart": 1, "UserPromptSubmit": 1, "TurnStarted": 1, "StopFailure": 1},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeFailed, Message: "scripted refusal"}},
		},
	}
}

// TestScenarios puts Kimi Code through every scenario.
func TestScenarios(t *testing.T) {
	t.Parallel()
	kimicli.Agent.Run(t, scenarios())
}

// TestLateHooks has a hook that Kimi Code does not wait for come late.
func TestLateHooks(t *testing.T) {
	t.Parallel()
	cases := scenarios()
	maps.DeleteFunc(cases, func(name string, _ scenario.Case) bool {
		return name != "tools, parallel, denied, second turn" && name != "interrupted tool"
	})
	kimicli.Late().Run(t, cases)
}

// TestRemovedHookspanDisturbsNothing removes hookspan while its hooks are installed.
func TestRemovedHookspanDisturbsNothing(t *testing.T) {
	t.Parallel()
	kimicli.Agent.RemovedDisturbsNothing(t, llm.Script{Main: []llm.Turn{turn("Run.", shell("echo one")), turn("Done.")}}, kimi("run it"), 2)
}

func TestTwoAtOnceInARun(t *testing.T) {
	t.Parallel()
	kimicli.Agent.InRun(t, kimicli.Agent.Program, llm.Script{Main: []llm.Turn{turn("First."), turn("Second.")}}, kimi("do it"))
}

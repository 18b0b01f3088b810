package qwencli_test

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/qwencli"
)

func TestMain(m *testing.M) { rig.Main(m) }

func shell(command string) llm.Call {
	return llm.Call{Name: "run_shell_command", Args: map[string]any{"command": command, "is_background": false}}
}

func read(name string) llm.Call {
	return llm.Call{Name: "read_file", Args: map[string]any{"file_path": rig.WordWorkspace + "/" + name}}
}

func agent(prompt string) llm.Call {
	return llm.Call{Name: "agent", Args: map[string]any{
		"subagent_type": "general-purpose", "description": "look around", "prompt": prompt, "run_in_background": false,
	}}
}

var turn = llm.Answer

var ok, bad = scenario.OK, scenario.Bad

func qwen(prompt string, args ...string) rig.Step {
	return rig.Step{Args: append(args, "--yolo", prompt), Timeout: 3 * time.Minute}
}

// denies is a hook of the user's.
const denies = scenario.Deny + "echo '{}'"

const failed, denied, cancelled = scenario.Failed, scenario.Denied, scenario.Cancelled

func scenarios() map[string]scenario.Case {
	const parallel = 8
	calls, tools := scenario.Parallel(parallel, func(c string) llm.Call { return shell("sleep 0.2; " + c) })
	write := llm.Call{Name: "write_file", Args: map[string]any{"file_path": rig.WordWorkspace + "/new.txt", "content": "made by the agent"}}
	return map[string]scenario.Case{
		// A start of Qwen Code takes seconds, so one meets much of what can happen to a call.
		"tools, parallel, denied, second turn": {
			More: map[string]string{
				"PreToolUse": denies,
			},
			Script: llm.Script{Main: []llm.Turn{
				turn("Three at once.", shell("echo one"), shell("echo worse >&2; exit 3"), write),
				turn("Again.", read("missing.txt"), llm.Call{Name: "no_such_tool", Args: map[string]any{"x": "y"}}),
				turn("Two.", shell("echo forbidden"), shell("echo good")),
				turn("All.", calls...),
				turn("All done."),
				turn("Read.", read("b.txt")),
				turn("Second."),
			}},
			Steps: []rig.Step{qwen("fix the login"), qwen("go on", "--continue")}, Exits: []int{0, 0},
			Hooks: map[string]int{
				"SessionStart": 2, "UserPromptSubmit": 7, "PreToolUse": 7 + parallel, "PostToolUse": 4 + parallel, "PostToolUseFailure": 2, "Stop": 2,
			},
			Traces: []scenario.Trace{
				{Requests: 5, Outcome: otelmap.OutcomeCompleted, Tools: append([]scenario.Tool{
					ok("one"), bad(failed, "worse"), ok("new.txt"), bad(failed, "not found"), bad(failed, "not found in registry"),
					bad(denied, "a hook says no"), ok("good"),
				}, tools...)},
				{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("beta")}},
			},
		},
		"subagent": {
			Script: llm.Script{
				Main: []llm.Turn{turn("Delegate.", agent("look around the house")), turn("Delegated.")},
				Sub:  []llm.Turn{turn("Sub looks.", shell("echo sub"), read("nope.txt")), turn("Sub done.")},
			},
			Steps: []rig.Step{qwen("delegate it")}, Exits: []int{0},
			Hooks: map[string]int{
				"SessionStart": 1, "UserPromptSubmit": 2, "PreToolUse": 3, "PostToolUse": 2, "PostToolUseFailure": 1,
				"SubagentStart": 1, "SubagentStop": 1, "Stop": 1,
			},
			Traces: []scenario.Trace{{Requests: 4, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{
				ok("Sub done."), {Text: "sub", Under: 0}, {Error: failed, Text: "not found", Under: 0},
			}}},
		},
		"blocked stop": {
			More: map[string]string{"Stop": scenario.BlockOnce + "echo '{}'"},
			Script: llm.Script{Main: []llm.Turn{
				turn("First answer."), turn("Going on.", shell("echo more")), turn("Second answer."),
			}},
			Steps: []rig.Step{qwen("do all of it")}, Exits: []int{0},
			Hooks: map[string]int{"SessionStart": 1, "UserPromptSubmit": 3, "PreToolUse": 1, "PostToolUse": 1, "Stop": 2},
			Traces: []scenario.Trace{{
				Requests: 3, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("more")}, Blocked: true,
			}},
		},
		"interrupted tool": {
			Script: llm.Script{Main: []llm.Turn{
				turn("Long.", shell(scenario.Long)), turn("Never."),
			}},
			Steps: []rig.Step{scenario.Interrupted(qwen("start something long"))}, Exits: []int{-1},
			Hooks:  map[string]int{"SessionStart": 1, "UserPromptSubmit": 2, "PreToolUse": 1, "PostToolUseFailure": 1},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeInterrupted, Tools: []scenario.Tool{bad(cancelled, "")}}},
		},
		"provider error": {
			Script: llm.Script{Main: []llm.Turn{{HTTPError: 400}}},
			Steps:  []rig.Step{qwen("never answered")}, Exits: []int{1},
			Hooks:  map[string]int{"SessionStart": 1, "UserPromptSubmit": 1},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeFailed, Message: "scripted refusal"}},
			Silent: true,
		},
	}
}

// TestScenarios puts Qwen Code through every scenario.
func TestScenarios(t *testing.T) {
	t.Parallel()
	qwencli.Agent.Run(t, scenarios())
}

// TestRemovedHookspanDisturbsNothing removes hookspan while its hooks are installed.
func TestRemovedHookspanDisturbsNothing(t *testing.T) {
	t.Parallel()
	qwencli.Agent.RemovedDisturbsNothing(t, llm.Script{Main: []llm.Turn{turn("Run.", shell("echo one")), turn("Done.")}}, qwen("run it"), 2)
}

func TestTwoAtOnceInARun(t *testing.T) {
	t.Parallel()
	qwencli.Agent.InRun(t, qwencli.Agent.Program, llm.Script{Main: []llm.Turn{turn("First."), turn("Second.")}}, qwen("do it"))
}

package geminicli_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/geminicli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestMain(m *testing.M) { rig.Main(m) }

func shell(command string) llm.Call {
	return llm.Call{Name: "run_shell_command", Args: map[string]any{"command": command, "description": "runs"}}
}

func read(name string) llm.Call {
	return llm.Call{Name: "read_file", Args: map[string]any{"file_path": name}}
}

var turn = llm.Answer

var ok, bad = scenario.OK, scenario.Bad

func gemini(prompt string, args ...string) rig.Step {
	return rig.Step{Args: append(args, "--yolo", "-p", prompt), Timeout: 3 * time.Minute}
}

// denies is a hook of the user's.
const denies = scenario.Deny + "exit 0"

const failed, denied, cancelled = scenario.Failed, scenario.Denied, scenario.Cancelled

func scenarios() map[string]scenario.Case {
	const parallel = 8
	calls, tools := scenario.Parallel(parallel, shell)
	write := llm.Call{Name: "write_file", Args: map[string]any{"file_path": "new.txt", "content": "made by the agent"}}
	const start, prompt, stop, end, pre, post = "SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd", "BeforeTool", "AfterTool"
	return map[string]scenario.Case{
		// A start of the Gemini CLI takes seconds, so one meets much of what can happen to a call.
		"tools, parallel, equal, denied, second turn": {
			More: map[string]string{
				pre: denies,
			},
			Script: llm.Script{Main: []llm.Turn{
				turn("Three at once.", shell("echo one"), shell("echo worse >&2; exit 3"), write),
				turn("Again.", read("missing.txt"), llm.Call{Name: "no_such_tool", Args: map[string]any{"x": "y"}}),
				turn("Two.", shell("echo forbidden"), shell("echo good")),
				turn("All.", calls...),
				turn("Twice.", read("a.txt"), read("a.txt")),
				turn("All done."),
				turn("Read.", read("b.txt")),
				turn("Second."),
			}},
			Steps: []rig.Step{gemini("fix the login"), gemini("go on", "--resume", "latest")}, Exits: []int{0, 0},
			Hooks: map[string]int{start: 2, prompt: 2, pre: 9 + parallel, post: 8 + parallel, stop: 2, end: 2},
			Traces: []scenario.Trace{
				{Requests: 6, Outcome: otelmap.OutcomeCompleted, Tools: slices.Concat([]scenario.Tool{
					ok("one"), bad(failed, "worse"), ok("new.txt"), bad(failed, "not found"), bad(failed, "not found"), bad(denied, "a hook says no"), ok("good"),
				}, tools, []scenario.Tool{ok("alpha"), ok("alpha")})},
				{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("beta")}},
			},
		},
		"subagent": {
			Script: llm.Script{
				Main: []llm.Turn{
					turn("Delegate.", llm.Call{Name: "invoke_agent", Args: map[string]any{"agent_name": "codebase_investigator", "prompt": "look around the house"}}, read("a.txt")),
					turn("Delegated."),
				},
				Sub: []llm.Turn{
					turn("Sub looks.", read("a.txt"), read("nope.txt")),
					turn("", llm.Call{Name: "complete_task", Args: map[string]any{"report": map[string]any{
						"SummaryOfFindings": "a house", "ExplorationTrace": []string{"looked"}, "RelevantLocations": []any{},
					}}}),
				},
			},
			Steps: []rig.Step{gemini("delegate it")}, Exits: []int{0},
			Hooks: map[string]int{start: 1, prompt: 1, pre: 5, post: 5, stop: 1, end: 1},
			Traces: []scenario.Trace{{Requests: 4, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{
				ok("a house"), ok("alpha"), {Text: "alpha", Under: 0}, {Error: failed, Text: "not found", Under: 0}, {Text: "completed", Under: 0},
			}}},
		},
		// What a hook answers to the end of a turn is a prompt of its own.
		"blocked stop": {
			More: map[string]string{stop: scenario.BlockOnce + "exit 0"},
			Script: llm.Script{Main: []llm.Turn{
				turn("First answer."), turn("Going on.", shell("echo more")), turn("Second answer."),
			}},
			Steps: []rig.Step{gemini("do all of it")}, Exits: []int{0},
			Hooks: map[string]int{start: 1, prompt: 2, pre: 1, post: 1, stop: 2, end: 1},
			Traces: []scenario.Trace{
				{Requests: 1, Outcome: otelmap.OutcomeCompleted},
				{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("more")}},
			},
		},
		"interrupted tool": {
			Script: llm.Script{Main: []llm.Turn{
				turn("Long.", shell(scenario.Long)), turn("Never."),
			}},
			Steps: []rig.Step{scenario.Interrupted(gemini("start something long"))}, Exits: []int{scenario.AnyCode}, // 0 or 130
			Hooks:  map[string]int{start: 1, prompt: 1, pre: 1, end: 1},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeInterrupted, Tools: []scenario.Tool{bad(cancelled, "")}}},
			Leaves: true,
		},
		// No hook and no file says that a request failed.
		"provider error": {
			Script: llm.Script{Main: []llm.Turn{{HTTPError: 400}}},
			Steps:  []rig.Step{gemini("never answered")}, Exits: []int{1},
			Hooks:  map[string]int{start: 1, prompt: 1, end: 1},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeInterrupted}},
		},
	}
}

// TestScenarios puts the Gemini CLI through every scenario.
func TestScenarios(t *testing.T) {
	t.Parallel()
	geminicli.Agent.Run(t, scenarios())
}

// TestRemovedHookspanDisturbsNothing removes hookspan while its hooks are installed.
func TestRemovedHookspanDisturbsNothing(t *testing.T) {
	t.Parallel()
	geminicli.Agent.RemovedDisturbsNothing(t, llm.Script{Main: []llm.Turn{turn("Run.", shell("echo one")), turn("Done.")}}, gemini("run it"), 2)
}

func TestTwoAtOnceInARun(t *testing.T) {
	t.Parallel()
	geminicli.Agent.InRun(t, geminicli.Agent.Program, llm.Script{Main: []llm.Turn{turn("First."), turn("Second.")}}, gemini("do it"))
}

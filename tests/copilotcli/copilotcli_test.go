package copilotcli_test

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/copilotcli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestMain(m *testing.M) { rig.Main(m) }

func shell(command string) llm.Call {
	return llm.Call{Name: "bash", Args: map[string]any{"command": command, "description": "runs"}}
}

func view(name string) llm.Call {
	return llm.Call{Name: "view", Args: map[string]any{"path": rig.WordWorkspace + "/" + name}}
}

func task(kind string) llm.Call {
	return llm.Call{Name: "task", Args: map[string]any{
		"agent_type": kind, "name": "looker", "description": "look around", "prompt": "look around the house", "mode": "sync",
	}}
}

var turn = llm.Answer

// ofSub is a turn of a subagent that can start agents itself.
func ofSub(t llm.Turn) llm.Turn {
	t.Sub = true
	return t
}

var ok, bad = scenario.OK, scenario.Bad

func copilot(prompt string, args ...string) rig.Step {
	return rig.Step{Args: append(args, "--allow-all-tools", "--allow-all-paths", "-p", prompt), Timeout: 3 * time.Minute}
}

// denies is a hook of the user's.
const denies = `payload=$(cat); case $payload in *forbidden*) echo '{"permissionDecision":"deny","permissionDecisionReason":"a hook says no"}';; esac`

const failed, denied, cancelled = scenario.Failed, scenario.Denied, scenario.Cancelled

func scenarios() map[string]scenario.Case {
	const parallel = 8
	calls, tools := scenario.Parallel(parallel, shell)
	create := llm.Call{Name: "create", Args: map[string]any{"path": rig.WordWorkspace + "/new.txt", "file_text": "made by the agent"}}
	const start, prompt, stop, end, pre, post, fails = "sessionStart", "userPromptSubmitted", "agentStop", "sessionEnd", "preToolUse", "postToolUse", "postToolUseFailure"
	return map[string]scenario.Case{
		// A start of Copilot takes seconds, so one meets much of what can happen to a call.
		"tools, parallel, denied, second turn": {
			More: map[string]string{
				pre: denies,
			},
			Script: llm.Script{Main: []llm.Turn{
				turn("Three at once.", shell("echo one"), shell("echo worse >&2; exit 3"), create),
				turn("Again.", view("missing.txt"), llm.Call{Name: "no_such_tool", Args: map[string]any{"x": "y"}}),
				turn("Two.", shell("echo forbidden"), shell("echo good")),
				turn("All.", calls...),
				turn("All done."),
				turn("Read.", view("b.txt")),
				turn("Second."),
			}},
			Steps: []rig.Step{copilot("fix the login"), copilot("go on", "--continue")}, Exits: []int{0, 0},
			Hooks: map[string]int{start: 2, prompt: 2, pre: 8 + parallel, post: 5 + parallel, fails: 2, stop: 2, end: 2},
			Traces: []scenario.Trace{
				{Requests: 5, Outcome: otelmap.OutcomeCompleted, Tools: append([]scenario.Tool{
					ok("one"), bad(failed, "worse"), ok("new.txt"), bad(failed, "does not exist"), bad(failed, "does not exist"), bad(denied, "a hook says no"), ok("good"),
				}, tools...)},
				{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("beta")}},
			},
		},
		"subagent": {
			Script: llm.Script{
				Main: []llm.Turn{turn("Delegate.", task("explore")), turn("Delegated.")},
				Sub:  []llm.Turn{turn("Sub looks.", view("a.txt"), view("nope.txt")), turn("Sub done.")},
			},
			Steps: []rig.Step{copilot("delegate it")}, Exits: []int{0},
			Hooks: map[string]int{start: 1, prompt: 2, pre: 3, post: 2, fails: 1, "subagentStart": 1, "subagentStop": 1, stop: 2, end: 1},
			Traces: []scenario.Trace{{Requests: 4, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{
				ok("Sub done."), {Text: "alpha", Under: 0}, {Error: failed, Text: "does not exist", Under: 0},
			}}},
		},
		"subagent of a subagent": {
			Script: llm.Script{
				Main: []llm.Turn{
					turn("Delegate.", task("general-purpose")), ofSub(turn("Delegate further.", task("explore"))),
					ofSub(turn("Outer runs.", shell("echo outer; exit 3"))), ofSub(turn("Outer done.")), turn("Delegated."),
				},
				Sub: []llm.Turn{turn("Inner looks.", view("a.txt"), view("nope.txt")), turn("Inner done.")},
			},
			Steps: []rig.Step{copilot("delegate it")}, Exits: []int{0},
			Hooks: map[string]int{start: 1, prompt: 3, pre: 5, post: 4, fails: 1, "subagentStart": 2, "subagentStop": 2, stop: 3, end: 1},
			Traces: []scenario.Trace{{Requests: 7, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{
				ok("Outer done."),
				{Text: "Inner done.", Under: 0},
				{Text: "alpha", Under: 1},
				{Error: failed, Text: "does not exist", Under: 1},
				{Error: failed, Text: "outer", Under: 0},
			}}},
		},
		"Claude Code's hooks in the project": {
			Script: llm.Script{Main: []llm.Turn{turn("Run.", shell("echo one")), turn("Done.")}},
			Steps:  []rig.Step{copilot("run it")}, Exits: []int{0},
			Hooks:  map[string]int{start: 1, prompt: 1, pre: 1, post: 1, stop: 1, end: 1},
			Traces: []scenario.Trace{{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("one")}}},
			Also:   []string{"claude"},
			Env:    map[string]string{"COPILOT_ALLOW_ALL": "true"}, // it runs a trusted project's hooks of Claude Code, too
		},
		"blocked stop": {
			More: map[string]string{stop: `mkdir "$HOME/blocked" 2>/dev/null && echo '{"decision":"block","reason":"` + copilotcli.Reason + `"}'; true`},
			Script: llm.Script{Main: []llm.Turn{
				turn("First answer."), turn("Going on.", shell("echo more")), turn("Second answer."),
			}},
			Steps: []rig.Step{copilot("do all of it")}, Exits: []int{0},
			Hooks: map[string]int{start: 1, prompt: 2, pre: 1, post: 1, stop: 2, end: 1},
			Traces: []scenario.Trace{{
				Requests: 3, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("more")}, Blocked: true,
			}},
		},
		"interrupted tool": {
			Script: llm.Script{Main: []llm.Turn{
				turn("Long.", shell(scenario.Long)), turn("Never."),
			}},
			Steps: []rig.Step{scenario.Interrupted(copilot("start something long"))}, Exits: []int{0},
			Hooks:  map[string]int{start: 1, prompt: 1, pre: 1, end: 1},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeInterrupted, Tools: []scenario.Tool{bad(cancelled, "")}}},
		},
		"provider error": {
			Script: llm.Script{Main: []llm.Turn{{HTTPError: 400}}},
			Steps:  []rig.Step{copilot("never answered")}, Exits: []int{1},
			Hooks:  map[string]int{start: 1, prompt: 1, "errorOccurred": 1, end: 1},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeFailed, Message: "scripted refusal"}},
		},
	}
}

// TestScenarios puts Copilot through every scenario.
func TestScenarios(t *testing.T) {
	t.Parallel()
	copilotcli.Agent.Run(t, scenarios())
}

// TestRemovedHookspanDisturbsNothing removes hookspan while its hooks are installed.
func TestRemovedHookspanDisturbsNothing(t *testing.T) {
	t.Parallel()
	copilotcli.Agent.RemovedDisturbsNothing(t, llm.Script{Main: []llm.Turn{turn("Run.", shell("echo one")), turn("Done.")}}, copilot("run it"), 2)
}

// TestManagedHooksRunOnce has a failing tool of each kind.
func TestManagedHooksRunOnce(t *testing.T) {
	t.Parallel()
	copilotcli.Agent.ManagedRunOnce(t, &scenario.Case{
		More: map[string]string{"preToolUse": denies},
		Script: llm.Script{Main: []llm.Turn{
			turn("Run.", shell("echo one"), shell("echo worse >&2; exit 3"), shell("echo forbidden")),
			turn("View.", view("missing.txt"), llm.Call{Name: "no_such_tool", Args: map[string]any{"x": "y"}}),
			turn("Done."),
		}},
		Steps:  []rig.Step{copilot("run it")},
		Traces: []scenario.Trace{{Tools: []scenario.Tool{ok(""), bad(failed, ""), bad(denied, ""), bad(failed, ""), bad(failed, "")}}},
	}, nil)
}

func TestTwoAtOnceInARun(t *testing.T) {
	t.Parallel()
	copilotcli.Agent.InRun(t, copilotcli.Agent.Program, llm.Script{Main: []llm.Turn{turn("First."), turn("Second.")}}, copilot("do it"))
}

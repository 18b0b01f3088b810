package claudecli_test

import (
	"fmt"
	"syscall"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// scenario is what Claude Code is put through and what must come of it.
type scenario struct {
	settings claudecli.Settings
	script   mockanthropic.Script
	// steps are the invocations of the program, exits their exit codes.
	steps []rig.Step
	exits []int
	// hooks counts the events Claude Code itself reported.
	hooks map[string]int
	// traces are the expected ones in order, one for each reported prompt.
	traces []wantTrace
}

// wantTrace is one expected trace. What the model's log and the reported prompt
// say is not repeated here.
type wantTrace struct {
	// label is the label of the model's turns that belong to the trace.
	label   string
	outcome string
	// task is the root's task where it is not the reported prompt.
	task string
	// title is the title in the list, where the prompt is a line.
	title string
	// message is a part of the root's status message.
	message string
	// tools are the calls in the order of the model's log.
	tools []claudecli.WantTool
	// blocked says that one of the user's hooks refused a stop.
	blocked bool
}

func bash(command string) mockanthropic.ToolCall {
	return mockanthropic.ToolCall{Name: "Bash", Input: map[string]any{"command": command, "description": "a command"}}
}

func read(path string) mockanthropic.ToolCall {
	return mockanthropic.ToolCall{Name: "Read", Input: map[string]any{"file_path": path}}
}

// subWhen is in the task of every subagent.
const subWhen = "look around the house"

func agent(background bool) mockanthropic.ToolCall {
	return mockanthropic.ToolCall{Name: "Agent", Input: map[string]any{
		"description": "Look around", "prompt": subWhen, "subagent_type": "general-purpose", "run_in_background": background,
	}}
}

// turn is an answer of the first run.
func turn(text string, calls ...mockanthropic.ToolCall) mockanthropic.Turn {
	return labelled("one", text, calls...)
}

func labelled(label, text string, calls ...mockanthropic.ToolCall) mockanthropic.Turn {
	return mockanthropic.Turn{Text: text, Tools: calls, Label: label}
}

func ok(text string) claudecli.WantTool { return claudecli.WantTool{Text: text, Under: -1} }

func bad(kind, text string) claudecli.WantTool {
	return claudecli.WantTool{Error: kind, Text: text, Under: -1}
}

// under moves tools to the subagent of call k.
func under(k int, tools ...claudecli.WantTool) []claudecli.WantTool {
	for i := range tools {
		tools[i].Under = k
	}
	return tools
}

func claude(prompt string, args ...string) rig.Step {
	args = append([]string{"-p", prompt, "--output-format", "json", "--permission-mode", "bypassPermissions"}, args...)
	return rig.Step{Args: args, Timeout: 90 * time.Second}
}

// hooks counts what one invocation with one prompt reports, and more.
func hooks(more map[string]int) map[string]int {
	out := map[string]int{"SessionStart": 1, "UserPromptSubmit": 1, "Stop": 1, "SessionEnd": 1}
	for k, n := range more {
		if out[k] += n; out[k] == 0 {
			delete(out, k)
		}
	}
	return out
}

// scenarios gives every scenario by its name.
func scenarios() map[string]scenario {
	return map[string]scenario{
		"tools":                toolsScenario(),
		"second turn":          secondTurn(),
		"subagent":             subagent(),
		"nested subagents":     nested(),
		"background subagent":  background(),
		"api error":            apiError(),
		"interrupted tool":     interruptedTool(),
		"blocked stop":         blockedStop(0),
		"stop blocked late":    blockedStop(5),
		"malformed GOMEMLIMIT": malformedLimit(),
		"twenty tools":         twentyTools(),
		"denied tool":          deniedTool(),
	}
}

// toolsScenario has three tools in one answer, one of which fails, and then a
// file that is not there.
func toolsScenario() scenario {
	write := mockanthropic.ToolCall{Name: "Write", Input: map[string]any{"file_path": rig.WordWorkspace + "/a.txt", "content": "hello"}}
	return scenario{
		script: mockanthropic.Script{Main: []mockanthropic.Turn{
			turn("Three at once.", bash("echo one"), bash("echo worse >&2; exit 3"), write),
			turn("Again.", read(rig.WordWorkspace+"/missing.txt")),
			turn("All done."),
		}},
		steps: []rig.Step{claude("fix the login")}, exits: []int{0},
		hooks: hooks(map[string]int{"PreToolUse": 4, "PostToolUse": 2, "PostToolUseFailure": 2, "PostToolBatch": 2}),
		traces: []wantTrace{{
			label: "one", outcome: otelmap.OutcomeCompleted, title: "fix the login",
			tools: []claudecli.WantTool{
				ok("one"), bad(otelmap.ErrorToolFailure, "worse"), ok("a.txt"), bad(otelmap.ErrorToolFailure, "does not exist"),
			},
		}},
	}
}

// secondTurn continues the session in a second process.
func secondTurn() scenario {
	return scenario{
		script: mockanthropic.Script{Main: []mockanthropic.Turn{
			turn("Run.", bash("echo one")), turn("First."), labelled("two", "Run.", bash("echo two")), labelled("two", "Second."),
		}},
		steps: []rig.Step{claude("begin"), claude("go on", "-c")}, exits: []int{0, 0},
		hooks: map[string]int{
			"SessionStart": 2, "UserPromptSubmit": 2, "Stop": 2, "SessionEnd": 2, "PreToolUse": 2, "PostToolUse": 2, "PostToolBatch": 2,
		},
		traces: []wantTrace{
			{label: "one", outcome: otelmap.OutcomeCompleted, title: "begin", tools: []claudecli.WantTool{ok("one")}},
			{label: "two", outcome: otelmap.OutcomeCompleted, title: "go on", tools: []claudecli.WantTool{ok("two")}},
		},
	}
}

// subTurns are a subagent's: a tool that works and one that fails.
func subTurns(command string) []mockanthropic.Turn {
	return []mockanthropic.Turn{turn("Sub looks.", bash(command), read("/nope")), turn("Sub done.")}
}

// subagent has a subagent whose end the model waits for.
func subagent() scenario {
	return scenario{
		script: mockanthropic.Script{
			Main: []mockanthropic.Turn{turn("Delegate.", agent(false)), turn("Delegated.")},
			Sub:  subTurns("echo sub"), SubWhen: subWhen,
		},
		steps: []rig.Step{claude("delegate it")}, exits: []int{0},
		hooks: hooks(map[string]int{
			"PreToolUse": 3, "PostToolUse": 2, "PostToolUseFailure": 1, "PostToolBatch": 2, "SubagentStart": 1, "SubagentStop": 1,
		}),
		traces: []wantTrace{{
			label: "one", outcome: otelmap.OutcomeCompleted, title: "delegate it",
			tools: append([]claudecli.WantTool{ok("Sub done.")}, under(0, ok("sub"), bad(otelmap.ErrorToolFailure, "does not exist"))...),
		}},
	}
}

// nested has a subagent that starts another one.
func nested() scenario {
	return scenario{
		script: mockanthropic.Script{
			Main: []mockanthropic.Turn{turn("Delegate.", agent(false)), turn("Delegated.")},
			Sub: []mockanthropic.Turn{
				turn("Delegate again.", agent(false)), turn("Deep.", bash("echo deep")), turn("Deep done."), turn("Sub done."),
			},
			SubWhen: subWhen,
		},
		steps: []rig.Step{claude("delegate it twice")}, exits: []int{0},
		hooks: hooks(map[string]int{"PreToolUse": 3, "PostToolUse": 3, "PostToolBatch": 3, "SubagentStart": 2, "SubagentStop": 2}),
		traces: []wantTrace{{
			label: "one", outcome: otelmap.OutcomeCompleted, title: "delegate it twice",
			tools: []claudecli.WantTool{ok("Sub done."), {Text: "Deep done.", Under: 0}, {Text: "deep", Under: 1}},
		}},
	}
}

// background has a subagent that works on after the turn that started it has
// ended. Its end makes Claude Code open a turn by itself.
func background() scenario {
	// What the prompt of that turn, a piece of markup, comes down to.
	const finished = `Agent "Look around" finished`
	// The subagent's first tool runs until the turn has ended.
	wait := "for i in $(seq 200); do ls " + rig.WordRecords + " | grep -q -- -Stop.json && break; sleep 0.1; done; echo sub"
	return scenario{
		script: mockanthropic.Script{
			Main: []mockanthropic.Turn{turn("Delegate.", agent(true)), turn("Delegated."), labelled("two", "It has looked around.")},
			Sub:  subTurns(wait), SubWhen: subWhen,
		},
		steps: []rig.Step{claude("delegate it for later")}, exits: []int{0},
		hooks: hooks(map[string]int{
			"PreToolUse": 3, "PostToolUse": 2, "PostToolUseFailure": 1, "PostToolBatch": 2, "SubagentStart": 1, "SubagentStop": 1,
			"UserPromptSubmit": 1, "Stop": 1,
		}),
		traces: []wantTrace{
			{
				label: "one", outcome: otelmap.OutcomeCompleted, title: "delegate it for later",
				tools: append([]claudecli.WantTool{ok("")}, under(0, ok("sub"), bad(otelmap.ErrorToolFailure, "does not exist"))...),
			},
			{label: "two", outcome: otelmap.OutcomeCompleted, task: finished, title: finished},
		},
	}
}

// apiError is a model that refuses. Claude Code does not wait for the hooks of
// StopFailure before it ends, so that they may never be heard of: what ended the
// run is in a separate file then.
func apiError() scenario {
	refusal := mockanthropic.Turn{HTTPError: 400, Message: "scripted refusal", Label: "one"}
	return scenario{
		script: mockanthropic.Script{Main: []mockanthropic.Turn{refusal}},
		steps:  []rig.Step{claude("never answered")}, exits: []int{1},
		hooks:  hooks(map[string]int{"Stop": -1}),
		traces: []wantTrace{{label: "one", outcome: otelmap.OutcomeFailed, title: "never answered", message: "scripted refusal"}},
	}
}

// interruptedTool is Ctrl-C while a command runs.
func interruptedTool() scenario {
	step := claude("start something long")
	step.Signal = &rig.Signal{Number: syscall.SIGINT, When: rig.Condition{Mark: true}}
	return scenario{
		script: mockanthropic.Script{Main: []mockanthropic.Turn{
			turn("Long.", bash("echo running > "+rig.WordMark+"; tail -f /dev/null")), turn("Never."),
		}},
		steps: []rig.Step{step}, exits: []int{0},
		hooks: hooks(map[string]int{"Stop": -1, "PreToolUse": 1}),
		traces: []wantTrace{{
			label: "one", outcome: otelmap.OutcomeInterrupted, title: "start something long",
			tools: []claudecli.WantTool{bad(otelmap.ErrorToolCancelled, "")},
		}},
	}
}

// blockedStop has a user's hook that makes Claude Code continue once, so many
// seconds after the answer that seemed to be the last.
func blockedStop(after int) scenario {
	return scenario{
		settings: claudecli.Settings{BlockStop: "go on", BlockAfter: after},
		script: mockanthropic.Script{Main: []mockanthropic.Turn{
			turn("First answer."), turn("Going on.", bash("echo more")), turn("Second answer."),
		}},
		steps: []rig.Step{claude("do all of it")}, exits: []int{0},
		hooks: hooks(map[string]int{"Stop": 1, "PreToolUse": 1, "PostToolUse": 1, "PostToolBatch": 1}),
		traces: []wantTrace{{
			label: "one", outcome: otelmap.OutcomeCompleted, title: "do all of it", blocked: true, tools: []claudecli.WantTool{ok("more")},
		}},
	}
}

// malformedLimit runs Claude Code in an environment in which no Go program
// starts: the hooks must not be what makes it stop.
func malformedLimit() scenario {
	s := toolsScenario()
	s.steps[0].Env = map[string]string{"GOMEMLIMIT": "1GB", "GODEBUG": "fips140=bogus"}
	return s
}

// twentyTools has as many tools at once.
func twentyTools() scenario {
	const n = 20
	calls := make([]mockanthropic.ToolCall, n)
	tools := make([]claudecli.WantTool, n)
	for i := range calls {
		calls[i], tools[i] = bash(fmt.Sprintf("echo n%d.", i)), ok(fmt.Sprintf("n%d.", i))
	}
	return scenario{
		script: mockanthropic.Script{Main: []mockanthropic.Turn{turn("Twenty.", calls...), turn("Done.")}},
		steps:  []rig.Step{claude("count")}, exits: []int{0},
		hooks:  hooks(map[string]int{"PreToolUse": n, "PostToolUse": n, "PostToolBatch": 1}),
		traces: []wantTrace{{label: "one", outcome: otelmap.OutcomeCompleted, title: "count", tools: tools}},
	}
}

// deniedTool has a rule of the user's that refuses one of two tools.
func deniedTool() scenario {
	return scenario{
		settings: claudecli.Settings{Deny: []string{"Bash(echo bad*)"}},
		script:   mockanthropic.Script{Main: []mockanthropic.Turn{turn("Two.", bash("echo bad thing"), bash("echo good")), turn("Only one.")}},
		steps:    []rig.Step{claude("run both")}, exits: []int{0},
		hooks: hooks(map[string]int{"PreToolUse": 2, "PostToolUse": 1, "PostToolBatch": 1}),
		traces: []wantTrace{{
			label: "one", outcome: otelmap.OutcomeCompleted, title: "run both",
			tools: []claudecli.WantTool{bad(otelmap.ErrorToolDenied, "denied"), ok("good")},
		}},
	}
}

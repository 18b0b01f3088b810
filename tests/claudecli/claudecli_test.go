package claudecli_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestMain(m *testing.M) { rig.Main(m) }

func bash(command string) llm.Call {
	return llm.Call{Name: "Bash", Args: map[string]any{"command": command, "description": "a command"}}
}

func read(path string) llm.Call {
	return llm.Call{Name: "Read", Args: map[string]any{"file_path": path}}
}

// edit is a change that does not fit the file.
func edit(path string) llm.Call {
	return llm.Call{Name: "Edit", Args: map[string]any{"file_path": path, "old_string": "not there", "new_string": "x"}}
}

func agent(background bool) llm.Call {
	return llm.Call{Name: "Agent", Args: map[string]any{
		"description": "Look around", "prompt": claudecli.SubWhen, "subagent_type": "general-purpose", "run_in_background": background,
	}}
}

var turn = llm.Answer

var ok, bad = scenario.OK, scenario.Bad

// under moves tools to the subagent of call k.
func under(k int, tools ...scenario.Tool) []scenario.Tool {
	for i := range tools {
		tools[i].Under = k
	}
	return tools
}

func claude(prompt string, args ...string) rig.Step {
	args = append([]string{"-p", prompt, "--output-format", "json", "--permission-mode", "bypassPermissions"}, args...)
	return rig.Step{Args: args, Timeout: 3 * time.Minute}
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
func scenarios() map[string]scenario.Case {
	return map[string]scenario.Case{
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
func toolsScenario() scenario.Case {
	write := llm.Call{Name: "Write", Args: map[string]any{"file_path": rig.WordWorkspace + "/new.txt", "content": "hello"}}
	return scenario.Case{
		Script: llm.Script{Main: []llm.Turn{
			turn("Three at once.", bash("echo one"), bash("echo worse >&2; exit 3"), write),
			turn("Again.", read(rig.WordWorkspace+"/missing.txt")),
			turn("All done."),
		}},
		Steps: []rig.Step{claude("fix the login")}, Exits: []int{0},
		Hooks: hooks(map[string]int{"PreToolUse": 4, "PostToolUse": 2, "PostToolUseFailure": 2, "PostToolBatch": 2}),
		Traces: []scenario.Trace{{
			Requests: 3, Outcome: otelmap.OutcomeCompleted,
			Tools: []scenario.Tool{
				ok("one"), bad(otelmap.ErrorToolFailure, "worse"), ok("new.txt"), bad(otelmap.ErrorToolFailure, "does not exist"),
			},
		}},
	}
}

// secondTurn continues the session in a second process.
func secondTurn() scenario.Case {
	return scenario.Case{
		Script: llm.Script{Main: []llm.Turn{
			turn("Run.", bash("echo one")), turn("First."), turn("Run.", bash("echo two")), turn("Second."),
		}},
		Steps: []rig.Step{claude("begin"), claude("go on", "-c")}, Exits: []int{0, 0},
		Hooks: map[string]int{
			"SessionStart": 2, "UserPromptSubmit": 2, "Stop": 2, "SessionEnd": 2, "PreToolUse": 2, "PostToolUse": 2, "PostToolBatch": 2,
		},
		Traces: []scenario.Trace{
			{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("one")}},
			{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("two")}},
		},
	}
}

// subTurns are a subagent's: a tool that works and one that fails.
func subTurns(command string) []llm.Turn {
	return []llm.Turn{turn("Sub looks.", bash(command), read("/nope")), turn("Sub done.")}
}

// subagent has a subagent whose end the model waits for.
func subagent() scenario.Case {
	return scenario.Case{
		Script: llm.Script{
			Main: []llm.Turn{turn("Delegate.", agent(false)), turn("Delegated.")},
			Sub:  subTurns("echo sub"),
		},
		Steps: []rig.Step{claude("delegate it")}, Exits: []int{0},
		Hooks: hooks(map[string]int{
			"PreToolUse": 3, "PostToolUse": 2, "PostToolUseFailure": 1, "PostToolBatch": 2, "SubagentStart": 1, "SubagentStop": 1,
		}),
		Traces: []scenario.Trace{{
			Requests: 4, Outcome: otelmap.OutcomeCompleted,
			Tools: append([]scenario.Tool{ok("Sub done.")}, under(0, ok("sub"), bad(otelmap.ErrorToolFailure, "does not exist"))...),
		}},
	}
}

// nested has a subagent that starts another one.
func nested() scenario.Case {
	return scenario.Case{
		Script: llm.Script{
			Main: []llm.Turn{turn("Delegate.", agent(false)), turn("Delegated.")},
			Sub: []llm.Turn{
				turn("Delegate again.", agent(false)), turn("Deep.", bash("echo deep")), turn("Deep done."), turn("Sub done."),
			},
		},
		Steps: []rig.Step{claude("delegate it twice")}, Exits: []int{0},
		Hooks: hooks(map[string]int{"PreToolUse": 3, "PostToolUse": 3, "PostToolBatch": 3, "SubagentStart": 2, "SubagentStop": 2}),
		Traces: []scenario.Trace{{
			Requests: 6, Outcome: otelmap.OutcomeCompleted,
			Tools: []scenario.Tool{ok("Sub done."), {Text: "Deep done.", Under: 0}, {Text: "deep", Under: 1}},
		}},
	}
}

// background has a subagent that works on after the turn that started it has
// ended. Its end makes Claude Code open a turn by itself.
func background() scenario.Case {
	// What the prompt of that turn, a piece of markup, comes down to.
	const finished = `Agent "Look around" finished`
	// The subagent's first tool runs until the turn has ended.
	wait := "for i in $(seq 200); do ls " + rig.WordRecords + " | grep -q -- -Stop.json && break; sleep 0.1; done; echo sub"
	return scenario.Case{
		Script: llm.Script{
			Main: []llm.Turn{turn("Delegate.", agent(true)), turn("Delegated."), turn("It has looked around.")},
			Sub:  subTurns(wait),
		},
		Steps: []rig.Step{claude("delegate it for later")}, Exits: []int{0},
		Hooks: hooks(map[string]int{
			"PreToolUse": 3, "PostToolUse": 2, "PostToolUseFailure": 1, "PostToolBatch": 2, "SubagentStart": 1, "SubagentStop": 1,
			"UserPromptSubmit": 1, "Stop": 1,
		}),
		Traces: []scenario.Trace{
			{
				Requests: 4, Outcome: otelmap.OutcomeCompleted,
				Tools: append([]scenario.Tool{ok("")}, under(0, ok("sub"), bad(otelmap.ErrorToolFailure, "does not exist"))...),
			},
			{Requests: 1, Outcome: otelmap.OutcomeCompleted, Task: finished},
		},
	}
}

// apiError is a model that refuses. Claude Code does not wait for the hooks of
// StopFailure before it ends, so that they may never be heard of: what ended the
// run is in a separate file then.
func apiError() scenario.Case {
	return scenario.Case{
		Script: llm.Script{Main: []llm.Turn{{HTTPError: 400}}},
		Steps:  []rig.Step{claude("never answered")}, Exits: []int{1},
		Hooks:  hooks(map[string]int{"Stop": -1}),
		Traces: []scenario.Trace{{Requests: scenario.Rest, Outcome: otelmap.OutcomeFailed, Message: "scripted refusal"}}, // it tries again
	}
}

// interruptedTool is Ctrl-C while a command runs.
func interruptedTool() scenario.Case {
	return scenario.Case{
		Script: llm.Script{Main: []llm.Turn{
			turn("Long.", bash(scenario.Long)), turn("Never."),
		}},
		Steps: []rig.Step{scenario.Interrupted(claude("start something long"))}, Exits: []int{0},
		Hooks: hooks(map[string]int{"Stop": -1, "PreToolUse": 1}),
		Traces: []scenario.Trace{{
			Requests: 1, Outcome: otelmap.OutcomeInterrupted,
			Tools: []scenario.Tool{bad(otelmap.ErrorToolCancelled, "")},
		}},
	}
}

// blockedStop has a user's hook that makes Claude Code continue once, so many
// seconds after the answer that seemed to be the last.
func blockedStop(after int) scenario.Case {
	return scenario.Case{
		More: map[string]string{"Stop": fmt.Sprintf("mkdir blocked 2>/dev/null || exit 0; sleep %d; echo 'go on' >&2; exit 2", after)},
		Script: llm.Script{Main: []llm.Turn{
			turn("First answer."), turn("Going on.", bash("echo more")), turn("Second answer."),
		}},
		Steps: []rig.Step{claude("do all of it")}, Exits: []int{0},
		Hooks: hooks(map[string]int{"Stop": 1, "PreToolUse": 1, "PostToolUse": 1, "PostToolBatch": 1}),
		Traces: []scenario.Trace{{
			Requests: 3, Outcome: otelmap.OutcomeCompleted, Blocked: true, Tools: []scenario.Tool{ok("more")},
		}},
	}
}

// malformedLimit runs Claude Code in an environment in which no Go program
// starts: the hooks must not be what makes it stop.
func malformedLimit() scenario.Case {
	s := toolsScenario()
	s.Steps[0].Env = map[string]string{"GOMEMLIMIT": "1GB", "GODEBUG": "fips140=bogus"}
	return s
}

// twentyTools has as many tools at once.
func twentyTools() scenario.Case {
	const n = 20
	calls, tools := scenario.Parallel(n, bash)
	return scenario.Case{
		Script: llm.Script{Main: []llm.Turn{turn("Twenty.", calls...), turn("Done.")}},
		Steps:  []rig.Step{claude("count")}, Exits: []int{0},
		Hooks:  hooks(map[string]int{"PreToolUse": n, "PostToolUse": n, "PostToolBatch": 1}),
		Traces: []scenario.Trace{{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: tools}},
	}
}

// deniedTool has a rule of the user's that refuses one of two tools.
func deniedTool() scenario.Case {
	return scenario.Case{
		More:   map[string]string{"deny": "Bash(echo bad*)"},
		Script: llm.Script{Main: []llm.Turn{turn("Two.", bash("echo bad thing"), bash("echo good")), turn("Only one.")}},
		Steps:  []rig.Step{claude("run both")}, Exits: []int{0},
		Hooks: hooks(map[string]int{"PreToolUse": 2, "PostToolUse": 1, "PostToolBatch": 1}),
		Traces: []scenario.Trace{{
			Requests: 2, Outcome: otelmap.OutcomeCompleted,
			Tools: []scenario.Tool{bad(otelmap.ErrorToolDenied, "denied"), ok("good")},
		}},
	}
}

// TestScenarios puts Claude Code through every scenario.
func TestScenarios(t *testing.T) {
	t.Parallel()
	claudecli.Agent.Run(t, scenarios())
}

// TestManagedHooksRunOnce has a failing tool of each kind, and a managed file of hookspan's
// as well: no text leaves.
func TestManagedHooksRunOnce(t *testing.T) {
	t.Parallel()
	c := scenario.Case{
		More: map[string]string{"deny": "Bash(echo bad*)"},
		Script: llm.Script{Main: []llm.Turn{
			turn("Run.", bash("echo one"), bash("echo worse >&2; exit 3"), bash("echo bad thing")),
			turn("Read.", read(rig.WordWorkspace+"/missing.txt"), edit(rig.WordWorkspace+"/a.txt")),
			turn("None such.", llm.Call{Name: "NoSuchTool", Args: map[string]any{"x": "y"}}),
			turn("All done."),
		}},
		Steps: []rig.Step{claude("run the secret plan")},
		Traces: []scenario.Trace{{Tools: []scenario.Tool{
			ok(""), bad(scenario.Failed, ""), bad(scenario.Denied, ""), bad(scenario.Failed, ""), bad(scenario.Failed, ""), bad(scenario.Failed, ""),
		}}},
	}
	res := claudecli.Agent.ManagedRunOnce(t, &c, map[string]string{"etc/hookspan/hookspan.env": "HOOKSPAN_MANAGED=true\nHOOKSPAN_CAPTURE=none\n"})
	for i := range res.Spans {
		for name, value := range res.Spans[i].Attrs {
			if text, ok := value.(string); ok && (strings.Contains(text, "secret plan") || strings.Contains(text, "echo one")) {
				t.Errorf("%s has the text %q", name, text)
			}
		}
	}
}

func TestTwoAtOnceInARun(t *testing.T) {
	t.Parallel()
	claudecli.Agent.InRun(t, claudecli.Agent.Program, llm.Script{Main: []llm.Turn{turn("First."), turn("Second.")}},
		rig.Step{Args: []string{"-p", "do it", "--permission-mode", "acceptEdits"}, Timeout: 3 * time.Minute})
}

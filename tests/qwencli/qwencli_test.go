package qwencli_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/qwencli"
)

func TestMain(m *testing.M) {
	if code, inner := qwencli.Inner(os.Stdin, os.Stdout, os.Stderr); inner {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func shell(command string) mockllm.ToolCall {
	return mockllm.ToolCall{Name: "run_shell_command", Args: map[string]any{"command": command, "is_background": false}}
}

func read(name string) mockllm.ToolCall {
	return mockllm.ToolCall{Name: "read_file", Args: map[string]any{"file_path": rig.WordWorkspace + "/" + name}}
}

func agent(prompt string) mockllm.ToolCall {
	return mockllm.ToolCall{Name: "agent", Args: map[string]any{
		"subagent_type": "general-purpose", "description": "look around", "prompt": prompt, "run_in_background": false,
	}}
}

func turn(text string, calls ...mockllm.ToolCall) mockllm.Turn {
	return mockllm.Turn{Text: text, Tools: calls, Cached: 7}
}

func ok(text string) claudecli.WantTool { return claudecli.WantTool{Text: text, Under: -1} }

func bad(kind, text string) claudecli.WantTool {
	return claudecli.WantTool{Error: kind, Text: text, Under: -1}
}

func qwen(prompt string, args ...string) rig.Step {
	return rig.Step{Args: append(args, "--yolo", prompt), Timeout: 90 * time.Second}
}

// denies is a hook of the user's.
const denies = `payload=$(cat); case $payload in *forbidden*) echo 'a hook says no' >&2; exit 2;; esac; echo '{}'`

const failed, denied, cancelled = otelmap.ErrorToolFailure, otelmap.ErrorToolDenied, otelmap.ErrorToolCancelled

func scenarios() map[string]scenario.Case[qwencli.Script] {
	const parallel = 8
	var calls []mockllm.ToolCall
	var tools []claudecli.WantTool
	for i := range parallel {
		calls, tools = append(calls, shell(fmt.Sprintf("sleep 0.2; echo n%d.", i))), append(tools, ok(fmt.Sprintf("n%d.", i)))
	}
	interrupted := qwen("start something long")
	interrupted.Signal = &rig.Signal{Number: syscall.SIGINT, When: rig.Condition{Mark: true}}
	write := mockllm.ToolCall{Name: "write_file", Args: map[string]any{"file_path": rig.WordWorkspace + "/new.txt", "content": "made by the agent"}}
	return map[string]scenario.Case[qwencli.Script]{
		// A start of Qwen Code takes seconds, so one meets much of what can happen to a call.
		"tools, parallel, denied, second turn": {
			More: map[string]string{
				"PreToolUse": denies,
			},
			Script: qwencli.Script{Main: []mockllm.Turn{
				turn("Three at once.", shell("echo one"), shell("echo worse >&2; exit 3"), write),
				turn("Again.", read("missing.txt"), mockllm.ToolCall{Name: "no_such_tool", Args: map[string]any{"x": "y"}}),
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
				{Requests: 5, Outcome: otelmap.OutcomeCompleted, Tools: append([]claudecli.WantTool{
					ok("one"), bad(failed, "worse"), ok("new.txt"), bad(failed, "not found"), bad(failed, "not found in registry"),
					bad(denied, "a hook says no"), ok("good"),
				}, tools...)},
				{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []claudecli.WantTool{ok("beta")}},
			},
		},
		"subagent": {
			Script: qwencli.Script{
				Main: []mockllm.Turn{turn("Delegate.", agent("look around the house")), turn("Delegated.")},
				Sub:  []mockllm.Turn{turn("Sub looks.", shell("echo sub"), read("nope.txt")), turn("Sub done.")},
			},
			Steps: []rig.Step{qwen("delegate it")}, Exits: []int{0},
			Hooks: map[string]int{
				"SessionStart": 1, "UserPromptSubmit": 2, "PreToolUse": 3, "PostToolUse": 2, "PostToolUseFailure": 1,
				"SubagentStart": 1, "SubagentStop": 1, "Stop": 1,
			},
			Traces: []scenario.Trace{{Requests: 4, Outcome: otelmap.OutcomeCompleted, Tools: []claudecli.WantTool{
				ok("Sub done."), {Text: "sub", Under: 0}, {Error: failed, Text: "not found", Under: 0},
			}}},
		},
		"blocked stop": {
			More: map[string]string{"Stop": `mkdir blocked 2>/dev/null && { echo 'keep going' >&2; exit 2; }; echo '{}'`},
			Script: qwencli.Script{Main: []mockllm.Turn{
				turn("First answer."), turn("Going on.", shell("echo more")), turn("Second answer."),
			}},
			Steps: []rig.Step{qwen("do all of it")}, Exits: []int{0},
			Hooks: map[string]int{"SessionStart": 1, "UserPromptSubmit": 3, "PreToolUse": 1, "PostToolUse": 1, "Stop": 2},
			Traces: []scenario.Trace{{
				Requests: 3, Outcome: otelmap.OutcomeCompleted, Tools: []claudecli.WantTool{ok("more")}, Blocked: true,
			}},
		},
		"interrupted tool": {
			Script: qwencli.Script{Main: []mockllm.Turn{
				turn("Long.", shell("echo running > "+rig.WordMark+"; tail -f /dev/null")), turn("Never."),
			}},
			Steps: []rig.Step{interrupted}, Exits: []int{-1},
			Hooks:  map[string]int{"SessionStart": 1, "UserPromptSubmit": 2, "PreToolUse": 1, "PostToolUseFailure": 1},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeInterrupted, Tools: []claudecli.WantTool{bad(cancelled, "")}}},
		},
		"provider error": {
			Script: qwencli.Script{Main: []mockllm.Turn{{HTTPError: 400, Message: "scripted refusal"}}},
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
	tested.Run(t, scenarios())
}

// TestRemovedHookspanDisturbsNothing removes hookspan while its hooks are installed.
func TestRemovedHookspanDisturbsNothing(t *testing.T) {
	t.Parallel()
	tested.RemovedDisturbsNothing(t, qwencli.Script{Main: []mockllm.Turn{turn("Run.", shell("echo one")), turn("Done.")}}, qwen("run it"))
}

var tested = scenario.Agent[qwencli.Script]{
	Name: "Qwen Code", Word: "qwen", Host: "qwen-code", Version: qwencli.Version, Model: qwencli.Model, Asked: true,
	Do: qwencli.Do, Settings: qwencli.Settings, Kept: ".qwen/settings.json", Prompts: prompts, Known: asTold,
	Uncounted: []string{"PostToolBatch"}, // as many as Qwen Code makes of the calls
	// No list has the prices of Qwen's models.
}

func prompts(t *testing.T, recs []rig.Recorded, _ *scenario.Result) (list []scenario.Prompt) {
	t.Helper()
	type payload struct {
		Session   string  `json:"session_id"`
		Turn      string  `json:"prompt_id"`
		Submitted *string `json:"submitted_prompt"`
	}
	for _, p := range scenario.Payloads[payload](t, recs) {
		if p.Submitted != nil {
			list = append(list, scenario.Prompt{Session: p.Session, Turn: p.Turn, Text: *p.Submitted})
		}
	}
	return list
}

// asTold leaves out the texts that Qwen Code itself has lost: on a busy machine it
// misses the output of a command that ends at once, and tells the model of none.
func asTold(t *testing.T, res *scenario.Result, _ *rig.Trace, requests []mockanthropic.Request, want []claudecli.WantTool) ([]mockanthropic.Request, []claudecli.WantTool) {
	t.Helper()
	want = slices.Clone(want)
	i := 0
	for _, r := range requests {
		for _, c := range r.Calls {
			told, known := res.Told[c.ID]
			if command, ok := c.Input["command"].(string); ok {
				told = strings.ReplaceAll(told, command, "") // it repeats the command
			}
			if i < len(want) && known && !strings.Contains(told, want[i].Text) {
				t.Logf("Qwen Code has lost the output of %s: %q", c.ID, told)
				want[i].Text = ""
			}
			i++
		}
	}
	return requests, want
}

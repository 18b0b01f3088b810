package codexcli_test

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/codexcli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestMain(m *testing.M) { rig.Main(m) }

func shell(command string) llm.Call {
	return llm.Call{Name: "exec_command", Args: map[string]any{"cmd": command}, Span: "Bash", SpanArgs: map[string]any{"command": command}}
}

func patch(text string) llm.Call {
	return llm.Call{Name: "apply_patch", Text: "*** Begin Patch\n" + text + "\n*** End Patch\n", Span: "apply_patch"}
}

// code is a script of the model that makes calls.
func code(script string, calls ...llm.Call) llm.Call {
	return llm.Call{Name: "exec", Text: script, Nested: calls, Span: "exec", SpanArgs: map[string]any{"command": script}}
}

var turn = llm.Answer

var ok, bad = scenario.OK, scenario.Bad

// codex runs the program. The user has trusted the hooks in the one way that needs no
// terminal.
func codex(args ...string) rig.Step {
	return rig.Step{Args: append([]string{"exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check"}, args...), Timeout: 3 * time.Minute}
}

// denies is a hook of the user's.
const denies = scenario.Deny

const failed, denied, cancelled = scenario.Failed, scenario.Denied, scenario.Cancelled

func scenarios() map[string]scenario.Case {
	const parallel = 8
	calls, tools := scenario.Parallel(parallel, shell)
	// A command that is left running fails once, whoever is told of it.
	long := shell("sleep 1; echo late; exit 9")
	long.Args["yield_time_ms"] = 250
	poll := llm.Call{Name: "write_stdin", Args: map[string]any{"session_id": llm.Process, "chars": "", "yield_time_ms": 10_000}}
	const start, prompt, stop, end, pre, post = "SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "PreToolUse", "PostToolUse"
	return map[string]scenario.Case{
		"tools": {
			Script: llm.Script{Main: []llm.Turn{
				turn("Three at once.", shell("echo one"), shell("echo worse >&2; exit 3"), patch("*** Add File: new.txt\n+made by the agent")),
				turn("Again.", patch("*** Update File: missing.txt\n@@\n-x\n+y"), llm.Call{Name: "no_such_tool", Args: map[string]any{"x": "y"}}),
				turn("A long one.", long), turn("Is it done?", poll),
				turn("All done."),
			}},
			Steps: []rig.Step{codex("fix the login")}, Exits: []int{0},
			Hooks: map[string]int{start: 1, prompt: 1, pre: 5, post: 4, stop: 1, end: 1},
			Traces: []scenario.Trace{{Requests: 5, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{
				ok("one"), bad(failed, "worse"), ok("new.txt"), bad(failed, "verification failed"), bad(failed, "unsupported call"),
				bad(failed, "late"), ok("late"),
			}}},
		},
		"second turn, both in a service tier without a price": {
			Script: llm.Script{Main: []llm.Turn{
				turn("Run.", shell("echo one")), turn("First."), turn("Read.", shell("cat b.txt")), turn("Second."),
			}},
			Steps: []rig.Step{codex("-c", `service_tier="flex"`, "begin"), codex("resume", "--last", "go on")}, Exits: []int{0, 0},
			Hooks: map[string]int{start: 2, prompt: 2, pre: 2, post: 2, stop: 2, end: 2},
			Traces: []scenario.Trace{
				{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("one")}, Unpriced: true},
				{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("beta")}, Unpriced: true},
			},
		},
		"subagent": {
			Script: llm.Script{
				Main: []llm.Turn{
					turn("Delegate.", llm.Call{
						Name: "spawn_agent", Namespace: "multi_agent_v1", Args: map[string]any{"message": "look around the house"},
						Span: "spawn_agent", SpanArgs: map[string]any{"message": "look around the house"},
					}),
					turn("Meanwhile.", shell("for i in $(seq 100); do ls "+rig.WordRecords+" | grep -q SubagentStop.json && break; sleep 0.1; done; echo waited")),
					turn("Delegated."),
				},
				Sub: []llm.Turn{turn("Sub looks.", shell("echo sub; exit 4")), turn("Sub done.")},
			},
			Steps: []rig.Step{codex("delegate it")}, Exits: []int{0},
			Hooks: map[string]int{start: 1, prompt: 2, pre: 3, post: 3, stop: 1, end: 1, "SubagentStart": 1, "SubagentStop": 1},
			Traces: []scenario.Trace{{Requests: 5, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{
				ok("agent_id"), ok("waited"), {Error: failed, Text: "sub", Under: 0},
			}}},
		},
		"code mode": {
			More: map[string]string{
				pre: denies,
			},
			Script: llm.Script{
				Main: []llm.Turn{
					turn("Two at once.", code(
						`await Promise.allSettled([tools.exec_command({cmd: 'echo worse >&2; exit 3'}), tools.exec_command({cmd: 'cat b.txt'})])`,
						shell("echo worse >&2; exit 3"), shell("cat b.txt"),
					)),
					turn("Patch and try.", code(
						`await tools.apply_patch('*** Begin Patch\n*** Add File: new.txt\n+made by the agent\n*** End Patch\n')
						try { await tools.exec_command({cmd: 'echo forbidden'}) } catch (e) { text('caught ' + e) }`,
						patch("*** Add File: new.txt\n+made by the agent"), shell("echo forbidden"),
					)),
					turn("Break.", code(`throw new Error('script broke')`)),
					turn("Delegate.", llm.Call{
						Name: "spawn_agent", Namespace: "collaboration",
						Args: map[string]any{"task_name": "looker", "message": "look around the house", "fork_turns": "none"},
					}),
					turn("Wait.", llm.Call{Name: "wait_agent", Namespace: "collaboration", Args: map[string]any{"timeout_ms": 60000}}),
					turn("Done in code mode."),
				},
				Sub: []llm.Turn{
					turn("Sub looks.", code(`text(await tools.exec_command({cmd: 'echo sub; exit 4'}))`, shell("echo sub; exit 4"))),
					turn("Sub done."),
				},
			},
			Steps: []rig.Step{codex("--model", codexcli.CodeModel, "delegate it")}, Exits: []int{0},
			Hooks: map[string]int{start: 1, prompt: 1, pre: 7, post: 6, stop: 1, end: 1, "SubagentStart": 1, "SubagentStop": 1},
			Traces: []scenario.Trace{{Requests: 8, Outcome: otelmap.OutcomeCompleted, Model: codexcli.CodeModel, Tools: []scenario.Tool{
				bad(failed, "worse"), ok("beta"), ok("new.txt"), bad(otelmap.ErrorToolUnfinished, ""), bad(failed, "script broke"), ok("looker"),
				ok("Wait completed"),
				{Error: failed, Text: "sub", Under: 5},
			}}},
		},
		"parallel tools": {
			Script: llm.Script{Main: []llm.Turn{turn("All.", calls...), turn("Done.")}},
			Steps:  []rig.Step{codex("count")}, Exits: []int{0},
			Hooks:  map[string]int{start: 1, prompt: 1, pre: parallel, post: parallel, stop: 1, end: 1},
			Traces: []scenario.Trace{{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: tools}},
		},
		"denied tool": {
			More: map[string]string{
				pre: denies,
			},
			Script: llm.Script{Main: []llm.Turn{turn("Two.", shell("echo forbidden"), shell("echo good")), turn("Only one.")}},
			Steps:  []rig.Step{codex("run both")}, Exits: []int{0},
			Hooks:  map[string]int{start: 1, prompt: 1, pre: 2, post: 1, stop: 1, end: 1},
			Traces: []scenario.Trace{{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{bad(denied, "a hook says no"), ok("good")}}},
		},
		"blocked stop": {
			More: map[string]string{stop: scenario.BlockOnce + "exit 0"},
			Script: llm.Script{Main: []llm.Turn{
				turn("First answer."), turn("Going on.", shell("echo more")), turn("Second answer."),
			}},
			Steps: []rig.Step{codex("do all of it")}, Exits: []int{0},
			Hooks: map[string]int{start: 1, prompt: 1, pre: 1, post: 1, stop: 2, end: 1},
			Traces: []scenario.Trace{{
				Requests: 3, Outcome: otelmap.OutcomeCompleted, Tools: []scenario.Tool{ok("more")}, Blocked: true,
			}},
		},
		"interrupted tool": {
			Script: llm.Script{Main: []llm.Turn{
				turn("Long.", shell(scenario.Long)), turn("Never."),
			}},
			Steps: []rig.Step{scenario.Interrupted(codex("start something long"))}, Exits: []int{1},
			Hooks:  map[string]int{start: 1, prompt: 1, pre: 1, "Interrupt": 1, end: 1},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeInterrupted, Tools: []scenario.Tool{bad(cancelled, "")}}},
		},
		"provider error": {
			Script: llm.Script{Main: []llm.Turn{{HTTPError: 400}}},
			Steps:  []rig.Step{codex("never answered")}, Exits: []int{1},
			Hooks:  map[string]int{start: 1, prompt: 1, end: 1},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeFailed, Class: otelmap.ErrorRun, Message: "scripted refusal"}},
		},
		"unavailable provider": {
			Script: llm.Script{Main: []llm.Turn{{HTTPError: 503}}},
			Steps:  []rig.Step{codex("never answered")}, Exits: []int{1},
			Hooks: map[string]int{start: 1, prompt: 1, end: 1},
			Traces: []scenario.Trace{{
				Requests: 1, Outcome: otelmap.OutcomeFailed, Class: "http_connection_failed", Message: "503 Service Unavailable: scripted refusal",
			}},
		},
		"answer that breaks off": {
			Script: llm.Script{Main: []llm.Turn{turn("Run.", shell("echo one")), {Failed: "scripted failure"}}},
			Steps:  []rig.Step{codex("half answered")}, Exits: []int{1},
			Hooks: map[string]int{start: 1, prompt: 1, pre: 1, post: 1, end: 1},
			Traces: []scenario.Trace{{
				Requests: 2, Outcome: otelmap.OutcomeFailed, Class: otelmap.ErrorRun, Message: "scripted failure", Tools: []scenario.Tool{ok("one")},
			}},
		},
	}
}

// TestScenarios puts Codex through every scenario.
func TestScenarios(t *testing.T) {
	t.Parallel()
	codexcli.Agent.Run(t, scenarios())
}

// TestRemovedHookspanDisturbsNothing removes hookspan while its hooks are installed.
func TestRemovedHookspanDisturbsNothing(t *testing.T) {
	t.Parallel()
	codexcli.Agent.RemovedDisturbsNothing(t, llm.Script{Main: []llm.Turn{turn("Run.", shell("echo one")), turn("Done.")}}, codex("run it"), 2)
}

func TestTwoAtOnceInARun(t *testing.T) {
	t.Parallel()
	codexcli.Agent.InRun(t, codexcli.Agent.Program, llm.Script{Main: []llm.Turn{turn("First."), turn("Second.")}}, codex("do it"))
}

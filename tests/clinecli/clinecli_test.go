package clinecli_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestMain(m *testing.M) { rig.Main(m) }

// harness runs Cline for the test and its subtests.
func harness(t *testing.T) *clinecli.Harness {
	t.Helper()
	cache, err := rig.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	return clinecli.NewHarness(cache, t.TempDir())
}

// TestScenarios puts both programs through every scenario.
func TestScenarios(t *testing.T) {
	t.Parallel()
	h := harness(t)
	for where, cases := range scenarios() {
		h.Agent(where.cli, where.recorder).Run(t, cases)
	}
}

func TestCanonicalOrder(t *testing.T) {
	t.Parallel()
	want := []string{start, cancel, resume, complete, cancel}
	for _, in := range [][]string{
		{start, cancel, cancel, "Notification", resume, cancel, complete, "Notification"},
		{start, cancel, resume, complete, cancel, cancel},
		{start, cancel, "SessionShutdown", resume, complete, "Notification", cancel},
	} {
		if diff := cmp.Diff(want, clinecli.Canonical(in)); diff != "" {
			t.Errorf("canonical(%q) (-want +got):\n%s", in, diff)
		}
	}
}

// The names of Cline's hooks.
const (
	start    = "TaskStart"
	resume   = "TaskResume"
	prompt   = "UserPromptSubmit"
	pre      = "PreToolUse"
	post     = "PostToolUse"
	compact  = "PreCompact"
	complete = "TaskComplete"
	cancel   = "TaskCancel"
	failed   = "TaskError"
)

func call(name string, args ...any) llm.Call {
	m := make(map[string]any, len(args)/2)
	for i := 0; i < len(args); i += 2 {
		key, _ := args[i].(string)
		m[key] = args[i+1]
	}
	return llm.Call{Name: name, Args: m}
}

func turn(text string, calls ...llm.Call) llm.Turn {
	// As with real models, the usage comes when the first tool runs already.
	return llm.Turn{Text: text, Calls: calls, Tail: 100 * time.Millisecond}
}

// finish ends a task of the classic core.
func finish(result string) llm.Turn {
	return turn("Done.", call("attempt_completion", "result", result))
}

// shell is a command of the classic core that needs no approval.
func shell(command string) llm.Call {
	return call("execute_command", "command", command, "requires_approval", "false")
}

func run(commands ...string) llm.Call {
	return call("run_commands", "commands", commands)
}

func read(path string) llm.Call {
	return call("read_files", "files", []any{map[string]any{"path": path}})
}

// untilReported is a command that runs until the recorder has seen the named
// hook, so that the interrupt always meets a running command and no test waits
// for its end.
func untilReported(hook string) string {
	return "echo running > " + rig.WordMark +
		"; for i in $(seq 200); do ls " + rig.WordRecords + " | grep -q " + hook + " && break; sleep 0.1; done"
}

const stepLimit = 3 * time.Minute

func cliStep(args ...string) rig.Step {
	return rig.Step{Args: args, Timeout: stepLimit}
}

func tool(name string) scenario.Tool { return scenario.Tool{Name: name, Under: -1} }

func toolError(name, kind string) scenario.Tool {
	return scenario.Tool{Name: name, Error: kind, Under: -1}
}

// setting is a program and the place of the recorder.
type setting struct {
	cli      clinecli.CLI
	recorder clinecli.Recorder
}

// Case is a task that Cline is put through.
type Case = scenario.Case

// scenarios are those of both CLIs. In the short form one scenario of CLI 3 has no recorder
// in front of the hook, and one of CLI 2 a second hook beside it, as users have with their
// own hooks: Cline joins the answers of two, and has to end up as with one.
func scenarios() map[setting]map[string]Case {
	all := map[setting]map[string]Case{
		{clinecli.CLI2, clinecli.Second}: {"classic/tools": classicTools()},
		{clinecli.CLI2, clinecli.InFront}: {
			"classic/denied": classicDenied(), "classic/interrupted": classicInterrupted(), "classic/resumed": classicResumed(),
			"classic/provider error": classicProviderError(),
		},
		{clinecli.CLI3, clinecli.Nowhere}: {"sdk/bare": sdkSubagent()},
		{clinecli.CLI3, clinecli.InFront}: {
			"sdk/tools": sdkTools(), "sdk/denied and resumed": sdkDenied(), "sdk/subagent": sdkSubagent(), "sdk/provider error": sdkProviderError(),
			"sdk/interrupted": sdkInterrupted(),
		},
	}
	if proof.Soak() {
		all[setting{clinecli.CLI2, clinecli.Nowhere}] = map[string]Case{"classic/bare": classicTools()}
		all[setting{clinecli.CLI2, clinecli.InFront}]["classic/in front"] = classicTools()
		all[setting{clinecli.CLI3, clinecli.Second}] = map[string]Case{"sdk/second hook": sdkTools()}
	}
	return all
}

// classicTools has tools that work, a full context, a command that fails and a file
// that is not there; the last one stops the task where a PreToolUse hook is installed.
func classicTools() Case {
	return Case{
		Script: llm.Script{Main: []llm.Turn{
			turn("Read.", call("read_file", "path", "src/login.js")),
			turn("Write.", call("write_to_file", "path", "src/login.js", "content", "module.exports = (u, p) => Boolean(u && p)\n")),
			turn("Test.", shell("echo FAIL; exit 1")),
			turn("Look.", call("read_file", "path", "src/missing.js")),
			// The context is full: Cline compacts it and asks again.
			{
				HTTPError: 400, Code: "context_length_exceeded",
				Message: "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
			},
			turn("Test again.", shell("echo 42 passed")),
			finish("All 42 tests pass."),
		}},
		Steps: []rig.Step{cliStep("-y", "--json", "fix the login")}, Exits: []int{0},
		Order: []string{start, prompt, post, post, post, post, compact, post, complete, cancel},
		Traces: []scenario.Trace{{
			Requests: 7, Outcome: otelmap.OutcomeCompleted, Task: "fix the login",
			Tools: []scenario.Tool{
				tool("read_file"), tool("write_to_file"), toolError("execute_command", otelmap.ErrorTool),
				toolError("read_file", otelmap.ErrorTool), tool("execute_command"),
			},
		}},
	}
}

// classicDenied answers Cline's questions over ACP, which is the one way to
// deny a tool without a terminal.
func classicDenied() Case {
	ask := func(c string) llm.Call {
		return call("execute_command", "command", c, "requires_approval", "true")
	}
	return Case{
		Script: llm.Script{Main: []llm.Turn{turn("One.", ask("echo one")), turn("Two.", ask("echo two")), finish("Only two.")}},
		Steps: []rig.Step{{
			Args: []string{"--acp"}, Timeout: stepLimit,
			ACP: &rig.ACP{Prompts: []string{"run both"}, Permissions: []string{"reject_once", "allow_once"}},
		}},
		Exits: []int{0},
		Order: []string{start, prompt, post, post, complete, cancel},
		Traces: []scenario.Trace{{
			Requests: 3, Outcome: otelmap.OutcomeCompleted, Task: "run both",
			Tools: []scenario.Tool{toolError("execute_command", otelmap.ErrorToolDenied), tool("execute_command")},
		}},
	}
}

// classicInterrupted is Ctrl-C while a command runs. The interrupted command
// leaves no trace in the hooks: Cline reports tools that returned, and
// PreToolUse is not installed.
func classicInterrupted() Case {
	return Case{
		Script: llm.Script{Main: []llm.Turn{turn("Long.", shell(untilReported(cancel)))}},
		Steps:  []rig.Step{scenario.Interrupted(cliStep("-y", "--json", "start something long"))},
		Exits:  []int{0},
		Order:  []string{start, prompt, cancel},
		Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeCancelled, Task: "start something long"}},
	}
}

// classicResumed is a task that is taken up again after its completion, by a
// second process.
func classicResumed() Case {
	resumed := cliStep("-T", rig.WordSession, "-y", "--json", "go on")
	resumed.Asks = time.Minute // see do: it may never ask
	return Case{
		Script: llm.Script{Main: []llm.Turn{
			turn("Run.", shell("echo one")), finish("First."), turn("Run.", shell("echo two")), finish("Second."),
		}},
		Steps: []rig.Step{
			cliStep("-y", "--json", "begin"),
			resumed,
		},
		Exits: []int{0, 0},
		Order: []string{start, prompt, post, complete, cancel, resume, prompt, post, complete, cancel},
		Traces: []scenario.Trace{
			{Requests: 2, Outcome: otelmap.OutcomeCompleted, Task: "begin", Tools: []scenario.Tool{tool("execute_command")}},
			{
				Requests: 2, Outcome: otelmap.OutcomeCompleted, Task: "go on",
				Tools: []scenario.Tool{tool("execute_command")},
			},
		},
	}
}

// classicProviderError is a model that refuses every request. Cline asks four
// times, waiting 2, 4 and 8 seconds, and then cancels the task.
func classicProviderError() Case {
	return Case{
		Script: llm.Script{Main: []llm.Turn{{HTTPError: 400}}},
		Steps:  []rig.Step{cliStep("-y", "--json", "never answered")}, Exits: []int{1},
		Order:  []string{start, prompt, cancel},
		Traces: []scenario.Trace{{Requests: 4, Outcome: otelmap.OutcomeCancelled, Task: "never answered"}},
	}
}

// sdkTools has several tools in one turn, two of which fail although Cline says
// that they succeeded.
func sdkTools() Case {
	return Case{
		Env: map[string]string{"CLINE_SESSION_BACKEND_MODE": ""}, Leaves: true, // its daemon, which is its default
		Script: llm.Script{Main: []llm.Turn{
			turn("Read.", read("src/login.js")),
			turn("Several.", run("echo FAIL; exit 1"), read("src/missing.js"), run("echo ok")),
			turn("Done."),
		}},
		Steps: []rig.Step{cliStep("--json", "fix the login")}, Exits: []int{0},
		Order: []string{start, pre, post, pre, pre, pre, post, post, post, complete},
		Traces: []scenario.Trace{{
			Requests: 3, Outcome: otelmap.OutcomeCompleted, Task: "fix the login",
			Tools: []scenario.Tool{
				tool("read_files"), toolError("run_commands", otelmap.ErrorTool),
				toolError("read_files", otelmap.ErrorTool), tool("run_commands"),
			},
		}},
	}
}

// sdkDenied denies a tool over ACP and takes the session up again in a second
// process. ACP signs in by the environment alone. The command line's own
// --id wants a terminal.
func sdkDenied() Case {
	acp := func(a rig.ACP) rig.Step {
		return rig.Step{Args: []string{"--acp"}, Timeout: stepLimit, ACP: &a}
	}
	return Case{
		Env: map[string]string{"CLINE_API_KEY": "sk-mock", "CLINE_PROVIDER": "openai-compatible", "CLINE_MODEL": llm.Name},
		Script: llm.Script{Main: []llm.Turn{
			turn("One.", run("echo one")), turn("Two.", run("echo two")), turn("Only two."),
			turn("Three.", run("echo three")), turn("And three."),
		}},
		Steps: []rig.Step{
			acp(rig.ACP{Prompts: []string{"run both"}, Permissions: []string{"reject_once", "allow_once"}}),
			acp(rig.ACP{Session: rig.WordSession, Prompts: []string{"go on"}, Permissions: []string{"allow_once"}}),
		},
		Exits: []int{0, 0},
		Order: []string{start, pre, post, pre, post, complete, start, pre, post, complete},
		Traces: []scenario.Trace{
			{
				Requests: 3, Outcome: otelmap.OutcomeCompleted, Task: "run both",
				Tools: []scenario.Tool{toolError("run_commands", otelmap.ErrorToolDenied), tool("run_commands")},
			},
			{Requests: 2, Outcome: otelmap.OutcomeCompleted, Task: "go on", Tools: []scenario.Tool{tool("run_commands")}},
		},
	}
}

// sdkSubagent has a subagent that uses a tool.
func sdkSubagent() Case {
	return Case{
		Script: llm.Script{Main: []llm.Turn{
			turn("Delegate.", call("spawn_agent", "systemPrompt", "You are a helper", "task", "Run echo hi")),
			turn("Working.", run("echo hi")),
			turn("It says hi."),
			turn("Done."),
		}},
		Steps: []rig.Step{cliStep("--json", "delegate it")}, Exits: []int{0},
		Order: []string{start, pre, start, pre, post, complete, post, complete},
		Traces: []scenario.Trace{{
			Requests: 4, Outcome: otelmap.OutcomeCompleted, Task: "delegate it",
			Tools: []scenario.Tool{tool("spawn_agent"), {Name: "run_commands", Under: 0}},
		}},
	}
}

// sdkProviderError is a model that refuses: this core asks once and fails.
func sdkProviderError() Case {
	return Case{
		Script: llm.Script{Main: []llm.Turn{{HTTPError: 400}}},
		Steps:  []rig.Step{cliStep("--json", "never answered")}, Exits: []int{1},
		Order:  []string{start, failed},
		Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeFailed, Task: "never answered"}},
	}
}

// sdkInterrupted is Ctrl-C while a command runs. This core reports the aborted
// tool, no end of the run, and a SessionShutdown whose payload is empty; that
// the session was interrupted is in a separate file.
func sdkInterrupted() Case {
	return Case{
		Silent: true,
		Script: llm.Script{Main: []llm.Turn{turn("Long.", run(untilReported("SessionShutdown")))}},
		Steps:  []rig.Step{scenario.Interrupted(cliStep("--json", "start something long"))}, Exits: []int{0},
		Order: []string{start, pre, post},
		Traces: []scenario.Trace{{
			Requests: 1, Outcome: otelmap.OutcomeInterrupted, Task: "start something long",
			Tools: []scenario.Tool{toolError("run_commands", otelmap.ErrorToolCancelled)},
		}},
	}
}

// TestTwoAtOnceInARun lets CLI 3 end by the tool that a model ends with under -y: it asks on until then.
func TestTwoAtOnceInARun(t *testing.T) {
	t.Parallel()
	submit := func(text string) llm.Turn {
		return turn(text, call("submit_and_exit", "summary", text+" It is done.", "verified", true))
	}
	for cli, turns := range map[clinecli.CLI][]llm.Turn{
		clinecli.CLI2: {finish("First."), finish("Second.")}, clinecli.CLI3: {submit("First."), submit("Second.")},
	} {
		t.Run(cli.String(), func(t *testing.T) {
			t.Parallel()
			harness(t).Agent(cli, clinecli.Nowhere).InRun(t, clinecli.Programs[cli], llm.Script{Main: turns}, cliStep("-y", "--json", "do it"))
		})
	}
}

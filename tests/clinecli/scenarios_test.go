package clinecli_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// scenario is a task Cline is put through and what must come of it.
type scenario struct {
	cli clinecli.CLI
	// env goes to every step, settings to hookspan's env file.
	env      map[string]string
	settings []string
	script   []mockllm.Turn
	// steps are the invocations of the CLI, exits their exit codes.
	steps []rig.Step
	exits []int
	// endless says that Cline reports no end of the run.
	endless bool
	// bare leaves out the recorder in front of cline-hook, so that everything is
	// as a user has it; hooks is not compared then. beside has the recorder as a
	// second hook of every event instead.
	bare, beside bool
	// hub says that CLI 3 works in its daemon, which is its default.
	hub bool
	// hooks are the events Cline itself reported, as canonical gives them.
	hooks []string
	// traces are the expected ones in order.
	traces []wantTrace
	// cline checks Cline's own side further.
	cline func(*testing.T, *clinecli.Result)
}

// wantTrace is one expected trace.
type wantTrace struct {
	outcome string
	tools   []rig.Tool
	// step is the step whose model requests belong to the trace.
	step int
	// lastOpen is as in Trace.CompareModel.
	lastOpen bool
	// prompt is the text the trace's title begins with.
	prompt string
	// linked says that the root links to the root of the trace before.
	linked bool
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

func call(name string, args ...any) mockllm.ToolCall {
	m := make(map[string]any, len(args)/2)
	for i := 0; i < len(args); i += 2 {
		key, _ := args[i].(string)
		m[key] = args[i+1]
	}
	return mockllm.ToolCall{Name: name, Args: m}
}

func turn(text string, calls ...mockllm.ToolCall) mockllm.Turn {
	// As with real models, the usage comes when the first tool runs already.
	return mockllm.Turn{Text: text, Tools: calls, Cached: 300, Tail: 100 * time.Millisecond}
}

// finish ends a task of the classic core.
func finish(result string) mockllm.Turn {
	return turn("Done.", call("attempt_completion", "result", result))
}

// shell is a command of the classic core that needs no approval.
func shell(command string) mockllm.ToolCall {
	return call("execute_command", "command", command, "requires_approval", "false")
}

func run(commands ...string) mockllm.ToolCall {
	return call("run_commands", "commands", commands)
}

func read(path string) mockllm.ToolCall {
	return call("read_files", "files", []any{map[string]any{"path": path}})
}

// untilReported is a command that runs until the recorder has seen the named
// hook, so that the interrupt always meets a running command and no test waits
// for its end.
func untilReported(hook string) string {
	return "echo running > " + rig.WordMark +
		"; for i in $(seq 200); do ls " + rig.WordRecords + " | grep -q " + hook + " && break; sleep 0.1; done"
}

const stepLimit = 90 * time.Second

func cliStep(args ...string) rig.Step {
	return rig.Step{Args: args, Timeout: stepLimit}
}

func interrupted(s rig.Step) rig.Step {
	s.Signal = &rig.Signal{Number: syscall.SIGINT, When: rig.Condition{Mark: true}}
	return s
}

func tool(name string) rig.Tool { return rig.Tool{Name: name} }

func toolError(name, kind string) rig.Tool { return rig.Tool{Name: name, Error: kind} }

// scenarios are those of both CLIs. In the short form one scenario of CLI 3 has no
// recorder in front of the hook, and one of CLI 2 a second hook beside it.
func scenarios() map[string]scenario {
	all := map[string]scenario{
		"classic/tools":          beside(classicTools()),
		"classic/denied":         classicDenied(),
		"classic/interrupted":    classicInterrupted(),
		"classic/resumed":        classicResumed(),
		"classic/provider error": classicProviderError(),
		"sdk/tools":              sdkTools(),
		"sdk/bare":               bare(sdkSubagent()),
		"sdk/denied and resumed": sdkDenied(),
		"sdk/subagent":           sdkSubagent(),
		"sdk/provider error":     sdkProviderError(),
		"sdk/interrupted":        sdkInterrupted(),
	}
	if proof.Soak() {
		all["classic/bare"] = bare(classicTools())
		all["classic/in front"] = classicTools()
		all["sdk/second hook"] = beside(sdkTools())
	}
	return all
}

func bare(s scenario) scenario {
	s.bare = true
	return s
}

// beside is for users with their own hooks: Cline joins the answers of
// two hooks, and has to end up as with one.
func beside(s scenario) scenario {
	s.beside = true
	return s
}

// classicTools has tools that work, a full context, a command that fails and a file
// that is not there; the last one stops the task where a PreToolUse hook is installed.
func classicTools() scenario {
	return scenario{
		cli: clinecli.CLI2,
		script: []mockllm.Turn{
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
		},
		steps: []rig.Step{cliStep("-y", "--json", "fix the login")}, exits: []int{0},
		hooks: []string{start, prompt, post, post, post, post, compact, post, complete, cancel},
		traces: []wantTrace{{
			outcome: otelmap.OutcomeCompleted, lastOpen: true, prompt: "fix the login",
			tools: []rig.Tool{
				tool("read_file"), tool("write_to_file"), toolError("execute_command", otelmap.ErrorTool),
				toolError("read_file", otelmap.ErrorTool), tool("execute_command"),
			},
		}},
	}
}

// classicDenied answers Cline's questions over ACP, which is the one way to
// deny a tool without a terminal.
func classicDenied() scenario {
	ask := func(c string) mockllm.ToolCall {
		return call("execute_command", "command", c, "requires_approval", "true")
	}
	return scenario{
		cli:    clinecli.CLI2,
		script: []mockllm.Turn{turn("One.", ask("echo one")), turn("Two.", ask("echo two")), finish("Only two.")},
		steps: []rig.Step{{
			Args: []string{"--acp"}, Timeout: stepLimit,
			ACP: &rig.ACP{Prompts: []string{"run both"}, Permissions: []string{"reject_once", "allow_once"}},
		}},
		exits: []int{0},
		hooks: []string{start, prompt, post, post, complete, cancel},
		traces: []wantTrace{{
			outcome: otelmap.OutcomeCompleted, lastOpen: true, prompt: "run both",
			tools: []rig.Tool{toolError("execute_command", otelmap.ErrorToolDenied), tool("execute_command")},
		}},
	}
}

// classicInterrupted is Ctrl-C while a command runs. The interrupted command
// leaves no trace in the hooks: Cline reports tools that returned, and
// PreToolUse is not installed.
func classicInterrupted() scenario {
	return scenario{
		cli:    clinecli.CLI2,
		script: []mockllm.Turn{turn("Long.", shell(untilReported(cancel)))},
		steps:  []rig.Step{interrupted(cliStep("-y", "--json", "start something long"))},
		exits:  []int{0},
		hooks:  []string{start, prompt, cancel},
		traces: []wantTrace{{outcome: otelmap.OutcomeCancelled, prompt: "start something long"}},
		cline:  wasInterrupted,
	}
}

// wasInterrupted checks that the interrupt met a running command.
func wasInterrupted(t *testing.T, r *clinecli.Result) {
	t.Helper()
	if !r.Steps[0].Signalled {
		t.Error("the command was over before the interrupt")
	}
}

// classicResumed is a task that is taken up again after its completion, by a
// second process.
func classicResumed() scenario {
	resumed := cliStep("-T", rig.WordSession, "-y", "--json", "go on")
	resumed.Asks = 30 * time.Second // see do: it may never ask
	return scenario{
		cli: clinecli.CLI2,
		script: []mockllm.Turn{
			turn("Run.", shell("echo one")), finish("First."), turn("Run.", shell("echo two")), finish("Second."),
		},
		steps: []rig.Step{
			cliStep("-y", "--json", "begin"),
			resumed,
		},
		exits: []int{0, 0},
		hooks: []string{start, prompt, post, complete, cancel, resume, prompt, post, complete, cancel},
		traces: []wantTrace{
			{outcome: otelmap.OutcomeCompleted, lastOpen: true, prompt: "begin", tools: []rig.Tool{tool("execute_command")}},
			{
				outcome: otelmap.OutcomeCompleted, step: 1, lastOpen: true, prompt: "go on", linked: true,
				tools: []rig.Tool{tool("execute_command")},
			},
		},
	}
}

// classicProviderError is a model that refuses every request. Cline asks four
// times, waiting 2, 4 and 8 seconds, and then cancels the task.
func classicProviderError() scenario {
	return scenario{
		cli:    clinecli.CLI2,
		script: []mockllm.Turn{{HTTPError: 400, Message: "scripted refusal"}},
		steps:  []rig.Step{cliStep("-y", "--json", "never answered")}, exits: []int{1},
		hooks:  []string{start, prompt, cancel},
		traces: []wantTrace{{outcome: otelmap.OutcomeCancelled, prompt: "never answered"}},
		cline: func(t *testing.T, r *clinecli.Result) {
			t.Helper()
			if len(r.Requests) != 4 {
				t.Errorf("Cline asked the model %d times, want 4", len(r.Requests))
			}
		},
	}
}

// sdkTools has several tools in one turn, two of which fail although Cline says
// that they succeeded.
func sdkTools() scenario {
	return scenario{
		cli: clinecli.CLI3, hub: true,
		script: []mockllm.Turn{
			turn("Read.", read("src/login.js")),
			turn("Several.", run("echo FAIL; exit 1"), read("src/missing.js"), run("echo ok")),
			turn("Done."),
		},
		steps: []rig.Step{cliStep("--json", "fix the login")}, exits: []int{0},
		hooks: []string{start, pre, post, pre, pre, pre, post, post, post, complete},
		traces: []wantTrace{{
			outcome: otelmap.OutcomeCompleted, prompt: "fix the login",
			tools: []rig.Tool{
				tool("read_files"), toolError("run_commands", otelmap.ErrorTool),
				toolError("read_files", otelmap.ErrorTool), tool("run_commands"),
			},
		}},
	}
}

// sdkDenied denies a tool over ACP and takes the session up again in a second
// process. ACP signs in by the environment alone. The command line's own
// --id wants a terminal.
func sdkDenied() scenario {
	acp := func(a rig.ACP) rig.Step {
		return rig.Step{Args: []string{"--acp"}, Timeout: stepLimit, ACP: &a}
	}
	return scenario{
		cli: clinecli.CLI3,
		env: map[string]string{"CLINE_API_KEY": "sk-mock", "CLINE_PROVIDER": "openai-compatible", "CLINE_MODEL": mockllm.Model},
		script: []mockllm.Turn{
			turn("One.", run("echo one")), turn("Two.", run("echo two")), turn("Only two."),
			turn("Three.", run("echo three")), turn("And three."),
		},
		steps: []rig.Step{
			acp(rig.ACP{Prompts: []string{"run both"}, Permissions: []string{"reject_once", "allow_once"}}),
			acp(rig.ACP{Session: rig.WordSession, Prompts: []string{"go on"}, Permissions: []string{"allow_once"}}),
		},
		exits: []int{0, 0},
		hooks: []string{start, pre, post, pre, post, complete, start, pre, post, complete},
		traces: []wantTrace{
			{
				outcome: otelmap.OutcomeCompleted, prompt: "run both",
				tools: []rig.Tool{toolError("run_commands", otelmap.ErrorToolDenied), tool("run_commands")},
			},
			{outcome: otelmap.OutcomeCompleted, step: 1, prompt: "go on", linked: true, tools: []rig.Tool{tool("run_commands")}},
		},
	}
}

// sdkSubagent has a subagent that uses a tool.
func sdkSubagent() scenario {
	return scenario{
		cli: clinecli.CLI3,
		script: []mockllm.Turn{
			turn("Delegate.", call("spawn_agent", "systemPrompt", "You are a helper", "task", "Run echo hi")),
			turn("Working.", run("echo hi")),
			turn("It says hi."),
			turn("Done."),
		},
		steps: []rig.Step{cliStep("--json", "delegate it")}, exits: []int{0},
		hooks: []string{start, pre, start, pre, post, complete, post, complete},
		traces: []wantTrace{{
			outcome: otelmap.OutcomeCompleted, prompt: "delegate it",
			tools: []rig.Tool{tool("spawn_agent"), {Name: "run_commands", Under: "spawn_agent"}},
		}},
	}
}

// sdkProviderError is a model that refuses: this core asks once and fails.
func sdkProviderError() scenario {
	return scenario{
		cli:    clinecli.CLI3,
		script: []mockllm.Turn{{HTTPError: 400, Message: "scripted refusal"}},
		steps:  []rig.Step{cliStep("--json", "never answered")}, exits: []int{1},
		hooks:  []string{start, failed},
		traces: []wantTrace{{outcome: otelmap.OutcomeFailed, prompt: "never answered"}},
	}
}

// sdkInterrupted is Ctrl-C while a command runs. This core reports the aborted
// tool, no end of the run, and a SessionShutdown whose payload is empty; that
// the session was interrupted is in a separate file.
func sdkInterrupted() scenario {
	return scenario{
		cli:     clinecli.CLI3,
		endless: true,
		script:  []mockllm.Turn{turn("Long.", run(untilReported("SessionShutdown")))},
		steps:   []rig.Step{interrupted(cliStep("--json", "start something long"))}, exits: []int{0},
		hooks: []string{start, pre, post},
		traces: []wantTrace{{
			outcome: otelmap.OutcomeInterrupted, prompt: "start something long",
			tools: []rig.Tool{toolError("run_commands", otelmap.ErrorToolCancelled)},
		}},
		cline: wasInterrupted,
	}
}

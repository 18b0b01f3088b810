package qwencli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
	"github.com/hookspan/hookspan/tests/qwencli"
)

func TestMain(m *testing.M) {
	if code, inner := qwencli.Inner(os.Stdin, os.Stdout, os.Stderr); inner {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// scenario is what Qwen Code is put through and what must come of it.
type scenario struct {
	script qwencli.Script
	// more are further hooks of the project.
	more  map[string]string
	steps []rig.Step
	exits []int
	// hooks counts the events that Qwen Code itself reported.
	hooks map[string]int
	// traces are the expected ones in order, one for each submitted prompt.
	traces []wantTrace
	// silent reports that no hook says that the last turn has ended.
	silent bool
}

type wantTrace struct {
	// requests is how many requests of the log belong to the trace.
	requests int
	outcome  string
	// message is a part of the root's status message.
	message string
	tools   []claudecli.WantTool
	blocked bool
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

func scenarios() map[string]scenario {
	const parallel = 8
	var calls []mockllm.ToolCall
	var tools []claudecli.WantTool
	for i := range parallel {
		calls, tools = append(calls, shell(fmt.Sprintf("sleep 0.2; echo n%d.", i))), append(tools, ok(fmt.Sprintf("n%d.", i)))
	}
	interrupted := qwen("start something long")
	interrupted.Signal = &rig.Signal{Number: syscall.SIGINT, When: rig.Condition{Mark: true}}
	write := mockllm.ToolCall{Name: "write_file", Args: map[string]any{"file_path": rig.WordWorkspace + "/new.txt", "content": "made by the agent"}}
	return map[string]scenario{
		// A start of Qwen Code takes seconds, so one meets much of what can happen to a call.
		"tools, parallel, denied, second turn": {
			more: map[string]string{
				"PreToolUse": denies,
			},
			script: qwencli.Script{Main: []mockllm.Turn{
				turn("Three at once.", shell("echo one"), shell("echo worse >&2; exit 3"), write),
				turn("Again.", read("missing.txt"), mockllm.ToolCall{Name: "no_such_tool", Args: map[string]any{"x": "y"}}),
				turn("Two.", shell("echo forbidden"), shell("echo good")),
				turn("All.", calls...),
				turn("All done."),
				turn("Read.", read("b.txt")),
				turn("Second."),
			}},
			steps: []rig.Step{qwen("fix the login"), qwen("go on", "--continue")}, exits: []int{0, 0},
			hooks: map[string]int{
				"SessionStart": 2, "UserPromptSubmit": 7, "PreToolUse": 7 + parallel, "PostToolUse": 4 + parallel, "PostToolUseFailure": 2, "Stop": 2,
			},
			traces: []wantTrace{
				{requests: 5, outcome: otelmap.OutcomeCompleted, tools: append([]claudecli.WantTool{
					ok("one"), bad(failed, "worse"), ok("new.txt"), bad(failed, "not found"), bad(failed, "not found in registry"),
					bad(denied, "a hook says no"), ok("good"),
				}, tools...)},
				{requests: 2, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{ok("beta")}},
			},
		},
		"subagent": {
			script: qwencli.Script{
				Main: []mockllm.Turn{turn("Delegate.", agent("look around the house")), turn("Delegated.")},
				Sub:  []mockllm.Turn{turn("Sub looks.", shell("echo sub"), read("nope.txt")), turn("Sub done.")},
			},
			steps: []rig.Step{qwen("delegate it")}, exits: []int{0},
			hooks: map[string]int{
				"SessionStart": 1, "UserPromptSubmit": 2, "PreToolUse": 3, "PostToolUse": 2, "PostToolUseFailure": 1,
				"SubagentStart": 1, "SubagentStop": 1, "Stop": 1,
			},
			traces: []wantTrace{{requests: 4, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{
				ok("Sub done."), {Text: "sub", Under: 0}, {Error: failed, Text: "not found", Under: 0},
			}}},
		},
		"blocked stop": {
			more: map[string]string{"Stop": `mkdir blocked 2>/dev/null && { echo 'keep going' >&2; exit 2; }; echo '{}'`},
			script: qwencli.Script{Main: []mockllm.Turn{
				turn("First answer."), turn("Going on.", shell("echo more")), turn("Second answer."),
			}},
			steps: []rig.Step{qwen("do all of it")}, exits: []int{0},
			hooks: map[string]int{"SessionStart": 1, "UserPromptSubmit": 3, "PreToolUse": 1, "PostToolUse": 1, "Stop": 2},
			traces: []wantTrace{{
				requests: 3, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{ok("more")}, blocked: true,
			}},
		},
		"interrupted tool": {
			script: qwencli.Script{Main: []mockllm.Turn{
				turn("Long.", shell("echo running > "+rig.WordMark+"; tail -f /dev/null")), turn("Never."),
			}},
			steps: []rig.Step{interrupted}, exits: []int{-1},
			hooks:  map[string]int{"SessionStart": 1, "UserPromptSubmit": 2, "PreToolUse": 1, "PostToolUseFailure": 1},
			traces: []wantTrace{{requests: 1, outcome: otelmap.OutcomeInterrupted, tools: []claudecli.WantTool{bad(cancelled, "")}}},
		},
		"provider error": {
			script: qwencli.Script{Main: []mockllm.Turn{{HTTPError: 400, Message: "scripted refusal"}}},
			steps:  []rig.Step{qwen("never answered")}, exits: []int{1},
			hooks:  map[string]int{"SessionStart": 1, "UserPromptSubmit": 1},
			traces: []wantTrace{{requests: 1, outcome: otelmap.OutcomeFailed, message: "scripted refusal"}},
			silent: true,
		},
	}
}

// TestScenarios puts Qwen Code through every scenario with hookspan installed as a user
// installs it, and compares what the recorder beside hookspan, the model, the
// receivers and hookspan itself say.
func TestScenarios(t *testing.T) {
	t.Parallel()
	cache, bin := rig.Prepare(t, "Qwen Code")
	hookspan := func(args ...string) rig.Step {
		return rig.Step{Program: []string{filepath.Join(bin, "hookspan")}, Args: args}
	}
	for name, sc := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// What the hooks start by themselves must deliver with no help.
			deliver := rig.Step{WaitTraces: len(sc.traces), Timeout: 30 * time.Second}
			if sc.silent {
				deliver = hookspan("flush", "--wait")
			}
			var before []byte
			res, err := qwencli.Do(t.Context(), cache, t.ArtifactDir(), sc.script, slices.Concat(sc.steps, []rig.Step{
				deliver, hookspan("flush", "--wait"), hookspan("list", "--json"), hookspan("show", "--json"), hookspan("doctor"),
				hookspan("import", "qwen", "--dry-run", "--json"), hookspan("uninstall", "qwen"),
			}), func(a *rig.Arena) error {
				if err := qwencli.Settings(a, sc.more); err != nil {
					return err
				}
				var err error
				if before, err = os.ReadFile(filepath.Join(a.Home, ".qwen", "settings.json")); err != nil {
					return err
				}
				return a.InstallHookspan(t.Context(), bin, nil, "qwen")
			})
			rig.Check(t, "Qwen Code", err)
			t.Cleanup(func() {
				if t.Failed() {
					report(t, res)
				}
			})
			prompts := checkQwen(t, &sc, res)
			traces := checkTraces(t, &sc, res, prompts)
			checkOwnView(t, &sc, traces, res.Steps[len(sc.steps):])
			if len(res.Killed) > 0 {
				t.Errorf("processes outlived the run: %q", res.Killed)
			}
			after, err := os.ReadFile(filepath.Join(res.Arena.Home, ".qwen", "settings.json"))
			if err != nil || string(after) != string(before) {
				t.Errorf("settings after uninstalling, %v:\n%s\nbefore:\n%s", err, after, before)
			}
		})
	}
}

// TestRemovedHookspanDisturbsNothing removes hookspan while its hooks are installed.
func TestRemovedHookspanDisturbsNothing(t *testing.T) {
	t.Parallel()
	cache, bin := rig.Prepare(t, "Qwen Code")
	res, err := qwencli.Do(t.Context(), cache, t.ArtifactDir(), qwencli.Script{Main: []mockllm.Turn{turn("Run.", shell("echo one")), turn("Done.")}}, []rig.Step{qwen("run it")}, func(a *rig.Arena) error {
		if err := qwencli.Settings(a, nil); err != nil {
			return err
		}
		return errors.Join(a.InstallHookspan(t.Context(), bin, nil, "qwen"), a.RemoveHookspan(bin))
	})
	rig.Check(t, "Qwen Code", err)
	res.CheckUndisturbed(t, len(res.Requests), 2)
	if t.Failed() {
		report(t, res)
	}
}

func report(t *testing.T, res *qwencli.Result) {
	t.Helper()
	for _, r := range res.Requests {
		t.Logf("request %d: %s turn %d, status %d, complete %v, usage %+v, calls %+v", r.N, r.Part, r.Turn, r.Status, r.Complete, r.Usage, r.Calls)
	}
	recs, err := res.Arena.Recorded()
	if err != nil {
		t.Log(err)
	}
	res.Report(t, recs)
}

// payload is what is read of a recorded hook call.
type payload struct {
	Session   string  `json:"session_id"`
	Turn      string  `json:"prompt_id"`
	Submitted *string `json:"submitted_prompt"`
}

// checkQwen compares what Qwen Code itself did, and returns the prompts that were
// submitted in order.
func checkQwen(t *testing.T, sc *scenario, res *qwencli.Result) (prompts []payload) {
	t.Helper()
	for i, want := range sc.exits {
		if s := res.Steps[i]; s.ExitCode != want || s.TimedOut || s.Error != "" {
			t.Errorf("step %d ended with code %d (timed out: %v, error: %q), want %d", i, s.ExitCode, s.TimedOut, s.Error, want)
		}
		if s := sc.steps[i]; s.Signal != nil && !res.Steps[i].Signalled {
			t.Errorf("step %d was over before the signal", i)
		}
	}
	recs, err := res.Arena.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	hooks := make(map[string]int)
	for _, r := range recs {
		hooks[r.Name]++
		var p payload
		if err := json.Unmarshal(r.Payload, &p); err != nil {
			t.Errorf("payload of %s: %v", r.Name, err)
		}
		if p.Submitted != nil {
			prompts = append(prompts, p)
		}
	}
	delete(hooks, "PostToolBatch") // as many as Qwen Code makes of the calls
	if diff := gocmp.Diff(sc.hooks, hooks); diff != "" {
		t.Errorf("hooks Qwen Code called (-want +got):\n%s", diff)
	}
	return prompts
}

// checkTraces compares what was delivered with the scenario, the model and the
// prompts, and returns it.
func checkTraces(t *testing.T, sc *scenario, res *qwencli.Result, prompts []payload) []*rig.Trace {
	t.Helper()
	for _, s := range res.Strays {
		t.Errorf("a receiver got what it does not know: %s", s)
	}
	traces, wrong := rig.Traces(res.Spans)
	if len(traces) != len(sc.traces) || len(prompts) != len(sc.traces) {
		t.Fatalf("%d traces of %d prompts, want %d", len(traces), len(prompts), len(sc.traces))
	}
	requests := res.Requests
	for i, want := range sc.traces {
		got := traces[i]
		if got.Root == nil {
			continue // Traces has said so.
		}
		own := requests[:min(want.requests, len(requests))]
		requests = requests[len(own):]
		wrong = append(wrong, got.CompareOutcome(want.outcome, *prompts[i].Submitted, "qwen-code")...)
		wrong = append(wrong, claudecli.CompareModel(got, own, asTold(t, res, own, want.tools))...)
		wrong = append(wrong, claudecli.CompareCosts(got, own, nil)...) // no list has Qwen's models
		wrong = append(wrong, compareRoot(got, &want, own, prompts[i])...)
		if linked := i > 0 && got.LinksTo(traces[i-1]); linked != (i > 0) {
			t.Errorf("links of the root %+v do not lead to the run before", got.Root.Links)
		}
	}
	if len(requests) > 0 {
		t.Errorf("%d requests belong to no trace", len(requests))
	}
	for _, w := range append(wrong, rig.CheckInfinium(res.Posts, len(traces))...) {
		t.Error(w)
	}
	return traces
}

// asTold leaves out the texts that Qwen Code itself has lost: on a busy machine it
// misses the output of a command that ends at once, and tells the model of none.
func asTold(t *testing.T, res *qwencli.Result, requests []mockanthropic.Request, want []claudecli.WantTool) []claudecli.WantTool {
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
	return want
}

// compareRoot compares the identities and texts on the root. It returns what differs,
// one line each.
func compareRoot(got *rig.Trace, want *wantTrace, requests []mockanthropic.Request, p payload) (wrong []string) {
	attrs := map[string]string{
		otelmap.KeyConversationID: p.Session, otelmap.KeyPromptID: p.Turn, otelmap.KeyHostVersion: qwencli.Version,
		otelmap.KeyModel: qwencli.Model,
	}
	if want.outcome == otelmap.OutcomeCompleted {
		attrs[otelmap.KeyOutputValue] = requests[len(requests)-1].Text
	}
	for k, v := range attrs {
		if v != got.Root.Attrs.String(k) {
			wrong = append(wrong, fmt.Sprintf("%s %q, want %q", k, got.Root.Attrs.String(k), v))
		}
	}
	if !strings.Contains(got.Root.StatusMessage, want.message) {
		wrong = append(wrong, fmt.Sprintf("status of the root says %q, want %q in it", got.Root.StatusMessage, want.message))
	}
	blocked := slices.ContainsFunc(got.Root.Events, func(e sink.Event) bool { return e.Attrs[otelmap.KeyStopBlocked] == true })
	if blocked != want.blocked {
		wrong = append(wrong, fmt.Sprintf("the root reports a blocked stop: %v, want %v", blocked, want.blocked))
	}
	return wrong
}

// checkOwnView compares what hookspan's own commands say, the last steps of a run.
func checkOwnView(t *testing.T, sc *scenario, traces []*rig.Trace, steps []rig.StepResult) {
	t.Helper()
	for i, name := range []string{"delivery", "flush --wait", "list --json", "show --json", "doctor", "import --dry-run", "uninstall"} {
		if s := steps[i]; s.ExitCode != 0 {
			t.Errorf("%s ended with code %d: %s\n%s%s", name, s.ExitCode, s.Error, s.Stdout, s.Stderr)
		}
	}
	want := make([]rig.Listed, len(sc.traces))
	for i, tr := range sc.traces {
		want[i] = rig.Listed{Outcome: tr.outcome, Title: traces[i].Root.Attrs.String(otelmap.KeyInputValue), Tools: len(tr.tools)}
		for _, tool := range tr.tools {
			want[i].CountError(tool.Error)
		}
	}
	wrong := append(rig.CheckList(steps[2].Stdout, want), rig.CheckShown(steps[3].Stdout, traces[len(traces)-1])...)
	for _, w := range wrong {
		t.Error(w)
	}
	// The session's file gives the same traces, which are stored.
	var imported struct {
		Runs    int
		Skipped struct{ AlreadyThere int }
	}
	err := json.Unmarshal([]byte(steps[5].Stdout), &imported)
	if err != nil || imported.Runs != 0 || imported.Skipped.AlreadyThere != len(sc.traces) {
		t.Errorf("import says %q, %v; want %d traces that are stored", steps[5].Stdout, err, len(sc.traces))
	}
}

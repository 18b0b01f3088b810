package copilotcli_test

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
	"github.com/hookspan/hookspan/tests/copilotcli"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

func TestMain(m *testing.M) {
	if code, inner := copilotcli.Inner(os.Stdin, os.Stdout, os.Stderr); inner {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// scenario is what Copilot is put through and what must come of it.
type scenario struct {
	script copilotcli.Script
	// more are further hooks of the project.
	more  map[string]string
	steps []rig.Step
	exits []int
	// hooks counts the events that Copilot itself reported.
	hooks map[string]int
	// traces are the expected ones in order, one for each submitted prompt.
	traces []wantTrace
	// claude reports that hookspan is installed for Claude Code in the project, too.
	claude bool
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

// reason is what a hook answers that refuses the end of a turn. Copilot submits it.
const reason = "keep going"

func shell(command string) mockllm.ToolCall {
	return mockllm.ToolCall{Name: "bash", Args: map[string]any{"command": command, "description": "runs"}}
}

func view(name string) mockllm.ToolCall {
	return mockllm.ToolCall{Name: "view", Args: map[string]any{"path": rig.WordWorkspace + "/" + name}}
}

func task(kind string) mockllm.ToolCall {
	return mockllm.ToolCall{Name: "task", Args: map[string]any{
		"agent_type": kind, "name": "looker", "description": "look around", "prompt": "look around the house", "mode": "sync",
	}}
}

func turn(text string, calls ...mockllm.ToolCall) mockllm.Turn {
	return mockllm.Turn{Text: text, Tools: calls, Cached: 7}
}

func ok(text string) claudecli.WantTool { return claudecli.WantTool{Text: text, Under: -1} }

func bad(kind, text string) claudecli.WantTool {
	return claudecli.WantTool{Error: kind, Text: text, Under: -1}
}

func copilot(prompt string, args ...string) rig.Step {
	return rig.Step{Args: append(args, "--allow-all-tools", "--allow-all-paths", "-p", prompt), Timeout: 90 * time.Second}
}

// denies is a hook of the user's.
const denies = `payload=$(cat); case $payload in *forbidden*) echo '{"permissionDecision":"deny","permissionDecisionReason":"a hook says no"}';; esac`

const failed, denied, cancelled = otelmap.ErrorToolFailure, otelmap.ErrorToolDenied, otelmap.ErrorToolCancelled

func scenarios() map[string]scenario {
	const parallel = 8
	var calls []mockllm.ToolCall
	var tools []claudecli.WantTool
	for i := range parallel {
		calls, tools = append(calls, shell(fmt.Sprintf("echo n%d.", i))), append(tools, ok(fmt.Sprintf("n%d.", i)))
	}
	interrupted := copilot("start something long")
	interrupted.Signal = &rig.Signal{Number: syscall.SIGINT, When: rig.Condition{Mark: true}}
	create := mockllm.ToolCall{Name: "create", Args: map[string]any{"path": rig.WordWorkspace + "/new.txt", "file_text": "made by the agent"}}
	const start, prompt, stop, end, pre, post, fails = "sessionStart", "userPromptSubmitted", "agentStop", "sessionEnd", "preToolUse", "postToolUse", "postToolUseFailure"
	return map[string]scenario{
		// A start of Copilot takes seconds, so one meets much of what can happen to a call.
		"tools, parallel, denied, second turn": {
			more: map[string]string{
				pre: denies,
			},
			script: copilotcli.Script{Main: []mockllm.Turn{
				turn("Three at once.", shell("echo one"), shell("echo worse >&2; exit 3"), create),
				turn("Again.", view("missing.txt"), mockllm.ToolCall{Name: "no_such_tool", Args: map[string]any{"x": "y"}}),
				turn("Two.", shell("echo forbidden"), shell("echo good")),
				turn("All.", calls...),
				turn("All done."),
				turn("Read.", view("b.txt")),
				turn("Second."),
			}},
			steps: []rig.Step{copilot("fix the login"), copilot("go on", "--continue")}, exits: []int{0, 0},
			hooks: map[string]int{start: 2, prompt: 2, pre: 8 + parallel, post: 5 + parallel, fails: 2, stop: 2, end: 2},
			traces: []wantTrace{
				{requests: 5, outcome: otelmap.OutcomeCompleted, tools: append([]claudecli.WantTool{
					ok("one"), bad(failed, "worse"), ok("new.txt"), bad(failed, "does not exist"), bad(failed, "does not exist"), bad(denied, "a hook says no"), ok("good"),
				}, tools...)},
				{requests: 2, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{ok("beta")}},
			},
		},
		"subagent": {
			script: copilotcli.Script{
				Main: []mockllm.Turn{turn("Delegate.", task("explore")), turn("Delegated.")},
				Sub:  []mockllm.Turn{turn("Sub looks.", view("a.txt"), view("nope.txt")), turn("Sub done.")},
			},
			steps: []rig.Step{copilot("delegate it")}, exits: []int{0},
			hooks: map[string]int{start: 1, prompt: 2, pre: 3, post: 2, fails: 1, "subagentStart": 1, "subagentStop": 1, stop: 2, end: 1},
			traces: []wantTrace{{requests: 4, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{
				ok("Sub done."), {Text: "alpha", Under: 0}, {Error: failed, Text: "does not exist", Under: 0},
			}}},
		},
		"subagent of a subagent": {
			script: copilotcli.Script{
				Main: []mockllm.Turn{
					turn("Delegate.", task("general-purpose")), turn("Delegate further.", task("explore")),
					turn("Outer runs.", shell("echo outer; exit 3")), turn("Outer done."), turn("Delegated."),
				},
				Sub:       []mockllm.Turn{turn("Inner looks.", view("a.txt"), view("nope.txt")), turn("Inner done.")},
				Delegated: []int{1, 2, 3},
			},
			steps: []rig.Step{copilot("delegate it")}, exits: []int{0},
			hooks: map[string]int{start: 1, prompt: 3, pre: 5, post: 4, fails: 1, "subagentStart": 2, "subagentStop": 2, stop: 3, end: 1},
			traces: []wantTrace{{requests: 7, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{
				ok("Outer done."),
				{Text: "Inner done.", Under: 0},
				{Text: "alpha", Under: 1},
				{Error: failed, Text: "does not exist", Under: 1},
				{Error: failed, Text: "outer", Under: 0},
			}}},
		},
		"Claude Code's hooks in the project": {
			script: copilotcli.Script{Main: []mockllm.Turn{turn("Run.", shell("echo one")), turn("Done.")}},
			steps:  []rig.Step{copilot("run it")}, exits: []int{0},
			hooks:  map[string]int{start: 1, prompt: 1, pre: 1, post: 1, stop: 1, end: 1},
			traces: []wantTrace{{requests: 2, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{ok("one")}}},
			claude: true,
		},
		"blocked stop": {
			more: map[string]string{stop: `mkdir "$HOME/blocked" 2>/dev/null && echo '{"decision":"block","reason":"` + reason + `"}'; true`},
			script: copilotcli.Script{Main: []mockllm.Turn{
				turn("First answer."), turn("Going on.", shell("echo more")), turn("Second answer."),
			}},
			steps: []rig.Step{copilot("do all of it")}, exits: []int{0},
			hooks: map[string]int{start: 1, prompt: 2, pre: 1, post: 1, stop: 2, end: 1},
			traces: []wantTrace{{
				requests: 3, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{ok("more")}, blocked: true,
			}},
		},
		"interrupted tool": {
			script: copilotcli.Script{Main: []mockllm.Turn{
				turn("Long.", shell("echo running > "+rig.WordMark+"; tail -f /dev/null")), turn("Never."),
			}},
			steps: []rig.Step{interrupted}, exits: []int{0},
			hooks:  map[string]int{start: 1, prompt: 1, pre: 1, end: 1},
			traces: []wantTrace{{requests: 1, outcome: otelmap.OutcomeInterrupted, tools: []claudecli.WantTool{bad(cancelled, "")}}},
		},
		"provider error": {
			script: copilotcli.Script{Main: []mockllm.Turn{{HTTPError: 400, Message: "scripted refusal"}}},
			steps:  []rig.Step{copilot("never answered")}, exits: []int{1},
			hooks:  map[string]int{start: 1, prompt: 1, "errorOccurred": 1, end: 1},
			traces: []wantTrace{{requests: 1, outcome: otelmap.OutcomeFailed, message: "scripted refusal"}},
		},
	}
}

// TestScenarios puts Copilot through every scenario with hookspan installed as a user
// installs it, and compares what the recorder beside hookspan, the model, the
// receivers and hookspan itself say.
func TestScenarios(t *testing.T) {
	t.Parallel()
	cache, bin := rig.Prepare(t, "Copilot")
	hookspan := func(args ...string) rig.Step {
		return rig.Step{Program: []string{filepath.Join(bin, "hookspan")}, Args: args}
	}
	for name, sc := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// What the hooks start by themselves must deliver with no help.
			deliver := rig.Step{WaitTraces: len(sc.traces), Timeout: 30 * time.Second}
			res, err := copilotcli.Do(t.Context(), cache, t.ArtifactDir(), sc.script, slices.Concat(sc.steps, []rig.Step{
				deliver, hookspan("flush", "--wait"), hookspan("list", "--json"), hookspan("show", "--json"), hookspan("doctor"),
				hookspan("import", "copilot", "--dry-run", "--json"), hookspan("uninstall", "copilot"),
			}), func(a *rig.Arena) error {
				if err := copilotcli.Settings(a, sc.more); err != nil {
					return err
				}
				if sc.claude {
					// Copilot runs a trusted project's hooks of Claude Code, too.
					a.Env["COPILOT_ALLOW_ALL"] = "true"
					if err := a.InstallHookspan(t.Context(), bin, nil, "claude", "--project", a.Workspace); err != nil {
						return err
					}
				}
				return a.InstallHookspan(t.Context(), bin, nil, "copilot")
			})
			rig.Check(t, "Copilot", err)
			t.Cleanup(func() {
				if t.Failed() {
					report(t, res)
				}
			})
			prompts := checkCopilot(t, &sc, res)
			traces := checkTraces(t, &sc, res, prompts)
			checkOwnView(t, &sc, traces, res.Steps[len(sc.steps):])
			if len(res.Killed) > 0 {
				t.Errorf("processes outlived the run: %q", res.Killed)
			}
			if left, err := os.ReadDir(filepath.Join(res.Arena.Home, ".copilot", "hooks")); err != nil || len(left) != 1 {
				t.Errorf("after uninstalling there are %v, %v; want the user's own file", left, err)
			}
		})
	}
}

// TestRemovedHookspanDisturbsNothing removes hookspan while its hooks are installed.
func TestRemovedHookspanDisturbsNothing(t *testing.T) {
	t.Parallel()
	cache, bin := rig.Prepare(t, "Copilot")
	res, err := copilotcli.Do(t.Context(), cache, t.ArtifactDir(), copilotcli.Script{Main: []mockllm.Turn{turn("Run.", shell("echo one")), turn("Done.")}}, []rig.Step{copilot("run it")}, func(a *rig.Arena) error {
		if err := copilotcli.Settings(a, nil); err != nil {
			return err
		}
		return errors.Join(a.InstallHookspan(t.Context(), bin, nil, "copilot"), a.RemoveHookspan(bin))
	})
	rig.Check(t, "Copilot", err)
	res.CheckUndisturbed(t, len(res.Requests), 2)
	if t.Failed() {
		report(t, res)
	}
}

func report(t *testing.T, res *copilotcli.Result) {
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
	Session   string  `json:"sessionId"`
	Agent     string  `json:"agentId"`
	Submitted *string `json:"prompt"`
}

// checkCopilot compares what Copilot itself did, and returns the prompts that were
// submitted in order.
func checkCopilot(t *testing.T, sc *scenario, res *copilotcli.Result) (prompts []payload) {
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
		if r.Name == "userPromptSubmitted" && p.Submitted != nil && p.Agent == "" && *p.Submitted != reason {
			prompts = append(prompts, p)
		}
	}
	if diff := gocmp.Diff(sc.hooks, hooks); diff != "" {
		t.Errorf("hooks Copilot called (-want +got):\n%s", diff)
	}
	return prompts
}

// checkTraces compares what was delivered with the scenario, the model and the
// prompts, and returns it.
func checkTraces(t *testing.T, sc *scenario, res *copilotcli.Result, prompts []payload) []*rig.Trace {
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
		wrong = append(wrong, got.CompareOutcome(want.outcome, *prompts[i].Submitted, "copilot-cli")...)
		wrong = append(wrong, claudecli.CompareModel(got, own, want.tools)...)
		wrong = append(wrong, claudecli.CompareCosts(got, own, prices)...)
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

// prices are those in OpenAI's list: Copilot has the user's own key.
var prices = map[string]claudecli.Price{copilotcli.Model: {Input: 1.75, CacheRead: 0.175, Output: 14}}

// compareRoot compares the identities and texts on the root. It returns what differs,
// one line each.
func compareRoot(got *rig.Trace, want *wantTrace, requests []mockanthropic.Request, p payload) (wrong []string) {
	attrs := map[string]string{
		otelmap.KeyConversationID: p.Session, otelmap.KeyHostVersion: copilotcli.Version,
	}
	if want.outcome == otelmap.OutcomeCompleted {
		attrs[otelmap.KeyOutputValue], attrs[otelmap.KeyModel] = requests[len(requests)-1].Text, copilotcli.Model
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
		Skipped struct{ Captured int }
	}
	err := json.Unmarshal([]byte(steps[5].Stdout), &imported)
	if err != nil || imported.Runs != 0 || imported.Skipped.Captured != len(sc.traces) {
		t.Errorf("import says %q, %v; want %d traces that are stored", steps[5].Stdout, err, len(sc.traces))
	}
}

package geminicli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/geminicli"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

func TestMain(m *testing.M) {
	if code, inner := geminicli.Inner(os.Stdin, os.Stdout, os.Stderr); inner {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// scenario is what the Gemini CLI is put through and what must come of it.
type scenario struct {
	script geminicli.Script
	// more are further hooks of the project.
	more  map[string]string
	steps []rig.Step
	exits []int
	// hooks counts the events that the Gemini CLI itself reported.
	hooks map[string]int
	// traces are the expected ones in order, one for each submitted prompt.
	traces []wantTrace
	// leaves reports that the Gemini CLI leaves a command behind.
	leaves bool
}

type wantTrace struct {
	// requests is how many requests of the log belong to the trace.
	requests int
	outcome  string
	tools    []claudecli.WantTool
}

// anyCode stands for any exit code.
const anyCode = -2

func shell(command string) geminicli.Tool {
	return geminicli.Tool{Name: "run_shell_command", Args: map[string]any{"command": command, "description": "runs"}}
}

func read(name string) geminicli.Tool {
	return geminicli.Tool{Name: "read_file", Args: map[string]any{"file_path": name}}
}

func turn(text string, calls ...geminicli.Tool) geminicli.Turn {
	return geminicli.Turn{Text: text, Tools: calls}
}

func ok(text string) claudecli.WantTool { return claudecli.WantTool{Text: text, Under: -1} }

func bad(kind, text string) claudecli.WantTool {
	return claudecli.WantTool{Error: kind, Text: text, Under: -1}
}

func gemini(prompt string, args ...string) rig.Step {
	return rig.Step{Args: append(args, "--yolo", "-p", prompt), Timeout: 90 * time.Second}
}

// denies is a hook of the user's.
const denies = `payload=$(cat); case $payload in *forbidden*) echo 'a hook says no' >&2; exit 2;; esac; exit 0`

const failed, denied, cancelled = otelmap.ErrorToolFailure, otelmap.ErrorToolDenied, otelmap.ErrorToolCancelled

func scenarios() map[string]scenario {
	const parallel = 8
	var calls []geminicli.Tool
	var tools []claudecli.WantTool
	for i := range parallel {
		calls, tools = append(calls, shell(fmt.Sprintf("echo n%d.", i))), append(tools, ok(fmt.Sprintf("n%d.", i)))
	}
	interrupted := gemini("start something long")
	interrupted.Signal = &rig.Signal{Number: syscall.SIGINT, When: rig.Condition{Mark: true}}
	write := geminicli.Tool{Name: "write_file", Args: map[string]any{"file_path": "new.txt", "content": "made by the agent"}}
	const start, prompt, stop, end, pre, post = "SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd", "BeforeTool", "AfterTool"
	return map[string]scenario{
		// A start of the Gemini CLI takes seconds, so one meets much of what can happen to a call.
		"tools, parallel, equal, denied, second turn": {
			more: map[string]string{
				pre: denies,
			},
			script: geminicli.Script{Main: []geminicli.Turn{
				turn("Three at once.", shell("echo one"), shell("echo worse >&2; exit 3"), write),
				turn("Again.", read("missing.txt"), geminicli.Tool{Name: "no_such_tool", Args: map[string]any{"x": "y"}}),
				turn("Two.", shell("echo forbidden"), shell("echo good")),
				turn("All.", calls...),
				turn("Twice.", read("a.txt"), read("a.txt")),
				turn("All done."),
				turn("Read.", read("b.txt")),
				turn("Second."),
			}},
			steps: []rig.Step{gemini("fix the login"), gemini("go on", "--resume", "latest")}, exits: []int{0, 0},
			hooks: map[string]int{start: 2, prompt: 2, pre: 9 + parallel, post: 8 + parallel, stop: 2, end: 2},
			traces: []wantTrace{
				{requests: 6, outcome: otelmap.OutcomeCompleted, tools: slices.Concat([]claudecli.WantTool{
					ok("one"), bad(failed, "worse"), ok("new.txt"), bad(failed, "not found"), bad(failed, "not found"), bad(denied, "a hook says no"), ok("good"),
				}, tools, []claudecli.WantTool{ok("alpha"), ok("alpha")})},
				{requests: 2, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{ok("beta")}},
			},
		},
		"subagent": {
			script: geminicli.Script{
				Main: []geminicli.Turn{
					turn("Delegate.", geminicli.Tool{Name: "invoke_agent", Args: map[string]any{"agent_name": "codebase_investigator", "prompt": "look around the house"}}, read("a.txt")),
					turn("Delegated."),
				},
				Sub: []geminicli.Turn{
					turn("Sub looks.", read("a.txt"), read("nope.txt")),
					turn("", geminicli.Tool{Name: "complete_task", Args: map[string]any{"report": map[string]any{
						"SummaryOfFindings": "a house", "ExplorationTrace": []string{"looked"}, "RelevantLocations": []any{},
					}}}),
				},
			},
			steps: []rig.Step{gemini("delegate it")}, exits: []int{0},
			hooks: map[string]int{start: 1, prompt: 1, pre: 5, post: 5, stop: 1, end: 1},
			traces: []wantTrace{{requests: 4, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{
				ok("a house"), ok("alpha"), {Text: "alpha", Under: 0}, {Error: failed, Text: "not found", Under: 0}, {Text: "completed", Under: 0},
			}}},
		},
		// What a hook answers to the end of a turn is a prompt of its own.
		"blocked stop": {
			more: map[string]string{stop: `mkdir blocked 2>/dev/null && { echo 'keep going' >&2; exit 2; }; exit 0`},
			script: geminicli.Script{Main: []geminicli.Turn{
				turn("First answer."), turn("Going on.", shell("echo more")), turn("Second answer."),
			}},
			steps: []rig.Step{gemini("do all of it")}, exits: []int{0},
			hooks: map[string]int{start: 1, prompt: 2, pre: 1, post: 1, stop: 2, end: 1},
			traces: []wantTrace{
				{requests: 1, outcome: otelmap.OutcomeCompleted},
				{requests: 2, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{ok("more")}},
			},
		},
		"interrupted tool": {
			script: geminicli.Script{Main: []geminicli.Turn{
				turn("Long.", shell("echo running > "+rig.WordMark+"; tail -f /dev/null")), turn("Never."),
			}},
			steps: []rig.Step{interrupted}, exits: []int{anyCode}, // 0 or 130
			hooks:  map[string]int{start: 1, prompt: 1, pre: 1, end: 1},
			traces: []wantTrace{{requests: 1, outcome: otelmap.OutcomeInterrupted, tools: []claudecli.WantTool{bad(cancelled, "")}}},
			leaves: true,
		},
		// No hook and no file says that a request failed.
		"provider error": {
			script: geminicli.Script{Main: []geminicli.Turn{{HTTPError: 400}}},
			steps:  []rig.Step{gemini("never answered")}, exits: []int{1},
			hooks:  map[string]int{start: 1, prompt: 1, end: 1},
			traces: []wantTrace{{requests: 1, outcome: otelmap.OutcomeInterrupted}},
		},
	}
}

// TestScenarios puts the Gemini CLI through every scenario with hookspan installed as a user
// installs it, and compares what the recorder beside hookspan, the model, the
// receivers and hookspan itself say.
func TestScenarios(t *testing.T) {
	t.Parallel()
	cache, bin := rig.Prepare(t, "Gemini CLI")
	hookspan := func(args ...string) rig.Step {
		return rig.Step{Program: []string{filepath.Join(bin, "hookspan")}, Args: args}
	}
	for name, sc := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// What the hooks start by themselves must deliver with no help.
			deliver := rig.Step{WaitTraces: len(sc.traces), Timeout: 30 * time.Second}
			var before []byte
			res, err := geminicli.Do(t.Context(), cache, t.ArtifactDir(), sc.script, slices.Concat(sc.steps, []rig.Step{
				deliver, hookspan("flush", "--wait"), hookspan("list", "--json"), hookspan("show", "--json"), hookspan("doctor"), hookspan("verify", "--all"),
				hookspan("import", "gemini", "--dry-run", "--json"), hookspan("uninstall", "gemini"),
			}), func(a *rig.Arena) error {
				if err := geminicli.Settings(a, sc.more); err != nil {
					return err
				}
				var err error
				if before, err = os.ReadFile(filepath.Join(a.Home, ".gemini", "settings.json")); err != nil {
					return err
				}
				return a.InstallHookspan(t.Context(), bin, nil, "gemini")
			})
			rig.Check(t, "the Gemini CLI", err)
			t.Cleanup(func() {
				if t.Failed() {
					report(t, res)
				}
			})
			prompts := checkGemini(t, &sc, res)
			traces := checkTraces(t, &sc, res, prompts)
			checkOwnView(t, &sc, traces, res.Steps[len(sc.steps):])
			if len(res.Killed) > 0 && !sc.leaves {
				t.Errorf("processes outlived the run: %q", res.Killed)
			}
			after, err := os.ReadFile(filepath.Join(res.Arena.Home, ".gemini", "settings.json"))
			if err != nil || string(after) != string(before) {
				t.Errorf("settings after uninstalling, %v:\n%s\nbefore:\n%s", err, after, before)
			}
		})
	}
}

// TestRemovedHookspanDisturbsNothing removes hookspan while its hooks are installed.
func TestRemovedHookspanDisturbsNothing(t *testing.T) {
	t.Parallel()
	cache, bin := rig.Prepare(t, "Gemini CLI")
	res, err := geminicli.Do(t.Context(), cache, t.ArtifactDir(), geminicli.Script{Main: []geminicli.Turn{turn("Run.", shell("echo one")), turn("Done.")}}, []rig.Step{gemini("run it")}, func(a *rig.Arena) error {
		if err := geminicli.Settings(a, nil); err != nil {
			return err
		}
		return errors.Join(a.InstallHookspan(t.Context(), bin, nil, "gemini"), a.RemoveHookspan(bin))
	})
	rig.Check(t, "Gemini CLI", err)
	res.CheckUndisturbed(t, len(res.Requests), 2)
	if t.Failed() {
		report(t, res)
	}
}

func report(t *testing.T, res *geminicli.Result) {
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
	Event     string  `json:"hook_event_name"`
	Submitted *string `json:"prompt"`
}

// checkGemini compares what the Gemini CLI itself did, and returns the prompts that were
// submitted in order.
func checkGemini(t *testing.T, sc *scenario, res *geminicli.Result) (prompts []payload) {
	t.Helper()
	for i, want := range sc.exits {
		if s := res.Steps[i]; s.ExitCode != want && want != anyCode || s.TimedOut || s.Error != "" {
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
		if p.Event == "BeforeAgent" && p.Submitted != nil {
			prompts = append(prompts, p)
		}
	}
	if diff := gocmp.Diff(sc.hooks, hooks); diff != "" {
		t.Errorf("hooks the Gemini CLI called (-want +got):\n%s", diff)
	}
	return prompts
}

// checkTraces compares what was delivered with the scenario, the model and the
// prompts, and returns it.
func checkTraces(t *testing.T, sc *scenario, res *geminicli.Result, prompts []payload) []*rig.Trace {
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
		wrong = append(wrong, got.CompareOutcome(want.outcome, *prompts[i].Submitted, "gemini-cli")...)
		wrong = append(wrong, claudecli.CompareModel(got, identified(got, own), want.tools)...)
		wrong = append(wrong, claudecli.CompareCosts(got, identified(got, own), prices)...)
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

// prices are those of short inputs in Google's list.
var prices = map[string]claudecli.Price{geminicli.Model: {Input: 1.25, CacheRead: 0.125, Output: 10}}

// identified gives the requests, but for those that failed, the ids that the Gemini CLI
// has made up for them: a subagent works while the lead agent waits. A call that was
// interrupted has no id: neither hooks nor files say it.
func identified(got *rig.Trace, requests []mockanthropic.Request) []mockanthropic.Request {
	chats := got.Operation(otelmap.OpChat)
	slices.SortStableFunc(chats, func(a, b *sink.Span) int { return a.Start.Compare(b.Start) })
	out := slices.Clone(requests)
	for i := range out {
		if out[i].Usage != nil && len(chats) > 0 {
			out[i].ID, chats = chats[0].Attrs.String(otelmap.KeyResponseID), chats[1:]
		}
		out[i].Calls = slices.Clone(out[i].Calls)
		for j := range out[i].Calls {
			c := &out[i].Calls[j]
			if !slices.ContainsFunc(got.Spans, func(s *sink.Span) bool { return s.Attrs.String(otelmap.KeyToolCallID) == c.ID }) {
				c.ID = ""
			}
		}
	}
	return out
}

// compareRoot compares the identities and texts on the root. It returns what differs,
// one line each.
func compareRoot(got *rig.Trace, want *wantTrace, requests []mockanthropic.Request, p payload) (wrong []string) {
	attrs := map[string]string{
		otelmap.KeyConversationID: p.Session,
	}
	if want.outcome == otelmap.OutcomeCompleted {
		attrs[otelmap.KeyOutputValue], attrs[otelmap.KeyModel] = requests[len(requests)-1].Text, geminicli.Model
	}
	for k, v := range attrs {
		if v != got.Root.Attrs.String(k) {
			wrong = append(wrong, fmt.Sprintf("%s %q, want %q", k, got.Root.Attrs.String(k), v))
		}
	}
	return wrong
}

// checkOwnView compares what hookspan's own commands say, the last steps of a run.
func checkOwnView(t *testing.T, sc *scenario, traces []*rig.Trace, steps []rig.StepResult) {
	t.Helper()
	for i, name := range []string{"delivery", "flush --wait", "list --json", "show --json", "doctor", "verify", "import --dry-run", "uninstall"} {
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
	err := json.Unmarshal([]byte(steps[6].Stdout), &imported)
	if err != nil || imported.Runs != 0 || imported.Skipped.Captured != len(sc.traces) {
		t.Errorf("import says %q, %v; want %d traces that are stored", steps[6].Stdout, err, len(sc.traces))
	}
}

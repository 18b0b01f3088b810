package codexcli_test

import (
	"cmp"
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
	"github.com/hookspan/hookspan/tests/codexcli"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

func TestMain(m *testing.M) {
	if code, inner := codexcli.Inner(os.Stdin, os.Stdout, os.Stderr); inner {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// scenario is what Codex is put through and what must come of it.
type scenario struct {
	script codexcli.Script
	// more are further hooks of the project.
	more  map[string]string
	steps []rig.Step
	exits []int
	// model is the model if it is not codexcli.Model.
	model string
	// hooks counts the events that Codex itself reported.
	hooks map[string]int
	// traces are the expected ones in order, one for each submitted prompt.
	traces []wantTrace
}

type wantTrace struct {
	// requests is how many requests of the log belong to the trace.
	requests int
	outcome  string
	// class is the root's error.type, message a part of its status message.
	class   string
	message string
	tools   []claudecli.WantTool
	blocked bool
	// fast reports that the turn is in another service tier, for which no price is known.
	fast bool
}

func shell(command string) codexcli.Tool {
	return codexcli.Tool{Name: "exec_command", Args: map[string]any{"cmd": command}, Span: "Bash", SpanInput: map[string]any{"command": command}}
}

func patch(text string) codexcli.Tool {
	return codexcli.Tool{Name: "apply_patch", Input: "*** Begin Patch\n" + text + "\n*** End Patch\n", Span: "apply_patch"}
}

// code is a script of the model that makes calls.
func code(script string, calls ...codexcli.Tool) codexcli.Tool {
	return codexcli.Tool{Name: "exec", Input: script, Nested: calls, Span: "exec", SpanInput: map[string]any{"command": script}}
}

func turn(text string, tools ...codexcli.Tool) codexcli.Turn {
	return codexcli.Turn{Text: text, Tools: tools}
}

func ok(text string) claudecli.WantTool { return claudecli.WantTool{Text: text, Under: -1} }

func bad(kind, text string) claudecli.WantTool {
	return claudecli.WantTool{Error: kind, Text: text, Under: -1}
}

// codex runs the program. The user has trusted the hooks in the one way that needs no
// terminal.
func codex(args ...string) rig.Step {
	return rig.Step{Args: append([]string{"exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check"}, args...), Timeout: 90 * time.Second}
}

// denies is a hook of the user's.
const denies = `payload=$(cat); case $payload in *forbidden*) echo 'a hook says no' >&2; exit 2;; esac`

const failed, denied, cancelled = otelmap.ErrorToolFailure, otelmap.ErrorToolDenied, otelmap.ErrorToolCancelled

func scenarios() map[string]scenario {
	const parallel = 8
	var calls []codexcli.Tool
	var tools []claudecli.WantTool
	for i := range parallel {
		calls, tools = append(calls, shell(fmt.Sprintf("echo n%d.", i))), append(tools, ok(fmt.Sprintf("n%d.", i)))
	}
	// A command that is left running fails once, whoever is told of it.
	long := shell("sleep 1; echo late; exit 9")
	long.Args["yield_time_ms"] = 250
	poll := codexcli.Tool{Name: "write_stdin", Args: map[string]any{"session_id": codexcli.Process, "chars": "", "yield_time_ms": 10_000}}
	interrupted := codex("start something long")
	interrupted.Signal = &rig.Signal{Number: syscall.SIGINT, When: rig.Condition{Mark: true}}
	const start, prompt, stop, end, pre, post = "SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "PreToolUse", "PostToolUse"
	return map[string]scenario{
		"tools": {
			script: codexcli.Script{Main: []codexcli.Turn{
				turn("Three at once.", shell("echo one"), shell("echo worse >&2; exit 3"), patch("*** Add File: new.txt\n+made by the agent")),
				turn("Again.", patch("*** Update File: missing.txt\n@@\n-x\n+y"), codexcli.Tool{Name: "no_such_tool", Args: map[string]any{"x": "y"}}),
				turn("A long one.", long), turn("Is it done?", poll),
				turn("All done."),
			}},
			steps: []rig.Step{codex("fix the login")}, exits: []int{0},
			hooks: map[string]int{start: 1, prompt: 1, pre: 5, post: 4, stop: 1, end: 1},
			traces: []wantTrace{{requests: 5, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{
				ok("one"), bad(failed, "worse"), ok("new.txt"), bad(failed, "verification failed"), bad(failed, "unsupported call"),
				bad(failed, "late"), ok("late"),
			}}},
		},
		"second turn, both in another service tier": {
			script: codexcli.Script{Main: []codexcli.Turn{
				turn("Run.", shell("echo one")), turn("First."), turn("Read.", shell("cat b.txt")), turn("Second."),
			}},
			steps: []rig.Step{codex("-c", `service_tier="fast"`, "begin"), codex("resume", "--last", "go on")}, exits: []int{0, 0},
			hooks: map[string]int{start: 2, prompt: 2, pre: 2, post: 2, stop: 2, end: 2},
			traces: []wantTrace{
				{requests: 2, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{ok("one")}, fast: true},
				{requests: 2, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{ok("beta")}, fast: true},
			},
		},
		"subagent": {
			script: codexcli.Script{
				SubWhen: "look around the house", NotSubWhen: "delegate it",
				Main: []codexcli.Turn{
					turn("Delegate.", codexcli.Tool{
						Name: "spawn_agent", Namespace: "multi_agent_v1", Args: map[string]any{"message": "look around the house"},
						Span: "spawn_agent", SpanInput: map[string]any{"message": "look around the house"},
					}),
					turn("Meanwhile.", shell("for i in $(seq 100); do ls "+rig.WordRecords+" | grep -q SubagentStop.json && break; sleep 0.1; done; echo waited")),
					turn("Delegated."),
				},
				Sub: []codexcli.Turn{turn("Sub looks.", shell("echo sub; exit 4")), turn("Sub done.")},
			},
			steps: []rig.Step{codex("delegate it")}, exits: []int{0},
			hooks: map[string]int{start: 1, prompt: 2, pre: 3, post: 3, stop: 1, end: 1, "SubagentStart": 1, "SubagentStop": 1},
			traces: []wantTrace{{requests: 5, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{
				ok("agent_id"), ok("waited"), {Error: failed, Text: "sub", Under: 0},
			}}},
		},
		"code mode": {
			more: map[string]string{
				pre: denies,
			},
			model: codexcli.CodeModel,
			script: codexcli.Script{
				SubWhen: "look around the house", NotSubWhen: "delegate it",
				Main: []codexcli.Turn{
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
					turn("Delegate.", codexcli.Tool{
						Name: "spawn_agent", Namespace: "collaboration",
						Args: map[string]any{"task_name": "looker", "message": "look around the house", "fork_turns": "none"},
					}),
					turn("Wait.", codexcli.Tool{Name: "wait_agent", Namespace: "collaboration", Args: map[string]any{"timeout_ms": 60000}}),
					turn("Done in code mode."),
				},
				Sub: []codexcli.Turn{
					turn("Sub looks.", code(`text(await tools.exec_command({cmd: 'echo sub; exit 4'}))`, shell("echo sub; exit 4"))),
					turn("Sub done."),
				},
			},
			steps: []rig.Step{codex("--model", codexcli.CodeModel, "delegate it")}, exits: []int{0},
			hooks: map[string]int{start: 1, prompt: 1, pre: 7, post: 6, stop: 1, end: 1, "SubagentStart": 1, "SubagentStop": 1},
			traces: []wantTrace{{requests: 8, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{
				bad(failed, "worse"), ok("beta"), ok("new.txt"), bad(otelmap.ErrorToolUnfinished, ""), bad(failed, "script broke"), ok("looker"),
				ok("Wait completed"),
				{Error: failed, Text: "sub", Under: 5},
			}}},
		},
		"parallel tools": {
			script: codexcli.Script{Main: []codexcli.Turn{turn("All.", calls...), turn("Done.")}},
			steps:  []rig.Step{codex("count")}, exits: []int{0},
			hooks:  map[string]int{start: 1, prompt: 1, pre: parallel, post: parallel, stop: 1, end: 1},
			traces: []wantTrace{{requests: 2, outcome: otelmap.OutcomeCompleted, tools: tools}},
		},
		"denied tool": {
			more: map[string]string{
				pre: denies,
			},
			script: codexcli.Script{Main: []codexcli.Turn{turn("Two.", shell("echo forbidden"), shell("echo good")), turn("Only one.")}},
			steps:  []rig.Step{codex("run both")}, exits: []int{0},
			hooks:  map[string]int{start: 1, prompt: 1, pre: 2, post: 1, stop: 1, end: 1},
			traces: []wantTrace{{requests: 2, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{bad(denied, "a hook says no"), ok("good")}}},
		},
		"blocked stop": {
			more: map[string]string{stop: `mkdir blocked 2>/dev/null && { echo 'keep going' >&2; exit 2; }; exit 0`},
			script: codexcli.Script{Main: []codexcli.Turn{
				turn("First answer."), turn("Going on.", shell("echo more")), turn("Second answer."),
			}},
			steps: []rig.Step{codex("do all of it")}, exits: []int{0},
			hooks: map[string]int{start: 1, prompt: 1, pre: 1, post: 1, stop: 2, end: 1},
			traces: []wantTrace{{
				requests: 3, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{ok("more")}, blocked: true,
			}},
		},
		"interrupted tool": {
			script: codexcli.Script{Main: []codexcli.Turn{
				turn("Long.", shell("echo running > "+rig.WordMark+"; tail -f /dev/null")), turn("Never."),
			}},
			steps: []rig.Step{interrupted}, exits: []int{1},
			hooks:  map[string]int{start: 1, prompt: 1, pre: 1, "Interrupt": 1, end: 1},
			traces: []wantTrace{{requests: 1, outcome: otelmap.OutcomeInterrupted, tools: []claudecli.WantTool{bad(cancelled, "")}}},
		},
		"provider error": {
			script: codexcli.Script{Main: []codexcli.Turn{{HTTPError: 400}}},
			steps:  []rig.Step{codex("never answered")}, exits: []int{1},
			hooks:  map[string]int{start: 1, prompt: 1, end: 1},
			traces: []wantTrace{{requests: 1, outcome: otelmap.OutcomeFailed, class: otelmap.ErrorRun, message: "scripted refusal"}},
		},
		"unavailable provider": {
			script: codexcli.Script{Main: []codexcli.Turn{{HTTPError: 503}}},
			steps:  []rig.Step{codex("never answered")}, exits: []int{1},
			hooks: map[string]int{start: 1, prompt: 1, end: 1},
			traces: []wantTrace{{
				requests: 1, outcome: otelmap.OutcomeFailed, class: "http_connection_failed", message: "503 Service Unavailable: scripted refusal",
			}},
		},
		"answer that breaks off": {
			script: codexcli.Script{Main: []codexcli.Turn{turn("Run.", shell("echo one")), {Failed: "scripted failure"}}},
			steps:  []rig.Step{codex("half answered")}, exits: []int{1},
			hooks: map[string]int{start: 1, prompt: 1, pre: 1, post: 1, end: 1},
			traces: []wantTrace{{
				requests: 2, outcome: otelmap.OutcomeFailed, class: otelmap.ErrorRun, message: "scripted failure", tools: []claudecli.WantTool{ok("one")},
			}},
		},
	}
}

// TestScenarios puts Codex through every scenario with hookspan installed as a user
// installs it, and compares what the recorder beside hookspan, the model, the
// receivers and hookspan itself say.
func TestScenarios(t *testing.T) {
	t.Parallel()
	cache, bin := rig.Prepare(t, "Codex")
	hookspan := func(args ...string) rig.Step {
		return rig.Step{Program: []string{filepath.Join(bin, "hookspan")}, Args: args}
	}
	for name, sc := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// What the hooks start by themselves must deliver with no help.
			deliver := rig.Step{WaitTraces: len(sc.traces), Timeout: 30 * time.Second}
			var before []byte
			res, err := codexcli.Do(t.Context(), cache, t.ArtifactDir(), sc.script, slices.Concat(sc.steps, []rig.Step{
				deliver, hookspan("flush", "--wait"), hookspan("list", "--json"), hookspan("show", "--json"), hookspan("doctor"),
				hookspan("verify", "--all"), hookspan("import", "codex", "--dry-run", "--json"), hookspan("uninstall", "codex"),
			}), func(a *rig.Arena) error {
				if err := codexcli.Settings(a, sc.more); err != nil {
					return err
				}
				var err error
				if before, err = os.ReadFile(filepath.Join(a.Home, ".codex", "hooks.json")); err != nil {
					return err
				}
				return a.InstallHookspan(t.Context(), bin, nil, "codex")
			})
			rig.Check(t, "Codex", err)
			t.Cleanup(func() {
				if t.Failed() {
					report(t, res)
				}
			})
			prompts := checkCodex(t, &sc, res)
			traces := checkTraces(t, &sc, res, prompts)
			checkOwnView(t, &sc, traces, res.Steps[len(sc.steps):])
			if len(res.Killed) > 0 {
				t.Errorf("processes outlived the run: %q", res.Killed)
			}
			after, err := os.ReadFile(filepath.Join(res.Arena.Home, ".codex", "hooks.json"))
			if err != nil || string(after) != string(before) {
				t.Errorf("settings after uninstalling, %v:\n%s\nbefore:\n%s", err, after, before)
			}
		})
	}
}

// TestRemovedHookspanDisturbsNothing removes hookspan while its hooks are installed.
func TestRemovedHookspanDisturbsNothing(t *testing.T) {
	t.Parallel()
	cache, bin := rig.Prepare(t, "Codex")
	res, err := codexcli.Do(t.Context(), cache, t.ArtifactDir(), codexcli.Script{Main: []codexcli.Turn{turn("Run.", shell("echo one")), turn("Done.")}}, []rig.Step{codex("run it")}, func(a *rig.Arena) error {
		if err := codexcli.Settings(a, nil); err != nil {
			return err
		}
		return errors.Join(a.InstallHookspan(t.Context(), bin, nil, "codex"), a.RemoveHookspan(bin))
	})
	rig.Check(t, "Codex", err)
	res.CheckUndisturbed(t, len(res.Requests), 2)
	if t.Failed() {
		report(t, res)
	}
}

func report(t *testing.T, res *codexcli.Result) {
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
	Turn      string  `json:"turn_id"`
	Submitted *string `json:"prompt"`
	Agent     string  `json:"agent_id"`
	Event     string  `json:"hook_event_name"`
	Tool      string  `json:"tool_name"`
	Input     struct {
		Command string `json:"command"`
	} `json:"tool_input"`
	Call string `json:"tool_use_id"`
}

// nameNested gives the calls of scripts the ids that Codex gave them.
func nameNested(requests []mockanthropic.Request, payloads []payload) {
	for _, r := range requests {
		for i := range r.Calls {
			c := &r.Calls[i]
			for _, p := range payloads {
				if c.ID == "" && p.Event == "PreToolUse" && p.Tool == c.Name && (c.Input == nil || c.Input["command"] == p.Input.Command) {
					c.ID = p.Call
				}
			}
		}
	}
}

// checkCodex compares what Codex itself did, and returns the prompts that were
// submitted in order.
func checkCodex(t *testing.T, sc *scenario, res *codexcli.Result) (prompts []payload) {
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
	var payloads []payload
	for _, r := range recs {
		hooks[r.Name]++
		var p payload
		if err := json.Unmarshal(r.Payload, &p); err != nil {
			t.Errorf("payload of %s: %v", r.Name, err)
		}
		if p.Submitted != nil && p.Agent == "" {
			prompts = append(prompts, p)
		}
		payloads = append(payloads, p)
	}
	nameNested(res.Requests, payloads)
	if diff := gocmp.Diff(sc.hooks, hooks); diff != "" {
		t.Errorf("hooks Codex called (-want +got):\n%s", diff)
	}
	return prompts
}

// prices are those of the standard tier in OpenAI's list.
var prices = map[string]claudecli.Price{
	codexcli.Model: {Input: 5, CacheRead: 0.5, Output: 30}, codexcli.CodeModel: {Input: 10, CacheRead: 1, Output: 50},
}

// checkTraces compares what was delivered with the scenario, the model and the
// prompts, and returns it.
func checkTraces(t *testing.T, sc *scenario, res *codexcli.Result, prompts []payload) []*rig.Trace {
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
		// A subagent works beside the lead agent: the parts come one after the other.
		slices.SortStableFunc(own, func(a, b mockanthropic.Request) int { return strings.Compare(a.Part, b.Part) })
		wrong = append(wrong, got.CompareOutcome(want.outcome, *prompts[i].Submitted, "codex")...)
		wrong = append(wrong, claudecli.CompareModel(got, own, want.tools)...)
		wrong = append(wrong, compareRoot(got, &want, own, prompts[i], cmp.Or(sc.model, codexcli.Model))...)
		if want.fast {
			wrong = append(wrong, claudecli.CompareCosts(got, own, nil)...)
		} else {
			wrong = append(wrong, claudecli.CompareCosts(got, own, prices)...)
		}
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

// compareRoot compares the identities and texts on the root. It returns what differs,
// one line each.
func compareRoot(got *rig.Trace, want *wantTrace, requests []mockanthropic.Request, p payload, model string) (wrong []string) {
	attrs := map[string]string{
		otelmap.KeyConversationID: p.Session, otelmap.KeyPromptID: p.Turn, otelmap.KeyHostVersion: codexcli.Version,
		otelmap.KeyModel: model, otelmap.KeyErrorType: want.class,
	}
	if want.outcome == otelmap.OutcomeCompleted {
		lead := slices.DeleteFunc(slices.Clone(requests), func(r mockanthropic.Request) bool { return r.Part != mockanthropic.PartMain })
		attrs[otelmap.KeyOutputValue] = lead[len(lead)-1].Text
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
	for i, name := range []string{"delivery", "flush --wait", "list --json", "show --json", "doctor", "verify", "import --dry-run", "uninstall"} {
		if name == "verify" {
			continue // the files lack a call that was denied in code mode, and have the namespace of another
		}
		// The hooks ran this once without being trusted.
		want := map[string]int{"doctor": 1}[name]
		if s := steps[i]; s.ExitCode != want || want == 1 && !strings.Contains(s.Stdout, "12 not trusted") {
			t.Errorf("%s ended with code %d: %s\n%s%s", name, s.ExitCode, s.Error, s.Stdout, s.Stderr)
		}
	}
	if out := steps[5].Stdout; strings.Contains(out, "tokens:") || strings.Contains(out, "cost:") || !strings.Contains(out, "verified") {
		t.Errorf("verify finds other tokens or costs:\n%s", out)
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
	err := json.Unmarshal([]byte(steps[6].Stdout), &imported)
	if err != nil || imported.Runs != 0 || imported.Skipped.AlreadyThere != len(sc.traces) {
		t.Errorf("import says %q, %v; want %d traces that are stored", steps[6].Stdout, err, len(sc.traces))
	}
}

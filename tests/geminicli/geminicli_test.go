package geminicli_test

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/geminicli"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

func TestMain(m *testing.M) {
	if code, inner := geminicli.Inner(os.Stdin, os.Stdout, os.Stderr); inner {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

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

func scenarios() map[string]scenario.Case[geminicli.Script] {
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
	return map[string]scenario.Case[geminicli.Script]{
		// A start of the Gemini CLI takes seconds, so one meets much of what can happen to a call.
		"tools, parallel, equal, denied, second turn": {
			More: map[string]string{
				pre: denies,
			},
			Script: geminicli.Script{Main: []geminicli.Turn{
				turn("Three at once.", shell("echo one"), shell("echo worse >&2; exit 3"), write),
				turn("Again.", read("missing.txt"), geminicli.Tool{Name: "no_such_tool", Args: map[string]any{"x": "y"}}),
				turn("Two.", shell("echo forbidden"), shell("echo good")),
				turn("All.", calls...),
				turn("Twice.", read("a.txt"), read("a.txt")),
				turn("All done."),
				turn("Read.", read("b.txt")),
				turn("Second."),
			}},
			Steps: []rig.Step{gemini("fix the login"), gemini("go on", "--resume", "latest")}, Exits: []int{0, 0},
			Hooks: map[string]int{start: 2, prompt: 2, pre: 9 + parallel, post: 8 + parallel, stop: 2, end: 2},
			Traces: []scenario.Trace{
				{Requests: 6, Outcome: otelmap.OutcomeCompleted, Tools: slices.Concat([]claudecli.WantTool{
					ok("one"), bad(failed, "worse"), ok("new.txt"), bad(failed, "not found"), bad(failed, "not found"), bad(denied, "a hook says no"), ok("good"),
				}, tools, []claudecli.WantTool{ok("alpha"), ok("alpha")})},
				{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []claudecli.WantTool{ok("beta")}},
			},
		},
		"subagent": {
			Script: geminicli.Script{
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
			Steps: []rig.Step{gemini("delegate it")}, Exits: []int{0},
			Hooks: map[string]int{start: 1, prompt: 1, pre: 5, post: 5, stop: 1, end: 1},
			Traces: []scenario.Trace{{Requests: 4, Outcome: otelmap.OutcomeCompleted, Tools: []claudecli.WantTool{
				ok("a house"), ok("alpha"), {Text: "alpha", Under: 0}, {Error: failed, Text: "not found", Under: 0}, {Text: "completed", Under: 0},
			}}},
		},
		// What a hook answers to the end of a turn is a prompt of its own.
		"blocked stop": {
			More: map[string]string{stop: `mkdir blocked 2>/dev/null && { echo 'keep going' >&2; exit 2; }; exit 0`},
			Script: geminicli.Script{Main: []geminicli.Turn{
				turn("First answer."), turn("Going on.", shell("echo more")), turn("Second answer."),
			}},
			Steps: []rig.Step{gemini("do all of it")}, Exits: []int{0},
			Hooks: map[string]int{start: 1, prompt: 2, pre: 1, post: 1, stop: 2, end: 1},
			Traces: []scenario.Trace{
				{Requests: 1, Outcome: otelmap.OutcomeCompleted},
				{Requests: 2, Outcome: otelmap.OutcomeCompleted, Tools: []claudecli.WantTool{ok("more")}},
			},
		},
		"interrupted tool": {
			Script: geminicli.Script{Main: []geminicli.Turn{
				turn("Long.", shell("echo running > "+rig.WordMark+"; tail -f /dev/null")), turn("Never."),
			}},
			Steps: []rig.Step{interrupted}, Exits: []int{scenario.AnyCode}, // 0 or 130
			Hooks:  map[string]int{start: 1, prompt: 1, pre: 1, end: 1},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeInterrupted, Tools: []claudecli.WantTool{bad(cancelled, "")}}},
			Leaves: true,
		},
		// No hook and no file says that a request failed.
		"provider error": {
			Script: geminicli.Script{Main: []geminicli.Turn{{HTTPError: 400}}},
			Steps:  []rig.Step{gemini("never answered")}, Exits: []int{1},
			Hooks:  map[string]int{start: 1, prompt: 1, end: 1},
			Traces: []scenario.Trace{{Requests: 1, Outcome: otelmap.OutcomeInterrupted}},
		},
	}
}

// TestScenarios puts the Gemini CLI through every scenario.
func TestScenarios(t *testing.T) {
	t.Parallel()
	tested.Run(t, scenarios())
}

// TestRemovedHookspanDisturbsNothing removes hookspan while its hooks are installed.
func TestRemovedHookspanDisturbsNothing(t *testing.T) {
	t.Parallel()
	tested.RemovedDisturbsNothing(t, geminicli.Script{Main: []geminicli.Turn{turn("Run.", shell("echo one")), turn("Done.")}}, gemini("run it"))
}

var tested = scenario.Agent[geminicli.Script]{
	Name: "the Gemini CLI", Word: "gemini", Host: "gemini-cli", Model: geminicli.Model,
	Do: geminicli.Do, Settings: geminicli.Settings, Kept: ".gemini/settings.json", Prompts: prompts, Known: identified, Captured: true,
	// Those of short inputs in Google's list.
	Prices: map[string]claudecli.Price{geminicli.Model: {Input: 1.25, CacheRead: 0.125, Output: 10}},
}

func prompts(t *testing.T, recs []rig.Recorded, _ *scenario.Result) (list []scenario.Prompt) {
	t.Helper()
	type payload struct {
		Session   string  `json:"session_id"`
		Event     string  `json:"hook_event_name"`
		Submitted *string `json:"prompt"`
	}
	for _, p := range scenario.Payloads[payload](t, recs) {
		if p.Event == "BeforeAgent" && p.Submitted != nil {
			list = append(list, scenario.Prompt{Session: p.Session, Text: *p.Submitted})
		}
	}
	return list
}

// identified gives the requests, but for those that failed, the ids that the Gemini CLI
// has made up for them: a subagent works while the lead agent waits. A call that was
// interrupted has no id: neither hooks nor files say it.
func identified(_ *testing.T, _ *scenario.Result, got *rig.Trace, requests []mockanthropic.Request, want []claudecli.WantTool) ([]mockanthropic.Request, []claudecli.WantTool) {
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
	return out, want
}

package opencodecli_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
	"github.com/hookspan/hookspan/tests/opencodecli"
)

func TestMain(m *testing.M) {
	if code, inner := opencodecli.Inner(os.Stdin, os.Stdout, os.Stderr); inner {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// scenario is what opencode is put through and what must come of it.
type scenario struct {
	script opencodecli.Script
	// permission is the user's setting of that name.
	permission string
	steps      []rig.Step
	exits      []int
	// traces are the expected ones in order, one for each prompt of the user.
	traces []wantTrace
}

// open reports that the database does not say that the turn has ended.
func (s *scenario) open() bool { return s.traces[0].uncounted || s.traces[0].requests == 0 }

type wantTrace struct {
	// requests is how many requests of the log belong to the trace, of which opencode
	// never counts the tokens of the last one if uncounted is set.
	requests  int
	uncounted bool
	outcome   string
	// message is a part of the root's status message.
	message string
	// model is the model that was asked, if not the usual one.
	model string
	tools []claudecli.WantTool
}

func bash(command string) mockllm.ToolCall {
	return mockllm.ToolCall{Name: "bash", Args: map[string]any{"command": command, "description": "does it"}}
}

func task(description string) mockllm.ToolCall {
	return mockllm.ToolCall{Name: "task", Args: map[string]any{
		"subagent_type": "general", "description": description, "prompt": "look around the house",
	}}
}

func read(name string) mockllm.ToolCall {
	return mockllm.ToolCall{Name: "read", Args: map[string]any{"filePath": rig.WordWorkspace + "/" + name}}
}

func turn(text string, calls ...mockllm.ToolCall) mockllm.Turn {
	return mockllm.Turn{Text: text, Tools: calls, Cached: 7}
}

func ok(text string) claudecli.WantTool { return claudecli.WantTool{Text: text, Under: -1} }

func bad(kind, text string) claudecli.WantTool {
	return claudecli.WantTool{Error: kind, Text: text, Under: -1}
}

func opencode(args ...string) rig.Step { return rig.Step{Args: args, Timeout: 3 * time.Minute} }

const failed, denied, cancelled = otelmap.ErrorToolFailure, otelmap.ErrorToolDenied, otelmap.ErrorToolCancelled

func scenarios() map[string]scenario {
	const parallel = 8
	var calls []mockllm.ToolCall
	var tools []claudecli.WantTool
	for i := range parallel {
		calls, tools = append(calls, bash(fmt.Sprintf("sleep 0.2; echo n%d.", i))), append(tools, ok(fmt.Sprintf("n%d.", i)))
	}
	interrupted := opencode("start something long")
	interrupted.Signal = &rig.Signal{Number: syscall.SIGINT, When: rig.Condition{Mark: true}}
	killed := opencode("start something long")
	killed.Signal = &rig.Signal{Number: syscall.SIGKILL, When: rig.Condition{Mark: true}}
	long := opencodecli.Script{Main: []mockllm.Turn{
		turn("Long.", bash("echo running > "+rig.WordMark+"; sleep 300")), turn("Never."),
	}}
	cut := []wantTrace{{requests: 1, uncounted: true, outcome: otelmap.OutcomeInterrupted, tools: []claudecli.WantTool{bad(cancelled, "")}}}
	write := mockllm.ToolCall{Name: "write", Args: map[string]any{"filePath": rig.WordWorkspace + "/new.txt", "content": "made by the agent"}}
	all := map[string]scenario{
		// One start of opencode takes seconds, so it meets much of what can happen to a call.
		"tools, parallel, denied, second turn": {
			permission: `{"bash": {"echo secret*": "deny"}}`,
			script: opencodecli.Script{Main: []mockllm.Turn{
				turn("Three at once.", bash("echo one"), bash("echo worse >&2; exit 3"), write),
				turn("Again.", read("missing.txt"), mockllm.ToolCall{Name: "no_such_tool", Args: map[string]any{"x": 1}}, bash("echo forbidden"), bash("echo secret")),
				turn("All.", calls...),
				turn("All done."),
				turn("Read.", read("b.txt")),
				turn("Second."),
			}},
			steps: []rig.Step{opencode("fix the login"), opencode("--continue", "go on")}, exits: []int{0, 0},
			traces: []wantTrace{
				{requests: 4, outcome: otelmap.OutcomeCompleted, tools: append([]claudecli.WantTool{
					ok("one"), bad(failed, "worse"), ok("Wrote file"), bad(failed, "File not found"), bad(failed, "unavailable tool"),
					bad(failed, "a plugin says no"), bad(denied, "specified a rule which prevents"),
				}, tools...)},
				{requests: 2, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{ok("beta")}},
			},
		},
		"subagent": {
			script: opencodecli.Script{
				Main: []mockllm.Turn{
					turn("Delegate.", task("look around")),
					turn("Delegated."),
				},
				Sub: []mockllm.Turn{turn("Sub looks.", bash("echo sub"), read("nope.txt")), turn("Sub done.")},
			},
			steps: []rig.Step{opencode("delegate it")}, exits: []int{0},
			traces: []wantTrace{{requests: 4, outcome: otelmap.OutcomeCompleted, tools: []claudecli.WantTool{
				ok("Sub done."), {Text: "sub", Under: 0}, {Error: failed, Text: "File not found", Under: 0},
			}}},
		},
		"interrupted tool": {script: long, steps: []rig.Step{interrupted}, exits: []int{-2}, traces: cut},
		"provider error": {
			script: opencodecli.Script{Main: []mockllm.Turn{{HTTPError: 400, Message: "scripted refusal", Type: "invalid_request_error"}}},
			steps:  []rig.Step{opencode("never answered")}, exits: []int{1},
			traces: []wantTrace{{requests: 1, outcome: otelmap.OutcomeFailed, message: "scripted refusal"}},
		},
	}
	if proof.Soak() {
		all["killed"] = scenario{script: long, steps: []rig.Step{killed}, exits: []int{-2}, traces: cut}
		// opencode exits at once.
		all["unknown model"] = scenario{
			script: opencodecli.Script{Main: []mockllm.Turn{turn("Never.")}},
			steps:  []rig.Step{opencode("--model", "mock/nope", "never asked")}, exits: []int{1},
			traces: []wantTrace{{model: "nope", outcome: otelmap.OutcomeFailed, message: "Model not found"}},
		}
	}
	return all
}

// TestScenarios puts opencode through every scenario with hookspan installed as a user
// installs it, and compares what the plugin beside hookspan's, the model, the receivers
// and hookspan itself say.
func TestScenarios(t *testing.T) {
	t.Parallel()
	cache, bin := rig.Prepare(t, "opencode")
	hookspan := func(args ...string) rig.Step {
		return rig.Step{Program: []string{filepath.Join(bin, "hookspan")}, Args: args}
	}
	for name, sc := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// What the plugin starts by itself must deliver with no help.
			deliver := rig.Step{WaitTraces: len(sc.traces), Timeout: 60 * time.Second}
			own := []rig.Step{
				deliver, hookspan("flush", "--wait"), hookspan("list", "--json"), hookspan("show", "--json"), hookspan("doctor"),
				hookspan("verify"), hookspan("import", "opencode", "--dry-run", "--json"), hookspan("uninstall", "opencode"),
			}
			dir := t.ArtifactDir()
			if !sc.open() {
				// Where nothing is stored the database alone gives the traces.
				for _, step := range []rig.Step{hookspan("import", "opencode", "--json"), hookspan("show", "--json")} {
					step.Env = map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "elsewhere"), "XDG_CONFIG_HOME": filepath.Join(dir, "elsewhere")}
					own = append(own, step)
				}
			}
			res, err := opencodecli.Do(t.Context(), cache, dir, sc.script, slices.Concat(sc.steps, own), func(a *rig.Arena) error {
				if err := opencodecli.Settings(a, sc.permission); err != nil {
					return err
				}
				return a.InstallHookspan(t.Context(), bin, nil, "opencode")
			})
			rig.Check(t, "opencode", err)
			t.Cleanup(func() {
				if t.Failed() {
					report(t, res)
				}
			})
			for i, want := range sc.exits {
				s := res.Steps[i]
				if s.Signal == "" && sc.steps[i].Signal == nil && s.ExitCode != want || s.TimedOut || s.Error != "" {
					t.Errorf("step %d ended with code %d (timed out: %v, error: %q), want %d", i, s.ExitCode, s.TimedOut, s.Error, want)
				}
				if sc.steps[i].Signal != nil && !s.Signalled {
					t.Errorf("step %d was over before the signal", i)
				}
			}
			traces := checkTraces(t, &sc, res)
			checkOwnView(t, &sc, traces, res.Steps[len(sc.steps):])
			if !sc.open() {
				checkImport(t, traces[len(traces)-1], res.Steps[len(sc.steps)+8:])
			}
			left, err := filepath.Glob(filepath.Join(res.Arena.Home, ".config", "opencode", "plugin", "*"))
			if err != nil || len(left) != 1 || filepath.Base(left[0]) != "recorder.js" {
				t.Errorf("plugins after uninstalling: %q, %v; want the user's", left, err)
			}
		})
	}
}

// TestPluginWithoutItsProgram runs opencode with a hook program that is gone, one that
// ends at once and one that never reads: opencode notices nothing.
func TestPluginWithoutItsProgram(t *testing.T) {
	t.Parallel()
	cache, bin := rig.Prepare(t, "opencode")
	programs := map[string]string{"gone": "", "hangs": "#!/bin/sh\nexec sleep 600 < /dev/null\n"}
	if proof.Soak() {
		programs["ends"] = "#!/bin/sh\nexit 1\n"
	}
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := opencodecli.Script{Main: []mockllm.Turn{turn("Run.", bash("seq 30000")), turn("All done.")}}
			res, err := opencodecli.Do(t.Context(), cache, t.ArtifactDir(), script, []rig.Step{opencode("do it")}, func(a *rig.Arena) error {
				if err := opencodecli.Settings(a, ""); err != nil {
					return err
				}
				if err := a.InstallHookspan(t.Context(), bin, nil, "opencode"); err != nil {
					return err
				}
				return replaceProgram(a, program)
			})
			rig.Check(t, "opencode", err)
			s := res.Steps[0]
			if s.ExitCode != 0 || s.TimedOut || !strings.Contains(s.Stdout, "All done.") || strings.Contains(s.Stderr, "hookspan") {
				t.Errorf("opencode ended with code %d\n%s\n%s", s.ExitCode, s.Stdout, s.Stderr)
			}
			if len(res.Requests) != 2 {
				t.Errorf("%d requests, want 2", len(res.Requests))
			}
		})
	}
}

// replaceProgram changes the program that the plugin starts, or removes it.
func replaceProgram(a *rig.Arena, program string) error {
	plugin, err := os.ReadFile(filepath.Join(a.Home, ".config", "opencode", "plugin", "hookspan.js"))
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(plugin), "const hook = ")
	quoted, _, _ := strings.Cut(rest, "\n")
	var path string
	if err := json.Unmarshal([]byte(quoted), &path); err != nil {
		return fmt.Errorf("the plugin's program %s: %w", quoted, err)
	}
	if path = filepath.Clean(path); !strings.HasPrefix(path, a.Dir) {
		changed := filepath.Join(a.Dir, "program")
		text := strings.Replace(string(plugin), quoted, fmt.Sprintf("%q", changed), 1)
		if err := os.WriteFile(filepath.Join(a.Home, ".config", "opencode", "plugin", "hookspan.js"), []byte(text), 0o644); err != nil {
			return err
		}
		path = changed
	} else if err := os.Remove(path); err != nil {
		return err
	}
	if program == "" {
		return nil
	}
	return os.WriteFile(path, []byte(program), 0o755)
}

func report(t *testing.T, res *opencodecli.Result) {
	t.Helper()
	for _, r := range res.Requests {
		t.Logf("request %d: %s %s turn %d, status %d, complete %v, usage %+v, calls %+v", r.N, r.ID, r.Part, r.Turn, r.Status, r.Complete, r.Usage, r.Calls)
	}
	for _, e := range res.Bus {
		t.Logf("event %+v", e)
	}
	res.Report(t, nil)
}

// prompt is one of the user's.
type prompt struct{ session, turn, text string }

// prompts are those that opencode has published, without those of subagents.
func prompts(res *opencodecli.Result) (list []prompt) {
	agents := make(map[string]bool)
	for _, e := range res.Bus {
		if e.Type == "session.created" && e.Properties.Info.Parent != "" {
			agents[e.Properties.Info.ID] = true
		}
	}
	for _, m := range res.Messages("user") {
		if agents[m.Properties.Session] {
			continue
		}
		p := prompt{session: m.Properties.Session, turn: m.Properties.Info.ID}
		for _, e := range res.Bus {
			if part := e.Properties.Part; part.Message == p.turn && part.Type == "text" {
				p.text = part.Text
			}
		}
		list = append(list, p)
	}
	return list
}

// checkTraces compares what was delivered with the scenario, the model and the
// prompts, and returns it.
func checkTraces(t *testing.T, sc *scenario, res *opencodecli.Result) []*rig.Trace {
	t.Helper()
	for _, s := range res.Strays {
		t.Errorf("a receiver got what it does not know: %s", s)
	}
	said := prompts(res)
	traces, wrong := rig.Traces(res.Spans)
	if len(traces) != len(sc.traces) || len(said) != len(sc.traces) {
		t.Fatalf("%d traces of %d prompts, want %d", len(traces), len(said), len(sc.traces))
	}
	requests := res.Requests
	for i, want := range sc.traces {
		got := traces[i]
		if got.Root == nil {
			continue // Traces has said so.
		}
		own := slices.Clone(requests[:min(want.requests, len(requests))])
		requests = requests[len(own):]
		if want.uncounted {
			own[len(own)-1].Usage = nil
		}
		// A subagent works beside the lead agent: the parts come one after the other.
		slices.SortStableFunc(own, func(a, b mockanthropic.Request) int { return strings.Compare(a.Part, b.Part) })
		wrong = append(wrong, got.CompareOutcome(want.outcome, said[i].text, "opencode")...)
		wrong = append(wrong, claudecli.CompareModel(got, own, want.tools)...)
		wrong = append(wrong, compareRoot(got, &want, own, said[i])...)
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

// compareRoot compares the identities, texts and the cost on the root. It returns what
// differs, one line each.
func compareRoot(got *rig.Trace, want *wantTrace, requests []mockanthropic.Request, p prompt) (wrong []string) {
	attrs := map[string]string{
		otelmap.KeyConversationID: p.session, otelmap.KeyPromptID: p.turn, otelmap.KeyHostVersion: opencodecli.Version,
		otelmap.KeyModel: cmp.Or(want.model, mockllm.Model),
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
	var cost float64
	for _, r := range requests {
		if r.Usage != nil {
			cost += (float64(r.Usage.Input)*3 + float64(r.Usage.CacheRead)*0.3 + float64(r.Usage.Output)*15) / 1e6
		}
	}
	said, _ := got.Root.Attrs[otelmap.KeyCost].(float64)
	if cost-said > 1e-9 || said-cost > 1e-9 {
		wrong = append(wrong, fmt.Sprintf("cost %v, want %v", said, cost))
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
	// The database gives the same traces, which are stored.
	var imported struct {
		Runs    int
		Skipped struct{ AlreadyThere, Open int }
	}
	err := json.Unmarshal([]byte(steps[6].Stdout), &imported)
	if err != nil || imported.Runs != 0 || imported.Skipped.AlreadyThere != len(sc.traces) || imported.Skipped.Open != 0 {
		t.Errorf("import says %q, %v; want %d traces that are stored", steps[6].Stdout, err, len(sc.traces))
	}
}

// checkImport compares a trace that was delivered with that which an import makes of
// opencode's database: the same spans, with the same ids.
func checkImport(t *testing.T, delivered *rig.Trace, steps []rig.StepResult) {
	t.Helper()
	outline := func(spans []sink.Span) (lines []string) {
		for _, s := range spans {
			lines = append(lines, fmt.Sprintf("%s under %q: %s, %s %q", s.SpanID, s.ParentID, s.Name, s.Status, s.StatusMessage))
		}
		slices.Sort(lines)
		return lines
	}
	var want []sink.Span
	for _, s := range delivered.Spans {
		want = append(want, *s)
	}
	got, err := sink.Decode([]byte(steps[1].Stdout))
	if err != nil || steps[0].ExitCode != 0 {
		t.Errorf("an import elsewhere: %v\n%s%s%s", err, steps[0].Stdout, steps[0].Stderr, steps[1].Stderr)
	}
	if want, got := outline(want), outline(got); !slices.Equal(want, got) {
		t.Errorf("the import has the spans\n%s\nwant those delivered\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

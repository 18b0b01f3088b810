package claudecli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

// TestCostOfWhom has Claude Code work in a repository: it switches to a branch, commits, opens a
// pull request, loads a skill, and uses a subagent and an MCP server. What hookspan then says that
// these cost is held against what the model answered, and against what Claude Code attributes.
//
// The program gh is a stand-in that prints what the real one does without a terminal, the address
// alone; and hookspan statusline is given the input that Claude Code's documentation describes,
// since the real program has a status line on a terminal alone, and limits for subscribers alone.
func TestCostOfWhom(t *testing.T) {
	t.Parallel()
	cache, bin := claudecli.Agent.Programs(t)
	hookspan := scenario.Hookspan(bin)
	grown := func(in int64, text string, calls ...llm.Call) llm.Turn {
		return llm.Turn{Text: text, Calls: calls, In: in}
	}
	script := llm.Script{
		Main: []llm.Turn{
			turn("A branch.", bash("git switch -q -c cart")),
			turn("A commit.", bash("echo one > one.txt && git add one.txt && git commit -q -m 'Add the first file'")),
			turn("Another.", bash("echo two > two.txt && git add two.txt && git commit -m 'Add the second file' && exit 3")),
			turn("For review.", bash("gh pr create --fill")),
			turn("All is there."),
			turn("A skill.", llm.Call{Name: "Skill", Args: map[string]any{"skill": "tidy"}}),
			grown(2000, "Look.", agent(false)),
			grown(4000, "Which tools?", llm.Call{Name: "ToolSearch", Args: map[string]any{"query": "select:mcp__hookspan__search"}}),
			grown(8000, "Ask.", llm.Call{Name: "mcp__hookspan__search", Args: map[string]any{"query": "commit"}}),
			turn("It is known."),
		},
		Sub: []llm.Turn{turn("I look.", bash("echo kitchen")), turn("All is clean.")},
	}
	resets := time.Now().Add(time.Hour).Unix()
	status := hookspan("statusline")
	status.Stdin = fmt.Sprintf(`{"session_id":"x","rate_limits":{"five_hour":{"used_percentage":34,"resets_at":%d},"seven_day":{"used_percentage":9,"resets_at":%d}}}`, resets, resets+1e5)
	steps := []rig.Step{
		claude("Add the files"), {WaitTraces: 1}, hookspan("flush", "--wait"), claude("Tidy up", "-c"), {WaitTraces: 2}, hookspan("flush", "--wait"), status,
	}
	begin := len(steps)
	for _, by := range scenario.Whom {
		steps = append(steps, hookspan("stats", "--by", by, "--json"))
	}
	at := func(commit string, command ...string) rig.Step {
		words := filepath.Join(bin, "hookspan") + " " + strings.Join(command, " ") + " --commit=$(git rev-parse " + commit + ")"
		return rig.Step{Program: []string{"sh", "-c", words}}
	}
	shows := []struct {
		step rig.Step
		says []string
	}{
		{hookspan("show", "--cost"), []string{"for subagent general-purpose", "Before you typed: "}},
		{hookspan("blame", "one.txt:1"), []string{"Add the files"}},
		{hookspan("blame", "two.txt"), []string{"Add the files"}},
		{hookspan("blame", "a.txt"), []string{"not recorded: Begin"}},
		{at("HEAD", "list"), []string{"Add the files"}},
		{at("HEAD~1", "show"), []string{"Add the files", "Add the second file"}},
		{at("HEAD~2", "list"), []string{"no tasks match"}},
	}
	for _, show := range shows {
		steps = append(steps, show.step)
	}
	res := claudecli.Agent.Try(t, cache, script, steps, func(a *rig.Arena) error {
		return errors.Join(
			scenario.Repository(t.Context(), a),
			a.Write(map[string]string{"home/.claude/skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidies\n---\nPut everything in its place.\n"}),
			claudecli.Agent.Settings(a, nil),
			addServer(t.Context(), a, cache, bin),
			a.InstallHookspan(t.Context(), bin, nil, "claude"),
		)
	})
	for i, s := range res.Steps {
		if s.ExitCode != 0 || s.Error != "" {
			t.Fatalf("step %d ends with code %d: %s\n%s%s", i, s.ExitCode, s.Error, s.Stdout, s.Stderr)
		}
	}
	if line := res.Steps[begin-1].Stdout; !strings.Contains(line, "34 %") || !strings.Contains(line, "7d 9 %") {
		t.Errorf("the status line is %q", line)
	}
	prices := claudecli.Agent.Prices
	all := scenario.CostOf(res.Requests, prices, func(*llm.Request) bool { return true })
	first := scenario.CostOf(res.Requests, prices, func(r *llm.Request) bool { return r.Text == "A branch." })
	sub := scenario.CostOf(res.Requests, prices, func(r *llm.Request) bool { return r.Part == llm.PartSub })
	server := scenario.CostOf(res.Requests, prices, func(r *llm.Request) bool { return r.Text == "It is known." })
	tidy := scenario.CostOf(res.Requests, prices, func(r *llm.Request) bool { return r.N > 6 })
	for group, want := range map[string]float64{"skill tidy": tidy - sub, "mcp hookspan": server} { // of a subagent's requests it says nothing
		if got := attributed(t, res, group); math.Abs(got-want) > 1e-9 {
			t.Errorf("Claude Code attributes %f to %s, want %f", got, group, want)
		}
	}
	added := func(text string) int64 { return scenario.Growth(res.Requests, text) }
	scenario.CheckWhom(t, res.Steps[begin:], map[string][]scenario.Group{
		"branch":     {{Key: "main", Cost: first}, {Key: "cart", Cost: all - first}},
		"pr":         {{Key: "", Cost: first}, {Key: scenario.Pull, Cost: all - first}},
		"repository": {{Key: "https://github.com/acme/shop", Cost: all}},
		"skill":      {{Key: "", Cost: all - tidy}, {Key: "tidy", Cost: tidy, Added: added("Look.")}},
		"subagent":   {{Key: "general-purpose", Cost: sub, Added: added("Which tools?")}},
		"mcp":        {{Key: "hookspan", Cost: server, Added: added("Ask.")}},
		"block":      {{Cost: all, Used: 34}},
	})
	for i, show := range shows {
		for _, text := range show.says {
			if out := res.Steps[begin+len(scenario.Whom)+i].Stdout; !strings.Contains(out, text) {
				t.Errorf("%v says not %q:\n%s", show.step, text, out)
			}
		}
	}
}

// attributed is what the requests cost that Claude Code's files attribute to a skill or a server.
func attributed(t *testing.T, res *rig.Result, group string) float64 {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(res.Arena.Home, ".claude/projects/*/*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("sessions %q: %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	ids := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		var row struct {
			Skill   string `json:"attributionSkill"`
			Server  string `json:"attributionMcpServer"`
			Message struct{ ID string }
		}
		if json.Unmarshal([]byte(line), &row) == nil && (group == "skill "+row.Skill || group == "mcp "+row.Server) {
			ids[row.Message.ID] = true
		}
	}
	return scenario.CostOf(res.Requests, claudecli.Agent.Prices, func(r *llm.Request) bool { return ids[r.ID] })
}

// addServer adds hookspan's MCP server for the user.
func addServer(ctx context.Context, a *rig.Arena, cache, bin string) error {
	command, err := claudecli.Agent.Program.Command(ctx, cache)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], "mcp", "add", "-s", "user", "hookspan", "--", filepath.Join(bin, "hookspan"), "mcp", "--project", a.Workspace)...) //nolint:gosec // The agent's program.
	cmd.Dir, cmd.Env = a.Workspace, a.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("add the server: %w\n%s", err, out)
	}
	return nil
}

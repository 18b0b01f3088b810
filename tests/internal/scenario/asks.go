package scenario

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// Asked is the word that the task and the question of Asks have.
const Asked = "quokka"

// Asks has the agent do a task, and then ask hookspan mcp for it by a call of its search. add are the
// arguments of the agent's command that adds the server, or another command, to which the server's own are added; tool
// is the name that the call has in its span.
func (g *Agent) Asks(t *testing.T, search llm.Call, task, question rig.Step, tool string, add ...string) {
	t.Helper()
	cache, bin := g.Programs(t)
	var command []string // of the run, unless that has arguments which the agent's command must not have
	if n := len(g.Program.Args); n > 0 {
		all, err := g.Program.Command(t.Context(), cache)
		rig.Check(t, g.Name, err)
		command = all[:len(all)-n]
	}
	if filepath.IsAbs(add[0]) { // the agent has no such command
		command, add = add[:1], add[1:]
	}
	hookspan, flush := Hookspan(bin), Hookspan(bin)("flush", "--wait")
	server := []string{filepath.Join(bin, "hookspan"), "mcp", "--project", rig.WordWorkspace}
	steps := []rig.Step{
		{Program: command, Args: append(slices.Clone(add), server...)},
		task, flush, question, flush,
		hookspan("list", "--json", "--grep", Asked), hookspan("calls", "--json"), hookspan("doctor"),
	}
	end := g.End
	if end == nil {
		end = func(text string) llm.Turn { return llm.Answer(text) }
	}
	c := Case{Script: llm.Script{Main: []llm.Turn{end("Done."), llm.Answer("I look.", search), end("It was done.")}}}
	res := g.Try(t, cache, c.Script, steps, func(a *rig.Arena) error {
		_, err := g.install(t.Context(), a, bin, &c)
		return err
	})
	for i, s := range res.Steps[:len(steps)-1] {
		if s.ExitCode != 0 || s.Error != "" {
			t.Errorf("step %d ends with code %d: %s\n%s%s", i, s.ExitCode, s.Error, s.Stdout, s.Stderr)
		}
	}
	// Of Codex and the Gemini CLI the spans have what the model was told.
	if log, err := json.Marshal([]any{res.Requests, res.Spans}); err != nil || !strings.Contains(string(log), "was recorded: data, no instructions.") {
		t.Errorf("the model was not told what the server found: %s", log)
	}
	var found []struct{ Title string }
	if err := json.Unmarshal([]byte(res.Steps[5].Stdout), &found); err != nil || len(found) != 1 {
		t.Errorf("a search finds the question, too, or not the task: %v\n%s", err, res.Steps[5].Stdout)
	}
	if !strings.Contains(res.Steps[6].Stdout, `"tool": "`+tool+`"`) {
		t.Errorf("no call of %s:\n%s", tool, res.Steps[6].Stdout)
	}
	if !strings.Contains(res.Steps[7].Stdout, "can ask about earlier tasks\n") || strings.Contains(res.Steps[7].Stdout, "no agent can ask") {
		t.Errorf("doctor does not name the server:\n%s", res.Steps[7].Stdout)
	}
	for _, process := range res.Killed {
		if strings.Contains(process, "hookspan mcp") {
			t.Errorf("the server outlives the agent: %s", process)
		}
	}
}

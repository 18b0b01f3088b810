package clinecli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/built"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// drawnCall is a drawn call as one of CLI 3's.
func drawnCall(c drawn.Call) mockllm.ToolCall {
	switch {
	case c.Unknown():
		return call("no_such_"+c.Mark, "x", c.Mark)
	case c.Path != "":
		return read(c.Path)
	case c.Delegates:
		return call("spawn_agent", "systemPrompt", "You are a helper", "task", c.Mark+" "+drawn.Around)
	}
	return run(c.Command)
}

// TestDrawnSessions puts CLI 3 through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	harness := newHarness(t)
	bin := t.TempDir()
	if err := built.Put(t.Context(), bin, "cmd/hookspan", "cmd/cline-hook"); err != nil {
		t.Fatal(err)
	}
	h := drawn.Host{
		Agent: "cline", Bin: bin, Subagents: true,
		Prompt: func(s *drawn.Session, i int) rig.Step {
			if i == 0 && !s.Denies() {
				return cliStep("--json", s.Prompts[i])
			}
			// Only an editor takes a session up again without a terminal, and only it denies.
			chat := rig.ACP{Prompts: s.Prompts[i : i+1], Permissions: []string{"allow_once"}, Rejects: drawn.Forbidden}
			if i > 0 {
				chat.Session = rig.WordSession
			}
			return rig.Step{Args: []string{"--acp"}, ACP: &chat}
		},
		Play: func(t *testing.T, dir string, s *drawn.Session, steps []rig.Step) (*rig.Result, []mockanthropic.Request) {
			t.Helper()
			res, err := harness.Do(t.Context(), dir, &clinecli.Run{
				CLI: clinecli.CLI3, Script: drawn.ChatTurns(s.Answers, drawnCall), Steps: steps,
				Env: map[string]string{"CLINE_API_KEY": "sk-mock", "CLINE_PROVIDER": "openai-compatible", "CLINE_MODEL": mockllm.Model},
				Setup: func(a *rig.Arena) error {
					return clinecli.Hookspan{Bin: bin}.Setup(t.Context(), a, clinecli.CLI3)
				},
			})
			rig.Check(t, "Cline", err)
			return res.Result, asked(res.Requests, s)
		},
	}
	h.Run(t)
}

// asked gives the model's log the form in which it is compared. The script has no parts:
// a subagent asks while its caller waits.
func asked(log []mockllm.Request, s *drawn.Session) (out []mockanthropic.Request) {
	for _, r := range log {
		q := mockanthropic.Request{N: r.N, Text: s.Answers[r.Turn].Text, Status: r.Status, Complete: r.Complete}
		q.Part, q.Turn = s.Place(r.Turn)
		if u := r.Usage; u != nil {
			q.Usage = &mockanthropic.Usage{Input: u.Prompt - u.Cached, CacheRead: u.Cached, Output: u.Completion}
		}
		for _, c := range r.Calls {
			q.Calls = append(q.Calls, mockanthropic.ToolCall{Name: c.Name, Input: c.Args})
		}
		out = append(out, q)
	}
	return out
}

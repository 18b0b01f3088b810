package clinecli_test

import (
	"testing"

	"github.com/hookspan/hookspan/otelmap"
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
		Agent: "cline", Bin: bin,
		Prompt: func(prompt string, first bool) rig.Step {
			if first {
				return cliStep("--json", prompt)
			}
			// Only an editor takes a session up again without a terminal.
			return rig.Step{Args: []string{"--acp"}, ACP: &rig.ACP{Session: rig.WordSession, Prompts: []string{prompt}, Permissions: []string{"allow_once"}}}
		},
		Play: func(t *testing.T, dir string, s *drawn.Session, steps []rig.Step) (*rig.Result, []mockanthropic.Request) {
			t.Helper()
			res, err := harness.Do(t.Context(), dir, &clinecli.Run{
				CLI: clinecli.CLI3, Script: drawn.ChatTurns(s, drawnCall), Steps: steps,
				Env: map[string]string{"CLINE_API_KEY": "sk-mock", "CLINE_PROVIDER": "openai-compatible", "CLINE_MODEL": mockllm.Model},
				Setup: func(a *rig.Arena) error {
					return clinecli.Hookspan{Bin: bin}.Setup(t.Context(), a, clinecli.CLI3)
				},
			})
			rig.Check(t, "Cline", err)
			return res.Result, asked(res.Requests, s)
		},
		// CLI 3 says that an interrupted call failed.
		Say: func(s *drawn.Story, _ bool) {
			if last := len(s.Calls) - 1; last >= 0 && s.Outcome == otelmap.OutcomeInterrupted {
				s.Calls[last].End = "failed"
			}
		},
	}
	h.Run(t)
}

// asked gives the model's log the form in which it is compared.
func asked(log []mockllm.Request, s *drawn.Session) (out []mockanthropic.Request) {
	for _, r := range log {
		q := mockanthropic.Request{N: r.N, Part: mockanthropic.PartMain, Turn: r.Turn, Text: s.Answers[r.Turn].Text, Status: r.Status, Complete: r.Complete}
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

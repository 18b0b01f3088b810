package kimicli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/kimicli"
)

func delegate(mark string) llm.Call {
	call := agent(drawn.Around)
	call.Args["description"] = mark
	return call
}

// TestDrawnSessions puts Kimi Code through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	d := scenario.Drawn{
		Host: drawn.Host{Subagents: true}, Submit: kimi, Again: []string{"-c"},
		Forms: drawn.Forms{Read: read, Shell: shell, Delegate: delegate},
		More:  map[string]string{"PreToolUse": denies},
	}
	// A call that a hook denied is reported as failed, and so do the files.
	d.Say = func(s *drawn.Story, _ bool) {
		for i := range s.Calls {
			if s.Calls[i].End == "denied" {
				s.Calls[i].End = "failed"
			}
		}
	}
	for name, g := range map[string]*scenario.Agent{"in order": &kimicli.Agent, "late": kimicli.Late()} {
		t.Run(name, func(t *testing.T) { g.Draw(t, &d) })
	}
}

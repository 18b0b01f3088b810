package qwencli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/qwencli"
)

func delegate(mark string) llm.Call {
	call := agent(drawn.Around)
	call.Args["description"] = mark
	return call
}

// TestDrawnSessions puts Qwen Code through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	qwencli.Agent.Draw(t, &scenario.Drawn{
		Host: drawn.Host{Subagents: true}, Submit: qwen, Again: []string{"--continue"},
		Forms: drawn.Forms{Read: read, Shell: shell, Delegate: delegate},
		More:  map[string]string{"PreToolUse": denies}, Adjust: forgetLost,
	})
}

// forgetLost takes the texts out of a session that Qwen Code itself has lost.
func forgetLost(t *testing.T, s *drawn.Session, res *rig.Result) {
	t.Helper()
	for _, r := range res.Requests {
		for i, c := range r.Calls {
			call := &s.Part(r.Part)[r.Turn].Calls[i]
			if qwencli.Lost(t, &c, call.Command, call.Says) {
				call.Says = ""
			}
		}
	}
}

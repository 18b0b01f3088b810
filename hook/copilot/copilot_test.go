package copilot

import (
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/hooktest"
)

var tested = hooktest.Agent{
	Decode: Decode, Peek: PeekIn(hooktest.NoEnviron), Recordings: 8,
	Ends: func(ev *hook.Event) bool { return ev.Kind.Terminal() || ev.Kind == hook.KindRequestError },
}

func TestGolden(t *testing.T) { tested.Golden(t) }

func FuzzDecode(f *testing.F) {
	tested.Fuzz(f,
		[2]string{`{"sessionId":1,"toolResult":{"textResultForLlm":"<shellId: "},"error":1}`, postToolUse},
		[2]string{`{"error":{"message":"{\\"message\\":1}"}}`, errorOccurred},
		[2]string{"", preToolUse},
	)
}

func TestOutput(t *testing.T) {
	for told, want := range map[string][2]string{
		"one\n<shellId: 0 completed with exit code 0>":            {"one", "0"},
		"\n<shellId: 12 completed with exit code 0>":              {"", "0"},
		"oops\n<shellId: 0 completed with exit code 3>":           {"oops\nExit Code: 3", "3"},
		"<shellId: 0 completed with exit code 3>\nmore":           {"<shellId: 0 completed with exit code 3>\nmore", ""},
		"<shellId: 0 completed with exit code many>":              {"<shellId: 0 completed with exit code many>", ""},
		"oops\n<exited with exit code 3>":                         {"oops\nExit Code: 3", "3"},
		"oops\n<command with id: ab exited with exit code -1>":    {"oops\nExit Code: -1", "-1"},
		"oops\n<something else that exited with exit code 3>":     {"oops\n<something else that exited with exit code 3>", ""},
		"oops\n<command with id: a> and <exited with exit code 3": {"oops\n<command with id: a> and <exited with exit code 3", ""},
		"a file": {"a file", ""},
		"":       {"", ""},
	} {
		if text, code := Output(told); text != want[0] || code != want[1] {
			t.Errorf("Output(%q) = %q, %q; want %q", told, text, code, want)
		}
	}
}

// What a subagent does is part of the lead agent's session. Of one that a subagent
// started, the calls name neither that nor its file.
func TestSubagentsAreInTheSession(t *testing.T) {
	const file = `/home/dev/.copilot/session-state/s1/events.jsonl`
	for name, tc := range map[string]struct {
		event, payload         string
		session, agent, parent string
	}{
		"a call":       {preToolUse, `{"sessionId":"a1","agentId":"a1","parentAgentId":"s1","toolName":"view","toolArgs":{}}`, "s1", "a1", hook.ParentUnknown},
		"an end":       {agentStop, `{"sessionId":"a1","agentId":"a1","parentAgentId":"s1"}`, "s1", "a1", hook.ParentUnknown},
		"a start":      {subagentStart, `{"sessionId":"s1","transcriptPath":"` + file + `","agentId":"a1","parentAgentId":"s1"}`, "s1", "a1", hook.ParentUnknown},
		"nested start": {subagentStart, `{"sessionId":"x","transcriptPath":"` + file + `","agentId":"a2","parentAgentId":"a1"}`, "s1", "a2", "a1"},
		"nested end":   {subagentStop, `{"sessionId":"x","transcriptPath":"C:\\session-state\\s1\\events.jsonl","agentId":"a2","parentAgentId":"a1"}`, "s1", "a2", "a1"},
		"nested call":  {preToolUse, `{"sessionId":"a2","agentId":"a2","parentAgentId":"a1","toolName":"view","toolArgs":{}}`, "a1", "a2", hook.ParentUnknown},
		"another path": {subagentStart, `{"sessionId":"s1","transcriptPath":"events.jsonl","agentId":"a1","parentAgentId":"s1"}`, "s1", "a1", hook.ParentUnknown},
	} {
		r := hook.Raw{Event: tc.event, Payload: []byte(tc.payload)}
		events, err := Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		tested.Check(t, r, events, err)
		if e := events[0]; e.Session != tc.session || e.Agent != tc.agent || e.ParentAgent != tc.parent {
			t.Errorf("%s: session %q, agent %q, parent %q; want %+v", name, e.Session, e.Agent, e.ParentAgent, tc)
		}
		if name == "an end" && PeekIn(hooktest.NoEnviron)(r.Payload, r.Event).RunEnds {
			t.Error("the end of a subagent ends the run")
		}
	}
}

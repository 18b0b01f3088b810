package connectors_test

import (
	"encoding/json"
	"testing"

	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/infinium/connectors"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
)

// sessions are recorded sessions of the agents, by the names in traces.
var sessions = map[string]string{
	"cline": "classic-session", "claude-code": "claude-tools-resume", "codex": "codex-direct", "copilot-cli": "copilot-tools-resume",
	"gemini-cli": "gemini-tools-resume", "opencode": "opencode-tools-resume", "qwen-code": "qwen-tools-resume",
}

func TestEachAgentHasItsForm(t *testing.T) {
	forms := connectors.Forms()
	for _, a := range agents.All() {
		form := forms[a.Host]
		if form.Framework == "" || form.VersionTag == "" || form.Turns != a.Mapping.Turns {
			t.Errorf("%s: the form is %+v", a.Name, form)
		}
		for host, other := range forms {
			if host != a.Host && (other.Framework == form.Framework || other.VersionTag == form.VersionTag) {
				t.Errorf("%s has the form of %q", a.Name, host)
			}
		}
		if sessions[a.Host] == "" {
			t.Errorf("%s has no recorded session in this test", a.Name)
		}
	}
	if form := forms[""]; form != (infinium.Form{}) {
		t.Errorf("agents without a form have that of one: %+v", form)
	}
}

func TestRecordedSessionsByTheirForms(t *testing.T) {
	for host, name := range sessions {
		got, err := json.MarshalIndent(infinium.Traces(recorded.Spans(t, name), connectors.Forms()), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		golden.Check(t, host+".golden.json", got)
	}
}

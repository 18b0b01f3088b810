package connectors_test

import (
	"encoding/json"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/infinium/connectors"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
)

// sessions are recorded sessions of the agents, by the names in traces.
func sessions() map[string]string {
	names := make(map[string]string)
	for _, a := range hook.Agents() {
		names[a.Host] = a.Word + "-tools-resume"
	}
	names[hook.HostCline], names[hook.HostCodex] = "classic-session", "codex-direct"
	return names
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
	}
	if form := forms[""]; form != (infinium.Form{}) {
		t.Errorf("agents without a form have that of one: %+v", form)
	}
}

func TestRecordedSessionsByTheirForms(t *testing.T) {
	for host, name := range sessions() {
		got, err := json.MarshalIndent(infinium.Traces(recorded.Spans(t, name), connectors.Forms()), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		golden.Check(t, host+".golden.json", got)
	}
}

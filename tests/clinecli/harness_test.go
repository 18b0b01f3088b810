package clinecli_test

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// TestPreToolUseStopsClassic is the evidence for where hookspan does not
// install PreToolUse: with any such file in a folder the classic core reads, a
// task that reads a missing file as its second tool asks the model twice and
// then never continues. Without it the same script completes, see classicTools.
func TestPreToolUseStopsClassic(t *testing.T) {
	t.Parallel()
	if !proof.Soak() {
		skip.Elsewhere(t, "says something of Cline alone, and nothing of hookspan: left to -soak")
	}
	agent := harness(t).Agent(clinecli.CLI2, clinecli.Nowhere)
	cache, _ := agent.Programs(t)
	script := []llm.Turn{
		turn("List.", call("list_files", "path", "src")), turn("Look.", call("read_file", "path", "src/missing.js")), finish("Never."),
	}
	for i := range script {
		// The usage comes when the tool has run already, as real models have it.
		script[i].Tail = 500 * time.Millisecond
	}
	// A loaded machine may need longer to come as far.
	for _, limit := range []time.Duration{15 * time.Second, time.Minute} {
		var requests int
		t.Run(limit.String(), func(t *testing.T) {
			stuck := cliStep("-y", "--json", "read what is not there")
			stuck.Timeout = limit
			res := agent.Try(t, cache, llm.Script{Main: script}, []rig.Step{stuck}, func(a *rig.Arena) error {
				return clinecli.RecordHooks(a, clinecli.CLI2, pre)
			})
			requests = len(res.Requests)
			if !res.Steps[0].TimedOut {
				t.Errorf("ended after %d requests, want a time-out after 2: if Cline has fixed this, PreToolUse may be installed for it", requests)
			}
		})
		if requests == 2 {
			return
		}
	}
	t.Error("Cline did not ask the model twice")
}

package claudecli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/internal/llm"
)

// TestRemovedHookspanBlocksNothing removes hookspan while its hooks are installed: neither
// the user nor the model notices.
func TestRemovedHookspanBlocksNothing(t *testing.T) {
	t.Parallel()
	script := llm.Script{
		Main: []llm.Turn{turn("Run.", bash("echo one"), bash("exit 3")), turn("Delegate.", agent(false)), turn("All done.")},
		Sub:  []llm.Turn{turn("Sub.", bash("echo sub")), turn("Sub done.")},
	}
	claudecli.Agent.RemovedDisturbsNothing(t, script, claude("run it"), 5)
}

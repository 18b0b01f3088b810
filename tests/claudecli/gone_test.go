package claudecli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
)

// TestRemovedHookspanBlocksNothing removes hookspan while its hooks are installed: neither
// the user nor the model notices.
func TestRemovedHookspanBlocksNothing(t *testing.T) {
	t.Parallel()
	script := mockanthropic.Script{
		Main: []mockanthropic.Turn{turn("Run.", bash("echo one"), bash("exit 3")), turn("Delegate.", agent(false)), turn("All done.")},
		Sub:  []mockanthropic.Turn{turn("Sub.", bash("echo sub")), turn("Sub done.")}, SubWhen: subWhen,
	}
	claudecli.Agent.RemovedDisturbsNothing(t, script, claude("run it"), 5)
}

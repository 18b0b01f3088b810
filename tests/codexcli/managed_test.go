package codexcli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/codexcli"
)

func TestManagedHooksRunOnce(t *testing.T) {
	t.Parallel()
	codexcli.Agent.ManagedRunOnce(t, codexcli.Script{Main: []codexcli.Turn{turn("Run.", shell("echo one")), turn("Done.")}}, codex("run it"), nil)
}

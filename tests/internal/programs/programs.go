// Package programs lists the agents' programs that the end-to-end tests drive.
package programs

import (
	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/codexcli"
	"github.com/hookspan/hookspan/tests/copilotcli"
	"github.com/hookspan/hookspan/tests/geminicli"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/kimicli"
	"github.com/hookspan/hookspan/tests/opencodecli"
	"github.com/hookspan/hookspan/tests/picli"
	"github.com/hookspan/hookspan/tests/qwencli"
)

// Driven is a program and what drives it.
type Driven struct {
	rig.Program

	// Word is the agent's on hookspan's command line, Tests the folder of its tests below
	// that of the module, and Run, if not empty, a pattern of those that drive this program.
	Word, Tests, Run string
}

// All are the programs.
func All() []Driven {
	list := []Driven{
		{clinecli.Programs[clinecli.CLI2], "cline", "clinecli", ""},
		{clinecli.Programs[clinecli.CLI3], "cline", "clinecli", ""},
		{claudecli.Agent.Program, "claude", "claudecli", ""},
		{codexcli.Agent.Program, "codex", "codexcli", ""},
		{copilotcli.Agent.Program, "copilot", "copilotcli", ""},
		{geminicli.Agent.Program, "gemini", "geminicli", ""},
		{kimicli.Agent.Program, "kimi", "kimicli", ""},
		{opencodecli.Agent.Program, "opencode", "opencodecli", ""},
		{picli.Agent.Program, "pi", "picli", ""},
		{qwencli.Agent.Program, "qwen", "qwencli", ""},
	}
	for _, fork := range opencodecli.Forks {
		list = append(list, Driven{fork.Program, fork.Word, "opencodecli", "Forks"})
	}
	return list
}

// Package connectors has the forms of the agents' traces at Infinium, which documents those
// of its connectors for Cline and Claude Code.
package connectors

import (
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/infinium"
)

// Forms returns the form of each agent, by its name in traces. Cline's is that of the
// documented connector for tasks, the others' are those of the connector for Claude Code,
// which works in sessions of turns as they do. All other agents have a neutral one.
func Forms() infinium.Forms {
	forms := infinium.Forms{"": {}}
	for _, a := range append(hook.Agents(), hook.Guests()...) {
		form := infinium.Form{
			Framework: a.Name, Title: a.Name + " session", Turns: !a.Tasks, ErrorType: a.ToolError,
			VersionTag: strings.ReplaceAll(a.Host, "-", "_") + "_version", InputPreview: a.MaxInput, OutputPreview: a.MaxOutput,
		}
		switch a.Host {
		case hook.HostCline:
			form.Framework, form.Title, form.MaxName = "cline", "Cline task", 30
		case hook.HostCopilot:
			form.Framework, form.Title = "Copilot CLI", "Copilot CLI session"
		}
		forms[a.Host] = form
	}
	return forms
}

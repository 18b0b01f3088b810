// Package connectors has the trace forms that Infinium documents for its
// connectors, by agent.
package connectors

import "github.com/hookspan/hookspan/infinium"

// Forms returns the documented forms: that of the Claude Code connector for
// Claude Code, that of the Cline connector for all other agents.
func Forms() infinium.Forms {
	return infinium.Forms{
		"": {
			Framework: "cline", Title: "Cline task", ErrorType: "ToolError", VersionTag: "cline_version",
			MaxName: 30, InputPreview: 200, OutputPreview: 300,
		},
		"claude-code": {
			Framework: "Claude Code", Title: "Claude Code session", Turns: true, ErrorType: "ToolFailure",
			VersionTag: "claude_code_version", InputPreview: 500, OutputPreview: 500,
		},
	}
}

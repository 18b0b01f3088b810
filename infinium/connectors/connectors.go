// Package connectors has the forms of the agents' traces at Infinium, which documents those
// of its connectors for Cline and Claude Code.
package connectors

import "github.com/hookspan/hookspan/infinium"

// Forms returns the form of each agent, by its name in traces. Cline's is that of the
// documented connector for tasks, the others' are those of the connector for Claude Code,
// which works in sessions of turns as they do. All other agents have a neutral one.
func Forms() infinium.Forms {
	session := func(framework, version string) infinium.Form {
		return infinium.Form{
			Framework: framework, Title: framework + " session", Turns: true, ErrorType: "ToolFailure",
			VersionTag: version, InputPreview: 500, OutputPreview: 500,
		}
	}
	return infinium.Forms{
		"": {},
		"cline": {
			Framework: "cline", Title: "Cline task", ErrorType: "ToolError", VersionTag: "cline_version",
			MaxName: 30, InputPreview: 200, OutputPreview: 300,
		},
		"claude-code": session("Claude Code", "claude_code_version"),
		"codex":       session("Codex", "codex_version"),
		"copilot-cli": session("Copilot CLI", "copilot_cli_version"),
		"gemini-cli":  session("Gemini CLI", "gemini_cli_version"),
		"opencode":    session("opencode", "opencode_version"),
		"qwen-code":   session("Qwen Code", "qwen_code_version"),
	}
}

package hook

import (
	"fmt"
	"slices"
	"testing"
)

func TestAgents(t *testing.T) {
	var names []string
	for _, a := range Agents() {
		if a.Host == "" || a.Word == "" || a.Name == "" || a.Program == "" || a.ToolError == "" || a.MaxInput == 0 || a.MaxOutput == 0 || len(a.Folders) == 0 {
			t.Errorf("%+v lacks a fact", a)
		}
		if of := AgentOf(a.Host); of.Word != a.Word || of.Program != a.Program || of.MaxInput != a.MaxInput {
			t.Errorf("%s: %+v, want %+v", a.Host, of, a)
		}
		if slices.Contains(names, a.Host) || slices.Contains(names, a.Word) {
			t.Errorf("two agents are called %s or %s", a.Host, a.Word)
		}
		names = append(names, a.Host, a.Word)
	}
	if a := AgentOf("droid"); a.Word != "" || a.Program != "" {
		t.Errorf("an agent that is not supported: %+v", a)
	}
}

// TestArgument: the agent after which a program is named starts it without a word.
func TestArgument(t *testing.T) {
	for host, want := range map[string]string{HostClaude: "", HostCline: "", HostCodex: "codex", HostOpencode: "opencode"} {
		if got := AgentOf(host).Argument(); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

// TestFactsThatAgentsAndTracesGoBy are those that agents document and that traces have had.
func TestFactsThatAgentsAndTracesGoBy(t *testing.T) {
	want := map[string]string{
		"cline":       "cline-hook true 200 300 ToolError [CLINE_DIR CLINE_DATA_DIR] [user project] ",
		"claude-code": "claude-hook false 500 500 ToolFailure [CLAUDE_CONFIG_DIR] [user project local] claude --resume",
		"qwen-code":   "claude-hook false 500 500 ToolFailure [QWEN_HOME QWEN_RUNTIME_DIR] [user project] qwen --resume",
		"codex":       "claude-hook false 500 500 ToolFailure [CODEX_HOME] [user project] codex resume",
		"copilot-cli": "claude-hook false 500 500 ToolFailure [COPILOT_HOME] [user] copilot --resume",
		"gemini-cli":  "claude-hook false 500 500 ToolFailure [GEMINI_CLI_HOME] [user project] gemini --resume",
		"kimi-code":   "claude-hook false 500 500 ToolFailure [KIMI_CODE_HOME] [user] kimi --session",
		"opencode":    "claude-hook false 500 500 ToolFailure [OPENCODE_DB] [user project] opencode --session",
		"kilo":        "claude-hook false 500 500 ToolFailure [KILO_DB] [user project] kilo --session",
		"pi":          "claude-hook false 500 500 ToolFailure [PI_CODING_AGENT_DIR PI_CODING_AGENT_SESSION_DIR] [user project] pi --session",
	}
	for _, a := range Agents() {
		if got := fmt.Sprint(a.Program, " ", a.Tasks, " ", a.MaxInput, " ", a.MaxOutput, " ", a.ToolError, " ", a.Folders, " ", a.Scopes, " ", a.Resume); got != want[a.Host] {
			t.Errorf("%s: %s, want %s", a.Host, got, want[a.Host])
		}
	}
	if len(Agents()) != len(want) {
		t.Errorf("%d agents, want %d", len(Agents()), len(want))
	}
}

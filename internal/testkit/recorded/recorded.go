// Package recorded gives tests the recorded sessions of all agents: the payloads of their hooks,
// the agents' files, and the spans that hookspan makes of both, mapped when they are asked for.
package recorded

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Session is a recorded session.
type Session struct {
	// Agent is the agent's word on the command line.
	Agent string
	// Payloads is a folder with a file NUMBER-EVENT.json for each payload, or a file with a
	// line for each, below testdata in the agent's folder of hook; classic-session is the one
	// that hookspan demo plays, in internal/demo.
	Payloads string
	// Files is the folder of the agent's files below internal/transcript/testdata, empty if
	// none were recorded.
	Files string
}

// Sessions are all recorded sessions.
func Sessions() []Session {
	all := []Session{
		{"cline", "classic-session", "../../demo/task"},
		{"cline", "next-session", ""},
		{"cline", "sdk-session", ""},
		{"cline", "vscode-classic", ""},
		{"cline", "vscode-next", "sdk/vscode-next/1795341600000_k3v9x"},
		{"cline", "vscode-next-resumed", "sdk/vscode-next/1795341600000_k3v9x"},
		{"cline", "e2e-cli2/ok", "cli2/1795174833149"},
		{"cline", "e2e-cli2/precompact", ""},
		{"cline", "e2e-cli3/tools", "sdk/tools/1795174957841_0jeru"},
		{"cline", "e2e-cli3/subagent", "sdk/subagent/1795175660887_ibxt7"},
		{"cline", "e2e-cli3/provider-error", "sdk/provider-error/1795175034447_1mokh"},
		{"cline", "e2e-cli3/sigint", ""},
		{"cline", "e2e-cli3/yolo", ""},
		{"claude", "session.ndjson", "claude/2.1.240"},
		{"pi", "fork.ndjson", "pi/branch"},
	}
	for agent, names := range map[string]string{
		"codex":    "direct direct-0.140 codemode-resume subagent-v1 subagent-v2 compact behave interrupt failed-stream api-error",
		"copilot":  "lag not-allowed api-error interrupt subagent tools-resume behave hello",
		"gemini":   "api-error interrupt subagent tools-resume behave hello",
		"opencode": "tools-resume permission subagent interrupt api-error",
		"kilo":     "tools-resume subagent",
		"kimi":     "tools-resume subagent background-subagent interrupt api-error behave compact approval",
		"pi":       "tools-resume interrupt api-error retry queue branch compact",
		"qwen":     "hello behave tools-resume subagent interrupt api-error",
		"claude":   "tools-resume subagent background-subagent interrupt api-error",
	} {
		for name := range strings.FieldsSeq(names) {
			payloads := name + ".ndjson"
			if agent == "claude" {
				payloads = "e2e/" + name
			}
			all = append(all, Session{agent, payloads, agent + "/" + name})
		}
	}
	slices.SortFunc(all, func(x, y Session) int { return cmp.Compare(x.Name(), y.Name()) })
	return all
}

// Named returns the session with that name.
func Named(name string) (Session, error) {
	all := Sessions()
	i := slices.IndexFunc(all, func(s Session) bool { return s.Name() == name })
	if i < 0 {
		return Session{}, fmt.Errorf("no recorded session %q", name)
	}
	return all[i], nil
}

// Name is the session's name in tests/golden.
func (s Session) Name() string {
	name := strings.ReplaceAll(strings.TrimSuffix(s.Payloads, ".ndjson"), "/", "-")
	if s.Agent == "cline" {
		return name
	}
	return s.Agent + "-" + strings.TrimPrefix(name, "e2e-")
}

// Package recorded gives tests the recorded sessions of all agents: the payloads of their hooks,
// the agents' files, and the spans that hookspan makes of both, mapped when they are asked for.
package recorded

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
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

// Sessions are all recorded sessions. Those of agents that write their payloads into one file
// are found: each has a folder of its name with the agent's files.
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
	for name := range strings.FieldsSeq("tools-resume subagent background-subagent interrupt api-error") {
		all = append(all, Session{"claude", "e2e/" + name, "claude/" + name})
	}
	root, _ := Root() // without it Raws has the error
	for _, a := range hook.Agents() {
		paths, _ := filepath.Glob(filepath.Join(root, "hook", a.Word, "testdata", "*.ndjson")) // the pattern is a good one
		for _, path := range paths {
			name := filepath.Base(path)
			files := a.Word + "/" + strings.TrimSuffix(name, ".ndjson")
			_, err := os.Stat(filepath.Join(root, "internal", "transcript", "testdata", filepath.FromSlash(files)))
			if err == nil {
				all = append(all, Session{a.Word, name, files})
			}
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
		return Session{}, fmt.Errorf("no recorded session %q: want hook/AGENT/testdata/SESSION.ndjson and internal/transcript/testdata/AGENT/SESSION", name)
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

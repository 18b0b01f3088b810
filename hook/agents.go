package hook

import (
	"cmp"
	"slices"
)

// The names of the supported agents in events, in the spool and in traces.
const (
	HostClaude   = "claude-code"
	HostCline    = "cline"
	HostCodex    = "codex"
	HostCopilot  = "copilot-cli"
	HostGemini   = "gemini-cli"
	HostKilo     = "kilo"
	HostKimi     = "kimi-code"
	HostOpencode = "opencode"
	HostPi       = "pi"
	HostQwen     = "qwen-code"
	HostCursor   = "cursor"
	HostVSCode   = "vscode"
)

// CopilotOrVSCode is the name of what sent an event that both write with the same members.
const CopilotOrVSCode = "copilot-or-vscode"

// The hook programs, by the names of their files: Cline's, and the other agents'.
const (
	ProgramCline  = "cline-hook"
	ProgramClaude = "claude-hook"
)

// Agent is what is known of a supported agent before anything of it was read.
type Agent struct {
	// Host is the agent's name in events, in the spool and in traces, Word its name on the
	// command line and Name that by which its users know it.
	Host, Word, Name string
	// Program is the hook program that the agent starts.
	Program string
	// Tasks reports that a run is a task. If false, the agent numbers its turns, and a run is
	// a turn.
	Tasks bool
	// MaxInput and MaxOutput are how much of a call's input and output is shown where the
	// user does not say, in runes.
	MaxInput, MaxOutput int
	// ToolError is the error.type of a failed tool.
	ToolError string
	// Folder is the agent's folder in the home folder and in projects: if not set, a dot and
	// Word.
	Folder string
	// Folders are the environment variables with absolute paths of folders that the agent
	// uses in place of those in the home folder. The first is that of the agent's folder.
	Folders []string
	// Scopes are whose settings the hooks can be installed in, those of lower precedence
	// first: "user", the first, "project" and "local".
	Scopes []string
	// Resume is the agent's command that continues a session, whose id follows it. It is
	// empty if the agent has none.
	Resume string
	// Plugin is the npm package that the agent fetches when it has a plugin. Only opencode and
	// its forks have one: the same events and database, and folders, files and variables with
	// Word in their names.
	Plugin string
}

// agents are the supported agents, with what differs from fill's defaults.
var agents = [...]Agent{
	{
		Host: HostCline, Word: "cline", Name: "Cline", Program: ProgramCline, Folders: []string{"CLINE_DIR", "CLINE_DATA_DIR"},
		Tasks: true, MaxInput: 200, MaxOutput: 300, ToolError: "ToolError",
	},
	{
		Host: HostClaude, Word: "claude", Name: "Claude Code", Folders: []string{"CLAUDE_CONFIG_DIR"},
		Scopes: []string{"user", "project", "local"}, Resume: "claude --resume",
	},
	{Host: HostQwen, Word: "qwen", Name: "Qwen Code", Folders: []string{"QWEN_HOME", "QWEN_RUNTIME_DIR"}, Resume: "qwen --resume"},
	{Host: HostCodex, Word: "codex", Name: "Codex", Folders: []string{"CODEX_HOME"}, Resume: "codex resume"},
	{Host: HostCopilot, Word: "copilot", Name: "GitHub Copilot", Folders: []string{"COPILOT_HOME"}, Scopes: []string{"user"}, Resume: "copilot --resume"},
	{Host: HostGemini, Word: "gemini", Name: "Gemini CLI", Folders: []string{"GEMINI_CLI_HOME"}, Resume: "gemini --resume"},
	{Host: HostKimi, Word: "kimi", Name: "Kimi Code", Folder: ".kimi-code", Folders: []string{"KIMI_CODE_HOME"}, Scopes: []string{"user"}, Resume: "kimi --session"},
	{Host: HostOpencode, Word: "opencode", Name: "opencode", Folders: []string{"OPENCODE_DB"}, Resume: "opencode --session", Plugin: "@opencode-ai/plugin"},
	{Host: HostKilo, Word: "kilo", Name: "Kilo", Folders: []string{"KILO_DB"}, Resume: "kilo --session", Plugin: "@kilocode/plugin"},
	{Host: HostPi, Word: "pi", Name: "Pi", Folders: []string{"PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"}, Resume: "pi --session"},
}

// guests run the hooks of supported agents and are recorded from them. None has been run:
// what is known of them is published.
var guests = [...]Agent{
	{Host: HostCursor, Word: "cursor", Name: "Cursor"},
	{Host: HostVSCode, Word: "vscode", Name: "VS Code"},
}

// fill sets what most agents share.
func (a Agent) fill() Agent {
	a.Program, a.Folder = cmp.Or(a.Program, ProgramClaude), cmp.Or(a.Folder, "."+a.Word)
	a.MaxInput, a.MaxOutput = cmp.Or(a.MaxInput, 500), cmp.Or(a.MaxOutput, 500)
	a.ToolError = cmp.Or(a.ToolError, "ToolFailure")
	if a.Scopes == nil {
		a.Scopes = []string{"user", "project"}
	}
	return a
}

// Agents returns the supported agents.
func Agents() []Agent { return filled(agents[:]) }

// Guests returns the programs that are recorded from the hooks of supported agents.
func Guests() []Agent { return filled(guests[:]) }

// Plugins returns opencode and its forks.
func Plugins() []Agent {
	return slices.DeleteFunc(Agents(), func(a Agent) bool { return a.Plugin == "" })
}

func filled(from []Agent) (list []Agent) {
	for _, a := range from {
		list = append(list, a.fill())
	}
	return list
}

// AgentOf returns the agent or the guest with a host, or the zero value if there is none.
func AgentOf(host string) Agent {
	for _, list := range [...][]Agent{agents[:], guests[:]} {
		for i := range list {
			if list[i].Host == host {
				return list[i].fill()
			}
		}
	}
	return Agent{}
}

// WordOf returns an agent's or a guest's name on the command line, else the host.
func WordOf(host string) string { return cmp.Or(AgentOf(host).Word, host) }

// Argument is the first argument of a hook program that agents share: Word, but nothing for
// the agent of the program's name.
func (a Agent) Argument() string {
	if a.Program == a.Word+"-hook" {
		return ""
	}
	return a.Word
}

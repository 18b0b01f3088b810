// Package agents is the table of the supported agents. Delivery, import,
// installation and diagnosis work on its entries and name no agent themselves.
package agents

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/hook/codex"
	"github.com/hookspan/hookspan/hook/copilot"
	"github.com/hookspan/hookspan/hook/cursor"
	"github.com/hookspan/hookspan/hook/gemini"
	"github.com/hookspan/hookspan/hook/kimi"
	"github.com/hookspan/hookspan/hook/opencode"
	"github.com/hookspan/hookspan/hook/pi"
	"github.com/hookspan/hookspan/hook/qwen"
	"github.com/hookspan/hookspan/hook/vscode"
	"github.com/hookspan/hookspan/internal/install"
	claudeinstall "github.com/hookspan/hookspan/internal/install/claude"
	clineinstall "github.com/hookspan/hookspan/internal/install/cline"
	codexinstall "github.com/hookspan/hookspan/internal/install/codex"
	copilotinstall "github.com/hookspan/hookspan/internal/install/copilot"
	geminiinstall "github.com/hookspan/hookspan/internal/install/gemini"
	kimiinstall "github.com/hookspan/hookspan/internal/install/kimi"
	"github.com/hookspan/hookspan/internal/install/plugin"
	qweninstall "github.com/hookspan/hookspan/internal/install/qwen"
	"github.com/hookspan/hookspan/internal/transcript"
	claudefiles "github.com/hookspan/hookspan/internal/transcript/claude"
	clinefiles "github.com/hookspan/hookspan/internal/transcript/cline"
	codexfiles "github.com/hookspan/hookspan/internal/transcript/codex"
	copilotfiles "github.com/hookspan/hookspan/internal/transcript/copilot"
	geminifiles "github.com/hookspan/hookspan/internal/transcript/gemini"
	kimifiles "github.com/hookspan/hookspan/internal/transcript/kimi"
	opencodefiles "github.com/hookspan/hookspan/internal/transcript/opencode"
	pifiles "github.com/hookspan/hookspan/internal/transcript/pi"
	qwenfiles "github.com/hookspan/hookspan/internal/transcript/qwen"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// Agent is what hookspan knows of one agent.
type Agent struct {
	hook.Agent
	// Decode reads what the hook program stored of one call.
	Decode func(hook.Raw) ([]hook.Event, error)
	// Transcript reads the agent's files.
	Transcript transcript.Reader
	// Mapping is what the mapping of events to spans must know of the agent beyond its facts.
	Mapping otelmap.Traits
	// Installer installs the agent's hooks. Settings reports that they are entries
	// in settings files; otherwise they are files in folders.
	Installer install.Installer
	Settings  bool
	// Managed reports that an organisation can have the hooks in settings of its own.
	Managed bool
	// Command describes the command that installs the agent's hooks, or with undo the one
	// that removes them.
	Command func(undo bool) install.Command
	// Refusers reports whether the hooks that the agent runs in a folder may refuse the end
	// of a turn, for an agent whose files tell only of a refusal; nil for any other.
	Refusers func(sys install.System, folder string) bool
	// Servers is the file below the home folder with the user's MCP servers, AddServer the command
	// that adds hookspan's, or what to do.
	Servers, AddServer string
	// StripsOTel reports that the agent removes OTEL_* variables from the
	// environment of its hooks.
	StripsOTel bool
}

// Unusable says which of the variables in Folders have no absolute path. Their folders are
// not read. The name of a database is relative to the folder of the agent's data.
func (a Agent) Unusable(getenv func(string) string) (texts []string) {
	for _, name := range a.Folders {
		if dir := strings.TrimSpace(getenv(name)); dir != "" && !filepath.IsAbs(dir) && !strings.HasSuffix(name, "_DB") {
			texts = append(texts, fmt.Sprintf("%s: found %q, want an absolute path: what is there is not read", name, dir))
		}
	}
	return texts
}

// Table lists agents, each with its own Host and Word.
type Table []Agent

// Events reads what was recorded of one call of the hook program.
func (a Agent) Events(r *spool.Record) ([]hook.Event, error) {
	return a.Decode(hook.Raw{Payload: r.Payload, Event: r.Event, StoredAt: r.At, Offset: r.Offset, Cwd: r.Cwd, TraceParent: r.TraceParent, Resource: r.Resource})
}

// Reader reads the agent's files. No end is undecided where no hook may refuse it.
func (a Agent) Reader() transcript.Reader {
	r := a.Transcript
	if a.Refusers == nil {
		return r
	}
	r.Read = func(ctx context.Context, f *transcript.Files, q transcript.Query) (*hook.Transcript, error) {
		t, err := a.Transcript.Read(ctx, f, q)
		if t != nil && t.Undecided {
			sys := install.System{GOOS: cmp.Or(f.GOOS, runtime.GOOS), Home: f.Home, Getenv: f.Getenv}
			if !a.Refusers(sys, cmp.Or(q.Cwd, t.Cwd)) {
				t.Pending, t.Undecided = false, false
			}
		}
		return t, err
	}
	return r
}

// All returns the supported agents.
func All() Table {
	table := Table{
		{
			Agent: hook.AgentOf(hook.HostCline), Decode: cline.Decode, Transcript: clinefiles.Agent,
			Servers: ".cline/data/settings/cline_mcp_settings.json", AddServer: "cline mcp add --yes hookspan -- hookspan mcp",
			Mapping:   otelmap.Traits{MCPServer: cline.MCPServer},
			Installer: clineinstall.Installer{}, Command: clineinstall.Command,
		},
		{
			Agent: hook.AgentOf(hook.HostClaude), Decode: claude.Decode, Transcript: claudefiles.Agent,
			Servers: ".claude.json", AddServer: "claude mcp add -s user hookspan -- hookspan mcp",
			Mapping:   otelmap.Traits{Shared: true, Provider: "anthropic"},
			Installer: claudeinstall.Installer{}, Command: claudeinstall.Command,
			Settings: true, StripsOTel: true, Managed: true,
		},
		{
			Agent: hook.AgentOf(hook.HostQwen), Decode: qwen.Decode, Transcript: qwenfiles.Agent,
			Servers: ".qwen/settings.json", AddServer: "qwen mcp add -s user hookspan hookspan mcp",
			Installer: qweninstall.Installer(), Command: qweninstall.Installer().Command,
			Settings: true, Refusers: qweninstall.Refusers,
		},
		{
			Agent: hook.AgentOf(hook.HostCodex), Decode: codex.Decode, Transcript: codexfiles.Agent,
			Servers: ".codex/config.toml", AddServer: "codex mcp add hookspan -- hookspan mcp",
			Mapping:   otelmap.Traits{Extensions: []string{"web_search", "web_search_call", "image_generation"}, Script: "exec", Nested: "exec-"},
			Installer: codexinstall.Installer(), Command: codexinstall.Installer().Command,
			Settings: true, Managed: true,
		},
		{
			Agent: hook.AgentOf(hook.HostCopilot), Decode: copilot.Decode, Transcript: copilotfiles.Agent,
			Servers: ".copilot/mcp-config.json", AddServer: "copilot mcp add hookspan -- hookspan mcp",
			Mapping:   otelmap.Traits{Unnamed: true},
			Installer: copilotinstall.Installer(), Command: copilotinstall.Command,
			Settings: true, StripsOTel: true, Managed: true,
		},
		{
			Agent: hook.AgentOf(hook.HostGemini), Decode: gemini.Decode, Transcript: geminifiles.Agent,
			Servers: ".gemini/settings.json", AddServer: "gemini mcp add -s user hookspan hookspan mcp",
			Mapping:   otelmap.Traits{Unnamed: true, Provider: "gcp.gemini", MCPServer: gemini.MCPServer},
			Installer: geminiinstall.Installer(), Command: geminiinstall.Installer().Command,
			Settings: true,
		},
		{
			Agent: hook.AgentOf(hook.HostKimi), Decode: kimi.Decode, Transcript: kimifiles.Agent,
			Servers: ".kimi-code/mcp.json", AddServer: "an entry as in Claude Code's file, by hand",
			Mapping:   otelmap.Traits{Unnamed: true},
			Installer: kimiinstall.Installer(), Command: kimiinstall.Installer().Command,
			Settings: true,
		},
	}
	for _, a := range hook.Plugins() {
		installer := plugin.Installer{Agent: a}
		table = append(table, Agent{
			Agent: a, Decode: opencode.Decoder(a.Host), Transcript: opencodefiles.Agent(a),
			Servers: ".config/" + a.Word + "/" + a.Word + ".jsonc", AddServer: a.Word + " mcp add hookspan -- hookspan mcp",
			Installer: installer, Command: installer.Command,
			Settings: true,
		})
	}
	extension := plugin.Installer{Agent: hook.AgentOf(hook.HostPi)}
	table = append(table, Agent{
		Agent: extension.Agent, Decode: pi.Protocol.Decode, Transcript: pifiles.Agent,
		Servers: ".pi/agent/mcp.json", AddServer: "pi mcp add hookspan --exposure direct -- hookspan mcp",
		Mapping:   otelmap.Traits{Within: "/"},
		Installer: extension, Command: extension.Command,
		Settings: true,
	})
	return table.traits()
}

// traits sets what the mapping knows from the agents' facts.
func (t Table) traits() Table {
	for i, a := range t {
		m := &t[i].Mapping
		m.Turns, m.MaxInput, m.MaxOutput, m.ToolError = !a.Tasks, a.MaxInput, a.MaxOutput, a.ToolError
	}
	return t
}

// WithGuests returns the agents and the programs that are recorded from their hooks. These
// have no installer, and no sessions to import.
func (t Table) WithGuests() Table {
	noFiles := func(context.Context, *transcript.Files, transcript.Query) (*hook.Transcript, error) {
		return nil, transcript.ErrNotFound
	}
	return append(slices.Clone(t), Table{
		{Agent: hook.AgentOf(hook.HostCursor), Decode: cursor.Decode, Transcript: transcript.Reader{Host: hook.HostCursor, Read: noFiles}},
		{Agent: hook.AgentOf(hook.HostVSCode), Decode: vscode.Decode, Transcript: copilotfiles.VSCode},
	}.traits()...)
}

// ResumeCommand returns the command that continues a session of the agent with this host,
// "" if there is none. A session's id is what the agent's files say: one that a shell would
// read otherwise is in no command.
func (t Table) ResumeCommand(host, session string) string {
	a, ok := t.Named(host)
	odd := func(r rune) bool {
		return !(r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}
	if !ok || a.Resume == "" || session == "" || session[0] == '-' || strings.ContainsFunc(session, odd) {
		return ""
	}
	return a.Resume + " " + session
}

// Words returns the agents' names on the command line, sorted.
func (t Table) Words() []string {
	var words []string
	for _, a := range t {
		words = append(words, a.Word)
	}
	slices.Sort(words)
	return words
}

// Named returns the agent with a name on the command line or, as traces have it, a host.
// ok is false if there is none.
func (t Table) Named(name string) (a Agent, ok bool) {
	i := slices.IndexFunc(t, func(a Agent) bool { return a.Word == name || a.Host == name })
	if i < 0 {
		return Agent{}, false
	}
	return t[i], true
}

// Reader returns what reads the files and the records of an agent, nothing for one that is
// not supported.
func (t Table) Reader(host string) (transcript.Reader, func(*spool.Record) ([]hook.Event, error)) {
	a, ok := t.WithGuests().Named(host)
	if !ok {
		return a.Transcript, nil
	}
	return a.Transcript, a.Events
}

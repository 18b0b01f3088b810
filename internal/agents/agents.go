// Package agents is the table of the supported agents. Delivery, import,
// installation and diagnosis work on its entries and name no agent themselves.
//
// A new agent is an entry here and a package in each of hook, transcript and
// install.
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
	"github.com/hookspan/hookspan/hook/gemini"
	"github.com/hookspan/hookspan/hook/opencode"
	"github.com/hookspan/hookspan/hook/qwen"
	"github.com/hookspan/hookspan/internal/install"
	claudehooks "github.com/hookspan/hookspan/internal/install/claude"
	clinehooks "github.com/hookspan/hookspan/internal/install/cline"
	codexhooks "github.com/hookspan/hookspan/internal/install/codex"
	copilothooks "github.com/hookspan/hookspan/internal/install/copilot"
	geminihooks "github.com/hookspan/hookspan/internal/install/gemini"
	opencodeplugin "github.com/hookspan/hookspan/internal/install/opencode"
	qwenhooks "github.com/hookspan/hookspan/internal/install/qwen"
	"github.com/hookspan/hookspan/internal/transcript"
	claudefiles "github.com/hookspan/hookspan/internal/transcript/claude"
	clinefiles "github.com/hookspan/hookspan/internal/transcript/cline"
	codexfiles "github.com/hookspan/hookspan/internal/transcript/codex"
	copilotfiles "github.com/hookspan/hookspan/internal/transcript/copilot"
	geminifiles "github.com/hookspan/hookspan/internal/transcript/gemini"
	opencodefiles "github.com/hookspan/hookspan/internal/transcript/opencode"
	qwenfiles "github.com/hookspan/hookspan/internal/transcript/qwen"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// Agent is what hookspan knows of one agent.
type Agent struct {
	// Host is the agent's name in events, in the spool and in traces.
	Host string
	// Word is the agent's name on the command line.
	Word string
	// Name is the agent's name as its users know it.
	Name string
	// Program is the hook program that the agent starts.
	Program string
	// Decode reads what the hook program stored of one call.
	Decode func(hook.Raw) ([]hook.Event, error)
	// Transcript reads the agent's files.
	Transcript transcript.Reader
	// Mapping is what the mapping of events to spans must know of the agent.
	Mapping otelmap.Traits
	// Installer installs the agent's hooks. Settings reports that they are entries
	// in settings files; otherwise they are files in folders.
	Installer install.Installer
	Settings  bool
	// Scopes are what install.Options.Scope can be, if the hooks are entries in
	// settings files.
	Scopes []string
	// Folders are the environment variables with absolute paths of folders that the agent
	// uses in place of those in the home folder.
	Folders []string
	// Resume is the agent's command that continues a session, whose id follows it. It is
	// empty if the agent has none.
	Resume string
	// Managed reports that an organisation can have the hooks in settings of its own.
	Managed bool
	// Install and Uninstall describe the commands for the agent's hooks.
	Install, Uninstall install.Command
	// Refusers reports whether the hooks that the agent runs in a folder may refuse the end
	// of a turn, for an agent whose files tell only of a refusal; nil for any other.
	Refusers func(sys install.System, folder string) bool
	// StripsOTel reports that the agent removes OTEL_* variables from the
	// environment of its hooks.
	StripsOTel bool
}

// Unusable says which of the variables in Folders have no absolute path. Their folders are
// not read.
func (a Agent) Unusable(getenv func(string) string) (texts []string) {
	for _, name := range a.Folders {
		if dir := strings.TrimSpace(getenv(name)); dir != "" && !filepath.IsAbs(dir) {
			texts = append(texts, fmt.Sprintf("%s: found %q, want an absolute path: what is there is not read", name, dir))
		}
	}
	return texts
}

// Table lists agents, each with its own Host and Word.
type Table []Agent

// Events reads what was recorded of one call of the hook program.
func (a Agent) Events(r *spool.Record) ([]hook.Event, error) {
	return a.Decode(hook.Raw{Payload: r.Payload, Event: r.Event, StoredAt: r.At, Offset: r.Offset, Cwd: r.Cwd, TraceParent: r.TraceParent})
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
	return Table{
		{
			Host: cline.Host, Word: "cline", Name: "Cline", Program: "cline-hook", Folders: []string{"CLINE_DIR", "CLINE_DATA_DIR"},
			Decode: cline.Decode, Transcript: clinefiles.Agent, Installer: clinehooks.Installer{},
			Mapping: otelmap.Traits{
				MaxInput: 200, MaxOutput: 300,
				MCPServer: cline.MCPServer,
			},
			Install: clinehooks.InstallCommand(), Uninstall: clinehooks.UninstallCommand(),
		},
		{
			Host: claude.Host, Word: "claude", Name: "Claude Code", Program: "claude-hook", Folders: []string{"CLAUDE_CONFIG_DIR"},
			Decode: claude.Decode, Transcript: claudefiles.Agent, Resume: "claude --resume", Installer: claudehooks.Installer{},
			Mapping: otelmap.Traits{
				Turns: true, Shared: true, MaxInput: 500, MaxOutput: 500,
				ToolError: otelmap.ErrorToolFailure, Provider: "anthropic",
			},
			Settings: true, StripsOTel: true, Managed: true, Scopes: []string{install.ScopeUser, install.ScopeProject, install.ScopeLocal},
			Install: claudehooks.InstallCommand(), Uninstall: claudehooks.UninstallCommand(),
		},
		{
			Host: qwen.Host, Word: "qwen", Name: "Qwen Code", Program: "claude-hook", Folders: []string{"QWEN_HOME", "QWEN_RUNTIME_DIR"},
			Decode: qwen.Decode, Transcript: qwenfiles.Agent, Resume: "qwen --resume", Installer: qwenhooks.Installer(),
			Mapping: otelmap.Traits{
				Turns: true, MaxInput: 500, MaxOutput: 500, ToolError: otelmap.ErrorToolFailure,
			},
			Settings: true, Scopes: []string{install.ScopeUser, install.ScopeProject}, Refusers: qwenhooks.Refusers,
			Install: qwenhooks.InstallCommand(), Uninstall: qwenhooks.UninstallCommand(),
		},
		{
			Host: codex.Host, Word: "codex", Name: "Codex", Program: "claude-hook", Folders: []string{"CODEX_HOME"},
			Decode: codex.Decode, Transcript: codexfiles.Agent, Resume: "codex resume", Installer: codexhooks.Installer(),
			Mapping: otelmap.Traits{
				Turns: true, MaxInput: 500, MaxOutput: 500, ToolError: otelmap.ErrorToolFailure,
				Extensions: []string{"web_search", "web_search_call", "image_generation"}, Script: "exec", Nested: "exec-",
			},
			Settings: true, Managed: true, Scopes: []string{install.ScopeUser, install.ScopeProject},
			Install: codexhooks.InstallCommand(), Uninstall: codexhooks.UninstallCommand(),
		},
		{
			Host: copilot.Host, Word: "copilot", Name: "GitHub Copilot", Program: "claude-hook", Folders: []string{"COPILOT_HOME"},
			Decode: copilot.Decode, Transcript: copilotfiles.Agent, Resume: "copilot --resume", Installer: copilothooks.Installer(),
			Mapping: otelmap.Traits{
				Turns: true, Unnamed: true, MaxInput: 500, MaxOutput: 500, ToolError: otelmap.ErrorToolFailure,
			},
			Settings: true, StripsOTel: true, Managed: true,
			Install: copilothooks.InstallCommand(), Uninstall: copilothooks.UninstallCommand(),
		},
		{
			Host: gemini.Host, Word: "gemini", Name: "Gemini CLI", Program: "claude-hook", Folders: []string{"GEMINI_CLI_HOME"},
			Decode: gemini.Decode, Transcript: geminifiles.Agent, Resume: "gemini --resume", Installer: geminihooks.Installer(),
			Mapping: otelmap.Traits{
				Turns: true, Unnamed: true, MaxInput: 500, MaxOutput: 500, ToolError: otelmap.ErrorToolFailure, Provider: "gcp.gemini",
				MCPServer: gemini.MCPServer,
			},
			Settings: true, Scopes: []string{install.ScopeUser, install.ScopeProject},
			Install: geminihooks.InstallCommand(), Uninstall: geminihooks.UninstallCommand(),
		},
		{
			Host: opencode.Host, Word: "opencode", Name: "opencode", Program: "claude-hook", Folders: []string{"OPENCODE_DB"},
			Decode: opencode.Decode, Transcript: opencodefiles.Agent, Resume: "opencode --session", Installer: opencodeplugin.Installer{},
			Mapping:  otelmap.Traits{Turns: true, MaxInput: 500, MaxOutput: 500, ToolError: otelmap.ErrorToolFailure},
			Settings: true, Scopes: []string{install.ScopeUser, install.ScopeProject},
			Install: opencodeplugin.InstallCommand(), Uninstall: opencodeplugin.UninstallCommand(),
		},
	}
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
	a, ok := t.Named(host)
	if !ok {
		return a.Transcript, nil
	}
	return a.Transcript, a.Events
}

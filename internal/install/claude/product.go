package claude

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/jsonedit"
)

// product is an agent with settings of Claude Code's form.
type product struct {
	// word is the agent's name in install records, empty for Claude Code.
	word string
	// name is its name for people.
	name string
	// folder is its folder in the home folder and in projects, homeVariable the
	// variable that names another one in place of the former.
	folder, homeVariable string
	// homeAbove reports that the variable names what holds the folder.
	homeAbove bool
	// file is the name of its settings file, and members are all that it may have
	// beside hooks; if nil, anything.
	file    string
	members []string
	// scopes are those of its settings files.
	scopes []string
	// comments reports that settings may have comments.
	comments bool
	// words are the hook program's arguments before the event's name.
	words []string
	// events are those that hookspan records.
	events []hookEvent
	// strict reports that a hook that fails denies the call: its command ends well
	// even if the program is gone.
	strict bool
	// switches is another file of the agent's folder that can switch hooks off.
	switches string
	// exec reports that newer versions start programs without a shell.
	exec bool
	// windows is the shell that reads its commands on Windows, unless exec.
	windows shell
	// managedDir is the folder of an organisation's settings, and managedName the
	// file's name.
	managedDir  func(goos string) string
	managedName string
	// switchOff is a variable that switches hooks off.
	switchOff string
	// trust returns how far the user trusts the agent's hooks, by their commands. It is
	// nil for an agent that runs all hooks.
	trust func(ctx context.Context, dir string) (map[string]string, error)
}

func claudeCode() *product {
	return &product{
		name: "Claude Code", file: "settings.json", folder: ".claude", homeVariable: "CLAUDE_CONFIG_DIR",
		scopes: []string{install.ScopeUser, install.ScopeProject, install.ScopeLocal}, events: hookEvents(), exec: true,
		managedDir: managedDir, managedName: "managed-settings.json",
	}
}

func qwenCode() *product {
	return &product{
		word: "qwen", name: "Qwen Code", file: "settings.json", folder: ".qwen", homeVariable: "QWEN_HOME",
		scopes: []string{install.ScopeUser, install.ScopeProject}, comments: true, words: []string{"qwen"}, events: qwenEvents(), windows: shellCmd,
		managedDir: qwenManagedDir, managedName: "settings.json", switchOff: "QWEN_CODE_SAFE_MODE",
	}
}

// qwenManagedDir is the folder of Qwen Code's settings for the whole system.
func qwenManagedDir(goos string) string {
	switch goos {
	case "darwin":
		return "/Library/Application Support/QwenCode"
	case "windows":
		return `C:\ProgramData\qwen-code`
	default:
		return "/etc/qwen-code"
	}
}

func codex() *product {
	return &product{
		word: "codex", name: "Codex", file: "hooks.json", members: []string{"description"}, folder: ".codex", homeVariable: "CODEX_HOME",
		scopes: []string{install.ScopeUser, install.ScopeProject}, words: []string{"codex"}, events: codexEvents(), trust: codexTrust,
		windows: shellCmd,
	}
}

func geminiCLI() *product {
	return &product{
		word: "gemini", name: "Gemini CLI", file: "settings.json", folder: ".gemini", homeVariable: "GEMINI_CLI_HOME", homeAbove: true,
		scopes: []string{install.ScopeUser, install.ScopeProject}, comments: true, words: []string{"gemini"}, events: geminiEvents(), windows: shellPower,
		managedDir: geminiManagedDir, managedName: "settings.json",
	}
}

// geminiManagedDir is the folder of the Gemini CLI's settings for the whole system.
func geminiManagedDir(goos string) string {
	switch goos {
	case "darwin":
		return "/Library/Application Support/GeminiCli"
	case "windows":
		return `C:\ProgramData\gemini-cli`
	default:
		return "/etc/gemini-cli"
	}
}

// Gemini returns the installer for the Gemini CLI, whose settings have the form of
// Claude Code's, with events of its own and time limits in milliseconds.
func Gemini() Installer { return Installer{of: geminiCLI()} }

func copilotCLI() *product {
	return &product{
		word: "copilot", name: "GitHub Copilot", file: filepath.Join("hooks", "hookspan.json"), members: []string{"version"},
		folder: ".copilot", homeVariable: "COPILOT_HOME", scopes: []string{install.ScopeUser}, words: []string{"copilot"}, events: copilotEvents(),
		strict: true, switches: "settings.json", windows: shellPower,
	}
}

// Copilot returns the installer for the GitHub Copilot CLI, which reads hooks in Claude
// Code's form, under names of its own, from every file of its folder of hooks.
func Copilot() Installer { return Installer{of: copilotCLI()} }

// Codex returns the installer for the Codex CLI, whose hooks.json has the form of the
// hooks in Claude Code's settings.
func Codex() Installer { return Installer{of: codex()} }

// Qwen returns the installer for Qwen Code, whose settings have Claude Code's form.
func Qwen() Installer { return Installer{of: qwenCode()} }

// product returns the installer's agent.
func (in Installer) product() *product {
	if in.of == nil {
		return claudeCode()
	}
	return in.of
}

// event finds an event that hookspan records.
func (p *product) event(name string) (hookEvent, bool) {
	if i := slices.IndexFunc(p.events, func(ev hookEvent) bool { return ev.name == name }); i >= 0 {
		return p.events[i], true
	}
	return hookEvent{}, false
}

// args are the hook program's arguments for an event.
func (p *product) args(event string) []string { return append(slices.Clone(p.words), event) }

// open reads a settings text.
func (p *product) open(text []byte, empty emptied) (*settingsEdit, error) {
	parse := jsonedit.Parse
	if p.comments {
		parse = jsonedit.ParseWithComments
	}
	e, err := openParsed(parse, text, empty)
	if err == nil {
		e.members = p.members
	}
	return e, err
}

// wantScopes lists the scopes for people.
func (p *product) wantScopes() string {
	last := len(p.scopes) - 1
	if last == 0 {
		return p.scopes[0]
	}
	return strings.Join(p.scopes[:last], ", ") + " or " + p.scopes[last]
}

// records are the agent's entries in the install record.
func (p *product) records(m *install.Manifest) (list install.Records) {
	for _, rec := range m.Settings {
		if rec.Agent == p.word {
			list = append(list, rec)
		}
	}
	return list
}

package cline

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/hookspan/hookspan/internal/transcript"
)

// extensionIDs are the folders Cline owns in an editor's global storage: the
// released extension and the nightly one.
var extensionIDs = [...]string{"saoudrizwan.claude-dev", "saoudrizwan.cline-nightly"}

// classicRoots returns every folder that may hold Cline's tasks/, without
// repeats. Only the folders that exist matter, so all editors of a kind are
// found by listing their common parent: Code, Code - Insiders, VSCodium,
// Cursor, Windsurf, Trae, Positron, Kiro and those that do not exist yet.
func classicRoots(f *transcript.Files) transcript.Folders {
	var r transcript.Folders
	// Cline's command line 2.x and JetBrains.
	r.Add(f.Getenv("CLINE_DIR"), "data")
	r.Add(f.Home, ".cline", "data")

	// A portable editor gives its extensions its folder.
	addStorage(&r, f.Getenv("VSCODE_PORTABLE"), "user-data")

	// The hook may run with another environment than the editor, so the
	// default place is searched beside the one the environment names.
	switch f.GOOS {
	case "darwin":
		addEditors(&r, transcript.Join(f.Home, "Library", "Application Support"))
	case "windows":
		addEditors(&r, f.Getenv("APPDATA"))
		addEditors(&r, transcript.Join(f.Home, "AppData", "Roaming"))
	default:
		addEditors(&r, f.Getenv("XDG_CONFIG_HOME"))
		addEditors(&r, transcript.Join(f.Home, ".config"))
		// Flatpak gives each editor its own configuration folder.
		for _, app := range transcript.Subfolders(transcript.Join(f.Home, ".var", "app")) {
			addEditors(&r, filepath.Join(app, "config"))
		}
	}

	// Servers of remote windows: ~/.vscode-server, ~/.vscode-server-insiders,
	// ~/.cursor-server, ~/.windsurf-server, ~/.vscodium-server, ...
	addStorage(&r, f.Getenv("VSCODE_AGENT_FOLDER"), "data")
	for _, dir := range transcript.Subfolders(f.Home) {
		name := filepath.Base(dir)
		if strings.HasPrefix(name, ".") && strings.Contains(name, "-server") {
			addStorage(&r, dir, "data")
		}
	}
	addStorage(&r, f.Getenv("XDG_DATA_HOME"), "code-server")
	addStorage(&r, f.Home, ".local", "share", "code-server")
	return r
}

// sessionRoots returns the folders that may hold the SDK's sessions: the one
// the environment names, by Cline's order of preference, then the default.
func sessionRoots(f *transcript.Files) transcript.Folders {
	var r transcript.Folders
	switch {
	case filepath.IsAbs(f.Getenv("CLINE_SESSION_DATA_DIR")):
		r.Add(f.Getenv("CLINE_SESSION_DATA_DIR"))
	case filepath.IsAbs(f.Getenv("CLINE_DATA_DIR")):
		r.Add(f.Getenv("CLINE_DATA_DIR"), "sessions")
	default:
		r.Add(f.Getenv("CLINE_DIR"), "data", "sessions")
	}
	r.Add(f.Home, ".cline", "data", "sessions")
	return r
}

// addStorage adds Cline's folders of one editor, given the folder, as
// transcript.Join takes it, in which the editor's User folder is.
func addStorage(r *transcript.Folders, base string, rest ...string) {
	user := transcript.Join(base, append(rest, "User", "globalStorage")...)
	for _, id := range extensionIDs {
		dir := transcript.Join(user, id)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			r.Add(dir)
		}
	}
}

// addEditors adds Cline's folders of every editor below a folder of
// applications' settings.
func addEditors(r *transcript.Folders, config string) {
	for _, app := range transcript.Subfolders(config) {
		addStorage(r, app)
	}
}

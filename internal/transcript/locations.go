package transcript

import (
	"os"
	"path/filepath"
	"strings"
)

// extensionIDs are the folders Cline owns in an editor's global storage: the
// released extension and the nightly one.
var extensionIDs = [...]string{"saoudrizwan.claude-dev", "saoudrizwan.cline-nightly"}

// classicRoots returns every folder that may hold Cline's tasks/, without
// repeats. Only the folders that exist matter, so all editors of a kind are
// found by listing their common parent: Code, Code - Insiders, VSCodium,
// Cursor, Windsurf, Trae, Positron, Kiro and those that do not exist yet.
func (f *Finder) classicRoots() []string {
	var r rootList
	// Cline's command line 2.x and JetBrains.
	r.add(join(f.getenv("CLINE_DIR"), "data"))
	r.add(join(f.Home, ".cline", "data"))

	// A portable editor tells its extensions where it lives.
	r.addStorage(join(f.getenv("VSCODE_PORTABLE"), "user-data", "User"))

	// The hook may run with another environment than the editor, so the
	// default place is searched beside the one the environment names.
	switch f.goos() {
	case "darwin":
		r.addEditors(join(f.Home, "Library", "Application Support"))
	case "windows":
		r.addEditors(f.getenv("APPDATA"))
		r.addEditors(join(f.Home, "AppData", "Roaming"))
	default:
		r.addEditors(f.getenv("XDG_CONFIG_HOME"))
		r.addEditors(join(f.Home, ".config"))
		// Flatpak gives each editor a configuration folder of its own.
		for _, app := range list(join(f.Home, ".var", "app")) {
			r.addEditors(filepath.Join(app, "config"))
		}
	}

	// Servers of remote windows: ~/.vscode-server, ~/.vscode-server-insiders,
	// ~/.cursor-server, ~/.windsurf-server, ~/.vscodium-server, ...
	r.addStorage(join(f.getenv("VSCODE_AGENT_FOLDER"), "data", "User"))
	for _, dir := range list(f.Home) {
		name := filepath.Base(dir)
		if strings.HasPrefix(name, ".") && strings.Contains(name, "-server") {
			r.addStorage(filepath.Join(dir, "data", "User"))
		}
	}
	r.addStorage(join(f.getenv("XDG_DATA_HOME"), "code-server", "User"))
	r.addStorage(join(f.Home, ".local", "share", "code-server", "User"))
	return r.dirs
}

// sessionRoots returns the folders that may hold the SDK's sessions: the one
// the environment names, by Cline's order of preference, then the default.
func (f *Finder) sessionRoots() []string {
	var r rootList
	switch {
	case filepath.IsAbs(f.getenv("CLINE_SESSION_DATA_DIR")):
		r.add(f.getenv("CLINE_SESSION_DATA_DIR"))
	case filepath.IsAbs(f.getenv("CLINE_DATA_DIR")):
		r.add(join(f.getenv("CLINE_DATA_DIR"), "sessions"))
	default:
		r.add(join(f.getenv("CLINE_DIR"), "data", "sessions"))
	}
	r.add(join(f.Home, ".cline", "data", "sessions"))
	return r.dirs
}

// rootList gathers existing folders once each, in order.
type rootList struct {
	dirs []string
	seen map[string]bool
}

func (r *rootList) add(dir string) {
	if dir == "" || !filepath.IsAbs(dir) {
		return
	}
	dir = filepath.Clean(dir)
	if r.seen[dir] {
		return
	}
	if r.seen == nil {
		r.seen = make(map[string]bool)
	}
	r.seen[dir] = true
	r.dirs = append(r.dirs, dir)
}

// addStorage adds Cline's folders of one editor, given its User folder.
func (r *rootList) addStorage(user string) {
	if user == "" {
		return
	}
	for _, id := range extensionIDs {
		dir := filepath.Join(user, "globalStorage", id)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			r.add(dir)
		}
	}
}

// addEditors adds Cline's folders of every editor below a folder of
// applications' settings.
func (r *rootList) addEditors(config string) {
	for _, app := range list(config) {
		r.addStorage(filepath.Join(app, "User"))
	}
}

// join is filepath.Join, but empty where the base is unknown or relative: a
// path relative to our working directory is never one that Cline meant.
func join(base string, rest ...string) string {
	if !filepath.IsAbs(base) {
		return ""
	}
	return filepath.Join(append([]string{base}, rest...)...)
}

// list returns the entries of a folder as paths; none if it cannot be listed,
// which is the common case for a place that does not exist on this machine.
func list(dir string) []string {
	if !filepath.IsAbs(dir) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	paths := make([]string, 0, len(entries))
	for _, e := range entries {
		// Symbolic links are followed: settings folders often are one.
		if e.IsDir() || e.Type()&os.ModeSymlink != 0 {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

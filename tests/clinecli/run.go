package clinecli

import (
	"os"
	"path/filepath"

	"github.com/hookspan/hookspan/tests/internal/rig"
)

// newArena makes the folders of a run below dir.
func newArena(dir string, cli CLI) (*rig.Arena, error) {
	a, err := rig.NewArena(dir)
	if err != nil {
		return nil, err
	}
	if err := a.Write(map[string]string{
		// Without this file xdg-user-dir answers with the home folder itself, and
		// classic Cline looks for hooks in ~/Cline/Hooks.
		"home/.config/user-dirs.dirs":       "XDG_DOCUMENTS_DIR=\"$HOME/Documents\"\n",
		"home/.cline/data/globalState.json": `{"telemetrySetting":"disabled"}`,
		"ws/src/login.js":                   "module.exports = (u, p) => true\n",
	}); err != nil {
		return nil, err
	}
	a.Sessions = filepath.Join(a.Home, ".cline", "data", "tasks")
	if cli == CLI3 {
		a.Sessions = filepath.Join(a.Home, ".cline", "data", "sessions")
	}
	a.Env["CLINE_TELEMETRY_DISABLED"] = "1"
	// Without it CLI 3 works in a daemon, its hub, and leaves that behind.
	a.Env["CLINE_SESSION_BACKEND_MODE"] = "local"
	return a, nil
}

func copyTree(from, to string) error {
	if _, err := os.Stat(from); err != nil {
		return err
	}
	// os.CopyFS refuses to overwrite, and newArena has made some of the tree.
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}

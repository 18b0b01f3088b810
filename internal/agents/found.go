package agents

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hookspan/hookspan/internal/transcript"
)

// FoundIn returns what shows that the agent is on this machine: its program in PATH,
// its folder in the home folder, or the file of a session. It returns "" if there is
// none.
func (a *Agent) FoundIn(ctx context.Context, files *transcript.Files) string {
	if program, err := exec.LookPath(a.Word); err == nil {
		return program
	}
	folder := filepath.Join(files.Home, "."+a.Word)
	if info, err := os.Stat(folder); err == nil && info.IsDir() {
		return folder
	}
	sessions, err := files.Sessions(ctx, a.Transcript)
	if err != nil || len(sessions) == 0 {
		return ""
	}
	return sessions[len(sessions)-1].Path
}

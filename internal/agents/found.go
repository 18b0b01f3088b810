package agents

import (
	"context"
	"os"
	"path/filepath"

	"github.com/hookspan/hookspan/internal/lookpath"
	"github.com/hookspan/hookspan/internal/transcript"
)

// FoundIn returns what shows that the agent is on this machine: its program in PATH,
// its folder in the home folder, or the file of a session. It returns "" if there is
// none. passed are programs of its name that are not looked at.
func (a *Agent) FoundIn(ctx context.Context, files *transcript.Files) (where string, passed []lookpath.PassedOver) {
	program, passed, err := lookpath.Here().Find(a.Word)
	if err == nil {
		return program, passed
	}
	folder := filepath.Join(files.Home, a.Folder)
	if info, err := os.Stat(folder); err == nil && info.IsDir() {
		return folder, passed
	}
	sessions, err := files.Sessions(ctx, a.Transcript)
	if err != nil || len(sessions) == 0 {
		return "", passed
	}
	return sessions[len(sessions)-1].Path, passed
}

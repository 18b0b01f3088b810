package hooksession

import (
	"path/filepath"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
)

// Dir is the folder for all sessions below the state folder, empty without one.
func Dir(stateDir string) string {
	if stateDir == "" {
		return ""
	}
	return filepath.Join(stateDir, "hooks")
}

// Idle reports that no hook of the files can run for an event of Cline and that the
// answer is the neutral one. The event is then kept for the session's next event that
// starts the runner, since hooks can read the whole conversation. In any doubt Idle
// reports false and keeps nothing, so that the runner decides.
func Idle(raw hook.Raw, stateDir, trusted, user string, projects []string, now func() time.Time) bool {
	dir := Dir(stateDir)
	events, err := cline.Read(raw).Events()
	if dir == "" || err != nil || len(events) == 0 {
		return false
	}
	ev := &events[0]
	tool := ""
	if ev.Tool != nil {
		tool = ev.Tool.Name
	}
	files := []File{{Path: user}}
	for _, path := range projects {
		files = append(files, File{Path: path, Project: true, Trust: trusted})
	}
	for _, f := range files {
		if !f.Idle(dir, ev.Kind, tool) {
			return false
		}
	}
	s := At(dir, ev.Session, now)
	// A text that a hook left for the model goes with a call.
	if (ev.Kind == hook.KindToolStart || ev.Kind == hook.KindToolEnd) && s.Waits() {
		return false
	}
	return s.Postpone(raw) == nil
}

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

// The programs that run hooks.
const (
	// Own is the hook process itself, which runs plain hooks.
	Own = "cline-hook"
	// Small runs command hooks. It links little, so that it starts fast.
	Small = "hook-runner"
	// Full runs all hooks.
	Full = "hookspan"
)

// Program returns the program that runs the hooks for an event of Cline. It is empty if
// no hook of the files can run and the answer is the neutral one. The event is then kept
// for the session's next event that starts a program, since hooks can read the whole
// conversation. In any doubt it is Full, which decides. guards reports that the event is
// denied if its hooks cannot be run: it is never Own then, since nothing denies for the
// hook process if that is killed.
func Program(raw hook.Raw, stateDir, trusted string, own, projects []string, guards bool, now func() time.Time) string {
	dir := Dir(stateDir)
	events, err := cline.DecodeCalls(raw)
	if dir == "" || err != nil || len(events) == 0 {
		return Full
	}
	ev := &events[0]
	tool := ""
	if ev.Tool != nil {
		tool = ev.Tool.Name
	}
	var files []File
	for _, path := range own {
		files = append(files, File{Path: path})
	}
	for _, path := range projects {
		files = append(files, File{Path: path, Project: true, Trust: trusted})
	}
	need := Nothing
	for _, f := range files {
		need = max(need, f.Need(dir, ev.Kind, tool))
	}
	switch {
	case need == Plain && !guards:
		return Own
	case need == Plain, need == Commands:
		return Small
	case need == Everything:
		return Full
	}
	s := At(dir, ev.Session, now)
	// A text that a hook left for the model goes with a call.
	waits := (ev.Kind == hook.KindToolStart || ev.Kind == hook.KindToolEnd) && s.Waits()
	if waits || s.Postpone(raw) != nil {
		return Full
	}
	return ""
}

// Package demo plays a recorded Cline task through the real hook program, in a
// home folder that the caller provides.
package demo

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/hookspan/hookspan/internal/files/regular"
)

// files are the payloads that Cline's hook code wrote in one scripted task, and
// the files that Cline kept of that task.
//
//go:embed session task
var files embed.FS

// task is the task's id in those files.
const task = "1795175957341"

// Player plays the task.
type Player struct {
	// Home is an empty folder.
	Home string
	// Environ is the environment of the hook processes.
	Environ []string

	hook   string
	events []string
}

// Prepare writes the task's files and a copy of the hook program into the home
// folder, and returns how many events there are. The copy has no hookspan beside
// it, so it starts no delivery.
func (p *Player) Prepare(hook string) (events int, err error) {
	program, err := regular.Read(hook, regular.Options{})
	if err != nil {
		return 0, err
	}
	p.hook = filepath.Join(p.Home, filepath.Base(hook))
	if err := os.WriteFile(p.hook, program, 0o700); err != nil { //nolint:gosec // It is a program.
		return 0, err
	}
	// CLI 2 and JetBrains keep their files there.
	to := filepath.Join(p.Home, ".cline", "data", "tasks", task)
	if err := os.MkdirAll(to, 0o700); err != nil {
		return 0, err
	}
	names, err := fs.Glob(files, "task/*.json")
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		b, err := files.ReadFile(name)
		if err != nil {
			return 0, err
		}
		if err := os.WriteFile(filepath.Join(to, path.Base(name)), b, 0o600); err != nil {
			return 0, err
		}
	}
	p.events, err = fs.Glob(files, "session/*.json")
	return len(p.events), err
}

// Play starts one hook process for each event, as Cline does.
func (p *Player) Play(ctx context.Context) error {
	for _, name := range p.events {
		payload, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		_, event, _ := strings.Cut(strings.TrimSuffix(path.Base(name), ".json"), "-")
		cmd := exec.CommandContext(ctx, p.hook, event) //nolint:gosec // The program that Prepare copied.
		cmd.Env, cmd.Dir, cmd.Stdin = p.Environ, p.Home, bytes.NewReader(payload)
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", path.Base(name), err)
		}
	}
	return nil
}

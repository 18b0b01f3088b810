package provision

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/claude"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// TestInstallsBesideUninstalls draws pairs of an install and an uninstall that run at once:
// hooks that are there have their program, and the record names them.
func TestInstallsBesideUninstalls(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "needs programs that are scripts")
	}
	t.Setenv("PATH", t.TempDir())
	m := machine(t, &installer{})
	m.Setup.Agents[0].Installer = claude.Installer{}
	from := t.TempDir()
	for _, name := range []string{"hookspan", "claude-hook"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte("#!/bin/sh\n"), 0o755); err != nil { //nolint:gosec // A program.
			t.Fatal(err)
		}
	}
	m.Program = func(name string) (string, error) { return filepath.Join(from, name), nil }
	settings := filepath.Join(m.Setup.Home, ".claude", "settings.json")
	installs := func() error {
		var o install.Options
		if err := m.UseCopy("claude-hook", &o); err != nil {
			return err
		}
		plan, err := claude.Installer{}.Plan(t.Context(), m.System(), o)
		if err != nil {
			return err
		}
		return m.Alone(t.Context(), func() error {
			_, err := m.CopyPrograms(t.Context())
			if err == nil {
				err = install.Apply(plan)
			}
			return err
		})
	}
	uninstalls := func() error {
		plan, err := claude.Installer{}.PlanUninstall(t.Context(), m.System(), install.Options{})
		if err != nil {
			return err
		}
		return m.Alone(t.Context(), func() error {
			err := install.Apply(plan)
			if err == nil {
				err = m.RemovePrograms(t.Context())
			}
			return err
		})
	}
	for n := range 400 {
		pair := []func() error{installs, uninstalls}
		if rand.IntN(2) == 0 {
			pair[0], pair[1] = pair[1], pair[0]
		}
		var both sync.WaitGroup
		for _, f := range pair {
			both.Go(func() {
				if err := f(); err != nil && !errors.Is(err, install.ErrChanged) {
					t.Error(err)
				}
			})
		}
		both.Wait()
		text, _ := os.ReadFile(settings) //nolint:gosec // A test's. It may be gone.
		f, err := m.copies()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "claude-hook") && !install.FileExists(f.Program("claude-hook")) {
			t.Fatalf("pair %d: hooks without their program", n)
		}
	}
}

// Package installtest has what the tests of installers share: files, whole folders, and
// installers of a user's home folder.
package installtest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// Write writes a file and the folders it is in.
func Write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // As users have them.
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// Link makes a link, and the folders on the way to it.
func Link(t testing.TB, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // As users have them.
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		skip.Missing(t, "symbolic links cannot be made here: %v", err)
	}
}

// Read is a file's text.
func Read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path) //nolint:gosec // A test's.
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Tree lists everything below dir: mode, and content or link target, with the times of
// files or without, which one that is written anew loses.
func Tree(t testing.TB, dir string, times bool) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			if times {
				text += " " + info.ModTime().String()
			}
			text += fmt.Sprintf(" %q", Read(t, path))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " -> " + target
		}
		rel, err := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Same compares two trees.
func Same(t testing.TB, what string, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Planner plans what an install or an uninstall does.
type Planner func(ctx context.Context, sys install.System, o install.Options) (*install.Plan, error)

// Do plans and applies the plan.
func Do(t testing.TB, plan Planner, sys install.System, o install.Options) *install.Plan {
	t.Helper()
	p, err := plan(t.Context(), sys, o)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	if err := install.Apply(p); err != nil {
		t.Fatalf("apply: %v", err)
	}
	return p
}

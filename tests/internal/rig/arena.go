package rig

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Arena is the prepared place of one run.
type Arena struct {
	// Dir holds everything; Home, Workspace and Records lie in it.
	Dir       string `json:"dir"`
	Home      string `json:"home"`
	Workspace string `json:"workspace"`
	// Records is where recorders put the payloads, see Recorded.
	Records string `json:"records"`
	// Sessions is the folder with one folder for each session of the agent whose
	// names sort by age; empty where the agent has no such folder.
	Sessions string `json:"sessions,omitempty"`
	// Env is the whole environment of the steps.
	Env map[string]string `json:"env"`
}

// NewArena makes the folders of a run below dir, which must be empty or absent.
// The environment has what every program wants of one, and nothing of the
// caller's but PATH.
func NewArena(dir string) (*Arena, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of the run %q: %w", dir, err)
	}
	a := &Arena{Dir: dir, Home: filepath.Join(dir, "home"), Workspace: filepath.Join(dir, "ws"), Records: filepath.Join(dir, "rec")}
	tmp := filepath.Join(dir, "tmp")
	for _, d := range []string{filepath.Join(a.Home, ".config"), a.Workspace, a.Records, tmp} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("prepare the run's folders: %w", err)
		}
	}
	a.Env = map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": a.Home, "TMPDIR": tmp, "LANG": "C.UTF-8", "TERM": "dumb", "USER": "tester",
		"XDG_CONFIG_HOME": filepath.Join(a.Home, ".config"),
		"XDG_STATE_HOME":  filepath.Join(a.Home, ".local", "state"),
		"XDG_DATA_HOME":   filepath.Join(a.Home, ".local", "share"),
		"XDG_CACHE_HOME":  filepath.Join(a.Home, ".cache"),
		"DO_NOT_TRACK":    "1",
	}
	return a, nil
}

// Write writes files, whose paths are relative to the arena's folder, and the
// folders they lie in.
func (a *Arena) Write(files map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(a.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("prepare the run's files: %w", err)
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o644); err != nil {
			return fmt.Errorf("prepare the run's files: %w", err)
		}
	}
	return nil
}

// Environ returns the arena's environment in the form of os.Environ.
func (a *Arena) Environ() []string {
	out := make([]string, 0, len(a.Env))
	for k, v := range a.Env {
		out = append(out, k+"="+v)
	}
	return out
}

// ConfigDir is where hookspan.env is looked for.
func (a *Arena) ConfigDir() string { return filepath.Join(a.Home, ".config", "hookspan") }

func (a *Arena) etc() string { return filepath.Join(a.Dir, "etc") }

// MakeEtc gives the run an /etc of its own, with what programs look up there. It is for
// settings of a whole machine.
func (a *Arena) MakeEtc() error {
	if err := os.MkdirAll(a.etc(), 0o755); err != nil { //nolint:gosec // As /etc.
		return err
	}
	for _, name := range []string{
		"passwd", "group", "hosts", "resolv.conf", "nsswitch.conf", "localtime", "ssl/certs/ca-certificates.crt", "pki/tls/certs/ca-bundle.crt",
	} {
		data, err := os.ReadFile(filepath.Join("/etc", name))
		if err != nil {
			continue // not every machine has it
		}
		path := filepath.Join(a.etc(), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil { //nolint:gosec // As in /etc.
			return err
		}
	}
	return nil
}

func (a *Arena) mark() string { return filepath.Join(a.Dir, "mark") }

// words returns the replacer for the words that are known before a step runs.
func (a *Arena) words() *strings.Replacer {
	return strings.NewReplacer(WordMark, a.mark(), WordWorkspace, a.Workspace, WordHome, a.Home, WordRecords, a.Records)
}

package rig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// RemoveHookspan removes hookspan's programs, those in bin and the copies that hooks
// start, and leaves the hooks.
func (a *Arena) RemoveHookspan(bin string) error {
	return errors.Join(os.RemoveAll(bin), os.RemoveAll(filepath.Join(a.Home, ".local")))
}

// CheckUndisturbed fails the test unless the first step of a run without hookspan's
// programs ended as it does without its hooks, with the wanted number of requests, and
// said nothing of them.
func (r *Result) CheckUndisturbed(t *testing.T, requests, want int) {
	t.Helper()
	s := r.Steps[0]
	if s.ExitCode != 0 || s.TimedOut || requests != want {
		t.Errorf("the agent ended with code %d (timed out: %v) after %d requests, want %d", s.ExitCode, s.TimedOut, requests, want)
	}
	for _, said := range []string{"claude-hook", "No such file", "Failed"} {
		if strings.Contains(s.Stdout+s.Stderr, said) {
			t.Errorf("the agent says %q", said)
		}
	}
	if len(r.Spans) > 0 {
		t.Error("hookspan is still there")
	}
}

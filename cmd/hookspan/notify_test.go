package main

import (
	"strings"
	"testing"
)

func TestNotifySaysThatTheSystemHasNoProgram(t *testing.T) {
	a, _, _ := newTestApp(t)
	for goos, want := range map[string]string{"plan9": "no program for notifications", "linux": "the program notify-send is not in PATH"} {
		t.Setenv("PATH", t.TempDir())
		a.goos = goos
		if _, err := a.notifier(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", goos, err)
		}
	}
}

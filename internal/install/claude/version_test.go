package claude

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]version{
		"2.1.329 (Claude Code)": {2, 1, 329}, "v1.0.0": {1, 0, 0}, " 2.1.0\n": {2, 1, 0}, "2.2.0-beta.1": {2, 2, 0},
	} {
		if got, ok := parseVersion(text); !ok || got != want {
			t.Errorf("%q: %v %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "Claude Code", "2.1", "2.1.x", "2.1.-3", "1.2.3.4"} {
		if got, ok := parseVersion(text); ok {
			t.Errorf("%q taken for %v", text, got)
		}
	}
}

func TestVersionHas(t *testing.T) {
	tests := []struct {
		v     version
		since string
		want  bool
	}{
		{version{2, 1, 139}, "2.1.139", true},
		{version{2, 1, 138}, "2.1.139", false},
		{version{2, 2, 0}, "2.1.139", true},
		{version{1, 9, 999}, "2.0.43", false},
		{version{}, "", true},
	}
	for _, tt := range tests {
		if got := tt.v.has(tt.since); got != tt.want {
			t.Errorf("%v has what came with %q: %v", tt.v, tt.since, got)
		}
	}
}

// TestEventTable keeps the versions readable and each event single.
func TestEventTable(t *testing.T) {
	seen := map[string]bool{}
	for _, ev := range hookEvents() {
		if seen[ev.name] {
			t.Errorf("%s is listed twice", ev.name)
		}
		seen[ev.name] = true
		if _, ok := parseVersion(ev.since); !ok && ev.since != "" {
			t.Errorf("%s: version %q", ev.name, ev.since)
		}
	}
	for _, never := range []string{"WorktreeCreate", "PreModelSwitch", "MessageDisplay", "PostToolBatch"} {
		if seen[never] {
			t.Errorf("%s must not be installed", never)
		}
	}
}

func TestAskVersion(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program asked is a shell script")
	}
	tests := map[string]struct{ script, want, err string }{
		"answers":    {"#!/bin/sh\n[ \"$1\" = --version ] && echo '2.1.329 (Claude Code)'\n", "2.1.329 (Claude Code)", ""},
		"fails":      {"#!/bin/sh\nexit 3\n", "", "exit status 3"},
		"is not one": {"", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.script != "" {
				writeFile(t, filepath.Join(dir, "claude"), tt.script, 0o755)
			}
			t.Setenv("PATH", dir+string(os.PathListSeparator)+"/bin/nothing")
			got, err := askVersion(t.Context())
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q, %v; want %q, %q", got, err, tt.want, tt.err)
			}
		})
	}
}

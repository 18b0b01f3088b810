package cline

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/installtest"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func TestDocumentsDir(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "the fake program is a shell script")
	}
	tests := map[string]struct {
		script  string
		want    string
		failure string
	}{
		"no program":    {"", "", ""},
		"home":          {"echo /home/u/", "/home/u/", ""},
		"localised":     {"echo '/home/u/文 档'", "/home/u/文 档", ""},
		"right request": {`[ "$1" = DOCUMENTS ] && echo /d`, "/d", ""},
		"no answer":     {"exit 0", "", ""},
		"program fails": {"exit 3", "", "exit status 3"},
		"relative path": {"echo Documents", "", "want an absolute path"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.script != "" {
				installtest.Write(t, filepath.Join(dir, "xdg-user-dir"), "#!/bin/sh\n"+tt.script+"\n", 0o755)
			}
			t.Setenv("PATH", dir)
			got, err := systemDocuments("linux")(t.Context())
			if got != tt.want || (err == nil) != (tt.failure == "") || err != nil && !strings.Contains(err.Error(), tt.failure) {
				t.Errorf("%q, %v; want %q, %q", got, err, tt.want, tt.failure)
			}
		})
	}
}

func TestDocumentsDirEnds(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "the fake program is a shell script")
	}
	dir := t.TempDir()
	installtest.Write(t, filepath.Join(dir, "xdg-user-dir"), "#!/bin/sh\nread never\n", 0o755)
	t.Setenv("PATH", dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := systemDocuments("linux")(ctx); err == nil {
		t.Error("a cancelled question was answered")
	}
}

func TestDocumentsDirOnMacOSIsFixed(t *testing.T) {
	if systemDocuments("darwin") != nil {
		t.Error("macOS is asked")
	}
}

func TestEvaluable(t *testing.T) {
	for dir, want := range map[string]bool{
		"": true, "/home/u": true, "/home/u v": true, "/home/é-1.2_~#": true,
		"/home/$(id)": false, "/home/`id`": false, "/home/a;id": false, "/home/it's": false, "/home/a\nb": false, `/home/a\b`: false, "/home/*": false,
	} {
		if err := evaluable("/home/u", dir); (err == nil) != want {
			t.Errorf("%q: %v", dir, err)
		}
	}
}

package userhooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/userhooks/hookcheck"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
)

// newSetup is a home folder with these files.
func newSetup(t *testing.T, files map[string]string) *Setup {
	t.Helper()
	home := t.TempDir()
	for name, text := range files {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &Setup{
		Conditions: conditions, Faults: hookcheck.Check,
		Home: home, GOOS: "linux", Trust: hookfile.Trust{Path: filepath.Join(home, "trusted.json")},
		Clean: func(text string) string { return strings.ReplaceAll(text, "secret", "***") },
	}
}

func hooksFile(event, matcher, command string) string {
	return `{"hooks":{"` + event + `":[{"matcher":"` + matcher + `","hooks":[{"type":"command","command":"` + command + `"}]}]}}`
}

func TestGuardsNeed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		guards  Guards
		project string
		want    bool
	}{
		{"no guard", Guards{}, "", false},
		{"the user's guard counts in a project", Guards{"": true}, "/p", true},
		{"a project's guard counts for the user's folders", Guards{"/p": true}, "", true},
		{"a project's guard counts in that project", Guards{"/p": true}, "/p", true},
		{"and in no other", Guards{"/p": true}, "/q", false},
	} {
		if got := tt.guards.Need(tt.project); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

func TestGuardsCountsTrustedProjectsAndUnreadableFiles(t *testing.T) {
	s := newSetup(t, map[string]string{
		".cline/hooks.json":           hooksFile("Stop", "", "true"),
		"guarded/.cline/hooks.json":   hooksFile("PreToolUse", "", "true"),
		"untrusted/.cline/hooks.json": hooksFile("PreToolUse", "", "true"),
		"broken/.cline/hooks.json":    "[",
	})
	for _, name := range []string{"guarded", "broken"} {
		if err := s.Trust.Add(filepath.Join(s.Home, name, ".cline", "hooks.json"), nil); err != nil {
			t.Fatal(err)
		}
	}
	want := Guards{filepath.Join(s.Home, "guarded"): true, filepath.Join(s.Home, "broken"): true}
	if diff := cmp.Diff(want, s.Guards()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProjectFile(t *testing.T) {
	s := newSetup(t, map[string]string{"p/.cline/hooks.json": "{}", "p/other.json": "{}"})
	file := filepath.Join(s.Home, "p", ".cline", "hooks.json")
	for name, want := range map[string]string{"p": "", "p/.cline/hooks.json": "", "p/other.json": "nowhere else", ".": "needs no trust"} {
		got, err := s.ProjectFile(filepath.Join(s.Home, filepath.FromSlash(name)))
		switch {
		case want == "" && (err != nil || got != file):
			t.Errorf("%s: got %q, %v; want %s", name, got, err, file)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got error %v, want %q", name, err, want)
		}
	}
}

func TestListNumbersAndKeepsHooks(t *testing.T) {
	s := newSetup(t, map[string]string{
		".cline/hooks.json":   hooksFile("PreToolUse", "Bash", "true secret"),
		"p/.cline/hooks.json": hooksFile("PreToolUse", "Write", "true"),
	})
	project := filepath.Join(s.Home, "p")
	sources := s.Sources(project)
	l := s.List(sources)
	if len(l.Files) != 2 || l.Files[1].Hooks[0].Number != 2 || l.Files[0].Hooks[0].Command != "true ***" {
		t.Errorf("got %+v", l)
	}
	if src, h, count := sources.Hook(2); src.Path != l.Files[1].Path || h.Matcher != "Write" || count != 2 {
		t.Errorf("hook 2: %s, %+v of %d", src.Path, h, count)
	}
	if src, _, count := sources.Hook(3); src.Path != "" || count != 2 {
		t.Errorf("hook 3: %s of %d", src.Path, count)
	}
	if err := l.Keep(s, "execute_command", project, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if len(l.Files[0].Hooks) != 1 || len(l.Files[1].Hooks) != 0 || l.Files[0].Hooks[0].Why == "" {
		t.Errorf("for a command: %+v", l)
	}
}

func TestImportAddsOnce(t *testing.T) {
	s := newSetup(t, nil)
	settings := []byte(hooksFile("Stop", "", "true"))
	none := func(hookfile.Handler) bool { return false }
	got, err := s.Import("settings.json", settings, nil, "", none)
	if err != nil || len(got.Added) != 1 || got.Kept != 0 {
		t.Fatalf("got %+v, %v", got, err)
	}
	again, err := s.Import("settings.json", settings, got.Text, "", none)
	if err != nil || len(again.Added) != 0 || again.Kept != 1 || string(again.Text) != string(got.Text) {
		t.Errorf("again: %+v, %v", again, err)
	}
}

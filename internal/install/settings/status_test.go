package settings

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/testkit/installtest"
)

func (h *home) status() *install.Report {
	h.t.Helper()
	r, err := h.in.Status(h.t.Context(), h.sys, install.Options{Binary: h.hook(), Dir: h.path("src/project")})
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func TestStatus(t *testing.T) {
	const rel = ".agent/settings.json"
	edit := func(old, new string) func(t *testing.T, h *home) {
		return func(t *testing.T, h *home) {
			text := installtest.Read(t, h.path(rel))
			changed := strings.Replace(text, strings.ReplaceAll(old, "BIN", h.hook()), strings.ReplaceAll(new, "BIN", h.hook()), 1)
			if changed == text {
				t.Fatalf("no %q in the settings", old)
			}
			installtest.Write(t, h.path(rel), changed, 0o600)
		}
	}
	recordedProgram := func(t *testing.T, h *home) {
		edit(`'BIN'`, `'/usr/bin/claude-hook'`)(t, h)
		record := h.path(".local/state/hookspan/install.json")
		installtest.Write(t, record, strings.Replace(installtest.Read(t, record), `"programs": [`, `"programs": ["/usr/bin/claude-hook",`, 1), 0o600)
	}
	tests := map[string]struct {
		change                               func(t *testing.T, h *home)
		installed, outdated, edited, missing int
		text                                 string
		healthy                              bool
	}{
		"installed":        {func(*testing.T, *home) {}, 10, 0, 0, 0, "installed 10 events", true},
		"one missing":      {edit(`"Stop": [`, `"Setup": [`), 9, 1, 0, 1, "missing  Stop", false},
		"edited":           {edit(`"timeout": 10`, `"timeout": 60`), 9, 0, 1, 0, "edited   SessionStart: has another timeout", true},
		"other program":    {edit(`'BIN'`, `'/usr/bin/claude-hook'`), 9, 0, 0, 1, "missing  SessionStart", false},
		"another copy":     {recordedProgram, 9, 1, 0, 0, "outdated SessionStart: starts /usr/bin/claude-hook", false},
		"the stable copy":  {edit(`'BIN'`, `'/data/hookspan/bin/claude-hook'`), 9, 1, 0, 0, "outdated SessionStart: starts /data/hookspan/bin/claude-hook", false},
		"reports another":  {edit(`' SessionEnd `, `' Stop `), 9, 1, 0, 0, `outdated SessionEnd: reports "Stop"`, false},
		"settings gone":    {func(t *testing.T, h *home) { remove(t, h.path(rel)) }, 0, 0, 0, 10, "missing  10 events", false},
		"settings damaged": {func(t *testing.T, h *home) { installtest.Write(t, h.path(rel), "{", 0o600) }, 0, 0, 0, 0, "line 1, column 2: the file ends too early", false},
		"program gone":     {func(t *testing.T, h *home) { remove(t, h.hook()) }, 0, 10, 0, 0, "claude-hook is gone", false},
		"is there twice":   {edit(`"SessionEnd": [`, `"SessionEnd": [{"hooks":[{"type":"command","command":"BIN"}]},`), 9, 1, 0, 0, "is there twice", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, newVersion)
			installtest.Write(t, h.path("src/project/x"), "", 0o600)
			h.install(h.options(install.ScopeUser))
			tt.change(t, h)
			r := h.status()
			if len(r.Sites) != 1 || !r.Present() {
				t.Fatalf("report %+v", r)
			}
			s := r.Sites[0]
			for state, want := range map[install.State]int{install.StateInstalled: tt.installed, install.StateOutdated: tt.outdated, install.StateEdited: tt.edited, install.StateMissing: tt.missing} {
				if got := s.Count(state); got != want {
					t.Errorf("%d %s, want %d", got, state, want)
				}
			}
			if !strings.Contains(r.Text(), tt.text) || r.Healthy() != tt.healthy {
				t.Errorf("healthy %v, text:\n%s", r.Healthy(), r.Text())
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestStatusWithoutHooks(t *testing.T) {
	h := newHome(t, newVersion)
	installtest.Write(t, h.path("src/project/x"), "", 0o600)
	if r := h.status(); len(r.Sites) != 0 || r.Present() || r.Healthy() {
		t.Errorf("without the agent: %+v", r)
	}
	installtest.Write(t, h.path(".agent/settings.json"), `{"disableAllHooks":true}`, 0o600)
	r := h.status()
	if len(r.Sites) != 1 || r.Present() || len(r.Off) != 0 || !strings.Contains(r.Text(), "no hookspan hooks") {
		t.Errorf("with settings of the user's alone:\n%s", r.Text())
	}
	h.install(h.options(install.ScopeLocal))
	r = h.status()
	if len(r.Sites) != 2 || !r.Present() || r.Healthy() || len(r.Off) != 1 {
		t.Errorf("installed for a project, hooks off: %+v", r)
	}
	installtest.Write(t, h.path("src/project/.agent/settings.json"), `{"disableAllHooks":false}`, 0o600)
	if r = h.status(); !r.Healthy() {
		t.Errorf("installed for a project alone:\n%s", r.Text())
	}
}

func TestStatusIgnoresRemovedProject(t *testing.T) {
	h := newHome(t, newVersion)
	installtest.Write(t, h.path("src/project/x"), "", 0o600)
	h.install(h.options(install.ScopeProject))
	if err := os.RemoveAll(h.path("src/project")); err != nil {
		t.Fatal(err)
	}
	r, err := h.in.Status(t.Context(), h.sys, install.Options{Binary: h.hook()})
	if err != nil || r.Present() {
		t.Errorf("%v, report %+v", err, r)
	}
	h.uninstall(install.Options{})
	if install.FileExists(h.sys.StateDir) {
		t.Error("the record stays")
	}
}

// TestStatusIgnoresUnknownEvents does not miss events that this version of the agent
// does not have, and asks for the version only when something is missing.
func TestStatusIgnoresUnknownEvents(t *testing.T) {
	h := newHome(t, "2.1.80")
	h.install(h.options(install.ScopeUser))
	asked := 0
	h.in.Spec.Version = func(context.Context) (string, error) { asked++; return "2.1.80", nil }
	installtest.Write(t, h.path("src/project/x"), "", 0o600)
	if r := h.status(); !r.Healthy() || r.Sites[0].Count(install.StateInstalled) != 8 || asked != 1 {
		t.Errorf("asked %d times:\n%s", asked, r.Text())
	}
	h.in.Spec.Version = func(context.Context) (string, error) { asked++; return newVersion, nil }
	if r := h.status(); r.Healthy() || r.Sites[0].Count(install.StateMissing) != 2 {
		t.Errorf("after an upgrade:\n%s", r.Text())
	}
	h.install(h.options(install.ScopeUser))
	asked = 0
	if r := h.status(); !r.Healthy() || asked != 0 {
		t.Errorf("asked %d times though nothing is missing:\n%s", asked, r.Text())
	}
	// Of an older version, that has settings of a newer one, a diagnosis warns.
	h.in.Spec.Version = func(context.Context) (string, error) { asked++; return "2.1.80", nil }
	r, err := h.in.Status(t.Context(), h.sys, install.Options{Binary: h.hook(), Ask: true})
	if err != nil || asked != 1 || !strings.Contains(strings.Join(r.Warnings, ""), "2.1.80 does not know PostModelSwitch, TaskCreated in") {
		t.Errorf("asked %d times: %v\n%s", asked, err, r.Text())
	}
	h.in.Spec.Version = func(context.Context) (string, error) { return "2.1.80", nil }
	h.install(h.options(install.ScopeUser))
	if r := h.status(); !r.Healthy() || r.Sites[0].Count(install.StateInstalled) != 8 {
		t.Errorf("after another install:\n%s", r.Text())
	}
}

// TestOthers finds hooks that are not hookspan's in the settings of a project.
func TestOthers(t *testing.T) {
	const ours, other = `{"command":"'/opt/bin/claude-hook' test Stop 2>/dev/null || cat >/dev/null"}`, `{"command":"make test"}`
	for name, tt := range map[string]struct {
		user, project string
		want          bool
	}{
		"none":                  {"", "", false},
		"hookspan's":            {`{"hooks":{"Stop":[{"hooks":[` + ours + `]}]}}`, "", false},
		"beside hookspan's":     {`{"hooks":{"Stop":[{"hooks":[` + ours + `,` + other + `]}]}}`, "", true},
		"in the project":        {`{"hooks":{"Stop":[{"hooks":[` + ours + `]}]}}`, `{"hooks":{"Stop":[{"hooks":[` + other + `]}]}}`, true},
		"of another event":      {`{"hooks":{"PreToolUse":[{"hooks":[` + other + `]}]}}`, "", false},
		"a file that is no map": {`[]`, `{"hooks":1}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, "2.1.332")
			project := filepath.Join(h.dir, "ws")
			for path, text := range map[string]string{filepath.Join(h.dir, ".agent"): tt.user, filepath.Join(project, ".agent"): tt.project} {
				if text == "" {
					continue
				}
				if err := errors.Join(os.MkdirAll(path, 0o700), os.WriteFile(filepath.Join(path, "settings.json"), []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if got := h.in.Others(h.sys, project, "Stop"); got != tt.want {
				t.Errorf("others: %v, want %v", got, tt.want)
			}
		})
	}
}

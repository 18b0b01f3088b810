package cline

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/testkit/installtest"
)

func TestStatus(t *testing.T) {
	const dir = "Documents/Cline/Hooks/"
	tests := map[string]struct {
		change func(t *testing.T, h *home)
		state  install.State
		reason string
	}{
		"installed": {func(*testing.T, *home) {}, install.StateInstalled, ""},
		"switched off in Cline's Hooks tab": {func(t *testing.T, h *home) {
			if err := os.Chmod(h.path(dir+"TaskStart"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, install.StateOff, "in Cline's Hooks tab, which makes it not executable: switch it on there, or install again"},
		"program gone": {func(t *testing.T, h *home) {
			if err := os.Remove(h.binary()); err != nil {
				t.Fatal(err)
			}
		}, install.StateOutdated, "is gone"},
		"other program": {func(t *testing.T, h *home) {
			installtest.Write(t, h.path(dir+"TaskStart"), string(render("linux", shim{Event: "TaskStart", Binary: "/bin/sh"})), 0o755)
		}, install.StateOutdated, "starts /bin/sh"},
		"other event": {func(t *testing.T, h *home) {
			installtest.Write(t, h.path(dir+"TaskStart"), installtest.Read(t, h.path(dir+"TaskCancel")), 0o755)
		}, install.StateOutdated, "TaskCancel"},
		"chained": {func(t *testing.T, h *home) {
			h.uninstall(install.Options{})
			installtest.Write(t, h.path(dir+"TaskStart"), "#!/bin/sh\n", 0o755)
			o := h.options()
			o.Chain = true
			h.install(o)
		}, install.StateInstalled, "also runs"},
		"chained script gone": {func(t *testing.T, h *home) {
			installtest.Write(t, h.path(dir+"TaskStart"), string(render("linux", shim{Event: "TaskStart", Binary: h.binary(), Chain: "/no/such"})), 0o755)
		}, install.StateOutdated, "/no/such"},
		"edited": {func(t *testing.T, h *home) {
			installtest.Write(t, h.path(dir+"TaskStart"), installtest.Read(t, h.path(dir+"TaskStart"))+"#", 0o755)
		}, install.StateEdited, "edited since"},
		"newer": {func(t *testing.T, h *home) {
			installtest.Write(t, h.path(dir+"TaskStart"), "#!/bin/sh\n"+markerPrefix+"99 x\n", 0o755)
		}, install.StateEdited, "newer"},
		"foreign": {func(t *testing.T, h *home) { installtest.Write(t, h.path(dir+"TaskStart"), "mine", 0o755) }, install.StateForeign, ""},
		"folder": {func(t *testing.T, h *home) {
			if err := os.Remove(h.path(dir + "TaskStart")); err != nil {
				t.Fatal(err)
			}
			installtest.Write(t, h.path(dir+"TaskStart/x"), "", 0o644)
		}, install.StateForeign, "is a folder"},
		"missing": {func(t *testing.T, h *home) {
			if err := os.Remove(h.path(dir + "TaskStart")); err != nil {
				t.Fatal(err)
			}
		}, install.StateMissing, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, "linux", "-")
			h.install(h.options())
			tt.change(t, h)
			before := tree(t, h.dir)
			r, err := h.in.Status(t.Context(), h.sys, h.options())
			if err != nil {
				t.Fatal(err)
			}
			installtest.Same(t, "after looking", before, tree(t, h.dir))
			if r.Healthy() != (tt.state == install.StateInstalled) {
				t.Errorf("healthy %v:\n%s", r.Healthy(), r.Text())
			}
			for _, got := range allHooks(r) {
				if got.Path != h.path(dir+"TaskStart") {
					continue
				}
				if got.State != tt.state || !strings.Contains(got.Reason, tt.reason) || got.Faulty != (tt.state != install.StateInstalled) {
					t.Errorf("%+v, want %s with %q", got, tt.state, tt.reason)
				}
				name := "TaskStart"
				if tt.state == install.StateInstalled && got.Reason == "" {
					name = "10 hooks" // those of the folder
				}
				if line := string(tt.state) + strings.Repeat(" ", 15-len(tt.state)) + name; !strings.Contains(r.Text(), line) {
					t.Errorf("no line %q in:\n%s", line, r.Text())
				}
			}
		})
	}
}

func count(r *install.Report, state install.State) (n int) {
	for _, s := range r.Sites {
		n += s.Count(state)
	}
	return n
}

func allHooks(r *install.Report) (hooks []install.Hook) {
	for _, s := range r.Sites {
		hooks = append(hooks, s.Hooks...)
	}
	return hooks
}

func TestStatusOfNothing(t *testing.T) {
	h := newHome(t, "linux", ".")
	r, err := h.in.Status(t.Context(), h.sys, install.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Healthy() || count(r, install.StateInstalled) != 0 || count(r, install.StateMissing) != 10+8+1 {
		t.Errorf("installed %d, missing %d:\n%s", count(r, install.StateInstalled), count(r, install.StateMissing), r.Text())
	}
}

func TestStatusNamesTheRisk(t *testing.T) {
	h := newHome(t, "linux", "-")
	o := h.options()
	o.PreToolUse = true
	h.install(o)
	installtest.Write(t, h.path(".cline/data/globalState.json"), `{"hooksEnabled":false}`, 0o600)
	r, err := h.in.Status(t.Context(), h.sys, h.options())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Off) != 1 || r.Healthy() || !strings.Contains(r.Text(), "dead") || !strings.Contains(r.Text(), "switched off") {
		t.Errorf("report:\n%s", r.Text())
	}
	if n := count(r, install.StateInstalled); n != 11 || count(r, install.StateMissing) != 0 {
		t.Errorf("%d hooks, want 11:\n%s", n, r.Text())
	}
}

// TestStatusNamesTheFolderThatEditorsRead has a system whose documents folder is
// not ~/Documents. Without a user-dirs.dirs, xdg-user-dir prints the home folder,
// and Cline takes that (apps/vscode/src/core/storage/documents-path.ts).
func TestStatusNamesTheFolderThatEditorsRead(t *testing.T) {
	for name, documents := range map[string]string{"home folder": ".", "another language": "文档"} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, "linux", documents)
			o := h.options()
			o.PreToolUse = true
			h.install(o)
			r, err := h.in.Status(t.Context(), h.sys, h.options())
			if err != nil {
				t.Fatal(err)
			}
			editors := filepath.Join(h.path(documents), "Cline", "Hooks")
			sdk := h.path("Documents/Cline/Hooks")
			if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], strconv.Quote(editors)) || strings.Contains(r.Warnings[0], sdk) {
				t.Errorf("warnings %q, want one that names %s", r.Warnings, editors)
			}
			for folder, readers := range map[string]string{
				editors: "read by Cline in editors and by the Cline CLI 2",
				sdk:     "read by the Cline CLI 3 and programs on the Cline SDK",
			} {
				if want := folder + " (" + readers + ")\n"; !strings.Contains(r.Text(), want) {
					t.Errorf("no line %q in:\n%s", want, r.Text())
				}
			}
			if empty := h.path(".cline/hooks"); strings.Contains(r.Text(), empty+" (") {
				t.Errorf("a heading without hooks, %s:\n%s", empty, r.Text())
			}
		})
	}
}

// TestStatusNamesHooksSwitchedOffInTheTab has Cline's Hooks tab, which shows
// ~/Documents whatever the system says, switch a hook off there.
func TestStatusNamesHooksSwitchedOffInTheTab(t *testing.T) {
	h := newHome(t, "linux", ".")
	h.install(h.options())
	path := h.path("Documents/Cline/Hooks/TaskStart")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := h.in.Status(t.Context(), h.sys, h.options())
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range allHooks(r) {
		if got.Path == path && got.State != install.StateOff {
			t.Errorf("%s, %q, want %s", got.State, got.Reason, install.StateOff)
		}
	}
}

func TestStatusFindsEarlierFolders(t *testing.T) {
	h := newHome(t, "linux", "Old")
	h.install(h.options())
	h.in.DocumentsDir = nil
	r, err := h.in.Status(t.Context(), h.sys, h.options())
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(h.dir, "Old", "Cline", "Hooks"); !strings.Contains(r.Text(), want) {
		t.Errorf("%q is not shown:\n%s", want, r.Text())
	}
}

// TestStatusOfAProjectAlone is content with hooks in one project and none of the
// user's own.
func TestStatusOfAProjectAlone(t *testing.T) {
	h := newHome(t, "linux", "-")
	project := h.path("src/project")
	installtest.Write(t, filepath.Join(project, "x"), "", 0o644)
	status := func() *install.Report {
		t.Helper()
		r, err := h.in.Status(t.Context(), h.sys, install.Options{Binary: h.binary()})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := status(); r.Present() || r.Healthy() {
		t.Errorf("before installing: present %v, healthy %v", r.Present(), r.Healthy())
	}
	o := h.options()
	o.Project = project
	h.install(o)
	if r := status(); !r.InProject(project) || r.InProject("") || !r.Present() || !r.Healthy() {
		t.Errorf("a project's hooks alone: healthy %v\n%s", r.Healthy(), r.Text())
	}
	installtest.Write(t, filepath.Join(project, ".clinerules/hooks/TaskStart"), "", 0o644)
	if r := status(); r.Healthy() {
		t.Errorf("healthy with one gone:\n%s", r.Text())
	}
}

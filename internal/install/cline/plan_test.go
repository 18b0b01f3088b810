package cline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/testkit/installtest"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// in prefixes names with a folder and sorts the whole.
func in(lists ...[]string) []string {
	var out []string
	for _, l := range lists {
		for _, name := range l[1:] {
			out = append(out, l[0]+"/"+name)
		}
	}
	slices.Sort(out)
	return out
}

func names11(folder, suffix string, skip ...string) []string {
	out := []string{folder}
	for _, ev := range hookEvents() {
		if !slices.Contains(skip, ev.name) {
			out = append(out, ev.name+suffix)
		}
	}
	return out
}

func TestHookFolders(t *testing.T) {
	const shared, sdk = "Documents/Cline/Hooks", ".cline/hooks"
	pre := []string{sdk, "PreToolUse"}
	tests := map[string]struct {
		goos, documents string
		env             map[string]string
		pre             bool
		want            []string
	}{
		"linux without xdg-user-dir": {"linux", "-", nil, false, in(names11(shared, "", "PreToolUse"), pre)},
		"linux, xdg-user-dir says home": {
			"linux", ".", nil, false,
			in(names11(shared, "", "PreToolUse"), names11("Cline/Hooks", "", "PreToolUse", "TaskError", "SessionShutdown"), pre),
		},
		"linux, localised": {
			"linux", "文档", nil, false,
			in(names11(shared, "", "PreToolUse"), names11("文档/Cline/Hooks", "", "PreToolUse", "TaskError", "SessionShutdown"), pre),
		},
		"linux, xdg-user-dir says Documents": {"linux", "Documents/", nil, false, in(names11(shared, "", "PreToolUse"), pre)},
		"linux with CLINE_DIR":               {"linux", "-", map[string]string{"CLINE_DIR": "elsewhere"}, false, in(names11(shared, "", "PreToolUse"), []string{"elsewhere/hooks", "PreToolUse"})},
		"linux, PreToolUse everywhere": {
			"linux", "文档", nil, true,
			in(names11(shared, ""), names11("文档/Cline/Hooks", "", "TaskError", "SessionShutdown")),
		},
		"macos": {"darwin", "-", nil, false, in(names11(shared, "", "PreToolUse"), pre)},
		"windows, documents redirected": {
			"windows", "OneDrive/Documents", nil, false,
			in(names11(shared, ".ps1", "PreToolUse"), names11("OneDrive/Documents/Cline/Hooks", ".ps1", "PreToolUse", "TaskError", "SessionShutdown"), []string{sdk, "PreToolUse.ps1"}),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, tt.goos, tt.documents)
			for k, v := range tt.env {
				h.env[k] = h.path(v)
			}
			before := tree(t, h.dir)
			o := h.options()
			o.PreToolUse = tt.pre
			h.install(o)
			if diff := cmp.Diff(tt.want, hooks(t, h.dir)); diff != "" {
				t.Errorf("hook files (-want +got):\n%s", diff)
			}
			h.uninstall(install.Options{})
			installtest.Same(t, "after uninstall", before, tree(t, h.dir))
		})
	}
}

func TestPlanningWritesNothing(t *testing.T) {
	h := newHome(t, "linux", ".")
	installtest.Write(t, h.path("Documents/Cline/Hooks/TaskStart"), "#!/bin/sh\n", 0o755)
	before := tree(t, h.dir)
	o := h.options()
	o.Chain, o.PreToolUse = true, true
	p := h.plan(o)
	if !p.Changed() {
		t.Error("the plan of a first install changes nothing")
	}
	installtest.Same(t, "after planning", before, tree(t, h.dir))
	h.install(o)
	before = tree(t, h.dir)
	if _, err := h.in.PlanUninstall(t.Context(), h.sys, install.Options{}); err != nil {
		t.Fatal(err)
	}
	installtest.Same(t, "after planning to uninstall", before, tree(t, h.dir))
}

func TestInstallTwiceIsOnce(t *testing.T) {
	for name, o := range map[string]install.Options{"default": {}, "chain": {Chain: true}, "pre": {PreToolUse: true, Chain: true}} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, "linux", ".")
			installtest.Write(t, h.path("Documents/Cline/Hooks/TaskStart"), "#!/bin/sh\n", 0o700)
			o.Binary = h.binary()
			h.install(o)
			after := tree(t, h.dir)
			p := h.install(o)
			if p.Changed() || !strings.Contains(p.Text(), "nothing to change") {
				t.Errorf("the second plan changes something:\n%s", p.Text())
			}
			installtest.Same(t, "after the second install", after, tree(t, h.dir))
			// Without --chain a chained script stays chained.
			o.Chain = false
			if p := h.plan(o); name != "default" && p.Changed() {
				t.Errorf("an install without --chain undoes a chain:\n%s", p.Text())
			}
		})
	}
}

func TestForeignFileIsNamedAndLeft(t *testing.T) {
	const rel = "Documents/Cline/Hooks/PostToolUse"
	tests := map[string]func(t *testing.T, h *home){
		"script":         func(t *testing.T, h *home) { installtest.Write(t, h.path(rel), "#!/bin/sh\necho mine\n", 0o711) },
		"not executable": func(t *testing.T, h *home) { installtest.Write(t, h.path(rel), "echo mine\n", 0o600) },
		"empty":          func(t *testing.T, h *home) { installtest.Write(t, h.path(rel), "", 0o755) },
		"program": func(t *testing.T, h *home) {
			installtest.Write(t, h.path(rel), "\x7fELF"+strings.Repeat("\x00", 200_000), 0o755)
		},
		"link": func(t *testing.T, h *home) {
			installtest.Write(t, h.path("mine.sh"), "#!/bin/sh\n", 0o755)
			installtest.Write(t, h.path("Documents/Cline/Hooks/README"), "", 0o644)
			if err := os.Symlink("../../../mine.sh", h.path(rel)); err != nil {
				t.Fatal(err)
			}
		},
		"dangling link": func(t *testing.T, h *home) {
			installtest.Write(t, h.path("Documents/Cline/Hooks/README"), "", 0o644)
			if err := os.Symlink("nowhere", h.path(rel)); err != nil {
				t.Fatal(err)
			}
		},
		"our file edited": func(t *testing.T, h *home) {
			installtest.Write(t, h.path(rel), string(render("linux", shim{Event: "PostToolUse", Binary: h.binary()}))+"# mine\n", 0o755)
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, "linux", "-")
			prepare(t, h)
			before := tree(t, h.dir)
			p := h.install(h.options())
			a := find(t, p, h.path(rel))
			op, list := install.OpForeign, p.Foreign()
			if strings.Contains(name, "edited") {
				op, list = install.OpEdited, p.Edited()
			}
			if a.Op != op || a.Reason == "" || len(list) != 1 || len(p.Foreign())+len(p.Edited()) != 1 {
				t.Errorf("action on a file to be left: %s %q", a.Op, a.Reason)
			}
			if !strings.Contains(p.Text(), fmt.Sprintf("%-8s PostToolUse: ", op)) {
				t.Errorf("the text does not name the file:\n%s", p.Text())
			}
			if got, want := tree(t, h.dir)[rel], before[rel]; got != want {
				t.Errorf("foreign file %q, was %q", got, want)
			}
			h.uninstall(install.Options{})
			after := tree(t, h.dir)
			if strings.Contains(name, "edited") {
				// The record stays for the day the file is removed.
				for _, path := range []string{".local", ".local/state", ".local/state/hookspan", ".local/state/hookspan/install.json"} {
					delete(after, path)
				}
			}
			installtest.Same(t, "after uninstall", before, after)
		})
	}
}

func TestUpdates(t *testing.T) {
	const rel = "Documents/Cline/Hooks/TaskStart"
	tests := map[string]struct {
		change func(t *testing.T, h *home, o *install.Options)
		reason string
	}{
		"program moved": {func(t *testing.T, h *home, o *install.Options) {
			o.Binary = h.path("new/cline-hook")
			fakeHook(t, o.Binary)
		}, "starts "},
		"not executable": {func(t *testing.T, h *home, _ *install.Options) {
			if err := os.Chmod(h.path(rel), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "is not executable"},
		"copied from another event": {func(t *testing.T, h *home, _ *install.Options) {
			installtest.Write(t, h.path(rel), installtest.Read(t, h.path("Documents/Cline/Hooks/TaskCancel")), 0o755)
		}, "is out of date"},
		"edited, forced": {func(t *testing.T, h *home, o *install.Options) {
			installtest.Write(t, h.path(rel), installtest.Read(t, h.path(rel))+"# mine\n", 0o755)
			o.Force = true
		}, "was edited"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, "linux", "-")
			before := tree(t, h.dir)
			h.install(h.options())
			o := h.options()
			tt.change(t, h, &o)
			a := find(t, h.install(o), h.path(rel))
			if a.Op != install.OpUpdate || !strings.Contains(a.Reason, tt.reason) {
				t.Errorf("action %s %q, want update with %q", a.Op, a.Reason, tt.reason)
			}
			want := string(render("linux", shim{Event: "TaskStart", Binary: o.Binary}))
			if diff := cmp.Diff(want, installtest.Read(t, h.path(rel))); diff != "" {
				t.Errorf("hook file (-want +got):\n%s", diff)
			}
			if p := h.plan(o); p.Changed() {
				t.Errorf("still something to change:\n%s", p.Text())
			}
			h.uninstall(install.Options{})
			got := tree(t, h.dir)
			for _, path := range []string{"new", "new/cline-hook"} {
				delete(got, path)
			}
			installtest.Same(t, "after uninstall", before, got)
		})
	}
}

func TestPreToolUseMovesBetweenFolders(t *testing.T) {
	h := newHome(t, "linux", "-")
	installtest.Write(t, h.path("Documents/Cline/Hooks/PreToolUse"), "#!/bin/sh\necho mine\n", 0o755)
	before := tree(t, h.dir)
	shared, sdk := "Documents/Cline/Hooks/PreToolUse", ".cline/hooks/PreToolUse"
	has := func(step string, wantShared, wantSDK bool) {
		t.Helper()
		list := hooks(t, h.dir)
		if slices.Contains(list, shared) != wantShared || slices.Contains(list, sdk) != wantSDK {
			t.Errorf("%s: hook files %q", step, list)
		}
	}
	h.install(h.options())
	has("default", false, true)
	o := h.options()
	o.PreToolUse = true
	h.install(o)
	has("everywhere, but the user's file is in the way", false, true)
	o.Chain = true
	h.install(o)
	has("everywhere, chained", true, false)
	h.install(h.options())
	has("default again", false, true)
	if got := tree(t, h.dir)[shared]; got != before[shared] {
		t.Errorf("the user's script came back as %q, was %q", got, before[shared])
	}
	h.uninstall(install.Options{})
	installtest.Same(t, "after uninstall", before, tree(t, h.dir))
}

func TestProjectInstall(t *testing.T) {
	h := newHome(t, "linux", ".")
	project := h.path("src/my project")
	installtest.Write(t, filepath.Join(project, ".clinerules/hooks/TaskStart"), "#!/bin/sh\n", 0o755)
	before := tree(t, h.dir)
	h.install(h.options())
	withUser := tree(t, h.dir)
	o := h.options()
	o.Project, o.Chain = project, true
	p := h.install(o)
	if !strings.Contains(p.Text(), "counted once") || !strings.Contains(p.Text(), "do not commit") {
		t.Errorf("what a project install means is not said:\n%s", p.Text())
	}
	want := in(names11(".clinerules/hooks", "", "PreToolUse"), []string{".cline/hooks", "PreToolUse"})
	if diff := cmp.Diff(want, hooks(t, project)); diff != "" {
		t.Errorf("hook files (-want +got):\n%s", diff)
	}
	h.uninstall(install.Options{Project: project})
	got := tree(t, h.dir)
	// The record is written anew, with the same content.
	const record = ".local/state/hookspan/install.json"
	delete(got, record)
	delete(withUser, record)
	installtest.Same(t, "after uninstalling the project", withUser, got)
	h.install(o)
	h.uninstall(install.Options{})
	installtest.Same(t, "after uninstalling everything", before, tree(t, h.dir))
}

func TestLinkedFolders(t *testing.T) {
	t.Run("two names of one folder", func(t *testing.T) {
		h := newHome(t, "linux", "文档")
		if err := os.Symlink("文档", h.path("Documents")); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(h.path("文档"), 0o755); err != nil {
			t.Fatal(err)
		}
		before := tree(t, h.dir)
		p := h.install(h.options())
		if !strings.Contains(p.Text(), "are one folder") {
			t.Errorf("not said that the folders are one:\n%s", p.Text())
		}
		want := in(names11("文档/Cline/Hooks", "", "PreToolUse"), []string{".cline/hooks", "PreToolUse"})
		if diff := cmp.Diff(want, hooks(t, h.dir)); diff != "" {
			t.Errorf("hook files (-want +got):\n%s", diff)
		}
		h.uninstall(install.Options{})
		installtest.Same(t, "after uninstall", before, tree(t, h.dir))
	})
	t.Run("followed and said", func(t *testing.T) {
		h := newHome(t, "linux", "-")
		installtest.Write(t, h.path("dotfiles/hooks/README"), "", 0o644)
		installtest.Write(t, h.path("Documents/Cline/README"), "", 0o644)
		if err := os.Symlink(h.path("dotfiles/hooks"), h.path("Documents/Cline/Hooks")); err != nil {
			t.Fatal(err)
		}
		before := tree(t, h.dir)
		if p := h.install(h.options()); !strings.Contains(p.Text(), "is a symbolic link; the hooks go to") {
			t.Errorf("the link is not named:\n%s", p.Text())
		}
		if n := len(hooks(t, h.path("dotfiles"))); n != 10 {
			t.Errorf("%d hook files behind the link, want 10", n)
		}
		h.uninstall(install.Options{})
		installtest.Same(t, "after uninstall", before, tree(t, h.dir))
	})
}

func TestPlanSkipsFolderInPlaceOfHook(t *testing.T) {
	h := newHome(t, "linux", "-")
	inTheWay := h.path("Documents/Cline/Hooks/TaskStart/x")
	installtest.Write(t, inTheWay, "mine", 0o644)
	o := h.options()
	o.Chain = true // there is no script that could be chained
	plan, err := h.in.Plan(t.Context(), h.sys, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := install.Apply(plan); err != nil {
		t.Fatal(err)
	}
	foreign := plan.Foreign()
	if len(foreign) != 1 || foreign[0].Event != "TaskStart" || !strings.Contains(foreign[0].Reason, "is a folder: move it away") {
		t.Errorf("left alone: %+v, want TaskStart with a reason", foreign)
	}
	if b, err := os.ReadFile(inTheWay); err != nil || string(b) != "mine" {
		t.Errorf("what is in it: %q, %v", b, err)
	}
	if _, err := os.Stat(h.path("Documents/Cline/Hooks/TaskComplete")); err != nil {
		t.Errorf("another hook: %v", err)
	}
	if plan, err = h.in.PlanUninstall(t.Context(), h.sys, install.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := install.Apply(plan); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(inTheWay); err != nil || string(b) != "mine" {
		t.Errorf("after uninstalling: %q, %v", b, err)
	}
}

func TestPlanRefuses(t *testing.T) {
	tests := map[string]struct {
		prepare func(t *testing.T, h *home, o *install.Options)
		want    []string
	}{
		"hook folder is a file": {func(t *testing.T, h *home, _ *install.Options) {
			installtest.Write(t, h.path("Documents/Cline"), "", 0o644)
		}, []string{"Documents/Cline\" is a file", "move the file away"}},
		"link to nothing": {func(t *testing.T, h *home, _ *install.Options) {
			if err := os.Symlink("/no/such/folder", h.path("Documents")); err != nil {
				t.Fatal(err)
			}
		}, []string{"points to nothing", "Documents"}},
		"program missing": {
			func(_ *testing.T, h *home, o *install.Options) { o.Binary = h.path("gone") },
			[]string{"gone", "install cline-hook"},
		},
		"program relative":        {func(_ *testing.T, _ *home, o *install.Options) { o.Binary = "cline-hook" }, []string{"absolute"}},
		"program not named":       {func(_ *testing.T, _ *home, o *install.Options) { o.Binary = "" }, []string{"absolute"}},
		"program not in UTF-8":    {func(_ *testing.T, _ *home, o *install.Options) { o.Binary = "/a\xff" }, []string{"not UTF-8"}},
		"program with line break": {func(_ *testing.T, _ *home, o *install.Options) { o.Binary = "/a\nb" }, []string{"control character"}},
		"program is a folder":     {func(_ *testing.T, h *home, o *install.Options) { o.Binary = h.dir }, []string{"regular file"}},
		"program not executable":  {func(t *testing.T, h *home, o *install.Options) { installtest.Write(t, h.binary(), "", 0o600) }, []string{"chmod"}},
		"home relative":           {func(_ *testing.T, h *home, _ *install.Options) { h.sys.Home = "." }, []string{"home folder", "absolute"}},
		"CLINE_DIR relative":      {func(_ *testing.T, h *home, _ *install.Options) { h.env["CLINE_DIR"] = "x" }, []string{"CLINE_DIR"}},
		"project missing":         {func(_ *testing.T, h *home, o *install.Options) { o.Project = h.path("gone") }, []string{"project folder", "gone"}},
		"project relative":        {func(_ *testing.T, _ *home, o *install.Options) { o.Project = "." }, []string{"project folder", "absolute"}},
		"record of a newer version": {func(t *testing.T, h *home, _ *install.Options) {
			installtest.Write(t, h.path(".local/state/hookspan/install.json"), `{"version":2}`, 0o600)
		}, []string{"install.json", "version 2"}},
		"record damaged": {func(t *testing.T, h *home, _ *install.Options) {
			installtest.Write(t, h.path(".local/state/hookspan/install.json"), `{`, 0o600)
		}, []string{"install.json", "remove the file"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, "linux", "-")
			o := h.options()
			tt.prepare(t, h, &o)
			_, err := h.in.Plan(t.Context(), h.sys, o)
			if err == nil {
				t.Fatal("planned all the same")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

func TestUnwritableFolderIsNamed(t *testing.T) {
	if os.Geteuid() == 0 {
		skip.Elsewhere(t, "root may write everywhere: another user runs it")
	}
	h := newHome(t, "linux", "-")
	dir := h.path("Documents")
	if err := os.Mkdir(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	_, err := h.in.Plan(t.Context(), h.sys, h.options())
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "write permission") {
		t.Errorf("error %v does not name the folder and the remedy", err)
	}
	if _, err := os.Stat(h.sys.StateDir); err == nil {
		t.Error("something was written")
	}
}

func TestWarnings(t *testing.T) {
	tests := map[string]struct {
		prepare func(t *testing.T, h *home)
		want    string
		present bool
	}{
		"hooks off": {func(t *testing.T, h *home) {
			installtest.Write(t, h.path(".cline/data/globalState.json"), `{"a":1,"hooksEnabled":false}`, 0o600)
		}, "switched off", true},
		"hooks on": {func(t *testing.T, h *home) {
			installtest.Write(t, h.path(".cline/data/globalState.json"), `{"hooksEnabled":true}`, 0o600)
		}, "switched off", false},
		"settings damaged": {func(t *testing.T, h *home) {
			installtest.Write(t, h.path(".cline/data/globalState.json"), `{"hooksEnabled":`, 0o600)
		}, "switched off", false},
		"hooks off elsewhere": {func(t *testing.T, h *home) {
			h.env["CLINE_DIR"] = h.path("c")
			installtest.Write(t, h.path("c/data/globalState.json"), `{"hooksEnabled":false}`, 0o600)
		}, "switched off", true},
		"system gives no answer": {func(_ *testing.T, h *home) {
			h.in.DocumentsDir = func(context.Context) (string, error) { return "", errors.New("boom") }
		}, "boom", true},
		"system answers nonsense": {func(_ *testing.T, h *home) {
			h.in.DocumentsDir = func(context.Context) (string, error) { return "x", nil }
		}, "not an absolute path", true},
		"documents moved since": {func(_ *testing.T, h *home) {
			h.in.DocumentsDir = func(context.Context) (string, error) { return h.path("Old"), nil }
			h.install(h.options())
			h.in.DocumentsDir = nil
		}, "Cline does not look now", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, "linux", "-")
			tt.prepare(t, h)
			text := h.plan(h.options()).Text()
			if strings.Contains(text, tt.want) != tt.present {
				t.Errorf("want %q: %v, in:\n%s", tt.want, tt.present, text)
			}
		})
	}
}

func TestPlanText(t *testing.T) {
	h := newHome(t, "linux", "-")
	installtest.Write(t, h.path("Documents/Cline/Hooks/TaskStart"), "#!/bin/sh\n", 0o755)
	got := strings.ReplaceAll(h.plan(h.options()).Text(), h.dir, "~")
	want := `~/Documents/Cline/Hooks (read by every Cline)
  skip     TaskStart: is not hookspan's and stays as it is; this event is not recorded here (--chain runs both)
  create   TaskResume
  create   UserPromptSubmit
  create   PostToolUse
  create   PreCompact
  create   Notification
  create   TaskComplete
  create   TaskCancel
  create   TaskError
  create   SessionShutdown
~/.cline/hooks (read by the Cline CLI 3 and programs on the Cline SDK)
  create   PreToolUse
warning: editor windows that are open may not see new hooks until they are reloaded (Developer: Reload Window)
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

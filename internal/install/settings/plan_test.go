package settings

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/cline"
	"github.com/hookspan/hookspan/internal/testkit/installtest"
)

const newVersion = "2.1.329 (Test Agent)"

func (h *home) hook() string { return h.path("bin/claude-hook") }

func (h *home) options(scope string) install.Options {
	return install.Options{Binary: h.hook(), Scope: scope, Dir: h.path("src/project")}
}

func (h *home) install(o install.Options) *install.Plan {
	h.t.Helper()
	return installtest.Do(h.t, h.in.Plan, h.sys, o)
}

func (h *home) uninstall(o install.Options) *install.Plan {
	h.t.Helper()
	return installtest.Do(h.t, h.in.PlanUninstall, h.sys, o)
}

func TestScopes(t *testing.T) {
	tests := map[string]struct {
		scope string
		env   string
		want  string
		mode  fs.FileMode
	}{
		"default":                {"", "", ".agent/settings.json", 0o600},
		"user":                   {install.ScopeUser, "", ".agent/settings.json", 0o600},
		"user, folder elsewhere": {install.ScopeUser, "conf", "conf/settings.json", 0o600},
		"project":                {install.ScopeProject, "conf", "src/project/.agent/settings.json", 0o644},
		"local":                  {install.ScopeLocal, "", "src/project/.agent/settings.local.json", 0o600},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, newVersion)
			installtest.Write(t, h.path("src/project/main.go"), "", 0o644)
			if tt.env != "" {
				h.env["AGENT_HOME"] = h.path(tt.env)
			}
			before := installtest.Tree(t, h.dir, false)
			p := h.install(h.options(tt.scope))
			info, err := os.Stat(h.path(tt.want))
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != tt.mode {
				t.Errorf("mode %v, want %v", info.Mode().Perm(), tt.mode)
			}
			if !strings.Contains(p.Text(), tt.want) || !strings.Contains(p.Text(), "create   10 events") {
				t.Errorf("plan:\n%s", p.Text())
			}
			if got := strings.Contains(p.Text(), "do not commit"); got != (tt.scope == install.ScopeProject) {
				t.Errorf("warned of committing: %v", got)
			}
			// Without a scope everything goes, wherever it is.
			h.uninstall(install.Options{})
			installtest.Same(t, "after uninstalling", before, installtest.Tree(t, h.dir, false))
		})
	}
}

func TestInstallKeepsTheFile(t *testing.T) {
	const text = "{\n\t\"model\": \"opus\",\n\t\"hooks\": {\"Stop\": []}\n}"
	h := newHome(t, newVersion)
	path := h.path(".agent/settings.json")
	installtest.Write(t, path, text, 0o640)
	before := installtest.Tree(t, h.dir, false)

	p, err := h.in.Plan(t.Context(), h.sys, h.options(install.ScopeUser))
	if err != nil {
		t.Fatal(err)
	}
	installtest.Same(t, "after planning", before, installtest.Tree(t, h.dir, false))
	if d := p.Diff(); !strings.Contains(d, "+++ "+path) || !strings.Contains(d, "\n+    \"SessionEnd\": [\n") || strings.Contains(d, "diff ") {
		t.Errorf("diff:\n%s", d)
	}
	h.install(h.options(install.ScopeUser))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v, want 0640", info.Mode(), err)
	}
	backup := path + ".hookspan-backup"
	if info, err := os.Stat(backup); err != nil || info.Mode().Perm() != 0o600 || installtest.Read(t, backup) != text {
		t.Errorf("backup %v, %v", info, err)
	}
	after := installtest.Tree(t, h.dir, false)
	if p := h.install(h.options(install.ScopeUser)); p.Changed() || p.Diff() != "" || !strings.Contains(p.Text(), "nothing to change") {
		t.Errorf("the second plan changes something:\n%s", p.Text())
	}
	installtest.Same(t, "after the second install", after, installtest.Tree(t, h.dir, false))

	// Another program, with the settings changed in between: the backup stays.
	installtest.Write(t, path, strings.Replace(installtest.Read(t, path), "opus", "sonnet", 1), 0o640)
	other := h.options(install.ScopeUser)
	other.Binary = h.path("new place/claude-hook")
	fakeHook(t, other.Binary)
	if p := h.install(other); !strings.Contains(p.Text(), "update   10 events: starts "+h.hook()) || strings.Contains(p.Text(), ".hookspan-backup") {
		t.Errorf("plan:\n%s", p.Text())
	}
	if installtest.Read(t, backup) != text {
		t.Error("the second install wrote the backup anew")
	}
	p = h.uninstall(install.Options{})
	if !strings.Contains(p.Text(), "the copy stays") || installtest.Read(t, backup) != text {
		t.Errorf("uninstall plan:\n%s", p.Text())
	}
	if got, want := installtest.Read(t, path), strings.Replace(text, "opus", "sonnet", 1); got != want {
		t.Errorf("settings %q, want %q", got, want)
	}
}

func (h *home) uninstallCline() *install.Plan {
	h.t.Helper()
	p, err := cline.Installer{}.PlanUninstall(h.t.Context(), h.sys, install.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	if err := install.Apply(p); err != nil {
		h.t.Fatal(err)
	}
	return p
}

func TestUninstallIsExact(t *testing.T) {
	h := newHome(t, newVersion)
	data := installtest.Read(t, "testdata/settings.json")
	installtest.Write(t, h.path(".agent/settings.json"), data, 0o644)
	installtest.Write(t, h.path("src/project/.agent/settings.local.json"), "{ }", 0o600)
	forCline := install.Options{Binary: h.path("bin/cline-hook")}
	fakeHook(t, forCline.Binary)
	before := installtest.Tree(t, h.dir, false)
	h.install(h.options(install.ScopeUser))
	h.install(h.options(install.ScopeLocal))
	plan, err := cline.Installer{}.Plan(t.Context(), h.sys, forCline) // Cline shares the record
	if err != nil {
		t.Fatal(err)
	}
	if err := install.Apply(plan); err != nil {
		t.Fatal(err)
	}
	if p := h.uninstall(install.Options{Scope: install.ScopeUser}); !strings.Contains(p.Text(), "remove   settings.json.hookspan-backup") {
		t.Errorf("plan:\n%s", p.Text())
	}
	if !h.hasHooks(h.path("src/project/.agent/settings.local.json")) {
		t.Error("the other scope's hooks are gone")
	}
	if p := h.uninstallCline(); strings.Contains(p.Text(), h.sys.StateDir) {
		t.Errorf("the plan removes what the record of the other agent needs:\n%s", p.Text())
	}
	h.uninstall(install.Options{Project: h.path("src/project")})
	installtest.Same(t, "after uninstalling", before, installtest.Tree(t, h.dir, false))
	if p := h.uninstall(install.Options{}); !p.Empty() {
		t.Errorf("still something to uninstall:\n%s", p.Text())
	}
}

// TestCreatedFolderGoesWithItsLastFile installs into two files of one folder that
// the first install made, and takes them out in either order.
func TestCreatedFolderGoesWithItsLastFile(t *testing.T) {
	for _, order := range [][]string{{install.ScopeProject, install.ScopeLocal}, {install.ScopeLocal, install.ScopeProject}} {
		h := newHome(t, newVersion)
		installtest.Write(t, h.path("src/project/x"), "", 0o644)
		before := installtest.Tree(t, h.dir, false)
		h.install(h.options(install.ScopeProject))
		h.install(h.options(install.ScopeLocal))
		for _, scope := range order {
			h.uninstall(h.options(scope))
		}
		installtest.Same(t, "after uninstalling", before, installtest.Tree(t, h.dir, false))
	}
}

func TestInstallFollowsLinks(t *testing.T) {
	h := newHome(t, newVersion)
	real := h.path("dotfiles/agent.json")
	installtest.Write(t, real, "{}\n", 0o600)
	installtest.Write(t, h.path(".agent/x"), "", 0o600)
	if err := os.Symlink("../dotfiles/agent.json", h.path(".agent/settings.json")); err != nil {
		t.Fatal(err)
	}
	p := h.install(h.options(install.ScopeUser))
	if !install.IsLink(h.path(".agent/settings.json")) || !h.hasHooks(h.path(".agent/settings.json")) || !strings.Contains(p.Text(), "the file is "+real) {
		t.Errorf("plan:\n%s", p.Text())
	}
	h.uninstall(install.Options{})
	if got := installtest.Read(t, real); got != "{}\n" || !install.IsLink(h.path(".agent/settings.json")) {
		t.Errorf("settings %q", got)
	}
}

func TestPlanRefuses(t *testing.T) {
	const rel = ".agent/settings.json"
	tests := map[string]struct {
		prepare func(t *testing.T, h *home, o *install.Options)
		want    []string
	}{
		"comment": {func(t *testing.T, h *home, _ *install.Options) {
			installtest.Write(t, h.path(rel), "{\n  // mine\n}", 0o600)
		}, []string{rel, "line 2, column 3", "comment", "nothing was changed"}},
		"comma at the end": {func(t *testing.T, h *home, _ *install.Options) {
			installtest.Write(t, h.path(rel), "{\n  \"a\": 1,\n}", 0o600)
		}, []string{"line 3, column 1", "after a comma"}},
		"empty file": {func(t *testing.T, h *home, _ *install.Options) { installtest.Write(t, h.path(rel), "", 0o600) }, []string{"the file is empty"}},
		"hooks a list": {func(t *testing.T, h *home, _ *install.Options) {
			installtest.Write(t, h.path(rel), `{"hooks":[]}`, 0o600)
		}, []string{"hooks is an array, want an object", "fix or remove"}},
		"event no list": {func(t *testing.T, h *home, _ *install.Options) {
			installtest.Write(t, h.path(rel), `{"hooks":{"Stop":{}}}`, 0o600)
		}, []string{"hooks.Stop is an object, want an array"}},
		"a folder": {func(t *testing.T, h *home, _ *install.Options) { installtest.Write(t, h.path(rel+"/x"), "", 0o600) }, []string{rel, "want a file"}},
		"folder is a file": {func(t *testing.T, h *home, _ *install.Options) {
			installtest.Write(t, h.path(".agent"), "", 0o600)
		}, []string{rel, "move the file away"}},
		"link to nothing": {func(t *testing.T, h *home, _ *install.Options) {
			installtest.Write(t, h.path(".agent/x"), "", 0o600)
			if err := os.Symlink("nowhere", h.path(rel)); err != nil {
				t.Fatal(err)
			}
		}, []string{"points to nothing"}},
		"program missing":  {func(_ *testing.T, h *home, o *install.Options) { o.Binary = h.path("gone") }, []string{"gone", "install claude-hook"}},
		"scope unknown":    {func(_ *testing.T, _ *home, o *install.Options) { o.Scope = "managed" }, []string{`scope "managed"`, "user, project or local"}},
		"project missing":  {func(_ *testing.T, _ *home, o *install.Options) { o.Scope = install.ScopeLocal }, []string{"project folder"}},
		"project relative": {func(_ *testing.T, _ *home, o *install.Options) { o.Scope, o.Project = install.ScopeProject, "." }, []string{"absolute"}},
		"config relative":  {func(_ *testing.T, h *home, _ *install.Options) { h.env["AGENT_HOME"] = "x" }, []string{"AGENT_HOME", "absolute"}},
		"home relative":    {func(_ *testing.T, h *home, _ *install.Options) { h.sys.Home = "." }, []string{"home folder"}},
		"record of a newer": {func(t *testing.T, h *home, _ *install.Options) {
			installtest.Write(t, h.path(".local/state/hookspan/install.json"), `{"version":2}`, 0o600)
		}, []string{"version 2"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, newVersion)
			o := h.options(install.ScopeUser)
			tt.prepare(t, h, &o)
			before := installtest.Tree(t, h.dir, false)
			_, err := h.in.Plan(t.Context(), h.sys, o)
			if err == nil {
				t.Fatal("planned all the same")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			installtest.Same(t, "after the refusal", before, installtest.Tree(t, h.dir, false))
		})
	}
}

func TestWarnings(t *testing.T) {
	tests := map[string]struct {
		prepare func(t *testing.T, h *home, o *install.Options)
		want    string
	}{
		"hooks off": {func(t *testing.T, h *home, _ *install.Options) {
			installtest.Write(t, h.path(".agent/settings.json"), `{"disableAllHooks":true,"env":[]}`, 0o600)
		}, "disableAllHooks in"},
		"hooks off in a project": {func(t *testing.T, h *home, o *install.Options) {
			o.Scope = install.ScopeProject
			installtest.Write(t, h.path("src/project/.agent/settings.local.json"), `{"disableAllHooks":true}`, 0o600)
		}, "settings.local.json"},
		"hooks off for an organisation": {func(t *testing.T, h *home, _ *install.Options) {
			installtest.Write(t, h.path("managed/managed-settings.d/10.json"), `{"disableAllHooks":true}`, 0o644)
		}, "10.json"},
		"two scopes": {func(_ *testing.T, h *home, o *install.Options) {
			h.install(h.options(install.ScopeUser))
			o.Scope = install.ScopeProject
		}, "stored twice and counted once"},
		"old version": {func(_ *testing.T, h *home, _ *install.Options) {
			h.in.Spec.Version = func(context.Context) (string, error) { return "2.1.80", nil }
		}, "Test Agent 2.1.80 does not have PostModelSwitch, TaskCreated: install again"},
		"version unknown": {func(_ *testing.T, h *home, _ *install.Options) {
			h.in.Spec.Version = func(context.Context) (string, error) { return "", errors.New("boom") }
		}, "not known (boom)"},
		"version odd": {func(_ *testing.T, h *home, _ *install.Options) {
			h.in.Spec.Version = func(context.Context) (string, error) { return "hello", nil }
		}, `it said "hello"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, newVersion)
			installtest.Write(t, h.path("src/project/x"), "", 0o600)
			o := h.options(install.ScopeUser)
			quiet, err := h.in.Plan(t.Context(), h.sys, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(quiet.Warnings) != 0 {
				t.Errorf("warned without a reason: %q", quiet.Warnings)
			}
			tt.prepare(t, h, &o)
			p, err := h.in.Plan(t.Context(), h.sys, o)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(p.Text(), tt.want) {
				t.Errorf("want %q in:\n%s", tt.want, p.Text())
			}
		})
	}
	t.Run("switched on again nearer by", func(t *testing.T) {
		h := newHome(t, newVersion)
		installtest.Write(t, h.path(".agent/settings.json"), `{"disableAllHooks":true}`, 0o600)
		installtest.Write(t, h.path("src/project/.agent/settings.json"), `{"disableAllHooks":false}`, 0o600)
		p, err := h.in.Plan(t.Context(), h.sys, h.options(install.ScopeProject))
		if err != nil || strings.Contains(p.Text(), "disableAllHooks") {
			t.Errorf("%v, plan:\n%s", err, p.Text())
		}
	})
}

func TestFileChangedSinceThePlan(t *testing.T) {
	h := newHome(t, newVersion)
	path := h.path(".agent/settings.json")
	installtest.Write(t, path, "{}", 0o600)
	p, err := h.in.Plan(t.Context(), h.sys, h.options(install.ScopeUser))
	if err != nil {
		t.Fatal(err)
	}
	installtest.Write(t, path, `{"a":1}`, 0o600)
	if err := install.Apply(p); !errors.Is(err, install.ErrChanged) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want install.ErrChanged", err)
	}
	if got := installtest.Read(t, path); got != `{"a":1}` || install.FileExists(path+".hookspan-backup") {
		t.Errorf("settings %q", got)
	}
	// Another install has done it already.
	installtest.Write(t, path, string(p.Actions[len(p.Actions)-1].Content), 0o600)
	done, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := install.Apply(p); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || !os.SameFile(info, done) {
		t.Errorf("written once more: %v", err)
	}
}

func TestParallelInstalls(t *testing.T) {
	h := newHome(t, newVersion)
	installtest.Write(t, h.path(".agent/settings.json"), "{\"a\":1}\n", 0o600)
	before := installtest.Tree(t, h.dir, false)
	var plans []*install.Plan
	for range 8 {
		p, err := h.in.Plan(t.Context(), h.sys, h.options(install.ScopeUser))
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
	}
	errs := make([]error, len(plans))
	var wg sync.WaitGroup
	for i, p := range plans {
		wg.Go(func() { errs[i] = install.Apply(p) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir(h.path(".agent"))
	if err != nil || len(names) != 2 {
		t.Errorf("in the folder: %v, %v", names, err)
	}
	h.uninstall(install.Options{})
	installtest.Same(t, "after uninstalling", before, installtest.Tree(t, h.dir, false))
}

// TestUninstallSkipsDamagedSettings goes past damaged settings, and names those that may
// hold hooks of hookspan's.
func TestUninstallSkipsDamagedSettings(t *testing.T) {
	h := newHome(t, newVersion)
	h.install(h.options(install.ScopeUser))
	other := h.path("src/project/.agent/settings.json")
	installtest.Write(t, other, "{damaged", 0o600)
	p, err := h.in.PlanUninstall(t.Context(), h.sys, install.Options{Dir: h.path("src/project")})
	if err != nil || len(p.Places) != 1 {
		t.Errorf("%v, %+v", err, p)
	}
	installtest.Write(t, other, "{\"claude-hook\"", 0o600)
	p, err = h.in.PlanUninstall(t.Context(), h.sys, install.Options{Dir: h.path("src/project")})
	if err != nil || len(p.Places) != 1 || len(p.Stays) != 1 || !strings.Contains(p.Stays[0], other) {
		t.Errorf("%v, %+v", err, p)
	}
	if _, err = h.in.PlanUninstall(t.Context(), h.sys, install.Options{Project: h.path("src/project")}); err == nil || !strings.Contains(err.Error(), other) {
		t.Errorf("of that project alone: error %v", err)
	}
}

func TestDiffOfOneLine(t *testing.T) {
	h := newHome(t, newVersion)
	installtest.Write(t, h.path(".agent/settings.json"), `{"a":1,"b":{"c":2}}`, 0o600)
	p := h.install(h.options(install.ScopeUser))
	if strings.Contains(installtest.Read(t, h.path(".agent/settings.json")), "\n") {
		t.Error("the line was broken")
	}
	lines := strings.Split(p.Diff(), "\n")
	if !slices.Contains(lines, `+  "hooks": {`) || slices.ContainsFunc(lines, func(l string) bool { return len(l) > 400 }) {
		t.Errorf("diff:\n%s", p.Diff())
	}
}

func TestPlanTextNamesEditedEntries(t *testing.T) {
	h := newHome(t, newVersion)
	h.install(h.options(install.ScopeUser))
	path := h.path(".agent/settings.json")
	installtest.Write(t, path, strings.Replace(installtest.Read(t, path), `"timeout": 10`, `"timeout": 99`, 1), 0o600)
	p := h.install(h.options(install.ScopeUser))
	want := path + " (read by your Test Agent in every project)\n" +
		"  edited   SessionStart: has another timeout; it stays as it is (--force takes it over)\n" +
		"  keep     9 events\nnothing to change\n"
	if diff := cmp.Diff(want, p.Text()); diff != "" || len(p.Edited()) != 1 {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	o := h.options(install.ScopeUser)
	o.Force = true
	h.install(o)
	if strings.Contains(installtest.Read(t, path), `"timeout": 99`) {
		t.Error("--force left it")
	}
}

package cline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/testkit/installtest"
)

func TestChainAndUninstallRestoreExactly(t *testing.T) {
	h := newHome(t, "linux", ".")
	dir := h.path("Documents/Cline/Hooks")
	script := filepath.Join(dir, "TaskStart")
	installtest.Write(t, script, "#!/bin/sh\necho \"é\\n\"\r\n\x00", 0o4751)
	installtest.Write(t, filepath.Join(dir, "PostToolUse"), "echo no shebang", 0o640)
	installtest.Write(t, filepath.Join(dir, "PreToolUse"), "#!/bin/sh\n", 0o755)
	installtest.Write(t, filepath.Join(dir, "TaskStart.sh"), "echo other", 0o755)
	installtest.Write(t, h.path("bin/cancel.sh"), "#!/bin/sh\n", 0o755)
	if err := os.Symlink("../../../bin/cancel.sh", filepath.Join(dir, "TaskCancel")); err != nil {
		t.Fatal(err)
	}
	before := tree(t, h.dir)
	o := h.options()
	o.Chain = true
	p := h.install(o)

	for event, target := range map[string]string{
		"TaskStart":   filepath.Join(dir, sidecarDir, "TaskStart"),
		"PostToolUse": filepath.Join(dir, sidecarDir, "PostToolUse"),
		"TaskCancel":  h.path("bin/cancel.sh"),
	} {
		a := find(t, p, filepath.Join(dir, event))
		if a.Op != install.OpChain {
			t.Errorf("%s: %s %q, want chain", event, a.Op, a.Reason)
		}
		want := string(render("linux", shim{Event: event, Binary: h.binary(), Chain: target}))
		if diff := cmp.Diff(want, installtest.Read(t, a.Path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", event, diff)
		}
	}
	after := tree(t, h.dir)
	rel := "Documents/Cline/Hooks/"
	for _, event := range []string{"TaskStart", "PostToolUse", "TaskCancel"} {
		if diff := cmp.Diff(before[rel+event], after[rel+sidecarDir+"/"+event]); diff != "" {
			t.Errorf("%s in the sidecar (-want +got):\n%s", event, diff)
		}
	}
	for _, name := range []string{"PreToolUse", "TaskStart.sh"} {
		if diff := cmp.Diff(before[rel+name], after[rel+name]); diff != "" {
			t.Errorf("%s was not to be touched (-want +got):\n%s", name, diff)
		}
	}
	h.uninstall(install.Options{})
	installtest.Same(t, "after uninstall", before, tree(t, h.dir))
}

func TestChainedHookRunsBoth(t *testing.T) {
	h := newHome(t, "linux", "-")
	script := h.path("Documents/Cline/Hooks/TaskStart")
	installtest.Write(t, script, "#!/bin/sh\necho mine\n", 0o755)
	o := h.options()
	o.Chain = true
	h.install(o)
	for shell, argv := range shells(t) {
		if diff := cmp.Diff(result{Stdout: "answered\n"}, runHook(t, argv, script, "{}")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", shell, diff)
		}
		if got, want := installtest.Read(t, h.path("bin/args")), "1|TaskStart|"+sidecar(script); got != want {
			t.Errorf("%s: hook process got %q, want %q", shell, got, want)
		}
	}
	if got := runHook(t, []string{sidecar(script)}, "", ""); got.Stdout != "mine\n" {
		t.Errorf("the script in the sidecar answers %q", got.Stdout)
	}
}

func TestUninstallKeepsChangedFiles(t *testing.T) {
	const dir = "Documents/Cline/Hooks/"
	tests := map[string]struct {
		change func(t *testing.T, h *home)
		o      install.Options
		// left are the paths below the home, besides those before the install.
		left []string
		text string
	}{
		"edited hook file is left": {
			func(t *testing.T, h *home) {
				installtest.Write(t, h.path(dir+"TaskStart"), installtest.Read(t, h.path(dir+"TaskStart"))+"# mine\n", 0o755)
			},
			install.Options{},
			[]string{
				"Documents", "Documents/Cline", "Documents/Cline/Hooks", dir + "TaskStart",
				".local", ".local/state", ".local/state/hookspan", ".local/state/hookspan/install.json",
			},
			"edited since",
		},
		"edited hook file, forced": {
			func(t *testing.T, h *home) {
				installtest.Write(t, h.path(dir+"TaskStart"), installtest.Read(t, h.path(dir+"TaskStart"))+"# mine\n", 0o755)
			}, install.Options{Force: true}, nil, "remove   TaskStart",
		},
		"replaced hook file is the user's": {
			func(t *testing.T, h *home) { installtest.Write(t, h.path(dir+"TaskStart"), "#!/bin/sh\n", 0o755) },
			install.Options{},
			[]string{"Documents", "Documents/Cline", "Documents/Cline/Hooks", dir + "TaskStart"},
			"",
		},
		"file put beside": {
			func(t *testing.T, h *home) { installtest.Write(t, h.path(".cline/settings"), "", 0o600) },
			install.Options{},
			[]string{".cline", ".cline/settings"},
			"",
		},
		"hook file removed by hand": {
			func(t *testing.T, h *home) {
				if err := os.Remove(h.path(dir + "TaskStart")); err != nil {
					t.Fatal(err)
				}
			}, install.Options{}, nil, "",
		},
		"everything removed by hand": {
			func(t *testing.T, h *home) {
				if err := errors.Join(os.RemoveAll(h.path("Documents")), os.RemoveAll(h.path(".cline"))); err != nil {
					t.Fatal(err)
				}
			}, install.Options{}, nil, "",
		},
		"record lost": {
			func(t *testing.T, h *home) {
				if err := os.RemoveAll(h.path(".local")); err != nil {
					t.Fatal(err)
				}
			},
			install.Options{},
			[]string{"Documents", "Documents/Cline", "Documents/Cline/Hooks", ".cline", ".cline/hooks"},
			"",
		},
		"program gone": {
			func(t *testing.T, h *home) { installtest.Write(t, h.binary()+"x", "", 0o600) },
			install.Options{},
			[]string{"bin/cline-hookx"},
			"",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, "linux", "-")
			before := tree(t, h.dir)
			h.install(h.options())
			tt.change(t, h)
			text := h.uninstall(tt.o).Text()
			if !strings.Contains(text, tt.text) {
				t.Errorf("%q is not said:\n%s", tt.text, text)
			}
			got := tree(t, h.dir)
			for _, path := range tt.left {
				if _, ok := got[path]; !ok {
					t.Errorf("%q is gone", path)
				}
				delete(got, path)
			}
			installtest.Same(t, "after uninstall", before, got)
			p, err := h.in.PlanUninstall(t.Context(), h.sys, tt.o)
			if err != nil || p.Changed() {
				t.Errorf("a second uninstall would do something (%v):\n%s", err, p.Text())
			}
		})
	}
}

func TestUninstallWithChainedScript(t *testing.T) {
	const dir, mine = "Documents/Cline/Hooks/", "#!/bin/sh\necho mine\n"
	tests := map[string]struct {
		change func(t *testing.T, h *home)
		op     install.Op
		// at and aside are the texts at the hook's place and in the sidecar
		// after the uninstall; empty for no file.
		at, aside string
	}{
		"hook file removed by hand": {func(t *testing.T, h *home) {
			if err := os.Remove(h.path(dir + "TaskStart")); err != nil {
				t.Fatal(err)
			}
		}, install.OpRestore, mine, ""},
		"hook file replaced by the user": {func(t *testing.T, h *home) {
			installtest.Write(t, h.path(dir+"TaskStart"), "other", 0o755)
		}, install.OpForeign, "other", mine},
		"script in the sidecar edited": {func(t *testing.T, h *home) {
			installtest.Write(t, h.path(dir+sidecarDir+"/TaskStart"), mine+"#", 0o755)
		}, install.OpRestore, mine + "#", ""},
		"install cut short": {func(t *testing.T, h *home) {
			if err := errors.Join(os.Remove(h.path(dir+"TaskStart")),
				os.Link(h.path(dir+sidecarDir+"/TaskStart"), h.path(dir+"TaskStart"))); err != nil {
				t.Fatal(err)
			}
		}, install.OpRemove, mine, ""},
		"record lost": {func(t *testing.T, h *home) {
			if err := os.RemoveAll(h.path(".local")); err != nil {
				t.Fatal(err)
			}
		}, install.OpRestore, mine, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, "linux", "-")
			installtest.Write(t, h.path(dir+"TaskStart"), mine, 0o755)
			o := h.options()
			o.Chain = true
			h.install(o)
			tt.change(t, h)
			p := h.uninstall(install.Options{})
			found := false
			for _, a := range p.Actions {
				if a.Event == "TaskStart" {
					found = true
					if a.Op != tt.op {
						t.Errorf("%s %q, want %s", a.Op, a.Reason, tt.op)
					}
				}
			}
			if !found || !strings.Contains(p.Text(), "TaskStart") {
				t.Errorf("the hook is not mentioned:\n%s", p.Text())
			}
			if got := installtest.Read(t, h.path(dir+"TaskStart")); got != tt.at {
				t.Errorf("hook file %q, want %q", got, tt.at)
			}
			aside, err := os.ReadFile(h.path(dir + sidecarDir + "/TaskStart"))
			if string(aside) != tt.aside {
				t.Errorf("sidecar %q (%v), want %q", aside, err, tt.aside)
			}
			if _, err := os.Stat(h.path(dir + sidecarDir)); (err == nil) != (tt.aside != "") {
				t.Errorf("sidecar folder: %v", err)
			}
		})
	}
}

func TestInstallResumesInterruptedInstall(t *testing.T) {
	h := newHome(t, "linux", "-")
	script := h.path("Documents/Cline/Hooks/TaskStart")
	installtest.Write(t, script, "#!/bin/sh\n", 0o755)
	before := tree(t, h.dir)
	if err := errors.Join(os.Mkdir(filepath.Dir(sidecar(script)), 0o700), os.Link(script, sidecar(script))); err != nil {
		t.Fatal(err)
	}
	o := h.options()
	o.Chain = true
	if a := find(t, h.install(o), script); a.Op != install.OpChain {
		t.Errorf("%s %q, want chain", a.Op, a.Reason)
	}
	if h.plan(o).Changed() {
		t.Error("still something to change")
	}
	h.uninstall(install.Options{})
	installtest.Same(t, "after uninstall", before, tree(t, h.dir))
}

func TestChainKeepsEarlierScript(t *testing.T) {
	h := newHome(t, "linux", "-")
	script := h.path("Documents/Cline/Hooks/TaskStart")
	installtest.Write(t, script, "first", 0o755)
	o := h.options()
	o.Chain = true
	h.install(o)
	installtest.Write(t, script, "second", 0o755)
	if a := find(t, h.install(o), script); a.Op != install.OpForeign || !strings.Contains(a.Reason, "earlier script") {
		t.Errorf("%s %q", a.Op, a.Reason)
	}
	if got := installtest.Read(t, script) + installtest.Read(t, sidecar(script)); got != "secondfirst" {
		t.Errorf("scripts are now %q", got)
	}
}

func TestSidecarNeverHoldsHookFile(t *testing.T) {
	// A hook file that runs itself as its chained script would never end.
	h := newHome(t, "linux", "-")
	path := h.path("Documents/Cline/Hooks/TaskStart")
	installtest.Write(t, sidecar(path), string(render("linux", shim{Event: "TaskStart", Binary: h.binary()})), 0o755)
	h.install(h.options())
	if s, ours := parseShim("linux", []byte(installtest.Read(t, path))); !ours || s.Chain != "" {
		t.Errorf("hookspan hook file %v chains %q", ours, s.Chain)
	}
}

func TestApplyRefusesChangedFiles(t *testing.T) {
	const dir = "Documents/Cline/Hooks/"
	tests := map[string]struct {
		// first says whether an install came before the plan.
		first     bool
		uninstall bool
		change    func(t *testing.T, h *home)
		failed    string
	}{
		"file appeared": {false, false, func(t *testing.T, h *home) {
			installtest.Write(t, h.path(dir+"PostToolUse"), "mine", 0o755)
		}, "PostToolUse"},
		"script to chain changed": {false, false, func(t *testing.T, h *home) {
			installtest.Write(t, h.path(dir+"TaskStart"), "changed", 0o755)
		}, "TaskStart"},
		"hook file to remove edited": {true, true, func(t *testing.T, h *home) {
			installtest.Write(t, h.path(dir+"TaskComplete"), "mine", 0o755)
		}, "TaskComplete"},
		"script to restore changed": {true, true, func(t *testing.T, h *home) {
			installtest.Write(t, h.path(dir+sidecarDir+"/TaskStart"), "mine", 0o755)
		}, "TaskStart"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, "linux", "-")
			installtest.Write(t, h.path(dir+"TaskStart"), "#!/bin/sh\n", 0o755)
			o := h.options()
			o.Chain = true
			if tt.first {
				h.install(o)
			}
			p := h.plan(o)
			if tt.uninstall {
				var err error
				if p, err = h.in.PlanUninstall(t.Context(), h.sys, install.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			tt.change(t, h)
			want := installtest.Read(t, h.path(dir+tt.failed))
			err := install.Apply(p)
			var failure *install.ApplyError
			if !errors.Is(err, install.ErrChanged) || !errors.As(err, &failure) {
				t.Fatalf("error %v, want install.ErrChanged in an install.ApplyError", err)
			}
			if failure.Failed.Event != tt.failed {
				t.Errorf("failed at %s, want %s", failure.Failed.Event, tt.failed)
			}
			if got := installtest.Read(t, h.path(dir+tt.failed)); got != want {
				t.Errorf("the changed file is now %q, was %q", got, want)
			}
			steps := 0
			for _, a := range p.Actions {
				if a.Op.Writes() {
					steps++
				}
			}
			if n := len(failure.Done) + 1 + len(failure.NotDone); n != steps {
				t.Errorf("the error accounts for %d of %d steps", n, steps)
			}
			for _, a := range append(failure.Done[:len(failure.Done):len(failure.Done)], failure.NotDone...) {
				if !strings.Contains(err.Error(), a.Path) {
					t.Errorf("error does not name %q: %v", a.Path, err)
				}
			}
			// What the next plan finds, it can finish.
			h.install(o)
		})
	}
}

func TestParallelInstalls(t *testing.T) {
	for _, chain := range []bool{false, true} {
		h := newHome(t, "linux", ".")
		if chain {
			for _, event := range []string{"TaskStart", "PostToolUse", "TaskCancel"} {
				installtest.Write(t, h.path("Documents/Cline/Hooks/"+event), "#!/bin/sh\necho "+event+"\n", 0o750)
			}
		}
		before := tree(t, h.dir)
		o := h.options()
		o.Chain = chain
		const n = 8
		plans := make([]*install.Plan, n)
		for i := range plans {
			plans[i] = h.plan(o)
		}
		errs := make([]error, n)
		var group sync.WaitGroup
		for i := range plans {
			group.Go(func() { errs[i] = install.Apply(plans[i]) })
		}
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("chain %v: %v", chain, err)
		}
		if p := h.plan(h.options()); p.Changed() {
			t.Errorf("chain %v: still something to change:\n%s", chain, p.Text())
		}
		for i := range plans {
			p, err := h.in.PlanUninstall(t.Context(), h.sys, install.Options{})
			if err != nil {
				t.Fatal(err)
			}
			plans[i] = p
		}
		for i := range plans {
			group.Go(func() { errs[i] = install.Apply(plans[i]) })
		}
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("chain %v: uninstall: %v", chain, err)
		}
		installtest.Same(t, "after uninstall", before, tree(t, h.dir))
	}
}

func TestInstallWithoutStateFolder(t *testing.T) {
	h := newHome(t, "linux", "-")
	h.sys.StateDir = ""
	h.install(h.options())
	h.uninstall(install.Options{})
	if left := hooks(t, h.dir); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

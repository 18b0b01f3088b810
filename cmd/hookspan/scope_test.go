package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// TestScope starts the server in folders of every kind and asks which others it answers about. DIR is the
// folder that has all of them, and a name that ends with @ a symbolic link.
func TestScope(t *testing.T) {
	const head = "ref: refs/heads/main\n"
	worktree := func(of, tree string) map[string]string {
		return map[string]string{
			of + "/.git/HEAD": head, tree + "/.git": "gitdir: DIR/" + of + "/.git/worktrees/t\n",
			of + "/.git/worktrees/t/HEAD": head, of + "/.git/worktrees/t/commondir": "../..\n", of + "/.git/worktrees/t/gitdir": "DIR/" + tree + "/.git\n",
		}
	}
	shop := map[string]string{"home/shop/.git/HEAD": head, "home/shop/web/x": "", "home/bank/x": "", "link@": "home/shop", "away@": "home"}
	for name, tt := range map[string]struct {
		files       map[string]string
		start, from string   // the folder, and --project
		in, out     []string // nil if it is refused
	}{
		"a repository":                       {shop, "home/shop", "", []string{"home/shop", "home/shop/web"}, []string{"home/bank", "home", "home/shop2", "link2"}},
		"a folder of it":                     {shop, "home/shop/web", "", []string{"home/shop", "home/shop/web"}, []string{"home/bank", "home"}},
		"through a link":                     {shop, "link", "", []string{"home/shop", "link", "link/web"}, []string{"home/bank", "home"}},
		"a folder through a link":            {shop, "link/web", "", []string{"home/shop", "home/shop/web", "link", "link/web"}, []string{"home/bank", "home"}},
		"no repository":                      {shop, "home/bank", "", nil, nil},
		"no repository, named":               {shop, "home", "DIR/home/bank", []string{"home/bank"}, []string{"home/shop", "home"}},
		"the home folder":                    {shop, "home", "", nil, nil},
		"the home folder, named":             {shop, "home/shop", "~", nil, nil},
		"the home folder through a link":     {shop, "home/shop", "DIR/away", nil, nil},
		"above the home folder":              {shop, "home/shop", "DIR", nil, nil},
		"the root":                           {shop, "/", "", nil, nil},
		"the root, named":                    {shop, "home/shop", "/", nil, nil},
		"a worktree":                         {worktree("home/shop", "tree"), "tree", "", []string{"tree", "home/shop", "home/shop/web"}, []string{"home"}},
		"a worktree of the home folder":      {worktree("home", "tree"), "tree", "", []string{"tree"}, []string{"home", "home/bank"}},
		"home is a repository":               {map[string]string{"home/.git/HEAD": head, "home/bank/x": ""}, "home/bank", "", nil, nil},
		"home is a repository, named folder": {map[string]string{"home/.git/HEAD": head, "home/bank/x": ""}, "home", "DIR/home/bank", []string{"home/bank"}, []string{"home", "home/shop"}},
		"a repository in home's":             {map[string]string{"home/.git/HEAD": head, "home/shop/.git/HEAD": head}, "home/shop", "", []string{"home/shop"}, []string{"home", "home/bank"}},
		"above home is a repository":         {map[string]string{".git/HEAD": head, "srv/x": "", "home/x": ""}, "srv", "", nil, nil},
		"a repository in another":            {map[string]string{"w/.git/HEAD": head, "w/in/.git/HEAD": head, "home/x": ""}, "w/in", "", []string{"w/in"}, []string{"w", "w/out"}},
		"around another":                     {map[string]string{"w/.git/HEAD": head, "w/in/.git/HEAD": head, "home/x": ""}, "w", "", []string{"w", "w/in"}, []string{"home"}},
		"a submodule":                        {map[string]string{"w/.git/HEAD": head, "w/.git/modules/s/HEAD": head, "w/s/.git": "gitdir: ../.git/modules/s\n", "home/x": ""}, "w/s", "", []string{"w/s"}, []string{"w", "w/t"}},
		"a file that borrows a repository":   {map[string]string{"home/shop/.git/HEAD": head, "x/.git": "gitdir: DIR/home/shop/.git\n"}, "x", "", []string{"x"}, []string{"home/shop", "home"}},
		"a folder that is gone":              {shop, "gone", "", nil, nil},
		"a folder that is gone, named":       {shop, "gone", "DIR/home/shop", []string{"home/shop"}, []string{"home/bank"}},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				skip.Missing(t, "Windows' links need rights")
			}
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			path := func(name string) string {
				if filepath.IsAbs(name) {
					return name
				}
				return filepath.Join(dir, name)
			}
			for name, text := range tt.files {
				link, isLink := strings.CutSuffix(path(name), "@")
				if err = os.MkdirAll(filepath.Dir(link), 0o700); err == nil && isLink {
					err = os.Symlink(path(text), link)
				} else if err == nil {
					err = os.WriteFile(link, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			gone := tt.start == "gone"
			if gone {
				if err := os.Mkdir(path("gone"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(path(tt.start)) // It sets PWD, as a shell does.
			if gone {
				if err := os.Remove(path("gone")); err != nil {
					t.Fatal(err)
				}
			}
			a, _, _ := newTestApp(t)
			a.home = path("home")
			f, err := a.scope(&cobra.Command{}, strings.ReplaceAll(tt.from, "DIR", dir))
			if tt.in == nil {
				if err == nil {
					t.Errorf("answers about %q, %q and %q", f.Directory, f.Resolved, f.Also)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got, want []string
			for _, name := range append(tt.in, tt.out...) {
				if f.In(path(name)) {
					got = append(got, name)
				}
			}
			want = tt.in
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q, %q, %q (-want +got):\n%s", f.Directory, f.Resolved, f.Also, diff)
			}
		})
	}
}

package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// TestProjectOffUpToTheRepositorysRoot has a switch in folders of a repository, and outside.
func TestProjectOffUpToTheRepositorysRoot(t *testing.T) {
	const off = "HOOKSPAN_DISABLED=true\n"
	for name, tt := range map[string]struct {
		files map[string]string
		dir   string
		want  string
	}{
		"nothing":                        {map[string]string{"r/.git/HEAD": ""}, "r/a/b", ""},
		"in the folder":                  {map[string]string{"r/.git/HEAD": "", "r/a/b/.hookspan.env": off}, "r/a/b", "r/a/b/.hookspan.env"},
		"at the root":                    {map[string]string{"r/.git/HEAD": "", "r/.hookspan.env": off}, "r/a/b/c/d/e/f", "r/.hookspan.env"},
		"between":                        {map[string]string{"r/.git/HEAD": "", "r/a/.hookspan.env": off}, "r/a/b", "r/a/.hookspan.env"},
		"the folder says on":             {map[string]string{"r/.git/HEAD": "", "r/.hookspan.env": off, "r/a/.hookspan.env": "HOOKSPAN_DISABLED=false\n"}, "r/a", "r/.hookspan.env"},
		"above the root":                 {map[string]string{"r/.git/HEAD": "", ".hookspan.env": off}, "r/a", ""},
		"a worktree":                     {map[string]string{"r/.git": "gitdir: /x\n", "r/.hookspan.env": off}, "r/a", "r/.hookspan.env"},
		"a repository in another":        {map[string]string{"r/.git/HEAD": "", "r/.hookspan.env": off, "r/a/.git/HEAD": ""}, "r/a/b", ""},
		"outside of a repository, above": {map[string]string{"r/.hookspan.env": off}, "r/a", ""},
		"outside of a repository, there": {map[string]string{"r/.hookspan.env": off}, "r", "r/.hookspan.env"},
		"a folder that is gone":          {map[string]string{"r/.git/HEAD": "", "r/.hookspan.env": off}, "r/gone/b", "r/.hookspan.env"},
		"by a link":                      {map[string]string{"r/.git/HEAD": "", "r/.hookspan.env": off, "r/a/x": ""}, "link", "r/.hookspan.env"},
	} {
		t.Run(name, func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for path, text := range tt.files {
				write(t, filepath.Join(base, path), text)
			}
			if tt.dir == "link" {
				if err := os.Symlink(filepath.Join(base, "r", "a"), filepath.Join(base, "link")); err != nil {
					skip.Missing(t, "no symbolic links here: %v", err)
				}
			}
			want := ""
			if tt.want != "" {
				want = filepath.Join(base, filepath.FromSlash(tt.want))
			}
			if got := OffBy(filepath.Join(base, filepath.FromSlash(tt.dir))); got != want || ProjectOff(filepath.Join(base, tt.dir)) != (want != "") {
				t.Errorf("off by %q, want %q", got, want)
			}
			if _, err := os.Stat(filepath.Join(base, tt.dir)); err != nil {
				return
			}
			t.Chdir(filepath.Join(base, tt.dir)) // as most hooks are started
			if at, err := os.Getwd(); err != nil || OffBy(at) != want {
				t.Errorf("there: off by %q (%v), want %q", OffBy(at), err, want)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPrivateByFollowsLinksAndStars has folders and directories that links name.
func TestPrivateByFollowsLinksAndStars(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"private/deep/x", "clients/acme/keys/x", "data/real/x", "data/other/keys/x", "privateer/x"} {
		write(t, filepath.Join(base, filepath.FromSlash(file)), "")
	}
	for link, to := range map[string]string{"link": "data/real", "clients/beta": "data/other", "home": "private", "root": "/"} {
		if !filepath.IsAbs(to) {
			to = filepath.Join(base, to)
		}
		if err := os.Symlink(to, filepath.Join(base, filepath.FromSlash(link))); err != nil {
			skip.Missing(t, "no symbolic links here: %v", err)
		}
	}
	for _, tt := range []struct {
		folder, dir string
		in          bool
	}{
		{"private", "private", true},
		{"private", "private/deep", true},
		{"private/", "private/gone/deeper", true},
		{"private", "privateer", false},
		{"private/deep", "private", false},
		{"private", "", false},
		{"priv*", "privateer", true},
		{"*", "data/real", true},
		{"p*v*e", "private", true},
		{"p*v*x", "private", false},
		{"pri*ate*", "private", true},
		{"a*a", "a", false},
		{"clients/*/keys", "clients/acme/keys/x", true},
		{"clients/*/keys", "clients/acme", false},
		{"*/keys", "clients/acme/keys", false},
		{"link", "data/real", true},
		{"link", "link", true},
		{"data", "link", true},
		{"data/real", "link/gone", true},
		{"data/*", "link", true},
		{"clients/*/keys", "data/other/keys", true},
		{"clients/*/keys", "clients/beta/keys", true},
		{"clients/*", "data/other", true},
		{"clients/*", "data/real", false},
		{"home/deep", "private/deep", true},
		{"home/gone", "private/gone", true},
		{"[p]rivate", "private", false},
		{strings.Repeat("../", 40), "private", true},
		{"root", "private", true},
	} {
		folder, dir := base+string(filepath.Separator)+filepath.FromSlash(tt.folder), filepath.Join(base, filepath.FromSlash(tt.dir))
		if got := PrivateBy([]string{"/nowhere", folder}, dir); got != map[bool]string{true: folder}[tt.in] {
			t.Errorf("%s in %s: got %q, want %t", tt.dir, tt.folder, got, tt.in)
		}
	}
	if PrivateBy([]string{"/"}, "") != "/" || PrivateBy([]string{base}, "relative") != "" {
		t.Error("every folder, or a relative one")
	}
}

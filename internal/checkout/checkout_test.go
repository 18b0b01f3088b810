package checkout

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", filepath.ToSlash(dir))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const origin = "[core]\n\tbare = false\n[remote \"fork\"]\n\turl = https://x.example/me/fork\n[remote \"origin\"]\n\turl = https://user:s3cret@git.example:8443/team/shop-api.git\n"

func TestAt(t *testing.T) {
	shop := hook.Repository{Name: "shop-api", URL: "https://git.example:8443/team/shop-api", Branch: "fix/login"}
	tests := map[string]struct {
		files map[string]string
		dir   string
		want  hook.Repository
	}{
		"a folder below":    {map[string]string{"w/.git/HEAD": "ref: refs/heads/fix/login\n", "w/.git/config": origin, "w/a/b/x": ""}, "w/a/b", shop},
		"detached":          {map[string]string{"w/.git/HEAD": "0123456789abcdef\n", "w/.git/config": origin}, "w", hook.Repository{Name: shop.Name, URL: shop.URL}},
		"no remote":         {map[string]string{"w/.git/HEAD": "ref: refs/heads/main\n", "w/.git/config": "[core]\n"}, "w", hook.Repository{Name: "w", Branch: "main"}},
		"a worktree":        {map[string]string{"w/.git/HEAD": "ref: refs/heads/main\n", "w/.git/config": origin, "w/.git/worktrees/t/HEAD": "ref: refs/heads/fix/login\n", "w/.git/worktrees/t/commondir": "../..\n", "t/.git": "gitdir: DIR/w/.git/worktrees/t\n"}, "t", shop},
		"a submodule":       {map[string]string{"w/.git/modules/s/HEAD": "ref: refs/heads/fix/login\n", "w/.git/modules/s/config": origin, "w/s/.git": "gitdir: ../.git/modules/s\n"}, "w/s", shop},
		"a bare one's tree": {map[string]string{"shop.git/HEAD": "ref: refs/heads/main\n", "shop.git/config": "[core]\n", "shop.git/worktrees/t/HEAD": "ref: refs/heads/fix\n", "shop.git/worktrees/t/commondir": "../..\n", "t/.git": "gitdir: DIR/shop.git/worktrees/t\n"}, "t", hook.Repository{Name: "shop", Branch: "fix"}},
		"refs in a table":   {map[string]string{"w/.git/HEAD": "ref: refs/heads/.invalid\n", "w/.git/config": origin}, "w", hook.Repository{Name: shop.Name, URL: shop.URL}},
		"the nearest":       {map[string]string{"w/.git/HEAD": "ref: refs/heads/main\n", "w/.git/config": origin, "w/s/.git/HEAD": "ref: refs/heads/fix/login\n", "w/s/.git/config": origin}, "w/s", shop},
		"bare":              {map[string]string{"w.git/HEAD": "ref: refs/heads/main\n", "w.git/config": origin}, "w.git", hook.Repository{}},
		"no repository":     {map[string]string{"w/x": ""}, "w", hook.Repository{}},
		"an empty .git":     {map[string]string{"w/.git": ""}, "w", hook.Repository{}},
		"broken":            {map[string]string{"w/.git/HEAD": "", "w/.git/config": origin}, "w", hook.Repository{}},
		"huge":              {map[string]string{"w/.git/HEAD": "ref: refs/heads/main\n", "w/.git/config": origin + strings.Repeat("#\n", maxConfig)}, "w", hook.Repository{}},
		"another machine's": {map[string]string{"w/.git": "gitdir: //evil.example/share/.git\n"}, "w", hook.Repository{}},
		"nowhere":           {map[string]string{"w/.git": "gitdir: DIR/none\n"}, "w", hook.Repository{}},
		"a control sign":    {map[string]string{"w/.git/HEAD": "ref: refs/heads/a\x1bb\n", "w/.git/config": origin}, "w", hook.Repository{Name: shop.Name, URL: shop.URL}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, tt.files)
			if diff := cmp.Diff(tt.want, At(filepath.Join(dir, tt.dir)).Repository); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReadLeavesForeignFilesAlone has a repository of another user and links.
func TestAtLeavesForeignFilesAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "Windows' links need rights")
	}
	files := map[string]string{"w/.git/HEAD": "ref: refs/heads/main\n", "w/.git/config": origin, "other": "ref: refs/heads/other\n"}
	t.Run("linked HEAD", func(t *testing.T) {
		dir := tree(t, files)
		head := filepath.Join(dir, "w/.git/HEAD")
		if err := os.Remove(head); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dir, "other"), head); err != nil {
			t.Fatal(err)
		}
		if got := At(filepath.Join(dir, "w")).Repository; got != (hook.Repository{}) {
			t.Errorf("%+v", got)
		}
	})
	if os.Geteuid() != 0 {
		skip.Missing(t, "only root can give files away")
	}
	t.Run("of another user", func(t *testing.T) {
		dir := tree(t, files)
		_ = os.Chown(filepath.Join(dir, "w/.git"), 1234, 1234)
		if got := At(filepath.Join(dir, "w")).Repository; os.Geteuid() == 0 && got != (hook.Repository{}) {
			t.Errorf("%+v", got)
		}
	})
}

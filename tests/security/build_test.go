package security_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// buildRows are about what one has in hand when one has a program.
var buildRows = []proof.Row{
	{
		Name: "the programs, built twice: in folders of other names and depth, one of them a checkout, under other users' names, umasks, zones, " +
			"languages and numbers of jobs, with separate cold caches",
		Rule: "each of the three has the same SHA-256 both times",
		Long: 3, Run: reproducible,
	},
	{
		Name:  "the bill of materials of the three programs",
		Rule:  "each program has its SHA-256 there, and each module in it the checksum of go.sum",
		Short: 20, Run: materials,
	},
}

// moduleRoot is the module's folder, seen from this package.
const moduleRoot = "../.."

var programs = []string{"claude-hook", "cline-hook", "hookspan"}

// copySources copies what a release's archive holds and a build needs.
func copySources(t *testing.T, to string) {
	t.Helper()
	left := []string{".git", "bin", "dist", ".cache", "node_modules", "tests", "docs"}
	err := filepath.WalkDir(moduleRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(moduleRoot, path)
		if err != nil {
			return err
		}
		switch {
		case slices.Contains(left, d.Name()):
			// In a work tree .git is a file that leads to the real repository: git
			// in the copy would commit there.
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sums are the programs' SHA-256 below a folder.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, p := range programs {
		b, err := os.ReadFile(filepath.Join(dir, p))
		if errors.Is(err, fs.ErrNotExist) {
			b, err = os.ReadFile(filepath.Join(dir, p+".exe"))
		}
		if err != nil {
			t.Fatal(err)
		}
		out[p] = fmt.Sprintf("%x", sha256.Sum256(b))
	}
	return out
}

func reproducible(t *testing.T, r *proof.Result) {
	if !proof.Soak() {
		r.Elsewhere("links each program twice: left to the long run, and to make reproducible")
	}
	for _, tool := range []string{"make", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			r.Skip("%v", err)
		}
	}
	base := t.TempDir()
	modules := goEnv(t, "GOMODCACHE")
	var all []map[string]string
	for i, v := range []struct {
		dir, umask string
		env        []string
		checkout   bool
	}{
		{"a", "0022", []string{"USER=one", "TZ=UTC", "LC_ALL=C", "GOMAXPROCS=1"}, false},
		{"a much longer/and deeper/folder", "0077", []string{"USER=two", "TZ=Pacific/Kiritimati", "LC_ALL=tr_TR.UTF-8", "GOMAXPROCS=2"}, true},
	} {
		dir := filepath.Join(base, filepath.FromSlash(v.dir))
		copySources(t, dir)
		cache := filepath.Join(base, fmt.Sprint("cache-", i))
		home := filepath.Join(base, fmt.Sprint("home-", i))
		if err := os.MkdirAll(home, 0o700); err != nil {
			t.Fatal(err)
		}
		env := append([]string{
			"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GOCACHE=" + cache, "GOMODCACHE=" + modules, "GOFLAGS=", "TMPDIR=" + home, "GOTOOLCHAIN=local", "GOTELEMETRY=off",
		}, v.env...)
		script := "umask " + v.umask + " && "
		if _, err := exec.LookPath("git"); v.checkout && err == nil {
			checkout(t, dir, base, env)
		}
		// GOMODCACHE is shared: its contents are checked against go.sum.
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script+"exec make build VERSION=v0.0.0-reproducible")
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build in %q: %v\n%s", v.dir, err, out)
		}
		all = append(all, sums(t, filepath.Join(dir, "bin")))
	}
	for _, p := range programs {
		if all[0][p] != all[1][p] {
			r.Break("%s is %s and %s", p, all[0][p], all[1][p])
		}
		r.Trial(1)
	}
}

// checkout makes a repository of a folder, and makes sure that it is that folder's
// own before anything is written to it.
func checkout(t *testing.T, dir, base string, env []string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(dir, ".git")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("there is a .git in the copy %q (%v): git would write to where it leads", dir, err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		// No repository above the copy is looked for.
		cmd.Dir, cmd.Env = dir, append(slices.Clone(env), "GIT_CEILING_DIRECTORIES="+base, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "--template=", ".")
	if got := git("rev-parse", "--absolute-git-dir"); got != filepath.Join(real, ".git") {
		t.Fatalf("the repository is %q, want the copy's own", got)
	}
	git("add", "-A")
	git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "-m", "x")
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatalf("go env %s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

func materials(t *testing.T, r *proof.Result) {
	var paths []string
	for _, p := range programs {
		path, err := exec.LookPath(filepath.Join(lab.Programs, p))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"run", "./sbom", "-version", "v0.0.0-test"}, paths...)...)
	cmd.Dir = filepath.Join(moduleRoot, "internal", "tools")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("sbom: %v", err)
	}
	var bom struct {
		BomFormat  string
		Components []struct {
			Type, Name, Version, Purl string
			Hashes                    []struct{ Alg, Content string }
			Properties                []struct{ Name, Value string }
		}
		Dependencies []struct {
			Ref       string
			DependsOn []string
		}
	}
	if err := json.Unmarshal(out, &bom); err != nil || bom.BomFormat != "CycloneDX" {
		t.Fatalf("sbom: %v, format %q", err, bom.BomFormat)
	}
	want, err := os.ReadFile(filepath.Join(moduleRoot, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	have := sums(t, lab.Programs)
	apps := 0
	for _, c := range bom.Components {
		r.Trial(1)
		switch {
		case c.Type == "application":
			apps++
			if len(c.Hashes) != 1 || c.Hashes[0].Alg != "SHA-256" || c.Hashes[0].Content != have[c.Name] || c.Version != "v0.0.0-test" {
				r.Break("%s %s: %v, want SHA-256 %s", c.Name, c.Version, c.Hashes, have[c.Name])
			}
		case c.Name == "std":
		case len(c.Properties) != 1 || !strings.Contains(string(want), c.Name+" "+c.Version+" "+c.Properties[0].Value+"\n"):
			r.Break("%s %s: %v is not in go.sum", c.Name, c.Version, c.Properties)
		}
	}
	if apps != len(programs) || len(bom.Dependencies) != len(programs) {
		r.Break("%d programs and %d lists of dependencies, want %d of each", apps, len(bom.Dependencies), len(programs))
	}
}

package docs_test

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDependabotUpdatesEveryModule: a module that is not named is never updated.
func TestDependabotUpdatesEveryModule(t *testing.T) {
	var config struct {
		Updates []struct {
			Ecosystem   string   `yaml:"package-ecosystem"`
			Directories []string `yaml:"directories"`
		} `yaml:"updates"`
	}
	if err := yaml.Unmarshal([]byte(page(t, ".github/dependabot.yml")), &config); err != nil {
		t.Fatal(err)
	}
	for ecosystem, file := range map[string]string{"gomod": "go.mod", "npm": "package-lock.json"} {
		var named []string
		for _, u := range config.Updates {
			if u.Ecosystem == ecosystem {
				named = append(named, u.Directories...)
			}
		}
		want := folders(t, file)
		slices.Sort(named)
		if !slices.Equal(named, want) {
			t.Errorf("%s: dependabot.yml names %q, want %q", ecosystem, named, want)
		}
	}
}

// pinned are the folders with programs of an old version on purpose.
var pinned = []string{"/tests/claudecli/npm/before", "/tests/claudecli/npm/first"}

// folders are those of the project that have the file, as dependabot.yml names them.
func folders(t *testing.T, file string) (out []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() && slices.Contains(pinned, path.Join("/", name)):
			return fs.SkipDir
		case d.Name() == file:
			out = append(out, path.Join("/", path.Dir(name)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

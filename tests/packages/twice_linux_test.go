package packages_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

var twice = flag.Bool("twice", false, "build the packages of the last commit twice, once with a cold cache, and compare them")

// TestReleaseBuiltTwice: the packages of a commit have the same bytes, whatever
// folder, cache, time zone and file modes they are built with.
func TestReleaseBuiltTwice(t *testing.T) {
	if !*twice {
		skip.Elsewhere(t, "takes minutes: asked for with -twice, as make reproducible does")
	}
	sums := func(environ ...string) string {
		checkout := filepath.Join(t.TempDir(), "checkout")
		if out, err := exec.CommandContext(t.Context(), "git", "clone", "--quiet", repository, checkout).CombinedOutput(); err != nil {
			t.Fatalf("git clone: %v\n%s", err, out)
		}
		text, err := os.ReadFile(filepath.Join(build(t, release{checkout: checkout, version: first, environ: environ}), "checksums.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	one := sums("TZ=UTC")
	// The program that makes the packages need not be built again.
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile=internal/tools/release/go.mod", "-n", "goreleaser")
	cmd.Dir = repository
	path, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	other := sums("TZ=Asia/Tokyo", "UMASK=077", "GOCACHE="+t.TempDir(), "GOFLAGS=-p=1", "RELEASER="+strings.TrimSpace(string(path)), "MAKEFLAGS=-e")
	if d := gocmp.Diff(one, other); d != "" {
		t.Errorf("the packages differ (-first +second):\n%s", d)
	}
	t.Logf("%d files with the same bytes:\n%s", strings.Count(one, "\n"), one)
}

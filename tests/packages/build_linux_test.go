package packages_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/rig"
)

const repository = "../.."

// release is what build makes. light leaves out what takes most of the time: small .deb
// and .rpm packages. bare leaves out the bills of materials and the Collector.
type release struct {
	checkout, version string
	environ           []string
	light, bare       bool
}

// ofCollector are the sections of the Collector's packages.
var ofCollector = []string{"  - <<: *program\n    id: hookspan-collector\n", "  - id: collector-archive\n", "  - id: collector-packages\n", "  - id: collector\n"}

// build makes the packages of a release for this machine only, by the release's
// own configuration in its checkout, and returns the folder that they are in.
func build(t *testing.T, made release) string {
	t.Helper()
	config, err := os.ReadFile(filepath.Join(made.checkout, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	dist := filepath.Join(t.TempDir(), "dist")
	text := string(config) + "\ndist: " + dist + "\n"
	changes := map[string]string{
		"goos: [linux, darwin, windows]": "goos: [linux]",
		"goarch: [amd64, arm64]":         "goarch: [" + runtime.GOARCH + "]",
	}
	// The manifests need archives for Windows.
	sections := []string{"winget:\n", "scoops:\n"}
	if made.light {
		changes["\n    rpm:\n"] = "\n    deb: {compression: none}\n    rpm:\n      compression: gzip:1\n"
		changes["\n    rpm: {"] = "\n    deb: {compression: none}\n    rpm: {compression: 'gzip:1', "
	}
	if made.bare {
		sections = append(sections, append(ofCollector, "sboms:\n")...)
	}
	for all, one := range changes {
		if strings.Count(text, all) != 1 {
			t.Fatalf(".goreleaser.yaml: want %q once", all)
		}
		text = strings.Replace(text, all, one, 1)
	}
	for _, section := range sections {
		text = without(text, section)
	}
	reduced := filepath.Join(t.TempDir(), "goreleaser.yaml")
	if err := os.WriteFile(reduced, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `umask "${UMASK:-022}" && exec make release VERSION="$1" RELEASE="-f $2"`, "sh", made.version, reduced)
	cmd.Dir, cmd.Env = made.checkout, append(os.Environ(), made.environ...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make release: %v\n%s", err, out)
	}
	return dist
}

// without leaves out a section of the configuration, up to the next empty line.
func without(text, section string) string {
	before, after, _ := strings.Cut(text, "\n"+section)
	_, rest, _ := strings.Cut(after, "\n\n")
	return before + "\n\n" + rest
}

// only returns the one file that fits a pattern.
func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: want one file, got %q (%v)", pattern, found, err)
	}
	return found[0]
}

// registry starts an npm registry on this machine and returns its address.
func registry(t *testing.T) string {
	t.Helper()
	manifest := os.DirFS("npm")
	cache, err := rig.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := rig.Program{Name: "verdaccio", Manifest: manifest}.Install(t.Context(), cache)
	rig.Check(t, "verdaccio", err)

	work := t.TempDir()
	config := filepath.Join(work, "config.yaml")
	if err := os.WriteFile(config, []byte(`
storage: `+work+`/storage
web: {enable: false}
max_body_size: 100mb
packages:
  '**': {access: $all, publish: $all}
log: {type: stdout, format: json, level: http}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "node_modules", ".bin", "verdaccio"), "--config", config, "--listen", address)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "HOME="+work)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	said := waitFor(out, "http address")
	if said != "" {
		t.Fatalf("verdaccio ended:\n%s", said)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return "http://" + address
}

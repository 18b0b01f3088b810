//go:build !windows

package packages_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// TestInstallScriptInHostileFolders runs the install script where others left files,
// with the widest umask.
func TestInstallScriptInHostileFolders(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		skip.Missing(t, "needs curl, which is not in PATH")
	}
	programs := []string{"hook-runner", "cline-hook", "claude-hook", "hookspan"}
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	for _, name := range programs {
		const text = "#!/bin/sh\necho hookspan v1.2.3\n"
		if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o777, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		_, _ = files.Write([]byte(text))
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	name := "hookspan_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Base(r.URL.Path) == "checksums.txt" {
			_, _ = fmt.Fprintf(w, "%x  %s\n", sha256.Sum256(archive.Bytes()), name)
			return
		}
		_, _ = w.Write(archive.Bytes())
	}))
	t.Cleanup(server.Close)
	run := func(bin string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "umask 000; exec sh ../../packaging/install.sh")
		cmd.Env = append(os.Environ(), "HOOKSPAN_FROM="+server.URL, "HOOKSPAN_BIN="+bin)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	bin := filepath.Join(t.TempDir(), "new", "bin")
	if out, err := run(bin); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	victim := filepath.Join(t.TempDir(), "victim")
	for _, program := range programs {
		if err := os.Symlink(victim, filepath.Join(bin, "."+program+".new")); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := run(bin); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Lstat(victim); err == nil {
		t.Error("the script wrote through a planted link")
	}
	for _, dir := range []string{filepath.Dir(bin), bin} {
		if mode(t, dir) != 0o755 {
			t.Errorf("%s has mode %04o, want 0755", dir, mode(t, dir))
		}
	}
	for _, program := range programs {
		if got := mode(t, filepath.Join(bin, program)); got != 0o755 {
			t.Errorf("%s has mode %04o, want 0755", program, got)
		}
	}

	taken := filepath.Join(t.TempDir(), "bin")
	if err := os.MkdirAll(filepath.Join(taken, "claude-hook"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := run(taken)
	left, readErr := os.ReadDir(taken)
	if err == nil || !strings.Contains(out, "claude-hook is a folder") || readErr != nil || len(left) != 1 {
		t.Errorf("a folder in a program's place: %v, %d files are left\n%s", err, len(left), out)
	}
}

func mode(t *testing.T, file string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

package packages_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// home is the folder of the user in a root folder, as the recorded payloads name it.
const home = "/home/dev"

// base is the folder of an empty Debian with curl, which debootstrap makes once.
// Without root or debootstrap the test is skipped.
func base(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		skip.Missing(t, "only root can make a root folder to install packages in")
	}
	for _, program := range []string{"debootstrap", "unshare", "nsenter", "make"} {
		if _, err := exec.LookPath(program); err != nil {
			skip.Missing(t, "no %s on this machine: packages are not installed", program)
		}
	}
	cache, err := rig.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "bookworm")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(cache, 0o755); err != nil { //nolint:gosec // As other tests make it.
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(cache, ".bookworm-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.Chmod(work, 0o755); err != nil { //nolint:gosec // A root folder.
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "debootstrap", "--variant=minbase", "--include=curl", "bookworm", work, "http://deb.debian.org/debian")
	if out, err := cmd.CombinedOutput(); err != nil {
		skip.Missing(t, "debootstrap, which needs Debian's archive: %v\n%s", err, lastLines(out))
	}
	if err := os.Rename(work, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// root is an empty machine: a root folder over the base, in separate mount and
// process namespaces. All of it is gone when the test ends, even if it is killed.
type root struct {
	t       *testing.T
	pid     string
	path    string // the root folder, in the namespace
	environ []string
}

// start makes a root folder in which the folders and files of show are too, by
// their path in it.
func start(t *testing.T, base string, show map[string]string, environ ...string) *root {
	t.Helper()
	r := &root{t: t, path: filepath.Join(t.TempDir(), "root"), environ: append([]string{"HOME=" + home, "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}, environ...)}
	over := filepath.Dir(r.path)
	script := "set -e\nmount -t tmpfs tmpfs " + over + "\nmkdir " + over + "/up " + over + "/work " + r.path +
		"\nmount -t overlay overlay -o lowerdir=" + base + ",upperdir=" + over + "/up,workdir=" + over + "/work " + r.path
	for inside, outside := range show {
		at := r.path + inside
		made := "mkdir -p " + at
		if info, err := os.Stat(outside); err == nil && !info.IsDir() {
			made = "mkdir -p " + filepath.Dir(at) + "; touch " + at
		}
		script += "\n" + made + "\nmount --bind " + outside + " " + at
	}
	script += "\nread -r pid rest </proc/self/stat\nmount -t proc proc " + r.path + "/proc\nmkdir -p " + r.path + home + "\necho $pid\nexec cat"
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script)
	cmd.Stderr = os.Stderr
	// The end of this pipe is the end of the shell and so of all processes.
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		skip.Missing(t, "no overlay of a root folder can be mounted here: %v", err)
	}
	r.pid = strings.TrimSpace(line)
	return r
}

// run runs a shell command in the root folder and returns what it prints.
func (r *root) run(command string, input ...byte) string {
	r.t.Helper()
	out, err := r.try(command, input...)
	if err != nil {
		r.t.Fatalf("$ %s\n%s\n%v", command, out, err)
	}
	return out
}

func (r *root) try(command string, input ...byte) (string, error) {
	return r.outside(append(append([]string{"chroot", r.path, "env", "-i"}, r.environ...), "sh", "-c", "cd "+home+" && "+command), input...)
}

// exit runs a shell command and returns its exit code too.
func (r *root) exit(command string) (out string, code int) {
	r.t.Helper()
	out, err := r.try(command)
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return out, failed.ExitCode()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return out, 0
}

// outside runs a program of this machine, which sees the root folder at its path.
func (r *root) outside(command []string, input ...byte) (string, error) {
	cmd := exec.CommandContext(r.t.Context(), "nsenter", append([]string{"--target", r.pid, "--mount", "--pid"}, command...)...)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// read returns a file of the root folder.
func (r *root) read(path string) []byte {
	r.t.Helper()
	data, err := os.ReadFile("/proc/" + r.pid + "/root" + r.path + path)
	if err != nil {
		r.t.Fatal(err)
	}
	return data
}

// records are folders in which package managers and shells record what they do.
var records = []string{"/proc", "/dev", "/tmp", "/packages", "/opt/node", "/var/lib/dpkg", "/var/lib/apt", "/var/lib/rpm", "/var/log", "/var/cache", "/root/.rpmdb", home + "/.npm"}

// files lists all files of the root folder except records.
func (r *root) files() []string {
	r.t.Helper()
	args := "find /"
	for _, dir := range records {
		args += " -path " + dir + " -prune -o"
	}
	lines := strings.Fields(r.run(args + " -print"))
	slices.Sort(lines)
	return lines
}

// waitFor reads until a line contains the word. If the output ends before, it
// returns all of it.
func waitFor(r io.Reader, word string) string {
	var all strings.Builder
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if strings.Contains(lines.Text(), word) {
			return ""
		}
		all.WriteString(lines.Text() + "\n")
	}
	return all.String() + "(the end)"
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func lastLines(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

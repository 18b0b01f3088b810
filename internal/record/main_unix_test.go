//go:build !windows

package record

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"golang.org/x/sys/unix"
)

func TestPasswdHome(t *testing.T) {
	const passwd = "root:x:0:0:root:/root:/bin/sh\n# comment\nshort:x:7:7\n" +
		"dev:x:1000:1000:A, B:/home/dev:/bin/bash\ntwin:x:1000:1000::/home/twin:/bin/sh\n+::::::\nlast:x:12:12::/last:"
	for uid, want := range map[int]string{0: "/root", 1000: "/home/dev", 12: "/last", 7: "", 100: "", -1: ""} {
		if got := passwdHome(passwd, uid); got != want {
			t.Errorf("uid %d: %q, want %q", uid, got, want)
		}
	}
}

func TestHome(t *testing.T) {
	t.Setenv("HOME", "/from/the/environment")
	if got := Home(); got != "/from/the/environment" {
		t.Errorf("got %q, want HOME", got)
	}
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		skip.Missing(t, "%v", err)
	}
	t.Setenv("HOME", "")
	want := passwdHome(string(passwd), os.Getuid())
	if got := Home(); got != want || os.Getuid() == 0 && !strings.HasPrefix(got, "/") {
		t.Errorf("got %q without HOME, want %q", got, want)
	}
}

func TestHookspanGetsTheHomeFolder(t *testing.T) {
	for name, tc := range map[string]struct {
		environ []string
		goos    string
		home    string
		want    []string
	}{
		"set":              {[]string{"A=b", "HOME=/h"}, "linux", "/h", []string{"A=b", "HOME=/h"}},
		"not set":          {[]string{"A=b"}, "linux", "/p", []string{"A=b", "HOME=/p"}},
		"set to nothing":   {[]string{"HOME=", "A=b"}, "linux", "/p", []string{"A=b", "HOME=/p"}},
		"not known":        {[]string{"A=b"}, "linux", "", []string{"A=b"}},
		"not set, Windows": {[]string{"A=b"}, "windows", `C:\h`, []string{"A=b", `USERPROFILE=C:\h`}},
	} {
		_, got, err := (&Process{Environ: tc.environ, GOOS: tc.goos, Home: tc.home}).Sibling(MainProgram)
		if d := cmp.Diff(tc.want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
		}
	}
}

// TestDetachReapedWaitsForItsChildren starts a program that ends at once:
// its entry in the process table goes.
func TestDetachReapedWaitsForItsChildren(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "pid")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := DetachReaped("/bin/sh", []string{"-c", "echo $$ > " + fifo}, nil, "/"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(fifo)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("the program has ended and is still there")
		}
	}
	if err := DetachReaped("/nowhere/program", nil, nil, "/"); err == nil {
		t.Error("no error for a program that is not there")
	}
}

// TestDetachPassesNoInheritedDescriptor gives a process descriptors as a script does,
// without the flag that ends them, and asks a detached program what it has.
func TestDetachPassesNoInheritedDescriptor(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "open")
	must(t, syscall.Mkfifo(fifo, 0o600))
	held, err := os.Open(os.DevNull)
	must(t, err)
	defer held.Close() //nolint:errcheck // Read only.
	for _, fd := range []int{9, 63, 700} {
		fd, err := unix.FcntlInt(held.Fd(), unix.F_DUPFD, fd)
		must(t, err)
		defer syscall.Close(fd) //nolint:errcheck // As above.
	}
	must(t, Detach("/bin/sh", []string{"-c", "for n in 3 9 63 700; do [ -e /dev/fd/$n ] && echo $n; done > " + fifo}, nil, "/"))
	text, err := os.ReadFile(fifo)
	must(t, err)
	if len(text) > 0 {
		t.Errorf("the program has the descriptors %q", text)
	}
}

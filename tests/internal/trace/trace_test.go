package trace

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// TestMain makes the test program play the traced one.
func TestMain(m *testing.M) {
	if os.Getenv("TRACE_TEST_ROLE") == "" {
		os.Exit(m.Run())
	}
	for _, line := range []string{"one\n", "two\n", "three\n"} {
		if _, err := os.Stdout.WriteString(line); err != nil {
			os.Stderr.WriteString(err.Error()) //nolint:errcheck // It is read by the test.
		}
	}
	os.Exit(7)
}

func TestRun(t *testing.T) {
	if err := Available(); err != nil {
		skip.Missing(t, "%v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := Program{Path: self, Env: []string{"TRACE_TEST_ROLE=writer"}, Dir: "/"}
	quiet, err := Run(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The runtime may write to an eventfd when it starts.
	first := quiet.Calls["write"] - 2
	for name, c := range map[string]struct {
		fault          *Fault
		hit            bool
		code           int
		stdout, stderr string
	}{
		"undisturbed":      {nil, false, 7, "one two three ", ""},
		"killed":           {&Fault{At: Call{"write", first + 1}}, true, -1, "one ", ""},
		"killed at once":   {&Fault{At: Call{"mmap", 1}}, true, -1, "", ""},
		"killed at exit":   {&Fault{At: Call{"exit_group", 1}}, true, -1, "one two three ", ""},
		"never reached":    {&Fault{At: Call{"write", 100}}, false, 7, "one two three ", ""},
		"one call fails":   {&Fault{At: Call{"write", first + 1}, Errno: syscall.EIO}, true, 7, "one three ", "input/output error"},
		"an interruption":  {&Fault{At: Call{"write", first + 1}, Errno: syscall.EINTR}, true, 7, "one two three ", ""},
		"calls go on fail": {&Fault{At: Call{"write", first}, Errno: syscall.ENOSPC, Lasts: func(n string) bool { return n == "write" }}, true, 7, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Run(p, c.fault)
			if err != nil {
				t.Fatal(err)
			}
			stdout := strings.ReplaceAll(string(got.Stdout), "\n", " ")
			if got.Hit != c.hit || got.Code != c.code || stdout != c.stdout || !strings.Contains(string(got.Stderr), c.stderr) ||
				c.code < 0 && got.Signal != "SIGKILL" {
				t.Errorf("hit %t, code %d, signal %q, stdout %q, stderr %q; want hit %t, code %d, %q, %q",
					got.Hit, got.Code, got.Signal, stdout, got.Stderr, c.hit, c.code, c.stdout, c.stderr)
			}
		})
	}
}

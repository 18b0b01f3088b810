// Package skip is how a test leaves itself out, so that a run says in the end what
// it did not prove. Tests alone import it.
package skip

import (
	"fmt"
	"os"
	"path"
	"runtime"
	"strings"
	"testing"
)

const (
	// Log is the environment variable with the file to which a line is added for each
	// test that is left out; without it nothing is written.
	Log = "HOOKSPAN_TEST_SKIPS"
	// Require is the environment variable that makes a test fail that this machine
	// cannot run: "all", or a file with the tests that may be left out on it. Each line
	// has a package or a pattern of packages and, unless it means all their tests, a blank and a
	// test, as in "internal/traces/store TestModes"; a line that begins with # is a comment.
	Require = "HOOKSPAN_TEST_REQUIRE"
)

const module = "github.com/hookspan/hookspan/"

// Missing leaves a test out because this machine lacks what it needs. The reason
// names what is missing.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	reason, test := fmt.Sprintf(format, args...), name(t)
	if !allowed(t, test) {
		t.Fatalf("must run here (%s=%s), but: %s", Require, os.Getenv(Require), reason)
	}
	leave(t, test, reason)
}

// Elsewhere leaves a test out because another command runs it, which the reason names.
func Elsewhere(t testing.TB, format string, args ...any) {
	t.Helper()
	leave(t, name(t), fmt.Sprintf(format, args...))
}

func leave(t testing.TB, test, reason string) {
	t.Helper()
	if file := os.Getenv(Log); file != "" {
		line := test + ": " + strings.Join(strings.Fields(reason), " ") + "\n"
		if err := add(file, line); err != nil {
			t.Fatalf("%s: %v", Log, err)
		}
	}
	t.Skip(reason)
}

// add writes the line at once, since other processes add theirs.
func add(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // The file that the person running the tests names.
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

func allowed(t testing.TB, test string) bool {
	t.Helper()
	list := os.Getenv(Require)
	if list == "" || list == "all" {
		return list == ""
	}
	text, err := os.ReadFile(list) //nolint:gosec // As above.
	if err != nil {
		t.Fatalf("%s: %v", Require, err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		in, _, _ := strings.Cut(test, " ")
		all, _ := path.Match(line, in)
		if line != "" && line[0] != '#' && (all || test == line || strings.HasPrefix(test, line+"/") || strings.HasPrefix(test, line+" ")) {
			return true
		}
	}
	return false
}

// name is the test's package, from the module's root, and its name.
func name(t testing.TB) string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.File, "_test.go") {
			slash := strings.LastIndexByte(frame.Function, '/')
			dot := slash + 1 + strings.IndexByte(frame.Function[slash+1:], '.')
			return strings.TrimSuffix(strings.TrimPrefix(frame.Function[:dot], module), "_test") + " " + t.Name()
		}
		if !more {
			return t.Name()
		}
	}
}

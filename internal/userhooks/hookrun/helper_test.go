package hookrun

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookmatch"
)

// runVariable makes this test's program one that runs the hook in it.
const runVariable = "RUN_THIS_HOOK"

func TestMain(m *testing.M) {
	if command := os.Getenv(runVariable); command != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		r := &Runner{GOOS: runtime.GOOS, Env: os.Environ(), Conditions: conditions}
		res := r.Run(ctx, []hookfile.Handler{shell(command)}, []Event{toolCall("{}")})
		stop()
		for _, run := range res.Runs {
			fmt.Printf("%s\n", run.Err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func shell(line string) hookfile.Handler {
	return hookfile.Handler{Event: preToolUse, Type: hookfile.TypeCommand, Command: line, File: "hooks.json", Line: 1}
}

func toolCall(payload string) Event {
	return Event{Name: preToolUse, Subjects: []string{"Bash"}, Tool: "Bash", Payload: []byte(payload)}
}

// world is the folder where a test's hooks run, with a token that marks their processes.
type world struct {
	*Runner
	dir, token string
}

// conditions are those of package hookmatch.
var conditions = Conditions{Matcher: hookmatch.Compile, Rule: hookmatch.Fits}

// newWorld makes a folder with the fifos "ready" and "go". What a test leaves
// behind is ended with it.
func newWorld(t testing.TB) world {
	t.Helper()
	needsUnix(t)
	dir := t.TempDir()
	w := world{dir: dir, token: "hookrun-test-" + strconv.Itoa(os.Getpid()) + "-" + filepath.Base(filepath.Dir(dir)) + filepath.Base(dir)}
	w.Runner = &Runner{
		Session: "s", Conditions: conditions,
		Dir: dir, ProjectDir: dir, Home: dir, GOOS: runtime.GOOS,
		Env: []string{"PATH=" + os.Getenv("PATH"), "TOKEN=" + w.token},
	}
	t.Cleanup(func() {
		for _, p := range w.left(t) {
			if process, err := os.FindProcess(p.pid); err == nil {
				_ = process.Kill()
			}
		}
	})
	return w
}

func needsUnix(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "windows" {
		skip.Missing(t, "these hooks are shell scripts for /bin/sh")
	}
}

func (w world) path(name string) string { return filepath.Join(w.dir, name) }

// fifo makes a fifo and opens it, so that neither side waits for the other.
func (w world) fifo(t testing.TB, name string) *os.File {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "mkfifo", w.path(name)).CombinedOutput(); err != nil {
		t.Fatalf("mkfifo: %v: %s", err, out)
	}
	f, err := os.OpenFile(w.path(name), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// await reads n lines from a fifo. If they do not arrive, the test fails.
func await(t testing.TB, f *os.File, n int) string {
	t.Helper()
	if err := f.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for bytes.Count(got, []byte("\n")) < n {
		buf := make([]byte, 4096)
		k, err := f.Read(buf)
		if err != nil {
			t.Fatalf("wait for %d lines, got %q: %v", n, got, err)
		}
		got = append(got, buf[:k]...)
	}
	return string(got)
}

// one runs one hook for one call.
func (w world) one(ctx context.Context, t testing.TB, h hookfile.Handler, payload string) Run {
	t.Helper()
	res := w.Run(ctx, []hookfile.Handler{h}, []Event{toolCall(payload)})
	if len(res.Runs) != 1 || len(res.Verdicts) != 1 {
		t.Fatalf("%d runs, %d verdicts; want one", len(res.Runs), len(res.Verdicts))
	}
	return res.Runs[0]
}

type leftover struct {
	pid  int
	what string
}

// left are the processes of the test's hooks that are alive, found by the token
// in their environment or among their arguments.
func (w world) left(t testing.TB) []leftover {
	t.Helper()
	if runtime.GOOS != "linux" {
		out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "ps", "axeww", "-o", "pid=,stat=,command=").Output()
		if err != nil {
			t.Fatal(err)
		}
		var found []leftover
		for line := range strings.Lines(string(out)) {
			f := strings.Fields(line)
			if len(f) < 3 || !strings.Contains(line, w.token) || strings.HasPrefix(f[1], "Z") {
				continue
			}
			if pid, err := strconv.Atoi(f[0]); err == nil && pid != os.Getpid() {
				found = append(found, leftover{pid, line})
			}
		}
		return found
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []leftover
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		var all []byte
		for _, name := range []string{"cmdline", "environ"} {
			data, err := os.ReadFile(filepath.Join("/proc", e.Name(), name))
			if err != nil {
				continue
			}
			all = append(all, data...)
		}
		if bytes.Contains(all, []byte(w.token)) {
			found = append(found, leftover{pid, strconv.Quote(string(all[:min(len(all), 120)]))})
		}
	}
	return found
}

// gone fails a test that left processes or goroutines.
func (w world) gone(t testing.TB) {
	t.Helper()
	for _, p := range w.left(t) {
		// A killed process ends when the system schedules it.
		if w.outlives(t, p.pid) {
			t.Errorf("left: %d %s", p.pid, p.what)
		}
	}
	// A goroutine ends after its last signal.
	for range 200 {
		buf := make([]byte, 1<<20)
		text := string(buf[:runtime.Stack(buf, true)])
		if !strings.Contains(text, "hookrun.(*process)") && !strings.Contains(text, "hookrun.(*batch)") && !strings.Contains(text, "hookrun.(*supervisor)") {
			return
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
	t.Error("a goroutine of a run goes on")
}

// outlives waits for a process of the test's to end, and reports whether it never
// did. A zombie does not count.
func (w world) outlives(t testing.TB, pid int) bool {
	t.Helper()
	for range 2000 {
		if !slices.ContainsFunc(w.left(t), func(l leftover) bool { return l.pid == pid }) {
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
	return true
}

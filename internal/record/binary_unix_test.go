//go:build !windows

package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/userhooks/hooksession"
	"github.com/hookspan/hookspan/spool"
)

// roleVariable makes the test program play another: the hookspan that a hook
// starts, or a hook that crashes.
const roleVariable = "HOOKPROC_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "hookspan":
		if err := fakeHookspan(); err != nil {
			panic(err)
		}
		return
	case "crash":
		h := clineAgent
		h.Peek = func([]byte, string) hook.Head {
			done := make(chan struct{})
			go func() { panic("on a goroutine without recover") }()
			<-done
			return hook.Head{}
		}
		Main(h)
	}
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// built holds the programs under test for all tests of this process.
var built struct {
	sync.Once
	dir string
	err error
}

// program builds cline-hook, with the test program beside it as hookspan, and
// launch. It returns the path of the one asked for.
func program(t testing.TB, name string) string {
	t.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "record"); built.err != nil {
			return
		}
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", built.dir+"/",
			"github.com/hookspan/hookspan/cmd/cline-hook", "github.com/hookspan/hookspan/internal/testkit/launch")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
			return
		}
		self, err := os.Executable()
		if err != nil {
			built.err = err
			return
		}
		built.err = os.Symlink(self, filepath.Join(built.dir, "hookspan"))
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, name)
}

// command is the hook binary in the call's world.
func (c *call) command(payload io.Reader, event string) *exec.Cmd {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), program(c.t, "cline-hook"), event)
	cmd.Env = append(slices.Clone(c.Environ), "HOME="+c.path("home"))
	cmd.Dir, cmd.Stdin = c.Dir, payload
	return cmd
}

func newBinaryCall(t *testing.T) *call {
	t.Helper()
	c := newCall(t)
	if err := os.Mkdir(c.path("home"), 0o700); err != nil {
		t.Fatal(err)
	}
	// The binary has the true clock, so the sweep is claimed by that.
	c.claimSweep(time.Now())
	return c
}

func TestBinaryIsQuietAndExitsWithZero(t *testing.T) {
	for name, tc := range map[string]struct {
		payload io.Reader
		with    func(c *call)
		args    []string
		stored  int
	}{
		"an event":    {payload: strings.NewReader(toolEvent), stored: 1},
		"no argument": {payload: strings.NewReader(toolEvent), args: []string{}, stored: 1},
		"unknown arguments": {
			payload: strings.NewReader(toolEvent), args: []string{"PostToolUse", "-x", "--help"}, stored: 1,
		},
		"garbage":          {payload: bytes.NewReader(bytes.Repeat([]byte("\xff\x00"), 100_000)), stored: 1},
		"nothing":          {payload: strings.NewReader(""), stored: 1},
		"large":            {payload: stream(`{"taskId":"1","x":"`, "x", 10<<20, `"}`), stored: 1},
		"large garbage":    {payload: stream("", "x", 10<<20, ""), stored: 1},
		"no state folder":  {payload: strings.NewReader(toolEvent), with: func(c *call) { c.write("file", ""); c.Environ[0] = "XDG_STATE_HOME=" + c.path("file") }},
		"no environment":   {payload: strings.NewReader(toolEvent), with: func(c *call) { c.Environ = []string{"XDG_STATE_HOME=" + c.path("state")} }, stored: 1},
		"a missing script": {payload: strings.NewReader(toolEvent), with: func(c *call) { c.setenv("HOOKSPAN_CHAIN", "/nowhere/hook") }, stored: 1},
		"wrong settings": {
			payload: strings.NewReader(toolEvent), stored: 1,
			with: func(c *call) { c.setenv("HOOKSPAN_CAPTURE", "x"); c.setenv("GODEBUG", "x=y"); c.setenv("GOGC", "x") },
		},
		"stack traces asked for": {
			payload: strings.NewReader("{"), with: func(c *call) { c.setenv("GOTRACEBACK", "single") }, stored: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newBinaryCall(t)
			if tc.with != nil {
				tc.with(c)
			}
			cmd := c.command(tc.payload, "PostToolUse")
			if tc.args != nil {
				cmd.Args = append(cmd.Args[:1], tc.args...)
			}
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil {
				t.Errorf("ends with %v", err)
			}
			if stdout.String() != neutral+"\n" || stderr.Len() > 0 {
				t.Errorf("stdout %q, stderr %q; want the neutral answer and nothing", &stdout, &stderr)
			}
			if n := len(c.records()); n != tc.stored {
				t.Errorf("%d events stored, want %d", n, tc.stored)
			}
		})
	}
}

// TestBinaryWithoutReaders closes what the host should read before the hook
// starts: writing gives EPIPE then, and by default a signal that kills.
func TestBinaryWithoutReaders(t *testing.T) {
	c := newBinaryCall(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := c.command(strings.NewReader(toolEvent), "PostToolUse")
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Run()
	if err := errors.Join(err, w.Close()); err != nil {
		t.Errorf("ends with %v", err)
	}
	if len(c.records()) != 1 {
		t.Error("the event is not stored")
	}
}

// TestBinaryWithoutStreams starts the hook with no open descriptor at all.
func TestBinaryWithoutStreams(t *testing.T) {
	c := newBinaryCall(t)
	cmd := c.command(nil, "")
	cmd.Args = []string{"sh", "-c", `exec "$0" PostToolUse <&- >&- 2>&-`, cmd.Path}
	cmd.Path = "/bin/sh"
	if err := cmd.Run(); err != nil {
		t.Errorf("ends with %v", err)
	}
	if n := len(c.records()); n != 1 {
		t.Errorf("%d events stored, want an empty one", n)
	}
}

// TestBinaryCrash crashes a hook beyond recovery: by a signal, since the exit
// code of an ordinary Go crash is a verdict to some hosts, and without a core
// file.
func TestBinaryCrash(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := newBinaryCall(t)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env, cmd.Dir, cmd.Stdin = append(slices.Clone(c.Environ), roleVariable+"=crash"), c.Dir, strings.NewReader(toolEvent)
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("ends with %v", err)
	}
	status := exit.Sys().(syscall.WaitStatus)
	if !status.Signaled() || status.Signal() != syscall.SIGABRT || status.CoreDump() {
		t.Errorf("ends with code %d, signal %v, core %v; want SIGABRT without a core", status.ExitStatus(), status.Signal(), status.CoreDump())
	}
}

// TestBinarySignals sends a signal while the payload is still being written.
// What a terminal sends to all in it must not cost the event.
func TestBinarySignals(t *testing.T) {
	// More than a pipe holds: once it is written, the hook is reading.
	payload := `{"taskId":"17","x":"` + strings.Repeat("x", 256<<10) + `"}`
	for _, tc := range []struct {
		signal   syscall.Signal
		survives bool
	}{{syscall.SIGINT, true}, {syscall.SIGHUP, true}, {syscall.SIGTERM, false}} {
		t.Run(tc.signal.String(), func(t *testing.T) {
			c := newBinaryCall(t)
			cmd := c.command(nil, "PostToolUse")
			stdin, err := cmd.StdinPipe()
			must(t, err)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			must(t, cmd.Start())
			_, err = io.WriteString(stdin, payload[:len(payload)-1])
			must(t, err)
			must(t, cmd.Process.Signal(tc.signal))
			if !tc.survives {
				var exit *exec.ExitError
				if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != tc.signal {
					t.Errorf("ends with %v, want to be ended by the signal", err)
				}
				return
			}
			// To a process that has ended this fails, which Wait reports better.
			_, _ = io.WriteString(stdin, payload[len(payload)-1:])
			_ = stdin.Close()
			err = cmd.Wait()
			if err != nil || stdout.String() != neutral+"\n" || stderr.Len() > 0 {
				t.Errorf("ends with %v, stdout %q, stderr %q", err, &stdout, &stderr)
			}
			if r := c.records(); len(r) != 1 || string(r[0].Payload) != payload {
				t.Errorf("%d events stored, want the one, whole", len(r))
			}
		})
	}
}

// chain makes the user's own hook and has the program run it too.
func (c *call) chain(text string) {
	c.t.Helper()
	c.write("hook", text)
	must(c.t, os.Chmod(c.path("hook"), 0o700)) //nolint:gosec // A program.
	c.setenv("HOOKSPAN_CHAIN", c.path("hook"))
}

// TestBinaryChainSignals has the script report which signals reach it. A shell
// cannot catch a signal that was ignored when it started.
func TestBinaryChainSignals(t *testing.T) {
	// What is caught here has its default in the programs started below, also
	// where these tests themselves were started with it ignored.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP, syscall.SIGINT)
	defer signal.Stop(caught)
	for name, tc := range map[string]struct{ before, want string }{
		"started with the defaults": {"", "int\nhup\n"},
		"started by nohup":          {"trap '' HUP; ", "int\n"},
		"started with both ignored": {"trap '' HUP INT; ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newBinaryCall(t)
			c.chain("#!/bin/sh\ntrap 'echo int >&2' INT\ntrap 'echo hup >&2' HUP\nkill -INT $$\nkill -HUP $$\n")
			cmd := c.command(strings.NewReader(toolEvent), "")
			cmd.Args = []string{"sh", "-c", tc.before + `exec "$0" PostToolUse`, cmd.Path}
			cmd.Path = "/bin/sh"
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Run(); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, stderr.String()); d != "" {
				t.Errorf("signals (-want +got):\n%s", d)
			}
		})
	}
}

// TestBinaryChain has the script report what it inherits.
func TestBinaryChain(t *testing.T) {
	c := newBinaryCall(t)
	// Most of what is written here meets a closed pipe, quietly where the
	// signal for that is at its default.
	c.chain("#!/bin/sh\n(ulimit -c unlimited && seq 1 1000000 | head -n 1) >&2\necho '{\"cancel\":true}'\n")
	cmd := c.command(strings.NewReader(toolEvent), "PostToolUse")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("1\n", stderr.String()); d != "" {
		t.Errorf("the script's stderr (-want +got):\n%s", d)
	}
	if want := `{"cancel":true,"errorMessage":""}` + "\n"; stdout.String() != want {
		t.Errorf("answer %q, want %q", &stdout, want)
	}
}

// TestBinaryMemory holds the hook to its memory; what it took is printed.
func TestBinaryMemory(t *testing.T) {
	const mb = 1 << 20
	for _, tc := range []struct {
		name    string
		payload io.Reader
		most    int // KiB
	}{
		{"4 KB", stream(`{"taskId":"1","x":"`, "x", 4096, `"}`), 16 << 10},
		{"1 MB, kept whole", stream(`{"taskId":"1","x":"`, "x", mb-100, `"}`), 32 << 10},
		{"100 MB in one string", stream(`{"taskId":"1","x":"`, "some text\\n", 10*mb, `"}`), 32 << 10},
		{"100 MB in members of members", stream(`{"taskId":"1","x":{`, `"0123456789":[],`, 100*mb/16, `"":0}}`), 32 << 10},
		{"100 MB in short strings", stream(`{"taskId":"1","x":[`, `"0123456789abc",`, 100*mb/16, `""]}`), 32 << 10},
		{"100 MB of garbage", stream("", "garbage.", 100*mb/8, ""), 32 << 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newBinaryCall(t)
			cmd := c.command(tc.payload, "PostToolUse")
			cmd.Path, cmd.Args = program(t, "launch"), []string{"launch", "usage=" + c.path("usage"), "--", cmd.Path, "PostToolUse"}
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			begin := time.Now()
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %s", err, &stderr)
			}
			took := time.Since(begin)
			var peak int
			text, err := os.ReadFile(c.path("usage"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Sscan(string(text), &peak); err != nil {
				t.Fatalf("launch wrote %q", text)
			}
			t.Logf("%.1f MiB at most, %s", float64(peak)/1024, took.Round(100*time.Microsecond))
			if peak > tc.most {
				t.Errorf("%d KiB at most, want %d", peak, tc.most)
			}
			if stdout.String() != neutral+"\n" || len(c.records()) != 1 {
				t.Errorf("answer %q, %d events stored", &stdout, len(c.records()))
			}
		})
	}
}

// surroundings is what the program that a hook starts finds itself in.
type surroundings struct {
	Args     []string
	Dir      string
	OwnGroup bool // leads a separate session
	Null     []bool
}

// fakeHookspan runs instead of hookspan: it reports its surroundings to one fifo and waits
// until a second one is closed.
func fakeHookspan() error {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return err
	}
	s := surroundings{Args: os.Args[1:]}
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		fi, err := f.Stat()
		s.Null = append(s.Null, err == nil && os.SameFile(fi, null))
	}
	if s.Dir, err = os.Getwd(); err != nil {
		return err
	}
	sid, err := unix.Getsid(0)
	s.OwnGroup = err == nil && sid == os.Getpid()
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	// Opened before the report is written: after it, the test may close the fifo.
	hold, err := os.Open(os.Getenv("HOOKPROC_TEST_HOLD"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(os.Getenv("HOOKPROC_TEST_REPORT"), text, 0); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, hold)
	return errors.Join(err, hold.Close())
}

// TestBinaryDetaches ends a run, while the program that is started for it lives
// on: the host must see the hook end and its output close all the same.
func TestBinaryDetaches(t *testing.T) {
	for name, with := range map[string]func(*call){
		"a home":         func(*call) {},
		"a missing home": func(c *call) { must(c.t, os.Remove(c.path("home"))) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newBinaryCall(t)
			with(c)
			detaches(t, c)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func detaches(t *testing.T, c *call) {
	t.Helper()
	for _, fifo := range []string{"report", "hold"} {
		if err := unix.Mkfifo(c.path(fifo), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.setenv(roleVariable, "hookspan")
	c.setenv("HOOKPROC_TEST_REPORT", c.path("report"))
	c.setenv("HOOKPROC_TEST_HOLD", c.path("hold"))
	// Opened for both directions, so that neither side waits for the other
	// where something goes wrong.
	hold, err := os.OpenFile(c.path("hold"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := c.command(strings.NewReader(doneEvent), "TaskComplete")
	var stdout, stderr bytes.Buffer
	// Buffers make Run wait until no process holds the pipes, as Cline does.
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// If the started program held them, this would end it, and the test fail.
	freed := make(chan struct{})
	timer := time.AfterFunc(20*time.Second, func() {
		close(freed)
		_ = hold.Close()
	})
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if !timer.Stop() {
		<-freed
		t.Fatal("the hook's output stayed open until the program it had started was ended")
	}
	// If nothing was started, no other process would open the report.
	timer = time.AfterFunc(20*time.Second, func() {
		if f, err := os.OpenFile(c.path("report"), os.O_RDWR, 0); err == nil {
			_ = f.Close()
		}
	})
	report, err := os.ReadFile(c.path("report"))
	timer.Stop()
	if err := errors.Join(err, hold.Close()); err != nil {
		t.Fatal(err)
	}
	var got surroundings
	if err := json.Unmarshal(report, &got); err != nil {
		t.Fatalf("%q: %v", report, err)
	}
	want := surroundings{
		Args: []string{"flush", "--detached", "--session", spool.SessionKey("cline", "17").String()},
		Dir:  "/", OwnGroup: true, Null: []bool{true, true, true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("surroundings of the started program (-want +got):\n%s", d)
	}
	if stdout.String() != neutral+"\n" || stderr.Len() > 0 {
		t.Errorf("stdout %q, stderr %q", &stdout, &stderr)
	}
}

// TestBinaryWithoutHookspan ends a run where there is nothing to start.
func TestBinaryWithoutHookspan(t *testing.T) {
	c := newBinaryCall(t)
	data, err := os.ReadFile(program(t, "cline-hook"))
	if err != nil {
		t.Fatal(err)
	}
	c.write("cline-hook", string(data))
	if err := os.Chmod(c.path("cline-hook"), 0o700); err != nil { //nolint:gosec // A program.
		t.Fatal(err)
	}
	cmd := c.command(strings.NewReader(doneEvent), "TaskComplete")
	cmd.Path = c.path("cline-hook")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != neutral+"\n" {
		t.Errorf("ends with %v, output %q", err, out)
	}
	if log := c.log(); !strings.Contains(log, "delivery not started") {
		t.Errorf("log %q", log)
	}
}

const startEvent = `{"clineVersion":"3.89.2","hookName":"PreToolUse","timestamp":"1776506405123","taskId":"17","preToolUse":{"toolName":"read_file"}}`

// TestBinaryChoosesTheRunner puts scripts in place of the programs that run hooks.
func TestBinaryChoosesTheRunner(t *testing.T) {
	const commands, requests = `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"true"}]}]}}`,
		`{"hooks":{"PreToolUse":[{"hooks":[{"type":"http","url":"http://127.0.0.1:1"}]}]}}`
	for name, tc := range map[string]struct {
		file     string
		programs []string
		need     hooksession.Need // as a runner that has seen the file says
		want     string
	}{
		"command hooks":                             {commands, []string{"hook-runner", "hookspan"}, hooksession.Commands, "hook-runner"},
		"plain hooks, which are guards":             {commands, []string{"hook-runner", "hookspan"}, hooksession.Plain, "hook-runner"},
		"http hooks":                                {requests, []string{"hook-runner", "hookspan"}, hooksession.Everything, "hookspan"},
		"a file that no runner has seen":            {commands, []string{"hook-runner", "hookspan"}, hooksession.Nothing, "hookspan"},
		"command hooks, hook-runner is missing":     {commands, []string{"hookspan"}, hooksession.Commands, "hookspan"},
		"command hooks, both programs are missing":  {commands, nil, hooksession.Commands, "no such file"},
		"http hooks, only hook-runner is installed": {requests, []string{"hook-runner"}, hooksession.Everything, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newBinaryCall(t)
			data, err := os.ReadFile(program(t, "cline-hook"))
			must(t, err)
			for _, dir := range []string{"home/.cline", "bin"} {
				must(t, os.MkdirAll(c.path(dir), 0o700))
			}
			c.write("home/.cline/hooks.json", tc.file)
			c.write("bin/cline-hook", string(data))
			for _, p := range tc.programs {
				c.write("bin/"+p, "#!/bin/sh\necho '{\"cancel\":true,\"errorMessage\":\"'\"${0##*/}\"'\"}'\n")
			}
			for _, p := range append(tc.programs, "cline-hook") {
				must(t, os.Chmod(c.path("bin/"+p), 0o700)) //nolint:gosec // A program.
			}
			if tc.need != hooksession.Nothing {
				f := hooksession.File{Path: c.path("home/.cline/hooks.json")}
				must(t, f.Summarize(hooksession.Dir(c.path("state/hookspan")), []byte(tc.file), hooksession.Summary{hook.KindToolStart: {Need: tc.need}}))
			}
			cmd := c.command(strings.NewReader(startEvent), "PreToolUse")
			cmd.Path = c.path("bin/cline-hook")
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), tc.want) || !strings.Contains(string(out), `"cancel":true`) {
				t.Errorf("ends with %v, answers %s, want a denial with %q", err, out, tc.want)
			}
		})
	}
}

// TestBinariesAtOnce runs many hooks of one session side by side.
func TestBinariesAtOnce(t *testing.T) {
	c := newBinaryCall(t)
	const hooks = 64
	errs := make(chan error, hooks)
	for i := range hooks {
		cmd := c.command(strings.NewReader(fmt.Sprintf(`{"taskId":"17","n":%d}`, i)), "PostToolUse")
		go func() {
			out, err := cmd.CombinedOutput()
			if err == nil && string(out) != neutral+"\n" {
				err = fmt.Errorf("output %q", out)
			}
			errs <- err
		}()
	}
	for range hooks {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	seen := make(map[string]bool)
	for _, r := range c.records() {
		seen[string(r.Payload)] = true
	}
	if len(seen) != hooks {
		t.Errorf("%d different events stored, want %d", len(seen), hooks)
	}
}

// TestBinarySize holds the hook's size to the budget.
func TestBinarySize(t *testing.T) {
	fi, err := os.Stat(program(t, "cline-hook"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.2f MB on %s/%s", float64(fi.Size())/1e6, runtime.GOOS, runtime.GOARCH)
	if fi.Size() > 5e6 {
		t.Errorf("%d bytes, want at most 5 MB", fi.Size())
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hookspan/hookspan/internal/record"
	"github.com/hookspan/hookspan/internal/record/answer"
	"github.com/hookspan/hookspan/internal/record/claudehook"
	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/testkit/ramdir"
)

// asVariable names the program that this test program is to be, smallProgram its file.
const (
	asVariable   = "HOOKSPAN_TEST_AS"
	smallProgram = "program"
)

func TestMain(m *testing.M) {
	as := os.Getenv(asVariable)
	if as == "" && filepath.Base(os.Args[0]) == smallProgram {
		as = "hookspan" // It has started itself, by the path of its file. Otherwise all tests would run.
	}
	if as != "" {
		os.Args[0] = as
		_ = os.Unsetenv(asVariable) // It is not for what the program starts.
	}
	testscript.Main(m, map[string]func(){
		"hookspan":    main,
		"cline-hook":  func() { record.Main(answer.ClineHook()) },
		"claude-hook": func() { record.Main(claudehook.Agents(os.Getenv)...) },
	})
}

// TestScripts runs one script for each promise of the command line. The hook
// that play starts has no hookspan beside it and so starts no delivery: nothing
// happens behind a script's back unless it puts the two side by side.
func TestScripts(t *testing.T) {
	source, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	small := smallPrograms(t)
	testscript.Run(t, testscript.Params{
		Files:              scripts(t),
		RequireUniqueNames: true,
		WorkdirRoot:        inMemory(t, small),
		Setup:              func(e *testscript.Env) error { return setup(e, source, small) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"alone": alone, "append": appendLine, "bridge": bridgeCommand, "entry": entry, "exits": exits, "fake": fake, "follow": follow, "generated": generated, "home": home, "machine": onMachine, "play": play, "post": post, "took": took,
		},
	})
}

// smallPrograms makes a folder with programs that each start this test program. An install
// copies programs and compares them byte by byte, and this one is fifty megabytes.
func smallPrograms(t *testing.T) (dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		return ""
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for folder, names := range map[string][]string{
		"together": {"hookspan", "cline-hook", "claude-hook"}, "hookspan": {"hookspan"}, "cline-hook": {"cline-hook"},
		"claude-hook": {"claude-hook"},
	} {
		program := filepath.Join(dir, folder, smallProgram) // A program looks for others beside itself.
		if err := os.Mkdir(filepath.Dir(program), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(self, program); err != nil {
			return "" // on another device
		}
		for _, name := range names {
			text := fmt.Sprintf("#!/bin/sh\n%s=%s exec '%s' \"$@\"\n", asVariable, name, program)
			if err := os.WriteFile(filepath.Join(dir, folder, name), []byte(text), 0o700); err != nil { //nolint:gosec // A program.
				t.Fatal(err)
			}
		}
	}
	return dir
}

// inMemory is a folder in memory for what scripts write durably. It is empty where programs
// cannot be executed there, or are not small.
func inMemory(t *testing.T, small string) string {
	t.Helper()
	if small == "" {
		return ""
	}
	dir := ramdir.New(t)
	probe := filepath.Join(dir, "probe")
	if err := os.WriteFile(probe, []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // A program.
		t.Fatal(err)
	}
	if exec.CommandContext(t.Context(), probe).Run() != nil { //nolint:gosec // It has just been written.
		return ""
	}
	return dir
}

// notOnWindows has the scripts that Windows cannot run, by reason.
var notOnWindows = map[string]string{
	"PowerShell, or hooks or an agent that are shell scripts": "cline_hook_enable doctor doctor_claude hook_sums hooks_add hooks_doctor hooks_import hooks_release hooks_secrets hooks_trust " +
		"hooks_test install install_claude install_codex install_copilot install_edited install_foreign install_found install_gemini install_kimi " +
		"install_opencode install_pi install_programs install_project install_qwen list_denied",
	"sh or sed":                    "delete delete_session doctor_claude_otel doctor_destinations guests statusline verify",
	"a signal that ends a program": "bridge bridge_client bridge_cline bridge_record tail_follow ui",
	"symbolic links":               "hooks_list",
	"a system without a keyring":   "credentials",
	"folders of recordings as this system writes them": "tail",
}

// scripts are the files of the scripts that this system can run.
func scripts(t *testing.T) (files []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	needs := map[string]string{}
	for reason, names := range notOnWindows {
		for _, name := range strings.Fields(names) {
			needs[filepath.Join("testdata", "script", name+".txtar")] = reason
			if !slices.Contains(all, filepath.Join("testdata", "script", name+".txtar")) {
				t.Errorf("notOnWindows: there is no script %s", name)
			}
		}
	}
	for _, file := range all {
		if strings.HasSuffix(file, "managed.txtar") && (runtime.GOOS != "linux" || os.Geteuid() != 0) {
			t.Logf("%s: not run: it needs root on Linux, for an /etc of its own", file)
			continue
		}
		if needs[file] != "" && runtime.GOOS == "windows" {
			t.Logf("%s: not run: it needs %s", file, needs[file])
			continue
		}
		files = append(files, file)
	}
	return files
}

// setup gives a script a separate home folder, a documents folder and a Claude
// Code whatever this machine has, and no keyring.
func setup(e *testscript.Env, source, small string) error {
	home := filepath.Join(e.WorkDir, "home")
	for name, value := range map[string]string{
		"HOME":      home,
		"STATE":     filepath.Join(home, ".local", "state", "hookspan"),
		"SETTINGS":  filepath.Join(home, ".config", "hookspan", "hookspan.env"),
		"SESSIONS":  filepath.Join(source, "..", "..", "hook", "cline", "testdata"),
		"DEMO":      filepath.Join(source, "..", "..", "internal", "demo"),
		"GENERATED": filepath.Join(source, "testdata", "home"),
		"FILES":     filepath.Join(source, "..", "..", "internal", "transcript", "testdata"),
		// Nobody answers there.
		"DBUS_SESSION_BUS_ADDRESS": "unix:path=" + filepath.Join(e.WorkDir, "no-bus"),
	} {
		e.Setenv(name, value)
	}
	if runtime.GOOS == "windows" {
		local, roaming := filepath.Join(home, "AppData", "Local"), filepath.Join(home, "AppData", "Roaming")
		for name, value := range map[string]string{
			"USERPROFILE": home, "LOCALAPPDATA": local, "APPDATA": roaming,
			"STATE": filepath.Join(local, "hookspan"), "SETTINGS": filepath.Join(roaming, "hookspan", "hookspan.env"),
		} {
			e.Setenv(name, value)
		}
	}
	if err := os.MkdirAll(filepath.Dir(e.Getenv("SETTINGS")), 0o700); err != nil {
		return err
	}
	bin := filepath.Join(e.WorkDir, ".bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	if small != "" {
		e.Setenv("SMALL", small)
		e.Setenv("PATH", filepath.Join(small, "together")+string(os.PathListSeparator)+e.Getenv("PATH"))
	}
	e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
	f := &fakes{}
	e.Values[fakesKey{}] = f
	e.Defer(f.close)
	b := &runningBridge{}
	e.Values[bridgeKey{}] = b
	e.Defer(b.kill)
	for name, text := range map[string]string{
		"xdg-user-dir": "#!/bin/sh\necho \"$HOME/Documents\"\n",
		"claude":       "#!/bin/sh\necho \"${CLAUDE_VERSION:-2.1.332} (Claude Code)\"\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil { //nolint:gosec // A program.
			return err
		}
	}
	return nil
}

// appendLine adds a line to a file: append FILE LINE.
func appendLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: append FILE LINE")
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	_, err = f.WriteString(args[1] + "\n")
	ts.Check(errors.Join(err, f.Close()))
}

// onMachine runs a program that sees $WORK/etc as /etc, as root: machine [!] PROGRAM
// [ARGUMENT...]. The exit code 0 is wanted, or with ! another.
func onMachine(ts *testscript.TestScript, neg bool, args []string) {
	etc := ts.MkAbs("etc")
	if _, err := os.Stat(etc + "/passwd"); err != nil {
		ts.Check(os.MkdirAll(etc, 0o755)) //nolint:gosec // As /etc.
		ts.Check(ts.Exec("cp", "-a", "/etc/.", etc))
	}
	// The hosts of the machine may be a mount of its own, which is not needed.
	inside := `mount --bind "$0" /etc && exec "$@"`
	err := ts.Exec("unshare", append([]string{"-m", "sh", "-c", inside, etc}, args...)...)
	if neg != (err != nil) {
		ts.Fatalf("exit code: %v", err)
	}
}

// alone copies a program into a folder where it has none beside it, and puts
// that folder first: alone PROGRAM.
func alone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: alone PROGRAM")
	}
	to, err := copyAlone(ts, args[0])
	ts.Check(err)
	ts.Setenv("PATH", filepath.Dir(to)+string(os.PathListSeparator)+ts.Getenv("PATH"))
}

func copyAlone(ts *testscript.TestScript, program string) (string, error) {
	if small := ts.Getenv("SMALL"); small != "" {
		return filepath.Join(small, program, program), nil
	}
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	to := filepath.Join(ts.Getenv("WORK"), ".alone-"+program, program)
	if _, err := os.Stat(to); err == nil {
		return to, nil
	}
	from, err := find(ts.Getenv("PATH"), program)
	if err != nil {
		return "", err
	}
	if from, err = filepath.EvalSymlinks(from); err != nil {
		return "", err
	}
	if err := os.Mkdir(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	if os.Link(from, to) == nil {
		return to, nil
	}
	b, err := os.ReadFile(from) //nolint:gosec // The test's own program.
	if err != nil {
		return "", err
	}
	return to, os.WriteFile(to, b, 0o700) //nolint:gosec // A program.
}

// entry runs the command of an agent's settings as the agent does: entry FILE EVENT INPUT.
func entry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: entry FILE EVENT INPUT")
	}
	var settings struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &settings))
	groups := settings.Hooks[args[1]]
	if len(groups) != 1 || len(groups[0].Hooks) != 1 {
		ts.Fatalf("%s has %d groups of %s, want one with one hook", args[0], len(groups), args[1])
	}
	cmd := shellLine(context.Background(), groups[0].Hooks[0].Command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(ts.ReadFile(args[2])), ts.Stdout(), ts.Stderr()
	cmd.Dir, cmd.Env = ts.MkAbs("."), environ(ts)
	ts.Check(cmd.Run())
}

// exits runs a program and checks its exit code: exits CODE PROGRAM [WORD...].
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [WORD...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

type fakesKey struct{}

// fakes are the receivers of one script.
type fakes struct {
	otlp     *otlptest.Server
	infinium *infiniumtest.Server
}

func (f *fakes) close() {
	if f.otlp != nil {
		f.otlp.Close()
	}
	if f.infinium != nil {
		f.infinium.Close()
	}
}

// fake starts a receiver and puts its address into OTLP or INFINIUM; with a
// status it answers with that from now on: fake otlp|infinium [STATUS].
func fake(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: fake otlp|infinium [STATUS]")
	}
	f := ts.Value(fakesKey{}).(*fakes)
	status := 0
	if len(args) == 2 {
		var err error
		status, err = strconv.Atoi(args[1])
		ts.Check(err)
	}
	switch args[0] {
	case "otlp":
		if f.otlp == nil {
			f.otlp = otlptest.New()
			ts.Setenv("OTLP", f.otlp.URL())
		}
		f.otlp.Reset()
		if status != 0 {
			f.otlp.Always(otlptest.Status(status, "as the script says"))
		}
	case "infinium":
		if f.infinium == nil {
			f.infinium = infiniumtest.New()
			ts.Setenv("INFINIUM", f.infinium.URL())
		}
		f.infinium.Reset()
		if status != 0 {
			f.infinium.Always(infiniumtest.Status(status, "as the script says"))
		}
	default:
		ts.Fatalf("no receiver %q", args[0])
	}
}

// took checks how many spans or traces a receiver has: took otlp|infinium N.
func took(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: took otlp|infinium N")
	}
	f := ts.Value(fakesKey{}).(*fakes)
	n := 0
	switch {
	case args[0] == "otlp" && f.otlp != nil:
		n = len(f.otlp.Spans())
	case args[0] == "infinium" && f.infinium != nil:
		n = len(f.infinium.Traces())
	}
	if strconv.Itoa(n) != args[1] {
		ts.Fatalf("%s took %d, want %s", args[0], n, args[1])
	}
}

// home puts recorded files of an agent where the agent keeps them: home
// cline|claude FROM TO.
func home(ts *testscript.TestScript, neg bool, args []string) {
	folders := map[string]string{"cline": filepath.Join(".cline", "data"), "claude": ".claude"}
	if neg || len(args) != 3 || folders[args[0]] == "" {
		ts.Fatalf("usage: home cline|claude FROM TO")
	}
	from := recorded(ts, "FILES", args[1])
	to := filepath.Join(ts.Getenv("HOME"), folders[args[0]], filepath.FromSlash(args[2]))
	ts.Check(os.CopyFS(to, os.DirFS(from)))
}

// recorded is the folder of a recorded session; hookspan's demonstration has Cline's classic one.
func recorded(ts *testscript.TestScript, folders, name string) string {
	if demo := map[string]string{"classic-session": "session", "classic/1795175957341": "task"}[name]; demo != "" {
		return filepath.Join(ts.Getenv("DEMO"), demo)
	}
	return filepath.Join(ts.Getenv(folders), filepath.FromSlash(name))
}

// generated puts the files of Claude Code, Codex and the Gemini CLI in testdata/home, which a
// generator of plausible work made, into the home folder and imports them.
func generated(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: generated")
	}
	ts.Check(os.CopyFS(ts.Getenv("HOME"), os.DirFS(ts.Getenv("GENERATED"))))
	for _, agent := range []string{"claude", "codex", "gemini"} {
		ts.Check(ts.Exec("hookspan", "import", agent))
	}
}

// play gives the payloads of a recorded session to hook processes; with & they
// start deliveries as they do in life: play [&] SESSION [FILES], where FILES is a
// pattern.
func play(ts *testscript.TestScript, neg bool, args []string) {
	live := len(args) > 0 && args[0] == "&"
	if live {
		args = args[1:]
	}
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: play [&] SESSION [FILES]")
	}
	args = append(args, "*.json")
	files, err := filepath.Glob(filepath.Join(recorded(ts, "SESSIONS", args[0]), args[1]))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no payloads of %s", args[0])
	}
	hook, err := find(ts.Getenv("PATH"), "cline-hook")
	if !live && err == nil {
		hook, err = copyAlone(ts, "cline-hook")
	}
	ts.Check(err)
	for _, f := range files {
		ts.Check(playOne(ts, hook, f))
	}
}

func playOne(ts *testscript.TestScript, hook, file string) error {
	_, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
	in, err := os.Open(file) //nolint:gosec // The test's own data.
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	cmd := exec.CommandContext(context.Background(), hook, event) //nolint:gosec // The program is ours.
	cmd.Stdin, cmd.Dir = in, ts.MkAbs(".")
	cmd.Env = environ(ts, "HOOKSPAN_DISABLED", "HOOKSPAN_TRACEPARENT")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), `{"cancel":false`) {
		return fmt.Errorf("cline-hook %s: %w, said %q", event, err, out)
	}
	return nil
}

// environ is what a program needs of the script's environment, and the variables named.
func environ(ts *testscript.TestScript, names ...string) (environ []string) {
	names = append(names, "HOME", "PATH")
	if runtime.GOOS == "windows" {
		names = append(names, "USERPROFILE", "LOCALAPPDATA", "APPDATA", "SYSTEMROOT")
	}
	for _, name := range names {
		environ = append(environ, name+"="+ts.Getenv(name))
	}
	return environ
}

func find(path, program string) (string, error) {
	if runtime.GOOS == "windows" && filepath.Ext(program) == "" {
		program += ".exe"
	}
	for _, dir := range filepath.SplitList(path) {
		if full := filepath.Join(dir, program); dir != "" {
			if _, err := os.Stat(full); err == nil {
				return full, nil
			}
		}
	}
	return "", fmt.Errorf("no %s in %s", program, path)
}

package answer

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// chainVariable is the environment variable in which a shim names the user's hook
// script that it has replaced.
const chainVariable = "HOOKSPAN_CHAIN"

// chain runs the user's hook script, if the shim names one, and returns its
// answer. The script gets the same payload, and the whole of one that is stored
// cut. The event is stored already, whatever the script does. nil is no answer.
// failed is the exit code at which the host ignores the answer, as it would without
// hookspan; else 0.
func (a *asking) chain() (answer []byte, failed int) {
	if a.script == "" {
		return nil, 0
	}
	p := a.call.Process
	if p.RestoreSignals != nil {
		p.RestoreSignals()
	}
	run := func(argv ...string) ([]byte, error) {
		cmd := exec.Command(argv[0], argv[1:]...) //nolint:gosec,noctx // The user's own hook; the host limits its time.
		cmd.Env, cmd.Dir = a.environ, p.Dir
		stdin, err := a.whole.stdin(a.call.Payload.Data)
		if err != nil {
			a.log("chained hook %s: %v", a.script, err)
		}
		cmd.Stdin = stdin
		// The script's messages to the user go where they went without hookspan.
		cmd.Stderr = os.Stderr
		return cmd.Output()
	}
	argv := []string{a.script}
	if p.GOOS == "windows" && strings.EqualFold(filepath.Ext(a.script), ".ps1") {
		argv = []string{"powershell.exe", "-NoProfile", "-ExecutionPolicy", "Bypass", "-File", a.script}
	}
	out, err := run(argv...)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOEXEC) {
		out, err = run(append(interpreter(a.script), a.script)...)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		a.log("chained hook %s: %v", a.script, err)
		err = nil
		if p.Agent.Facts.Host != hook.HostCline || !cline.AnyExit(a.call.Payload.Data, p.Event) {
			return nil, exitCode(exit.ExitCode())
		}
	}
	if err == nil {
		out, err = merge(p.Agent.Reply(hook.Reply{}), out)
	}
	if err != nil {
		a.log("chained hook %s: %v", a.script, err)
		return nil, 0
	}
	return out, 0
}

// exitCode is the code of a script without the one that agents take for a decision, without
// that of a signal, and without those at which a hook file in ksh starts the script itself.
func exitCode(code int) int {
	if code < 0 || slices.Contains([]int{2, 126, 127}, code) {
		return 1
	}
	return code
}

// interpreter returns the command for a script that the system does not start,
// because it is not executable or has no "#!" line: the program of that line, or
// bash, as in Cline's SDK.
func interpreter(script string) []string {
	if f, _, err := regular.Open(script, regular.Options{}); err == nil {
		defer func() { _ = f.Close() }()
		line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
		rest, ok := bytes.CutPrefix(line, []byte("#!"))
		if words := strings.Fields(string(rest)); ok && len(words) > 0 {
			return words
		}
	}
	return []string{"bash"}
}

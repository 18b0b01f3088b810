package hookrun

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// shell is the program and the arguments for a shell line. As in Claude Code that
// is the Bash of Git for Windows, else PowerShell.
func (r *Runner) shell(kind, line string, env []string) (name string, args []string, err error) {
	power := []string{"-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command", line}
	switch kind {
	case "", "bash":
		if bash := r.gitBash(env); bash != "" {
			return bash, []string{"-c", line}, nil
		}
		if kind == "bash" {
			return "", nil, errors.New("bash of Git for Windows is not installed; install it, set CLAUDE_CODE_GIT_BASH_PATH or use shell powershell")
		}
	case "powershell":
	default:
		return "", nil, fmt.Errorf("shell %q is not known; use bash or powershell", kind)
	}
	if _, err := r.find("pwsh", env); err == nil {
		return "pwsh", power, nil
	}
	return "powershell", power, nil
}

// gitBash finds the Bash of Git for Windows. The bash.exe of the system folder is
// another thing: it starts Linux.
func (r *Runner) gitBash(env []string) string {
	var places []string
	if p, ok := r.lookup(env, "CLAUDE_CODE_GIT_BASH_PATH"); ok {
		places = append(places, p)
	}
	if git, err := r.find("git", env); err == nil {
		places = append(places, filepath.Join(filepath.Dir(filepath.Dir(git)), "bin", "bash.exe"))
	}
	for _, v := range []string{"ProgramFiles", "ProgramFiles(x86)", "LocalAppData"} {
		if dir, ok := r.lookup(env, v); ok {
			places = append(places, filepath.Join(dir, "Git", "bin", "bash.exe"), filepath.Join(dir, "Programs", "Git", "bin", "bash.exe"))
		}
	}
	for _, p := range places {
		if info, err := os.Stat(p); err == nil && !info.IsDir() {
			return p
		}
	}
	return ""
}

// executable finds a file that can be started, with one of the usual endings.
func executable(name string) (string, error) {
	full, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("start %q: %w", name, errors.Join(os.ErrNotExist, err))
	}
	return full, nil
}

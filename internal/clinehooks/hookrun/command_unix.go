//go:build !windows

package hookrun

import (
	"fmt"
	"os"
)

// shell is the program and the arguments for a shell line.
func (r *Runner) shell(kind, line string, _ []string) (name string, args []string, err error) {
	switch kind {
	case "":
		return "/bin/sh", []string{"-c", line}, nil
	case "bash":
		return "bash", []string{"-c", line}, nil
	case "powershell":
		return "pwsh", []string{"-NoProfile", "-NonInteractive", "-Command", line}, nil
	}
	return "", nil, fmt.Errorf("shell %q is not known; use bash or powershell", kind)
}

// executable checks that a file can be started.
func executable(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", fmt.Errorf("start %q: %w", name, err)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("start %q: it is not executable; try chmod +x", name)
	}
	return name, nil
}

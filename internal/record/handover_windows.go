package record

import (
	"errors"
	"os"
	"os/exec"
)

// become runs another program with the same streams and exits with its code. It
// returns only if the program cannot be started.
func become(path string, argv, environ []string) error {
	cmd := exec.Command(path, argv[1:]...) //nolint:gosec,noctx // hookspan itself, found beside this program.
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environ, os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		os.Exit(0)
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	}
	return err
}

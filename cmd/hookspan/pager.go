package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hookspan/hookspan/internal/lookpath"
)

// standardPager is the pager if the user chose none.
const standardPager = "less"

// lessOptions are those of less if the user set none: it ends at once if everything fits
// on the screen, shows colours and does not clear the screen.
const lessOptions = "LESS=FRX"

// pagerCommand returns the command line of the pager, "" for none: the variable PAGER, or
// less. goos is the operating system.
func pagerCommand(getenv func(string) string, set bool, goos string) string {
	command := strings.TrimSpace(getenv("PAGER"))
	switch {
	case command == "cat", command == "" && set, getenv("TERM") == "dumb":
		return ""
	case command == "" && goos == "windows":
		return "" // more knows no colours
	case command == "":
		return standardPager
	}
	return command
}

// showPaged calls write with what leads to the pager, or to out if command is empty or
// cannot be started. It returns when the pager has ended. A pager that the user leaves
// early is no error.
func showPaged(command string, out *os.File, stderr io.Writer, environ []string, write func(io.Writer) error) error {
	words := strings.Fields(command)
	if len(words) == 0 {
		return write(out)
	}
	if !slices.ContainsFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, "LESS=") }) {
		environ = append(slices.Clone(environ), lessOptions)
	}
	finder := lookpath.Here()
	finder.Environ = environ
	if strings.ContainsAny(command, "\"'$|&;<>`\\*?~(){}=") {
		words = []string{"sh", "-c", command}
	}
	// It ends when the user ends it.
	cmd, err := finder.Command(context.Background(), words[0], words[1:]...)
	if filepath.IsAbs(words[0]) {
		cmd, err = exec.Command(words[0], words[1:]...), nil //nolint:gosec,noctx // The user's own command.
		cmd.Env = environ
	}
	if err != nil {
		return write(out)
	}
	cmd.Stdout, cmd.Stderr = out, stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return write(out)
	}
	if err := cmd.Start(); err != nil {
		_ = in.Close()
		return write(out)
	}
	err = write(in)
	_ = in.Close()
	_ = cmd.Wait() // what the pager ends with is its own affair
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// Package pager shows a program's output a page at a time, by the program that the
// user chose for that.
//
// It promises that output is never lost: without a pager, or if the pager cannot be
// started, everything goes to where it would go without this package. A pager that the
// user leaves early is no error.
package pager

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

// standard is the pager if the user chose none.
const standard = "less"

// lessOptions are those of less if the user set none: it ends at once if everything fits
// on the screen, shows colours and does not clear the screen.
const lessOptions = "LESS=FRX"

// Command returns the command line of the pager, "" for none: the variable PAGER, or
// less. goos is the operating system.
func Command(getenv func(string) string, set bool, goos string) string {
	command := strings.TrimSpace(getenv("PAGER"))
	switch {
	case command == "cat", command == "" && set, getenv("TERM") == "dumb":
		return ""
	case command == "" && goos == "windows":
		return "" // more knows no colours
	case command == "":
		return standard
	}
	return command
}

// Show calls write with what leads to the pager, or to out if command is empty or
// cannot be started. It returns when the pager has ended.
func Show(command string, out *os.File, stderr io.Writer, environ []string, write func(io.Writer) error) error {
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

package hookrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
)

// prepare makes the command of a handler: a line for the shell, or a program with
// arguments. It does not use the context of exec.CommandContext, which would end
// only one process.
func (r *Runner) prepare(h hookfile.Handler, e Event, mark string) (*exec.Cmd, error) {
	env := r.environ(e, mark)
	var name string
	var args []string
	var err error
	if h.Args != nil {
		name = strings.ReplaceAll(h.Command, "${CLAUDE_PROJECT_DIR}", r.ProjectDir)
		for _, a := range h.Args {
			args = append(args, strings.ReplaceAll(a, "${CLAUDE_PROJECT_DIR}", r.ProjectDir))
		}
	} else {
		name, args, err = r.shell(h.Shell, h.Command, env)
		if err != nil {
			return nil, err
		}
	}
	full, err := r.find(name, env)
	if err != nil {
		return nil, err
	}
	if r.Dir != "" {
		if info, err := os.Stat(r.Dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("the working directory %q is gone", r.Dir)
		}
	}
	cmd := exec.CommandContext(context.Background(), full, args...) //nolint:gosec // running the user's own hooks is the purpose
	cmd.Args[0] = name
	cmd.Dir, cmd.Env = r.Dir, env
	return cmd, nil
}

// find looks a program up in the hook's PATH, which need not be ours.
func (r *Runner) find(name string, env []string) (string, error) {
	if name == "" {
		return "", errors.New("the command is empty")
	}
	if strings.ContainsRune(name, filepath.Separator) || strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(r.Dir, name)
		}
		return executable(name)
	}
	path, _ := r.lookup(env, "PATH")
	var unfit error
	for _, dir := range filepath.SplitList(path) {
		if dir == "" || !filepath.IsAbs(dir) {
			continue // the working directory is no place to take programs from
		}
		full, err := executable(filepath.Join(dir, name))
		if err == nil {
			return full, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			unfit = err
		}
	}
	if unfit != nil {
		return "", unfit
	}
	return "", fmt.Errorf("program %q is not on PATH", name)
}

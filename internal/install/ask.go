package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/lookpath"
)

// Start starts a hook program, as hooks do, but only for its version. The error says why it
// does not start, and what to do.
func Start(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version") //nolint:gosec // A program of hookspan's.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "GOMEMLIMIT=") || strings.HasPrefix(kv, "GODEBUG=")
	})
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	info, statErr := os.Stat(path)
	switch {
	case err == nil:
		return nil
	case statErr != nil:
		err = statErr
	case errors.Is(err, fs.ErrPermission) && info.Mode()&0o111 == 0:
		err = errors.New("it is not executable: chmod +x it")
	case errors.Is(err, fs.ErrPermission):
		err = errors.New("permission denied: its file system may be mounted noexec; XDG_DATA_HOME can name another folder for it")
	case errors.As(err, new(*os.PathError)):
		err = fmt.Errorf("%w: it is damaged, or made for another machine", errors.Unwrap(err))
	}
	return fmt.Errorf("the program %s does not start: %w", path, err)
}

// startLimit bounds the start of a hook program.
const startLimit = 10 * time.Second

// Ask runs a program for at most the limit and returns its trimmed output. It
// returns "" where PATH has no such program, and an error where it has only one that
// lookpath does not trust.
func Ask(ctx context.Context, limit time.Duration, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	finder := lookpath.Here()
	if _, passed, err := finder.Find(name); err != nil && len(passed) > 0 {
		return "", fmt.Errorf("run %s: %q is passed over, since %s", name, passed[0].Path, passed[0].Reason)
	}
	cmd, err := finder.Command(ctx, name, args...)
	if err != nil {
		return "", nil //nolint:nilerr // There is none.
	}
	// A grandchild that holds the pipe open must not outlast the limit.
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	switch {
	case err != nil && ctx.Err() != nil:
		return "", fmt.Errorf("run %s: no answer in %v", name, limit)
	case err != nil:
		return "", fmt.Errorf("run %s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

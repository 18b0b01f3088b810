package install

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/lookpath"
)

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

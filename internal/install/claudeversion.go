package install

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// claudeVersionTimeout bounds the question to Claude Code.
const claudeVersionTimeout = 5 * time.Second

// execFormSince is the first version of Claude Code that starts a hook without
// a shell, by "args" (Claude Code's change log).
const execFormSince = "2.1.139"

// ClaudeVersion asks the claude on PATH for its version, in a form such as
// "2.1.329 (Claude Code)". It answers "" where there is no claude on PATH, as
// with an editor's extension alone, and an error when the program fails or
// gives no answer in time.
func ClaudeVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, claudeVersionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "claude", "--version")
	// A grandchild that holds the pipe open must not outlast the timeout.
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, exec.ErrDot):
		return "", nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("run claude --version: no answer in %v", claudeVersionTimeout)
	case err != nil:
		return "", fmt.Errorf("run claude --version: %w", err)
	}
	// Whatever else it prints is nothing to show.
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line[:min(len(line), 100)], nil
}

// version is a version of Claude Code: three numbers.
type version [3]int

// parseVersion reads the version that opens a text.
func parseVersion(text string) (version, bool) {
	var v version
	word, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "v"), " ")
	word, _, _ = strings.Cut(word, "-")
	parts := strings.Split(word, ".")
	if len(parts) != len(v) {
		return v, false
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return version{}, false
		}
		v[i] = n
	}
	return v, true
}

// has reports that the version is not older than since, which may be empty.
func (v version) has(since string) bool {
	if since == "" {
		return true
	}
	want, _ := parseVersion(since)
	return slices.Compare(v[:], want[:]) >= 0
}

package claude

import (
	"context"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/install"
)

// versionTimeout bounds the question to Claude Code.
const versionTimeout = 5 * time.Second

// askVersion asks the claude on PATH for its version, in a form such as
// "2.1.329 (Claude Code)". It answers "" where there is no claude on PATH, as
// with an editor's extension alone, and an error when the program fails or
// gives no answer in time.
func askVersion(ctx context.Context) (string, error) {
	out, err := install.Ask(ctx, versionTimeout, "claude", "--version")
	line, _, _ := strings.Cut(out, "\n") // only the first line is shown
	return line[:min(len(line), 100)], err
}

package claude

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/install"
)

// versionTimeout bounds the question to Claude Code.
const versionTimeout = 5 * time.Second

// execFormSince is the first version of Claude Code that starts a hook without
// a shell, by "args" (Claude Code's change log).
const execFormSince = "2.1.139"

// version asks for the version of Claude Code and reports whether it is known. If
// it is not, although there is a claude to ask, warning says why.
func (in Installer) version(ctx context.Context) (v version, known bool, warning string) {
	ask := in.Version
	if ask == nil {
		ask = askVersion
	}
	text, err := ask(ctx)
	if err != nil {
		return v, false, fmt.Sprintf("the version of Claude Code is not known (%v); the hooks are written so that any version runs them", err)
	}
	if text == "" {
		return v, false, ""
	}
	if v, known = parseVersion(text); !known {
		return v, false, fmt.Sprintf("the version of Claude Code is not known (it said %q); the hooks are written so that any version runs them", text)
	}
	return v, true, ""
}

// askVersion asks the claude on PATH for its version, in a form such as
// "2.1.329 (Claude Code)". It answers "" where there is no claude on PATH, as
// with an editor's extension alone, and an error when the program fails or
// gives no answer in time.
func askVersion(ctx context.Context) (string, error) {
	out, err := install.Ask(ctx, versionTimeout, "claude", "--version")
	line, _, _ := strings.Cut(out, "\n") // only the first line is shown
	return line[:min(len(line), 100)], err
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

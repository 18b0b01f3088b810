package view

import (
	"regexp"
	"strings"

	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap"
)

// failureWords are in the lines that say what failed, the surest first.
var failureWords = []*regexp.Regexp{
	regexp.MustCompile(`^\s*(--- )?FAIL\b|\bpanic:|^error(\[\w+\])?:|^E\s{2,}|^fatal:`),
	regexp.MustCompile(`(?i)\b(error|failed|failure|exception|panic)\b`),
	regexp.MustCompile(`(?i)\b(not found|no such|cannot|could not|denied|refused|timed out|unable to)\b`),
}

// passed begins lines about what succeeded, and those that say only that something failed.
var passed = regexp.MustCompile(`^\s*(✓|✔|ok\b|PASS\b|--- PASS)|^Exit code \d+$`)

// FailureLine returns the line of a failed or denied call's message that says why, safe for
// a terminal: the first one that names a failure, else the last.
func FailureLine(message string) string {
	message = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(message), "<tool_use_error>"), "</tool_use_error>")
	if at := strings.Index(message, "(eg. if it was a file edit"); at > 0 { // Claude Code's standing words
		message = message[:at]
	}
	var lines []string
	for l := range strings.Lines(termtext.HeadBytes(message, 64<<10)) {
		if l = strings.TrimSpace(l); l != "" && l != "…" && !passed.MatchString(l) {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return line(message)
	}
	for _, words := range failureWords {
		for _, l := range lines {
			if words.MatchString(l) {
				return line(l)
			}
		}
	}
	return line(lines[len(lines)-1])
}

// Denier says who denied a call: you, one of your hooks, or a rule.
func Denier(c *store.Call) string {
	message := strings.ToLower(termtext.HeadBytes(c.Error, 300))
	switch {
	case c.DeniedBy != "":
		return "a hook: " + line(c.DeniedBy)
	case c.ErrorType == otelmap.ErrorToolCancelled:
		return "you, by an interrupt"
	case strings.HasPrefix(message, "pretooluse:"), strings.Contains(message, "blocked by hook"), strings.Contains(message, "hook error"):
		return "a hook"
	case strings.HasPrefix(message, "permission to use "), strings.HasPrefix(message, "claude requested permissions to "),
		strings.HasPrefix(message, "cannot write to "), strings.Contains(message, "policy"), strings.Contains(message, "sandbox"):
		return "a rule"
	case c.Waited > 0, strings.Contains(message, "user"), strings.Contains(message, "you "), strings.Contains(message, "reject"):
		return "you"
	}
	return "not known"
}

package hookrun

import (
	"slices"
	"strings"
)

// markVariable marks the processes of one run in their environment, so that they
// are found in whatever session, under whatever parent. The event and its session are
// behind the mark: by them claude-hook leaves an event alone that cline-hook has stored.
const markVariable = "HOOKSPAN_HOOK_RUN"

// tightens reports a setting by which less is recorded: an agent that a hook starts keeps
// it. A wrong value counts as the tightest.
func tightens(name, value string) bool {
	switch name {
	case "HOOKSPAN_DISABLED", "OTEL_SDK_DISABLED":
		return !slices.Contains([]string{"", "false", "0"}, strings.ToLower(value))
	case "HOOKSPAN_CAPTURE":
		return value != "" && value != "full"
	case "HOOKSPAN_REDACT_FILE": // its rules are read in addition
		return value != ""
	}
	return false
}

// environ is the environment of a hook: the runner's, without hookspan's variables but
// for those that tighten and without secrets of telemetry backends, and with the
// variables that Claude Code adds.
// CLAUDECODE is not set: it says that Claude Code is the host, and claude refuses to
// start inside of that; scripts that only need Claude's hook format test
// CLAUDE_PROJECT_DIR.
func (r *Runner) environ(e Event, mark string) []string {
	var out []string
	for _, kv := range r.Env {
		name, value, _ := strings.Cut(kv, "=")
		if r.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		switch {
		case tightens(name, value):
			out = append(out, kv)
		case strings.HasPrefix(name, "OTEL_"), strings.HasPrefix(name, "HOOKSPAN_"), name == "INFINIUM_AGENT_SECRET":
		case strings.HasPrefix(name, "CLAUDE_PROJECT_DIR"), name == "CLAUDE_ENV_FILE", name == "CLAUDE_CODE_SESSION_ID":
		case name == "PWD" && r.Dir != "":
		default:
			out = append(out, kv)
		}
	}
	if r.Dir != "" {
		out = append(out, "PWD="+r.Dir)
	}
	out = append(out, "CLAUDE_PROJECT_DIR="+r.ProjectDir)
	if e.Name == "SessionStart" && r.EnvFile != "" {
		out = append(out, "CLAUDE_ENV_FILE="+r.EnvFile)
	}
	if r.Session != "" && !strings.ContainsRune(r.Session, 0) {
		out = append(out, "CLAUDE_CODE_SESSION_ID="+r.Session)
	}
	if strings.ContainsRune(r.Session, 0) {
		return append(out, markVariable+"="+mark)
	}
	return append(out, strings.TrimRight(markVariable+"="+mark+" "+e.Name+" "+r.Session, " "))
}

// lookup finds a variable's value; the last one counts. On Windows the case of
// names does not.
func (r *Runner) lookup(env []string, name string) (value string, ok bool) {
	for _, kv := range env {
		k, v, _ := strings.Cut(kv, "=")
		if k == name || r.GOOS == "windows" && strings.EqualFold(k, name) {
			value, ok = v, true
		}
	}
	return value, ok
}

package hookmatch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/jstext"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/userhooks/plain"
)

// Rule is a permission rule of an "if": Tool or Tool(pattern).
type Rule struct {
	tool string
	// pattern is empty where any use of the tool fits.
	pattern string
}

var (
	errRuleForm  = errors.New(`want one rule: Tool or Tool(pattern), as in "Bash(git *)"`)
	errRuleTwo   = errors.New(`"if" takes one rule; use a matcher, or a handler for each`)
	errRuleEmpty = errors.New("a path rule that begins with ! or # never fits")
	errDomain    = errors.New("a WebFetch rule is WebFetch or WebFetch(domain:host)")
)

// ParseRule reads an "if". Its error says why the rule can never fit.
func ParseRule(text string) (Rule, error) {
	fail := func(err error) (Rule, error) { return Rule{}, fmt.Errorf("if %q: %w", text, err) }
	tool, rest, with := strings.Cut(text, "(")
	for _, c := range tool {
		switch {
		case plain.Alphanumeric(c), strings.ContainsRune("_-.:", c):
		case c == '*' && strings.HasPrefix(tool, "mcp__"):
		case c == '|', c == ',':
			return fail(errRuleTwo)
		default:
			return fail(errRuleForm)
		}
	}
	if tool == "" {
		return fail(errRuleForm)
	}
	r := Rule{tool: tool}
	if !with {
		return r, nil
	}
	pattern, closed := strings.CutSuffix(rest, ")")
	if !closed {
		return fail(errRuleForm)
	}
	if strings.Contains(pattern, ")|") || strings.Contains(pattern, "),") {
		return fail(errRuleTwo)
	}
	if pattern != "*" && pattern != ":*" {
		r.pattern = pattern
	}
	switch {
	case r.pattern == "":
	case r.editsFiles() || r.readsFiles():
		if strings.HasPrefix(r.pattern, "!") || strings.HasPrefix(r.pattern, "#") {
			return fail(errRuleEmpty)
		}
		if _, err := pathExpression(r.pattern); err != nil {
			return fail(err)
		}
	case tool == "WebFetch":
		if host, ok := strings.CutPrefix(r.pattern, "domain:"); !ok || jstext.Trim(host) == "" {
			return fail(errDomain)
		}
	}
	return r, nil
}

// Fits is ParseRule for those who only try the rule.
func Fits(text string) (fits func(plain.Scope, plain.Call) (ok bool, why string), err error) {
	r, err := ParseRule(text)
	return r.Match, err
}

// editsFiles reports whether the rule's pattern is a path that tools change. Such
// a rule of Edit covers all of them, one of another tool that tool alone.
func (r Rule) editsFiles() bool {
	return slices.Contains([]string{"Edit", "Write", "MultiEdit", "NotebookEdit"}, r.tool)
}

// readsFiles is the same for tools that read.
func (r Rule) readsFiles() bool {
	return slices.Contains([]string{"Read", "Grep", "Glob", "LS", "NotebookRead"}, r.tool)
}

// covers reports whether the rule is about a tool.
func (r Rule) covers(tool string) bool {
	switch {
	case tool == r.tool:
		return true
	case strings.HasPrefix(r.tool, "mcp__"):
		if strings.Contains(r.tool, "*") {
			return wildcard(r.tool, tool)
		}
		// mcp__server covers all tools of the server.
		return strings.Count(r.tool, "__") == 1 && strings.HasPrefix(tool, r.tool+"__")
	case r.tool == "Task", r.tool == "Agent": // the former and the present name
		return tool == "Task" || tool == "Agent"
	case r.pattern == "":
		return false
	case r.tool == "Edit":
		return Rule{tool: tool}.editsFiles()
	case r.tool == "Read":
		return Rule{tool: tool}.readsFiles()
	}
	return false
}

// Match reports whether the rule fits a call, and why. A call that cannot be judged
// fits: the hook then decides.
func (r Rule) Match(s plain.Scope, c plain.Call) (ok bool, why string) {
	// A tool of an MCP server has several names.
	if !r.covers(c.Tool) && !slices.ContainsFunc(c.Subjects, func(s string) bool { return strings.HasPrefix(s, "mcp__") && r.covers(s) }) {
		return false, fmt.Sprintf("the rule is about %s, the tool is %s", r.tool, c.Tool)
	}
	if r.pattern == "" {
		return true, "the rule takes any use of " + c.Tool
	}
	if !rawjson.EachMember(c.Input, func(_, _ []byte) {}) {
		return true, "the tool's input cannot be read, so the rule cannot say no"
	}
	text := func(name string) string { return rawjson.Unquote(rawjson.Member(c.Input, name)) }
	say := func(fits bool, subject string) (bool, string) {
		verb := "does not fit"
		if fits {
			verb = "fits"
		}
		return fits, fmt.Sprintf("rule %s(%s) %s %s", r.tool, r.pattern, verb, subject)
	}
	switch {
	case r.tool == "Bash":
		ok, why = fitsShell(r.pattern, text("command"))
		return ok, fmt.Sprintf("rule Bash(%s): %s", r.pattern, why)
	case r.tool == "PowerShell":
		return say(fitsPowerShell(r.pattern, text("command")), "the command")
	case r.editsFiles(), r.readsFiles():
		path := cmp.Or(text("file_path"), text("notebook_path"), text("path"), s.Dir)
		if s.Target == nil || fitsPath(s, r.pattern, path) {
			return say(fitsPath(s, r.pattern, path), path)
		}
		// A rule may be written for the link or for its target, and so its folder.
		target, led := s.Target(absolute(s, path)), s
		led.Dir, led.Project, led.Home = s.Target(s.Dir), s.Target(s.Project), s.Target(s.Home)
		return say(fitsPath(s, r.pattern, target) || fitsPath(led, r.pattern, target), target)
	case r.tool == "WebFetch":
		return say(fitsDomain(s, r.pattern, text("url")), text("url"))
	case r.tool == "Agent" || r.tool == "Task":
		if kind := text("subagent_type"); wildcard(r.pattern, kind) {
			return say(true, kind)
		}
	case r.tool == "Skill":
		skill := jstext.Trim(text("skill") + " " + text("args"))
		if fitsCommand(r.pattern, skill) || wildcard(r.pattern, text("skill")) {
			return say(true, skill)
		}
	}
	return say(fitsParameter(r.pattern, c.Input), "the call")
}

// fitsParameter tries a pattern of the form name:value on a scalar member of the
// input. A missing member never fits.
func fitsParameter(pattern string, input []byte) bool {
	name, value, ok := strings.Cut(pattern, ":")
	raw := rawjson.Present(rawjson.Member(input, jstext.Trim(name)))
	if !ok || len(raw) == 0 || raw[0] == '{' || raw[0] == '[' {
		return false
	}
	return wildcard(jstext.Trim(value), rawjson.Text(raw))
}

// fitsDomain tries a domain:host pattern. A leading *. covers subdomains at any
// depth; other stars stay between two dots.
func fitsDomain(s plain.Scope, pattern, address string) bool {
	want := strings.ToLower(strings.TrimSuffix(jstext.Trim(strings.TrimPrefix(pattern, "domain:")), "."))
	if want == "*" || s.Host == nil {
		return true
	}
	host, err := s.Host(address)
	if err != nil {
		return true // the rule cannot say no
	}
	host = strings.TrimSuffix(host, ".")
	if plain := strings.TrimPrefix(want, "*."); !strings.Contains(plain, "*") {
		if spelled, err := s.Host("https://" + plain); err == nil {
			want = strings.TrimSuffix(want, plain) + spelled
		}
	}
	if sub, ok := strings.CutPrefix(want, "*."); ok {
		for rest, found := host, true; found; {
			_, rest, found = strings.Cut(rest, ".")
			if found && fitsLabels(sub, rest) {
				return true
			}
		}
		return false
	}
	return fitsLabels(want, host)
}

func fitsLabels(want, host string) bool {
	w, h := strings.Split(want, "."), strings.Split(host, ".")
	return slices.EqualFunc(w, h, wildcard)
}

// wildcard matches a text with a pattern in which * is any number of characters
// and \* is a star.
func wildcard(pattern, text string) bool {
	return compileGlob(pattern).match(text)
}

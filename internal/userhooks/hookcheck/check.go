// Package hookcheck finds hooks that cannot work on Cline: a matcher that fits no
// tool, a program that is missing, a line that the shell cannot read. Each finding
// is one line with its cause and what to do.
//
// It does not examine what a hook's program does, so a hook without a finding may
// still fail. It starts nothing; it only looks whether programs exist.
package hookcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookmatch"
)

// Check returns what in a file will not work, with its own problems, in the order
// of the file.
func Check(f *hookfile.File, p hookfile.Place) []hookfile.Problem {
	c := checker{place: p, file: f, out: slices.Clone(f.Problems), once: map[string]*repeated{}}
	if f.Denied > 0 && !p.Claude {
		c.out = append(c.out, hookfile.Problem{
			Path: f.Path, Line: f.DeniedLine,
			Text: fmt.Sprintf("permissions.deny is not applied on Cline (%d of its rules): write a PreToolUse hook for each, with \"if\": \"RULE\" and \"command\": \"echo denied >&2; exit 2\"", f.Denied),
		})
	}
	for _, h := range f.Handlers {
		c.handler = h
		c.matcher()
		c.rule()
		c.timeout()
		c.command()
	}
	slices.SortStableFunc(c.out, func(a, b hookfile.Problem) int { return cmp.Compare(a.Line, b.Line) })
	return c.out
}

// checker checks one file.
type checker struct {
	place   hookfile.Place
	file    *hookfile.File
	handler hookfile.Handler
	out     []hookfile.Problem
	// once has the findings that are reported once for the whole file.
	once map[string]*repeated
}

// note reports what does not work on Cline.
func (c *checker) note(format string, args ...any) {
	c.out = append(c.out, hookfile.Problem{
		Path: c.file.Path, Line: c.handler.Line, Event: c.handler.Event, Matcher: c.handler.Matcher,
		Text: c.handler.Event + ": " + fmt.Sprintf(format, args...),
	})
}

// mistake reports an error in the file.
func (c *checker) mistake(format string, args ...any) {
	c.note(format, args...)
	c.out[len(c.out)-1].Mistake = true
}

// noteOnce is note for what concerns many hooks of a file: further ones are
// counted.
func (c *checker) noteOnce(key, format string, args ...any) *hookfile.Problem {
	r := c.once[key]
	if r == nil {
		c.note(format, args...)
		at := len(c.out) - 1
		c.once[key] = &repeated{at: at, text: c.out[at].Text}
		return &c.out[at]
	}
	r.more++
	c.out[r.at].Text = fmt.Sprintf("%s (and %d more of the hooks)", r.text, r.more)
	return &c.out[r.at]
}

// repeated is a finding about more than one hook: its index in the findings, its
// text, and how many hooks besides the first it is about.
type repeated struct {
	at   int
	text string
	more int
}

// values are what matchers are tried against on the events that have no tool. Cline
// gives no others.
var values = map[string][]string{
	"SessionStart":  {"startup", "resume"},
	"SessionEnd":    {"other"},
	"PreCompact":    {"auto"},
	"Notification":  {"permission_prompt", "idle_prompt"},
	"SubagentStart": {"general-purpose"},
	"SubagentStop":  {"general-purpose"},
	"StopFailure":   {"unknown"},
}

// matcher checks whether the matcher fits anything on Cline.
func (c *checker) matcher() {
	event, matcher := c.handler.Event, c.handler.Matcher
	quoted := termtext.Cut(matcher, 80)
	compiled, err := hookmatch.Compile(event, matcher)
	if err != nil {
		c.mistake("%v", err)
		return
	}
	subjects := values[event]
	tool := subjects == nil
	if c.place.Claude && !hookfile.HasTool(event) {
		return
	}
	if tool {
		subjects = c.place.Tools
	}
	noValue := func() {
		c.note("matcher %q: on Cline %s has %s and nothing else, so the hook never runs: write that, or no matcher", quoted, event, or(subjects))
	}
	if names := compiled.Names; names != nil {
		if c.place.Claude {
			c.likeTools(names)
			return
		}
		var never []string
		for _, name := range names {
			if !fits(event, name, subjects) && (!tool || !mayBeTool(name)) {
				never = append(never, name)
			}
		}
		switch all := len(never) == len(names); {
		case len(never) == 0:
		case tool:
			c.noTools(never, all)
		case all:
			noValue()
		default:
			c.note("matcher %q: on Cline %s has %s and nothing else, so the hook never runs for %s: leave that out, or use another event for it", quoted, event, or(subjects), or(never))
		}
		return
	}
	if name, ok := permissionRule(matcher, subjects); ok {
		c.mistake("matcher %q holds a permission rule, which fits no tool as a matcher: write \"matcher\": %q, and the rule as \"if\" of the hook", quoted, name)
		return
	}
	if tool && (strings.Contains(matcher, "==") || strings.Contains(matcher, "&&")) {
		so := "never runs"
		if fits(event, matcher, subjects) {
			so = "runs for other tools, too"
		}
		c.mistake("matcher %q is a condition, and a matcher is the tool's name or an expression for it, so the hook %s: write the name, and look at tool_input in the hook or in its \"if\"", quoted, so)
		return
	}
	// The MCP servers are not known.
	if fits(event, matcher, subjects) || tool && (strings.Contains(matcher, "__") || strings.Contains(matcher, "mcp")) {
		return
	}
	if !tool {
		noValue()
		return
	}
	lower := make([]string, len(subjects))
	for i, s := range subjects {
		lower[i] = strings.ToLower(s)
	}
	if fits(event, strings.ToLower(matcher), lower) {
		of := "Cline tool"
		if c.place.Claude {
			of = "tool"
		}
		c.mistake("matcher %q fits no %s, so the hook never runs: upper and lower case count, as in \"Bash\"", quoted, of)
		return
	}
	if c.place.Claude {
		return
	}
	c.note("matcher %q fits no Cline tool, so the hook never runs: name one that hookspan hooks test --tool knows, or remove the hook", quoted)
}

// noTools reports names in a matcher that no tool has. If other names of the matcher
// fit, those of Claude Code's tools that Cline does not have are no fault.
func (c *checker) noTools(names []string, all bool) {
	so := ""
	if all {
		so = ", so the hook never runs"
	}
	for _, name := range names {
		right := slices.IndexFunc(c.place.Tools, func(t string) bool { return strings.EqualFold(t, name) })
		server, isMCP := strings.CutPrefix(name, "mcp__")
		switch {
		case isMCP:
			c.mistake("matcher %q fits no tool%s: write \"mcp__%s__.*\" for all tools of the server", name, so, server)
		case right >= 0:
			c.mistake("matcher %q fits no tool%s: upper and lower case count: write %q", name, so, c.place.Tools[right])
		case name == "attempt_completion" || name == "submit_and_exit":
			c.note("matcher %q fits no call that reaches hooks%s: use the event Stop", name, so)
		case all:
			c.note("matcher %q fits no Cline tool%s: name one that hookspan hooks test --tool knows, or remove the hook", name, so)
		}
	}
}

// likeTools reports names that differ from a tool's in upper and lower case only, and
// servers without a tool.
func (c *checker) likeTools(names []string) {
	for _, name := range names {
		right := slices.IndexFunc(c.place.Tools, func(t string) bool { return strings.EqualFold(t, name) })
		server, isMCP := strings.CutPrefix(name, "mcp__")
		switch {
		case isMCP && !strings.Contains(server, "__"):
			c.mistake("matcher %q fits no tool: write \"mcp__%s__.*\" for all tools of the server", name, server)
		case right >= 0 && !slices.Contains(c.place.Tools, name):
			c.mistake("matcher %q fits no tool: upper and lower case count: write %q", name, c.place.Tools[right])
		}
	}
}

// mayBeTool reports a name that a tool of an MCP server, or of a team, may have.
func mayBeTool(name string) bool {
	name = strings.TrimPrefix(name, "mcp__")
	server, tool, ok := strings.Cut(name, "__")
	return ok && server != "" && tool != "" || strings.HasPrefix(name, "team_")
}

// permissionRule finds a tool's name with a permission rule after it, such as
// Bash(git:*). A group of a regular expression has none of a rule's characters.
func permissionRule(matcher string, tools []string) (name string, ok bool) {
	for _, tool := range tools {
		_, rest, found := strings.Cut("|"+matcher, "|"+tool+"(")
		inner, after, closed := strings.Cut(rest, ")")
		if found && closed && (after == "" || after[0] == '|') && strings.ContainsAny(inner, ":*/ ") && !strings.HasPrefix(inner, "?") {
			return tool, true
		}
	}
	return "", false
}

func fits(event, matcher string, subjects []string) bool {
	m, err := hookmatch.Compile(event, matcher)
	return err == nil && slices.ContainsFunc(subjects, func(s string) bool {
		_, ok, err := m.Match([]string{s})
		return ok && err == nil
	})
}

// or lists values for a message.
func or(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(quoted, " or ")
}

// rule checks the "if".
func (c *checker) rule() {
	if c.handler.If == "" {
		return
	}
	if _, err := hookmatch.ParseRule(c.handler.If); err != nil {
		c.mistake("%v", err)
	}
}

// timeout finds a time limit that was meant in milliseconds.
func (c *checker) timeout() {
	// 1 s in milliseconds is more than a quarter of an hour, and round.
	const least, round = 1000 * time.Second, 500 * time.Second
	if t := c.handler.Timeout; t >= least && t%round == 0 {
		c.mistake("timeout %d is %v, since it is in seconds: write %v", int(t.Seconds()), t, t.Seconds()/1000)
	}
}

// bashOnly returns the first construct in a line that a POSIX shell does not have,
// empty if there is none. It does not know all of them.
func bashOnly(f *syntax.File) (what string) {
	contains(f, func(n syntax.Node) bool {
		what = bashNode(n)
		return what != ""
	})
	return what
}

// contains reports whether a node of the tree has a property.
func contains(tree syntax.Node, has func(syntax.Node) bool) bool {
	found := false
	syntax.Walk(tree, func(n syntax.Node) bool {
		found = found || n != nil && has(n)
		return !found
	})
	return found
}

func bashNode(n syntax.Node) string {
	switch n := n.(type) {
	case *syntax.TestClause:
		return "[[ ]]"
	case *syntax.ProcSubst:
		return "<( )"
	case *syntax.ArrayExpr:
		return "an array"
	case *syntax.ArithmCmd:
		return "(( ))"
	case *syntax.CStyleLoop:
		return "for (( ))"
	case *syntax.DeclClause:
		if n.Variant.Value == "declare" || n.Variant.Value == "typeset" {
			return n.Variant.Value
		}
	case *syntax.FuncDecl:
		if n.RsrvWord {
			return "function"
		}
	case *syntax.Redirect:
		switch n.Op {
		case syntax.RdrAll, syntax.AppAll:
			return n.Op.String()
		case syntax.WordHdoc:
			return "<<<"
		}
	case *syntax.BinaryCmd:
		if n.Op == syntax.PipeAll {
			return "|&"
		}
	case *syntax.SglQuoted:
		if n.Dollar {
			return "$'...'"
		}
	case *syntax.ParamExp:
		if n.Repl != nil || n.Slice != nil || n.Index != nil || n.Excl {
			return "${name/...}, ${name:...} or ${name[...]}"
		}
	case *syntax.CallExpr:
		return bashCall(n)
	}
	return ""
}

// bashCall returns a built-in command, or a use of one, that only Bash has.
func bashCall(n *syntax.CallExpr) string {
	if len(n.Args) == 0 {
		return ""
	}
	has := func(text string) bool {
		return slices.ContainsFunc(n.Args[1:], func(w *syntax.Word) bool { return w.Lit() == text })
	}
	switch name := n.Args[0].Lit(); {
	case name == "source" || name == "shopt" || name == "pushd" || name == "popd":
		return name
	case name == "set" && has("pipefail"):
		return "set -o pipefail"
	case (name == "[" || name == "test") && has("=="):
		return "== in [ ]"
	}
	return ""
}

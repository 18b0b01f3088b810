package claude

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/jsonedit"
)

// hookProgram is the base name of the program that hookspan's handlers start.
const hookProgram = "claude-hook"

// With a malformed GOMEMLIMIT, such as 1GB, or an unknown setting in GODEBUG, a Go
// program ends with exit code 2 before its first line runs, and Claude Code takes
// that code for "block". So the hook is started without these variables, which it
// does not need.
const envProgram = "/usr/bin/env"

func guards() []string { return []string{"GOMEMLIMIT=", "GODEBUG="} }

// form is how a handler names its program.
type form uint8

const (
	// formAny is either form, where the version of Claude Code is not known.
	formAny form = iota
	// formExec has the program in "command" and its words in "args". No shell
	// reads them.
	formExec
	// formShell has a command line for a shell in "command".
	formShell
)

// shell is what reads the command of formShell.
type shell uint8

const (
	// shellPOSIX is sh, and on Windows Git Bash.
	shellPOSIX shell = iota
	// shellPower is PowerShell.
	shellPower
	// shellCmd is cmd.exe.
	shellCmd
)

// callOperator has PowerShell start a program whose path is quoted.
const callOperator = "& "

// line writes a command line that starts a program.
func (s shell) line(program string, words []string, endsWell bool) string {
	switch {
	case s == shellPower:
		program = callOperator + "'" + strings.ReplaceAll(program, "'", "''") + "'"
	case s == shellPOSIX:
		program = quoteShell(program)
	case !plainCmd(program):
		program = `"` + program + `"`
	}
	if endsWell {
		last := []string{"||", "true"}
		if s == shellPower {
			last = []string{";", "exit", "0"}
		}
		words = append(slices.Clone(words), last...)
	}
	return strings.Join(append([]string{program}, words...), " ")
}

// handler is one command in a settings file.
type handler struct {
	// program is the command's first word, words those after it.
	program string
	words   []string
	form    form
	// guarded reports that the program starts without the variables of guards.
	guarded bool
	// endsWell reports that the command ends well whatever becomes of the program.
	endsWell bool
	async    bool
	// timeout is the timeout's text, empty without one.
	timeout string
	// extras are the other members, in their order.
	extras jsonedit.Object
}

// parseHandler reads an element of a group's "hooks". It reports false for an
// element that starts no command.
func parseHandler(text []byte, n *jsonedit.Node) (handler, bool) {
	var h handler
	if !n.Is(text, '{') {
		return h, false
	}
	var command string
	hasType := false
	for i, m := range n.Items {
		if n.Member(m.Key) != i {
			continue // an earlier double, which JSON.parse drops
		}
		raw := m.Value.Raw(text)
		var err error
		switch m.Key {
		case "type":
			hasType = string(raw) == `"command"`
		case "command":
			err = json.Unmarshal(raw, &command)
		case "args":
			h.form = formExec
			err = json.Unmarshal(raw, &h.words)
		case "async":
			err = json.Unmarshal(raw, &h.async)
		case "timeout":
			h.timeout = string(raw)
		default:
			h.extras = append(h.extras, jsonedit.Field{Key: m.Key, Value: jsonedit.Raw(raw)})
		}
		if err != nil {
			return h, false
		}
	}
	h.resolve(command)
	return h, hasType && h.program != ""
}

// Records reports whether a command starts claude-hook as an install writes it,
// so that it records Claude Code. Nil args mean a line for a shell.
func Records(command string, args []string) bool {
	h := handler{words: args}
	if args != nil {
		h.form = formExec
	}
	variables := h.resolve(command)
	// A newer hookspan may record events that this one does not know.
	return h.installed() && len(h.words) <= 1 && !variables
}

// resolve finds the program and its words behind env, exec and variables. custom
// reports a variable with a value.
func (h *handler) resolve(command string) (custom bool) {
	words := append([]string{command}, h.words...)
	switch {
	case h.form != formExec:
		h.form = formShell
		line, call := strings.CutPrefix(command, callOperator)
		words = splitWords(line)
		if call {
			words = splitWords(strings.ReplaceAll(line, "''", `'\''`))
		}
	case path.Base(command) == "env" && len(h.words) > 0:
		words = h.words
	}
	open := guards()
	for len(words) > 1 && (words[0] == "exec" || assignment(words[0])) {
		open = slices.DeleteFunc(open, func(g string) bool { return g == words[0] })
		custom = custom || assignment(words[0]) && !strings.HasSuffix(words[0], "=")
		words = words[1:]
	}
	h.guarded = len(open) == 0
	if n := len(words) - 2; n > 0 && words[n] == "||" && words[n+1] == "true" {
		h.endsWell, words = true, words[:n]
	}
	if n := len(words) - 3; n > 0 && slices.Equal(words[n:], []string{";", "exit", "0"}) {
		h.endsWell, words = true, words[:n]
	}
	h.program, h.words = "", nil
	if len(words) > 0 {
		h.program, h.words = words[0], words[1:]
	}
	return custom
}

// installed reports that the handler starts claude-hook as hookspan installs it: with an
// event's name or no argument. A handler with flags is the user's, such as one
// that posts to a bridge.
func (h handler) installed() bool {
	name := path.Base(strings.ReplaceAll(h.program, `\`, "/"))
	return (name == hookProgram || name == hookProgram+".exe") &&
		!slices.ContainsFunc(h.words, func(w string) bool { return strings.HasPrefix(w, "-") })
}

// assignment reports a word that sets a variable for the following command.
func assignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// splitWords splits a command line as a shell would, without expanding anything.
// A backslash quotes only what needs it, so that a Windows path stays one.
func splitWords(line string) []string {
	var words []string
	var b strings.Builder
	quote, in := byte(0), false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, in = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if in {
				words = append(words, b.String())
				b.Reset()
			}
			in = false
		case c == '\\' && quote != '\'' && i+1 < len(line) && strings.IndexByte(" \t'\"\\$`", line[i+1]) >= 0:
			i++
			in = true
			b.WriteByte(line[i])
		default:
			in = true
			b.WriteByte(c)
		}
	}
	if in {
		words = append(words, b.String())
	}
	return words
}

// plain reports that a shell reads the path as one word without quotes. Only then
// does a Claude Code that does not know "args" start the right program: it gives
// "command" to a shell.
func plain(path string) bool {
	return !strings.ContainsFunc(path, func(r rune) bool {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r >= 0xa0:
			return false
		}
		return !strings.ContainsRune("/._-+@:,%", r)
	})
}

// plainCmd reports that cmd.exe reads the path as one word without quotes, which
// programs that start cmd.exe may escape in a way that it does not know.
func plainCmd(path string) bool {
	return !strings.ContainsFunc(path, func(r rune) bool {
		return r < 0xa0 && !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(`\/._-+@:~`, r))
	})
}

// wantedHandler says what a handler should be.
type wantedHandler struct {
	of     *product // nil for Claude Code
	binary string
	// guarded asks for a program that starts without the variables of guards, which
	// needs env or a POSIX shell.
	guarded bool
	// form is the form that Claude Code is known to run, else formAny.
	form form
	// shell reads the command of formShell.
	shell shell
	// version is Claude Code's, if known.
	version version
	known   bool
	force   bool
}

// wanted says what the handlers of an agent that starts a shell should be, and
// those of Claude Code of any version.
func (p *product) wanted(goos, binary string) wantedHandler {
	w := wantedHandler{of: p, binary: binary, guarded: goos != "windows"}
	if !p.exec {
		w.form = formShell
	}
	switch {
	case w.guarded:
	case p.exec:
		// Git Bash, PowerShell and the system all start a path with slashes.
		w.binary = strings.ReplaceAll(binary, `\`, "/")
	default:
		w.shell = p.windows
	}
	return w
}

// newWanted chooses Claude Code's form.
func newWanted(goos, binary string, v version, known, force bool) wantedHandler {
	w := claudeCode().wanted(goos, binary)
	w.version, w.known, w.force = v, known, force
	switch {
	case known && v.has(execFormSince):
		w.form = formExec
	case known:
		w.form = formShell
	}
	return w
}

// product returns the agent.
func (w wantedHandler) product() *product {
	if w.of == nil {
		return claudeCode()
	}
	return w.of
}

// has reports that Claude Code has the event, as far as is known.
func (w wantedHandler) has(ev hookEvent) bool { return !w.known || w.version.has(ev.since) }

// render writes an event's handler. A timeout and other members that the user set
// are kept.
func (w wantedHandler) render(ev hookEvent, timeout string, extras jsonedit.Object) jsonedit.Object {
	f := w.form
	if f == formAny {
		// Every version starts a shell; an old one would start env without its "args".
		f = formShell
		if !w.guarded && plain(w.binary) {
			f = formExec
		}
	}
	var args jsonedit.Array // none for a shell
	words := w.product().args(ev.name)
	command := w.shell.line(w.binary, words, w.product().strict)
	switch {
	case f == formExec && w.guarded:
		command = envProgram
		for _, g := range guards() {
			args = append(args, g)
		}
		args = append(args, w.binary)
		for _, word := range words {
			args = append(args, word)
		}
	case f == formExec:
		command = w.binary
		for _, word := range words {
			args = append(args, word)
		}
	case w.guarded && w.product().strict:
		command = strings.Join(guards(), " ") + " " + command
	case w.guarded:
		command = strings.Join(guards(), " ") + " exec " + command
	}
	o := jsonedit.Object{{Key: "type", Value: "command"}, {Key: "command", Value: command}}
	if args != nil {
		o = append(o, jsonedit.Field{Key: "args", Value: args})
	}
	var wait any = cmp.Or(ev.timeout, hookTimeout)
	if timeout != "" {
		wait = jsonedit.Raw(timeout)
	}
	return append(append(o, jsonedit.Field{Key: "timeout", Value: wait}), extras...)
}

// group writes the group that holds an event's handler.
func (w wantedHandler) group(ev hookEvent) jsonedit.Object {
	return jsonedit.Object{{Key: "hooks", Value: jsonedit.Array{w.render(ev, "", nil)}}}
}

// judge returns the state of a handler of hookspan's and what is wrong with it. An
// empty binary is not compared.
func (w wantedHandler) judge(h handler, event, matcher string) (install.State, string) {
	ev, known := w.product().event(event)
	switch {
	case !known:
		return install.StateOutdated, "is an event that hookspan does not record"
	case w.binary != "" && h.program != w.binary:
		return install.StateOutdated, "starts " + h.program
	case w.form == formExec && h.form != formExec:
		return install.StateOutdated, "goes through a shell, which Claude Code no longer needs"
	case w.form == formShell && h.form != formShell:
		return install.StateOutdated, "has args, which Claude Code knows since " + execFormSince
	case !slices.Equal(h.words, w.product().args(event)):
		return install.StateOutdated, fmt.Sprintf("reports %q", strings.Join(h.words, " "))
	case w.guarded && !h.guarded:
		return install.StateOutdated, "would block " + w.product().name + " under a malformed GOMEMLIMIT or GODEBUG"
	case w.product().strict && !h.endsWell:
		return install.StateOutdated, "would have " + w.product().name + " deny every call if it could not start"
	case h.async:
		return install.StateOutdated, "has async true"
	case h.timeout == "":
		return install.StateOutdated, "has no timeout"
	case matcher != "" && matcher != "*":
		return install.StateEdited, fmt.Sprintf("has the matcher %q, so that only a part is recorded", matcher)
	case len(h.extras) > 0:
		return install.StateEdited, "has additional members: " + keys(h.extras)
	case h.timeout != fmt.Sprint(cmp.Or(ev.timeout, hookTimeout)):
		return install.StateEdited, "has another timeout"
	}
	return install.StateInstalled, ""
}

// rank orders the handlers of an event: the lowest is the one to keep.
func (w wantedHandler) rank(f found) int {
	state, _ := w.judge(f.handler, f.event, f.matcher)
	r := slices.Index([]install.State{install.StateInstalled, install.StateOutdated, install.StateEdited}, state)
	if f.matcher != "" {
		r += 3
	}
	return r
}

func keys(o jsonedit.Object) string {
	names := make([]string, len(o))
	for i, f := range o {
		names[i] = f.Key
	}
	return strings.Join(names, ", ")
}

// quoteShell makes a shell word of any text without NUL.
func quoteShell(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

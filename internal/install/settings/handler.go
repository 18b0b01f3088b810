package settings

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/jsonedit"
)

// With a malformed GOMEMLIMIT, such as 1GB, or an unknown setting in GODEBUG, a Go
// program ends with exit code 2 before its first line runs, and agents take that
// code for "block". So the hook is started without these variables, which it does
// not need.
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

// handler is one command in a settings file.
type handler struct {
	// program is the program that the command starts, args are its arguments.
	program string
	args    []string
	form    form
	// guarded reports that the program starts without the variables of guards.
	guarded bool
	// succeeds reports that the command has the ending of its shell, redirected that it has
	// another redirection or ending, which a person wrote.
	succeeds, redirected bool
	async                bool
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
			err = json.Unmarshal(raw, &h.args)
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

// HookCommand reads a command of a settings file: a program and its arguments, or
// with nil arguments a line for a shell. ok reports that it starts hook.ProgramClaude as an
// install does: without flags. args are then the arguments of the program, and assigns
// reports that the command gives a variable a value.
func HookCommand(command string, arguments []string) (args []string, assigns, ok bool) {
	h := handler{args: arguments}
	if arguments != nil {
		h.form = formExec
	}
	assigns = h.resolve(command)
	return h.args, assigns, h.installed()
}

// resolve finds the program and its arguments behind env, exec and variables. assigns
// reports a variable with a value.
func (h *handler) resolve(command string) (assigns bool) {
	words := append([]string{command}, h.args...)
	switch {
	case h.form != formExec:
		h.form = formShell
		line, call := strings.CutPrefix(command, callOperator)
		words = splitWords(line)
		if call {
			words = splitWords(strings.ReplaceAll(line, "''", `'\''`))
		}
	case path.Base(command) == "env" && len(h.args) > 0:
		words = h.args
	}
	open := guards()
	for len(words) > 1 && (words[0] == "exec" || assignment(words[0])) {
		open = slices.DeleteFunc(open, func(g string) bool { return g == words[0] })
		assigns = assigns || assignment(words[0]) && !strings.HasSuffix(words[0], "=")
		words = words[1:]
	}
	h.guarded = len(open) == 0
	for _, s := range []Shell{ShellPOSIX, ShellPowerShell} {
		if n := len(words) - len(s.ending()); n > 0 && slices.Equal(words[n:], s.ending()) {
			h.succeeds, words = true, words[:n]
		}
	}
	if h.form == formShell && !h.succeeds {
		words = h.unredirected(words)
	}
	h.program, h.args = "", nil
	if len(words) > 0 {
		h.program, h.args = words[0], words[1:]
	}
	return assigns
}

// redirection is a word of a shell that sends an output elsewhere.
var redirection = regexp.MustCompile(`^(?:[0-9]*|&)(?:>>?|<)(&?[^&]*)$`)

// unredirected takes redirections, and an ending that only succeeds, out of the words of a
// line.
func (h *handler) unredirected(words []string) (rest []string) {
	for i := 0; i < len(words); i++ {
		found := redirection.FindStringSubmatch(words[i])
		switch {
		case found != nil && found[1] == "":
			i++ // its file is the next word
		case found == nil && words[i] != "||":
			rest = append(rest, words[i])
			continue
		case found == nil && i+1 < len(words) && slices.Contains([]string{"cat", "true", ":"}, words[i+1]):
			i++
		case found == nil:
			return words
		}
		h.redirected = true
	}
	return rest
}

// isProgram reports that a path has the name of hook.ProgramClaude.
func isProgram(program string) bool {
	name := path.Base(strings.ReplaceAll(program, `\`, "/"))
	return name == hook.ProgramClaude || name == hook.ProgramClaude+".exe"
}

// installed reports that the handler starts a program of that name as hookspan
// installs it: with words alone. A handler with flags is the user's, such as one that
// posts to a bridge, and so is a line that starts other programs too.
func (h handler) installed() bool {
	return isProgram(h.program) &&
		!slices.ContainsFunc(h.args, func(w string) bool { return strings.HasPrefix(w, "-") || !plain(w, "-_") })
}

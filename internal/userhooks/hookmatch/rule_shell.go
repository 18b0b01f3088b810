package hookmatch

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hookspan/hookspan/internal/jstext"
)

// The sizes up to which a command is parsed. The parser calls itself for each
// bracket, and a few hundred thousand of them are more than a stack holds.
const (
	maxCommand  = 128 << 10
	maxBrackets = 4096
)

// glob is a pattern in which * is any number of characters: the texts between
// its stars.
type glob []string

// compileGlob reads \*, \( and \) as the character itself.
func compileGlob(pattern string) glob {
	g := glob{""}
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '*' {
			g = append(g, "")
			continue
		}
		if pattern[i] == '\\' && i+1 < len(pattern) && strings.IndexByte(`*()\`, pattern[i+1]) >= 0 {
			i++
		}
		g[len(g)-1] += pattern[i : i+1]
	}
	return g
}

func (g glob) match(text string) bool {
	text, ok := strings.CutPrefix(text, g[0])
	if !ok || len(g) == 1 {
		return ok && text == ""
	}
	last := len(g) - 1
	for _, part := range g[1:last] {
		if _, text, ok = strings.Cut(text, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(text, g[last])
}

// prefix returns the text before a star at the end that is the only one.
func (g glob) prefix() (string, bool) {
	if len(g) == 2 && g[1] == "" {
		return g[0], true
	}
	return "", false
}

// commandPattern compiles a Bash pattern: one space between words, and :* at the
// end means " *".
func commandPattern(pattern string) glob {
	p := strings.Join(strings.Fields(pattern), " ")
	if head, ok := strings.CutSuffix(p, ":*"); ok {
		p = jstext.Trim(head) + " *"
	}
	return compileGlob(p)
}

// fitsCommand tries a pattern on one command. A single star after a space at the
// end is optional: "ls *" fits "ls".
func fitsCommand(pattern, command string) bool {
	p := commandPattern(pattern)
	head, ok := p.prefix()
	return ok && head == command+" " || p.match(command)
}

// namesCommand reports whether a pattern is a command's name and nothing more.
func namesCommand(pattern string) bool {
	head, ok := commandPattern(pattern).prefix()
	name := strings.TrimSuffix(head, " ")
	return ok && name != "" && !strings.Contains(name, " ")
}

// fitsShell tries a pattern on all commands that a line of shell runs. Where the
// shell decides at run time what runs, any pattern fits; where it decides only
// on arguments, any pattern that says more than a command's name.
func fitsShell(pattern, line string) (bool, string) {
	c := readShell(line)
	if c.open != "" {
		return true, c.open + ", so the rule cannot say no"
	}
	for _, text := range c.texts {
		if fitsCommand(pattern, text) {
			return true, fmt.Sprintf("it fits %q", text)
		}
	}
	if c.expands && !namesCommand(pattern) {
		return true, "an argument is only known when the command runs, so the rule cannot say no"
	}
	return false, "it fits no command of the line"
}

// shellCommands are the commands of a line of shell, as far as they are known before it runs.
type shellCommands struct {
	// open says why nothing is known; empty if something is.
	open string
	// texts are the commands, dequoted, with one space between words.
	texts []string
	// expands reports an argument that is known only when the command runs.
	expands bool
}

var errTooLong = errors.New("the command is too long to be taken apart")

// ParseShell parses a line of shell. One that is too long for the parser is an
// error.
func ParseShell(line string, lang syntax.LangVariant) (*syntax.File, error) {
	if len(line) > maxCommand || strings.Count(line, "(")+strings.Count(line, "{")+strings.Count(line, "[") > maxBrackets {
		return nil, errTooLong
	}
	return syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(line), "")
}

func readShell(line string) shellCommands {
	var c shellCommands
	c.read(line, maxNested)
	return c
}

// maxNested is how many shells inside one another are read.
const maxNested = 8

// read adds the commands of a line, in which that many shells may be nested.
func (c *shellCommands) read(line string, nested int) {
	file, err := ParseShell(line, syntax.LangBash)
	switch {
	case errors.Is(err, errTooLong):
		c.open = err.Error()
	case err != nil:
		c.open = "the command cannot be parsed as Bash"
	case nested == 0:
		c.open = "too many shells are nested"
	}
	if c.open != "" {
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		c.visit(n, line, nested)
		return c.open == ""
	})
}

// visit records the commands of a node of the syntax tree. The walk visits those
// inside of it.
func (c *shellCommands) visit(n syntax.Node, line string, nested int) {
	switch n := n.(type) {
	case *syntax.CallExpr:
		c.call(n.Args, nested)
	case *syntax.DeclClause:
		c.add(source(n, line))
		for _, a := range n.Args {
			if a.Value != nil {
				c.expands = c.expands || !assigned(a.Value)
			}
		}
	case *syntax.TestClause, *syntax.LetClause:
		c.add(source(n, line))
	case *syntax.TimeClause:
		text := "time"
		if n.Stmt != nil {
			text += " " + source(n.Stmt, line)
		}
		c.add(text)
	case *syntax.Redirect:
		// The text of a here-document is often a program. If its word is not quoted,
		// the shell changes the text first.
		if n.Hdoc != nil && !quoted(n.Word) {
			c.open = "a here-document is only known when the command runs"
		}
	}
}

// assigned reports whether a value is known, or is the output of a command, which is
// read separately.
func assigned(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if _, command := p.(*syntax.CmdSubst); command {
			continue
		}
		if _, known := literal(&syntax.Word{Parts: []syntax.WordPart{p}}); !known {
			return false
		}
	}
	return true
}

func source(n syntax.Node, line string) string {
	return line[min(int(n.Pos().Offset()), len(line)):min(int(n.End().Offset()), len(line))] //nolint:gosec // both are at most the line's length
}

func quoted(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if _, bare := p.(*syntax.Lit); !bare {
			return true
		}
	}
	return strings.Contains(w.Lit(), `\`)
}

func (c *shellCommands) call(args []*syntax.Word, nested int) {
	words := make([]string, 0, len(args))
	for i, w := range args {
		text, known := literal(w)
		if len(w.Parts) == 1 {
			if _, process := w.Parts[0].(*syntax.ProcSubst); process {
				text, known, c.expands = substitute, true, true
			}
		}
		if i == 0 && (!known || globbed(text, w)) {
			c.open = "the command's name is only known when it runs"
			return
		}
		if !known {
			c.expands = true
			text = "$" // some word
		}
		words = append(words, text)
	}
	fed := false // xargs gives further words
	for len(words) > 0 {
		c.add(strings.ReplaceAll(strings.Join(words, " "), substitute, "$"))
		inner, script := unwrap(words)
		switch {
		case len(inner) == 0:
			if _, wraps := wrappers[path.Base(words[0])]; fed && wraps {
				c.open = "the command's name is only known when it runs"
			}
			return
		case slices.Contains(inner, "$") && (script || inner[0] == "$"):
			c.open = "the command's name is only known when it runs"
			return
		case script:
			c.read(strings.Join(inner, " "), nested-1)
			return
		}
		fed = fed || path.Base(words[0]) == "xargs"
		words = inner
	}
}

func (c *shellCommands) add(text string) {
	c.texts = append(c.texts, strings.Join(strings.Fields(text), " "))
}

// globbed reports a name that the shell expands to the names of files.
func globbed(name string, w *syntax.Word) bool {
	return strings.ContainsAny(name, "*?[") && name != "[" && w.Lit() != ""
}

// literal is a word as the program gets it. known is false if that is only decided
// when it runs.
func literal(w *syntax.Word) (text string, known bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if braces(p.Value) {
				return "", false
			}
			b.WriteString(unescape(p.Value, ""))
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok || p.Dollar {
					return "", false
				}
				b.WriteString(unescape(lit.Value, "$`\"\\\n"))
			}
		case *syntax.ArithmExp:
			b.WriteString("0") // some number
		default:
			return "", false
		}
	}
	return b.String(), true
}

// braces reports {a,b} and {1..3}, which become several words.
func braces(s string) bool {
	open := strings.IndexByte(s, '{')
	return open >= 0 && strings.Contains(s[open:], "}") && (strings.Contains(s[open:], ",") || strings.Contains(s[open:], ".."))
}

// unescape removes backslashes before the characters in only, or if that is empty
// before all.
func unescape(s, only string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (only == "" || strings.IndexByte(only, s[i+1]) >= 0) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// wrapper is a program or builtin that starts the command in its arguments.
type wrapper struct {
	// short are its short flags that take a value, long the others.
	short string
	long  []string
	// words is how many words are before the command, and assigns reports that variables
	// may be.
	words   int
	assigns bool
	// shell reports that it starts the text behind its flag -c as a line of shell.
	shell bool
}

// wrappers are first those that Claude Code's permission rules look through. A hook that
// guards is worth starting for the others too, which it does not: "if" has to see a
// command that runs.
var wrappers = map[string]wrapper{
	"time":    {short: "fo", long: []string{"--format", "--output"}},
	"timeout": {short: "sk", long: []string{"--signal", "--kill-after"}, words: 1},
	"nice":    {short: "n", long: []string{"--adjustment"}},
	"stdbuf":  {short: "ioe", long: []string{"--input", "--output", "--error"}},
	"nohup":   {}, "command": {},
	"xargs": {short: "IaEdLnPs", long: xargsLong}, "builtin": {}, "noglob": {},

	"env":  {short: "uC", long: []string{"--unset", "--chdir"}, assigns: true},
	"sudo": {short: "aCcDghpRrTtUu", long: sudoLong, assigns: true},
	"doas": {short: "aCu"}, "exec": {short: "a"}, "setsid": {},
	"sh": {shell: true}, "bash": {shell: true}, "dash": {shell: true}, "zsh": {shell: true}, "ksh": {shell: true}, "ash": {shell: true},
	"fish": {shell: true}, "csh": {shell: true}, "tcsh": {shell: true}, "mksh": {shell: true}, "rbash": {shell: true},
	"source": {shell: true}, ".": {shell: true},
	"eval": {}, "trap": {},
}

var xargsLong = []string{
	"--arg-file", "--delimiter", "--max-args", "--max-procs", "--max-lines", "--max-chars", "--process-slot-var",
}

var sudoLong = []string{
	"--auth-type", "--close-from", "--chdir", "--group", "--host", "--prompt", "--chroot", "--role", "--type", "--command-timeout", "--other-user", "--user",
}

// unwrap returns the command that a wrapper starts, or nil. script reports that it is a
// line of shell; its only word is "$" where it is not known.
func unwrap(words []string) (inner []string, script bool) {
	name := path.Base(words[0])
	w, known := wrappers[name]
	rest := words[1:]
	switch {
	case !known:
		return nil, false
	case name == "eval":
		return slices.DeleteFunc(slices.Clone(rest), func(s string) bool { return s == "--" }), true
	case name == "trap":
		if len(rest) > 0 && rest[0] == "--" {
			rest = rest[1:]
		}
		if len(rest) < 2 || strings.HasPrefix(rest[0], "-") {
			return nil, false // it lists or resets traps
		}
		return rest[:1], true
	}
	line, input, place := false, false, "" // of xargs, the text that it replaces
	for len(rest) > 0 && (strings.HasPrefix(rest[0], "-") && (len(rest[0]) > 1 || w.shell || name == "env") || w.shell && strings.HasPrefix(rest[0], "+")) {
		flag := rest[0]
		rest = rest[1:]
		short := strings.TrimLeft(flag, "-+")
		isLong := strings.HasPrefix(flag, "--")
		at := strings.IndexAny(short, w.short)
		if name == "xargs" {
			place = cmp.Or(replaced(flag, rest), place)
		}
		switch {
		case flag == "--", flag == "-":
		case name == "command" && strings.ContainsAny(short, "vV"):
			return nil, false // it says what it would start
		case name == "env" && (!isLong && strings.Contains(short, "S") || strings.HasPrefix(flag, "--s")):
			return []string{"$"}, true // a text that it takes apart itself
		case w.shell && !isLong:
			line = line || strings.Contains(short, "c")
			input = input || strings.Contains(short, "s") && strings.HasPrefix(flag, "-")
			if strings.HasSuffix(short, "o") || strings.HasSuffix(short, "O") {
				rest = rest[min(1, len(rest)):]
			}
		case w.shell && (flag == "--rcfile" || flag == "--init-file"),
			isLong && slices.ContainsFunc(w.long, func(long string) bool { return len(flag) > 3 && strings.HasPrefix(long, flag) }),
			!isLong && at >= 0 && at == len(short)-1:
			rest = rest[min(1, len(rest)):]
		}
		if flag == "--" || flag == "-" && w.shell {
			break
		}
	}
	for w.assigns && len(rest) > 0 && strings.Contains(rest[0], "=") {
		rest = rest[1:]
	}
	switch {
	case place != "":
		return asReplaced(rest, place), false
	case !w.shell:
		return rest[min(w.words, len(rest)):], false
	case line && len(rest) > 0:
		return rest[:1], true
	case len(rest) == 0, input, readsInput(rest[0]):
		return []string{"$"}, true // what it reads
	}
	return nil, false // a file
}

// readsInput reports a file that is a process's input, or another's output.
func readsInput(file string) bool {
	file = path.Clean(file)
	return file == "/dev/stdin" || strings.HasPrefix(file, "/dev/fd/") || strings.HasPrefix(file, "/proc/") && strings.Contains(file, "/fd/")
}

// substitute is the name that a shell gives the program of a word like <(...).
const substitute = "/dev/fd/63"

// replaced is the text that xargs replaces by what it reads, empty if the flag is about
// something else.
func replaced(flag string, rest []string) string {
	long, value, given := strings.Cut(flag, "=")
	switch {
	case strings.HasPrefix(flag, "--"):
		if len(long) > 2 && strings.HasPrefix("--replace", long) {
			return cmp.Or(value, "{}")
		}
	case strings.HasSuffix(flag, "I") && !given:
		return cmp.Or(append(rest, "{}")[0], "{}")
	case strings.Contains(flag, "I"):
		return flag[strings.IndexByte(flag, 'I')+1:]
	case strings.Contains(flag, "i"):
		return cmp.Or(flag[strings.IndexByte(flag, 'i')+1:], "{}")
	}
	return ""
}

// asReplaced are words of which those with a text are only known when they run.
func asReplaced(words []string, text string) (out []string) {
	for _, w := range words {
		if strings.Contains(w, text) {
			w = "$"
		}
		out = append(out, w)
	}
	return out
}

// fitsPowerShell tries a pattern on the commands of a PowerShell line, in any case.
// It fits a line of more than plain words, which cannot be judged.
func fitsPowerShell(pattern, line string) bool {
	if strings.ContainsAny(line, "$(){}`'\"@") {
		return true
	}
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("|;&\n", r) }) {
		if fitsCommand(strings.ToLower(pattern), strings.ToLower(strings.Join(strings.Fields(part), " "))) {
			return true
		}
	}
	return false
}

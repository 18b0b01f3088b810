package hookcheck

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookmatch"
)

// projectDir replaces the project's folder if that is not known.
const projectDir = "/\x01project"

// command checks the program or line that a hook starts.
func (c *checker) command() {
	h := c.handler
	texts := append([]string{h.Command, h.URL}, h.Args...)
	if !c.place.Claude && (h.Type != hookfile.TypeCommand || h.Args != nil) {
		for _, variable := range pluginVariables {
			if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, variable) }) {
				c.noteOnce(variable+" exec", "$%s is for plugins of Claude Code, and without a shell nothing replaces it: write the path itself", variable)
			}
		}
	}
	switch {
	case h.Type != hookfile.TypeCommand:
	case h.Args != nil && c.place.GOOS == "windows":
		// Programs there have endings that are not written.
	case h.Args != nil:
		words := make([]string, 0, 1+len(h.Args))
		for _, s := range append([]string{h.Command}, h.Args...) {
			words = append(words, strings.ReplaceAll(s, "${CLAUDE_PROJECT_DIR}", cmp.Or(c.place.Project, projectDir)))
		}
		c.program(words)
	case h.Shell == "powershell":
	default:
		c.line()
	}
}

var pluginVariables = [...]string{"CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"}

// line checks a line for the shell.
func (c *checker) line() {
	bash, err := hookmatch.ParseShell(c.handler.Command, syntax.LangBash)
	if err != nil {
		return // it is not known which shell could read it
	}
	_, posix := hookmatch.ParseShell(c.handler.Command, syntax.LangPOSIX)
	if c.handler.Shell == "" && !slices.Contains([]string{"bash", "zsh", "ksh"}, c.place.Shell) && c.place.GOOS != "windows" {
		if what := bashOnly(bash); what != "" {
			c.mistake("%s is a feature of Bash, and /bin/sh, which runs the line, may not have it: add \"shell\": \"bash\" to the hook", what)
		} else if posix != nil {
			c.mistake("the line is written for Bash, and /bin/sh, which runs it, may not understand it: add \"shell\": \"bash\" to the hook")
		}
	}
	if !c.place.Claude {
		c.variables(bash)
	}
	if c.place.GOOS == "windows" {
		return
	}
	if !assigns(bash, "PATH") {
		for _, st := range bash.Stmts {
			if !c.statement(st) {
				break
			}
		}
	}
}

// variables finds variables that are not set on Cline.
func (c *checker) variables(f *syntax.File) {
	syntax.Walk(f, func(n syntax.Node) bool {
		writes := false
		switch n := n.(type) {
		case *syntax.ParamExp:
			if n.Param == nil || n.Exp != nil || !slices.Contains(pluginVariables[:], n.Param.Value) || assigns(f, n.Param.Value) {
				break
			}
			if _, set := c.lookup(n.Param.Value); set {
				break
			}
			c.noteOnce(n.Param.Value, "$%s is set for plugins of Claude Code only and empty here: set it under \"env\" in hooks.json, or write the path itself", n.Param.Value)
		case *syntax.Redirect:
			// The word of a redirection to the file, such as >>"$CLAUDE_ENV_FILE".
			writes = n.Op != syntax.RdrIn && n.Word != nil && namesEnvFile(n.Word)
		case *syntax.CallExpr:
			writes = len(n.Args) > 1 && n.Args[0].Lit() == "tee" && namesEnvFile(n)
		}
		if writes {
			c.noteOnce("CLAUDE_ENV_FILE", "writes to CLAUDE_ENV_FILE, which nothing reads on Cline: set the variables under \"env\" in hooks.json")
		}
		return true
	})
}

func namesEnvFile(n syntax.Node) bool {
	return contains(n, func(n syntax.Node) bool {
		p, ok := n.(*syntax.ParamExp)
		return ok && p.Param != nil && p.Param.Value == "CLAUDE_ENV_FILE"
	})
}

// lookup returns the value that a variable of the hook has, if that is known.
func (c *checker) lookup(variable string) (string, bool) {
	for _, v := range slices.Concat(c.file.Env, c.place.Env) {
		if v.Name == variable {
			return v.Value, true
		}
	}
	switch variable {
	case "HOME":
		return c.place.Home, c.place.Home != ""
	case "CLAUDE_PROJECT_DIR":
		return cmp.Or(c.place.Project, projectDir), true
	}
	return "", false
}

func assigns(f *syntax.File, variable string) bool {
	return contains(f, func(n syntax.Node) bool {
		a, ok := n.(*syntax.Assign)
		return ok && a.Name != nil && a.Name.Value == variable
	})
}

// statement checks the programs that a statement always starts, and reports whether
// the statements after it run in the same folder.
func (c *checker) statement(st *syntax.Stmt) bool {
	switch cmd := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		switch cmd.Op {
		case syntax.Pipe, syntax.PipeAll:
			return c.statement(cmd.X) && c.statement(cmd.Y)
		case syntax.AndStmt:
			// The other half runs only if the first does not fail.
			return c.statement(cmd.X)
		}
		return true // the author expects a failure
	case *syntax.CallExpr:
		var words []string
		for _, w := range cmd.Args {
			word, ok := c.word(w)
			if !ok {
				break
			}
			words = append(words, word)
		}
		if len(words) == 0 {
			return len(cmd.Args) == 0
		}
		if words[0] == "cd" || words[0] == "exit" || words[0] == "exec" && len(words) == 1 {
			return false
		}
		c.program(words)
	}
	return true
}

// word is a word as the shell expands it, if that is known.
func (c *checker) word(w *syntax.Word) (string, bool) {
	if lit := w.Lit(); strings.HasPrefix(lit, "~") && lit != "~" && !strings.HasPrefix(lit, "~/") {
		return "", false // another user's home
	}
	known := true
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp:
			if n.Param == nil {
				known = false
				break
			}
			_, set := c.lookup(n.Param.Value)
			known = known && set && n.Exp == nil && n.Repl == nil && n.Slice == nil && n.Index == nil && !n.Length && !n.Excl
		case *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst, *syntax.ExtGlob:
			known = false
		case *syntax.Lit:
			known = known && !strings.ContainsAny(n.Value, "*?[{")
		}
		return known
	})
	if !known {
		return "", false
	}
	text, err := expand.Literal(&expand.Config{Env: expand.FuncEnviron(func(name string) string {
		text, _ := c.lookup(name)
		return text
	})}, w)
	return text, err == nil
}

// scriptPrograms take the path of a script as their first argument.
var scriptPrograms = []string{"sh", "bash", "zsh", "dash", "python", "python3", "uv", "node", "bun", "ruby", "perl", "php", "source", "."}

// program checks that a program exists, and the script that it runs.
func (c *checker) program(words []string) {
	for len(words) > 1 && slices.Contains([]string{"exec", "nohup", "env"}, words[0]) && !strings.HasPrefix(words[1], "-") && !strings.Contains(words[1], "=") {
		words = words[1:]
	}
	name := words[0]
	if strings.Contains(name, "/") {
		c.script(name, true)
	} else if !shellKnows(name) && c.place.Path != "" && !onPath(name, c.path()) {
		c.noteOnce("program "+name, "program %q is not on PATH, and a hook that cannot be started decides nothing: install it, or write its whole path", name).Mistake = true
		return
	}
	if !slices.Contains(scriptPrograms, path.Base(name)) {
		return
	}
	for _, arg := range words[1:] {
		switch {
		case arg == "run" && (name == "uv" || name == "bun"):
			continue
		case arg == "-c" || arg == "-e" || arg == "-m" || arg == "--eval" || arg == "-p" || arg == "run" || arg == "-":
			return
		case strings.HasPrefix(arg, "-"):
			continue
		}
		if strings.Contains(arg, "/") || slices.Contains([]string{".py", ".sh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php"}, path.Ext(arg)) {
			c.script(arg, false)
		}
		return
	}
}

func (c *checker) path() string {
	if path, ok := c.lookup("PATH"); ok {
		return path
	}
	return c.place.Path
}

// script checks a program or a script by its path.
func (c *checker) script(name string, start bool) {
	if rest, ok := strings.CutPrefix(name, projectDir); ok {
		c.noteOnce("project", "$CLAUDE_PROJECT_DIR%s is looked for in every project, and the hook fails where it is missing: move the hook to that project's own file (hookspan hooks add --project)", rest)
		return
	}
	if strings.Contains(name, projectDir) {
		return
	}
	full := name
	switch {
	case filepath.IsAbs(name):
	case c.place.Project == "":
		agent := "Cline"
		if c.place.Claude {
			agent = "Claude Code"
		}
		c.note("%s is looked for in the folder where %s works: for a hook of all your projects write the whole path", name, agent)
		return
	default:
		full = filepath.Join(c.place.Project, name)
	}
	const decides = "and a hook that cannot be started decides nothing"
	info, err := os.Stat(full)
	switch {
	case err != nil:
		c.mistake("%s: there is no such program, %s: put it there, or correct the path", full, decides)
	case info.IsDir():
		c.mistake("%s is a folder, %s: write the path of a program", full, decides)
	case start && c.place.GOOS != "windows" && info.Mode()&0o111 == 0:
		c.mistake("%s is not executable, %s: chmod +x %s", full, decides, full)
	}
}

func onPath(name, path string) bool {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// shellKnows reports a command that a shell has built in.
func shellKnows(name string) bool {
	return slices.Contains(strings.Fields(`. : [ alias bg break builtin cd command continue declare dirs disown echo enable eval exec
		exit export false fc fg getopts hash help history jobs kill let local logout popd printf pushd pwd read readonly return set
		shift shopt source test times trap true type typeset ulimit umask unalias unset wait [[`), name)
}

package findings

import (
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/pattern"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

var (
	inShell = pattern.Of(`(?s)^(?:\S*/)?(?:ba|z|da)?sh -\w*c\s+(.*)$`)
	// aside are redirections that write no file.
	aside = pattern.Of(`[0-9&]?>>?\s*(/dev/null|&[0-9])`)
	// writes are options and words with which a command that reads does more.
	writes = pattern.Of("[>`]|\\$\\(|<\\(|system\\(|\\s-(exec|ok|delete|fprint)|\\bsed\\b.*\\s(-\\w*i|--in-place)|\\bsort\\b.*\\s(-o|--output)|\\btail\\b.*\\s(-\\w*[fF]|--follow)")
	alone  = pattern.Of(`(^|[^&])&([^&]|$)|\bnohup\b`)
	later  = pattern.Of(`"(run_in_background|is_background|isBackground|background)":\s*true`)
)

// readers are the programs that only read.
var readers = strings.Fields(`ls cat head tail grep rg ag find fd wc pwd which type stat file tree du df sort uniq cut nl sed awk jq echo printf basename
	dirname realpath readlink diff cmp bat column tr test [ true whoami uname`)

// gitReaders are commands of programs that have others, too.
var gitReaders = []string{"git status", "git log", "git diff", "git show", "git blame", "git ls-files", "git rev-parse", "git grep", "go doc", "go list", "go env"}

// readingTools are tools that change nothing, in lower case.
var readingTools = strings.Fields(`read read_file readfile view view_file open_file read_many_files grep grep_search search_files search_file_content
	glob glob_search ls list list_files list_dir list_directory list_code_definition_names notebookread todowrite todoread update_plan write_todos todo_write
	plan think websearch web_search webfetch web_fetch toolsearch attempt_completion task_complete`)

// script is what a call of a shell tool runs, without the shell.
func script(c *store.Call) string {
	s := strings.TrimSpace(store.ScriptOf(c.Tool, c.Arguments))
	if m := inShell().FindStringSubmatch(s); m != nil {
		s = strings.Trim(strings.TrimSpace(m[1]), `"'`)
	}
	return s
}

// beside returns a script without the redirections that write no file.
func beside(script string) string {
	if !strings.Contains(script, ">") {
		return script
	}
	return aside().ReplaceAllString(script, "")
}

// commands are the simple commands of a script. Within quotes there may be too many, of which no
// program is known.
func commands(script string) []string {
	parts := strings.FieldsFunc(beside(script), func(r rune) bool { return strings.ContainsRune(";&|\n", r) })
	return slices.DeleteFunc(parts, func(p string) bool { return strings.TrimSpace(p) == "" })
}

// onlyReads reports that a script changes nothing.
func onlyReads(script string) bool {
	script = beside(script)
	if script == "" {
		return false
	}
	for _, c := range commands(script) {
		program := store.Program(c)
		first := strings.Fields(c)[0]
		if first != "cd" && !slices.Contains(readers, program) && !slices.Contains(gitReaders, program) {
			return false
		}
	}
	return !writes().MatchString(script)
}

// harmless reports that a call changes nothing.
func (s *session) harmless(it *item) bool {
	switch c := it.call; {
	case c.Status == otelmap.EndDenied:
		return false // the agent was told why
	case c.Own(), s.started[c.Span]:
		return true
	case c.Command != "":
		return !cut(c.Arguments) && it.reads
	case c.Server != "" || it.edits != nil:
		return false
	default:
		return slices.Contains(readingTools, strings.ToLower(c.Tool))
	}
}

// edits returns the files that a call edits, "" for one that it does not name. Most calls edit none,
// which is found out without their diffs.
func edits(c *store.Call) []string {
	if !view.MayEdit([]byte(c.Arguments)) {
		return nil
	}
	given := view.NewArguments(c.Tool, c.Arguments)
	if len(given.Edits()) == 0 {
		return nil
	}
	return append(given.Files(), "")
}

// background reports a call that continues after its end.
func (it *item) background() bool {
	return strings.Contains(it.call.Arguments, `ackground"`) && later().MatchString(it.call.Arguments) ||
		(strings.Contains(it.script, "&") || strings.Contains(it.script, "nohup")) && alone().MatchString(beside(it.script))
}

// cut reports that a text was cut, or a text in it, or that a part was left out.
func cut(text string) bool {
	return strings.HasSuffix(text, "…") || strings.Contains(text, `…"`)
}

// shortened reports that a result or a failure was cut, here or by the tool.
func shortened(text string) bool { return cut(text) || left().MatchString(text) }

// comments are arguments that only say why a call is made.
var comments = []string{"description", "task_progress", "explanation", "justification", "requires_approval"}

// same returns what equal calls of an agent have in common, "" if a part of it was cut.
func same(c *store.Call) string {
	if cut(c.Arguments) || c.Arguments == "" {
		return ""
	}
	given := []string{c.AgentSpan, c.Host, strings.ToLower(c.Tool)}
	ok := rawjson.EachMember([]byte(c.Arguments), func(name, value []byte) {
		if !slices.Contains(comments, string(name)) {
			given = append(given, string(name)+"="+strings.TrimSpace(rawjson.Canonical(value)))
		}
	})
	if !ok {
		given = append(given, c.Arguments)
	}
	slices.Sort(given[3:])
	return strings.Join(given, "\x00")
}

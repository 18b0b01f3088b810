package hooks

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/shelltext"
)

// Text writes hooks for people at a terminal, without secrets.
type Text struct {
	W     io.Writer
	Clean func(string) string
}

func (t Text) printf(format string, args ...any) {
	_, _ = io.WriteString(t.W, termtext.Screen(fmt.Sprintf(format, args...)))
}

// whole is one line of a text over which the user decides.
func (t Text) whole(text string) string { return hookfile.WholeLine(text, t.Clean) }

// MatcherText is a matcher as people read it.
func MatcherText(m string) string { return cmp.Or(m, "*") }

// File writes everything that a file with hooks starts and sets, so that the
// user can decide whether to trust it.
func (t Text) File(f *hookfile.File, problems []hookfile.Problem) {
	if f.Disabled {
		t.printf("  disableAllHooks is set: none of these runs as long as it is\n")
	}
	if len(f.Env) > 0 {
		t.printf("  variables that all hooks get, your own too\n")
	}
	for _, v := range f.Env {
		t.lines("    ", v.Name+"="+v.Value)
	}
	for _, h := range f.Handlers {
		t.hook(h)
	}
	for _, p := range problems {
		t.printf("  note: line %d: %s\n", p.Line, termtext.Value(p.Text))
	}
}

// hook writes all members of one hook.
func (t Text) hook(h hookfile.Handler) {
	t.printf("  line %d: %s, matcher %s, type %s\n", h.Line, t.whole(h.Event), t.whole(MatcherText(h.Matcher)), t.whole(h.Type))
	member := func(name, text string) {
		if text != "" {
			t.lines("    "+name+strings.Repeat(" ", max(1, 10-len(name))), text)
		}
	}
	switch {
	case h.Type == hookfile.TypeHTTP:
		member("url", h.URL)
		for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
			member("header", name+": "+h.Headers[name])
		}
		member("sends", strings.Join(h.AllowedEnvVars, ", "))
	case h.Args != nil:
		member("program", shelltext.Text(h))
	default:
		member("command", h.Command)
		member("shell", h.Shell)
	}
	member("if", h.If)
	if h.Timeout > 0 {
		member("timeout", userhooks.Duration(h.Timeout))
	}
	if h.Async || h.AsyncRewake {
		member("async", "is not waited for and decides nothing")
	}
	if h.Once {
		member("once", "once per session")
	}
	if h.BlockOnFailure {
		member("onFailure", "block")
	}
}

// lines writes a text after a head, its further lines indented below the first.
func (t Text) lines(head, text string) {
	for line := range strings.Lines(hookfile.Whole(text, t.Clean)) {
		t.printf("%s%s\n", head, strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "⟨U+0009⟩"))
		head = strings.Repeat(" ", len(head))
	}
}

// RunsText says what of a file that is trusted counts.
func RunsText(f *hookfile.File) string {
	switch n := len(f.Handlers); {
	case n == 0 && len(f.Env) > 0:
		return "your hooks get its variables"
	case n == 1:
		return "this hook runs"
	default:
		return fmt.Sprintf("these %d hooks run", n)
	}
}

// Files writes a table of the hooks of each file, of those that a call of a tool starts if
// one is named.
func (t Text) Files(files []userhooks.ListedFile, tool string) {
	for _, f := range files {
		t.printf("%s (%s)\n", termtext.Value(f.Path), scopeText(f))
		if f.Error != "" {
			t.printf("  cannot be read, so none of its hooks runs: %s\n", termtext.Value(f.Error))
			continue
		}
		var table bytes.Buffer
		w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
		for _, h := range f.Hooks {
			_, _ = fmt.Fprintf(w, "  %d\t%s\t%s\t%s\t%s\n", h.Number, termtext.Value(h.Event), termtext.Value(MatcherText(h.Matcher)),
				termtext.Value(t.Clean(shelltext.Text(h.Handler))), termtext.Value(strings.Join(h.Handler.Traits(), ", ")))
			if h.Why != "" {
				_, _ = fmt.Fprintf(w, "\t%s\n", termtext.Value(h.Why))
			}
		}
		_ = w.Flush()
		for line := range strings.Lines(table.String()) {
			t.printf("%s\n", strings.TrimRight(line, " \n"))
		}
		if len(f.Hooks) == 0 {
			if tool != "" {
				t.printf("  none that a call of %s starts\n", termtext.Value(tool))
			} else {
				t.printf("  no hook that can run\n")
			}
		}
	}
}

// Problems writes what will not work.
func (t Text) Problems(problems []hookfile.Problem) {
	if len(problems) > 0 {
		t.printf("\nwhat will not work\n")
	}
	for _, p := range problems {
		t.printf("  %s\n", termtext.Value(p.String()))
	}
}

// scopeText says for whom a file counts.
func scopeText(f userhooks.ListedFile) string {
	out := "yours, in every project"
	if f.Scope == "project" {
		out = "this project's, trusted"
		if f.Error != "" {
			out = "this project's"
		} else if !f.Trusted {
			out = "this project's, not trusted: its hooks do not run"
		}
	}
	switch {
	case f.Disabled && f.Scope == "user":
		out += "; disableAllHooks: no hook runs, nor any project's"
	case f.Disabled:
		out += "; disableAllHooks: none of these runs"
	}
	return out
}

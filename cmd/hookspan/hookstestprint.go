package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/sample"
	"github.com/hookspan/hookspan/internal/userhooks/shelltext"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
)

// What a test shows of long texts, unless --debug asks for all.
const (
	shownLines = 8
	shownRunes = 200
)

// trialPrinter prints a trial of the hooks, without secrets.
type trialPrinter struct {
	*app
	dryRun, debug bool
}

// printf prints without secrets.
func (p trialPrinter) printf(format string, args ...any) {
	p.app.printf("%s", p.clean(fmt.Sprintf(format, args...)))
}

// event shows what Cline reports, and the events that hooks get for it.
func (p trialPrinter) event(raw hook.Raw, c *translate.Call) {
	what := c.Name
	if c.Tool != "" {
		what += " of " + c.Tool
	}
	p.printf("%s, as %s reports it\n", termtext.Value(what), dialectText(c.Dialect))
	if p.debug {
		p.text("  payload  ", string(raw.Payload))
	}
	for i, e := range c.Events {
		p.printf("  %s", termtext.Value(e.Name))
		if e.Tool != "" {
			p.printf(" %s %s", termtext.Value(e.Tool), p.short(string(e.Input)))
		}
		p.printf("\n")
		if p.debug && p.dryRun {
			p.text(fmt.Sprintf("  stdin %d  ", i+1), string(e.Payload))
		}
	}
	if len(c.Events) == 0 {
		p.printf("  Claude Code has no such event, so it starts no hook\n")
	}
}

func dialectText(d string) string {
	switch d {
	case sample.SDK:
		return "Cline's SDK (CLI 3)"
	case sample.Next:
		return "Cline's next core (VS Code 4.1)"
	}
	return "Cline's classic core (VS Code to 3.x, JetBrains, CLI 2)"
}

// choice shows which hooks the event starts, and why.
func (p trialPrinter) choice(t *userhooks.Trial) {
	p.printf("\nhooks\n")
	if len(t.Sources) == 0 {
		p.printf("  there is no hooks.json\n")
		p.hint("hookspan hooks add makes one")
		return
	}
	if !p.cfg.Hooks {
		p.printf("  HOOKSPAN_HOOKS is false: Cline's events start none; this test does\n")
	}
	several := len(t.Call.Events) > 1
	for _, m := range t.Matches {
		verb := "skips"
		if m.Matched {
			verb = "runs"
		}
		p.printf("  %-6s %s: %s\n", verb, termtext.Value(fmt.Sprintf("%s:%d", m.Handler.File, m.Handler.Line)), termtext.Value(shelltext.Text(m.Handler)))
		why := m.Why
		if several && m.Event < len(t.Call.Events) {
			e := t.Call.Events[m.Event]
			why = fmt.Sprintf("event %d, %s %s: %s", m.Event+1, e.Name, e.Tool, why)
		}
		p.printf("         %s\n", termtext.Value(why))
	}
	if len(t.Matches) == 0 {
		p.printf("  none for this event\n")
	}
	for _, text := range t.Sources.Problems() {
		p.printf("  note: %s\n", termtext.Value(text))
	}
	for _, s := range t.Sources {
		if s.File != nil && s.File.Disabled {
			p.printf("  note: %s: disableAllHooks is set\n", termtext.Value(s.Path))
		}
	}
}

// runs shows what each hook did.
func (p trialPrinter) runs(o *userhooks.Outcome) {
	if len(o.Result.Runs) == 0 {
		return
	}
	p.printf("\nwhat they did\n")
	for i := range o.Result.Runs {
		r := &o.Result.Runs[i]
		p.printf("  %s\n", termtext.Value(shelltext.Text(r.Handler)))
		p.printf("    %s\n", termtext.Value(userhooks.Ending(r)))
		if p.debug && o.Call != nil && r.Event < len(o.Call.Events) {
			p.text("    stdin    ", string(o.Call.Events[r.Event].Payload))
		}
		if !r.Async {
			p.text("    stdout   ", r.Output.Stdout)
			p.text("    stderr   ", r.Output.Stderr)
		}
		for j, line := range userhooks.Verdict(r.Verdict) {
			head := "    verdict  "
			if j > 0 {
				head = "             "
			}
			p.text(head, line)
		}
	}
}

// answer shows the answer to Cline, and its effect there.
func (p trialPrinter) answer(o *userhooks.Outcome) {
	p.printf("\nanswer to Cline\n")
	p.text("  ", string(cline.EncodeReply(o.Answer.Reply)))
	p.printf("  %s\n", termtext.Value(o.Effect()))
	for _, s := range o.Answer.Pending {
		p.text("  kept for the session's next event that can carry it: ", s)
	}
	// choice has shown these.
	said := map[string]bool{}
	for _, text := range o.Sources.Problems() {
		said[text] = true
	}
	for _, text := range o.Problems {
		if !said[text] {
			p.printf("  note: %s\n", termtext.Value(text))
			said[text] = true
		}
	}
}

// text shows a text after its head, indented by the head's length. Without --debug
// a long text is cut.
func (p trialPrinter) text(head, text string) {
	text = strings.TrimRight(p.clean(text), "\r\n")
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	left := 0
	if !p.debug && len(lines) > shownLines {
		left = len(lines) - shownLines
		lines = lines[:shownLines]
	}
	for _, line := range lines {
		p.printf("%s%s\n", head, p.short(line))
		head = strings.Repeat(" ", utf8.RuneCountInString(head))
	}
	if left > 0 {
		p.printf("%s(%s more; --debug shows all)\n", head, termtext.Plural(left, "line"))
	}
}

// short is one line of a text, laid out on one line where it is JSON.
func (p trialPrinter) short(s string) string {
	var b bytes.Buffer
	if json.Valid([]byte(s)) && json.Compact(&b, []byte(s)) == nil {
		s = b.String()
	}
	s = p.clean(s) // a part of a secret may not look like one
	if n := utf8.RuneCountInString(s); !p.debug && n > shownRunes {
		return termtext.Value(string([]rune(s)[:shownRunes])) + fmt.Sprintf("... (%d characters)", n)
	}
	return termtext.Value(strings.ReplaceAll(s, "\t", "    "))
}

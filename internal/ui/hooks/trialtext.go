package hooks

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

// TrialText writes a trial of hooks for people at a terminal, without secrets.
type TrialText struct {
	Text
	// DryRun starts no hook, Debug shows whole texts. Off reports that Cline's events start
	// no hooks.
	DryRun, Debug, Off bool
}

// Printf writes without secrets.
func (p TrialText) Printf(format string, args ...any) {
	p.printf("%s", p.Clean(fmt.Sprintf(format, args...)))
}

// Event shows what Cline reports, and the events that hooks get for it.
func (p TrialText) Event(raw hook.Raw, c *translate.Call) {
	what := c.Name
	if c.Tool != "" {
		what += " of " + c.Tool
	}
	p.Printf("%s, as %s reports it\n", termtext.Value(what), dialectText(c.Dialect))
	if p.Debug {
		p.part("  payload  ", string(raw.Payload))
	}
	for i, e := range c.Events {
		p.Printf("  %s", termtext.Value(e.Name))
		if e.Tool != "" {
			p.Printf(" %s %s", termtext.Value(e.Tool), p.short(string(e.Input)))
		}
		p.Printf("\n")
		if p.Debug && p.DryRun {
			p.part(fmt.Sprintf("  stdin %d  ", i+1), string(e.Payload))
		}
	}
	if len(c.Events) == 0 {
		p.Printf("  Claude Code has no such event, so it starts no hook\n")
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

// Choice shows which hooks the event starts, and why.
func (p TrialText) Choice(t *userhooks.Trial) {
	p.Printf("\nhooks\n")
	if len(t.Sources) == 0 {
		p.Printf("  there is no hooks.json\n")
		return
	}
	if p.Off {
		p.Printf("  HOOKSPAN_HOOKS is false: Cline's events start none; this test does\n")
	}
	several := len(t.Call.Events) > 1
	for _, m := range t.Matches {
		verb := "skips"
		if m.Matched {
			verb = "runs"
		}
		p.Printf("  %-6s %s: %s\n", verb, termtext.Value(fmt.Sprintf("%s:%d", m.Handler.File, m.Handler.Line)), termtext.Value(shelltext.Text(m.Handler)))
		why := m.Why
		if several && m.Event < len(t.Call.Events) {
			e := t.Call.Events[m.Event]
			why = fmt.Sprintf("event %d, %s %s: %s", m.Event+1, e.Name, e.Tool, why)
		}
		p.Printf("         %s\n", termtext.Value(why))
	}
	if len(t.Matches) == 0 {
		p.Printf("  none for this event\n")
	}
	for _, text := range t.Sources.Problems() {
		p.Printf("  note: %s\n", termtext.Value(text))
	}
	for _, s := range t.Sources {
		if s.File != nil && s.File.Disabled {
			p.Printf("  note: %s: disableAllHooks is set\n", termtext.Value(s.Path))
		}
	}
}

// Runs shows what each hook did.
func (p TrialText) Runs(o *userhooks.Outcome) {
	if len(o.Result.Runs) == 0 {
		return
	}
	p.Printf("\nwhat they did\n")
	for i := range o.Result.Runs {
		r := &o.Result.Runs[i]
		p.Printf("  %s\n", termtext.Value(shelltext.Text(r.Handler)))
		p.Printf("    %s\n", termtext.Value(userhooks.Ending(r)))
		if p.Debug && o.Call != nil && r.Event < len(o.Call.Events) {
			p.part("    stdin    ", string(o.Call.Events[r.Event].Payload))
		}
		if !r.Async {
			p.part("    stdout   ", r.Output.Stdout)
			p.part("    stderr   ", r.Output.Stderr)
		}
		for j, line := range userhooks.Verdict(r.Verdict) {
			head := "    verdict  "
			if j > 0 {
				head = "             "
			}
			p.part(head, line)
		}
	}
}

// Answer shows the answer to Cline, and its effect there.
func (p TrialText) Answer(o *userhooks.Outcome) {
	p.Printf("\nanswer to Cline\n")
	p.part("  ", string(cline.EncodeReply(o.Answer.Reply)))
	p.Printf("  %s\n", termtext.Value(o.Effect()))
	for _, s := range o.Answer.Pending {
		p.part("  kept for the session's next event that can carry it: ", s)
	}
	// Choice has shown these.
	said := map[string]bool{}
	for _, text := range o.Sources.Problems() {
		said[text] = true
	}
	for _, text := range o.Problems {
		if !said[text] {
			p.Printf("  note: %s\n", termtext.Value(text))
			said[text] = true
		}
	}
}

// part shows a text after its head, indented by the head's length. Without --debug
// a long text is cut.
func (p TrialText) part(head, text string) {
	text = strings.TrimRight(p.Clean(text), "\r\n")
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	left := 0
	if !p.Debug && len(lines) > shownLines {
		left = len(lines) - shownLines
		lines = lines[:shownLines]
	}
	for _, line := range lines {
		p.Printf("%s%s\n", head, p.short(line))
		head = strings.Repeat(" ", utf8.RuneCountInString(head))
	}
	if left > 0 {
		p.Printf("%s(%s more; --debug shows all)\n", head, termtext.Plural(left, "line"))
	}
}

// short is one line of a text, laid out on one line where it is JSON.
func (p TrialText) short(s string) string {
	var b bytes.Buffer
	if json.Valid([]byte(s)) && json.Compact(&b, []byte(s)) == nil {
		s = b.String()
	}
	s = p.Clean(s) // a part of a secret may not look like one
	if n := utf8.RuneCountInString(s); !p.Debug && n > shownRunes {
		return termtext.Value(string([]rune(s)[:shownRunes])) + fmt.Sprintf("... (%d characters)", n)
	}
	return termtext.Value(strings.ReplaceAll(s, "\t", "    "))
}

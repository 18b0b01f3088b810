package hooks

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookmatch"
	"github.com/hookspan/hookspan/internal/userhooks/shelltext"
)

// describe is a line about a hook.
func (c *Catalog) describe(h hookfile.Handler, text string) string {
	out := h.Event
	if h.Matcher != "" && h.Matcher != "*" {
		out += " [" + h.Matcher + "]"
	}
	return c.whole(out + ": " + text)
}

func (e *Editor) add(c *change, r Request) error {
	value := func(s *string) string {
		if s == nil {
			return ""
		}
		return strings.TrimSpace(*s)
	}
	h := hookfile.Handler{
		Event: value(r.Event), Matcher: value(r.Matcher), Type: hookfile.TypeCommand, Command: value(r.Command), URL: value(r.URL), If: value(r.If),
	}
	switch {
	case h.Event == "":
		return Refused("event: want the event that starts the hook")
	case h.URL != "" && h.Command != "":
		return Refused("a command and an address: a hook is one of the two")
	case h.URL != "":
		h.Type = hookfile.TypeHTTP
	case h.Command == "":
		return Refused("command: want what the hook runs, or an address")
	}
	if r.Args != nil && h.Type == hookfile.TypeCommand {
		h.Args = *r.Args
	}
	if r.Timeout != nil {
		h.Timeout = time.Duration(*r.Timeout * float64(time.Second))
	}
	h.Async = r.Async != nil && *r.Async && h.Type == hookfile.TypeCommand
	if err := e.checkFields(r, h.Event); err != nil {
		return err
	}
	var err error
	if c.after, err = c.file.text().Add(h); err != nil {
		return err
	}
	c.What = "add " + e.Catalog.describe(h, shelltext.Text(h))
	return e.notes(c, h)
}

// checkFields checks what a form has, before anything is computed with it.
func (e *Editor) checkFields(r Request, event string) error {
	if r.Timeout != nil && (*r.Timeout < 0 || *r.Timeout > maxSeconds) {
		return Refused("time limit %v: want seconds, more than 0 and at most %d, or nothing", *r.Timeout, maxSeconds)
	}
	if r.Matcher != nil {
		if _, err := hookmatch.Compile(event, strings.TrimSpace(*r.Matcher)); err != nil {
			return err
		}
	}
	if r.If != nil && strings.TrimSpace(*r.If) != "" {
		if _, err := hookmatch.ParseRule(strings.TrimSpace(*r.If)); err != nil {
			return err
		}
	}
	texts := []*string{r.Command, r.URL, r.If, r.Matcher}
	if r.Args != nil {
		for i := range *r.Args {
			texts = append(texts, &(*r.Args)[i])
		}
	}
	for _, s := range texts {
		if s == nil {
			continue
		}
		if mark := marks.FindString(*s); mark != "" {
			return Refused("the text has %q, with which a secret or a character is marked where it is shown: write the secret itself, or the character", mark)
		}
	}
	return nil
}

var marks = regexp.MustCompile(`\[REDACTED:|⟨secret: |⟨U\+`)

func (e *Editor) change(c *change, r Request) error {
	if r.Hook < 0 || r.Hook >= len(c.file.entries) {
		return unknown("there is no such hook in the file")
	}
	h := c.file.entries[r.Hook]
	trim := func(s *string) *string {
		if s == nil {
			return nil
		}
		t := strings.TrimSpace(*s)
		return &t
	}
	ch := hookfile.Change{Event: trim(r.Event), Matcher: trim(r.Matcher), Command: trim(r.Command), URL: trim(r.URL), If: trim(r.If), Args: r.Args, Async: r.Async}
	if r.Timeout != nil {
		d := time.Duration(*r.Timeout * float64(time.Second))
		ch.Timeout = &d
	}
	event := h.Event
	if ch.Event != nil {
		event = *ch.Event
	}
	if err := e.checkFields(r, event); err != nil {
		return err
	}
	var err error
	if c.after, err = c.file.text().Change(r.Hook, ch); err != nil {
		return err
	}
	entries, err := hookfile.Text{Data: c.after, Claude: c.file.text().Claude}.Entries()
	if err != nil {
		return err
	}
	c.What = "change " + e.Catalog.describe(h.Handler, textOf(h))
	for _, now := range entries {
		if !slices.ContainsFunc(c.file.entries, func(old hookfile.Entry) bool { return sameEntry(old, now) }) {
			if h.Runs && !now.Runs {
				return Refused("the hook would not run any more with that: %s", e.fault(c, now))
			}
			c.What += " to " + e.Catalog.describe(now.Handler, textOf(now))
			return e.notes(c, now.Handler)
		}
	}
	return nil
}

// fault is why a hook of the new text does not run.
func (e *Editor) fault(c *change, h hookfile.Entry) string {
	parse := hookfile.Parse
	if c.file.Agent == agentClaude {
		parse = hookfile.ParseClaude
	}
	if f, err := parse(c.file.Path, c.after); err == nil {
		for _, p := range f.Problems {
			if p.Dropped && p.Event == h.Event {
				return e.Catalog.Process.Clean(p.Text)
			}
		}
	}
	return "its event or a member is not valid"
}

func sameEntry(a, b hookfile.Entry) bool {
	return a.Event == b.Event && a.Matcher == b.Matcher && bytes.Equal(compact(a.Raw), compact(b.Raw))
}

// notes adds what will not work with a new or changed hook.
func (e *Editor) notes(c *change, h hookfile.Handler) error {
	after := *c.file
	doc := *c.file.doc
	doc.Data, doc.Exists = c.after, true
	after.doc, after.Exists = &doc, true
	parse := hookfile.Parse
	if c.file.Agent == agentClaude {
		parse = hookfile.ParseClaude
	}
	var err error
	if after.parsed, err = parse(c.file.Path, c.after); err != nil {
		return err
	}
	for _, p := range e.Catalog.problems(&after) {
		known := slices.ContainsFunc(e.Catalog.problems(c.file), func(old hookfile.Problem) bool { return old.Text == p.Text })
		if !known && p.Event == h.Event {
			c.Notes = append(c.Notes, p.Text)
		}
	}
	return nil
}

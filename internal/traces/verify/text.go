package verify

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hookspan/hookspan/internal/termtext"
)

// maxUnread bounds the places that were not read which are shown to people.
const maxUnread = 10

// unread names the places that were not read, unknown the kinds that are not known.
func (f *Findings) unread(line func(name, text string)) {
	for i, u := range f.Unread {
		if i == maxUnread {
			line("not read", fmt.Sprintf("and %d more places (--json has them)", len(f.Unread)-i))
			return
		}
		line("not read", termtext.Value(u.String()))
	}
}

func (f *Findings) unknown(line func(name, text string)) {
	for _, u := range f.Unknown {
		line("not known", termtext.Value(u.String()))
	}
}

// Text shows the report to people, width columns wide if that is not zero.
func (rep *Report) Text(width int) string {
	var b strings.Builder
	printf := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	below := func(text string) { printf("    %s\n", termtext.Fold(termtext.Value(text), 4, width)) }
	for i := range rep.Traces {
		t := &rep.Traces[i]
		counts := ""
		mark := "✓"
		switch {
		case t.Unverified != "":
			mark = "?"
		case len(t.Differences) > 0:
			mark = "✗"
		default:
			counts = "  " + countsText(t.Calls, t.Requests)
		}
		head := mark + " " + t.Trace[:min(8, len(t.Trace))] + "  "
		title := termtext.Value(t.Title)
		if width > 0 {
			title = termtext.CutWidth(title, max(10, width-termtext.Width(head+counts)), "…")
		}
		printf("%s\n", head+title+counts)
		if t.Unverified != "" {
			below("cannot verify: " + t.Unverified)
			continue
		}
		for _, d := range t.Differences {
			below(d.String())
		}
	}
	for i := range rep.Sessions {
		s := &rep.Sessions[i]
		printf("✗ session %s: a second reading of all its files\n", termtext.Value(s.Session))
		for _, d := range s.Differences {
			below(d.String())
		}
	}
	for i := range rep.Untraced {
		u := &rep.Untraced[i]
		printf("? session %s: no trace\n", termtext.Value(u.Session))
		below(u.Differences[0].String())
	}
	line := func(name, text string) { printf("? %s: %s\n", name, text) }
	rep.unread(line)
	rep.unknown(line)
	if rep.Private > 0 {
		printf("? %s in private folders were not compared\n", termtext.Plural(rep.Private, "request"))
	}
	sum := fmt.Sprintf("%d of %s verified", rep.Verified, termtext.Plural(len(rep.Traces), "trace"))
	if rep.Verified > 0 {
		sum += ": " + countsText(rep.Calls, rep.Requests) + "; "
		switch {
		case rep.Different > 0:
			sum += termtext.Plural(rep.Different, "trace") + " with differences"
		case len(rep.Sessions) > 0:
			sum += termtext.Plural(len(rep.Sessions), "session") + " with differences"
		default:
			sum += "no difference"
		}
	}
	printf("\n%s\n", termtext.Fold(sum, 0, width))
	return b.String()
}

func countsText(calls, requests int) string {
	return termtext.Plural(calls, "call") + ", " + termtext.Plural(requests, "request")
}

// maxNamed bounds the ids that a difference names.
const maxNamed = 5

// String describes the difference to people.
func (d Difference) String() string {
	switch d.Kind {
	case Missing:
		if d.InTrace == "" {
			return d.What + ": the trace lacks it" + d.place()
		}
	case Extra:
		return d.What + ": the agent's files do not have it" + d.place()
	case Double:
		return d.What + ": more often in the trace than in the agent's files" + d.place()
	case Order:
		return d.What + ": in the trace " + d.InTrace + ", in the agent's files " + d.InFiles
	}
	return fmt.Sprintf("%s: %s: %s in the trace, %s in the agent's files%s", d.What, d.Kind, d.InTrace, d.InFiles, d.place())
}

// place names the file and the ids of a difference.
func (d *Difference) place() string {
	var parts []string
	if d.Trace != "" && len(d.IDs) == 1 {
		return "" // it is named
	}
	if n := len(d.IDs); n > 1 || n == 1 && !strings.HasSuffix(d.What, d.IDs[0]) {
		parts = append(parts, strings.Join(d.IDs[:min(n, maxNamed)], ", "))
		if n > maxNamed {
			parts = append(parts, fmt.Sprintf("and %d more", n-maxNamed))
		}
	}
	if d.File != "" {
		parts = append(parts, "in "+filepath.Base(d.File))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, " ") + ")"
}

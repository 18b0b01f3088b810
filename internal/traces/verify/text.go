package verify

import (
	"fmt"
	"strings"

	"github.com/hookspan/hookspan/internal/termtext"
)

// MaxUnread bounds the places that were not read which are shown to people.
const MaxUnread = 10

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
	for i := range rep.Untold {
		u := &rep.Untold[i]
		printf("? session %s: no trace\n", termtext.Value(u.Session))
		below(u.Differences[0].String())
	}
	for i, u := range rep.Unread {
		if i == MaxUnread {
			printf("? and %d more places that were not read (--json has them)\n", len(rep.Unread)-i)
			break
		}
		printf("? not read: %s\n", termtext.Value(u.String()))
	}
	for _, u := range rep.Unknown {
		printf("? not known: %s\n", termtext.Value(u.String()))
	}
	line := fmt.Sprintf("%d of %s verified", rep.Verified, termtext.Plural(len(rep.Traces), "trace"))
	if rep.Verified > 0 {
		line += ": " + countsText(rep.Calls, rep.Requests) + "; "
		switch {
		case rep.Different > 0:
			line += termtext.Plural(rep.Different, "trace") + " with differences"
		case len(rep.Sessions) > 0:
			line += termtext.Plural(len(rep.Sessions), "session") + " with differences"
		default:
			line += "no difference"
		}
	}
	printf("\n%s\n", termtext.Fold(line, 0, width))
	return b.String()
}

func countsText(calls, requests int) string {
	return termtext.Plural(calls, "call") + ", " + termtext.Plural(requests, "request")
}

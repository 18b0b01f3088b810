package hookfile

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/hookspan/hookspan/internal/jsonedit"
)

// Whole returns all of a text over which a person decides, safe for a terminal: what
// clean takes for a secret is marked and stays, since it may be a command in disguise;
// a character that cannot be seen is its number. Line ends and tabs stay.
func Whole(text string, clean func(string) string) string {
	var b strings.Builder
	for _, r := range markSecrets(text, clean(text)) {
		if r == '\n' || r == '\t' || !unseen(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
	}
	return b.String()
}

// WholeLine is Whole in one line.
func WholeLine(text string, clean func(string) string) string {
	return OneLine(Whole(text, clean))
}

// OneLine shows the line ends and tabs of what Whole has returned.
func OneLine(text string) string {
	return strings.NewReplacer("\n", "⟨U+000A⟩", "\t", "⟨U+0009⟩").Replace(text)
}

// unseen reports a character that moves, hides or reorders others, or is drawn as
// nothing or as a blank.
func unseen(r rune) bool {
	return r != ' ' && !unicode.IsPrint(r) || r == '\u2800' ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// splitRedacted splits a text at what stands for secrets, [REDACTED:NAME].
func splitRedacted(text string) (parts []string) {
	for {
		before, rest, found := strings.Cut(text, "[REDACTED:")
		_, after, ends := strings.Cut(rest, "]")
		if !found || !ends {
			return append(parts, text)
		}
		parts, text = append(parts, before), after
	}
}

// markSecrets marks in a text what is redacted in its cleaned form.
func markSecrets(text, cleaned string) string {
	var out strings.Builder
	kept := splitRedacted(cleaned)
	for i, part := range kept {
		at := strings.Index(text, part)
		if part == "" && i+1 == len(kept) {
			at = len(text) // the secret is the end
		}
		if at < 0 { // cleaning did more than replace
			break
		}
		if i > 0 {
			out.WriteString("⟨secret: " + text[:at] + "⟩")
			text = text[at:]
		}
		out.WriteString(text[:len(part)])
		text = text[len(part):]
	}
	return out.String() + text
}

// hideValues returns the text of a hooks file with "..." for each value of a variable, or
// of a header, for which hide is true. hide gets its name and how it is written.
func hideValues(text []byte, hide func(member string) bool) []byte {
	out := withoutMark(text)
	root, err := jsonedit.Parse(out)
	if err != nil {
		return text
	}
	var members []jsonedit.Item
	var find func(n *jsonedit.Node, top bool)
	find = func(n *jsonedit.Node, top bool) {
		for _, item := range n.Items {
			if item.Key == envKey && top || item.Key == "headers" && !top {
				members = append(members, item.Value.Items...)
			} else {
				find(item.Value, false)
			}
		}
	}
	find(root, true)
	for _, m := range slices.Backward(members) {
		if hide(m.Key + "\x00" + string(m.Value.Raw(out))) {
			out = jsonedit.Splice(out, m.Value.Start, m.Value.End, `"..."`)
		}
	}
	return out
}

package hooks

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/hookspan/hookspan/internal/clinehooks/hookfile"
	"github.com/hookspan/hookspan/internal/jsonedit"
)

// whole is a text over which a person decides, all of it: its secrets are marked, and
// characters that cannot be seen are shown by their number. Line ends and tabs stay.
func (m *Machine) whole(text string) string {
	var b strings.Builder
	for _, r := range markSecrets(text, m.Process.Clean(text)) {
		if unseen(r) && r != '\n' && r != '\t' {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// inLine is such a text in one line.
func inLine(text string) string {
	return strings.NewReplacer("\n", "⟨U+000A⟩", "\t", "⟨U+0009⟩").Replace(text)
}

func unseen(r rune) bool {
	return r != ' ' && !unicode.IsPrint(r) || r == '\u2800' || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

var redacted = regexp.MustCompile(`\[REDACTED:[^\]]*\]`)

// markSecrets puts what is redacted in cleaned between marks.
func markSecrets(text, cleaned string) string {
	var b strings.Builder
	rest := text
	parts := redacted.Split(cleaned, -1)
	for i, part := range parts {
		at := strings.Index(rest, part)
		if i+1 == len(parts) && part == "" {
			at = len(rest)
		}
		switch {
		case at < 0:
			return text
		case i > 0:
			b.WriteString("⟨secret: " + rest[:at] + "⟩")
		}
		b.WriteString(part)
		rest = rest[at+len(part):]
	}
	return b.String() + rest
}

// diff is the difference of a file to a new text, whole but for the values of variables and
// headers that are in the file already.
func (m *Machine) diff(f *File, after []byte) string {
	kept := make(map[string]bool)
	before := hideValues(f.doc.Data, func(member string) bool { kept[member] = true; return true })
	after = hideValues(after, func(member string) bool { return kept[member] })
	// The first line repeats the names.
	_, rest, _ := strings.Cut(string(diff.Diff(f.Path, before, f.Path, after)), "\n")
	return m.whole(rest)
}

// hideValues returns a text with "..." for the values of variables and headers for which
// hide returns true. It gets their name and value.
func hideValues(text []byte, hide func(member string) bool) []byte {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	root, err := jsonedit.Parse(text)
	if err != nil {
		return text
	}
	var values []jsonedit.Item
	var walk func(n *jsonedit.Node, top bool)
	walk = func(n *jsonedit.Node, top bool) {
		for _, item := range n.Items {
			if top && item.Key == "env" || !top && item.Key == "headers" {
				values = append(values, item.Value.Items...)
				continue
			}
			walk(item.Value, false)
		}
	}
	walk(root, true)
	for _, v := range slices.Backward(values) {
		if hide(v.Key + "\x00" + string(text[v.Value.Start:v.Value.End])) {
			text = jsonedit.Splice(text, v.Value.Start, v.Value.End, `"..."`)
		}
	}
	return text
}

// shown is everything that a file runs and sets.
func (m *Machine) shown(f *File) string {
	var lines []string
	for _, v := range f.parsed.Env {
		lines = append(lines, "variable "+v.Name+"="+v.Value)
	}
	for _, h := range f.parsed.Handlers {
		lines = append(lines, fmt.Sprintf("line %d: %s", h.Line, hookfile.Describe(h)))
		for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
			lines = append(lines, "  header "+name+": "+h.Headers[name])
		}
		if len(h.AllowedEnvVars) > 0 {
			lines = append(lines, "  sends the variables "+strings.Join(h.AllowedEnvVars, ", "))
		}
	}
	for i, l := range lines {
		lines[i] = " " + strings.ReplaceAll(m.whole(l), "\n", "\n ")
	}
	return strings.Join(lines, "\n")
}

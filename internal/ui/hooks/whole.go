package hooks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/shelltext"
)

// whole is a text over which a person decides, all of it.
func (c *Catalog) whole(text string) string { return hookfile.Whole(text, c.Process.Clean) }

// diff is the difference of a file to a new text.
func (c *Catalog) diff(f *File, after []byte) string { return f.doc.Diff(after, c.Process.Clean) }

// shown is everything that a file runs and sets.
func (c *Catalog) shown(f *File) string {
	var lines []string
	for _, v := range f.parsed.Env {
		lines = append(lines, "variable "+v.Name+"="+v.Value)
	}
	for _, h := range f.parsed.Handlers {
		lines = append(lines, fmt.Sprintf("line %d: %s", h.Line, shelltext.Describe(h)))
		for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
			lines = append(lines, "  header "+name+": "+h.Headers[name])
		}
		if len(h.AllowedEnvVars) > 0 {
			lines = append(lines, "  sends the variables "+strings.Join(h.AllowedEnvVars, ", "))
		}
	}
	for i, l := range lines {
		lines[i] = " " + strings.ReplaceAll(c.whole(l), "\n", "\n ")
	}
	return strings.Join(lines, "\n")
}

package sample

import (
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/userhooks/translate"
)

// Cline's wire forms, as --dialect spells them. The next core has the SDK's tools.
const (
	Classic = "classic"
	Next    = "next"
	SDK     = "sdk"
)

// Tools returns the tools that hookspan knows, those of one name side by side.
func Tools() []translate.Sample { return translate.Samples() }

// in reports whether a dialect has the tool.
func in(t translate.Sample, dialect string) bool {
	return t.Dialect == "" || (t.Dialect == Classic) == (dialect == Classic)
}

// ToolNames returns Cline's names of the tools.
func ToolNames() []string {
	var names []string
	for _, t := range Tools() {
		names = append(names, t.Name)
	}
	return slices.Compact(names)
}

// KnownTool reports whether a tool has the name, Cline's or Claude Code's. A name of
// the form server__tool may be an MCP server's.
func KnownTool(name string) bool {
	return strings.Contains(name, "__") || slices.ContainsFunc(Tools(), func(t translate.Sample) bool { return t.Name == name || t.Claude == name })
}

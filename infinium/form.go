package infinium

import (
	"cmp"
	"maps"

	"github.com/hookspan/hookspan/otelmap"
)

// Form is how the runs of one agent appear in Infinium, which documents a form
// for each of its connectors.
type Form struct {
	// Framework is the agent's name in the environment. If empty, it is left out.
	Framework string
	// Title is the name of a trace whose prompt is not known, and with Turns the
	// beginning of every name. If empty, "Run".
	Title string
	// Turns selects the form for agents that work in sessions of several turns:
	// the name counts the turns, actions name their tools, tools have the Summary
	// members, the model is without its provider, and prompt tokens include the
	// cache. Otherwise it is the form for agents that work in tasks: the name is
	// the beginning of the prompt, tools have the Preview members, prompts the reply to
	// them, and prompt tokens are counted as the agent counts them.
	Turns bool
	// ErrorType is the type of a tool's failure that has none. If empty,
	// "ToolError".
	ErrorType string
	// VersionTag is the tag with the agent's version. If empty, it is left out.
	VersionTag string
	// MaxName bounds the name, in characters. If zero, MaxNameRunes.
	MaxName int
	// InputPreview bounds prompts and tool inputs, OutputPreview results and
	// error messages, in characters. If zero, 200 and 300.
	InputPreview, OutputPreview int
}

// Forms are the forms by agent, as the attribute hookspan.host or service.name
// names it. The entry "" is for all other agents. Package connectors has those of
// the supported agents.
type Forms map[string]Form

// WithPreviews returns a copy with the lengths of all previews replaced. Zero
// keeps a length.
func (f Forms) WithPreviews(input, output int) Forms {
	out := Forms{"": {}}
	maps.Copy(out, f)
	for host, form := range out {
		form.InputPreview = cmp.Or(max(input, 0), form.InputPreview)
		form.OutputPreview = cmp.Or(max(output, 0), form.OutputPreview)
		out[host] = form
	}
	return out
}

// of returns the form of a host, with its defaults filled in.
func (f Forms) of(host string) Form {
	form, ok := f[host]
	if !ok {
		form = f[""]
	}
	form.Title = cmp.Or(form.Title, "Run")
	form.ErrorType = cmp.Or(form.ErrorType, otelmap.ErrorTool)
	form.MaxName = cmp.Or(max(form.MaxName, 0), MaxNameRunes)
	form.InputPreview = cmp.Or(max(form.InputPreview, 0), 200)
	form.OutputPreview = cmp.Or(max(form.OutputPreview, 0), 300)
	return form
}

package view

import (
	"cmp"
	"strings"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap"
)

// Part is a text of a row. Its lines are safe for a terminal.
type Part struct {
	// Name is what the text is, such as "result".
	Name string
	// Lang is the language of a fence, such as "diff". Prose is a text that people
	// or the model wrote, which wraps.
	Lang  string
	Prose bool
	// Text has no line end at its end.
	Text string
}

// Short reports an argument that fits beside its name.
func (p Part) Short() bool {
	return !p.Prose && p.Lang == "" && p.Name != "result" && p.Name != "error" &&
		len(p.Text) <= 160 && !strings.Contains(p.Text, "\n")
}

// Text makes a text of several lines safe to print.
func Text(s string) string { return strings.Join(termtext.Lines(s), "\n") }

// addPart appends a text that is not empty.
func addPart(to []Part, name, lang string, prose bool, text string) []Part {
	if text = Text(text); text == "" {
		return to
	}
	return append(to, Part{name, lang, prose, text})
}

// TextPart returns a text as a part, none for an empty one.
func TextPart(name, text string) []Part { return addPart(nil, name, "", false, text) }

// Parts returns the texts of a row: what was said, the arguments and the result of
// a tool call, and the error.
func (r *Row) Parts() (out []Part) {
	a := r.Attributes()
	switch r.Kind {
	case KindTool:
		out = Arguments(r.Label, otlp.Text(a, otelmap.KeyToolArguments))
	case KindEvent:
		for _, f := range r.Fields() {
			out = addPart(out, f.Name, "", f.Name == "text", f.Text)
		}
		// Fields leaves out what Details holds completely.
		if len(out) == 0 {
			out = addPart(out, "text", "", true, otlp.Text(a, otelmap.KeyText))
		}
	case KindChat:
		out = addPart(out, "text", "", true, otelmap.Answer(a))
	}
	kind, message := r.Problem()
	if kind != "" || message != "" {
		if kind != "" && message != "" {
			kind += ": "
		}
		out = addPart(out, "error", "", false, kind+message)
	}
	if result := otelmap.Returned(r.span); r.Kind == KindTool && result != message {
		out = addPart(out, "result", "", false, result)
	}
	return out
}

// Arguments returns the arguments of a tool call: an edit as a diff, the members of
// another object separately.
func Arguments(tool, arguments string) (out []Part) {
	if edits := Edits(tool, arguments); len(edits) > 0 {
		for _, e := range edits {
			out = addPart(out, "file", "", false, e.Path)
			out = addPart(out, "change", "diff", false, strings.Join(e.Lines, "\n"))
		}
		return out
	}
	arguments = whole(arguments)
	ok := rawjson.Check([]byte(arguments)) == nil && rawjson.EachMember([]byte(arguments), func(name, value []byte) {
		text := string(value)
		if rawjson.IsString(value) {
			text = rawjson.Unquote(value)
		} else if list, is := checklist(value); is {
			text = list
		}
		out = addPart(out, termtext.Line(string(name)), "", false, text)
	})
	if !ok {
		return addPart(nil, "input", "", false, arguments)
	}
	return out
}

// checklist returns a list of things to do, each with its state, as one line for each.
func checklist(value []byte) (string, bool) {
	list, ok := rawjson.Elements(value)
	lines := make([]string, 0, len(list))
	for _, raw := range list {
		o := rawjson.Members(raw)
		text, status := cmp.Or(o.Text("content"), o.Text("step"), o.Text("title")), o.Text("status")
		if text == "" || status == "" {
			return "", false
		}
		mark := "[ ] "
		switch status {
		case "completed", "done":
			mark = "[x] "
		case "in_progress":
			mark = "[-] "
		}
		lines = append(lines, mark+text)
	}
	return strings.Join(lines, "\n"), ok && len(lines) > 0
}

// whole closes arguments that were cut off; their members are then sorted.
func whole(arguments string) string {
	if rawjson.Check([]byte(arguments)) == nil {
		return arguments
	}
	if v, ok := repair(arguments); ok {
		if b, err := rawjson.Marshal(v); err == nil {
			return string(b)
		}
	}
	return arguments
}

// Answer returns the agent's last message of a trace, safe to print.
func Answer(t *store.Trace) string {
	answer := ""
	for s := range otlp.Spans(t.ResourceSpans) {
		if otlp.Text(s.GetAttributes(), otelmap.KeyOutcome) != "" {
			answer = cmp.Or(otelmap.Answer(s.GetAttributes()), answer)
		}
	}
	return Text(answer)
}

// Prompt returns the first prompt of a trace, safe to print.
func Prompt(t *store.Trace) string {
	for s := range otlp.Spans(t.ResourceSpans) {
		if text := taskOfSpan(s); text != "" {
			return Text(text)
		}
	}
	return ""
}

// DiffLine is a line of a diff. Class is "plus", "minus" or empty.
type DiffLine struct{ Class, Text string }

// Lines returns the lines of a diff.
func (p Part) Lines() (out []DiffLine) {
	for l := range strings.SplitSeq(p.Text, "\n") {
		class := ""
		switch {
		case strings.HasPrefix(l, "+"):
			class = "plus"
		case strings.HasPrefix(l, "-"):
			class = "minus"
		}
		out = append(out, DiffLine{class, l})
	}
	return out
}

package view

import (
	"cmp"
	"iter"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// Part is a text of a row. Its lines are safe for a terminal.
type Part struct {
	// Name is what the text is, such as "result".
	Name string `json:"name"`
	// Lang is the language of a fence, such as "diff". Prose is a text that people
	// or the model wrote, which wraps. Short is an argument that fits beside its name.
	Lang  string `json:"lang,omitempty"`
	Prose bool   `json:"prose,omitempty"`
	Short bool   `json:"short,omitempty"`
	// Text has no line end at its end.
	Text string `json:"text"`
}

// Text makes a text of several lines safe to print.
func Text(s string) string { return strings.Join(termtext.Lines(s), "\n") }

// addPart appends a text that is not empty.
func addPart(to []Part, name, lang string, prose bool, text string) []Part {
	if text = Text(text); text == "" {
		return to
	}
	short := !prose && lang == "" && name != "result" && name != "error" && len(text) <= 160 && !strings.Contains(text, "\n")
	return append(to, Part{name, lang, prose, short, text})
}

// Parts returns the texts of a row: what was said, the arguments and the result of
// a tool call, and the error.
func (r *Row) Parts() (out []Part) {
	kind, message := r.Problem()
	if kind != "" && message != "" {
		kind += ": "
	}
	switch r.Kind {
	case KindTool:
		result := r.step().Returned()
		if result == message {
			result = ""
		}
		return callParts(r.Arguments(), kind+message, result)
	case KindEvent:
		for _, f := range r.texts() {
			out = addPart(out, f.Name, "", f.Name == "text", f.Text)
		}
		// These leave out what the details hold completely.
		if len(out) == 0 {
			out = addPart(out, "text", "", true, r.Note())
		}
	case KindChat:
		out = addPart(out, "text", "", true, r.step().Answer())
	}
	return addPart(out, "error", "", false, kind+message)
}

// Whole returns the parts of a call whose whole texts were found.
func (r *Row) Whole(t CallText) []Part {
	t = t.of(r)
	return callParts(NewArguments(r.Label, t.Arguments), t.Error, t.Result)
}

func callParts(a *Arguments, failure, result string) []Part {
	return addPart(addPart(a.Parts(), "error", "", false, failure), "result", "", false, result)
}

// Card is all that is known of a row.
type Card struct {
	Kind    Kind          `json:"kind"`
	Status  otelmap.End   `json:"status"`
	Label   string        `json:"label"`
	Details []string      `json:"details"`
	Started time.Time     `json:"started,omitzero"`
	Took    time.Duration `json:"tookNs"`
	Ended   bool          `json:"ended"`
	Usage   *store.Usage  `json:"usage,omitempty"`
	Model   string        `json:"model,omitempty"`
	Parts   []Part        `json:"parts"`
	Fields  []Field       `json:"fields"`
	// Number counts the calls from 1.
	Number int `json:"number,omitempty"`
}

// Card describes a row that has its texts.
func (r *Row) Card() Card {
	one := r.step()
	c := Card{
		Kind: r.Kind, Status: r.Status, Label: r.Label, Details: r.Details(), Started: r.Start, Took: r.Took(), Ended: !r.End.IsZero(),
		Usage: r.usage, Model: termtext.Line(one.Model()), Parts: append([]Part{}, r.Parts()...), Fields: []Field{}, Number: r.Number,
	}
	for _, f := range r.ids() {
		c.Fields = append(c.Fields, Field{f.Name, termtext.Line(f.Text)})
	}
	if r.Kind == KindRun || r.Kind == KindAgent {
		c.Parts = addPart(c.Parts, "prompt", "", true, one.Task())
		c.Parts = addPart(c.Parts, "answer", "", true, one.Answer())
	}
	return c
}

// Answer returns the agent's last message of a trace, safe to print.
func Answer(t *store.Trace) string {
	answer := ""
	for s := range runs(t) {
		answer = cmp.Or(step.Of(s).Answer(), answer)
	}
	return Text(answer)
}

// Prompt returns the first prompt of a trace, safe to print. A subagent's is none.
func Prompt(t *store.Trace) string {
	for s := range runs(t) {
		if text := Text(step.Of(s).Task()); text != "" {
			return text
		}
	}
	return ""
}

// runs are the spans of the runs.
func runs(t *store.Trace) iter.Seq[*tracepb.Span] {
	return func(yield func(*tracepb.Span) bool) {
		for s := range otlp.Spans(t.ResourceSpans) {
			if step.Of(s).Kind() == step.KindRun && !yield(s) {
				return
			}
		}
	}
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

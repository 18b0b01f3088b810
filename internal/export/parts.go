package export

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/view"
	"github.com/hookspan/hookspan/otelmap"
)

// part is a text of a row. Its lines are safe for a terminal.
type part struct {
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
func (p part) Short() bool {
	return !p.Prose && p.Lang == "" && p.Name != "result" && p.Name != "error" &&
		len(p.Text) <= 160 && !strings.Contains(p.Text, "\n")
}

// withoutText returns the parts but those whose text is shown elsewhere.
func withoutText(parts []part, text string) []part {
	return slices.DeleteFunc(parts, func(p part) bool { return p.Text == text })
}

// safeText makes a text of several lines safe to print.
func safeText(s string) string { return strings.Join(termtext.Lines(s), "\n") }

// addPart appends a text that is not empty.
func addPart(to []part, name, lang string, prose bool, text string) []part {
	if text = safeText(text); text == "" {
		return to
	}
	return append(to, part{name, lang, prose, text})
}

// partsOf returns the texts of a row: what was said, the arguments and the result of
// a tool call, and the error.
func partsOf(r *view.Row) (out []part) {
	a := r.Attributes()
	switch r.Kind {
	case view.KindTool:
		out = argumentParts(r.Label, otlp.Text(a, otelmap.KeyToolArguments))
	case view.KindEvent:
		for _, f := range r.Fields() {
			out = addPart(out, f.Name, "", f.Name == "text", f.Text)
		}
		// Fields leaves out what Details holds completely.
		if len(out) == 0 {
			out = addPart(out, "text", "", true, otlp.Text(a, otelmap.KeyText))
		}
	case view.KindChat:
		out = addPart(out, "text", "", true, otlp.Text(a, otelmap.KeyText))
	}
	kind, message := r.Problem()
	if kind != "" || message != "" {
		if kind != "" && message != "" {
			kind += ": "
		}
		out = addPart(out, "error", "", false, kind+message)
	}
	if result := otlp.Text(a, otelmap.KeyToolResult); r.Kind == view.KindTool && result != message {
		out = addPart(out, "result", "", false, result)
	}
	return out
}

// argumentParts returns the arguments of a tool call: a change of a file as a diff,
// the members of an object separately.
func argumentParts(tool, arguments string) (out []part) {
	if edits := view.Edits(tool, arguments); len(edits) > 0 {
		for _, e := range edits {
			out = addPart(out, "file", "", false, e.Path)
			out = append(out, part{Name: "change", Lang: "diff", Text: strings.Join(e.Lines, "\n")})
		}
		return out
	}
	ok := rawjson.Check([]byte(arguments)) == nil && rawjson.EachMember([]byte(arguments), func(name, value []byte) {
		text := string(value)
		if rawjson.IsString(value) {
			text = rawjson.Unquote(value)
		}
		out = addPart(out, termtext.Line(string(name)), "", false, text)
	})
	if !ok {
		return addPart(nil, "input", "", false, arguments)
	}
	return out
}

// answerOf returns the agent's last message of a trace, safe to print.
func answerOf(t *store.Trace) string {
	answer := ""
	for s := range otlp.Spans(t.ResourceSpans) {
		if otlp.Text(s.GetAttributes(), otelmap.KeyOutcome) != "" {
			answer = cmp.Or(otlp.Text(s.GetAttributes(), otelmap.KeyResult), answer)
		}
	}
	return safeText(answer)
}

// promptOf returns the first prompt of a trace, safe to print.
func promptOf(t *store.Trace) string {
	for s := range otlp.Spans(t.ResourceSpans) {
		if text := otlp.Text(s.GetAttributes(), otelmap.KeyTask); text != "" {
			return safeText(text)
		}
	}
	return ""
}

// titleOf names a trace on one line.
func titleOf(s *store.Summary) string { return cmp.Or(termtext.Line(s.Title), "untitled") }

// headOf describes a trace: how it ended, when, by which model, and its totals.
func headOf(s *store.Summary, zone *time.Location) []string {
	var started, runs string
	if !s.Started.IsZero() {
		started = s.Started.In(zone).Format("2006-01-02 15:04:05 MST")
	}
	if s.Runs > 1 {
		runs = termtext.Plural(s.Runs, "run")
	}
	return slices.DeleteFunc(append([]string{
		cmp.Or(termtext.Line(s.Outcome), "no root span"), view.Duration(s.Duration()), started,
		termtext.Line(s.Model), termtext.Line(s.Host), runs,
	}, view.Counts(s)...), func(s string) bool { return s == "" })
}

// totalOf adds summaries up.
func totalOf(all []store.Summary) []string {
	var sum store.Summary
	var took time.Duration
	unpriced := 0
	for i := range all {
		s := &all[i]
		took += s.Duration()
		sum.Tools += s.Tools
		sum.ToolFailures += s.ToolFailures
		sum.ToolsUnknown += s.ToolsUnknown
		if s.Usage == nil {
			continue
		}
		if sum.Usage == nil {
			sum.Usage = new(store.Usage)
		}
		u := sum.Usage
		u.Input += s.Usage.Input
		u.Output += s.Usage.Output
		u.CacheRead += s.Usage.CacheRead
		u.CacheWrite += s.Usage.CacheWrite
		switch {
		case s.Usage.CostUSD == nil:
			unpriced++
		case u.CostUSD == nil:
			u.CostUSD = new(*s.Usage.CostUSD)
		default:
			*u.CostUSD += *s.Usage.CostUSD
		}
	}
	out := append([]string{termtext.Plural(len(all), "trace"), view.Duration(took)}, view.Counts(&sum)...)
	if unpriced > 0 {
		out = append(out, termtext.Plural(unpriced, "trace")+" without a price")
	}
	return out
}

// offset formats how long after the trace's start a row began.
func offset(r *view.Row, start time.Time) string {
	if r.Start.IsZero() || start.IsZero() {
		return ""
	}
	d := view.Duration(r.Start.Sub(start))
	if !r.Start.Before(start) {
		d = "+" + d
	}
	return d
}

// diffLine is a line of a diff.
type diffLine struct{ Class, Text string }

// Lines returns the lines of a diff.
func (p part) Lines() (out []diffLine) {
	for l := range strings.SplitSeq(p.Text, "\n") {
		class := ""
		switch {
		case strings.HasPrefix(l, "+"):
			class = "plus"
		case strings.HasPrefix(l, "-"):
			class = "minus"
		}
		out = append(out, diffLine{class, l})
	}
	return out
}

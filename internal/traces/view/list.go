package view

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// shortID is how many digits of an id a list shows.
const shortID = 8

// minTitle is the room that a title should have; columns give way to it.
const minTitle = 24

// Note is a line below a trace in a list: why the trace was selected.
type Note struct {
	Status otelmap.End
	// Where is the tool, or another name of the span.
	Where string
	Text  string
	// Word, if it is in Text, stays visible where the text is cut.
	Word string
}

// roleNames name the spans that are no tool calls.
var kindNames = map[step.Kind]string{step.KindRun: "task", step.KindRequest: "request", step.KindAgent: "subagent"}

// Where names the step that a hit is in: the tool, or what else it is.
func Where(h *store.Hit) string { return cmp.Or(h.Tool, kindNames[h.Kind], h.Name) }

// NotesOf are the Notes of the tasks of a page that a filter selects, and the denied calls of
// running tasks.
func NotesOf(ctx context.Context, s *store.Store, f store.Filter, page *store.Page, running []*store.Trace) (map[string][]Note, error) {
	notes, err := notesOfStored(ctx, s, f, page)
	for _, t := range running {
		if f.Denied {
			for _, sp := range DeniedOf(t) {
				notes[t.TraceID] = append(notes[t.TraceID], denial(sp))
			}
		}
	}
	return notes, err
}

// DeniedOf are the denied calls of a running task.
func DeniedOf(t *store.Trace) (calls []*tracepb.Span) {
	for sp := range otlp.Spans(t.ResourceSpans) {
		if one := step.Of(sp); one.Kind() == step.KindTool && one.Counted() == otelmap.EndDenied {
			calls = append(calls, sp)
		}
	}
	return calls
}

func notesOfStored(ctx context.Context, s *store.Store, f store.Filter, page *store.Page) (map[string][]Note, error) {
	if !f.Denied || len(page.Traces) == 0 {
		return Notes(page.Hits, f.Text, nil, nil), nil
	}
	oldest := slices.MinFunc(page.Traces, func(x, y store.Summary) int { return x.Started.Compare(y.Started) })
	f.Since, f.Limit = oldest.Started, -1
	f.Failed = false // a hook that denies has not failed
	denied, err := s.HookRuns(ctx, f)
	if err != nil {
		return Notes(nil, "", nil, nil), err
	}
	calls, err := s.DeniedCalls(ctx, f, page.Traces)
	notes := Notes(page.Hits, f.Text, denied, calls)
	for i := range page.Traces {
		of := notes[page.Traces[i].TraceID]
		for j := range of {
			if of[j].Word == "" {
				of[j].Text = Relative(of[j].Text, page.Traces[i].Directory)
			}
		}
	}
	return notes, err
}

// Notes are, by trace, where a text that was searched for is, which hooks denied what, and
// which other calls were denied by whom, the oldest first. hits are those of the text,
// denied the runs of the hooks, calls the denied calls by trace.
func Notes(hits []store.Hit, text string, denied []store.HookRun, calls map[string][]*tracepb.Span) map[string][]Note {
	notes := make(map[string][]Note)
	word, _, _ := strings.Cut(strings.TrimLeftFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }), " ")
	word = strings.Trim(word, `"`)
	for _, h := range hits {
		notes[h.Trace] = append(notes[h.Trace], Note{Status: h.Status, Where: Where(&h), Text: h.Snippet, Word: word})
	}
	for _, r := range slices.Backward(denied) {
		text := r.Command
		if r.Reason != "" {
			text = r.Reason + " (" + r.Command + ")"
		}
		notes[r.Trace] = append(notes[r.Trace], Note{Status: otelmap.EndDenied, Where: cmp.Or(r.Tool, r.Event), Text: text})
	}
	for trace, spans := range calls {
		for _, s := range spans {
			if step.Of(s).DeniedBy() == "" { // else it is above
				notes[trace] = append(notes[trace], denial(s))
			}
		}
	}
	return notes
}

// denial is the note of a denied call: who denied it and why, and what it was.
func denial(call *tracepb.Span) Note {
	tool := step.Of(call).Tool()
	text := denied(DeniedBy(call))
	if what := NewArguments(tool, step.Of(call).Arguments()).Line(); what != "" {
		text = what + "  (" + text + ")"
	}
	return Note{Status: otelmap.EndDenied, Where: tool, Text: text}
}

// Denials describes the denied calls of a trace on one line.
func Denials(calls []*tracepb.Span) string {
	if len(calls) == 0 {
		return ""
	}
	first, more := denial(calls[0]), ""
	if len(calls) > 1 {
		more = fmt.Sprintf("; and %d more", len(calls)-1)
	}
	return termtext.Line(first.Where+" "+first.Text) + more
}

// cutAround cuts a safe text to n columns. If it is too wide, it begins not far before
// the word.
func (st *style) cutAround(text, word string, n int) string {
	if lower := strings.ToLower(text); termtext.Width(text) > n && len(lower) == len(text) {
		if at := strings.Index(lower, strings.ToLower(word)); at > 0 {
			if before := termtext.Tail(text[:at], n/3); len(before) < at {
				text = st.ellipsis + strings.TrimLeft(before, " ") + text[at:]
			}
		}
	}
	return st.cut(text, n)
}

// maxNotes is how many notes a trace in a list has at most.
const maxNotes = 3

// notes draws the notes of a trace.
func (st *style) notes(notes []Note) (out []string) {
	for _, n := range notes[:min(len(notes), maxNotes)] {
		where := termtext.Line(n.Where)
		if st.Width > 0 {
			where = st.cut(where, 24)
		}
		where = "  " + where + "  "
		text := st.cutAround(termtext.Line(n.Text), n.Word, st.room()-termtext.Width(where)-gap)
		out = append(out, strings.TrimRight("  "+st.mark(n.Status)+where[1:]+st.paint(sgrDim, text), " "))
	}
	if more := len(notes) - len(out); more > 0 {
		out = append(out, st.paint(sgrDim, fmt.Sprintf("    and %d more", more)))
	}
	return out
}

// List writes one line for each trace below a line of headings and, if the view has a
// width, a last line with the sums over all traces that were asked for. It writes
// nothing if there are no traces. In a narrow view, columns give way to the title,
// tokens and cost last. Agent and project have a column if the traces have different
// ones, and in a view without a width. The first traces are those of running tasks.
// The notes, by trace id, are below their traces.
func List(w io.Writer, traces []store.Summary, running int, notes map[string][]Note, all store.Totals, o Options) error {
	if len(traces) == 0 {
		return nil
	}
	t := &table{style: newStyle(o)}
	add := columnsOf(t, traces)
	differ := func(of func(*store.Summary) string) bool {
		return o.Width <= 0 || slices.ContainsFunc(traces, func(s store.Summary) bool { return of(&s) != of(&traces[0]) })
	}
	add(&column{name: "TASK"}, func(s *store.Summary) (string, string) {
		return store.ShortID(s.TraceID), sgrBold
	})
	add(&column{name: "STARTED", order: 6}, func(s *store.Summary) (string, string) { return t.age(s.Started), sgrDim })
	add(&column{name: "OUTCOME", order: 4, narrow: func(i int) (string, string) { return t.outcomeSymbol(&traces[i]) }},
		func(s *store.Summary) (string, string) {
			symbol, color := t.outcomeSymbol(s)
			return symbol + " " + t.cut(outcomeText(s), 13), color
		})
	add(&column{name: "TOOK", right: true, order: 5}, func(s *store.Summary) (string, string) { return duration(s.Duration()), "" })
	add(&column{name: "CALLS", right: true, order: 2}, func(s *store.Summary) (string, string) {
		n := fmt.Sprint(s.Tools)
		if not := toolCounts(s, t.symbol(otelmap.EndFailed), t.symbol(otelmap.EndDenied), t.symbol(otelmap.EndUnknown)); not != nil {
			n += " (" + strings.Join(not, " ") + ")"
		}
		return n, ""
	})
	add(&column{name: "TOKENS", right: true, order: 8}, func(s *store.Summary) (string, string) {
		if s.Usage == nil {
			return "-", sgrDim
		}
		return Tokens(s.Usage.Input) + "/" + Tokens(s.Usage.Output), ""
	})
	cents := slices.ContainsFunc(traces, func(s store.Summary) bool { return inCents(s.Usage) })
	add(&column{name: "COST", right: true, order: 7}, func(s *store.Summary) (string, string) { return cost(s.Usage, cents) })
	if differ(func(s *store.Summary) string { return s.Host }) {
		add(&column{name: "AGENT", order: 3}, func(s *store.Summary) (string, string) { return t.cut(termtext.Line(s.Host), 16), "" })
	}
	if differ(func(s *store.Summary) string { return s.Directory }) {
		add(&column{name: "PROJECT", order: 1}, func(s *store.Summary) (string, string) {
			return t.cut(cmp.Or(lastPart(s.Directory), "-"), 20), sgrDim
		})
	}
	add(&column{name: "TITLE", least: minTitle}, func(s *store.Summary) (string, string) { return cmp.Or(termtext.Line(s.Title), "-"), "" })

	t.below = func(i int) []string { return t.notes(notes[traces[i].TraceID]) }
	b := bufio.NewWriter(w)
	t.draw(b)
	if o.Width > 0 {
		_, _ = b.WriteString("\n" + t.paint(sgrDim, t.sums(len(traces)-running, running, all)) + "\n")
	}
	return b.Flush()
}

// sums is the end of a list, which shows some of all traces: a line, or two if models
// without a price need one.
func (st *style) sums(shown, running int, all store.Totals) string {
	count := termtext.Plural(all.Traces, "task")
	if shown < all.Traces {
		count = fmt.Sprintf("%d of %s", shown, count)
	}
	count += st.Selected
	if running > 0 {
		count = fmt.Sprintf("%d running%s%s", running, st.dot, count)
	}
	sums := st.fitting(SumsText(count, all))
	if len(all.Unpriced) > 0 {
		unpriced := st.dot + "no price for " + termtext.Line(strings.Join(all.Unpriced, ", "))
		if termtext.Width(sums+unpriced) > st.room() {
			sums, unpriced = sums+"\n", strings.TrimPrefix(unpriced, st.dot)
		}
		sums += st.cut(unpriced, st.room())
	}
	return sums
}

// fitting joins the first parts that fit the view, at least one.
func (st *style) fitting(parts []string) string {
	for len(parts) > 1 && termtext.Width(st.join(slices.Clone(parts)...)) > st.room() {
		parts = parts[:len(parts)-1]
	}
	return st.cut(st.join(parts...), st.room())
}

// SumsText returns sums in words behind the count of tasks, what matters most first.
func SumsText(count string, all store.Totals) []string {
	parts := []string{count}
	if all.Usage != nil && all.Usage.CostUSD != nil {
		cost := Dollars(*all.Usage.CostUSD)
		if m := all.OfModel; m != nil && m.CostUSD != nil && m.Cost() != all.Usage.Cost() {
			cost += " (" + Dollars(*m.CostUSD) + " of the model)"
		}
		parts = append(parts, cost)
	}
	if all.Usage != nil {
		parts = append(parts, usage(all.Usage)[:2]...)
	}
	return append(parts, callCounts(all)...)
}

// callCounts returns the number of calls, and of those that went wrong.
func callCounts(t store.Totals) []string {
	if t.Calls == 0 {
		return nil
	}
	text := termtext.Plural(t.Calls, "call")
	if bad := badCounts(t.Failures, t.Denials); bad != nil {
		text += " (" + strings.Join(bad, ", ") + ")"
	}
	return []string{text}
}

// badCounts returns the numbers of failed and denied calls, without those that are none.
func badCounts(failures, denials int) (out []string) {
	if failures > 0 {
		out = append(out, fmt.Sprintf("%d failed", failures))
	}
	if denials > 0 {
		out = append(out, fmt.Sprintf("%d denied", denials))
	}
	return out
}

// inCents reports whether a cost is shown with two decimals.
func inCents(u *store.Usage) bool { return u != nil && u.CostUSD != nil && *u.CostUSD >= aDollar }

// cost returns the cost in a cell of a column. If one of its costs is in cents all are,
// so that their digits are below one another.
func cost(u *store.Usage, cents bool) (text, sgr string) {
	switch {
	case u == nil || u.CostUSD == nil:
		return "-", sgrDim
	case cents && *u.CostUSD > 0 && *u.CostUSD < 0.005:
		return "<$0.01", ""
	case cents && *u.CostUSD >= 0 && *u.CostUSD < aDollar:
		return "$" + fixed(*u.CostUSD, 2), ""
	}
	return Dollars(*u.CostUSD), ""
}

// lastPart returns the last part of a path of any system, safe for a terminal.
func lastPart(path string) string {
	path = strings.TrimRight(termtext.Line(path), `/\`)
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

// outcomeText says how a trace ended, or that it waits.
func outcomeText(s *store.Summary) string {
	if s.Waiting {
		return "waits for you"
	}
	return cmp.Or(termtext.Line(s.Outcome), "no root span")
}

// outcomeSymbol returns a trace's outcome as a symbol and its colour.
func (st *style) outcomeSymbol(s *store.Summary) (symbol, sgr string) {
	end := otelmap.OutcomeEnd(s.Outcome)
	return st.symbol(end), colors[end]
}

// age returns how long ago t was, up to a week, else the date.
func (st *style) age(t time.Time) string {
	d := st.Now.Sub(t)
	switch {
	case t.IsZero():
		return "-"
	case st.Now.IsZero():
		return t.In(st.Location).Format("2006-01-02 15:04")
	case d < 0 || d >= 7*24*time.Hour:
		return t.In(st.Location).Format(time.DateOnly)
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh ago", d/time.Hour)
	}
	return fmt.Sprintf("%dd ago", d/(24*time.Hour))
}

package export

import (
	"bufio"
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/view"
	"github.com/hookspan/hookspan/otelmap"
)

// maxHeading bounds what a heading says about a row, in columns.
const maxHeading = 80

// markdown writes CommonMark. What people and the model wrote is quoted, with every
// character escaped that has a meaning; everything else is in fences or code spans
// that are longer than any run of backticks within.
type markdown struct {
	b    *bufio.Writer
	zone *time.Location
	// level precedes the heading of a trace.
	level string
	// above is what the block above the next one is; "" for none.
	above string
}

func openMarkdown(b *bufio.Writer, all []store.Summary, o Options) *markdown {
	m := &markdown{b: b, zone: o.Location, level: "#"}
	if len(all) != 1 {
		m.level = "##"
		m.block("", "# %s\n", termtext.Plural(len(all), "trace"))
		m.block("", "%s\n", facts(totalOf(all)[1:]))
	}
	return m
}

func (m *markdown) print(format string, args ...any) { _, _ = fmt.Fprintf(m.b, format, args...) }

// block writes a block of a kind, below an empty line unless it continues a list.
func (m *markdown) block(kind, format string, args ...any) {
	if m.above != "" && (kind != "item" || m.above != kind) {
		m.print("\n")
	}
	m.above = cmp.Or(kind, "block")
	m.print(format, args...)
}

func (m *markdown) end() error { return nil }

func (m *markdown) add(t *store.Trace) error {
	if m.level != "#" {
		m.block("", "---\n")
	}
	m.block("", "%s %s\n", m.level, escape(titleOf(&t.Summary)))
	m.block("", "%s\n", facts(headOf(&t.Summary, m.zone)))
	for _, f := range []view.Field{{Name: "session", Text: t.Session}, {Name: "folder", Text: t.Directory}, {Name: "trace", Text: t.TraceID}} {
		if f.Text != "" {
			m.block("item", "- %s: %s\n", f.Name, code(termtext.Line(f.Text)))
		}
	}
	rows := view.Rows(t)
	last, prompted := "", false
	for i := range rows {
		prompted = prompted || isPrompt(&rows[i]) && len(rows[i].Parts()) > 0
	}
	if prompt := view.Prompt(t); prompt != "" && !prompted {
		m.heading("Prompt")
		m.quote(prompt)
	}
	var agents []string // the subagents above a row, by depth
	for i := range rows {
		r := &rows[i]
		agents = append(agents, make([]string, max(0, r.Depth+1-len(agents)))...)[:r.Depth+1]
		if agents[r.Depth] = ""; r.Kind == view.KindAgent {
			agents[r.Depth] = r.Label
		}
		parts := r.Parts()
		if (r.Kind == view.KindRun || r.Kind == view.KindNoRoot || isPrompt(r) || r.Kind == view.KindChat) && len(parts) == 0 {
			continue
		}
		if r.Kind == view.KindChat && len(parts) > 0 {
			last = parts[0].Text
		}
		m.row(r, within(agents[:r.Depth]), parts, t.Started)
	}
	if answer := view.Answer(t); answer != "" && answer != last {
		m.heading("Answer")
		m.quote(answer)
	}
	return nil
}

func isPrompt(r *view.Row) bool { return r.Kind == view.KindEvent && r.Label == "prompt" }

// within names the innermost subagent that a row belongs to.
func within(agents []string) string {
	for i := len(agents) - 1; i >= 0; i-- {
		if agents[i] != "" {
			return strings.TrimPrefix(agents[i], otelmap.OpInvokeAgent+" ")
		}
	}
	return ""
}

// row writes what happened in a row.
func (m *markdown) row(r *view.Row, agent string, parts []view.Part, start time.Time) {
	words := []string{escape(r.Label)}
	switch {
	case isPrompt(r):
		words[0] = "Prompt"
	case r.Kind == view.KindChat:
		words[0] = "Agent"
	case r.Kind == view.KindRun:
		words[0] = "Run"
	case r.Kind == view.KindAgent:
		words[0] = "Subagent " + code(within([]string{r.Label}))
	case r.Kind == view.KindTool:
		detail := strings.Join(r.Details(), " · ")
		if len(detail) <= maxHeading {
			parts = withoutText(parts, detail)
		}
		words[0] = r.Status.Symbol() + " " + code(r.Label) + " " + code(termtext.CutWidth(detail, maxHeading, "…"))
	}
	if agent != "" {
		words[0] += " (in " + escape(agent) + ")"
	}
	switch r.Status {
	case view.StatusDenied, view.StatusFailed, view.StatusUnfinished:
		words = append(words, string(r.Status))
	}
	if r.Kind == view.KindChat || r.Kind == view.KindAgent {
		words = append(words, view.Counts(&store.Summary{Usage: store.UsageOf(r.Attributes())})...)
	}
	words = append(words, offset(r, start))
	if !r.End.IsZero() && r.Kind != view.KindEvent {
		words = append(words, view.Duration(r.Took()))
	}
	m.heading(strings.TrimSpace(strings.Join(words, " · ")))
	if r.Kind == view.KindEvent && !isPrompt(r) && otlp.Text(r.Attributes(), otelmap.KeyText) == "" {
		if d := strings.Join(r.Details(), " · "); d != "" {
			m.quote(d)
		}
	}
	for _, p := range parts {
		m.part(p)
	}
}

// facts joins words about a trace. Their dollars are prices.
func facts(words []string) string {
	return strings.ReplaceAll(escape(strings.Join(words, " · ")), `\$`, "$")
}

// heading writes the heading of a row.
func (m *markdown) heading(text string) { m.block("", "%s# %s\n", m.level, text) }

func (m *markdown) part(p view.Part) {
	switch {
	case p.Prose:
		m.quote(p.Text)
	case p.Short():
		m.block("item", "- %s: %s\n", escape(p.Name), code(p.Text))
	default:
		f := fence(p.Text, 3)
		m.block("", "%s:\n", escape(p.Name))
		m.block("", "%s%s\n%s\n%s\n", f, p.Lang, p.Text, f)
	}
}

// quote writes prose.
func (m *markdown) quote(text string) {
	m.block("", "")
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		body := strings.TrimLeft(l, " ")
		if body == "" {
			m.print(">\n")
			continue
		}
		// Four spaces would begin a block of code.
		indent := strings.Repeat("\u00a0", len(l)-len(body))
		m.print("> %s%s", indent, escape(body))
		if i+1 < len(lines) && strings.TrimSpace(lines[i+1]) != "" {
			m.print("  ") // a line end that stays
		}
		m.print("\n")
	}
}

// fence returns backticks that no line of a text can close: at least least.
func fence(text string, least int) string {
	run, longest := 0, 0
	for i := range len(text) {
		if run++; text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return strings.Repeat("`", max(least, longest+1))
}

// code returns a line as a code span.
func code(line string) string {
	if line == "" {
		return ""
	}
	f := fence(line, 1)
	if strings.HasPrefix(line, "`") || strings.HasSuffix(line, "`") || strings.HasPrefix(line, " ") && strings.HasSuffix(line, " ") {
		line = " " + line + " "
	}
	return f + line + f
}

// escape returns a line whose characters mean only themselves, at the beginning of a
// line too.
func escape(line string) string {
	var out strings.Builder
	digits := 0 // how many digits the line begins with
	for digits < len(line) && '0' <= line[digits] && line[digits] <= '9' {
		digits++
	}
	for i, r := range line {
		switch {
		case strings.ContainsRune("\\`*[]<>&|~$", r),
			i == 0 && strings.ContainsRune("#+-=", r),
			i == digits && i > 0 && (r == '.' || r == ')'),
			r == '!' && strings.HasPrefix(line[i+1:], "["),
			r == '_' && !insideWord(line, i):
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// insideWord reports that a character of one byte has letters or digits on both
// sides.
func insideWord(line string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(line[:i])
	after, _ := utf8.DecodeRuneInString(line[i+1:])
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return word(before) && word(after)
}

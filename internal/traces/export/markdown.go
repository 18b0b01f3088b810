package export

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
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
	head := headOf(&t.Summary, m.zone)
	if m.level != "#" {
		m.block("", "---\n")
	}
	m.block("", "%s %s\n", m.level, escape(head.Title))
	m.block("", "%s\n", facts(slices.Concat(head.Facts, head.Counts)))
	for _, f := range head.Fields {
		m.block("item", "- %s: %s\n", f.Name, code(f.Text))
	}
	for step := range view.StoryOf(t, view.Rows(t)).Steps(0) {
		if step.Row != nil {
			m.step(&step, t.Started)
			continue
		}
		m.heading(map[view.Who]string{view.WhoUser: "Prompt", view.WhoAgent: "Answer"}[step.Who])
		m.quote(step.Text())
	}
	return nil
}

// step writes what was said or done in a row.
func (m *markdown) step(s *view.Step, start time.Time) {
	r, parts := s.Row, s.Parts
	title := escape(r.Label)
	switch s.Who {
	case view.WhoUser:
		title = "Prompt"
	case view.WhoAgent:
		title = "Agent"
	case view.WhoFailure:
		title = "Run"
	case view.WhoSubagent:
		title = "Subagent " + code(r.Agent())
	case view.WhoTool:
		detail := r.Detail()
		if len(detail) <= maxHeading {
			parts = withoutText(parts, detail)
		}
		title = r.Status.Mark() + " " + code(r.Label) + " " + code(termtext.CutWidth(detail, maxHeading, "…"))
	}
	if s.Within != "" {
		title += " (in " + escape(s.Within) + ")"
	}
	words := []string{title}
	if r.Status.Bad() {
		words = append(words, r.Status.String())
	}
	if s.Who == view.WhoAgent || s.Who == view.WhoSubagent {
		words = append(words, view.Counts(&store.Summary{Usage: r.Usage()})...)
	}
	words = append(words, view.Offset(r.Start, start))
	if !r.End.IsZero() && r.Kind != view.KindEvent {
		words = append(words, view.Duration(r.Took()))
	}
	m.heading(strings.TrimSpace(strings.Join(words, " · ")))
	if r.Kind == view.KindEvent && s.Who != view.WhoUser && r.Note() == "" {
		if d := r.Detail(); d != "" {
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
	case p.Short:
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

package view

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap"
)

// collapseAfter is how many similar siblings a tree shows; one line counts the
// others.
const collapseAfter = 200

// The columns at the right: the offset from the trace's start, the duration.
const (
	offsetWidth   = 9
	durationWidth = 8
)

// Tree writes a header and the rows of a trace as a tree.
func Tree(w io.Writer, t *store.Trace, o Options) error {
	o.Width = max(40, cmp.Or(max(o.Width, 0), 100))
	p := &treePrinter{style: newStyle(o), w: bufio.NewWriter(w), start: t.Started}
	p.header(t)
	p.rows(p.collapse(Rows(t)))
	if !o.Verbose {
		p.answer(t)
	}
	return p.w.Flush()
}

// treePrinter writes to a buffer, which keeps the first error for Flush.
type treePrinter struct {
	*style
	w     *bufio.Writer
	start time.Time
}

func (p *treePrinter) line(s string) {
	_, _ = p.w.WriteString(s)
	_ = p.w.WriteByte('\n')
}

// header describes the trace.
func (p *treePrinter) header(t *store.Trace) {
	p.line(p.paint(sgrBold, p.cut(cmp.Or(termtext.Line(t.Title), "untitled"), p.Width)))

	var started, runs string
	if !t.Started.IsZero() {
		started = t.Started.In(p.Location).Format(time.DateTime)
	}
	if t.Runs > 1 {
		runs = termtext.Plural(t.Runs, "run")
	}
	first := p.join(cmp.Or(termtext.Line(t.Outcome), "no root span"), duration(t.Duration()), started,
		termtext.Line(t.Model), termtext.Line(t.Host), runs)
	p.line(p.mark(outcomeStatus(t.Outcome)) + " " + p.cut(first, p.Width-2))

	counts := Counts(&t.Summary)
	if len(counts) > 0 {
		p.line(p.paint(sgrDim, p.cut(p.join(counts...), p.Width)))
	}
	for _, f := range []Field{{"session", t.Session}, {"folder", t.Directory}, {"trace", t.TraceID}} {
		if f.Text != "" {
			p.line(p.paint(sgrDim, p.cut(padRight(f.Name, 8)+termtext.Line(f.Text), p.Width)))
		}
	}
	p.line("")
}

// answer writes the agent's last message, which most readers look for.
func (p *treePrinter) answer(t *store.Trace) {
	result := ""
	for s := range otlp.Spans(t.ResourceSpans) {
		if otlp.Text(s.GetAttributes(), otelmap.KeyOutcome) != "" {
			result = cmp.Or(otlp.Text(s.GetAttributes(), otelmap.KeyResult), result)
		}
	}
	if result == "" {
		return
	}
	p.line("")
	lines := termtext.Lines(termtext.HeadBytes(result, maxLine))
	if len(lines) > 4 {
		lines = append(lines[:3], lines[3]+" "+p.ellipsis)
	}
	lead := "answer"
	for _, l := range lines {
		p.line(p.paint(sgrDim, padRight(lead, 8)) + p.cut(l, p.Width-8))
		lead = ""
	}
}

// entry is a row to show, or a number of similar ones.
type entry struct {
	*Row
	count  int // 0 for a single row
	nested int
	took   time.Duration
}

// collapse counts similar siblings, those of one label and status, instead of
// showing all of them.
func (p *treePrinter) collapse(rows []Row) []*entry {
	type likeness struct {
		parent int
		label  string
		status Status
	}
	keys := make([]likeness, len(rows))
	siblings, total := make(map[int]int), make(map[likeness]int)
	var path []int
	for i, r := range rows {
		path = append(path[:r.Depth], i)
		keys[i] = likeness{-1, r.Label, r.Status}
		if r.Depth > 0 {
			keys[i].parent = path[r.Depth-1]
			siblings[keys[i].parent]++
		}
		total[keys[i]]++
	}
	seen, more := make(map[likeness]int), make(map[likeness]*entry)
	var shown []*entry
	for i := 0; i < len(rows); {
		r, k := &rows[i], keys[i]
		seen[k]++
		// A similar row that would be counted alone takes no more room when shown.
		if p.Verbose || siblings[k.parent] <= collapseAfter || seen[k] <= collapseAfter || total[k] == collapseAfter+1 {
			shown = append(shown, &entry{Row: r})
			i++
			continue
		}
		if more[k] == nil {
			more[k] = &entry{Row: r}
			shown = append(shown, more[k])
		}
		first := i
		for i++; i < len(rows) && rows[i].Depth > r.Depth; i++ {
		}
		more[k].count++
		more[k].nested += i - first - 1
		if r.Kind != KindEvent {
			more[k].took += r.Took()
		}
	}
	return shown
}

// rows writes the tree.
func (p *treePrinter) rows(entries []*entry) {
	last := lastSiblings(entries)
	// rests[d] precedes every line below the row at depth d, except its children's.
	var rests []string
	for i, e := range entries {
		var lead, rest string
		if e.Depth > 0 {
			above := rests[e.Depth-1]
			lead, rest = above+p.branch, above+p.trunk
			if last[i] {
				lead, rest = above+p.corner, above+p.none
			}
			// A chain of spans deeper than the view is wide stays at one indentation.
			if termtext.Width(above) > p.Width/3 {
				rest = above
			}
		}
		rests = append(rests[:e.Depth], rest)
		if e.count > 0 {
			var below string
			if e.nested > 0 {
				below = fmt.Sprintf("and %d below them", e.nested)
			}
			p.columns(lead, p.paint(sgrDim, p.ellipsis), fmt.Sprintf("%d more %s", e.count, e.Label), "", below, "", duration(e.took))
			continue
		}
		if i+1 < len(entries) && entries[i+1].Depth > e.Depth {
			rest += p.trunk
		} else {
			rest += p.none
		}
		p.own(e.Row, lead)
		p.problem(e.Row, rest)
		if p.Verbose {
			for _, f := range e.Fields() {
				p.field(rest, f)
			}
		}
	}
}

// lastSiblings reports for each entry whether it is its parent's last child.
func lastSiblings(entries []*entry) []bool {
	last := make([]bool, len(entries))
	later := make(map[int]bool) // by depth
	for i, e := range slices.Backward(entries) {
		last[i] = !later[e.Depth]
		later[e.Depth] = true
		delete(later, e.Depth+1)
	}
	return last
}

// own writes the row's first line.
func (p *treePrinter) own(r *Row, lead string) {
	label, labelSGR, offset, took := r.Label, "", "", ""
	if r.Kind == KindEvent {
		labelSGR = sgrDim
	}
	if r.Detached {
		label += " (parent missing)"
	}
	if !r.Start.IsZero() && !p.start.IsZero() {
		offset = duration(r.Start.Sub(p.start))
		if !r.Start.Before(p.start) {
			offset = "+" + offset
		}
	}
	switch {
	case !r.End.IsZero():
		took = duration(r.Took())
	case r.Kind != KindEvent && r.Kind != KindNoRoot:
		took = p.ellipsis
	}
	p.columns(lead, p.mark(r.Status), label, labelSGR, p.join(r.Details()...), offset, took)
}

// columns writes one line: symbol, label and detail at the left, the times at the
// right. label and detail must be safe.
func (p *treePrinter) columns(lead, symbol, label, labelSGR, detail, offset, took string) {
	room := p.Width - offsetWidth - durationWidth - termtext.Width(lead) - 2
	label = p.cut(label, room)
	room -= termtext.Width(label)
	left := p.paint(sgrDim, lead) + symbol + " " + p.paint(labelSGR, label)
	if detail != "" && room > 6 {
		detail = p.cut(detail, room-2)
		left += "  " + p.paint(sgrDim, detail)
		room -= 2 + termtext.Width(detail)
	}
	right := strings.TrimRight(padLeft(offset, offsetWidth)+padLeft(took, durationWidth), " ")
	if right == "" {
		p.line(left)
		return
	}
	p.line(left + strings.Repeat(" ", max(0, room)) + p.paint(sgrDim, right))
}

// problem writes the row's error, on one line or, in a verbose view, completely.
func (p *treePrinter) problem(r *Row, lead string) {
	kind, message := r.Problem()
	if kind == "" && message == "" {
		return
	}
	lines := []string{line(message)}
	if p.Verbose {
		lines = termtext.Lines(message)
	}
	if kind = termtext.Line(kind); kind != "" && lines[0] != "" {
		kind += ": "
	}
	lines[0] = kind + lines[0]
	sgr := sgrRed
	if r.Status == StatusDenied || r.Status == StatusUnfinished {
		sgr = sgrYellow
	}
	for _, l := range lines {
		if !p.Verbose {
			l = p.cut(l, p.Width-termtext.Width(lead))
		}
		p.below(lead, p.paint(sgr, l))
	}
}

// field writes a named text, each of its lines below the other.
func (p *treePrinter) field(lead string, f Field) {
	name := f.Name
	for _, l := range termtext.Lines(f.Text) {
		p.below(lead+padRight(name, 9), l)
		name = ""
	}
}

// below writes a further line of a row, without white space at its end.
func (p *treePrinter) below(lead, text string) {
	if text == "" {
		lead = strings.TrimRight(lead, " ")
	}
	p.line(p.paint(sgrDim, lead) + text)
}

package view

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// collapseAfter is how many similar siblings a tree shows; one line counts the
// others.
const collapseAfter = 200

// The columns at the right: the number of a tool call, the offset from the trace's
// start, the duration, and a bar that shows both within the trace.
const (
	offsetWidth   = 9
	durationWidth = 8
	maxTimeBar    = 24
	// Narrower trees have no bar, and no numbers.
	minBarred, minNumbered = 70, 60
)

// pipedWidth is where the columns at the right are if nothing is cut.
const pipedWidth = 100

// shortDiff is how many lines of a diff a tree shows.
const shortDiff = 6

// Tree writes a header and the rows of a trace as a tree.
func Tree(w io.Writer, t *store.Trace, o Options) error {
	p := newTreePrinter(w, t, o)
	rows := Rows(t)
	p.number(rows)
	p.header(t)
	p.rows(p.collapse(rows))
	if !o.Verbose {
		p.answer(t)
	}
	return p.w.Flush()
}

func newTreePrinter(w io.Writer, t *store.Trace, o Options) *treePrinter {
	whole := o.Width <= 0
	o.Width = max(40, cmp.Or(max(o.Width, 0), pipedWidth))
	p := &treePrinter{style: newStyle(o), w: bufio.NewWriter(w), start: t.Started, whole: whole}
	if took := t.Duration(); !whole && o.Width >= minBarred && took > 0 {
		p.bars, p.took = min((o.Width-minBarred)/3+6, maxTimeBar), took
	}
	return p
}

// number makes room for the numbers of the tool calls.
func (p *treePrinter) number(rows []Row) {
	last := 0
	for i := range rows {
		last = max(last, rows[i].Number)
	}
	if last > 0 && p.Width >= minNumbered {
		p.numbers = len(strconv.Itoa(last)) + 2
	}
}

// treePrinter writes to a buffer, which keeps the first error for Flush.
type treePrinter struct {
	*style
	w     *bufio.Writer
	start time.Time
	// whole reports that nothing is cut.
	whole bool
	// numbers is the width of the column of numbers, bars that of the bars, 0 for none.
	// took is the time that a whole bar is.
	numbers, bars int
	took          time.Duration
}

// cut cuts a safe text to n columns unless everything is shown.
func (p *treePrinter) cut(s string, n int) string {
	if p.whole {
		return s
	}
	return p.style.cut(s, n)
}

// wrap breaks a safe line unless everything is shown on its line.
func (p *treePrinter) wrap(s string, n int) []string {
	if p.whole {
		return []string{s}
	}
	return termtext.Wrap(s, n)
}

func (p *treePrinter) line(s string) {
	_, _ = p.w.WriteString(s)
	_ = p.w.WriteByte('\n')
}

// header describes the trace.
func (p *treePrinter) header(t *store.Trace) {
	h := HeaderOf(&t.Summary, p.Location, time.DateTime)
	p.line(p.paint(sgrBold, p.cut(h.Title, p.Width)))
	p.line(p.mark(h.End) + " " + p.cut(p.join(h.Facts...), p.Width-2))
	if len(h.Counts) > 0 {
		p.line(p.paint(sgrDim, p.cut(p.join(h.Counts...), p.Width)))
	}
	if p.Resume != "" {
		h.Fields = append(h.Fields, Field{"resume", p.Resume})
	}
	for _, f := range h.Fields {
		p.line(p.paint(sgrDim, p.cut(padRight(f.Name, 8)+f.Text, p.Width)))
	}
	p.line("")
}

// answer writes the agent's last message, which most readers look for.
func (p *treePrinter) answer(t *store.Trace) {
	if answer := Answer(t); answer != "" {
		p.line("")
		p.said("answer", answer)
	}
}

// said writes what somebody wrote, wrapped, beside the word for the writer.
func (p *treePrinter) said(who, text string) {
	for _, l := range termtext.Lines(text) {
		for _, part := range p.wrap(l, p.Width-8) {
			lead := p.paint(sgrDim, padRight(who, 8))
			if part == "" {
				lead = strings.TrimRight(lead, " ")
			}
			p.line(lead + part)
			who = ""
		}
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
		status otelmap.End
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
			p.columns(lead, p.paint(sgrDim, p.ellipsis), fmt.Sprintf("%d more %s", e.count, e.Label), "", below, right{took: duration(e.took)})
			continue
		}
		if i+1 < len(entries) && entries[i+1].Depth > e.Depth {
			rest += p.trunk
		} else {
			rest += p.none
		}
		p.writeRow(e.Row, lead)
		p.problem(e.Row, rest)
		p.edits(e.Row, rest)
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

// writeRow writes the row's first line.
func (p *treePrinter) writeRow(r *Row, lead string) {
	label, labelSGR, offset, took := r.Label, "", Offset(r.Start, p.start), ""
	if r.Kind == KindEvent {
		labelSGR = sgrDim
	}
	if r.Detached {
		label += " (parent missing)"
	}
	switch {
	case !r.End.IsZero():
		took = duration(r.Took())
	case r.Kind != KindEvent && r.Kind != KindNoRoot:
		took = p.ellipsis
	}
	p.columns(lead, p.mark(r.Status), label, labelSGR, p.join(r.Details()...), right{r.Number, offset, took, p.barOf(r)})
}

// right is what a line has at the right.
type right struct {
	number            int
	offset, took, bar string
}

// right returns the columns, without spaces at the end.
func (p *treePrinter) right(c right) string {
	out := padLeft(c.offset, offsetWidth) + padLeft(c.took, durationWidth)
	if p.numbers > 0 {
		number := ""
		if c.number > 0 {
			number = "#" + strconv.Itoa(c.number)
		}
		out = padLeft(number, p.numbers) + out
	}
	return strings.TrimRight(out, " ")
}

// barOf draws when the row was and how long within the trace, without spaces at the
// end.
func (p *treePrinter) barOf(r *Row) string {
	if p.bars == 0 || r.Start.IsZero() || r.Kind == KindEvent {
		return ""
	}
	cell := func(at time.Time) int {
		return int(float64(p.bars) * min(max(float64(at.Sub(p.start))/float64(p.took), 0), 1))
	}
	from := min(cell(r.Start), p.bars-1)
	return strings.Repeat(" ", from) + strings.Repeat(p.bar, max(1, cell(r.End)-from))
}

// columns writes one line: symbol, label and detail at the left, numbers and times at
// the right. label and detail must be safe.
func (p *treePrinter) columns(lead, symbol, label, labelSGR, detail string, c right) {
	ends := p.numbers + offsetWidth + durationWidth
	if p.bars > 0 {
		ends += p.bars + 2
	}
	room := p.Width - ends - termtext.Width(lead) - 2
	label = p.cut(label, room)
	room -= termtext.Width(label)
	left := p.paint(sgrDim, lead) + symbol + " " + p.paint(labelSGR, label)
	if detail != "" && (room > 6 || p.whole) {
		detail = p.cut(detail, room-2)
		left += "  " + p.paint(sgrDim, detail)
		room -= 2 + termtext.Width(detail)
	}
	end := p.right(c)
	if end == "" {
		p.line(left)
		return
	}
	if room < 0 {
		// Everything is shown, and the columns are further to the right.
		end = "  " + strings.TrimLeft(end, " ")
	}
	left += strings.Repeat(" ", max(0, room)) + p.paint(sgrDim, end)
	if c.bar != "" {
		gap := p.numbers + offsetWidth + durationWidth - termtext.Width(end) + 2
		left += strings.Repeat(" ", gap) + p.paint(sgrCyan, c.bar)
	}
	p.line(left)
}

// problem writes the row's error, on one line or, in a verbose view, completely.
func (p *treePrinter) problem(r *Row, lead string) {
	kind, message := r.Problem()
	if kind == "" && message == "" {
		return
	}
	lines := termtext.Lines(message)
	if !p.Verbose {
		lines = p.gist(message)
	}
	if kind = termtext.Line(kind); kind != "" && lines[0] != "" {
		kind += ": "
	}
	lines[0] = kind + lines[0]
	sgr := sgrRed
	if r.Status == otelmap.EndDenied || r.Status == otelmap.EndUnfinished {
		sgr = sgrYellow
	}
	for _, l := range lines {
		if !p.Verbose {
			p.below(lead, p.paint(sgr, p.cut(l, p.Width-termtext.Width(lead))))
			continue
		}
		for _, part := range p.wrap(l, p.Width-termtext.Width(lead)) {
			p.below(lead, p.paint(sgr, part))
		}
	}
}

// gist returns the line of an error that says what failed and the last two, of a short
// error all that are not empty.
func (p *treePrinter) gist(message string) []string {
	what := FailureLine(message)
	lines := slices.DeleteFunc(termtext.Lines(wrapping.Replace(message)), func(l string) bool { return strings.TrimSpace(l) == "" })
	for i := range lines {
		lines[i] = line(lines[i])
	}
	n := len(lines)
	switch at := slices.Index(lines, what); {
	case n <= 1 || at < 0:
		return []string{what}
	case n <= 3:
		return lines
	case at < n-2:
		return []string{what + " " + p.ellipsis, lines[n-2], lines[n-1]}
	}
	return lines[n-2:]
}

// edits writes the changes that a call asked for.
func (p *treePrinter) edits(r *Row, lead string) {
	if r.Kind != KindTool {
		return
	}
	for _, e := range r.Arguments().Edits() {
		p.diff(e, lead)
	}
}

// diff writes the lines of a change.
func (p *treePrinter) diff(e Edit, lead string) {
	for i, l := range e.Lines {
		if i == shortDiff && len(e.Lines) > shortDiff+1 && !p.Verbose {
			p.below(lead, p.paint(sgrDim, p.ellipsis+" "+termtext.Plural(len(e.Lines)-shortDiff, "more line")))
			return
		}
		p.below(lead, p.paint(signColor(l), p.cut(l, p.Width-termtext.Width(lead))))
	}
}

// field writes a named text, each of its lines below the other.
func (p *treePrinter) field(lead string, f Field) {
	name := f.Name
	for _, l := range termtext.Lines(f.Text) {
		for _, part := range p.wrap(l, p.Width-termtext.Width(lead)-9) {
			p.below(lead+padRight(name, 9), part)
			name = ""
		}
	}
}

// below writes a further line of a row, without white space at its end.
func (p *treePrinter) below(lead, text string) {
	if text == "" {
		lead = strings.TrimRight(lead, " ")
	}
	p.line(p.paint(sgrDim, lead) + text)
}

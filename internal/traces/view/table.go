package view

import (
	"bufio"
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/termtext"
)

// gap is the space between two columns.
const gap = 2

// The widths of a bar. A narrower one says little.
const (
	minBar = 8
	maxBar = 24
)

// table draws rows of cells below a line of headings. If the view is too narrow,
// columns are narrowed or left out, and one is cut.
type table struct {
	*style
	rows    int
	columns []*column
	// bar, if set, returns the length of a row's bar, from 0 to 1. Bars are drawn at the
	// right if the view has a width and room.
	bar func(i int) float64
	// below, if set, returns lines that follow a row, each drawn and cut.
	below func(i int) []string
	// total makes the last row a sum, which has no bar.
	total bool
}

// column is one column of a table.
type column struct {
	name  string
	right bool
	// cell returns the text of a row, which is safe for a terminal, and its colour.
	cell func(i int) (text, sgr string)
	// order is when the column gives way to the others, the lowest first. Columns
	// without an order stay.
	order int
	// narrow takes the place of cell when the column gives way. If nil, it is left out.
	narrow func(i int) (text, sgr string)
	// least is the width to which the column is cut if it has to be. If zero, it is not
	// cut.
	least int

	// What fill sets.
	cells, sgr []string
	width      int
}

// columnsOf returns a function that adds a column with a cell for each of the values.
func columnsOf[T any](t *table, values []T) func(c *column, cell func(*T) (text, sgr string)) {
	t.rows = len(values)
	return func(c *column, cell func(*T) (text, sgr string)) {
		c.cell = func(i int) (string, string) { return cell(&values[i]) }
		t.columns = append(t.columns, c)
	}
}

func (t *table) fill(c *column) {
	c.cells, c.sgr, c.width = nil, nil, termtext.Width(c.name)
	for i := range t.rows {
		text, sgr := c.cell(i)
		c.cells, c.sgr = append(c.cells, text), append(c.sgr, sgr)
		c.width = max(c.width, termtext.Width(text))
	}
}

// room is the width of the view.
func (st *style) room() int {
	if st.Width <= 0 {
		return math.MaxInt
	}
	return max(40, st.Width)
}

// fit makes the columns fit the view and returns the width that is left.
func (t *table) fit() int {
	for _, c := range t.columns {
		t.fill(c)
	}
	needed := func() (n int) {
		for _, c := range t.columns {
			if n += c.width + gap; c.least > 0 {
				n -= max(0, c.width-c.least)
			}
		}
		return n - gap
	}
narrowing:
	for needed() > t.room() {
		var first *column
		for _, c := range t.columns {
			if c.order > 0 && (first == nil || c.order < first.order) {
				first = c
			}
		}
		switch {
		case first == nil:
			break narrowing
		case first.narrow != nil:
			first.name, first.cell, first.narrow, first.order = "", first.narrow, nil, 0
			t.fill(first)
		default:
			t.columns = slices.DeleteFunc(t.columns, func(c *column) bool { return c == first })
		}
	}
	left := t.room()
	for _, c := range t.columns {
		left -= c.width + gap
	}
	left += gap
	for _, part := range []int{1, 2} { // of least, if that is too much
		for _, c := range t.columns {
			if c.least > 0 && left < 0 {
				cut := max(0, min(-left, c.width-c.least/part))
				c.width -= cut
				left += cut
			}
		}
	}
	return left
}

func (t *table) draw(b *bufio.Writer) {
	bar := 0
	if left := t.fit() - gap; t.bar != nil && t.Width > 0 && left >= minBar {
		bar = min(left, maxBar)
	}
	var head strings.Builder
	for i, c := range t.columns {
		head.WriteString(t.pad(c, i, c.name))
	}
	_, _ = b.WriteString(t.paint(sgrDim, strings.TrimRight(head.String(), " ")) + "\n")
	for row := range t.rows {
		var line strings.Builder
		for i, c := range t.columns {
			text := c.cells[row]
			if c.least > 0 {
				text = t.cut(text, c.width)
			}
			// Spaces stay out of the colour.
			line.WriteString(strings.Replace(t.pad(c, i, text), text, t.paint(cmp.Or(c.sgr[row], t.totalSGR(row)), text), 1))
		}
		if bar > 0 && !(t.total && row == t.rows-1) {
			line.WriteString(strings.Repeat(" ", gap) + t.paint(sgrDim, t.drawBar(t.bar(row), bar)))
		}
		_, _ = b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		if t.below != nil {
			for _, l := range t.below(row) {
				_, _ = b.WriteString(l + "\n")
			}
		}
	}
}

// pad aligns a text in the column with that number.
func (t *table) pad(c *column, number int, text string) string {
	if c.right {
		text = padLeft(text, c.width)
	} else {
		text = padRight(text, c.width)
	}
	if number > 0 {
		text = strings.Repeat(" ", gap) + text
	}
	return text
}

func (t *table) totalSGR(row int) string {
	if t.total && row == t.rows-1 {
		return sgrBold
	}
	return ""
}

// drawBar draws a bar of a part of that many columns, in eighths of a column.
func (t *table) drawBar(part float64, columns int) string {
	if !(part > 0) {
		return ""
	}
	eighths := max(1, int(math.Round(min(part, 1)*float64(8*columns))))
	if t.ASCII {
		return strings.Repeat("#", max(1, eighths/8))
	}
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return bar
}

package store

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// shortID is how many digits of a trace id a list shows.
const shortID = 8

// minTitle is the room a title should have; columns give way for it.
const minTitle = 24

// ListOptions say how summaries are written. The zero value gives plain text,
// whole lines, with absolute times in the local time zone.
type ListOptions struct {
	// Color allows colours.
	Color bool
	// ASCII draws with ASCII alone; texts from the spans stay as they are.
	ASCII bool
	// Width is the number of columns; if zero, lines are as long as they need to
	// be. At least 40 are used.
	Width int
	// Now makes the times relative to it; if zero, they are absolute.
	Now time.Time
	// Location is the time zone of absolute times; if nil, time.Local.
	Location *time.Location
}

// column is one column of the list.
type column struct {
	name  string
	right bool
	// cell gives a text and its colour.
	cell func(s *Summary) (text, sgr string)
	// cells and width are filled in once the summaries are known.
	cells []string
	sgr   []string
	width int
}

// fill makes the column's cells.
func (c *column) fill(traces []Summary) {
	c.cells, c.sgr, c.width = nil, nil, width(c.name)
	for i := range traces {
		text, sgr := c.cell(&traces[i])
		c.cells, c.sgr = append(c.cells, text), append(c.sgr, sgr)
		c.width = max(c.width, width(text))
	}
}

// narrowing is what is given up, one after another, where a view is too narrow
// for a title: a column, or of the outcome the word beside its symbol.
var narrowing = []string{"TOOLS", "HOST", outcomeColumn, "TIME", "STARTED", "COST", "TOKENS"}

const outcomeColumn = "OUTCOME"

// WriteList writes one line for each trace, under a line of headings; nothing
// at all for none. Where the view is too narrow for a title, other columns give
// way, tokens and cost last. The host has a column only where the traces are of
// several.
func WriteList(w io.Writer, traces []Summary, o ListOptions) error {
	if len(traces) == 0 {
		return nil
	}
	st := newStyle(o.Color, o.ASCII, o.Location)
	cols := st.columns(o.Now)
	if oneHost(traces) {
		cols = without(cols, "HOST")
	}
	left := math.MaxInt
	if o.Width > 0 {
		left = max(40, o.Width)
	}
	for i := range cols {
		cols[i].fill(traces)
		left -= cols[i].width + 2
	}
	for _, name := range narrowing {
		i := slices.IndexFunc(cols, func(c column) bool { return c.name == name })
		if left >= minTitle || i < 0 {
			continue
		}
		left += cols[i].width + 2
		if name != outcomeColumn {
			cols = without(cols, name)
			continue
		}
		cols[i].name, cols[i].cell = "", st.outcomeMark
		cols[i].fill(traces)
		left -= cols[i].width + 2
	}

	b := bufio.NewWriter(w)
	var head strings.Builder
	for _, c := range cols {
		head.WriteString(c.pad(c.name) + "  ")
	}
	_, _ = fmt.Fprintln(b, st.paint(sgrDim, head.String()+"TASK"))
	for i := range traces {
		for _, c := range cols {
			cell := c.pad(c.cells[i])
			if c.sgr[i] != "" {
				// Spaces stay out of the colour.
				cell = strings.Replace(cell, c.cells[i], st.paint(c.sgr[i], c.cells[i]), 1)
			}
			_, _ = b.WriteString(cell + "  ")
		}
		_, _ = fmt.Fprintln(b, st.cut(cmp.Or(clean(traces[i].Title), "-"), max(1, left))) //nolint:gosec // One row for each trace.
	}
	return b.Flush()
}

func (c *column) pad(s string) string {
	if c.right {
		return padLeft(s, c.width)
	}
	return padRight(s, c.width)
}

func oneHost(traces []Summary) bool {
	for i := range traces {
		if traces[i].Host != traces[0].Host {
			return false
		}
	}
	return true
}

func without(cols []column, name string) []column {
	var out []column
	for _, c := range cols {
		if c.name != name {
			out = append(out, c)
		}
	}
	return out
}

func (st *style) columns(now time.Time) []column {
	return []column{
		{name: "TRACE", cell: func(s *Summary) (string, string) {
			return cutWidth(clean(s.TraceID), shortID, ""), sgrBold
		}},
		{name: "STARTED", cell: func(s *Summary) (string, string) { return st.age(s.Started, now), sgrDim }},
		{name: outcomeColumn, cell: func(s *Summary) (string, string) {
			mark, color := st.outcomeMark(s)
			return mark + " " + st.cut(cmp.Or(clean(s.Outcome), "no root"), 12), color
		}},
		{name: "TIME", right: true, cell: func(s *Summary) (string, string) { return duration(s.Duration()), "" }},
		{name: "TOOLS", right: true, cell: func(s *Summary) (string, string) {
			var not []string
			if s.ToolFailures > 0 {
				not = append(not, fmt.Sprint(s.ToolFailures, st.symbols[markFailed]))
			}
			if s.ToolsUnknown > 0 {
				not = append(not, fmt.Sprint(s.ToolsUnknown, st.symbols[markUnknown]))
			}
			if not != nil {
				return fmt.Sprintf("%d (%s)", s.Tools, strings.Join(not, " ")), ""
			}
			return fmt.Sprint(s.Tools), ""
		}},
		{name: "TOKENS", right: true, cell: func(s *Summary) (string, string) {
			if s.Usage == nil {
				return "-", sgrDim
			}
			return tokens(s.Usage.Input) + "/" + tokens(s.Usage.Output), ""
		}},
		{name: "COST", right: true, cell: func(s *Summary) (string, string) {
			if s.Usage == nil || s.Usage.CostUSD == nil {
				return "-", sgrDim
			}
			return dollars(*s.Usage.CostUSD), ""
		}},
		{name: "HOST", cell: func(s *Summary) (string, string) { return st.cut(clean(s.Host), 16), "" }},
	}
}

// outcomeMark is a trace's outcome as a symbol and its colour.
func (st *style) outcomeMark(s *Summary) (symbol, sgr string) {
	m := outcomeMark(s.Outcome)
	return st.symbols[m], [...]string{sgrGreen, sgrRed, sgrYellow, sgrYellow, ""}[m]
}

// age is how long ago t was, up to a week; else the date.
func (st *style) age(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero():
		return "-"
	case now.IsZero():
		return t.In(st.location).Format("2006-01-02 15:04")
	case d < 0 || d >= 7*24*time.Hour:
		return t.In(st.location).Format("2006-01-02")
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh ago", d/time.Hour)
	}
	return fmt.Sprintf("%dd ago", d/(24*time.Hour))
}

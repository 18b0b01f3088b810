package view

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
)

// shortID is how many digits of a trace id a list shows.
const shortID = 8

// minTitle is the room that a title should have; columns give way to it.
const minTitle = 24

// List writes one line for each trace below a line of headings, and nothing if
// there are no traces. If the view is too narrow for a title, other columns are
// left out, tokens and cost last. The host has a column only if the traces have
// different ones.
func List(w io.Writer, traces []store.Summary, o Options) error {
	if len(traces) == 0 {
		return nil
	}
	st := newStyle(o)
	cols := st.columns()
	if !slices.ContainsFunc(traces, func(s store.Summary) bool { return s.Host != traces[0].Host }) {
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
	for _, name := range []string{"TOOLS", "HOST", outcomeColumn, "TIME", "STARTED", "COST", "TOKENS"} {
		i := slices.IndexFunc(cols, func(c column) bool { return c.name == name })
		if left >= minTitle || i < 0 {
			continue
		}
		left += cols[i].width + 2
		if name != outcomeColumn {
			cols = without(cols, name)
			continue
		}
		cols[i].name, cols[i].cell = "", st.outcomeSymbol
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
			// Spaces stay out of the colour.
			padded := c.pad(c.cells[i])
			_, _ = b.WriteString(strings.Replace(padded, c.cells[i], st.paint(c.sgr[i], c.cells[i]), 1) + "  ")
		}
		_, _ = fmt.Fprintln(b, st.cut(cmp.Or(termtext.Line(traces[i].Title), "-"), max(1, left)))
	}
	return b.Flush()
}

// outcomeColumn is narrowed to its symbol instead of being left out.
const outcomeColumn = "OUTCOME"

// column is one column of the list.
type column struct {
	name  string
	right bool
	// cell returns a text and its colour.
	cell func(s *store.Summary) (text, sgr string)

	// What fill sets.
	cells, sgr []string
	width      int
}

func (c *column) fill(traces []store.Summary) {
	c.cells, c.sgr, c.width = nil, nil, termtext.Width(c.name)
	for i := range traces {
		text, sgr := c.cell(&traces[i])
		c.cells, c.sgr = append(c.cells, text), append(c.sgr, sgr)
		c.width = max(c.width, termtext.Width(text))
	}
}

func (c *column) pad(s string) string {
	if c.right {
		return padLeft(s, c.width)
	}
	return padRight(s, c.width)
}

func without(cols []column, name string) []column {
	return slices.DeleteFunc(cols, func(c column) bool { return c.name == name })
}

func (st *style) columns() []column {
	return []column{
		{name: "TRACE", cell: func(s *store.Summary) (string, string) {
			return termtext.CutWidth(termtext.Line(s.TraceID), shortID, ""), sgrBold
		}},
		{name: "STARTED", cell: func(s *store.Summary) (string, string) { return st.age(s.Started), sgrDim }},
		{name: outcomeColumn, cell: func(s *store.Summary) (string, string) {
			symbol, color := st.outcomeSymbol(s)
			return symbol + " " + st.cut(cmp.Or(termtext.Line(s.Outcome), "no root"), 12), color
		}},
		{name: "TIME", right: true, cell: func(s *store.Summary) (string, string) { return duration(s.Duration()), "" }},
		{name: "TOOLS", right: true, cell: func(s *store.Summary) (string, string) {
			n := fmt.Sprint(s.Tools)
			if not := toolCounts(s, st.symbol(StatusFailed), st.symbol(StatusUnknown)); not != nil {
				n += " (" + strings.Join(not, " ") + ")"
			}
			return n, ""
		}},
		{name: "TOKENS", right: true, cell: func(s *store.Summary) (string, string) {
			if s.Usage == nil {
				return "-", sgrDim
			}
			return tokens(s.Usage.Input) + "/" + tokens(s.Usage.Output), ""
		}},
		{name: "COST", right: true, cell: func(s *store.Summary) (string, string) {
			if s.Usage == nil || s.Usage.CostUSD == nil {
				return "-", sgrDim
			}
			return dollars(*s.Usage.CostUSD), ""
		}},
		{name: "HOST", cell: func(s *store.Summary) (string, string) { return st.cut(termtext.Line(s.Host), 16), "" }},
	}
}

// outcomeSymbol returns a trace's outcome as a symbol and its colour.
func (st *style) outcomeSymbol(s *store.Summary) (symbol, sgr string) {
	status := outcomeStatus(s.Outcome)
	return st.symbol(status), marks[status].sgr
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

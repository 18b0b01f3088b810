package store

import "time"

// defaultWidth is the width of a view that was not told the terminal's.
const defaultWidth = 100

// mark is how a span ended, as a symbol and a colour.
type mark int

const (
	markOK mark = iota
	markFailed
	markDenied
	markUnfinished
	markEvent
	// markUnknown is a call that has ended with an unknown outcome.
	markUnknown
)

// style is what one view draws with.
type style struct {
	color    bool
	location *time.Location
	// symbols are those of the marks, in their order.
	symbols                     [6]string
	branch, corner, trunk, none string
	ellipsis, dot               string
}

// The escape sequences of the view itself (ECMA-48, SGR).
const (
	sgrReset  = "\x1b[0m"
	sgrBold   = "\x1b[1m"
	sgrDim    = "\x1b[2m"
	sgrRed    = "\x1b[31m"
	sgrGreen  = "\x1b[32m"
	sgrYellow = "\x1b[33m"
)

func newStyle(color, ascii bool, loc *time.Location) *style {
	if loc == nil {
		loc = time.Local
	}
	st := &style{color: color, location: loc, none: "   "}
	if ascii {
		st.symbols = [...]string{"+", "x", "-", "?", "*", "~"}
		st.branch, st.corner, st.trunk = "|- ", "`- ", "|  "
		st.ellipsis, st.dot = "...", " - "
		return st
	}
	st.symbols = [...]string{"✓", "✗", "⊘", "…", "·", "?"}
	st.branch, st.corner, st.trunk = "├─ ", "└─ ", "│  "
	st.ellipsis, st.dot = "…", " · "
	return st
}

// paint gives s in a colour, where there are colours. s must be clean.
func (st *style) paint(sgr, s string) string {
	if !st.color || s == "" || sgr == "" {
		return s
	}
	return sgr + s + sgrReset
}

func (st *style) symbol(m mark) string {
	colors := [...]string{sgrGreen, sgrRed, sgrYellow, sgrYellow, sgrDim, sgrDim}
	return st.paint(colors[m], st.symbols[m])
}

// cut is cutWidth with the view's mark.
func (st *style) cut(s string, n int) string { return cutWidth(s, n, st.ellipsis) }

func (st *style) moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(st.location).Format("2006-01-02 15:04:05")
}

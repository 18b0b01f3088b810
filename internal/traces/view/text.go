package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// Options control how text is drawn for a terminal. The zero value draws plain
// text in the local time zone.
type Options struct {
	// Color allows colours.
	Color bool
	// ASCII draws with ASCII only; texts from the spans stay unchanged.
	ASCII bool
	// Width is the number of columns, at least 40. If zero, nothing is cut: lines are
	// as long as needed.
	Width int
	// Verbose adds ids and complete texts to a tree and shows all siblings.
	Verbose bool
	// Resume is the command that continues a trace's session, if there is one.
	Resume string
	// Selected says after their number what tasks a list has.
	Selected string
	// Now makes the times of a list relative to it. If zero, they are absolute.
	Now time.Time
	// Location is the time zone. If nil, time.Local.
	Location *time.Location
}

// style holds what a drawing is made of.
type style struct {
	Options
	branch, corner, trunk, none string
	ellipsis, dot, bar          string
}

func newStyle(o Options) *style {
	o.Location = cmp.Or(o.Location, time.Local)
	if o.ASCII {
		return &style{Options: o, branch: "|- ", corner: "`- ", trunk: "|  ", none: "   ", ellipsis: "...", dot: " - ", bar: "="}
	}
	return &style{Options: o, branch: "├─ ", corner: "└─ ", trunk: "│  ", none: "   ", ellipsis: "…", dot: " · ", bar: "━"}
}

// Escape sequences (ECMA-48, SGR).
const (
	sgrReset  = "\x1b[0m"
	sgrBold   = "\x1b[1m"
	sgrDim    = "\x1b[2m"
	sgrRed    = "\x1b[31m"
	sgrGreen  = "\x1b[32m"
	sgrYellow = "\x1b[33m"
	sgrCyan   = "\x1b[36m"
)

// colors are those of each end.
var colors = [...]string{
	otelmap.EndNone: sgrDim, otelmap.EndOK: sgrGreen, otelmap.EndFailed: sgrRed, otelmap.EndDenied: sgrYellow,
	otelmap.EndUnfinished: sgrYellow, otelmap.EndUnknown: sgrDim, otelmap.EndRunning: sgrCyan,
}

// symbol returns the mark of an end, without its colour.
func (st *style) symbol(e otelmap.End) string {
	if st.ASCII {
		return e.ASCII()
	}
	return e.Mark()
}

// paint colours a safe text.
func (st *style) paint(sgr, s string) string {
	if !st.Color || s == "" || sgr == "" {
		return s
	}
	return sgr + s + sgrReset
}

func (st *style) mark(e otelmap.End) string { return st.paint(colors[e], st.symbol(e)) }

// cut cuts a safe text to n columns. A view without a width cuts nothing.
func (st *style) cut(s string, n int) string {
	if st.Width <= 0 {
		return s
	}
	return termtext.CutWidth(s, n, st.ellipsis)
}

// join puts the parts that are not empty on one line.
func (st *style) join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), st.dot)
}

// padLeft aligns a safe text to the right of n columns, padRight to the left.
func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-termtext.Width(s))) + s }

func padRight(s string, n int) string { return s + strings.Repeat(" ", max(0, n-termtext.Width(s))) }

// duration formats d in at most six columns up to a hundred days.
func duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + duration(-d)
	case d < time.Millisecond && d > 0:
		return "<1ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		return fmt.Sprintf("%d.%ds", d/time.Second, d%time.Second/(100*time.Millisecond))
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// Offset formats how long after a start something was, "" if either is not known.
func Offset(at, start time.Time) string {
	if at.IsZero() || start.IsZero() {
		return ""
	}
	text := duration(at.Sub(start))
	if !at.Before(start) {
		text = "+" + text
	}
	return text
}

// Tokens formats a count in at most five columns up to a thousand millions.
func Tokens(n int64) string {
	switch {
	case n < 0:
		return "0"
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 99_950:
		return fixed(float64(n)/1e3, 1) + "k"
	case n < 999_500:
		return fixed(float64(n)/1e3, 0) + "k"
	}
	return fixed(float64(n)/1e6, 1) + "M"
}

// fixed formats a number with so many decimals as toFixed does on the page, which rounds an
// exact half up.
func fixed(f float64, decimals int) string {
	shift := math.Pow10(decimals)
	if up := f * shift; math.FMA(f, shift, -up) == 0 && math.Abs(up-math.Trunc(up)) == 0.5 {
		f = (up + math.Copysign(0.5, up)) / shift
	}
	return strconv.FormatFloat(f, 'f', decimals, 64)
}

// aDollar is what is a dollar with four decimals.
const aDollar = 0.99995

// Dollars formats a cost with two decimals from a dollar on, else with four.
func Dollars(usd float64) string {
	switch {
	case math.IsNaN(usd) || math.IsInf(usd, 0):
		return "$?"
	case math.Abs(usd) >= aDollar:
		return "$" + fixed(usd, 2)
	}
	return "$" + fixed(usd, 4)
}

// toolCounts returns the failed, denied and unknown tool calls of a trace, if any, each
// followed by its mark.
func toolCounts(s *store.Summary, failed, denied, unknown string) (out []string) {
	if s.ToolFailures > 0 {
		out = append(out, fmt.Sprint(s.ToolFailures)+failed)
	}
	if s.ToolDenials > 0 {
		out = append(out, fmt.Sprint(s.ToolDenials)+denied)
	}
	if s.ToolsUnknown > 0 {
		out = append(out, fmt.Sprint(s.ToolsUnknown)+unknown)
	}
	return out
}

package view

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap"
)

// Side is one of the sides of a comparison. Its JSON is stable.
type Side struct {
	Name   string       `json:"name"`
	Totals store.Totals `json:"totals"`
	// MedianTook and MedianCostUSD are those of a task, EditsDenied counts the denied calls
	// that change files.
	MedianTook    time.Duration `json:"medianTookNs"`
	MedianCostUSD float64       `json:"medianCostUsd"`
	EditsDenied   int           `json:"editsDenied"`

	took []time.Duration
	cost []float64
}

// Add adds the work of a trace.
func (s *Side) Add(w *store.Work) {
	s.took = append(s.took, w.Summary.Duration())
	if u := w.Summary.Usage; u != nil && u.CostUSD != nil {
		s.cost = append(s.cost, *u.CostUSD)
	}
	for i := range w.Calls {
		if c := &w.Calls[i]; c.Status == otelmap.EndDenied && len(NewArguments(c.Tool, c.Arguments).Edits()) > 0 {
			s.EditsDenied++
		}
	}
	slices.Sort(s.took)
	slices.Sort(s.cost)
	s.MedianTook = s.took[(len(s.took)-1)/2]
	if len(s.cost) > 0 {
		s.MedianCostUSD = s.cost[(len(s.cost)-1)/2]
	}
}

// figure is a line of a comparison.
type figure struct {
	name string
	of   func(*Side) (float64, bool)
	text func(float64) string
}

// figures are the lines.
func figures() []figure {
	per := func(of func(*Side) float64) func(*Side) (float64, bool) {
		return func(s *Side) (float64, bool) { return of(s) / float64(max(1, s.Totals.Traces)), s.Totals.Traces > 0 }
	}
	used := func(of func(*store.Usage) float64) func(*Side) (float64, bool) {
		return func(s *Side) (float64, bool) {
			if s.Totals.Usage == nil || s.Totals.Traces == 0 {
				return 0, false
			}
			return of(s.Totals.Usage) / float64(s.Totals.Traces), true
		}
	}
	count := func(v float64) string { return fmt.Sprintf("%.1f", v) }
	percent := func(v float64) string { return fmt.Sprintf("%.1f%%", v) }
	took := func(v float64) string { return duration(time.Duration(v)) }
	amount := func(v float64) string { return tokens(int64(v)) }
	return []figure{
		{"tasks", func(s *Side) (float64, bool) { return float64(s.Totals.Traces), true }, func(v float64) string { return fmt.Sprint(int(v)) }},
		{"cost", func(s *Side) (float64, bool) {
			return usageOf(&store.Group{Totals: s.Totals}).cost(), s.Totals.Usage != nil && s.Totals.Usage.CostUSD != nil
		}, dollars},
		{"cost a task", used(func(u *store.Usage) float64 { return groupUsage{*u}.cost() }), dollars},
		{"median cost", func(s *Side) (float64, bool) { return s.MedianCostUSD, len(s.cost) > 0 }, dollars},
		{"time a task", per(func(s *Side) float64 { return float64(s.Totals.Took) }), took},
		{"median time", func(s *Side) (float64, bool) { return float64(s.MedianTook), s.Totals.Traces > 0 }, took},
		{"waited a task", func(s *Side) (float64, bool) {
			return float64(s.Totals.Waited) / float64(max(1, s.Totals.Traces)), s.Totals.Waited > 0
		}, took},
		{"input a task", used(func(u *store.Usage) float64 { return float64(u.Input) }), amount},
		{"output a task", used(func(u *store.Usage) float64 { return float64(u.Output) }), amount},
		{"cached", func(s *Side) (float64, bool) {
			return float64(CachedShare(s.Totals.Usage)), s.Totals.Usage != nil && s.Totals.Usage.Input > 0
		}, percent},
		{"calls a task", per(func(s *Side) float64 { return float64(s.Totals.Calls) }), count},
		{"calls that failed", func(s *Side) (float64, bool) {
			return 100 * float64(s.Totals.Failures) / float64(max(1, s.Totals.Calls)), s.Totals.Calls > 0
		}, percent},
		{"denials a task", per(func(s *Side) float64 { return float64(s.Totals.Denials) }), count},
		{"edits denied", func(s *Side) (float64, bool) { return float64(s.EditsDenied), s.Totals.Calls > 0 }, func(v float64) string { return fmt.Sprint(int(v)) }},
	}
}

// Compare writes two sides side by side, with the change from the first to the second.
func Compare(w io.Writer, x, y *Side, o Options) error {
	rows := slices.DeleteFunc(figures(), func(f figure) bool {
		_, inX := f.of(x)
		_, inY := f.of(y)
		return !inX && !inY
	})
	value := func(s *Side) func(int) (string, string) {
		return func(i int) (string, string) {
			if v, ok := rows[i].of(s); ok {
				return rows[i].text(v), ""
			}
			return "-", sgrDim
		}
	}
	b := bufio.NewWriter(w)
	t := &table{style: newStyle(o), rows: len(rows), columns: []*column{
		{name: "", cell: func(i int) (string, string) { return rows[i].name, sgrDim }},
		{name: termtext.Line(x.Name), right: true, cell: value(x)},
		{name: termtext.Line(y.Name), right: true, cell: value(y)},
		{name: "CHANGE", right: true, order: 1, cell: func(i int) (string, string) {
			from, inX := rows[i].of(x)
			to, inY := rows[i].of(y)
			if !inX || !inY || from == 0 {
				return "", ""
			}
			return fmt.Sprintf("%+.0f%%", 100*(to-from)/from), ""
		}},
	}}
	t.draw(b)
	return b.Flush()
}

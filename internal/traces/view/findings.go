package view

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// Finding is something that cost time or tokens and could have been left out. Its JSON is stable.
type Finding struct {
	Kind      string    `json:"kind"`
	Trace     string    `json:"traceId"`
	Session   string    `json:"session,omitempty"`
	Host      string    `json:"host,omitempty"`
	Directory string    `json:"workingDirectory,omitempty"`
	Started   time.Time `json:"started,omitzero"`
	// Spans are those that prove it, of one session: the first is of Trace, what was before it comes last.
	Spans []string `json:"spanIds"`
	// Subject is what findings of two periods have in common, beside the kind and the folder.
	Subject string `json:"subject"`
	// What says it, Do what to do about it, in one sentence each.
	What string `json:"what"`
	Do   string `json:"do"`
	// Usage is that of the requests that were made for it alone, nil if there are none, and Took
	// how long its calls took.
	Usage *store.Usage  `json:"usage,omitempty"`
	Took  time.Duration `json:"tookNs,omitempty"`
	// New reports that the period before had none with this subject.
	New bool `json:"new,omitempty"`
}

// DrawFindings writes findings, those of a kind together and below what to do.
func DrawFindings(w io.Writer, found []Finding, o Options) error {
	b := bufio.NewWriter(w)
	newStyle(o).findings(b, found)
	return b.Flush()
}

func (st *style) findings(b *bufio.Writer, found []Finding) {
	for from := 0; from < len(found); {
		to := from
		for to < len(found) && found[to].Kind == found[from].Kind {
			to++
		}
		of := found[from:to]
		if from > 0 {
			_, _ = b.WriteString("\n")
		}
		_, _ = fmt.Fprintf(b, "%s  %d\n", st.paint(sgrBold, of[0].Kind), len(of))
		for _, l := range termtext.Wrap(of[0].Do, min(st.room(), pipedWidth)) {
			_, _ = b.WriteString(st.paint(sgrDim, l) + "\n")
		}
		from = to
		t := &table{style: st}
		add := columnsOf(t, of)
		add(&column{name: "TASK"}, func(f *Finding) (string, string) { return store.ShortID(f.Trace), sgrBold })
		add(&column{name: "SPAN", order: 3}, func(f *Finding) (string, string) { return termtext.CutWidth(f.Spans[0], shortID, ""), sgrDim })
		add(&column{name: "STARTED", order: 2}, func(f *Finding) (string, string) { return t.age(f.Started), sgrDim })
		add(&column{name: "TOKENS", right: true, order: 4}, func(f *Finding) (string, string) {
			if f.Usage == nil {
				return "-", sgrDim
			}
			return Tokens(f.Usage.Tokens()), ""
		})
		add(&column{name: "COST", right: true, order: 5}, func(f *Finding) (string, string) { return cost(f.Usage, inCents(f.Usage)) })
		add(&column{name: "", order: 1}, func(f *Finding) (string, string) { return map[bool]string{true: "new"}[f.New], sgrYellow })
		add(&column{name: "WHAT", least: minTitle}, func(f *Finding) (string, string) { return line(f.What), "" })
		t.draw(b)
	}
}

// FindingsOf is the section of a report, if there are any. gone are findings of the period before.
func FindingsOf(found, gone []Finding) []ReportSection {
	out := ReportSection{Title: "Findings", Head: []string{"kind", "findings", "tasks", "tokens", "cost", "new", "gone"}}
	type sum struct {
		n, anew, gone int
		tasks         map[string]bool
		usage         *store.Usage
	}
	sums, order := make(map[string]*sum), []string(nil)
	of := func(kind string) *sum {
		if sums[kind] == nil {
			sums[kind], order = &sum{tasks: make(map[string]bool)}, append(order, kind)
		}
		return sums[kind]
	}
	for i := range found {
		f := &found[i]
		s := of(f.Kind)
		if f.New {
			s.anew++
		}
		s.n++
		s.tasks[f.Trace], s.usage = true, s.usage.Add(f.Usage)
	}
	for i := range gone {
		of(gone[i].Kind).gone++
	}
	for _, kind := range order {
		s := sums[kind]
		used, price := "-", "-"
		if s.usage != nil {
			used = Tokens(s.usage.Tokens())
			price, _ = cost(s.usage, inCents(s.usage))
		}
		out.Rows = append(out.Rows, []string{kind, fmt.Sprint(s.n), fmt.Sprint(len(s.tasks)), used, cmp.Or(strings.TrimSpace(price), "-"), fmt.Sprint(s.anew), fmt.Sprint(s.gone)})
	}
	if out.Rows == nil {
		return nil
	}
	return []ReportSection{out}
}

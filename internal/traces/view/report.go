package view

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// Report is what happened in a period, on at most two pages.
type Report struct {
	Title  string          `json:"title"`
	Totals store.Totals    `json:"totals"`
	Facts  []string        `json:"facts"`
	Tables []ReportSection `json:"tables"`
}

// ReportSection is a table of a report. Head names the columns, the first of which is a
// text, the others figures.
type ReportSection struct {
	Title string     `json:"title"`
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
}

// reportRows is how many rows a table of a report has at most.
const reportRows = 7

// Reporter collects a report from the traces of a period.
type Reporter struct {
	// Clean, if it is not nil, removes secrets from texts that the report cuts or changes, before
	// it does.
	Clean func(string) string

	failures Sums
	// sums are those of reportKeys.
	sums [len(reportKeys)]Sums

	tasks    []store.Summary
	files    map[string]*edited
	edits    int
	rejected int
}

// reportKeys are those of the tables about requests, which have no failed calls.
var reportKeys = [...]store.By{ByBranch, BySkill, BySubagent}

type edited struct {
	path           string
	edits, refused int
}

// Add adds the work of a trace.
func (r *Reporter) Add(w *store.Work) {
	clean := r.Clean
	if clean == nil {
		clean = func(s string) string { return s }
	}
	w.Summary.Title = clean(w.Summary.Title)
	for i := range w.Calls {
		if c := &w.Calls[i]; c.Status.Failed() {
			c.Error = clean(c.Error)
		}
	}
	r.failures.By = ByFailure
	r.failures.Add(w)
	for i, by := range reportKeys {
		r.sums[i].By = by
		r.sums[i].Add(w)
	}
	r.tasks = append(r.tasks, w.Summary)
	for i := range w.Calls {
		c := &w.Calls[i]
		given := NewArguments(c.Tool, c.Arguments)
		if len(given.Edits()) == 0 || c.Status.Failed() {
			continue
		}
		denied := c.Status == otelmap.EndDenied
		if r.edits++; denied {
			r.rejected++
		}
		if r.files == nil {
			r.files = make(map[string]*edited)
		}
		for _, path := range given.Files() {
			path = clean(path)
			if r.files[path] == nil {
				r.files[path] = &edited{path: path}
			}
			if denied {
				r.files[path].refused++
			} else {
				r.files[path].edits++
			}
		}
	}
}

// Report returns the report. groups are the sums by project and model.
func (r *Reporter) Report(title string, all store.Totals, groups map[store.By][]store.Group, o Options) Report {
	st := newStyle(o)
	out := Report{Title: title, Totals: all, Facts: append(SumsText(termtext.Plural(all.Traces, "task"), all), "worked "+duration(all.Took-min(all.Took, all.Waited)))}
	if all.Waited > 0 {
		out.Facts = append(out.Facts, "waited "+duration(all.Waited)+" for you")
	}
	if r.edits > 0 {
		text := termtext.Plural(r.edits-r.rejected, "edit") + " of " + termtext.Plural(len(r.files), "file")
		if r.rejected > 0 {
			text += fmt.Sprintf(", %d rejected", r.rejected)
		}
		out.Facts = append(out.Facts, text)
	}
	add := func(title string, head []string, rows [][]string) {
		if len(rows) > 0 {
			out.Tables = append(out.Tables, ReportSection{title, head, rows})
		}
	}
	price := func(u *store.Usage) string { text, _ := cost(u, inCents(all.Usage)); return text }
	for _, by := range []store.By{store.ByProject, ByBranch, BySkill, BySubagent, store.ByModel} {
		sums, at := groups[by], slices.Index(reportKeys[:], by)
		if at >= 0 {
			sums = r.sums[at].Groups()
		}
		if at >= 0 && len(sums) == 1 && sums[0].Key == "" {
			sums = nil
		}
		LargestFirst(by, sums)
		var rows [][]string
		for i := range sums[:min(len(sums), reportRows)] {
			g := &sums[i]
			key := cmp.Or(termtext.Line(g.Key), map[store.By]string{BySkill: "(no skill)"}[by], "(not known)")
			switch {
			case by == store.ByProject:
				key = cmp.Or(lastPart(key), key)
			case g.Repository != "":
				key += " of " + cmp.Or(lastPart(termtext.Line(g.Repository)), termtext.Line(g.Repository))
			}
			used := "-"
			if g.Usage != nil {
				used = Tokens(g.Usage.Tokens())
			}
			rows = append(rows, []string{key, fmt.Sprint(g.Traces), duration(g.Took), fmt.Sprint(g.Failures), used, price(g.Usage)})
			if at >= 0 {
				rows[i] = slices.Delete(rows[i], 3, 4)
			}
		}
		head := []string{string(by), "tasks", "time", "failures", "tokens", "cost"}
		if at >= 0 {
			head = slices.Delete(head, 3, 4)
		}
		add(map[store.By]string{store.ByProject: "Projects", ByBranch: "Branches", BySkill: "Skills", BySubagent: "Subagents", store.ByModel: "Models"}[by], head, rows)
	}
	add("The dearest tasks", []string{"title", "task", "project", "began", "took", "calls", "cost"}, r.dearest(st, inCents(all.Usage)))
	var rows [][]string
	failures := r.failures.Groups()
	LargestFirst(ByFailure, failures)
	for _, g := range failures {
		if g.Calls > 1 && len(rows) < reportRows {
			rows = append(rows, []string{g.Key, fmt.Sprint(g.Calls), fmt.Sprint(g.Traces), store.ShortID(g.Last)})
		}
	}
	add("Failures that repeat", []string{"failure", "calls", "tasks", "last task"}, rows)
	add("The most edited files", []string{"file", "edits", "rejected"}, r.edited())
	return out
}

// DrawReport writes a report for a terminal.
func DrawReport(w io.Writer, r Report, o Options) error {
	st, b := newStyle(o), bufio.NewWriter(w)
	_, _ = b.WriteString(st.paint(sgrBold, st.cut(termtext.Line(r.Title), st.room())) + "\n" + st.fitting(slices.Clone(r.Facts)) + "\n")
	for _, section := range r.Tables {
		_, _ = b.WriteString("\n" + st.paint(sgrBold, section.Title) + "\n")
		t := &table{style: st, rows: len(section.Rows)}
		for i, name := range section.Head {
			c := &column{name: strings.ToUpper(name), right: i > 0, order: i, cell: func(row int) (string, string) {
				return termtext.Line(section.Rows[row][i]), ""
			}}
			if c.least = map[int]int{0: minTitle}[i]; strings.HasSuffix(name, "task") {
				c.order = 0 // by it the task is shown
			}
			t.columns = append(t.columns, c)
		}
		t.draw(b)
	}
	return b.Flush()
}

func (r *Reporter) dearest(st *style, cents bool) (rows [][]string) {
	slices.SortStableFunc(r.tasks, func(x, y store.Summary) int { return cmp.Compare(y.Usage.Cost(), x.Usage.Cost()) })
	for i := range r.tasks[:min(len(r.tasks), reportRows)] {
		s := &r.tasks[i]
		if s.Usage.Cost() == 0 {
			break
		}
		text, _ := cost(s.Usage, cents)
		rows = append(rows, []string{
			termtext.Cut(cmp.Or(termtext.Line(s.Title), "-"), 100), store.ShortID(s.TraceID), lastPart(s.Directory),
			s.Started.In(st.Location).Format("2006-01-02 15:04"), duration(s.Duration()), fmt.Sprint(s.Tools), text,
		})
	}
	return rows
}

func (r *Reporter) edited() (rows [][]string) {
	files := slices.SortedFunc(maps.Values(r.files), func(x, y *edited) int {
		return cmp.Or(cmp.Compare(y.edits, x.edits), cmp.Compare(y.refused, x.refused), cmp.Compare(x.path, y.path))
	})
	for _, f := range files[:min(len(files), reportRows)] {
		rows = append(rows, []string{line(f.path), fmt.Sprint(f.edits), fmt.Sprint(f.refused)})
	}
	return rows
}

// PeriodOf names a period of a report.
func PeriodOf(from, until time.Time, zone *time.Location) string {
	day := func(t time.Time) string { return t.In(zone).Format("2 January 2006") }
	switch {
	case from.IsZero():
		return "until " + day(until)
	case day(from) == day(until):
		return day(from)
	}
	return day(from) + " to " + day(until)
}

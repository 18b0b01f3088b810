package ui

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/view"
)

// said is a step of a conversation.
type said struct {
	Row int    `json:"row"`
	ID  string `json:"id"`
	// Who is "user", "agent", "tool", "subagent", "hook" or "note".
	Who    string      `json:"who"`
	Status view.Status `json:"status,omitempty"`
	Label  string      `json:"label,omitempty"`
	Detail string      `json:"detail,omitempty"`
	Depth  int         `json:"depth"`
	TookNS int64       `json:"tookNs,omitempty"`
	Parts  []partOf    `json:"parts"`
}

// maxSaid is how many steps of a conversation one answer has.
const maxSaid = 400

func (s *Server) conversation(r *http.Request) (any, error) {
	l, err := s.loaded(r)
	if err != nil {
		return nil, err
	}
	from, err := number(r.URL.Query(), "from", 0, 0, 1<<30)
	if err != nil {
		return nil, err
	}
	out := struct {
		Steps []said `json:"steps"`
		// Next is the row to continue from, 0 at the end.
		Next int `json:"next"`
	}{Steps: []said{}}
	prompted := slices.ContainsFunc(l.rows, func(row view.Row) bool {
		return row.Kind == view.KindEvent && row.Label == "prompt" && len(row.Parts()) > 0
	})
	if prompt := view.Prompt(l.Trace); from == 0 && prompt != "" && !prompted {
		out.Steps = append(out.Steps, said{ID: l.ids[0], Who: "user", Parts: []partOf{{Name: "text", Prose: true, Text: prompt}}})
	}
	last := ""
	for i := from; i < len(l.rows); i++ {
		if len(out.Steps) >= maxSaid {
			out.Next = i
			return out, nil
		}
		step, ok := l.said(i)
		if !ok {
			continue
		}
		if step.Who == "agent" {
			last = step.Parts[0].Text
		}
		out.Steps = append(out.Steps, step)
	}
	if answer := view.Answer(l.Trace); answer != "" && answer != last {
		out.Steps = append(out.Steps, said{ID: l.ids[0], Who: "agent", Parts: []partOf{{Name: "text", Prose: true, Text: answer}}})
	}
	return out, nil
}

// said returns what a row adds to the conversation.
func (l *loaded) said(i int) (said, bool) {
	row := &l.rows[i]
	step := said{
		Row: i, ID: l.ids[i], Status: row.Status, Label: row.Label, Detail: l.relative(strings.Join(row.Details(), " · ")), Depth: row.Depth,
		TookNS: row.Took().Nanoseconds(), Parts: partsOf(row),
	}
	switch row.Kind {
	case view.KindTool:
		step.Who = "tool"
	case view.KindAgent:
		step.Who = "subagent"
	case view.KindChat:
		step.Who = "agent"
		return step, len(step.Parts) > 0
	case view.KindEvent:
		switch row.Label {
		case "prompt":
			step.Who = "user"
			return step, len(step.Parts) > 0
		case "hook":
			step.Who = "hook"
		case "usage":
			return step, false
		default:
			step.Who = "note"
		}
	default:
		return step, false
	}
	return step, true
}

// change is what one call did to a file.
type change struct {
	Row    int         `json:"row"`
	ID     string      `json:"id"`
	Path   string      `json:"path"`
	Tool   string      `json:"tool"`
	Status view.Status `json:"status"`
	Plus   int         `json:"plus"`
	Minus  int         `json:"minus"`
	// Lines begin with "+", "-", "@" or a space.
	Lines []string `json:"lines"`
	// Cut reports that only the beginning is stored.
	Cut bool `json:"cut,omitempty"`
}

func (s *Server) changes(r *http.Request) (any, error) {
	l, err := s.loaded(r)
	if err != nil {
		return nil, err
	}
	return l.changes(), nil
}

// changes returns what the calls did to files, in order.
func (l *loaded) changes() []change {
	out := []change{}
	for i := range l.rows {
		row := &l.rows[i]
		if row.Kind != view.KindTool {
			continue
		}
		arguments := row.Texts().Arguments
		for _, e := range view.Edits(row.Label, arguments) {
			c := change{Row: i, ID: l.ids[i], Tool: row.Label, Status: row.Status, Path: l.relative(termtext.Line(e.Path)), Cut: strings.HasSuffix(arguments, "…")}
			for _, line := range e.Lines {
				c.Lines = append(c.Lines, termtext.Value(line))
				switch {
				case strings.HasPrefix(line, "+"):
					c.Plus++
				case strings.HasPrefix(line, "-"):
					c.Minus++
				}
			}
			out = append(out, c)
		}
	}
	return out
}

// compared is one of two traces.
type compared struct {
	header
	Tools []toolSum `json:"tools"`
	Files []string  `json:"files"`
}

// toolSum counts the calls of a tool.
type toolSum struct {
	Name     string `json:"name"`
	Calls    int    `json:"calls"`
	Failures int    `json:"failures"`
	TookNS   int64  `json:"tookNs"`
}

// step is a call of a tool in a comparison.
type step struct {
	ID     string      `json:"id"`
	Label  string      `json:"label"`
	Detail string      `json:"detail,omitempty"`
	Status view.Status `json:"status"`
	TookNS int64       `json:"tookNs"`
}

// maxAligned is how many calls of each trace a comparison aligns.
const maxAligned = 1000

func (s *Server) compare(r *http.Request) (any, error) {
	q := r.URL.Query()
	var sides [2]compared
	var calls [2][]step
	for n, name := range []string{"a", "b"} {
		t, err := s.opts.Store.Trace(r.Context(), q.Get(name))
		if q.Get(name) == "" {
			err = wrong("%s: want the id of a trace", name)
		}
		if err != nil {
			return nil, err
		}
		l := load(t)
		sides[n].header = header{Summary: l.Summary, Status: view.OutcomeStatus(l.Outcome), Rows: len(l.rows), Prompt: view.Prompt(t), Problems: l.problems(), Reason: l.reason()}
		sides[n].Tools, calls[n] = l.tools()
		sides[n].Files = []string{}
		for _, c := range l.changes() {
			if c.Status == view.StatusOK && c.Path != "" && !slices.Contains(sides[n].Files, c.Path) {
				sides[n].Files = append(sides[n].Files, c.Path)
			}
		}
	}
	return struct {
		A     compared   `json:"a"`
		B     compared   `json:"b"`
		Steps [][2]*step `json:"steps"`
	}{sides[0], sides[1], align(calls[0], calls[1])}, nil
}

// tools counts the calls by tool, in the order of their first call, and returns them.
func (l *loaded) tools() (sums []toolSum, calls []step) {
	for i := range l.rows {
		row := &l.rows[i]
		if row.Kind != view.KindTool {
			continue
		}
		at := slices.IndexFunc(sums, func(t toolSum) bool { return t.Name == row.Label })
		if at < 0 {
			at, sums = len(sums), append(sums, toolSum{Name: row.Label})
		}
		sums[at].Calls++
		sums[at].TookNS += row.Took().Nanoseconds()
		if isProblem(row.Status) {
			sums[at].Failures++
		}
		if len(calls) < maxAligned {
			calls = append(calls, step{l.ids[i], row.Label, l.relative(strings.Join(row.Details(), " · ")), row.Status, row.Took().Nanoseconds()})
		}
	}
	return sums, calls
}

// align pairs the calls of two traces: the longest common subsequence of tools, a
// call with the same arguments before another.
func align(a, b []step) (out [][2]*step) {
	out = [][2]*step{}
	best := make([][]int, len(a)+1)
	for i := range best {
		best[i] = make([]int, len(b)+1)
	}
	score := func(x, y *step) int {
		switch {
		case x.Label != y.Label:
			return 0
		case x.Detail == y.Detail:
			return 3
		}
		return 2
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if n := score(&a[i], &b[j]); n > 0 {
				best[i][j] = max(best[i][j], n+best[i+1][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && score(&a[i], &b[j]) > 0 && best[i][j] == score(&a[i], &b[j])+best[i+1][j+1]:
			out = append(out, [2]*step{&a[i], &b[j]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || best[i+1][j] >= best[i][j+1]):
			out = append(out, [2]*step{&a[i], nil})
			i++
		default:
			out = append(out, [2]*step{nil, &b[j]})
			j++
		}
	}
	return out
}

// point is the context's size at a request to the model, or a compaction.
type point struct {
	At      int64   `json:"at"` // milliseconds since 1970
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"costUsd"`
	Trace   string  `json:"traceId"`
	Compact bool    `json:"compact,omitempty"`
}

// maxTurns is how many turns of a session the page shows, maxTurnSpans the size above
// which a turn is not read.
const (
	maxTurns     = 500
	maxTurnSpans = 5000
)

func (s *Server) session(r *http.Request) (any, error) {
	id := r.PathValue("id")
	traces, err := s.opts.Store.List(r.Context(), store.Filter{Session: id, Limit: maxTurns})
	if err != nil {
		return nil, err
	}
	traces = slices.DeleteFunc(traces, func(t store.Summary) bool { return t.Session != id })
	if len(traces) == 0 {
		return nil, store.ErrNotFound
	}
	totals, err := s.opts.Store.Totals(r.Context(), store.Filter{Session: id})
	if err != nil {
		return nil, err
	}
	slices.Reverse(traces)
	points := []point{}
	for _, t := range traces {
		if t.Spans > maxTurnSpans {
			continue
		}
		whole, err := s.opts.Store.Trace(r.Context(), t.TraceID)
		if err != nil {
			return nil, err
		}
		for _, row := range view.Rows(whole) {
			p := point{At: row.Start.UnixMilli(), Trace: t.TraceID, Compact: row.Kind == view.KindEvent && row.Label == "compaction"}
			// A subagent has a separate context.
			if u := store.UsageOf(row.Attributes()); row.Kind == view.KindChat && u != nil && row.Depth <= 1 {
				if p.Tokens = u.Input; u.CostUSD != nil {
					p.CostUSD = *u.CostUSD
				}
			} else if !p.Compact {
				continue
			}
			points = append(points, p)
		}
	}
	return struct {
		Traces []listed     `json:"traces"`
		Totals store.Totals `json:"totals"`
		Points []point      `json:"points"`
	}{s.listed(r.Context(), traces), totals, points}, nil
}

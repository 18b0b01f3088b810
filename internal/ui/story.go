package ui

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

// said is a step of a conversation.
type said struct {
	Row int    `json:"row"`
	ID  string `json:"id"`
	// Who is never view.WhoRequests, view.WhoFailure or view.WhoOther.
	Who    view.Who    `json:"who"`
	Status otelmap.End `json:"status,omitempty"`
	Bad    bool        `json:"bad,omitempty"`
	Label  string      `json:"label,omitempty"`
	Detail string      `json:"detail,omitempty"`
	Depth  int         `json:"depth"`
	TookNS int64       `json:"tookNs,omitempty"`
	Parts  []part      `json:"parts"`
}

// maxSaid is how many steps of a conversation a page of an answer has.
const maxSaid = 400

// part returns the trace of a request, from which row on the answer is, and how many pages
// of it.
func (s *Server) part(r *http.Request) (l *loaded, from, pages int, err error) {
	if l, err = s.loaded(r); err != nil {
		return nil, 0, 0, err
	}
	if from, err = number(r.URL.Query(), "from", 0, 0, 1<<30); err == nil {
		pages, err = number(r.URL.Query(), "pages", 1, 1, 10_000)
	}
	return l, from, pages, err
}

func (s *Server) conversation(r *http.Request) (any, error) {
	l, from, pages, err := s.part(r)
	if err != nil {
		return nil, err
	}
	out := struct {
		Steps []said `json:"steps"`
		// Next is the row to continue from, 0 at the end.
		Next int `json:"next"`
	}{Steps: []said{}}
	for step := range l.story(r.Context(), &err).Steps(from) {
		if step.Row != nil && len(out.Steps) >= pages*maxSaid {
			out.Next = step.At
			break
		}
		if one, ok := l.said(&step); ok {
			out.Steps = append(out.Steps, one)
		}
	}
	return out, err
}

// said returns a step as the page shows it.
func (l *loaded) said(s *view.Step) (said, bool) {
	out := said{Row: s.At, ID: l.id(s.At), Who: s.Who, Parts: l.parsed.parts(s.Parts)}
	if r := s.Row; r != nil {
		out.Status, out.Bad, out.Label, out.Detail, out.Depth, out.TookNS = r.Status, r.Status.Bad(), r.Label, l.relative(r.Detail()), r.Depth, r.Took().Nanoseconds()
	}
	return out, !slices.Contains([]view.Who{view.WhoRequests, view.WhoFailure, view.WhoOther}, s.Who)
}

// change is what one call did to a file.
type change struct {
	Row    int         `json:"row"`
	ID     string      `json:"id"`
	Path   string      `json:"path"`
	Tool   string      `json:"tool"`
	Status otelmap.End `json:"status"`
	// Done reports that the change counts.
	Done  bool `json:"done,omitempty"`
	Plus  int  `json:"plus"`
	Minus int  `json:"minus"`
	// Lines begin with "+", "-", "@" or a space.
	Lines []string `json:"lines"`
	// Cut reports that only the beginning is stored.
	Cut bool `json:"cut,omitempty"`
}

// maxChanges is how many changes a page of an answer has.
const maxChanges = 500

func (s *Server) changes(r *http.Request) (any, error) {
	l, from, pages, err := s.part(r)
	if err != nil {
		return nil, err
	}
	out := struct {
		Changes []change `json:"changes"`
		// Next is the row to continue from, 0 at the end.
		Next int `json:"next"`
	}{Changes: []change{}}
	var calls []*editing
	n := 0
	err = l.eachChange(r.Context(), from, func(c *editing) bool {
		if n += len(c.changes); n > pages*maxChanges && len(calls) > 0 {
			out.Next = c.at
			return false
		}
		calls = append(calls, c)
		return true
	})
	if err == nil {
		err = s.complete(r.Context(), l, calls)
	}
	for _, c := range calls {
		out.Changes = append(out.Changes, c.changes...)
	}
	return out, err
}

// editing is a call with its changes.
type editing struct {
	at      int
	row     *view.Row
	changes []change
}

// complete reads the changes of calls of which the store has only the beginning from the
// whole texts, where these can be found.
func (s *Server) complete(ctx context.Context, l *loaded, calls []*editing) error {
	var cut []*editing
	var rows []*view.Row
	places := l.runs()
	for _, c := range calls {
		if len(c.changes) > 0 && c.changes[0].Cut {
			cut, rows, places = append(cut, c), append(rows, c.row), append(places, c.at)
		}
	}
	if len(cut) == 0 || s.opts.Whole == nil {
		return nil
	}
	t, err := l.trace(ctx, places...)
	if err != nil {
		return err
	}
	texts, err := s.opts.Whole(ctx, t, rows...)
	for i, c := range cut {
		if err == nil && texts[i].Place != view.PlacePreview && texts[i].Arguments != "" {
			c.changes = l.changesOf(c.at, c.row, view.NewArguments(c.row.Label, texts[i].Arguments))
		}
	}
	return err
}

// eachChange calls f with what each call from a row on did to files, until it returns
// false.
func (l *loaded) eachChange(ctx context.Context, from int, f func(*editing) bool) error {
	places, err := l.choose(ctx, view.MayEdit)
	if err != nil {
		return err
	}
	edits := make([]bool, l.Len())
	for _, p := range places {
		edits[p] = true
	}
	chosen := func(row *view.Row) bool { return row.Kind == view.KindTool && edits[row.Place()] }
	return l.eachFull(ctx, from, chosen, func(i int, row *view.Row) bool {
		return f(&editing{i, row, l.changesOf(i, row, row.Arguments())})
	})
}

func (l *loaded) changesOf(i int, row *view.Row, given *view.Arguments) (some []change) {
	for _, e := range given.Edits() {
		c := change{Row: i, ID: l.id(i), Tool: row.Label, Status: row.Status, Done: row.Status.Done(), Path: l.relative(termtext.Line(e.Path)), Cut: given.Cut()}
		for _, line := range e.Lines {
			c.Lines = append(c.Lines, termtext.Value(line))
			switch {
			case strings.HasPrefix(line, "+"):
				c.Plus++
			case strings.HasPrefix(line, "-"):
				c.Minus++
			}
		}
		some = append(some, c)
	}
	return some
}

// compared is one of two traces.
type compared struct {
	header
	Files []string `json:"files"`
}

// toolCall is a call of a tool in a comparison.
type toolCall struct {
	ID     string      `json:"id"`
	Label  string      `json:"label"`
	Detail string      `json:"detail,omitempty"`
	Status otelmap.End `json:"status"`
	TookNS int64       `json:"tookNs"`
}

// maxAligned is how many calls of each trace a comparison aligns.
const maxAligned = 1000

func (s *Server) compare(r *http.Request) (any, error) {
	q := r.URL.Query()
	var sides [2]compared
	var calls [2][]toolCall
	for n, name := range []string{"a", "b"} {
		if q.Get(name) == "" {
			return nil, wrong("%s: want the id of a trace", name)
		}
		l, err := s.load(r.Context(), q.Get(name))
		if err != nil {
			return nil, err
		}
		side := &sides[n]
		if side.header, err = l.header(r.Context()); err != nil {
			return nil, err
		}
		if calls[n], err = l.tools(r.Context()); err != nil {
			return nil, err
		}
		side.Files = []string{}
		seen := make(map[string]bool)
		err = l.eachChange(r.Context(), 0, func(e *editing) bool {
			for _, c := range e.changes {
				if c.Done && c.Path != "" && !seen[c.Path] {
					seen[c.Path], side.Files = true, append(side.Files, c.Path)
				}
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return struct {
		A     compared       `json:"a"`
		B     compared       `json:"b"`
		Steps [][2]*toolCall `json:"steps"`
	}{sides[0], sides[1], align(calls[0], calls[1])}, nil
}

// tools returns the first calls.
func (l *loaded) tools(ctx context.Context) (calls []toolCall, err error) {
	isCall := func(row *view.Row) bool { return row.Kind == view.KindTool }
	err = l.eachFull(ctx, 0, isCall, func(i int, row *view.Row) bool {
		calls = append(calls, toolCall{l.id(i), row.Label, l.relative(row.Detail()), row.Status, row.Took().Nanoseconds()})
		return len(calls) < maxAligned
	})
	return calls, err
}

// align pairs the calls of two traces: the longest common subsequence of tools, a
// call with the same arguments before another.
func align(a, b []toolCall) (out [][2]*toolCall) {
	out = [][2]*toolCall{}
	best := make([][]int, len(a)+1)
	for i := range best {
		best[i] = make([]int, len(b)+1)
	}
	score := func(x, y *toolCall) int {
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
			out = append(out, [2]*toolCall{&a[i], &b[j]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || best[i+1][j] >= best[i][j+1]):
			out = append(out, [2]*toolCall{&a[i], nil})
			i++
		default:
			out = append(out, [2]*toolCall{nil, &b[j]})
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
	Row     string  `json:"spanId"`
	Compact bool    `json:"compact,omitempty"`
}

// maxTurns is how many turns of a session the page shows, maxTurnSpans the size above
// which a turn is not read.
const (
	maxTurns     = 500
	maxTurnSpans = 100_000
)

// turns are the tasks of a session, the oldest first.
type turns struct {
	Traces []listed     `json:"traces"`
	Totals store.Totals `json:"totals"`
	Points []point      `json:"points"`
	Resume string       `json:"resume,omitempty"`
}

func (s *Server) session(r *http.Request) (any, error) {
	f := store.Filter{Session: r.PathValue("id"), Whole: true, Host: r.URL.Query().Get("agent"), Limit: 1}
	running := s.running(r.Context())
	newest, err := s.opts.Store.Page(r.Context(), f, running...)
	if err != nil {
		return nil, err
	}
	for _, t := range slices.Concat(newest.Running, newest.Traces) { // Two agents may have sessions of one id: the newest counts.
		f.Host = cmp.Or(f.Host, t.Host)
	}
	f.Limit = maxTurns
	out, err := keep(s, "session "+f.Host+" "+f.Session, 0, func() (turns, error) { return s.turnsOf(r.Context(), f) })
	if err != nil {
		return nil, err
	}
	out.Traces, out.Points = slices.Clip(out.Traces), slices.Clip(out.Points)
	for _, t := range slices.Backward(running) {
		if t.Host != f.Host || !slices.ContainsFunc(newest.Running, func(have store.Summary) bool { return have.TraceID == t.TraceID }) {
			continue
		}
		out.Traces = append(out.Traces, s.listed(r.Context(), []store.Summary{t.Summary})...)
		out.Points = append(out.Points, s.loadRunning(t).points()...)
		out.Totals.Add(&t.Summary)
	}
	if len(out.Traces) == 0 {
		return nil, store.ErrNotFound
	}
	out.Resume = s.opts.Resume(r.Context(), &out.Traces[0].Summary)
	return out, nil
}

// turnsOf has the tasks of a session that are stored.
func (s *Server) turnsOf(ctx context.Context, f store.Filter) (turns, error) {
	page, err := s.opts.Store.Page(ctx, f)
	if err != nil {
		return turns{}, err
	}
	slices.Reverse(page.Traces)
	out := turns{Totals: page.Totals, Points: []point{}}
	for _, t := range page.Traces {
		if t.Spans > maxTurnSpans {
			continue
		}
		l, err := s.load(ctx, t.TraceID)
		if err != nil {
			return out, err
		}
		out.Points = append(out.Points, l.points()...)
	}
	out.Traces = s.listed(ctx, page.Traces)
	return out, nil
}

// points have the cost of all rows since the one before, such as a subagent's: they sum up to
// what the task cost.
func (l *loaded) points() (points []point) {
	costs, rest := l.costs(), 0.0
	for i := range l.Len() {
		row := l.Row(i)
		rest += costs[i]
		p := point{At: row.Start.UnixMilli(), Trace: l.TraceID, Row: l.id(i), Compact: row.Event == otelmap.EventCompaction}
		// A subagent has a separate context.
		if u := row.Usage(); u != nil && row.Kind == view.KindChat && row.Depth <= 1 {
			p.Tokens, p.CostUSD, rest = u.Input, rest, 0
		} else if !p.Compact {
			continue
		}
		points = append(points, p)
	}
	if len(points) > 0 {
		points[len(points)-1].CostUSD += rest
	}
	return points
}

package ui

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// problem is a row that failed, in short.
type problem struct {
	Row     int         `json:"row"`
	ID      string      `json:"id"`
	Label   string      `json:"label"`
	Detail  string      `json:"detail,omitempty"`
	Kind    string      `json:"kind,omitempty"`
	Message string      `json:"message,omitempty"`
	Status  otelmap.End `json:"status"`
	// By is who denied it.
	By string `json:"by,omitempty"`
}

// maxProblems is how many problems an answer has.
const maxProblems = 1000

// problems returns what failed, was denied or never finished, below the runs. Of a call
// and the hook that denied it there is one.
func (l *loaded) problems(ctx context.Context) ([]problem, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.found != nil {
		return l.found, nil
	}
	rows := []int{}
	for i := range l.Len() {
		r := l.Row(i)
		if !r.Status.Bad() || r.Kind == view.KindRun || r.Kind == view.KindNoRoot {
			continue
		}
		if l.nth[i] > 0 {
			if above := l.Row(l.Above(i)); above.Status.Bad() {
				continue
			}
		}
		if rows = append(rows, i); len(rows) == maxProblems {
			break
		}
	}
	full, err := l.full(ctx, rows...)
	if err != nil {
		return nil, err
	}
	out := make([]problem, len(rows))
	for n, i := range rows {
		out[n] = l.problem(i, full[n])
	}
	l.found = out
	return out, nil
}

// problem describes a row that failed. r has its texts.
func (l *loaded) problem(i int, r *view.Row) problem {
	kind, message := r.Problem()
	if r.Kind == view.KindEvent {
		message = r.HookReason()
	}
	out := problem{
		Row: i, ID: l.id(i), Label: r.Label, Detail: termtext.Cut(l.relative(r.Detail()), 200),
		Kind: termtext.Line(kind), Message: termtext.Cut(view.FailureLine(message), 400), Status: r.Status,
	}
	if r.Status == otelmap.EndDenied && r.Kind == view.KindTool {
		var why string
		out.By, why = view.DeniedBy(r.Span())
		out.Message = termtext.Cut(strings.TrimSuffix("denied by "+out.By+": "+why, ": "), 400)
	}
	return out
}

// header is what the page shows above a trace.
type header struct {
	Summary store.Summary `json:"summary"`
	Status  otelmap.End   `json:"status"`
	Rows    int           `json:"rows"`
	// Version changes whenever any other part of the trace may have changed.
	Version  int64     `json:"version"`
	Prompt   string    `json:"prompt,omitempty"`
	Answer   string    `json:"answer,omitempty"`
	Doc      []any     `json:"doc,omitempty"` // The answer as Markdown.
	Problems []problem `json:"problems"`
	// Reason is why a run failed.
	Reason string `json:"reason,omitempty"`
	// Before and After are the neighbours in the session.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Resume is the agent's command that continues the session.
	Resume string `json:"resume,omitempty"`
	// Task is the place in the session, from 1, Tasks how many there are.
	Task  int `json:"task,omitempty"`
	Tasks int `json:"tasks,omitempty"`
	exactNames
}

func (s *Server) trace(r *http.Request, l *loaded) (any, error) {
	h, err := l.header(r.Context())
	if err != nil {
		return nil, err
	}
	h.Resume = s.opts.Resume(r.Context(), &l.Summary)
	if l.Session != "" {
		turns, err := s.turns(r.Context(), l.Session, l.Host)
		if err != nil {
			return nil, err
		}
		for i, t := range turns { // The newest first.
			if t.TraceID != l.TraceID {
				continue
			}
			h.Task, h.Tasks = len(turns)-i, len(turns)
			if i > 0 {
				h.After = turns[i-1].TraceID
			}
			if i+1 < len(turns) {
				h.Before = turns[i+1].TraceID
			}
		}
	}
	return h, nil
}

// turns are the traces of a session of an agent, the newest first.
func (s *Server) turns(ctx context.Context, session, host string) ([]store.Summary, error) {
	return keep(s, "turns "+host+" "+session, 0, func() ([]store.Summary, error) {
		return s.opts.Store.List(ctx, store.Filter{Session: session, Whole: true, Host: host, Limit: -1})
	})
}

func (l *loaded) header(ctx context.Context) (header, error) {
	h := header{Summary: l.Summary, Status: otelmap.OutcomeEnd(l.Outcome), Rows: l.Len(), Version: l.version, exactNames: namesOf(&l.Summary)}
	t, err := l.trace(ctx, l.runs()...)
	if err != nil {
		return h, err
	}
	h.Prompt, h.Answer = view.Prompt(t), view.Answer(t)
	h.Doc = l.parsed.of(h.Answer)
	if h.Problems, err = l.problems(ctx); err != nil {
		return h, err
	}
	h.Reason, err = l.reason(ctx)
	return h, err
}

// reason is why the run ended: its own message, else the problem after which nothing more
// was done.
func (l *loaded) reason(ctx context.Context) (reason string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != nil {
		return *l.why, nil
	}
	bad := func(r *view.Row) bool { return r.Kind == view.KindRun && r.Status.Bad() }
	err = l.eachFull(ctx, 0, bad, func(_ int, r *view.Row) bool {
		_, message := r.Problem()
		reason = termtext.Cut(termtext.Line(message), 400)
		return reason == ""
	})
	if i := l.lastProblem(); err == nil && reason == "" && i >= 0 {
		var rows []*view.Row
		if rows, err = l.full(ctx, i); err == nil {
			p := l.problem(i, rows[0])
			what := strings.TrimSpace(p.Label + " " + p.Detail)
			if reason = what + ": " + cmp.Or(p.Message, p.Kind, p.Status.String()); p.By != "" {
				reason = what + " was " + p.Message
			}
		}
	}
	if err == nil {
		l.why = &reason
	}
	return reason, err
}

// lastProblem is the row of the problem after which no call and no request began, -1 if
// there is none.
func (l *loaded) lastProblem() int {
	last, began := -1, time.Time{}
	for i := range l.Len() {
		r := l.Row(i)
		if r.Kind != view.KindTool && r.Kind != view.KindChat {
			continue
		}
		if r.Start.After(began) {
			began = r.Start
		}
		if r.Status.Bad() && (last < 0 || !r.End.Before(l.Row(last).End)) {
			last = i
		}
	}
	if last >= 0 && began.After(l.Row(last).End) && !l.Row(last).End.IsZero() {
		return -1
	}
	return last
}

// columns are the rows of a trace, one list for each property. The lists of numbers are
// little-endian in base64: a browser reads those of 100,000 rows in some 10 ms. Times
// are Unit microseconds from the trace's start.
type columns struct {
	Version int64         `json:"version"`
	Labels  []string      `json:"labels"`
	Kinds   []view.Kind   `json:"kinds"`
	States  []otelmap.End `json:"statuses"`
	// Bad says which of the statuses are.
	Bad  []bool `json:"bad"`
	Unit int64  `json:"unit"`
	// ID has the 8 bytes of each span's id; an event has those of its span.
	ID     []byte `json:"id"`
	Depth  []byte `json:"depth"` // 16 bits each
	Label  []byte `json:"label"` // 32 bits
	Kind   []byte `json:"kind"`  // 8 bits
	Status []byte `json:"status"`
	At     []byte `json:"at"` // 32 bits
	// Took has 32 bits each, all of them set where the end is unknown.
	Took []byte `json:"took"`
	// Cost has what each row adds to the cost of those above it, in dollars.
	Cost map[int]float64 `json:"cost"`
	// Waits are the times at which a call waited for approval, by row.
	Waits map[int][2]int64 `json:"waits"`
}

const unknownEnd = math.MaxUint32

func (s *Server) rows(r *http.Request, l *loaded) (any, error) {
	n := l.Len()
	c := &columns{
		Version: l.version, Labels: []string{}, Kinds: []view.Kind{view.KindRun, view.KindAgent, view.KindTool, view.KindChat, view.KindSpan, view.KindEvent, view.KindNoRoot},
		States: otelmap.Ends[:],
		ID:     make([]byte, 0, 8*n), Depth: make([]byte, 0, 2*n), Label: make([]byte, 0, 4*n), Kind: make([]byte, 0, n), Status: make([]byte, 0, n), At: make([]byte, 0, 4*n), Took: make([]byte, 0, 4*n),
		Cost: l.costs(), Waits: make(map[int][2]int64),
	}
	for _, end := range c.States {
		c.Bad = append(c.Bad, end.Bad())
	}
	last := l.Ended
	for i := range n {
		row := l.Row(i)
		for _, t := range []time.Time{row.Start, row.End} {
			if t.After(last) {
				last = t
			}
		}
	}
	c.Unit = 1 + max(0, last.Sub(l.Started).Microseconds())/(unknownEnd-1)
	labels, kinds := make(map[string]int), make(map[view.Kind]int)
	for i, k := range c.Kinds {
		kinds[k] = i
	}
	at := func(t time.Time) int64 {
		if t.IsZero() {
			return 0
		}
		return max(0, t.Sub(l.Started).Microseconds()) / c.Unit
	}
	for i := range n {
		row := l.Row(i)
		label, ok := labels[row.Label]
		if !ok {
			label = len(c.Labels)
			labels[row.Label], c.Labels = label, append(c.Labels, row.Label)
		}
		took := int64(unknownEnd)
		if !row.End.IsZero() {
			took = min(row.Took().Microseconds()/c.Unit, unknownEnd-1)
		}
		of := i
		if l.nth[i] > 0 {
			of = l.Above(i)
		}
		var id [8]byte
		above := l.Row(of)
		_, _ = hex.Decode(id[:], []byte(above.SpanID()))
		c.ID = append(c.ID, id[:]...)
		c.Depth = binary.LittleEndian.AppendUint16(c.Depth, uint16(min(row.Depth, math.MaxUint16)))  //nolint:gosec // It fits.
		c.Label = binary.LittleEndian.AppendUint32(c.Label, uint32(label))                           //nolint:gosec // A trace has fewer rows.
		c.Kind, c.Status = append(c.Kind, byte(kinds[row.Kind])), append(c.Status, byte(row.Status)) //nolint:gosec // Both have few values.
		c.At = binary.LittleEndian.AppendUint32(c.At, uint32(at(row.Start)))                         //nolint:gosec // by Unit
		c.Took = binary.LittleEndian.AppendUint32(c.Took, uint32(took))
		if row.Event == otelmap.EventPermission {
			if call := l.Row(l.Above(i)); call.Kind == view.KindTool {
				from, to := waited(&call, &row)
				c.Waits[l.Above(i)] = [2]int64{at(from), at(to)}
			}
		}
	}
	return c, nil
}

// costs returns what each row adds to the cost of those above it: a request's own cost,
// and what a run or a subagent reports beyond the rows below it. The rows of a run sum up
// to what the run reports.
func (l *loaded) costs() map[int]float64 {
	const least = 1e-9 // dollars; less is rounding
	own, below := make(map[int]float64), make([]float64, l.Len())
	for i := l.Len() - 1; i >= 0; i-- {
		row := l.Row(i)
		if u := row.Usage(); u != nil && u.CostUSD != nil {
			more := *u.CostUSD
			if row.Kind == view.KindRun || row.Kind == view.KindAgent {
				more -= below[i]
			}
			if math.Abs(more) >= least && (more > 0 || row.Kind == view.KindRun) {
				own[i] = more
			}
		}
		below[i] += own[i]
		if above := l.Above(i); above >= 0 {
			below[above] += below[i]
		}
	}
	return own
}

// waited returns from when to when a call waited for approval.
func waited(call, question *view.Row) (from, to time.Time) {
	if !question.End.IsZero() {
		return question.Start, question.End
	}
	ran, _ := call.Ran()
	w := step.Waited(question.Start, call.Start.Add(call.Took()), ran)
	return w.From, w.To
}

// lineOf is what a row shows beside its label.
type lineOf struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// Note is the problem.
	Note string `json:"note,omitempty"`
}

// maxLines is how many lines one request returns.
const maxLines = 200

func (s *Server) lines(r *http.Request, l *loaded) (any, error) {
	from, err := number(r.URL.Query(), "from", 0, 0, 1<<30)
	if err != nil {
		return nil, err
	}
	var rows []int
	for i := from; i < min(l.Len(), from+maxLines); i++ {
		rows = append(rows, i)
	}
	full, err := l.full(r.Context(), rows...)
	out := make([]lineOf, len(rows))
	for n, row := range full {
		out[n] = lineOf{ID: l.id(rows[n]), Text: termtext.Cut(l.relative(row.Said()), 200)}
		if row.Status.Bad() {
			p := l.problem(rows[n], row)
			out[n].Note = termtext.Cut(cmp.Or(p.Message, p.Kind), 200)
		}
	}
	return out, err
}

// relative shortens paths in the task's folder.
func (l *loaded) relative(text string) string { return view.Relative(text, l.Directory) }

// rowOf is all that is known of a row.
type rowOf struct {
	Row int    `json:"row"`
	ID  string `json:"id"`
	view.Card
	Parts   []part   `json:"parts"`
	Problem *problem `json:"problem,omitempty"`
	// Source is where the texts are from, if they are whole.
	Source string `json:"source,omitempty"`
}

func (s *Server) row(r *http.Request, l *loaded) (any, error) {
	i := l.find(r.PathValue("row"))
	if n, err := strconv.Atoi(r.PathValue("row")); i < 0 && err == nil {
		i = n
	}
	if i < 0 || i >= l.Len() {
		return nil, wrong("row %q: want the id of a span of this trace, for an event with a dot and its number, or a number from 0 to %d", r.PathValue("row"), l.Len()-1)
	}
	full, err := l.full(r.Context(), i)
	if err != nil {
		return nil, err
	}
	row := full[0]
	out := rowOf{Row: i, ID: l.id(i), Card: row.Card()}
	out.Parts = l.parsed.parts(out.Card.Parts)
	if row.Status.Bad() {
		p := l.problem(i, row)
		out.Problem = &p
	}
	if row.Kind == view.KindTool && r.URL.Query().Has("whole") && s.opts.Whole != nil {
		t, err := l.trace(r.Context(), append(l.runs(), i)...)
		if err != nil {
			return nil, err
		}
		texts, err := s.opts.Whole(r.Context(), t, row)
		if err != nil {
			return nil, err
		}
		out.Source, out.Parts = texts[0].Source, l.parsed.parts(row.Whole(texts[0]))
	}
	return out, nil
}

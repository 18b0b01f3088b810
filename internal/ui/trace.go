package ui

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/view"
	"github.com/hookspan/hookspan/otelmap"
)

// loaded is a trace with its rows.
type loaded struct {
	*store.Trace
	rows []view.Row
	// ids name the rows: the span's id, and for an event that of its span, a dot and
	// its number.
	ids   []string
	index map[string]int
}

func load(t *store.Trace) *loaded {
	l := &loaded{Trace: t, rows: view.Rows(t)}
	l.ids, l.index = make([]string, len(l.rows)), make(map[string]int, len(l.rows))
	events := make(map[string]int)
	var above []string // the ids of the rows above, by depth
	for i := range l.rows {
		r := &l.rows[i]
		id := r.SpanID()
		if r.Kind == view.KindEvent && r.Depth > 0 {
			parent := above[r.Depth-1]
			events[parent]++
			id = parent + "." + strconv.Itoa(events[parent])
		}
		above = append(above[:r.Depth], id)
		l.ids[i], l.index[id] = id, i
	}
	return l
}

// runningCache keeps the tasks that run now until there are new events.
type runningCache struct {
	mu     sync.Mutex
	stamp  string
	traces []*store.Trace
}

// running returns the traces of the tasks that run now and are not stored, the newest
// first.
func (s *Server) running(ctx context.Context) []*store.Trace {
	c := &s.live
	c.mu.Lock()
	defer c.mu.Unlock()
	stamp := s.stamp()
	if s.opts.Running == nil || stamp == c.stamp {
		return c.traces
	}
	traces, err := s.opts.Running(ctx)
	if err == nil {
		c.stamp = stamp
	}
	// A task that has ended meanwhile is in the store, too.
	c.traces = slices.DeleteFunc(traces, func(t *store.Trace) bool {
		n, err := s.opts.Store.Count(ctx, store.Filter{Trace: t.TraceID})
		return err == nil && n > 0
	})
	return c.traces
}

// traceCache keeps the trace that was asked for last: a page asks several times.
type traceCache struct {
	mu    sync.Mutex
	last  *loaded
	timer *time.Timer
}

// traceTime is how long a trace is kept after the last request for it.
const traceTime = 30 * time.Second

func (c *traceCache) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = nil
}

// get returns the trace with an id.
func (c *traceCache) get(ctx context.Context, srv *Server, id string) (*loaded, error) {
	s := srv.opts.Store
	c.mu.Lock()
	defer c.mu.Unlock()
	if id == "" {
		return nil, store.ErrNotFound
	}
	if c.last != nil && c.last.TraceID == id {
		// A span that is stored again changes neither the end nor the number of spans,
		// but only a run that has ended is stored.
		now, err := s.List(ctx, store.Filter{Trace: id, Limit: 1})
		if err == nil && len(now) == 1 && now[0].Spans == c.last.Spans && now[0].Ended.Equal(c.last.Ended) && now[0].Outcome == c.last.Outcome {
			c.timer.Reset(traceTime)
			return c.last, nil
		}
	}
	t, err := s.Trace(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		for _, r := range srv.running(ctx) {
			if r.TraceID == id {
				return load(r), nil
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.last, c.timer = load(t), time.AfterFunc(traceTime, c.drop)
	return c.last, nil
}

func (s *Server) loaded(r *http.Request) (*loaded, error) {
	return s.traces.get(r.Context(), s, r.PathValue("id"))
}

// problem is a row that failed, in short.
type problem struct {
	Row     int         `json:"row"`
	ID      string      `json:"id"`
	Label   string      `json:"label"`
	Detail  string      `json:"detail,omitempty"`
	Kind    string      `json:"kind,omitempty"`
	Message string      `json:"message,omitempty"`
	Status  view.Status `json:"status"`
}

// maxProblems is how many problems an answer has.
const maxProblems = 1000

// problems returns what failed, was denied or never finished, below the runs. Of a call
// and the hook that denied it there is one.
func (l *loaded) problems() (out []problem) {
	var above []view.Status
	for i := range l.rows {
		r := &l.rows[i]
		above = append(above[:r.Depth], r.Status)
		if !isProblem(r.Status) || r.Kind == view.KindRun || r.Kind == view.KindNoRoot {
			continue
		}
		if r.Kind == view.KindEvent && r.Depth > 0 && isProblem(above[r.Depth-1]) {
			continue
		}
		if len(out) == maxProblems {
			break
		}
		out = append(out, l.problem(i))
	}
	return out
}

func (l *loaded) problem(i int) problem {
	r := &l.rows[i]
	kind, message := r.Problem()
	if r.Kind == view.KindEvent {
		message = otlp.Text(r.Attributes(), otelmap.KeyHookReason)
	}
	return problem{
		Row: i, ID: l.ids[i], Label: r.Label, Detail: termtext.Cut(l.relative(strings.Join(r.Details(), " · ")), 200),
		Kind: termtext.Line(kind), Message: termtext.Cut(termtext.Line(message), 400), Status: r.Status,
	}
}

func isProblem(s view.Status) bool {
	return s == view.StatusFailed || s == view.StatusDenied || s == view.StatusUnfinished
}

// header is what the page shows above a trace.
type header struct {
	Summary  store.Summary `json:"summary"`
	Status   view.Status   `json:"status"`
	Rows     int           `json:"rows"`
	Prompt   string        `json:"prompt,omitempty"`
	Answer   string        `json:"answer,omitempty"`
	Problems []problem     `json:"problems"`
	// Reason is why a run failed.
	Reason string `json:"reason,omitempty"`
	// Before and After are the neighbours in the session.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Turn is the place in the session, from 1, Turns how many there are.
	Turn  int `json:"turn,omitempty"`
	Turns int `json:"turns,omitempty"`
}

func (s *Server) trace(r *http.Request) (any, error) {
	l, err := s.loaded(r)
	if err != nil {
		return nil, err
	}
	h := header{
		Summary: l.Summary, Status: view.OutcomeStatus(l.Outcome), Rows: len(l.rows), Prompt: view.Prompt(l.Trace),
		Answer: view.Answer(l.Trace), Problems: l.problems(), Reason: l.reason(),
	}
	if l.Session != "" {
		turns, err := s.opts.Store.List(r.Context(), store.Filter{Session: l.Session, Limit: 1000})
		if err != nil {
			return nil, err
		}
		for i, t := range turns { // The newest first.
			if t.TraceID != l.TraceID {
				continue
			}
			h.Turn, h.Turns = len(turns)-i, len(turns)
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

// reason is why the run failed: its own message, else the first problem's.
func (l *loaded) reason() string {
	for i := range l.rows {
		if r := &l.rows[i]; r.Kind == view.KindRun && isProblem(r.Status) {
			if _, message := r.Problem(); message != "" {
				return termtext.Cut(termtext.Line(message), 400)
			}
		}
	}
	for i := range l.rows {
		if r := &l.rows[i]; r.Status == view.StatusFailed && r.Kind != view.KindRun {
			p := l.problem(i)
			return cmp.Or(p.Message, p.Kind, p.Label)
		}
	}
	return ""
}

// columns are the rows of a trace, one list for each property, so that a hundred
// thousand of them stay small. Times are microseconds from the trace's start.
type columns struct {
	Labels []string      `json:"labels"`
	Kinds  []view.Kind   `json:"kinds"`
	States []view.Status `json:"statuses"`
	Depth  []int         `json:"depth"`
	Label  []int         `json:"label"`
	Kind   []int         `json:"kind"`
	Status []int         `json:"status"`
	At     []int64       `json:"at"`
	// Took is -1 where the end is unknown.
	Took []int64 `json:"took"`
	// Cost has the requests' cost in millionths of a dollar by row.
	Cost map[int]int64 `json:"cost"`
	// Waits are the times at which a call waited for approval, by row.
	Waits map[int][2]int64 `json:"waits"`
}

func (s *Server) rows(r *http.Request) (any, error) {
	l, err := s.loaded(r)
	if err != nil {
		return nil, err
	}
	n := len(l.rows)
	c := &columns{
		Labels: []string{}, Kinds: []view.Kind{view.KindRun, view.KindAgent, view.KindTool, view.KindChat, view.KindSpan, view.KindEvent, view.KindNoRoot},
		States: []view.Status{view.StatusNone, view.StatusOK, view.StatusFailed, view.StatusDenied, view.StatusUnfinished, view.StatusUnknown, view.StatusRunning},
		Depth:  make([]int, n), Label: make([]int, n), Kind: make([]int, n), Status: make([]int, n), At: make([]int64, n), Took: make([]int64, n),
		Cost: make(map[int]int64), Waits: make(map[int][2]int64),
	}
	labels, kinds, states := make(map[string]int), make(map[view.Kind]int), make(map[view.Status]int)
	for i, k := range c.Kinds {
		kinds[k] = i
	}
	for i, k := range c.States {
		states[k] = i
	}
	var above []int
	for i := range l.rows {
		row := &l.rows[i]
		label, ok := labels[row.Label]
		if !ok {
			label = len(c.Labels)
			labels[row.Label], c.Labels = label, append(c.Labels, row.Label)
		}
		c.Depth[i], c.Label[i], c.Kind[i], c.Status[i] = row.Depth, label, kinds[row.Kind], states[row.Status]
		if !row.Start.IsZero() {
			c.At[i] = row.Start.Sub(l.Started).Microseconds()
		}
		if c.Took[i] = row.Took().Microseconds(); row.End.IsZero() {
			c.Took[i] = -1
		}
		above = append(above[:row.Depth], i)
		if u := store.UsageOf(row.Attributes()); row.Kind == view.KindChat && u != nil && u.CostUSD != nil {
			c.Cost[i] = int64(*u.CostUSD * 1e6)
		}
		if row.Kind == view.KindEvent && row.Label == "permission_request" && row.Depth > 0 {
			if call := above[row.Depth-1]; l.rows[call].Kind == view.KindTool {
				c.Waits[call] = waited(&l.rows[call], c.At[i], c.At[call], c.Took[call])
			}
		}
	}
	return c, nil
}

// waited returns from when to when a call waited for approval: from the question to
// the end, less the time that the agent says it ran.
func waited(call *view.Row, asked, at, took int64) [2]int64 {
	end := max(asked, at+max(0, took))
	if ms, ok := otlp.Integer(call.Attributes(), otelmap.KeyHostDuration); ok {
		end = max(asked, end-ms*1000)
	}
	return [2]int64{asked, end}
}

// lineOf is what a row shows beside its label.
type lineOf struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// Note is the problem.
	Note string `json:"note,omitempty"`
}

// maxLines is how many lines one request returns.
const maxLines = 500

func (s *Server) lines(r *http.Request) (any, error) {
	l, err := s.loaded(r)
	if err != nil {
		return nil, err
	}
	from, err := number(r.URL.Query(), "from", 0, 0, 1<<30)
	if err != nil {
		return nil, err
	}
	from = min(from, len(l.rows))
	out := make([]lineOf, 0, maxLines)
	for i := from; i < min(len(l.rows), from+maxLines); i++ {
		row := &l.rows[i]
		line := lineOf{ID: l.ids[i], Text: termtext.Cut(l.relative(lineText(row)), 200)}
		if isProblem(row.Status) {
			p := l.problem(i)
			line.Note = termtext.Cut(cmp.Or(p.Message, p.Kind), 200)
		}
		out = append(out, line)
	}
	return out, nil
}

// lineText is what a request to the model said; of other rows and of silent requests,
// what the terminal shows.
func lineText(row *view.Row) string {
	text := ""
	if row.Kind == view.KindChat {
		text = termtext.Line(termtext.Head(otlp.Text(row.Attributes(), otelmap.KeyText), 400))
	}
	return cmp.Or(text, strings.Join(row.Details(), " · "))
}

// relative shortens paths in the task's folder.
func (l *loaded) relative(text string) string {
	if l.Directory == "" || l.Directory == "/" {
		return text
	}
	return strings.ReplaceAll(text, strings.TrimRight(l.Directory, "/")+"/", "")
}

// find returns the rows with an id, or those with a text.
func (s *Server) find(r *http.Request) (any, error) {
	l, err := s.loaded(r)
	if err != nil {
		return nil, err
	}
	found := []int{}
	if id := r.URL.Query().Get("id"); id != "" {
		if i, ok := l.index[id]; ok {
			found = append(found, i)
		}
		return found, nil
	}
	text := strings.ToLower(strings.TrimSpace(r.URL.Query().Get("text")))
	if text == "" {
		return nil, wrong("text: want what to find")
	}
	for i := range l.rows {
		if l.contains(i, text) {
			found = append(found, i)
		}
	}
	return found, nil
}

func (l *loaded) contains(i int, text string) bool {
	row := &l.rows[i]
	if strings.Contains(strings.ToLower(row.Label), text) {
		return true
	}
	for _, kv := range row.Attributes() {
		if strings.Contains(strings.ToLower(kv.GetValue().GetStringValue()), text) {
			return true
		}
	}
	_, message := row.Problem()
	return strings.Contains(strings.ToLower(message), text)
}

// partOf is a text of a row.
type partOf struct {
	Name  string `json:"name"`
	Lang  string `json:"lang,omitempty"`
	Prose bool   `json:"prose,omitempty"`
	Short bool   `json:"short,omitempty"`
	Text  string `json:"text"`
}

func partsOf(row *view.Row) []partOf {
	out := []partOf{}
	for _, p := range row.Parts() {
		out = append(out, partOf{p.Name, p.Lang, p.Prose, p.Short(), p.Text})
	}
	return out
}

// rowOf is all that is known of a row.
type rowOf struct {
	Row     int          `json:"row"`
	ID      string       `json:"id"`
	Kind    view.Kind    `json:"kind"`
	Status  view.Status  `json:"status"`
	Label   string       `json:"label"`
	Details []string     `json:"details"`
	Started time.Time    `json:"started,omitzero"`
	TookNS  int64        `json:"tookNs"`
	Ended   bool         `json:"ended"`
	Problem *problem     `json:"problem,omitempty"`
	Usage   *store.Usage `json:"usage,omitempty"`
	Model   string       `json:"model,omitempty"`
	Parts   []partOf     `json:"parts"`
	Fields  []view.Field `json:"fields"`
	// Number counts the calls from 1. Source is where the texts are from, if they are
	// whole.
	Number int    `json:"number,omitempty"`
	Source string `json:"source,omitempty"`
}

func (s *Server) row(r *http.Request) (any, error) {
	l, err := s.loaded(r)
	if err != nil {
		return nil, err
	}
	i, err := strconv.Atoi(r.PathValue("row"))
	if err != nil || i < 0 || i >= len(l.rows) {
		return nil, wrong("row %q: want a number from 0 to %d", r.PathValue("row"), len(l.rows)-1)
	}
	row := &l.rows[i]
	out := rowOf{
		Row: i, ID: l.ids[i], Kind: row.Kind, Status: row.Status, Label: row.Label, Details: row.Details(), Started: row.Start,
		TookNS: row.Took().Nanoseconds(), Ended: !row.End.IsZero(), Usage: store.UsageOf(row.Attributes()),
		Model: termtext.Line(otlp.Text(row.Attributes(), otelmap.KeyRequestModel)), Parts: partsOf(row), Fields: []view.Field{}, Number: row.Number,
	}
	if isProblem(row.Status) {
		p := l.problem(i)
		out.Problem = &p
	}
	if row.Kind == view.KindTool && r.URL.Query().Has("whole") && s.opts.Whole != nil {
		text, err := s.opts.Whole(r.Context(), l.Trace, row)
		if err != nil {
			return nil, err
		}
		out.Source, out.Parts = text.Source, []partOf{}
		for _, p := range slices.Concat(view.Arguments(row.Label, text.Arguments), view.TextPart("error", text.Error), view.TextPart("result", text.Result)) {
			out.Parts = append(out.Parts, partOf{p.Name, p.Lang, p.Prose, p.Short(), p.Text})
		}
	}
	for _, f := range row.Fields() {
		switch f.Name {
		case "span", "parent", "link", "call", "agent", "response", "request":
			out.Fields = append(out.Fields, view.Field{Name: f.Name, Text: termtext.Line(f.Text)})
		case "task", "result":
			if row.Kind == view.KindRun || row.Kind == view.KindAgent {
				name := map[string]string{"task": "prompt", "result": "answer"}[f.Name]
				out.Parts = append(out.Parts, partOf{Name: name, Prose: true, Text: view.Text(f.Text)})
			}
		}
	}
	return out, nil
}

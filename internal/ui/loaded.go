package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// loaded is a trace with its rows, which have no texts: those are read when they are
// shown, so that 100,000 rows stay small.
type loaded struct {
	store.Summary
	texts
	parsed *parsedTexts
	// version is another one for each state: of a stored trace its Writes, of a
	// running task a digest of its spans.
	version int64
	*view.Outline
	// nth counts the events below a row from 1; 0 for other rows.
	nth []int32
	// ended is since when a running task is neither running nor stored.
	ended time.Time

	mu sync.Mutex
	// found are the trace's problems, why is the reason for its end; both are empty until
	// they are asked for.
	found []problem
	why   *string
}

// texts are the spans of a trace, by their place.
type texts interface {
	// spans returns the spans at places, nil for one that is not there any more.
	spans(ctx context.Context, places []int) ([]*tracepb.Span, error)
	// choose returns the spans whose encoded message f chooses.
	choose(ctx context.Context, f func(message []byte) bool) (places []int, err error)
}

// stored are the spans of a stored trace.
type stored struct {
	store   *store.Store
	trace   string
	numbers []int64
}

func (s *stored) spans(ctx context.Context, places []int) ([]*tracepb.Span, error) {
	numbers := make([]int64, len(places))
	for i, p := range places {
		numbers[i] = s.numbers[p]
	}
	return s.store.Spans(ctx, numbers)
}

func (s *stored) choose(ctx context.Context, f func([]byte) bool) (places []int, err error) {
	err = s.store.Messages(ctx, s.trace, func(store.Summary) {}, func(number int64, message []byte) error {
		if f(message) {
			if place, ok := slices.BinarySearch(s.numbers, number); ok {
				places = append(places, place)
			}
		}
		return nil
	})
	return places, err
}

// running are the spans of a task that is not stored yet.
type running struct {
	trace *store.Trace
	all   []*tracepb.Span
}

func (s *running) spans(_ context.Context, places []int) ([]*tracepb.Span, error) {
	out := make([]*tracepb.Span, len(places))
	for i, p := range places {
		out[i] = s.all[p]
	}
	return out, nil
}

func (s *running) choose(_ context.Context, f func([]byte) bool) (places []int, err error) {
	for i, span := range s.all {
		if message, err := proto.Marshal(span); err == nil && f(message) {
			places = append(places, i)
		}
	}
	return places, nil
}

// load reads the rows of a stored trace.
func (s *Server) load(ctx context.Context, id string) (*loaded, error) {
	writes, err := s.opts.Store.Writes(ctx, id) // Before the spans: a later write is another version.
	if err != nil {
		return nil, err
	}
	from := &stored{store: s.opts.Store}
	l := &loaded{texts: from, parsed: &s.traces.parsed, version: writes[id]}
	var o *view.Outline
	// One goroutine reads the file while this one decodes what was read.
	read, used, ended := make(chan *messages, 2), make(chan *messages, 4), make(chan error, 1)
	for range cap(used) {
		used <- new(messages)
	}
	go func() {
		some := <-used
		err := s.opts.Store.Messages(ctx, id, func(sum store.Summary) {
			l.Summary, from.trace, o = sum, sum.TraceID, view.NewOutline(&sum)
			from.numbers = make([]int64, 0, sum.Spans)
		}, func(number int64, message []byte) error {
			from.numbers = append(from.numbers, number)
			some.bytes, some.ends = append(some.bytes, message...), append(some.ends, len(some.bytes)+len(message))
			if len(some.bytes) > manyBytes {
				read <- some
				some = <-used
			}
			return nil
		})
		read <- some
		close(read)
		ended <- err
	}()
	k := view.NewSkimmer()
	var bad error
	for some := range read {
		begin := 0
		for _, end := range some.ends {
			if span, err := k.Span(some.bytes[begin:end]); err == nil {
				o.Add(span)
			} else if bad == nil {
				bad = fmt.Errorf("%w: trace %s: %w", store.ErrDamaged, from.trace, err)
			}
			begin = end
		}
		some.bytes, some.ends = some.bytes[:0], some.ends[:0]
		used <- some
	}
	if err := cmp.Or(<-ended, bad); err != nil {
		return nil, err
	}
	if l.TraceID != id { // It begins so.
		return s.load(ctx, l.TraceID)
	}
	l.arrange(o)
	return l, nil
}

// messages are encoded spans, one after the other.
type messages struct {
	bytes []byte
	ends  []int
}

// manyBytes is how many are read before they are decoded.
const manyBytes = 256 << 10

// loadRunning makes the rows of a task that is not stored yet.
func (s *Server) loadRunning(t *store.Trace) *loaded {
	from := &running{trace: t}
	o := view.NewOutline(&t.Summary)
	state := fnv.New64a()
	for span := range otlp.Spans(t.ResourceSpans) {
		o.Add(span)
		from.all = append(from.all, span)
		_, _ = state.Write(stateOf(span))
	}
	l := &loaded{Summary: t.Summary, texts: from, parsed: &s.traces.parsed, version: int64(state.Sum64() >> 11)} //nolint:gosec // It fits.
	l.arrange(o)
	return l
}

// stateOf is all that a span says but the end of what runs, which is now. The place in the log
// would not do: some calls, requests and ends are only in the agent's files.
func stateOf(span *tracepb.Span) []byte {
	if step.Of(span).End() == otelmap.EndRunning {
		defer func(end uint64) { span.EndTimeUnixNano = end }(span.EndTimeUnixNano)
		span.EndTimeUnixNano = 0
	}
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(span) // It was made here.
	return b
}

// task returns the running task that the trace is of, nil if it is stored.
func (l *loaded) task() *store.Trace {
	if from, ok := l.texts.(*running); ok {
		return from.trace
	}
	return nil
}

func (l *loaded) arrange(o *view.Outline) {
	o.Arrange()
	l.Outline, l.nth = o, make([]int32, o.Len())
	events := make([]int32, o.Len())
	for i := range l.nth {
		if above := o.Above(i); above >= 0 && o.Kind(i) == view.KindEvent {
			events[above]++
			l.nth[i] = events[above]
		}
	}
}

// id names a row: the span's id, and for an event that of its span, a dot and its number.
func (l *loaded) id(i int) string {
	row := l.Row(i)
	if l.nth[i] > 0 {
		row = l.Row(l.Above(i))
		return row.SpanID() + "." + strconv.Itoa(int(l.nth[i]))
	}
	return row.SpanID()
}

// find returns the row with an id, -1 if none has it.
func (l *loaded) find(id string) int {
	span, number, event := strings.Cut(id, ".")
	i := l.Find(span)
	if i < 0 || !event {
		return i
	}
	for j := i + 1; j < l.Len() && l.Above(j) >= i; j++ {
		if l.nth[j] > 0 && l.Above(j) == i && strconv.Itoa(int(l.nth[j])) == number {
			return j
		}
	}
	return -1
}

// full returns rows with their texts.
func (l *loaded) full(ctx context.Context, rows ...int) ([]*view.Row, error) {
	var places []int
	for _, i := range rows {
		if row := l.Row(i); row.Place() >= 0 {
			places = append(places, row.Place())
		}
	}
	slices.Sort(places)
	places = slices.Compact(places)
	spans, err := l.spans(ctx, places)
	if err != nil {
		return nil, err
	}
	out := make([]*view.Row, len(rows))
	for n, i := range rows {
		var span *tracepb.Span
		row := l.Row(i)
		if at, ok := slices.BinarySearch(places, row.Place()); ok {
			span = spans[at]
		}
		out[n] = row.With(span)
	}
	return out, nil
}

// eachFull calls f with the chosen rows and their texts until it returns false.
func (l *loaded) eachFull(ctx context.Context, from int, choose func(*view.Row) bool, f func(i int, row *view.Row) bool) error {
	// The first rows are often enough.
	var row view.Row
	for i, some := from, 25; i < l.Len(); some = min(2*some, 1000) {
		var chosen []int
		for ; i < l.Len() && len(chosen) < some; i++ {
			if row = l.Row(i); choose(&row) {
				chosen = append(chosen, i)
			}
		}
		rows, err := l.full(ctx, chosen...)
		if err != nil {
			return err
		}
		for n, row := range rows {
			if !f(chosen[n], row) {
				return nil
			}
		}
	}
	return nil
}

// trace returns a trace with the spans of some rows only.
func (l *loaded) trace(ctx context.Context, rows ...int) (*store.Trace, error) {
	full, err := l.full(ctx, rows...)
	scope := &tracepb.ScopeSpans{}
	for _, row := range full {
		scope.Spans = append(scope.Spans, row.Span())
	}
	return &store.Trace{Summary: l.Summary, ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{scope}}}}, err
}

// runs are the rows of the runs.
func (l *loaded) runs() (rows []int) {
	for i := range l.Len() {
		if l.Kind(i) == view.KindRun {
			rows = append(rows, i)
		}
	}
	return rows
}

// story is what was said and done. An error of reading it is in err.
func (l *loaded) story(ctx context.Context, err *error) view.Story {
	rows := func(from int, choose func(*view.Row) bool) iter.Seq2[int, *view.Row] {
		return func(yield func(int, *view.Row) bool) { *err = cmp.Or(*err, l.eachFull(ctx, from, choose, yield)) }
	}
	t, terr := l.trace(ctx, l.runs()...)
	*err = terr
	return view.Story{
		Prompt: view.Prompt(t), Answer: view.Answer(t),
		Asks: rows(0, func(r *view.Row) bool { return r.Event == otelmap.EventPrompt }),
		Rows: func(from int) iter.Seq2[int, *view.Row] { return rows(from, func(*view.Row) bool { return true }) },
	}
}

// runningCache keeps the tasks that run now until there are new events, and not for long:
// some ends are only in the agents' files.
type runningCache struct {
	mu     sync.Mutex
	stamp  string
	read   time.Time
	traces []*store.Trace
}

// keepEnded is how long a task that has ended is shown as it ran, until it is stored.
const keepEnded = time.Minute

// keepRunning is how long the tasks that run now are kept at most.
const keepRunning = 3 * time.Second

// running returns the traces of the tasks that run now and are not stored, the newest
// first.
func (s *Server) running(ctx context.Context) []*store.Trace {
	c := &s.live
	c.mu.Lock()
	defer c.mu.Unlock()
	stamp := s.stamp()
	if s.opts.Running == nil || stamp == c.stamp && (len(c.traces) == 0 || time.Since(c.read) < keepRunning) {
		return c.traces
	}
	traces, err := s.opts.Running(ctx)
	if err == nil {
		c.stamp, c.read = stamp, time.Now()
	}
	// A task that has ended meanwhile is in the store, too.
	c.traces = slices.DeleteFunc(traces, func(t *store.Trace) bool {
		n, err := s.opts.Store.Count(ctx, store.Filter{Trace: t.TraceID})
		return err == nil && n > 0
	})
	return c.traces
}

// traceCache keeps the traces that were asked for last: a page asks several times, and
// there may be several pages.
type traceCache struct {
	mu sync.Mutex
	// recent are those, the last one first.
	recent []*loaded
	timer  *time.Timer
	parsed parsedTexts
}

// traceTime is how long traces are kept after the last request for one, recentTraces and
// recentRows how many, but for the last one.
const (
	traceTime    = 30 * time.Second
	recentTraces = 8
	recentRows   = 130_000
)

func (c *traceCache) drop() {
	c.mu.Lock()
	c.recent = nil
	c.mu.Unlock()
	c.parsed.drop()
	// What a large trace took is the system's again.
	debug.FreeOSMemory()
}

// use puts a trace first and lets go of those that are too many.
func (c *traceCache) use(l *loaded) *loaded {
	c.recent = slices.DeleteFunc(c.recent, func(old *loaded) bool { return old.TraceID == l.TraceID })
	c.recent = slices.Insert(c.recent, 0, l)
	rows := 0
	for i, one := range c.recent {
		if rows += one.Len(); i > 0 && (i >= recentTraces || rows > recentRows) {
			clear(c.recent[i:])
			c.recent = c.recent[:i]
			break
		}
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = time.AfterFunc(traceTime, c.drop)
	return l
}

// get returns the trace with an id.
func (c *traceCache) get(ctx context.Context, srv *Server, id string) (*loaded, error) {
	s := srv.opts.Store
	c.mu.Lock()
	defer c.mu.Unlock()
	if id == "" {
		return nil, store.ErrNotFound
	}
	var last *loaded
	if i := slices.IndexFunc(c.recent, func(l *loaded) bool { return l.TraceID == id }); i >= 0 {
		last = c.recent[i]
	}
	if last != nil && last.task() == nil {
		if writes, err := s.Writes(ctx, id); err == nil && writes[id] == last.version {
			return c.use(last), nil
		}
	}
	// A browser that asks again has cancelled the first request, not the need for it.
	l, err := srv.load(context.WithoutCancel(ctx), id)
	if errors.Is(err, store.ErrNotFound) {
		for _, r := range srv.running(ctx) {
			if r.TraceID != id {
				continue
			}
			if last != nil && last.task() == r {
				return c.use(last), nil
			}
			l, err = srv.loadRunning(r), nil
		}
		// A task that has just ended is in the store a moment later.
		if l == nil && last != nil && last.task() != nil {
			if last.ended.IsZero() {
				last.ended = time.Now()
			}
			if time.Since(last.ended) < keepEnded {
				return c.use(last), nil
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return c.use(l), nil
}

func (s *Server) loaded(r *http.Request) (*loaded, error) {
	return s.traces.get(r.Context(), s, r.PathValue("id"))
}

package infiniumexporter

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/infinium"
)

// gatherer makes one trace of the spans that arrive in several requests. Each
// push waits until its spans have been answered, so its caller (a queue on disk,
// a sender) still has every span that is in memory here.
//
// Each trace has one group, which collects spans in a round. At the end of the
// round's wait the round is sent, and spans that arrive meanwhile collect in the
// next one. Spans that were not accepted return to the next round and stay there
// while their pushes may be retried, so that a trace whose parts are retried at
// different times is still sent as one.
type gatherer struct {
	// wait is how long after its last new span a trace with a root is sent,
	// limit how long after its first any trace is.
	wait, limit time.Duration
	// keep is how long spans that were not accepted are remembered for the retries
	// of their pushes.
	keep func(err error) time.Duration
	// durable means that a push that fails during shutdown is retried after the
	// next start.
	durable bool
	// deliver answers one run: nil when it was accepted. It is called for one run
	// of a trace at a time, and for many traces at once.
	deliver func(ctx context.Context, run *run) error
	// repeated counts spans that were accepted before.
	repeated func(spans int)

	ctx    context.Context // of deliveries
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	groups   map[string]*group
	sent     *memory
	stopping bool
	closed   bool
}

// rememberedSpans bounds the memory of accepted spans.
const rememberedSpans = 500_000

func newGatherer(wait, limit time.Duration) *gatherer {
	g := &gatherer{
		wait: wait, limit: limit,
		keep:     func(error) time.Duration { return 0 },
		repeated: func(int) {},
		groups:   make(map[string]*group),
		sent:     newMemory(rememberedSpans),
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// errStopping is the answer to spans that stay in the queue on disk when the
// Collector stops.
var errStopping = errors.New("the Collector stops before all spans of the trace have arrived; they are sent after the next start")

// group is one trace that has spans to send.
type group struct {
	id string
	// sending is the round being sent, next the one that collects; nil if there
	// is none.
	sending, next *round
	timer         *time.Timer // ends the wait of next
}

// round is spans that are sent together.
type round struct {
	entries []*entry
	byKey   map[string]*entry
	rooted  bool
	// first and last are the times of the first and the last new span.
	first, last time.Time
	// waiters is how many pushes wait for it. Without any, its spans are only
	// remembered, up to the time until.
	waiters int
	until   time.Time

	done chan struct{} // closed after the answer
}

// entry is a span in a round, with the hashes of all versions that were given.
type entry struct {
	item   *item
	hashes []uint64
	// err is nil if the span was accepted; read it after done.
	err error
}

func newRound() *round {
	return &round{byKey: make(map[string]*entry), done: make(chan struct{})}
}

func (r *round) holds(it *item) bool {
	e, ok := r.byKey[it.key]
	return ok && slices.Contains(e.hashes, it.hash)
}

func (r *round) add(it *item, hashes []uint64) {
	r.rooted = r.rooted || infinium.IsRoot(it.span)
	if e, ok := r.byKey[it.key]; ok {
		e.item = it
		e.hashes = append(e.hashes, hashes...)
		return
	}
	e := &entry{item: it, hashes: hashes}
	r.byKey[it.key] = e
	r.entries = append(r.entries, e)
}

// refused are spans that Infinium did not accept, each with its error.
type refused struct {
	items []*item
	errs  []error
}

// push adds a request's spans and returns when each was answered. If ctx ends
// before, the spans without an answer are returned as refused, but still sent.
func (g *gatherer) push(ctx context.Context, parts []part) (out refused) {
	type ticket struct {
		item  *item
		round *round
	}
	var tickets []ticket
	joined := make(map[*round]bool)
	g.mu.Lock()
	for _, p := range parts {
		repeated := 0
		for _, it := range p.items {
			if g.sent.has(p.trace, it.hash) {
				repeated++
				continue
			}
			r := g.join(p.trace, it)
			tickets = append(tickets, ticket{it, r})
			if !joined[r] {
				joined[r] = true
				r.waiters++
			}
		}
		if repeated > 0 {
			g.repeated(repeated)
		}
		if grp := g.groups[p.trace]; grp != nil {
			g.arm(grp)
		}
	}
	g.mu.Unlock()

	for r := range joined {
		select {
		case <-r.done:
		case <-ctx.Done():
		}
	}
	for _, t := range tickets {
		err := context.Cause(ctx)
		select {
		case <-t.round.done:
			err = t.round.byKey[t.item.key].err
		default:
		}
		if err != nil {
			out.items = append(out.items, t.item)
			out.errs = append(out.errs, err)
		}
	}
	return out
}

// join adds a span to its trace and returns the round that answers it.
func (g *gatherer) join(id string, it *item) *round {
	grp := g.groups[id]
	if grp == nil {
		grp = &group{id: id}
		g.groups[id] = grp
	}
	if grp.sending != nil && grp.sending.holds(it) {
		return grp.sending
	}
	if grp.next == nil {
		grp.next = newRound()
		grp.next.first = time.Now()
	}
	if !grp.next.holds(it) {
		grp.next.last = time.Now()
		grp.next.add(it, []uint64{it.hash})
	}
	return grp.next
}

// arm sets the group's timer for its next round, which starts after the answer to
// the round being sent, so that two rounds of a trace are never sent at once.
func (g *gatherer) arm(grp *group) {
	if grp.timer != nil {
		grp.timer.Stop()
	}
	if grp.next != nil && grp.sending == nil && !g.closed {
		grp.timer = time.AfterFunc(time.Until(g.end(grp.next)), func() { g.fire(grp) })
	}
}

// end is when a round's wait ends.
func (g *gatherer) end(r *round) time.Time {
	end := r.first.Add(g.limit)
	switch {
	case g.stopping:
		return time.Time{}
	case r.waiters == 0:
		return r.until
	case r.rooted && r.last.Add(g.wait).Before(end):
		return r.last.Add(g.wait)
	}
	return end
}

// fire sends the group's round, or forgets one whose pushes were not retried. It
// does nothing for a timer that was replaced while it ended.
func (g *gatherer) fire(grp *group) {
	g.mu.Lock()
	r := grp.next
	if r == nil || grp.sending != nil || g.closed || time.Until(g.end(r)) > 0 {
		g.mu.Unlock()
		return
	}
	grp.next = nil
	if r.waiters == 0 {
		delete(g.groups, grp.id)
		g.mu.Unlock()
		return
	}
	grp.sending = r
	kept := g.stopping && g.durable && !r.rooted
	g.wg.Add(1)
	g.mu.Unlock()
	defer g.wg.Done()

	if kept {
		for _, e := range r.entries {
			e.err = errStopping
		}
	} else {
		g.send(r)
	}
	g.answer(grp, r)
}

// send delivers the round's runs.
func (g *gatherer) send(r *round) {
	items := make([]*item, len(r.entries))
	of := make(map[*tracepb.Span]*entry, len(items))
	for i, e := range r.entries {
		items[i] = e.item
		of[e.item.span] = e
	}
	var down error
	for _, found := range infinium.Runs(together(items)) {
		one := &run{Run: found}
		for _, s := range found.Spans() {
			one.items = append(one.items, of[s].item)
		}
		err := down
		if err == nil {
			err = g.deliver(g.ctx, one)
		}
		if refusalOf(err).everywhere {
			down = err
		}
		for _, s := range found.Spans() {
			of[s].err = err
		}
	}
}

// run is a run with the items of its spans.
type run struct {
	infinium.Run
	items []*item
}

// answer ends a round: it remembers the spans that were accepted, keeps the
// others for the retries of their pushes, and releases the waiting pushes.
func (g *gatherer) answer(grp *group, r *round) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer close(r.done)
	grp.sending = nil
	again := newRound()
	again.first, again.last = r.first, r.last
	var longest time.Duration
	for _, e := range r.entries {
		if e.err == nil {
			for _, h := range e.hashes {
				g.sent.add(grp.id, h)
			}
			continue
		}
		if keep := g.keep(e.err); keep > 0 && !g.stopping {
			longest = max(longest, keep)
			again.add(e.item, e.hashes)
		}
	}
	again.until = time.Now().Add(longest)
	switch {
	case len(again.entries) == 0:
	case grp.next == nil:
		grp.next = again
	default:
		grp.next.follow(again)
	}
	if grp.next == nil {
		delete(g.groups, grp.id)
		return
	}
	g.arm(grp)
}

// follow puts an earlier round's spans before those of r. If both have a span,
// the later version stays.
func (r *round) follow(earlier *round) {
	later := r.entries
	r.entries, r.byKey = earlier.entries, earlier.byKey
	r.rooted = r.rooted || earlier.rooted
	r.first = earlier.first
	for _, e := range later {
		r.add(e.item, e.hashes)
	}
}

// stop sends the waiting rounds at once, and all later spans as they arrive. It
// does not wait for the answers, which the pushes get.
func (g *gatherer) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopping = true
	for _, grp := range g.groups {
		g.arm(grp)
	}
}

// close cancels the requests and waits until all have ended.
func (g *gatherer) close() {
	g.mu.Lock()
	g.closed = true
	for _, grp := range g.groups {
		g.arm(grp)
	}
	g.mu.Unlock()
	g.cancel()
	g.wg.Wait()
}

// waiting is the number of traces held.
func (g *gatherer) waiting() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int64(len(g.groups))
}

package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// storeName is the destination that says what need not be sent again.
const storeName = "store"

const (
	// batchSpans is how many spans are stored at once: an upload waits for the
	// disk.
	batchSpans = 1024
	// batchAge is how long a run that other destinations have waits to be stored,
	// so that an import that is killed sends few runs again.
	batchAge = 100 * time.Millisecond
)

// queue sends the runs to the destinations. The local store gets a run only when
// every other has answered for it, so that the next import finds what is left.
type queue struct {
	im  *Importer
	rep *Report
	// runs have been answered for by every destination but the store, since the
	// given time; notes are about sessions that have none but these, done about those
	// whose runs are stored.
	runs        []*tracepb.ResourceSpans
	spans       int
	since       time.Time
	notes, done []store.Import
	// storing ends with the result of the batch that is being stored, while the
	// next is gathered; nil if there is none.
	storing chan stored
	// incomplete reports that the store has not taken all of a batch.
	incomplete bool
	// held counts the runs that other destinations keep from the store.
	held int
}

// stored is what became of a batch.
type stored struct {
	complete bool
	err      error
}

// add counts what a session's files hold and sends its runs. The error ends the
// import.
func (q *queue) add(ctx context.Context, f *findings) error {
	q.rep.add(f)
	if f.err != nil || f.unreadable != nil {
		return f.err
	}
	observe := q.im.Observe
	if observe == nil || !f.read {
		observe = func(string, Skipped, []*tracepb.ResourceSpans) {}
	}
	observe(f.session.ID, f.skipped, nil)
	now := q.im.Deliverer.Now()
	if len(q.runs) == 0 {
		q.since = now
	}
	kept, flushed := true, false
	q.incomplete = false
	for part := range slices.Chunk(f.runs, f.together()) {
		if err := ctx.Err(); err != nil {
			return err
		}
		runs := make([]*tracepb.ResourceSpans, len(part))
		for i, run := range part {
			runs[i] = run()
		}
		q.rep.found(f.session.ID, runs)
		observe(f.session.ID, f.skipped, runs)
		if q.im.DryRun {
			continue
		}
		answered, err := q.send(ctx, runs)
		if err != nil {
			return err
		}
		kept = kept && answered
		if len(f.runs) > mappedOnce && q.spans >= batchSpans {
			flushed = true
			if err := q.flush(ctx); err != nil {
				return err
			}
		}
	}
	if flushed {
		if err := q.wait(); err != nil {
			return err
		}
	}
	if kept && !q.incomplete && f.note != nil {
		q.notes = append(q.notes, *f.note)
	}
	if q.spans >= batchSpans || len(q.notes) >= batchSpans || now.Sub(q.since) >= batchAge {
		return q.flush(ctx)
	}
	return nil
}

// send sends runs to every destination but the store, for which it keeps them if
// all others have answered. It reports whether it does.
func (q *queue) send(ctx context.Context, runs []*tracepb.ResourceSpans) (kept bool, err error) {
	answered := true
	for i := range q.im.Deliverer.Destinations {
		dst, res := &q.im.Deliverer.Destinations[i], &q.rep.Destinations[i]
		switch {
		case dst.Name == storeName && answered:
			q.runs, q.spans, kept = append(q.runs, runs...), q.spans+otlp.Count(runs), true
			continue
		case dst.Name == storeName:
			q.held += len(runs)
			continue
		}
		group := runs
		if dst.Join != nil {
			group = []*tracepb.ResourceSpans{dst.Join(runs)}
		}
		for one := range slices.Chunk(group, 1) {
			if err := q.sendTo(ctx, dst, one, res); err != nil {
				return false, err
			}
		}
		answered = answered && !res.down
	}
	return kept, nil
}

// flush begins to store what is kept, when the batch before is stored.
func (q *queue) flush(ctx context.Context) error {
	if err := q.wait(); err != nil {
		return err
	}
	runs, notes := q.runs, q.notes
	q.runs, q.spans, q.notes = nil, 0, nil
	q.storing = make(chan stored, 1)
	go func() { // wait receives the result
		complete, err := q.store(ctx, runs, notes)
		q.storing <- stored{complete, err}
	}()
	return nil
}

// wait waits for the batch that is being stored.
func (q *queue) wait() (err error) {
	if q.storing == nil {
		return nil
	}
	batch := <-q.storing
	q.storing = nil
	q.incomplete = q.incomplete || !batch.complete
	return batch.err
}

// finish stores what is kept and waits for it.
func (q *queue) finish(ctx context.Context) error {
	err := q.flush(ctx)
	if err == nil {
		err = q.wait()
	}
	err = errors.Join(err, q.note(ctx, 1))
	for i := range q.rep.Destinations {
		if res := &q.rep.Destinations[i]; res.Destination == storeName {
			res.Waiting += q.held
			q.held = 0
		}
	}
	return err
}

// store stores runs, and then the notes if it could store all of them, which it reports.
func (q *queue) store(ctx context.Context, runs []*tracepb.ResourceSpans, notes []store.Import) (complete bool, err error) {
	if len(runs) > 0 {
		i := slices.IndexFunc(q.im.Deliverer.Destinations, func(d deliver.Destination) bool { return d.Name == storeName })
		res := &q.rep.Destinations[i]
		before := res.Runs
		if err := q.sendTo(ctx, &q.im.Deliverer.Destinations[i], runs, res); err != nil || res.Runs-before < len(runs) {
			return false, err
		}
	}
	q.done = append(q.done, notes...)
	return true, q.note(ctx, batchSpans)
}

// note records sessions, so many at once: each transaction waits for the disk.
func (q *queue) note(ctx context.Context, least int) error {
	notes := q.done
	if len(notes) < max(1, least) {
		return nil
	}
	q.done = nil
	return q.im.Known.NoteImports(ctx, notes)
}

// maxDenials is how many refusals of the sender in a row show that every other run would
// meet one too.
const maxDenials = 3

// sendTo sends runs to one destination, and each alone if the destination does
// not take them together. The error is ctx's alone.
func (q *queue) sendTo(ctx context.Context, dst *deliver.Destination, runs []*tracepb.ResourceSpans, res *Delivered) error {
	if res.down {
		res.Waiting += len(runs)
		return nil
	}
	spans, trace := otlp.Count(runs), otlp.TraceID(runs[0].GetScopeSpans()[0].GetSpans()[0])
	refused, err := q.im.Deliverer.Send(ctx, dst, runs)
	if !deliver.Denied(err) {
		res.denials = 0
	} else if len(runs) == 1 {
		res.denials++
	}
	switch {
	case err != nil && ctx.Err() != nil:
		res.Waiting += len(runs)
		return ctx.Err()
	case err != nil && (deliver.Retryable(err) || res.denials >= maxDenials):
		res.down = true
		res.Waiting += len(runs)
		res.fail(err)
	case err != nil && len(runs) > 1:
		for one := range slices.Chunk(runs, 1) {
			if err := q.sendTo(ctx, dst, one, res); err != nil {
				return err
			}
		}
	case err != nil:
		res.Refused++
		res.fail(fmt.Errorf("trace %s: %w", trace, err))
	default:
		res.Runs += len(runs)
		res.Spans += spans - refused
		if refused > 0 {
			res.fail(fmt.Errorf("trace %s: %d of %d spans rejected", trace, refused, spans))
		}
	}
	return nil
}

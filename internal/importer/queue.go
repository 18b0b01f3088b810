package importer

import (
	"cmp"
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
	// batchAge is how long a run waits to be stored, and an answer to be noted, so
	// that an import that is killed sends few runs again.
	batchAge = 100 * time.Millisecond
	// mostDenials is how often in a row a destination refuses the sender before it
	// counts as down.
	mostDenials = 3
)

// queue sends the runs to the destinations, the local store first: it notes with each
// trace that the others are owed it, until they have answered.
type queue struct {
	im  *Importer
	rep *Report
	// next is gathered since the given time; done are about sessions whose runs are stored.
	next  batch
	since time.Time
	done  []store.Import
	// sending ends with the result of the batch that is being sent, while the
	// next is gathered; nil if there is none.
	sending chan sent
	// incomplete reports that the store has not taken all of a batch.
	incomplete bool
}

// batch are runs that are stored at once.
type batch struct {
	// groups are runs, together those that a destination takes as one.
	groups [][]*tracepb.ResourceSpans
	spans  int
	// notes are about sessions that have no runs but these, and those before.
	notes []store.Import
}

// sent is what became of a batch.
type sent struct {
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
	if len(q.next.groups) == 0 {
		q.since = now
	}
	flushed := false
	q.incomplete = false
	together := 1
	if f.joint {
		together = max(1, len(f.runs))
	}
	for part := range slices.Chunk(f.runs, together) {
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
		q.next.groups, q.next.spans = append(q.next.groups, runs), q.next.spans+otlp.Count(runs)
		if len(f.runs) > mappedOnce && q.next.spans >= batchSpans {
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
	if !q.incomplete && f.note != nil {
		q.next.notes = append(q.next.notes, *f.note)
	}
	if q.next.spans >= batchSpans || len(q.next.notes) >= batchSpans || now.Sub(q.since) >= batchAge {
		return q.flush(ctx)
	}
	return nil
}

// flush begins to send what is gathered, when the batch before is sent.
func (q *queue) flush(ctx context.Context) error {
	if err := q.wait(); err != nil {
		return err
	}
	next := q.next
	q.next = batch{}
	q.sending = make(chan sent, 1)
	go func() { // wait receives the result
		complete, err := q.send(ctx, next)
		q.sending <- sent{complete, err}
	}()
	return nil
}

// wait waits for the batch that is being sent.
func (q *queue) wait() (err error) {
	if q.sending == nil {
		return nil
	}
	batch := <-q.sending
	q.sending = nil
	q.incomplete = q.incomplete || !batch.complete
	return batch.err
}

// finish sends what is gathered and waits for it. It is stored even if ctx has ended.
func (q *queue) finish(ctx context.Context) error {
	err := q.wait()
	return errors.Join(err, q.flush(ctx), q.wait(), q.note(context.WithoutCancel(ctx), 1))
}

// send stores a batch, then its notes if the store has all of it, which is reported, and
// then sends it to the other destinations.
func (q *queue) send(ctx context.Context, b batch) (complete bool, err error) {
	storing, runs := context.WithoutCancel(ctx), slices.Concat(b.groups...)
	for i := range q.im.Deliverer.Destinations {
		dst := &q.im.Deliverer.Destinations[i]
		if dst.Name != storeName || len(runs) == 0 {
			continue
		}
		res := &q.rep.Destinations[i]
		before := res.Runs
		if err := q.sendTo(storing, dst, runs, res); err != nil {
			return false, err
		}
		complete = res.Runs-before == len(runs)
	}
	if complete || len(runs) == 0 {
		complete = true
		q.done = append(q.done, b.notes...)
		if err := q.note(storing, batchSpans); err != nil {
			return true, err
		}
	}
	for i := range q.im.Deliverer.Destinations {
		if dst := &q.im.Deliverer.Destinations[i]; dst.Name != storeName && len(runs) > 0 {
			err = errors.Join(err, q.sendGroups(ctx, dst, b.groups, &q.rep.Destinations[i]))
		}
	}
	return complete, err
}

// sendGroups sends runs that are stored to another destination and notes its answers.
func (q *queue) sendGroups(ctx context.Context, dst *deliver.Destination, groups [][]*tracepb.ResourceSpans, res *Delivered) (err error) {
	var answered []string
	since := q.im.Deliverer.Now()
	settle := func() error {
		traces := answered
		answered, since = nil, q.im.Deliverer.Now()
		if q.im.Known == nil {
			return nil
		}
		return q.im.Known.Settle(context.WithoutCancel(ctx), dst.Name, traces)
	}
	for _, runs := range groups {
		together := runs
		if dst.Join != nil {
			together = []*tracepb.ResourceSpans{dst.Join(runs)}
		}
		for i := range together {
			waiting := res.Waiting
			err = cmp.Or(q.sendTo(ctx, dst, together[i:i+1], res), err)
			switch {
			case res.Waiting > waiting:
			case dst.Join != nil:
				answered = append(answered, tracesOf(runs)...)
			default:
				answered = append(answered, tracesOf(runs[i:i+1])...)
			}
		}
		if err == nil && q.im.Deliverer.Now().Sub(since) >= batchAge {
			err = settle()
		}
	}
	return errors.Join(err, settle())
}

// tracesOf are the traces of runs.
func tracesOf(runs []*tracepb.ResourceSpans) (ids []string) {
	for _, run := range runs {
		ids = append(ids, store.TaskID(run.GetScopeSpans()[0].GetSpans()[0]))
	}
	return ids
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

// sendTo sends runs to one destination, and each alone if the destination does
// not take them together. The error is ctx's alone.
func (q *queue) sendTo(ctx context.Context, dst *deliver.Destination, runs []*tracepb.ResourceSpans, res *Delivered) error {
	if err := ctx.Err(); res.down || err != nil {
		res.Waiting += len(runs)
		return err
	}
	spans, trace := otlp.Count(runs), tracesOf(runs[:1])[0]
	refused, err := q.im.Deliverer.Send(ctx, dst, runs)
	switch {
	case err != nil && ctx.Err() != nil:
		res.Waiting += len(runs)
		return ctx.Err()
	case err != nil && (deliver.Retryable(err) || deliver.Denied(err)):
		res.denials++
		res.down = deliver.Retryable(err) || res.denials == mostDenials
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
		res.denials = 0
		res.Runs += len(runs)
		res.Spans += spans - refused
		if refused > 0 {
			res.fail(fmt.Errorf("trace %s: %d of %d spans rejected", trace, refused, spans))
		}
	}
	return nil
}

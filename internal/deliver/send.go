package deliver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/spool"
)

// noteEvery is the largest age of the stored position when the next run is sent.
// Storing it waits for the disk, ten times as long as a local destination takes
// for a run.
const noteEvery = 50 * time.Millisecond

// noteCost is how much longer than storing the position took it may be old.
const noteCost = 10

// send sends the runs in order, up to the first after which the destination is down. It
// stores the position before the first one, so that nothing is sent where that cannot
// be recorded, and on the way, so that a process that is killed sends little again; the
// caller stores the last position. A run that cannot be sent for a reason of its own is
// set aside.
func (d *delivery) send(ctx context.Context, s *spool.Session, out *pending, runs []prepared, st *State) error {
	if d.dst.Join != nil {
		runs = join(runs, d.dst.Join)
	}
	note := func() error {
		st.advance(out)
		return st.write(s, d.dst.Name)
	}
	if err := d.first(s, st, len(runs)); err != nil {
		return err
	}
	noted := d.Now()
	q := queue{runs: slices.Clone(runs), most: d.dst.Batch, bytes: d.bytes(st)}
	for q.next() {
		if now := d.Now(); q.at > 0 && now.Sub(noted).Abs() >= noteEvery {
			noted = now
			if err := note(); err != nil {
				return err
			}
		}
		r, left := &runs[q.at], len(runs)-q.at
		spans, refused, err := d.exportRun(ctx, st, r, &q, note)
		if err != nil && ctx.Err() != nil {
			// The caller has canceled, which says nothing about the destination.
			d.res.Waiting += left
			return ctx.Err()
		}
		f := classify(err)
		if q.n > 1 && err != nil && (!f.retry || f.answered) {
			q.separate()
			continue
		}
		switch {
		case err == nil:
			d.failures, d.denials = 0, 0
			d.delivered(st, r, q.n, spans, refused)
		case f.denied && d.refusesAll(), f.retry && !d.ofRun(f):
			d.res.Waiting += left
			return d.stop(st, r.Trace, err, f)
		default:
			p := Parked{Ref: r.Ref, Joined: r.joined, Spans: spans, Settings: r.settings, Late: r.late}
			d.setAside(&p, err, f, refused.all)
			st.Parked = append(st.Parked, p)
		}
		st.Attempts, st.NextTry, st.LastError = 0, time.Time{}, ""
		st.answered(runs[q.at : q.at+q.n])
	}
	st.Bytes *= 2
	if st.Bytes >= d.dst.Bytes || len(runs) == 0 {
		st.Bytes = 0
	}
	return nil
}

// bytes is the largest size of a request of several spans, zero for no limit.
func (d *delivery) bytes(st *State) int {
	if st.Bytes > 0 {
		return min(st.Bytes, d.dst.Bytes)
	}
	return d.dst.Bytes
}

// minBytes is the smallest limit of a request's size, and minAtOnce that of one that is sent
// again at once: if less breaks off, it is not the line.
const (
	minBytes  = 4 << 10
	minAtOnce = 64 << 10
)

// smaller returns the limit of a request's size after one of several spans broke off: the line
// may be too slow for so much within the time limit.
func smaller(bytes int, err error) (less int, ok bool) {
	e := (*Error)(nil)
	if bytes == 0 || !errors.As(err, &e) || e.size == 0 {
		return bytes, false
	}
	return max(minBytes, min(e.size, bytes)/2), true
}

// first stores the position before runs are sent: on a full disk each delivery would
// send again what no delivery can record. The local store takes a span twice.
func (d *delivery) first(s *spool.Session, st *State, runs int) error {
	if runs == 0 || d.dst.Local {
		return nil
	}
	err := st.write(s, d.dst.Name)
	if err != nil {
		d.res.Waiting += runs
		err = fmt.Errorf("nothing is sent while the position cannot be stored: %w", err)
	}
	return err
}

// maxFailures is how many runs in a row a destination may answer with a failure that
// may be of the run, before it counts as down.
const maxFailures = 3

// ofRun reports whether a failure counts as one of the run alone.
func (d *delivery) ofRun(f failure) bool {
	d.failures++
	return f.answered && d.failures < maxFailures
}

// refusesAll counts a refusal of the sender, and reports whether there were so many in a row
// that the next run would get it too.
func (d *delivery) refusesAll() bool {
	if d.denials++; d.dst.Denials != nil && !d.pass.Force {
		return max(d.denials, d.dst.Denials()) >= maxFailures
	}
	return d.denials >= maxFailures
}

// stop notes that the destination is down.
func (d *delivery) stop(st *State, trace string, err error, f failure) error {
	st.failed(err, d.Now().Add(backoff(st.Attempts+1, f.after)))
	if less, ok := smaller(d.bytes(st), err); ok {
		st.Bytes = less
	}
	d.res.fail(err)
	d.logf("%s: trace %s: %v; next try in %s", d.dst.Name, trace, err, st.NextTry.Sub(d.Now()).Round(time.Second))
	return errDown
}

// setAside notes in p that a run was not taken, and whether it is tried again by
// itself.
func (d *delivery) setAside(p *Parked, err error, f failure, all bool) {
	p.At, p.Error, p.Elsewhere, p.NextTry = d.Now(), err.Error(), false, time.Time{}
	p.Denied = f.denied
	d.res.fail(err)
	p.Attempts++
	switch {
	case f.retry:
		p.NextTry = d.Now().Add(backoff(p.Attempts, f.after))
	case d.KeepRefused && !all:
		// The cause may be fixed, and no store keeps the run.
		p.NextTry = d.Now().Add(backoff(p.Attempts, maxBackoff))
	default:
		d.res.Parked++
		d.logf("%s: trace %s rejected: %v", d.dst.Name, p.Trace, err)
		return
	}
	d.res.Waiting++
	d.logf("%s: trace %s: %v; next try in %s", d.dst.Name, p.Trace, err, p.NextTry.Sub(d.Now()).Round(time.Second))
}

// exportRun exports what the destination does not have of the next runs of a queue. Of
// one run that needs several requests it records what was taken, with note.
func (d *delivery) exportRun(ctx context.Context, st *State, r *prepared, q *queue, note func() error) (spans int, refused refusal, err error) {
	for i := q.at; d.dst.Local && d.NoteLess != nil && i < q.at+q.n; i++ {
		if one := &q.runs[i]; len(one.less) > 0 {
			err = errors.Join(err, d.NoteLess(ctx, one.Trace, one.less))
		}
	}
	if err != nil {
		return 0, refused, err
	}
	if q.n > 1 || d.dst.Local || r.fresh != nil {
		return d.export(ctx, d.dst, q.batches, q.n == 1, nil)
	}
	run := st.resume(r.Root, d.dst.place())
	next, progress, had := d.Now().Add(noteEvery), false, len(run.have)
	rest := func(yield func([]*tracepb.ResourceSpans) bool) {
		for batch := range q.batches {
			batch = run.rest(batch)
			if len(batch) > 0 && !yield(batch) {
				return
			}
		}
	}
	spans, refused, err = d.export(ctx, d.dst, rest, true, func(batch []*tracepb.ResourceSpans, whole bool) error {
		if whole && !progress && !q.several {
			return nil
		}
		if run.took(batch); st.Sent == nil {
			st.Sent = make(map[string]*Sent)
		}
		// The destination is not down, so that its next failure is the first.
		st.Sent[r.Root], st.Attempts, progress = run.sent, 0, true
		now := d.Now()
		if now.Before(next) {
			return nil
		}
		err := note()
		// A long list costs more to store.
		end := d.Now()
		next = end.Add(max(noteEvery, noteCost*end.Sub(now)))
		return err
	})
	if err == nil {
		delete(st.Sent, r.Root)
	}
	return spans + had, refused, err
}

// delivered counts runs that the destination took, and reports the spans of them
// that it refused.
func (d *delivery) delivered(st *State, r *prepared, runs, spans int, refused refusal) {
	if r.fresh != nil {
		d.res.Late++
	} else {
		st.Runs += int64(runs)
		d.res.Runs += runs
	}
	st.Spans += int64(spans - refused.spans)
	st.Rejected += int64(refused.spans)
	d.res.Spans += spans - refused.spans
	if refused.spans > 0 {
		what := "trace " + r.Trace
		if runs > 1 {
			what = fmt.Sprintf("trace %s and %d more", r.Trace, runs-1)
		}
		err := fmt.Errorf("%s: %d of %d spans rejected: %w", what, refused.spans, spans, refused.why)
		d.res.fail(err)
		d.logf("%s: %v", d.dst.Name, err)
	}
}

// Send exports the spans of one run that is in no session's log, such as an
// imported one. It returns how many of them were rejected, and an error if the
// destination did not take the run; see Retryable.
func (d *Deliverer) Send(ctx context.Context, dst *Destination, messages []*tracepb.ResourceSpans) (refused int, err error) {
	_, r, err := d.exportAll(ctx, dst, d.Narrow(dst.Capture, messages))
	return r.spans, err
}

// exportAll exports spans, from then on in smaller requests if one breaks off.
func (d *Deliverer) exportAll(ctx context.Context, dst *Destination, messages []*tracepb.ResourceSpans) (spans int, refused refusal, err error) {
	for {
		spans, refused, err = d.export(ctx, dst, bounded(messages, dst.Batch, dst.Bytes), true, nil)
		less, ok := smaller(dst.Bytes, err)
		if !ok || ctx.Err() != nil {
			return spans, refused, err
		}
		dst.Bytes = less
		if less < minAtOnce {
			return spans, refused, err
		}
	}
}

// refusal counts the spans that a destination refused for good.
type refusal struct {
	spans int
	// why is the first reason.
	why error
	// all reports that it refused every span.
	all bool
}

func (r *refusal) add(spans int, why error) {
	if r.spans == 0 {
		r.why = why
	}
	r.spans += spans
}

// onTaken is called with spans that the destination took. whole reports that they were
// all of a batch. An error ends the export.
type onTaken func(batch []*tracepb.ResourceSpans, whole bool) error

// export sends the spans of one run and counts them. It fails if the destination
// refuses every span. After a failure that is final the rest is only counted. If split
// is set, a batch that is too large is sent in halves. took may be nil.
func (d *Deliverer) export(ctx context.Context, dst *Destination, batches iter.Seq[[]*tracepb.ResourceSpans], split bool, took onTaken) (spans int, refused refusal, err error) {
	defer func() {
		if e := recover(); e != nil {
			err = &Error{Err: fmt.Errorf("panic: %v", e), RunOnly: true}
		}
	}()
	for batch := range batches {
		n := otlp.Count(batch)
		spans += n
		if err == nil && n > 0 {
			err = d.exportBatch(ctx, dst, batch, split, true, &refused, took)
		}
		if err != nil && Retryable(err) {
			break
		}
	}
	if err == nil && refused.spans >= spans && spans > 0 {
		refused.all, err = true, refused.why
	}
	return spans, refused, err
}

// exportBatch sends one batch, in halves if the destination finds it too large. A
// span that is too large by itself is refused without the others.
func (d *Deliverer) exportBatch(ctx context.Context, dst *Destination, batch []*tracepb.ResourceSpans, split, whole bool, refused *refusal, took onTaken) error {
	err := d.call(ctx, dst, batch)
	var e *Error
	spans := otlp.Count(batch)
	if errors.As(err, &e) && e.BrokeOff && spans > 1 {
		e.size = otlp.Size(batch)
	}
	switch {
	case err == nil:
	case !errors.As(err, &e):
		return err
	case e.Rejected != 0:
		// The server's number may be wrong.
		refused.add(int(min(max(e.Rejected, 0), int64(spans))), err)
	case !e.TooLarge, !split:
		return err
	case spans == 1:
		refused.add(1, err)
	default:
		for _, half := range otlp.Split(batch, (spans+1)/2) {
			if err := d.exportBatch(ctx, dst, half, split, false, refused, took); err != nil {
				return err
			}
		}
		return nil
	}
	if took == nil {
		return nil
	}
	return took(batch, whole)
}

// callTime is how long a call with spans may take, unless the destination says.
func callTime(spans []*tracepb.ResourceSpans) time.Duration {
	return 30*time.Second + time.Duration(otlp.Count(spans))*time.Millisecond
}

func (d *Deliverer) call(ctx context.Context, dst *Destination, batch []*tracepb.ResourceSpans) error {
	timeout := dst.Timeout
	if timeout <= 0 {
		timeout = callTime(batch)
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := dst.Client.UploadTraces(within, batch)
	// The client's error around an *Error repeats the endpoint.
	if e := (*Error)(nil); errors.As(err, &e) {
		err = e
	}
	if d.Answered != nil && (err == nil || ctx.Err() == nil) {
		d.Answered(dst.Name, err)
	}
	return err
}

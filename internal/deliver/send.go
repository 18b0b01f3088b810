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

// send sends the runs in order, up to the first that should be tried again. It
// stores the position on the way, so that a process that is killed sends few runs
// again, and only one to a slow destination; the caller stores the last position.
func (d *delivery) send(ctx context.Context, s *spool.Session, out *pending, st *State) error {
	runs := out.runs
	if d.dst.Join != nil {
		runs = join(runs, d.dst.Join)
	}
	noted := d.Now()
	q := queue{runs: slices.Clone(runs), most: d.dst.Batch}
	for q.next() {
		if now := d.Now(); q.at > 0 && now.Sub(noted).Abs() >= noteEvery {
			noted = now
			st.advance(out)
			if err := st.write(s, d.dst.Name); err != nil {
				return err
			}
		}
		r, left := &runs[q.at], len(runs)-q.at
		spans, refused, err := d.export(ctx, d.dst, q.batches)
		if err != nil && ctx.Err() != nil {
			// The caller has canceled, which says nothing about the destination.
			d.res.Waiting += left
			return ctx.Err()
		}
		f := classify(err)
		if q.n > 1 && (refused.spans > 0 || err != nil && (!f.retry || f.answered)) {
			q.separate()
			continue
		}
		if err != nil && !f.retry && d.KeepRefused && !refused.all {
			// Without a local store the log is the only copy, and the cause may be
			// fixed: the run stays.
			f.retry, f.after = true, maxBackoff
		}
		if err != nil && f.retry {
			st.failed(err, d.Now().Add(backoff(st.Attempts+1, f.after)))
			d.res.Waiting += left
			d.res.fail(err)
			d.logf("%s: trace %s: %v; next try in %s", d.dst.Name, r.Trace, err, st.NextTry.Sub(d.Now()).Round(time.Second))
			return f.waits()
		}
		st.Attempts, st.NextTry, st.LastError = 0, time.Time{}, ""
		if err != nil {
			d.res.Parked++
			d.res.fail(err)
			d.logf("%s: trace %s rejected: %v", d.dst.Name, r.Trace, err)
			st.park(Parked{Ref: r.Ref, Joined: r.joined, At: d.Now(), Spans: spans, Error: err.Error()})
		} else {
			d.delivered(st, r.Trace, q.n, spans, refused)
		}
		st.answered(runs[q.at : q.at+q.n])
	}
	return nil
}

// delivered counts runs that the destination took, and reports the spans of them
// that it refused.
func (d *delivery) delivered(st *State, trace string, runs, spans int, refused refusal) {
	st.Runs += int64(runs)
	st.Spans += int64(spans - refused.spans)
	st.Rejected += int64(refused.spans)
	d.res.Runs += runs
	d.res.Spans += spans - refused.spans
	if refused.spans > 0 {
		err := fmt.Errorf("trace %s: %d of %d spans rejected: %w", trace, refused.spans, spans, refused.why)
		d.res.fail(err)
		d.logf("%s: %v", d.dst.Name, err)
	}
}

// Send exports the spans of one run that is in no session's log, such as an
// imported one. It returns how many of them were rejected, and an error if the
// destination did not take the run; see Retryable.
func (d *Deliverer) Send(ctx context.Context, dst *Destination, messages []*tracepb.ResourceSpans) (refused int, err error) {
	_, r, err := d.export(ctx, dst, batches(messages, dst.Batch))
	return r.spans, err
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

// export sends the spans of one run and counts them. It fails if the destination
// refuses every span. After a failure that is final the rest is only counted.
func (d *Deliverer) export(ctx context.Context, dst *Destination, batches iter.Seq[[]*tracepb.ResourceSpans]) (spans int, refused refusal, err error) {
	defer func() {
		if e := recover(); e != nil {
			err = &Error{Err: fmt.Errorf("panic: %v", e), RunOnly: true}
		}
	}()
	for batch := range batches {
		spans += otlp.Count(batch)
		if err == nil {
			err = d.exportBatch(ctx, dst, batch, &refused)
		}
		if err != nil && Retryable(err) {
			break
		}
	}
	if err == nil && refused.spans >= spans {
		refused.all, err = true, refused.why
	}
	return spans, refused, err
}

// exportBatch sends one batch, in halves if the destination finds it too large. A
// span that is too large by itself is refused without the others.
func (d *Deliverer) exportBatch(ctx context.Context, dst *Destination, batch []*tracepb.ResourceSpans, refused *refusal) error {
	err := d.call(ctx, dst, batch)
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	spans := otlp.Count(batch)
	switch {
	case e.Rejected != 0:
		// The server's number may be wrong.
		refused.add(int(min(max(e.Rejected, 0), int64(spans))), err)
		return nil
	case !e.TooLarge:
		return err
	case spans == 1:
		refused.add(1, err)
		return nil
	}
	for _, half := range otlp.Split(batch, (spans+1)/2) {
		if err := d.exportBatch(ctx, dst, half, refused); err != nil {
			return err
		}
	}
	return nil
}

func (d *Deliverer) call(ctx context.Context, dst *Destination, batch []*tracepb.ResourceSpans) error {
	timeout := dst.Timeout
	if timeout <= 0 {
		timeout = 30 * time.Second
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

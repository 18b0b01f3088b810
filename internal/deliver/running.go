package deliver

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/spool"
)

// Running returns the runs of all sessions that have not ended, or have just done so and are
// not delivered: that waits for what an agent has still to write. There is a message for
// each, the newest first. They are read from the spool, behind the position of a destination, and
// nothing is sent or written. A session that cannot be read is in the error.
func (d *Deliverer) Running(ctx context.Context, destination string) (out []*tracepb.ResourceSpans, err error) {
	keys, err := d.Spool.Sessions()
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, k := range keys {
		var runs []*tracepb.ResourceSpans
		err := guarded(k, func() (err error) {
			runs, err = d.running(ctx, k, destination)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		out = append(out, runs...)
	}
	started := func(rs *tracepb.ResourceSpans) int64 {
		for s := range otlp.Spans([]*tracepb.ResourceSpans{rs}) {
			return int64(s.GetStartTimeUnixNano()) //nolint:gosec // Before 2262, as all of them.
		}
		return 0
	}
	slices.SortStableFunc(out, func(x, y *tracepb.ResourceSpans) int { return int(min(1, max(-1, started(y)-started(x)))) })
	return out, errors.Join(errs...)
}

func (d *Deliverer) running(ctx context.Context, k spool.Key, destination string) (out []*tracepb.ResourceSpans, err error) {
	src, known := d.Sources[k.Host]
	if !known {
		return nil, nil
	}
	s, err := d.Spool.Session(k)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if last, err := s.ModTime(); err != nil || hook.Elapsed(d.Now(), last, d.idle()) {
		return nil, err
	}
	st, size, follows, err := readPosition(s, destination)
	if err != nil || follows && size == st.Offset {
		return nil, err
	}
	if !follows {
		st.restart()
	}
	r, err := s.Reader(st.Offset)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	p := d.reading(k, st)
	if err := cmp.Or(p.read(r, math.MaxInt64), r.Err()); p.builder == nil || err != nil {
		return nil, err
	}
	p.endSilently(ctx)
	now := d.Now()
	for _, run := range p.builder.Runs(now) {
		ended := run.Ended && (p.silently.IsZero() || run.EndedAt.Before(p.silently))
		if ended && now.Sub(run.EndedAt) > 2*undecided || run.Repeated || st.Done[run.ID.String()] {
			continue
		}
		facts := p.facts
		facts.Since = run.Begun().Add(-fileLead)
		var tr *hook.Transcript
		if src.Transcript != nil {
			// What cannot be read of the files now is there when the run has ended.
			tr, _ = src.Transcript(ctx, p.session, facts)
		}
		if run.Ended {
			out = append(out, p.Mapped(p.memory, run, func() *tracepb.ResourceSpans { return p.builder.Spans(run, tr) })) // which is not delivered yet
			continue
		}
		out = append(out, p.Mapped(p.memory, run, func() *tracepb.ResourceSpans { return p.builder.OpenSpans(run, tr, now) }))
	}
	return out, ctx.Err()
}

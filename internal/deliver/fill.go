package deliver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap/step"
)

// StoredTrace names a trace of the local store.
type StoredTrace struct {
	ID      string
	Session string
}

// Filled is what Fill did.
type Filled struct {
	// Traces and Spans count what the destination took, Refused the traces that it
	// rejected, Left those that were not sent.
	Traces  int `json:"traces"`
	Spans   int `json:"spans"`
	Refused int `json:"refused"`
	Left    int `json:"left"`
	// Denied are those of the rejected traces with which the sender was refused, and not
	// they.
	Denied []string `json:"denied,omitempty"`
	// Next is the first trace that was not sent, if any.
	Next string `json:"next,omitempty"`
	// Errors holds each different error once.
	Errors []string `json:"errors,omitempty"`
}

func (f *Filled) fail(err error) {
	if t := err.Error(); !slices.Contains(f.Errors, t) {
		f.Errors = append(f.Errors, t)
	}
}

const (
	// fillTries is how often Fill tries the same spans.
	fillTries = 4
	// fillWait is the wait before the second try, which doubles each time, and
	// fillMaxWait the longest one that a destination can ask for.
	fillWait    = time.Second
	fillMaxWait = time.Minute
	// fillRefused is how many traces may be rejected before any is taken: then the
	// cause is not in the traces.
	fillRefused = 3
)

// Fill sends stored traces to a destination in their order; get reads one, and returns
// nothing for one that is not there any more, which is left out. It stops
// when the destination does not answer or rejects the first traces, and reports what
// is left. It neither reads nor changes the spool. The error is ctx's or get's.
func (d *Deliverer) Fill(ctx context.Context, dst *Destination, traces []StoredTrace,
	get func(ctx context.Context, id string) ([]*tracepb.ResourceSpans, error),
) (Filled, error) {
	f := &filling{Deliverer: d, dst: dst, get: get}
	// Where a session is one document, its traces go together.
	for _, t := range traces {
		i := -1
		if dst.Join != nil && t.Session != "" {
			i = slices.IndexFunc(f.todo, func(u fillUnit) bool { return u.session == t.Session })
		}
		if i < 0 {
			f.todo = append(f.todo, fillUnit{session: t.Session})
			i = len(f.todo) - 1
		}
		f.todo[i].ids = append(f.todo[i].ids, t.ID)
	}
	var err error
	for err == nil && len(f.todo) > 0 {
		var group []fillUnit
		if group, err = f.next(ctx); err == nil {
			err = f.send(ctx, group)
		}
	}
	for _, u := range f.todo {
		f.Filled.Left += len(u.ids)
	}
	if len(f.todo) > 0 {
		f.Filled.Next = f.todo[0].ids[0]
	}
	if errors.Is(err, errDown) {
		err = nil
	}
	return f.Filled, err
}

// filling is the state of Fill.
type filling struct {
	*Deliverer
	Filled Filled
	dst    *Destination
	get    func(ctx context.Context, id string) ([]*tracepb.ResourceSpans, error)
	todo   []fillUnit
	// denials counts the refusals of the sender in a row.
	denials int
}

// fillUnit is a trace, or those of a session that are sent as one.
type fillUnit struct {
	ids     []string
	session string
	// gone counts the traces that are not there any more.
	gone int
	// requests are sent one after the other.
	requests [][]*tracepb.ResourceSpans
	spans    int
}

// next reads the next units, together as many as the destination takes at once.
func (f *filling) next(ctx context.Context) ([]fillUnit, error) {
	spans := 0
	for i := range f.todo {
		u := &f.todo[i]
		if u.requests == nil {
			if err := f.read(ctx, u); err != nil {
				if i > 0 {
					return f.todo[:i], nil // which can be sent; the next call fails
				}
				return nil, err
			}
		}
		spans += u.spans
		if i > 0 && spans > f.dst.Batch {
			return f.todo[:i], nil
		}
	}
	return f.todo, nil
}

// read reads a unit from the store, without secrets and with the texts that the destination
// gets now.
func (f *filling) read(ctx context.Context, u *fillUnit) error {
	var runs []*tracepb.ResourceSpans
	u.gone = 0
	for _, id := range u.ids {
		messages, err := f.get(ctx, id)
		if err != nil {
			return err
		}
		if len(messages) == 0 {
			u.gone++
			continue
		}
		messages = slices.Clone(messages)
		for i := range messages {
			messages[i] = f.Clean(messages[i])
		}
		to := stricter(f.dst.Capture, f.Map.Capture)
		if f.Less != nil {
			less, err := f.Less(ctx, id, f.dst.Name)
			if err != nil {
				return err
			}
			to = stricter(to, less)
		}
		messages = f.Narrow(to, messages)
		u.spans += otlp.Count(messages)
		switch {
		case f.dst.Join != nil:
			for _, run := range runsOf(messages) {
				runs = append(runs, rootFirst(run))
			}
		case f.dst.Batch == 0: // each request makes a document
			u.requests = append(u.requests, runsOf(messages)...)
		default:
			u.requests = append(u.requests, messages)
		}
	}
	if f.dst.Join != nil && len(runs) > 0 {
		u.requests = [][]*tracepb.ResourceSpans{{f.dst.Join(runs)}}
	}
	return nil
}

// runsOf splits a trace that holds several runs, as delivery sends them.
func runsOf(messages []*tracepb.ResourceSpans) (runs [][]*tracepb.ResourceSpans) {
	var roots []string
	for s := range otlp.Spans(messages) {
		if step.Of(s).Host() != "" {
			roots = append(roots, otlp.SpanID(s))
		}
	}
	sent := make(map[string]bool)
	for _, root := range roots {
		run := otlp.Select(subtree(messages, root), func(s *tracepb.Span) bool { return !sent[otlp.SpanID(s)] })
		for s := range otlp.Spans(run) {
			sent[otlp.SpanID(s)] = true
		}
		if len(run) > 0 {
			runs = append(runs, run)
		}
	}
	rest := otlp.Select(messages, func(s *tracepb.Span) bool { return !sent[otlp.SpanID(s)] })
	switch {
	case len(rest) > 0 && len(runs) > 0:
		runs[0] = append(runs[0], rest...) // spans without a root belong to the first run
	case len(rest) > 0:
		runs = append(runs, rest)
	}
	return runs
}

// send sends units, and each alone if the destination does not take them together.
// What was answered for is removed from todo. errDown ends the filling.
func (f *filling) send(ctx context.Context, group []fillUnit) error {
	requests := group[0].requests
	if len(group) > 1 {
		var together []*tracepb.ResourceSpans
		for _, u := range group {
			together = append(together, slices.Concat(u.requests...)...)
		}
		requests = [][]*tracepb.ResourceSpans{otlp.Merge(together)}
	}
	spans, rejected := 0, 0
	var err error
	for _, request := range requests {
		n, refused, sendErr := f.try(ctx, request)
		spans, rejected = spans+n, rejected+refused.spans
		if refused.spans > 0 && !refused.all && len(group) == 1 {
			f.Filled.fail(fmt.Errorf("trace %s: %d of %d spans rejected: %w", group[0].ids[0], refused.spans, n, refused.why))
		}
		if err = sendErr; err != nil {
			break
		}
	}
	again := classify(err)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case len(group) > 1 && (rejected > 0 || err != nil && (!again.retry || again.answered)):
		for _, u := range slices.Clone(group) {
			if err := f.send(ctx, []fillUnit{u}); err != nil {
				return err
			}
		}
		return nil
	case err != nil && again.retry:
		f.Filled.fail(err)
		return errDown
	case err != nil:
		if again.denied {
			f.Filled.Denied = append(f.Filled.Denied, group[0].ids...)
		}
		f.Filled.fail(fmt.Errorf("trace %s: %w", group[0].ids[0], err))
		if again.denied {
			f.denials++
		} else {
			f.denials = 0
		}
		f.Filled.Refused += len(group[0].ids)
		if f.Filled.Traces == 0 && f.Filled.Refused >= fillRefused || f.denials >= maxFailures {
			f.done(group)
			return errDown
		}
	default:
		f.denials = 0
		for _, u := range group {
			f.Filled.Traces += len(u.ids) - u.gone
		}
		f.Filled.Spans += spans - rejected
	}
	f.done(group)
	return nil
}

// done removes units from the beginning of todo.
func (f *filling) done(group []fillUnit) {
	f.todo = f.todo[len(group):]
	for range group {
		if f.Progress != nil {
			f.Progress()
		}
	}
}

// try sends spans, again after a wait if that can help.
func (f *filling) try(ctx context.Context, messages []*tracepb.ResourceSpans) (spans int, refused refusal, err error) {
	wait := fillWait
	for n := 1; ; n++ {
		spans, refused, err = f.exportAll(ctx, f.dst, messages)
		again := classify(err)
		if err == nil || !again.retry || n == fillTries || again.after > fillMaxWait {
			return spans, refused, err
		}
		if sleepErr := f.Sleep(ctx, max(wait, again.after)); sleepErr != nil {
			return spans, refused, err
		}
		wait *= 2
	}
}

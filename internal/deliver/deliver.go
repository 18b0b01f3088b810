package deliver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// Client sends spans. It is the part of otlptrace.Client that delivery calls.
type Client interface {
	// UploadTraces may be called concurrently and must not change the messages.
	// An error may implement Retryable() bool and RetryAfter() time.Duration.
	UploadTraces(ctx context.Context, messages []*tracepb.ResourceSpans) error
}

// Destination is a place spans go to.
type Destination struct {
	// Name is "store", "otlp", "infinium" or "file".
	Name string
	// Client sends the spans there.
	Client Client
	// Local reports that what goes there stays on this machine, in the user's own
	// files.
	Local bool
	// Batch is the largest number of spans in one call; if zero, a run goes
	// whole.
	Batch int
	// Timeout bounds one call; if zero, 30 s.
	Timeout time.Duration
	// Join makes one run of a session's runs, each with its root first. If set,
	// the runs of a session go together once the session is over, those of a
	// session that goes on afterwards again together.
	Join func(runs []*tracepb.ResourceSpans) *tracepb.ResourceSpans
}

// Deliverer moves sessions to destinations.
type Deliverer struct {
	Spool        *spool.Spool
	Sources      map[string]Source
	Map          otelmap.Options
	Destinations []Destination
	// Redact removes secrets from spans before any destination sees them; it
	// must not change its argument. If nil, spans go as they are.
	Redact func(*tracepb.ResourceSpans) *tracepb.ResourceSpans
	// Judge tells of a record's settings how much may be captured of it and
	// whether this process has the same: two projects may send to two places, and
	// what was recorded for one must not go to the other because a hook of that
	// one started the delivery. If nil, all have the same.
	Judge func(settings string) (capture otelmap.Capture, same bool)
	// Stored reads a trace back from the local store, for what a destination
	// refused and is to be sent again. If nil, that is not sent again.
	Stored func(ctx context.Context, trace string) ([]*tracepb.ResourceSpans, error)
	// KeepRefused leaves what a destination rejected in the log and tries
	// it again now and then, for when there is no local store to send it from.
	KeepRefused bool
	// SyncLog makes the log durable before anything of it is sent.
	SyncLog bool
	// Window is how much of a log is read before what has ended in it is
	// delivered, in bytes; if zero, 4 MiB. More is read where no run has ended in
	// as much.
	Window int64
	// Now and Sleep are the clock. Sleep returns early with ctx's error.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
	// Log takes one line; if nil, it is dropped.
	Log func(line string)
	// Answered is called after each call of a client with its error, or nil,
	// unless the caller's context ended meanwhile; if nil, nothing is reported.
	// Calls may come from several goroutines.
	Answered func(destination string, err error)
	// Progress is called after each session a destination is through with; if
	// nil, nothing is told. Calls may come from several goroutines.
	Progress func()
}

// Pass says how one delivery treats what is not due by itself.
type Pass struct {
	// Force tries destinations at once, whatever next try is stored, and sends
	// again what they rejected.
	Force bool
	// Wait waits for other processes that deliver the same sessions. Without
	// it these sessions are left to them.
	Wait bool
	// Elsewhere delivers sessions that were recorded under other settings, too.
	Elsewhere bool
	// Sessions limits the pass; empty means all.
	Sessions []spool.Key
}

// Result is what a pass did for one destination.
type Result struct {
	Destination string `json:"destination"`
	// Runs and Spans were delivered in this pass; spans that the destination
	// refused are not among them.
	Runs  int `json:"runs"`
	Spans int `json:"spans"`
	// Waiting counts the runs that are due but not delivered, Parked those that
	// were rejected in this pass. A pass that is not forced counts a
	// session whose next try is not due as one run, and of a long log that was not
	// taken the runs in its first part alone.
	Waiting int `json:"waiting"`
	// Elsewhere counts the sessions that wait for a process with their settings,
	// Busy those that another process is delivering now.
	Elsewhere int `json:"elsewhere,omitempty"`
	Busy      int `json:"busy,omitempty"`
	Parked    int `json:"parked"`
	// Errors are what went wrong, one line for each different text.
	Errors []string `json:"errors,omitempty"`
}

func (r *Result) fail(err error) {
	if t := err.Error(); !slices.Contains(r.Errors, t) {
		r.Errors = append(r.Errors, t)
	}
}

// Run delivers what is due and returns one result for each destination, in
// their order. The error is about the spool itself; what a destination answered
// stands in its result.
func (d *Deliverer) Run(ctx context.Context, p Pass) ([]Result, error) {
	keys := p.Sessions
	if len(keys) == 0 {
		var err error
		if keys, err = d.Spool.Sessions(); err != nil {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
	}
	cache := &cache{}
	results := make([]Result, len(d.Destinations))
	var wg sync.WaitGroup
	for i := range d.Destinations {
		results[i].Destination = d.Destinations[i].Name
		one := &delivery{Deliverer: d, dst: &d.Destinations[i], pass: p, cache: cache, res: &results[i]}
		wg.Go(func() { one.sessions(ctx, keys) })
	}
	wg.Wait()
	return results, ctx.Err()
}

// delivery is one destination's part of a pass.
type delivery struct {
	*Deliverer
	dst   *Destination
	pass  Pass
	cache *cache
	res   *Result
	// down reports that the destination did not answer in this pass.
	down bool
}

// sessions takes the destination through the sessions. When it does not
// answer, the rest of the sessions waits for a later pass: each would only
// time out again. A run that it answers with a failure holds up its own session
// alone.
func (d *delivery) sessions(ctx context.Context, keys []spool.Key) {
	for _, k := range keys {
		if ctx.Err() != nil {
			d.res.fail(ctx.Err())
			return
		}
		err := d.session(ctx, k)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errWaits):
		case errors.Is(err, errDown):
			d.down = true
		case err != nil:
			d.res.fail(err)
			d.logf("%s: %v", d.dst.Name, err)
		}
		if d.Progress != nil {
			d.Progress()
		}
	}
}

// A destination did not take a run that should be tried again: errDown is its
// own state, errWaits may be the run's.
var (
	errDown  = errors.New("destination is down")
	errWaits = errors.New("a run waits for its next try")
)

// visit is what one delivery of a session found.
type visit struct {
	// size is the log's size before it was read.
	size int64
	// waiting is how long the last run still has to settle.
	waiting time.Duration
	// later reports that what is there must wait for its next try.
	later bool
	// more reports that only a part of the log was read.
	more bool
}

// session delivers one session to one destination until nothing new has been
// stored meanwhile. Another process that finds the session's lock taken leaves,
// so the holder owes it a look at what was stored while it held the lock,
// settling runs included.
func (d *delivery) session(ctx context.Context, k spool.Key) error {
	s, err := d.Spool.Session(k)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	// What is refused again is not asked for a second time in one pass.
	resend := d.pass.Force && !d.down
	for {
		unlock, ok, err := d.lock(ctx, s, d.dst.Name, d.pass.Wait)
		if err != nil {
			return err
		}
		if !ok {
			d.res.Busy++
			return nil
		}
		if resend {
			resend, err = false, d.resend(ctx, s)
		}
		var v visit
		if err == nil {
			v, err = d.once(ctx, s)
		}
		if uerr := unlock(); err == nil {
			err = uerr
		}
		if err != nil || v.later {
			return err
		}
		if v.more {
			continue
		}
		if v.waiting > 0 {
			if err := d.Sleep(ctx, v.waiting); err != nil {
				return err
			}
			continue
		}
		// The size before reading is compared, not the place where reading
		// ended: a torn end stays behind that for ever.
		size, err := s.Size()
		if err != nil {
			return err
		}
		if size <= v.size {
			return nil
		}
	}
}

func (d *Deliverer) lock(ctx context.Context, s *spool.Session, name string, wait bool) (func() error, bool, error) {
	if wait {
		unlock, err := s.Lock(ctx, name)
		return unlock, err == nil, err
	}
	return s.TryLock(name)
}

// once delivers what is due now.
func (d *delivery) once(ctx context.Context, s *spool.Session) (visit, error) {
	st, err := ReadState(s, d.dst.Name)
	if err != nil {
		return visit{}, err
	}
	size, err := s.Size()
	if err != nil {
		return visit{}, err
	}
	follows, err := st.follows(s, size)
	if err != nil {
		return visit{}, err
	}
	if !follows {
		d.logf("%s: session %s: the log has %d bytes, %d were delivered: it was cut or made anew and is read from its start",
			d.dst.Name, s.Key().Name, size, st.Offset)
		st.restart()
		if err := st.write(s, d.dst.Name); err != nil {
			return visit{}, err
		}
	}
	if size == st.Offset {
		return visit{size: size}, nil
	}
	if d.dst.Join != nil && d.goesOn(s, st.Offset, size) {
		return visit{size: size}, nil
	}
	if !d.pass.Force && d.Now().Before(st.NextTry) {
		// Reading what cannot be sent would make each turn cost more than the one
		// before for as long as the destination is down.
		d.res.Waiting++
		if st.LastError != "" {
			d.res.fail(errors.New(st.LastError))
		}
		return visit{later: true}, nil
	}
	out, err := d.cache.get(ctx, d.Deliverer, s, st, size, d.dst.Join != nil)
	if err != nil {
		return visit{}, err
	}
	if out.elsewhere && !d.dst.Local && !d.pass.Elsewhere {
		if len(out.runs) == 0 {
			return visit{size: size, waiting: out.waiting}, nil
		}
		d.res.Elsewhere++
		return visit{later: true}, nil
	}
	st.Host, st.Session = out.host, out.session
	if d.down {
		d.res.Waiting += len(out.runs)
		if st.LastError != "" {
			d.res.fail(errors.New(st.LastError))
		}
		return visit{later: true}, d.countRest(ctx, s, st, out)
	}
	if d.dst.Join != nil && len(out.runs) > 0 && (!out.over || out.waiting > 0) {
		// All of the session goes at once: also what is still settling.
		return visit{size: size, waiting: out.waiting}, nil
	}
	before := st.Offset
	sendErr := d.send(ctx, s, out, st)
	st.advance(out)
	if len(out.runs) > 0 || st.Offset != before {
		if err := st.write(s, d.dst.Name); err != nil {
			return visit{}, err
		}
	}
	if sendErr != nil {
		return visit{}, errors.Join(sendErr, d.countRest(ctx, s, st, out))
	}
	return visit{size: size, waiting: out.waiting, more: out.more}, nil
}

// countRest counts the runs behind the part of the log that was read as waiting.
// Only the report of a forced pass needs the exact number: for another pass a
// long log is not read in vain.
func (d *delivery) countRest(ctx context.Context, s *spool.Session, st *State, out *pending) error {
	scratch := *st
	scratch.Done = maps.Clone(st.Done)
	for d.pass.Force && out.more && ctx.Err() == nil {
		scratch.answered(out.runs)
		scratch.advance(out)
		var err error
		if out, err = d.prepare(ctx, s, &scratch, d.dst.Join != nil); err != nil {
			return err
		}
		d.res.Waiting += len(out.runs)
	}
	return nil
}

// noteEvery is how old the note of what was answered for may be when the next run
// goes. A note waits for the disk, ten times as long as a destination nearby takes
// for a run.
const noteEvery = 50 * time.Millisecond

// send hands the runs to the client in order, up to the first that should be
// tried again. Answers are noted on the way, so that a process that is killed
// sends few runs again, of a slow destination one; the caller notes the last.
func (d *delivery) send(ctx context.Context, s *spool.Session, out *pending, st *State) error {
	runs := out.runs
	if d.dst.Join != nil {
		runs = join(runs, d.dst.Join)
	}
	noted := d.Now()
	q := queue{runs: runs, most: d.dst.Batch}
	for q.next() {
		if now := d.Now(); q.at > 0 && now.Sub(noted).Abs() >= noteEvery {
			noted = now
			st.advance(out)
			if err := st.write(s, d.dst.Name); err != nil {
				return err
			}
		}
		r, left := &runs[q.at], len(runs)-q.at
		refused, err := d.export(ctx, d.dst, q.spans)
		if err != nil && ctx.Err() != nil {
			// The one who asked went away: that says nothing of the destination.
			d.res.Waiting += left
			return ctx.Err()
		}
		retry, after := classify(err)
		if q.n > 1 && (refused.spans > 0 || err != nil && (!retry || answered(err))) {
			q.separate()
			continue
		}
		if err != nil && !retry && d.KeepRefused {
			// Without a local store the log is the only copy: it must not be
			// passed, and the cause may be mended.
			retry, after = true, maxBackoff
		}
		if err != nil && retry {
			st.Attempts++
			st.NextTry = d.Now().Add(backoff(st.Attempts, after))
			st.LastError = err.Error()
			d.res.Waiting += left
			d.res.fail(err)
			d.logf("%s: trace %s: %v; next try in %s", d.dst.Name, r.Trace, err,
				st.NextTry.Sub(d.Now()).Round(time.Second))
			if answered(err) {
				return errWaits
			}
			return errDown
		}
		spans := otlp.Count(q.spans)
		if err == nil && refused.spans >= spans {
			err = refused.why
		}
		st.Attempts, st.NextTry, st.LastError = 0, time.Time{}, ""
		if err != nil {
			st.park(Parked{Ref: r.Ref, Joined: r.joined, At: d.Now(), Spans: spans, Error: err.Error()})
			d.res.Parked++
			d.res.fail(err)
			d.logf("%s: trace %s rejected: %v", d.dst.Name, r.Trace, err)
		} else {
			st.delivered(q.n, spans, refused.spans)
			d.res.Runs += q.n
			d.res.Spans += spans - refused.spans
		}
		if err == nil && refused.spans > 0 {
			err := fmt.Errorf("trace %s: %d of %d spans rejected: %w", r.Trace, refused.spans, spans, refused.why)
			d.res.fail(err)
			d.logf("%s: %v", d.dst.Name, err)
		}
		st.answered(runs[q.at : q.at+q.n])
	}
	return nil
}

// Send exports the spans of one run outside any session's log, such as those of
// an import, and returns how many of them were rejected. An error may
// implement Retryable() bool: then it can be tried again.
func (d *Deliverer) Send(ctx context.Context, dst *Destination, messages []*tracepb.ResourceSpans) (refused int, err error) {
	r, err := d.export(ctx, dst, messages)
	if err == nil && r.spans >= otlp.Count(messages) {
		err = r.why
	}
	return r.spans, err
}

// refusal counts the spans of a run that a destination refused while it took
// the others: sending them again cannot help.
type refusal struct {
	spans int
	// why is what it said the first time.
	why error
}

func (r *refusal) add(spans int, why error) {
	r.spans += spans
	if r.why == nil {
		r.why = why
	}
}

// export sends the spans of one run in batches.
func (d *Deliverer) export(ctx context.Context, dst *Destination, messages []*tracepb.ResourceSpans) (refused refusal, err error) {
	size := dst.Batch
	if size <= 0 {
		size = math.MaxInt
	}
	for _, part := range otlp.Split(messages, size) {
		if err := d.exportPart(ctx, dst, part, &refused); err != nil {
			return refused, err
		}
	}
	return refused, nil
}

// exportPart sends one batch, in halves when the destination finds it too
// large. A span that is too large by itself is refused without harm to the
// others.
func (d *Deliverer) exportPart(ctx context.Context, dst *Destination, part []*tracepb.ResourceSpans, refused *refusal) error {
	err := d.call(ctx, dst, part)
	spans := otlp.Count(part)
	var e *Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &e):
		return err
	case e.Partial:
		// What a server counts is not to be trusted with our own figures.
		refused.add(int(min(max(e.Rejected, 0), int64(spans))), err)
		return nil
	case !e.TooLarge:
		return err
	case spans == 1:
		refused.add(1, err)
		return nil
	}
	for _, half := range otlp.Split(part, (spans+1)/2) {
		if err := d.exportPart(ctx, dst, half, refused); err != nil {
			return err
		}
	}
	return nil
}

func (d *Deliverer) call(ctx context.Context, dst *Destination, part []*tracepb.ResourceSpans) error {
	timeout := dst.Timeout
	if timeout <= 0 {
		timeout = 30 * time.Second
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := dst.Client.UploadTraces(within, part)
	// What the client says around an error of ours names the endpoint twice.
	if e := (*Error)(nil); errors.As(err, &e) {
		err = e
	}
	if d.Answered != nil && (err == nil || ctx.Err() == nil) {
		d.Answered(dst.Name, err)
	}
	return err
}

func (d *Deliverer) logf(format string, args ...any) {
	if d.Log != nil {
		d.Log(fmt.Sprintf(format, args...))
	}
}

package deliver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

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

// idle is how long a session that is at work may be silent.
func (d *Deliverer) idle() time.Duration {
	return cmp.Or(d.Map.IdleTimeout, otelmap.DefaultIdleTimeout)
}

func (d *Deliverer) logf(format string, args ...any) {
	if d.Log != nil {
		d.Log(fmt.Sprintf(format, args...))
	}
}

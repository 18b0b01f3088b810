package deliver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/checkout"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// Client sends spans. It is the part of otlptrace.Client that delivery calls.
type Client interface {
	// UploadTraces may be called concurrently and must not change the messages.
	// An error may implement Retryable() bool and RetryAfter() time.Duration.
	UploadTraces(ctx context.Context, messages []*tracepb.ResourceSpans) error
}

// Destination receives spans.
type Destination struct {
	// Name is "store", "otlp", "infinium" or "file".
	Name   string
	Client Client
	// Local reports that the spans stay on this machine, in the user's files.
	Local bool
	// Capture is how much of the texts goes there, if that is less than Deliverer.Map says.
	Capture otelmap.Capture
	// Batch is the largest number of spans in one call; if zero, there is no
	// limit.
	Batch int
	// Bytes is the largest size of the spans in one call, as protobuf, unless one alone is
	// larger; if zero, there is no limit.
	Bytes int
	// Timeout bounds one call; if zero, 30 s and 1 ms for each span: a task of 10^5 spans
	// goes to the store in one transaction, which takes minutes on a busy machine.
	Timeout time.Duration
	// Target is the address, without a credential: what was sent in part to another
	// one is sent as a whole.
	Target string
	// Account tells the accounts at Target apart, without a credential: what one has in part,
	// another gets as a whole.
	Account string
	// Paused returns until when the destination has asked all senders to wait, zero if
	// it has not; if nil, it never has.
	Paused func() time.Time
	// Taken returns when the destination has last taken something, zero if never; if nil,
	// that is not known.
	Taken func() time.Time
	// Denials returns how often in a row the destination has refused the sender; if nil, that
	// is not known.
	Denials func() int
	// Join makes one run of a session's runs, each with its root first. If set,
	// the runs of a session are sent together when the session ends, and again
	// those of a session that was continued. If nil, each run is sent when it ends.
	Join func(runs []*tracepb.ResourceSpans) *tracepb.ResourceSpans
}

// Terms are the settings of a record that hold whichever process delivers it.
type Terms struct {
	Capture otelmap.Capture
	// MaxInput and MaxOutput are limits of previews, zero for none.
	MaxInput, MaxOutput int
	// Rules names redaction rules that apply besides those of this process.
	Rules string
	// Less are the captures of the destinations, by name, that get less.
	Less map[string]otelmap.Capture
}

// Memory removes secrets from the texts of a session, and remembers them: a value that was
// removed once in a run is removed wherever it comes again in it.
type Memory interface {
	// Clean is as otelmap.Options.Clean has it. At says that the texts from now on are of the
	// event at an offset.
	Clean(text string, max int) string
	At(offset int64)
	// Redact is as Deliverer.Redact. The values count that were removed from the texts of
	// events whose offsets belong to the run.
	Redact(spans *tracepb.ResourceSpans, belongs func(offset int64) bool) *tracepb.ResourceSpans
}

// Deliverer moves sessions to destinations.
type Deliverer struct {
	Spool        *spool.Spool
	Sources      map[string]Source
	Map          otelmap.Options
	Destinations []Destination
	// Redact removes secrets from the spans for all destinations; it must not
	// change its argument. If nil, the spans are not changed.
	Redact func(*tracepb.ResourceSpans) *tracepb.ResourceSpans
	// Judge reads the settings of a record. here reports that the record may go where this
	// process sends: what was recorded for one project's destination must not be sent to
	// another project's, because a hook of that project started the delivery. If nil, all
	// records may be sent by this process, under its settings alone.
	Judge func(settings string) (t Terms, here bool)
	// Memory returns what replaces Map.Clean and Redact for the runs of one session, some of
	// which may be recorded under redaction rules too, by the names in Terms. It may be nil if
	// Judge names none, and so may its result if nothing is redacted.
	Memory func(rules []string) (Memory, error)
	// NoteLess notes in the local store how much of a trace's texts other destinations get at most,
	// by the records of a run, before it is stored, and Less returns it for Fill. Either may be nil.
	NoteLess func(ctx context.Context, trace string, less map[string]otelmap.Capture) error
	Less     func(ctx context.Context, trace, destination string) (otelmap.Capture, error)
	// Look looks at the worktree that a folder belongs to. If nil, nothing does.
	Look func(dir string) *checkout.Look
	// Stored are the root spans of the stored runs that Forget forgets, by session, besides those
	// that have ended in the log.
	Stored map[spool.Key][]string
	// KeepRefused tries rejected runs again from time to time. It is for a setup
	// without a local store.
	KeepRefused bool
	// SyncLog makes a log durable before its runs are sent.
	SyncLog bool
	// Window is how much of a log is read before its ended runs are delivered, in
	// bytes; if zero, 4 MiB. If no run has ended in that part, more is read. A run
	// that is longer is mapped and sent in batches.
	Window int64
	// LongRun is called when a run needs more memory than MemoryLimit; it may be nil.
	LongRun func()
	// Now and Sleep are the clock. Sleep returns early with ctx's error.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
	// Log takes one line; if nil, it is dropped.
	Log func(line string)
	// Answered is called after each call of a client with its error, or nil,
	// unless the caller's context ended meanwhile; if nil, nothing is reported.
	// Calls may come from several goroutines.
	Answered func(destination string, err error)
	// Progress is called after each session of each destination; it may be nil.
	// Calls may come from several goroutines.
	Progress func()
}

// Pass are the options of one delivery.
type Pass struct {
	// Force does not wait for the next try of a destination, and sends again what
	// it rejected.
	Force bool
	// Wait waits for other processes that deliver the same sessions. If it is not
	// set, these sessions are left to them.
	Wait bool
	// OtherSettings also delivers sessions that were recorded under other settings.
	OtherSettings bool
	// Sessions limits the pass; empty means all.
	Sessions []spool.Key
}

// Result is what a pass did for one destination.
type Result struct {
	Destination string `json:"destination"`
	// Runs and Spans count what was delivered in this pass, without the spans that
	// the destination refused.
	Runs  int `json:"tasks"`
	Spans int `json:"spans"`
	// Late counts the runs of which only spans of late events were sent: these were
	// stored after the run was delivered. Runs does not count them.
	Late int `json:"late,omitempty"`
	// Waiting counts the ended runs that were not delivered. Unless the pass is
	// forced, a session before its next try counts as one run, and of a long log
	// only the runs in its first part count.
	Waiting int `json:"waiting"`
	// Elsewhere counts the sessions that wait for a process with their settings,
	// Busy those that another process is delivering now.
	Elsewhere int `json:"elsewhere,omitempty"`
	Busy      int `json:"busy,omitempty"`
	// OwedElsewhere counts the imported traces that wait for a process with the settings of
	// the import.
	OwedElsewhere int `json:"owed_elsewhere,omitempty"`
	// Parked counts the runs that were rejected in this pass.
	Parked int `json:"parked"`
	// Unsent reports that metrics were not taken, which a later delivery sends.
	Unsent bool `json:"unsent,omitempty"`
	// Errors holds each different error once.
	Errors []string `json:"errors,omitempty"`
}

func (r *Result) fail(err error) {
	if t := err.Error(); !slices.Contains(r.Errors, t) {
		r.Errors = append(r.Errors, t)
	}
}

// Run delivers the ended runs and returns one result for each destination, in
// their order. Errors of a destination are in its result; the returned error is
// about the spool.
func (d *Deliverer) Run(ctx context.Context, p Pass) ([]Result, error) {
	keys, err := d.sessions(p.Sessions)
	if err != nil {
		return nil, err
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

// sessions returns the named sessions, all of them if none is.
func (d *Deliverer) sessions(named []spool.Key) ([]spool.Key, error) {
	if len(named) > 0 {
		return named, nil
	}
	all, err := d.Spool.Sessions()
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return all, nil
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

// Text shows the result to people, without its errors.
func (r *Result) Text() string {
	if r.Unsent {
		return "not delivered; kept for the next delivery"
	}
	var parts []string
	add := func(n int, what, is string) {
		if n > 0 {
			parts = append(parts, termtext.Plural(n, what)+" "+is)
		}
	}
	if r.Runs == 0 && r.Late == 0 && r.Waiting == 0 && r.Parked == 0 {
		parts = append(parts, "nothing waiting")
	}
	add(r.Busy, "session", "being delivered by another process (--wait waits for it)")
	add(r.Elsewhere, "session", "recorded under other environment variables")
	add(r.OwedElsewhere, "imported trace", "of other environment variables")
	if r.Runs > 0 {
		parts = append(parts, fmt.Sprintf("%s, %s delivered", termtext.Plural(r.Runs, "trace"), termtext.Plural(r.Spans, "span")))
	}
	if r.Runs == 0 && r.Late > 0 {
		parts = append(parts, termtext.Plural(r.Spans, "span")+" delivered")
	}
	add(r.Late, "delivered trace", "completed by events that were stored late")
	add(r.Waiting, "trace", "waiting")
	add(r.Parked, "trace", "rejected, kept here")
	return strings.Join(parts, "; ")
}

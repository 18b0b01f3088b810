package infiniumexporter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/internal/otlp"
)

// maxRequests bounds the requests at once, as many as the service's own client may
// send in a burst.
const maxRequests = 20

// sender sends one run after another and decides what an answer means for the
// run: accepted, kept for another try, or parked.
type sender struct {
	send  func(context.Context, *infinium.Trace) (id string, err error)
	forms infinium.Forms
	rate  *rate.Limiter
	slots chan struct{}
	// park writes a refused trace into a file and returns its name; nil if no
	// folder is set.
	park func(name string, td ptrace.Traces) (string, error)
	tel  *telemetry
	log  *zap.Logger

	mu       sync.Mutex
	stopping bool
	// pause is the failure for all traces until pauseUntil, as the service asked.
	pause      *refusal
	pauseUntil time.Time
	// trouble is the class of the last failure, empty after a success.
	trouble infinium.Class
}

func newLimiter(perSecond float64) *rate.Limiter {
	if perSecond == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	// The service's documents allow bursts of two seconds' requests.
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(math.Ceil(2*perSecond))))
}

// refusal is the error of a run that was not accepted.
type refusal struct {
	err error
	// after is how long the service asked to wait, zero if it did not.
	after time.Duration
	// final marks a run that is not sent again, parked a final one that was written
	// to a file, everywhere a failure that other runs would meet too.
	final, parked, everywhere bool
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// refusalOf returns the refusal within an error, or else an empty one.
func refusalOf(err error) *refusal {
	r := &refusal{}
	errors.As(err, &r)
	return r
}

// deliver sends a run and returns nil when it was accepted.
func (s *sender) deliver(ctx context.Context, run *run) error {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return &refusal{err: ctx.Err(), everywhere: true}
	}
	t, ok := run.Trace(s.forms)
	if !ok {
		s.tel.trace(ctx, "empty", run)
		s.log.Debug("Spans without their run's root, none of which Infinium shows.",
			zap.String("trace_id", run.TraceID), zap.Int("spans", len(run.items)))
		return nil
	}
	if r := s.paused(); r != nil {
		return r
	}
	if err := s.rate.Wait(ctx); err != nil {
		return &refusal{err: fmt.Errorf("waiting for requests_per_second: %w", err), everywhere: true}
	}
	// The answer to another run may have come during the wait.
	if r := s.paused(); r != nil {
		return r
	}
	_, err := s.send(ctx, &t)
	if err == nil {
		s.tel.trace(ctx, "accepted", run)
		s.accepted()
		return nil
	}
	var fail *infinium.Error
	if !errors.As(err, &fail) {
		return &refusal{err: err, everywhere: true}
	}
	// The error as this component's user reads it.
	err = errors.New(inSettings(fail.Error()))
	if ofTrace(fail) {
		return s.refuse(ctx, run, fail, err)
	}
	r := &refusal{err: err, after: fail.RetryAfter(), everywhere: !fail.Answered()}
	s.tel.trace(ctx, "failed", run)
	s.failed(fail, r)
	return r
}

// ofTrace reports a refusal that is about the trace: sending it again as it is
// cannot help. Every other failure, 401, 403 and 404 among them, is about the
// network or the agent, so that any trace would meet it; those traces are kept
// until the user has renewed the key or fixed the address.
func ofTrace(e *infinium.Error) bool {
	return e.Class == infinium.ClassTooLarge || e.Class == infinium.ClassEncode || e.Class == infinium.ClassRejected && !e.OfSender()
}

// refuse parks a run that Infinium rejects, or logs and drops it.
func (s *sender) refuse(ctx context.Context, run *run, fail *infinium.Error, err error) error {
	root := "late"
	if s := run.Root(); s != nil {
		root = otlp.SpanID(s)
	}
	fields := []zap.Field{
		zap.String("trace_id", run.TraceID), zap.String("root_span_id", root), zap.Int("spans", len(run.items)),
		zap.String("class", string(fail.Class)), zap.Int("status", fail.Status), zap.Error(err),
	}
	if s.park == nil {
		s.tel.trace(ctx, "dropped", run)
		s.log.Error("Infinium refuses this trace as it is: it is dropped. Set parked_directory to keep such traces.", fields...)
		return &refusal{err: err, final: true}
	}
	td, failed := merged(run.items)
	var file string
	if failed == nil {
		file, failed = s.park(run.TraceID+"-"+root, td)
	}
	if failed != nil {
		s.log.Error("Infinium refuses this trace as it is, and it could not be parked: it is kept and tried again.",
			append(fields, zap.NamedError("parked_directory", failed))...)
		return &refusal{err: fmt.Errorf("park a refused trace: %w", failed)}
	}
	s.tel.trace(ctx, "parked", run)
	s.log.Error("Infinium refuses this trace as it is: it is parked and not sent again. When the cause is fixed, post the file to an OTLP receiver.",
		append(fields, zap.String("file", file))...)
	// Not a success: a trace that is remembered as sent could not be sent again
	// from the file.
	return &refusal{err: err, final: true, parked: true}
}

// paused returns the failure of all runs during a pause that the service asked
// for, or while the Collector stops and the service has failed already.
func (s *sender) paused() *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pause == nil {
		return nil
	}
	left := time.Until(s.pauseUntil)
	if left <= 0 && !s.stopping {
		s.pause = nil
		return nil
	}
	r := *s.pause
	r.after = max(left, 0)
	return &r
}

func (s *sender) failed(fail *infinium.Error, r *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := r.after > 0 && (fail.Class == infinium.ClassRateLimit || fail.Status == http.StatusServiceUnavailable)
	if r.everywhere && (asked || s.stopping) {
		s.pause, s.pauseUntil = r, time.Now().Add(r.after)
	}
	if s.trouble != fail.Class {
		s.trouble = fail.Class
		s.log.Warn("Infinium does not accept traces. They are kept and sent again; when the queue is full, senders get an error.",
			zap.String("class", string(fail.Class)), zap.Int("status", fail.Status), zap.Error(r.err))
	}
}

func (s *sender) accepted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trouble != "" {
		s.trouble = ""
		s.log.Info("Infinium accepts traces again.")
	}
}

// stop makes all remaining runs fail at once after one failure of the service.
func (s *sender) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
}

// inSettings replaces the variables that package infinium names by this
// component's settings.
func inSettings(text string) string { return settings.Replace(text) }

var settings = strings.NewReplacer(
	"INFINIUM_BASE_URL", "base_url",
	"INFINIUM_AGENT_ID", "agent_id",
	"INFINIUM_AGENT_SECRET", "agent_secret",
	"CONNECTOR_MAX_INPUT_PREVIEW", "max_input_preview",
	"CONNECTOR_MAX_OUTPUT_PREVIEW", "max_output_preview",
	"; the service refuses this trace as it is; it is not sent again unless asked for", "",
)

package hookrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

const (
	// perCore is how many handlers of several events run at a time for each
	// processor, and minWidth the minimum on a small machine.
	perCore, minWidth = 4, 8
	// maxPerEvent is how many handlers of one event run at a time.
	maxPerEvent = 64
	// abandonAfter is how long Run waits for a handler after its time limit. Stopping
	// a handler takes grace and twice final.
	abandonAfter = 2 * time.Second
	// defaultTimeout is the time limit of a handler without one.
	defaultTimeout = 60 * time.Second
)

// batch is one call of Run. Unless it is documented as safe, only the goroutine of
// Run uses it.
type batch struct {
	*Runner
	*decider
	supervisor *supervisor
	runs       []*Run
	// once are the claims that were tried.
	once map[string]bool
	// twins maps an event to the earlier event that it repeats.
	twins map[int]int
	// denied reports that an event is denied.
	denied bool

	// width is how many handlers of several events run at a time, widest how many
	// of one event.
	width, widest int
	// running is how many handlers run, own how many of them for the current event.
	running, own, current int
	// first is the run that was last started while no other ran.
	first *Run
	// waiting are runs that found no resources while others ran. They are tried again
	// when another has ended.
	waiting []*Run
	ended   chan *Run

	tracing sync.Mutex
}

func (r *Runner) newBatch(handlers []hookfile.Handler) *batch {
	fds := descriptors()
	return &batch{
		Runner: r, decider: newDecider(r, handlers), supervisor: &supervisor{}, once: map[string]bool{}, twins: map[int]int{},
		width: min(fds, max(minWidth, perCore*runtime.GOMAXPROCS(0))), widest: min(fds, maxPerEvent),
		ended: make(chan *Run),
	}
}

// trace is safe for concurrent use.
func (b *batch) trace(format string, args ...any) {
	if b.Trace == nil {
		return
	}
	b.tracing.Lock()
	defer b.tracing.Unlock()
	b.Trace(format, args...)
}

// Run runs the handlers that fit the events and returns when the last one has ended
// or was abandoned. Handlers are in configuration order. Cancelling ctx stops them
// as at their time limit.
//
// The handlers of one event run side by side; those of further events start as
// room permits, and not at all once an event is denied. PreToolUse events that
// differ only in their payload run once.
//
// While handlers run, this process is the reaper of its orphans on Linux, so that a
// stopped hook leaves none.
func (r *Runner) Run(ctx context.Context, handlers []hookfile.Handler, events []Event) Result {
	limit, stop := context.WithCancel(ctx)
	defer stop()
	if r.Budget != 0 {
		limit, stop = context.WithTimeout(limit, r.Budget)
		defer stop()
	}
	b := r.newBatch(handlers)
	b.schedule(limit, events)
	res := Result{Runs: make([]Run, 0, len(b.runs)), Verdicts: make([]verdict.Verdict, len(events))}
	verdicts := make([][]verdict.Verdict, len(events))
	for _, run := range b.runs {
		res.Runs = append(res.Runs, *run)
		verdicts[run.Event] = append(verdicts[run.Event], run.Verdict)
	}
	for i, e := range events {
		if first, ok := b.twins[i]; ok {
			res.Verdicts[i] = res.Verdicts[first]
			continue
		}
		v := verdict.Merge(e.Name, verdicts[i])
		if len(verdicts[i]) > 0 {
			b.trace("%s: verdict of %d hooks: %q %s", e.Name, len(verdicts[i]), v.Decision, v.Reason)
		}
		res.Verdicts[i] = v
	}
	return res
}

// schedule starts the handlers of the events in their order and waits for them.
func (b *batch) schedule(limit context.Context, events []Event) {
	first := map[string]int{}
	for n, e := range events {
		if e.Name == preToolUse && e.Input != nil {
			key := strings.Join(append([]string{string(e.Input)}, e.Subjects...), "\x00")
			if twin, ok := first[key]; ok {
				b.twins[n] = twin
				continue
			}
			first[key] = n
		}
		if b.denied {
			break
		}
		b.current, b.own = n, 0
		b.begin(limit, n, e)
	}
	for b.running > 0 {
		b.end(limit, <-b.ended)
	}
}

// begin starts all handlers that fit an event, or none.
func (b *batch) begin(limit context.Context, n int, e Event) {
	begun := false
	for _, m := range b.decide(n, e) {
		b.trace("%s", m)
		if m.err != nil {
			begun = true
			b.refuse(m)
			continue
		}
		if !m.Matched {
			continue
		}
		inTime := b.wait(limit)
		if b.denied && !begun {
			return
		}
		begun = true
		run := &Run{Handler: m.Handler, Event: n, Async: !waitedFor(m.Handler), event: e, Doubt: m.doubt}
		if inTime && !b.claim(limit, run) {
			b.trace("%s:%d: %s: skip: it ran in this session already", m.Handler.File, m.Handler.Line, m.Handler.Event)
			continue
		}
		b.runs = append(b.runs, run)
		if !inTime || limit.Err() != nil {
			run.started(false)
			run.Started = time.Now()
			b.judge(run, stopped(limit, outcome{}), true)
			b.noteDenial(run)
			continue
		}
		b.start(limit, run)
	}
}

// claim reports whether the handler of a run may run.
func (b *batch) claim(limit context.Context, run *Run) bool {
	if !run.Handler.Once || b.Claim == nil {
		return true
	}
	key := identity(run.Handler)
	if b.once[key] {
		return false
	}
	begun, may := b.Claim(limit, key)
	if may {
		var once sync.Once
		b.once[key], run.begun = true, func(started bool) { once.Do(func() { begun(started) }) }
	}
	return may || limit.Err() != nil
}

// started ends the claim of a once handler. The first call counts.
func (r *Run) started(yes bool) {
	if r.begun != nil {
		r.begun(yes)
	}
}

// wait waits until one more handler of the current event may start, and reports
// whether that was in time.
func (b *batch) wait(limit context.Context) bool {
	for {
		select {
		case run := <-b.ended:
			b.end(limit, run)
			continue
		default:
		}
		switch {
		case limit.Err() != nil:
			return false
		case len(b.waiting) > 0:
		case b.running < b.width, b.running == b.own && b.running < b.widest:
			return true
		}
		select {
		case run := <-b.ended:
			b.end(limit, run)
		case <-limit.Done():
		}
	}
}

func (b *batch) start(limit context.Context, run *Run) {
	run.alone = b.running == 0
	if run.alone {
		b.first = run
	} else {
		b.first.alone = false
	}
	b.running++
	if run.Event == b.current {
		b.own++
	}
	go func() {
		b.run(limit, run)
		b.ended <- run
	}()
}

// end records that a run has ended.
func (b *batch) end(limit context.Context, run *Run) {
	b.running--
	if run.Event == b.current {
		b.own--
	}
	again := run.exhausted && !run.alone && limit.Err() == nil
	if again {
		b.waiting = append(b.waiting, run)
	} else {
		run.started(false)
		b.noteDenial(run)
	}
	if len(b.waiting) > 0 && (!again || b.running == 0) {
		next := b.waiting[0]
		b.waiting = b.waiting[1:]
		b.start(limit, next)
	}
}

// noteDenial records whether a run has denied its event.
func (b *batch) noteDenial(run *Run) {
	v := run.Verdict
	b.denied = b.denied || run.event.Name == preToolUse && (v.Decision == verdict.Deny || v.Stop)
}

// refuse records a handler whose matcher or rule cannot be evaluated.
func (b *batch) refuse(m Match) {
	run := &Run{Handler: m.Handler, Event: m.Event, Err: m.err.Error()}
	run.Verdict.Errors = []string{run.Err}
	if b.OnError == OnErrorDeny && m.Handler.Event == preToolUse {
		run.Verdict.Decision, run.Verdict.Reason = verdict.Deny, "a hook cannot be asked: "+run.Err
		b.denied = true
	}
	b.runs = append(b.runs, run)
}

// run runs the handler of a run and records the result.
func (b *batch) run(limit context.Context, run *Run) {
	h := run.Handler
	timeout := cmp.Or(h.Timeout, b.timeout)
	run.Started = time.Now()
	b.trace("%s:%d: %s: start, time limit %v", h.File, h.Line, h.Event, timeout)
	end, bounded := limit.Deadline()
	bounded = bounded && end.Before(run.Started.Add(timeout))
	ctx, stop := context.WithTimeout(limit, timeout)
	defer stop()
	b.judge(run, b.within(ctx, run), bounded || limit.Err() != nil)
	run.Duration = time.Since(run.Started)
	b.trace("%s:%d: %s: end after %v: exit %d, failed %t, timed out %t, verdict %q %s", h.File, h.Line, h.Event,
		run.Duration.Round(time.Millisecond), run.Output.Exit, run.Output.Failed, run.Output.TimedOut,
		run.Verdict.Decision, run.Err)
}

// within runs a handler and abandons it if it does not end when it is stopped: a
// program or a connection that hangs in the kernel must not delay the verdicts of
// the others.
func (b *batch) within(ctx context.Context, run *Run) outcome {
	done := make(chan outcome, 1)
	go func() { done <- b.recovered(func() outcome { return b.do(ctx, run) }) }()
	select {
	case o := <-done:
		return o
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o
	case <-time.After(abandonAfter):
	}
	o := stopped(ctx, outcome{})
	o.note = "it did not end when it was stopped, and was abandoned"
	return o
}

// recovered turns a panic into a failure: in the hook process it must not reach the agent.
func (b *batch) recovered(do func() outcome) (o outcome) {
	defer func() {
		if e := recover(); e != nil {
			o = failure(fmt.Errorf("panic: %v", e))
			o.panicked = true
		}
	}()
	return do()
}

// do runs a handler.
func (b *batch) do(ctx context.Context, run *Run) outcome {
	h := run.Handler
	switch {
	case h.Type == hookfile.TypeHTTP:
		// An async request would end with this program, so Run waits for it and
		// ignores its verdict.
		return b.post(ctx, run)
	case h.Type != hookfile.TypeCommand:
		return failure(fmt.Errorf("handler type %q does not run here; use %s or %s", h.Type, hookfile.TypeCommand, hookfile.TypeHTTP))
	case !waitedFor(h):
		if err := b.detach(run); err != nil {
			return failure(err)
		}
		return outcome{}
	}
	return b.command(ctx, run)
}

// judge reads the outcome of a handler. overall reports that it was stopped by the
// time limit of all handlers, not by its own.
func (b *batch) judge(run *Run, o outcome, overall bool) {
	run.exhausted = o.exhausted
	run.Verdict = verdict.Verdict{} // of an earlier try
	if run.Async {
		run.Err = o.problem()
		if run.Err != "" {
			run.Verdict.Errors = []string{run.Err}
		}
		return
	}
	o.Event, o.BlockOnFailure, o.StrictExit = run.event.Name, run.Handler.BlockOnFailure, b.StrictExit
	run.Output = o.Output
	run.Verdict = verdict.Judge(o.Output)
	run.Err = o.note
	if (o.Failed || o.TimedOut) && len(run.Verdict.Errors) > 0 {
		run.Err = run.Verdict.Errors[0]
		if o.note != "" {
			run.Err += "; " + o.note
		}
	}
	if why := b.unguarded(run, o, overall); why != "" && run.Verdict.Decision != verdict.Deny && run.Verdict.Decision != verdict.Block {
		run.Verdict.Decision, run.Verdict.UpdatedInput = verdict.Deny, nil
		run.Verdict.Reason = fmt.Sprintf("%s:%d: %s", run.Handler.File, run.Handler.Line, why)
	}
}

// unguarded returns why an event is denied that a handler did not answer; empty if
// it is not denied.
func (b *batch) unguarded(run *Run, o outcome, overall bool) string {
	const lift = "; HOOKSPAN_HOOKS_ON_ERROR=allow allows such calls"
	errs := run.Verdict.Errors
	switch {
	case b.OnError == OnErrorAllow:
	case run.event.Name == preToolUse && o.panicked:
		return fmt.Sprintf("hookspan failed while it ran the hook (%s), so the call is denied%s", o.Stderr, lift)
	case run.event.Name == preToolUse && o.exhausted:
		return fmt.Sprintf("the hook could not be started (%s), so the call is denied: end other programs or raise the limit%s", o.Stderr, lift)
	case run.event.Name == preToolUse && o.tooLong:
		return fmt.Sprintf("the hook answered more than the %d bytes that are read, so the call is denied: make its answer shorter%s", maxOutput, lift)
	case run.event.Name == preToolUse && o.late:
		return "hookspan did not run when the hook's time was up, so its answer is not known and the call is denied: try again" + lift
	case run.event.Name == preToolUse && overall && (o.TimedOut || o.cancelled):
		return "the hook was not done when the time for all hooks of a call was up" + b.budget() +
			", so the call is denied: make the hooks faster, or give them a shorter \"timeout\"" + lift
	case b.OnError == OnErrorDeny && (run.event.Name == preToolUse || run.event.Name == userPrompt) && len(errs) > 0:
		return "the hook failed (" + errs[0] + "), and HOOKSPAN_HOOKS_ON_ERROR=deny"
	}
	return ""
}

// budget is the time limit of all handlers, for a message.
func (b *batch) budget() string {
	if b.Budget <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%v)", b.Budget.Round(time.Second))
}

// stopped is the outcome of a handler that did not end in time. Its output is no
// verdict.
func stopped(ctx context.Context, o outcome) outcome {
	if errors.Is(ctx.Err(), context.Canceled) {
		o = failure(errors.New("cancelled"))
		o.cancelled = true
		return o
	}
	o.TimedOut = true
	return o
}

package hookrun

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/hookfile"
)

// preToolUse is the event that DenyOnError is about.
const preToolUse = "PreToolUse"

// Run runs the handlers that the events call for, all of them side by side, and
// returns when the last one has ended or was stopped. Handlers come in the order
// of the configuration. Cancelling ctx stops all of them as at their time limit.
//
// While handlers run, Run on Linux takes over the orphans of this process (it
// becomes their reaper), because hooks that are stopped must not leave any.
func (r *Runner) Run(ctx context.Context, handlers []hookfile.Handler, events []Event) Result {
	b := &batch{Runner: r, nursery: newNursery()}
	defer b.nursery.close()
	for _, d := range r.decide(handlers, events) {
		b.trace("%s", d)
		if d.err != nil {
			b.refuse(d)
			continue
		}
		if d.Matched {
			b.add(d, events[d.Event])
		}
	}
	limit := b.limits(ctx)
	defer limit.stop()
	var wg sync.WaitGroup
	for i := range b.tasks {
		wg.Go(func() { b.run(limit, b.tasks[i]) })
	}
	wg.Wait()
	res := Result{Runs: b.runs}
	for i, e := range events {
		var vs []claude.Verdict
		for _, run := range b.runs {
			if run.Event == i {
				vs = append(vs, run.Verdict)
			}
		}
		v := claude.Merge(e.Name, vs)
		if len(vs) > 0 {
			b.trace("%s: verdict of %d hooks: %q %s", e.Name, len(vs), v.Decision, v.Reason)
		}
		res.Verdicts = append(res.Verdicts, v)
	}
	return res
}

// Select says of each handler and each event whether it would run, and why,
// without running anything. The matches are in the order of events, and of
// handlers within one; handlers of other events are left out.
func (r *Runner) Select(handlers []hookfile.Handler, events []Event) []Match {
	var out []Match
	for _, d := range r.decide(handlers, events) {
		out = append(out, d.Match)
	}
	return out
}

// decision is a match, or the reason why nobody can tell.
type decision struct {
	Match
	err error
}

func (d decision) String() string {
	what := "skip"
	if d.Matched {
		what = "run"
	}
	return fmt.Sprintf("%s:%d: %s: %s: %s", d.Handler.File, d.Handler.Line, d.Handler.Event, what, d.Why)
}

// decide tries all handlers on all events.
func (r *Runner) decide(handlers []hookfile.Handler, events []Event) []decision {
	type compiled struct {
		matcher matcher
		rule    rule
		bad     error // of the matcher
		badRule error
	}
	made := make([]compiled, len(handlers))
	for i, h := range handlers {
		c := &made[i]
		c.matcher, c.bad = compileMatcher(h.Event, h.Matcher)
		if h.If != "" {
			c.rule, c.badRule = parseRule(h.If)
		}
	}
	var out []decision
	for n, e := range events {
		seen := map[string]bool{}
		for i, h := range handlers {
			if h.Event != e.Name {
				continue
			}
			d := decision{Match: Match{Handler: h, Event: n}}
			var subject string
			d.err = made[i].bad
			if d.err == nil {
				subject, d.Matched, d.err = made[i].matcher.fits(e.Subjects)
			}
			switch {
			case d.err != nil:
				d.Why = d.err.Error()
			case !d.Matched && subject != "":
				d.Why = fmt.Sprintf("matcher %q excludes %s", h.Matcher, subject)
			case !d.Matched:
				d.Why = fmt.Sprintf("matcher %q fits none of %s", h.Matcher, strings.Join(e.Subjects, ", "))
			default:
				d.Why = whyMatcher(made[i].matcher, h.Matcher, subject)
				if h.If != "" {
					d.tryRule(r.scope(), made[i].rule, made[i].badRule, e)
				}
			}
			if key := identity(h); d.Matched && seen[key] {
				d.Matched, d.Why = false, "the same hook runs for this event already"
			} else if d.Matched {
				seen[key] = true
			}
			out = append(out, d)
		}
	}
	return out
}

func whyMatcher(m matcher, text, subject string) string {
	if m.all {
		return "it matches everything"
	}
	return fmt.Sprintf("matcher %q fits %s", text, subject)
}

// tryRule narrows a match by the handler's rule. A rule that cannot be read never
// fits, as in Claude Code, but is reported.
func (d *decision) tryRule(s scope, r rule, bad error, e Event) {
	switch {
	case !toolEvent(e.Name):
		d.Matched, d.Why = false, fmt.Sprintf("a hook with \"if\" runs on tool events only, and %s is none", e.Name)
	case bad != nil:
		d.Matched, d.Why, d.err = false, bad.Error(), bad
	default:
		ok, why := r.fits(s, e)
		d.Matched, d.Why = ok, d.Why+"; "+why
	}
}

// identity is what makes two handlers the same: what they start, not when.
func identity(h hookfile.Handler) string {
	parts := []string{h.Type, h.Command, h.Shell, h.URL}
	if h.Args != nil {
		parts = append(append(parts, "exec"), h.Args...)
	}
	key, err := json.Marshal(parts)
	if err != nil {
		// Strings can always be encoded.
		panic(err)
	}
	return string(key)
}

// batch is one call of Run.
type batch struct {
	*Runner
	nursery *nursery
	runs    []Run
	tasks   []task

	tracing sync.Mutex
}

// task is a run that is to be done.
type task struct {
	run   int
	event Event
}

func (b *batch) trace(format string, args ...any) {
	if b.Trace == nil {
		return
	}
	b.tracing.Lock()
	defer b.tracing.Unlock()
	b.Trace(format, args...)
}

// refuse notes a handler of which nobody can tell whether it is called for.
func (b *batch) refuse(d decision) {
	run := Run{Handler: d.Handler, Event: d.Event, Err: d.err.Error()}
	run.Verdict.Errors = []string{run.Err}
	if b.DenyOnError && d.Handler.Event == preToolUse {
		run.Verdict.Decision, run.Verdict.Reason = claude.Deny, "a hook cannot be asked: "+run.Err
	}
	b.runs = append(b.runs, run)
}

func (b *batch) add(d decision, e Event) {
	if d.Handler.Once && b.Claim != nil && !b.Claim(identity(d.Handler)) {
		b.trace("%s:%d: %s: skip: it ran in this session already", d.Handler.File, d.Handler.Line, d.Handler.Event)
		return
	}
	b.tasks = append(b.tasks, task{run: len(b.runs), event: e})
	b.runs = append(b.runs, Run{Handler: d.Handler, Event: d.Event})
}

// limit is the time that all handlers have together.
type limit struct {
	context.Context
	stop context.CancelFunc
}

func (b *batch) limits(ctx context.Context) limit {
	if b.Budget == 0 {
		c, stop := context.WithCancel(ctx)
		return limit{c, stop}
	}
	c, stop := context.WithTimeout(ctx, b.Budget)
	return limit{c, stop}
}

// run does one task and fills its run.
func (b *batch) run(ctx context.Context, t task) {
	run := &b.runs[t.run]
	h := run.Handler
	timeout := h.Timeout
	if timeout == 0 {
		timeout = b.DefaultTimeout
	}
	if timeout == 0 {
		timeout = 60 * time.Second
	}
	run.Async = h.Async || h.AsyncRewake
	run.Started = time.Now()
	b.trace("%s:%d: %s: start, time limit %v", h.File, h.Line, h.Event, timeout)
	defer func() {
		run.Duration = time.Since(run.Started)
		b.trace("%s:%d: %s: end after %v: exit %d, failed %t, timed out %t, verdict %q %s", h.File, h.Line, h.Event,
			run.Duration.Round(time.Millisecond), run.Output.Exit, run.Output.Failed, run.Output.TimedOut,
			run.Verdict.Decision, run.Err)
	}()
	if run.Async && h.Type == hookfile.TypeCommand {
		if err := b.detach(h, t.event); err != nil {
			run.Err = err.Error()
			run.Verdict.Errors = []string{run.Err}
		}
		return
	}
	// An http hook cannot be left behind by a program that ends: it is waited for
	// and its verdict is not heard.
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	o := b.do(ctx, h, t.event)
	o.Event, o.BlockOnFailure, o.StrictExit = t.event.Name, h.BlockOnFailure, b.StrictExit
	if run.Async {
		run.Err = o.problem()
		return
	}
	run.Output = o.Output
	run.Verdict = claude.Judge(o.Output)
	run.Err = o.note
	if (o.Failed || o.TimedOut) && len(run.Verdict.Errors) > 0 {
		run.Err = run.Verdict.Errors[0]
	}
}

// do runs a handler that is waited for.
func (b *batch) do(ctx context.Context, h hookfile.Handler, e Event) outcome {
	switch h.Type {
	case hookfile.TypeHTTP:
		return b.post(ctx, h, e)
	case hookfile.TypeCommand:
		return b.command(ctx, h, e)
	}
	return failure(fmt.Errorf("handler type %q does not run here; use %s", h.Type,
		strings.Join(slices.Sorted(slices.Values([]string{hookfile.TypeCommand, hookfile.TypeHTTP})), " or ")))
}

// outcome is what a handler left behind. note tells what else went wrong.
type outcome struct {
	claude.Output
	note string
}

// failure is the outcome of a handler that could not be run.
func failure(err error) outcome {
	return outcome{Output: claude.Output{Failed: true, Stderr: err.Error()}}
}

// problem says what went wrong with a run whose verdict nobody hears.
func (o outcome) problem() string {
	switch {
	case o.TimedOut:
		return "timed out"
	case o.Failed:
		return "failed: " + o.Stderr
	}
	return o.note
}

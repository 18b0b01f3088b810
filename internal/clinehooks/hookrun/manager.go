package hookrun

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/clinehooks/hookfile"
	"github.com/hookspan/hookspan/internal/clinehooks/hookmatch"
)

// The events that can be denied.
const (
	preToolUse = "PreToolUse"
	userPrompt = "UserPromptSubmit"
)

// Run runs the handlers that fit the events and returns when the last one has ended
// or was abandoned. Handlers are in configuration order. Cancelling ctx stops them
// as at their time limit.
//
// The handlers of one event run side by side; those of further events start as
// room permits, and not at all once an event is denied. PreToolUse events that
// differ in their payload alone are run once.
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
	if !b.leftBehind.Load() {
		// An abandoned handler may hold the supervisor.
		b.supervisor.close()
	}
	res := Result{Runs: make([]Run, 0, len(b.runs)), Verdicts: make([]claude.Verdict, len(events))}
	verdicts := make([][]claude.Verdict, len(events))
	for _, run := range b.runs {
		res.Runs = append(res.Runs, *run)
		verdicts[run.Event] = append(verdicts[run.Event], run.Verdict)
	}
	for i, e := range events {
		if first, ok := b.twins[i]; ok {
			res.Verdicts[i] = res.Verdicts[first]
			continue
		}
		v := claude.Merge(e.Name, verdicts[i])
		if len(verdicts[i]) > 0 {
			b.trace("%s: verdict of %d hooks: %q %s", e.Name, len(verdicts[i]), v.Decision, v.Reason)
		}
		res.Verdicts[i] = v
	}
	return res
}

// Select reports which handlers would run for the events, and why, and runs none.
// The matches are in the order of events, and of handlers within one; handlers of
// other events are left out.
func (r *Runner) Select(handlers []hookfile.Handler, events []Event) []Match {
	var out []Match
	d := newDecider(r, handlers)
	for n, e := range events {
		for _, found := range d.decide(n, e) {
			out = append(out, found.Match)
		}
	}
	return out
}

// Calls reports whether one of the handlers would run.
func (r *Runner) Calls(handlers []hookfile.Handler, events []Event) bool {
	d := newDecider(r, handlers)
	for n, e := range events {
		if slices.ContainsFunc(d.decide(n, e), func(found decision) bool { return found.Matched }) {
			return true
		}
	}
	return false
}

// decision is a match, or the error that leaves it undecided.
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

// decider tries handlers on events.
type decider struct {
	scope    hookmatch.Scope
	handlers []hookfile.Handler
	compiled []compiled
}

// compiled is the part of a handler that decides whether it runs.
type compiled struct {
	matcher hookmatch.Matcher
	rule    hookmatch.Rule
	bad     error // of the matcher
	badRule error
	// tried has the matcher's results by subjects, which the operations of a call
	// share: an expression can be slow.
	tried map[string]trial
}

type trial struct {
	subject string
	ok      bool
	err     error
}

func newDecider(r *Runner, handlers []hookfile.Handler) *decider {
	d := &decider{scope: hookmatch.Scope{Dir: r.Dir, Project: r.ProjectDir, Home: r.Home, GOOS: r.GOOS}, handlers: handlers, compiled: make([]compiled, len(handlers))}
	for i, h := range handlers {
		c := &d.compiled[i]
		c.tried = map[string]trial{}
		c.matcher, c.bad = hookmatch.Compile(h.Event, h.Matcher)
		if h.If != "" {
			c.rule, c.badRule = hookmatch.ParseRule(h.If)
		}
	}
	return d
}

func (c *compiled) try(subjects []string) trial {
	if c.bad != nil {
		return trial{err: c.bad}
	}
	key := strings.Join(subjects, "\x00")
	t, ok := c.tried[key]
	if !ok {
		t.subject, t.ok, t.err = c.matcher.Match(subjects)
		c.tried[key] = t
	}
	return t
}

// decide tries all handlers on the event with that index.
func (d *decider) decide(n int, e Event) []decision {
	var out []decision
	seen := map[string]bool{}
	for i, h := range d.handlers {
		if h.Event != e.Name {
			continue
		}
		c := &d.compiled[i]
		t := c.try(e.Subjects)
		found := decision{Match: Match{Handler: h, Event: n, Matched: t.ok}, err: t.err}
		switch {
		case t.err != nil:
			found.Why = t.err.Error()
		case !t.ok && t.subject != "":
			found.Why = fmt.Sprintf("matcher %q excludes %s", h.Matcher, t.subject)
		case !t.ok:
			found.Why = fmt.Sprintf("matcher %q fits none of %s", h.Matcher, strings.Join(e.Subjects, ", "))
		default:
			found.Why = fmt.Sprintf("matcher %q fits %s", h.Matcher, t.subject)
			if c.matcher.All {
				found.Why = "it matches everything"
			}
			if h.If != "" {
				found.tryRule(d.scope, c.rule, c.badRule, e)
			}
		}
		if key := identity(h); found.Matched && seen[key] {
			found.Matched, found.Why = false, "the same hook runs for this event already"
		} else if found.Matched {
			seen[key] = true
		}
		out = append(out, found)
	}
	return out
}

// tryRule narrows a match by the handler's rule. An invalid rule never fits, as in
// Claude Code, but is reported.
func (d *decision) tryRule(s hookmatch.Scope, r hookmatch.Rule, bad error, e Event) {
	switch {
	case !hookfile.HasTool(e.Name):
		d.Matched, d.Why = false, fmt.Sprintf("a hook with \"if\" runs on tool events only, and %s is none", e.Name)
	case bad != nil:
		d.Matched, d.Why, d.err = false, bad.Error(), bad
	default:
		ok, why := r.Match(s, hookmatch.Call{Tool: e.Tool, Subjects: e.Subjects, Input: e.Input})
		d.Matched, d.Why = ok, d.Why+"; "+why
	}
}

// identity is equal for handlers that start the same program or request.
func identity(h hookfile.Handler) string {
	parts := []string{h.Type, h.Command, h.Shell, h.URL}
	if h.Args != nil {
		parts = append(append(parts, "exec"), h.Args...)
	}
	key, _ := json.Marshal(parts) // strings always encode
	return string(key)
}

// outcome is the result of a handler. note describes another fault.
type outcome struct {
	claude.Output
	note string
	// exhausted reports that there were no resources to start the handler.
	exhausted bool
	// tooLong reports a verdict that is longer than maxOutput.
	tooLong bool
	// late reports that this program noticed the time limit late.
	late bool
	// cancelled reports that ctx was cancelled.
	cancelled bool
}

// failure is the outcome of a handler that could not be run.
func failure(err error) outcome {
	return outcome{Output: claude.Output{Failed: true, Stderr: err.Error()}, exhausted: Exhausted(err)}
}

// begins reports whether a text may be the beginning of a verdict.
func begins(text string) bool {
	text = strings.Trim(text, " \t\r\n\ufeff")
	return text == "" || text[0] == '{' && !json.Valid([]byte(text))
}

// problem returns the fault of a run whose verdict is not used.
func (o outcome) problem() string {
	switch {
	case o.TimedOut:
		return "timed out"
	case o.Failed:
		return "failed: " + o.Stderr
	}
	return o.note
}

package hookrun

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/plain"
)

// Select reports which handlers would run for the events, and why, and runs none.
// The matches are in the order of events, and of handlers within one; handlers of
// other events are left out.
func (r *Runner) Select(handlers []hookfile.Handler, events []Event) []Match {
	var out []Match
	d := newDecider(r, handlers)
	for n, e := range events {
		out = append(out, d.decide(n, e)...)
	}
	return out
}

// String is the decision as a line of the log has it.
func (m Match) String() string {
	what := "skip"
	if m.Matched {
		what = "run"
	}
	return fmt.Sprintf("%s:%d: %s: %s: %s", m.Handler.File, m.Handler.Line, m.Handler.Event, what, m.Why)
}

// decider tries handlers on events.
type decider struct {
	scope      plain.Scope
	conditions Conditions
	// timeout is that of a handler without one.
	timeout  time.Duration
	handlers []hookfile.Handler
	compiled []*compiled // nil until an event may start the handler
}

// compiled is the part of a handler that decides whether it runs.
type compiled struct {
	matcher             plain.Matcher
	rule                func(plain.Scope, plain.Call) (ok bool, why string)
	matcherErr, ruleErr error
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
	return &decider{
		scope:      plain.Scope{Dir: r.Dir, Project: r.ProjectDir, Home: r.Home, GOOS: r.GOOS, Host: r.Host, Target: target},
		conditions: r.Conditions, timeout: cmp.Or(r.DefaultTimeout, defaultTimeout), handlers: handlers, compiled: make([]*compiled, len(handlers)),
	}
}

// target follows the links of a path, of which not all need exist: what a link leads to may
// be what a call creates.
func target(path string) string {
	for range 40 { // as many links as Linux follows
		if path == "" {
			break
		}
		if full, err := filepath.EvalSymlinks(path); err == nil {
			return full
		}
		link, err := os.Readlink(path)
		switch dir := filepath.Dir(path); {
		case err == nil && filepath.IsAbs(link):
			path = link
		case err == nil:
			path = filepath.Join(target(dir), link)
		case dir == path:
			return path
		default:
			return filepath.Join(target(dir), filepath.Base(path))
		}
	}
	return path
}

// compile compiles a handler's conditions. Those of handlers for other events may take
// Conditions that this program does not have.
func (d *decider) compile(i int) *compiled {
	if c := d.compiled[i]; c != nil {
		return c
	}
	h, c := &d.handlers[i], &compiled{tried: map[string]trial{}}
	var expression string
	c.matcher, expression = plain.Compile(h.Event, h.Matcher)
	if expression != "" {
		c.matcher, c.matcherErr = d.conditions.Matcher(h.Event, h.Matcher)
	}
	if h.If != "" {
		c.rule, c.ruleErr = d.conditions.Rule(h.If)
	}
	d.compiled[i] = c
	return c
}

func (c *compiled) try(subjects []string) trial {
	if c.matcherErr != nil {
		return trial{err: c.matcherErr}
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
func (d *decider) decide(n int, e Event) []Match {
	var out []Match
	first := map[string]int{} // the match of a command
	for i, h := range d.handlers {
		if h.Event != e.Name {
			continue
		}
		c := d.compile(i)
		t := c.try(e.Subjects)
		found := Match{Handler: h, Event: n, Matched: t.ok, err: t.err}
		if t.err != nil && c.matcherErr == nil && e.Name == preToolUse {
			// A guard that may be for the call is asked.
			found.Matched, found.err, found.doubt = true, nil, t.err.Error()+"; until then the hook runs for each such call"
		}
		switch {
		case t.err != nil:
			found.Why = cmp.Or(found.doubt, t.err.Error())
		case !t.ok && t.subject != "":
			found.Why = fmt.Sprintf("matcher %q excludes %s", h.Matcher, t.subject)
		case !t.ok:
			found.Why = fmt.Sprintf("matcher %q fits none of %s", h.Matcher, strings.Join(e.Subjects, ", "))
		case c.matcher.All:
			found.Why = "it matches everything"
		default:
			found.Why = fmt.Sprintf("matcher %q fits %s", h.Matcher, t.subject)
		}
		if found.Matched && h.If != "" {
			found.tryRule(d.scope, c, e)
		}
		if at, twin := first[identity(h)]; found.Matched && twin {
			found.Matched, found.Why = false, "the same hook runs for this event already"
			out[at].Handler = d.strictest(out[at].Handler, h)
		} else if found.Matched {
			first[identity(h)] = len(out)
		}
		out = append(out, found)
	}
	for i, m := range out {
		if e.Reading && m.Matched && !waitedFor(m.Handler) {
			out[i].Matched, out[i].Why = false, "only a guard is asked about how else Cline may take the call"
		}
	}
	return out
}

// strictest is a handler that starts the same as another one, in the strictest form of
// both, so that none of them takes a guard away.
func (d *decider) strictest(h, twin hookfile.Handler) hookfile.Handler {
	limit := func(h hookfile.Handler) time.Duration { return cmp.Or(h.Timeout, d.timeout) }
	if limit(twin) > limit(h) {
		h.Timeout = twin.Timeout
	}
	if waitedFor(twin) {
		h.Async, h.AsyncRewake = false, false
	}
	h.Once = h.Once && twin.Once
	h.BlockOnFailure = h.BlockOnFailure || twin.BlockOnFailure
	return h
}

// waitedFor reports that a handler's verdict counts.
func waitedFor(h hookfile.Handler) bool { return !h.Async && !h.AsyncRewake }

// Guarded reports a guard that may be for one of the PreToolUse events, whatever their
// inputs are.
func (r *Runner) Guarded(handlers []hookfile.Handler, events []Event) bool {
	anyInput := slices.Clone(handlers)
	for i := range anyInput {
		anyInput[i].If = ""
	}
	return slices.ContainsFunc(r.Select(anyInput, events), func(m Match) bool {
		return m.Matched && m.Handler.Event == preToolUse && waitedFor(m.Handler)
	})
}

// tryRule narrows a match by the handler's rule. An invalid rule never fits, as in
// Claude Code, but is reported.
func (m *Match) tryRule(s plain.Scope, c *compiled, e Event) {
	switch {
	case !hookfile.HasTool(e.Name):
		m.Matched, m.Why = false, fmt.Sprintf("a hook with \"if\" runs on tool events only, and %s is none", e.Name)
	case c.ruleErr != nil:
		m.Matched, m.Why, m.err = false, c.ruleErr.Error(), c.ruleErr
	default:
		ok, why := c.rule(s, plain.Call{Tool: e.Tool, Subjects: e.Subjects, Input: e.Input})
		m.Matched, m.Why = ok, m.Why+"; "+why
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

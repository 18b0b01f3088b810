package userhooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
	"github.com/hookspan/hookspan/internal/userhooks/hooksession"
	"github.com/hookspan/hookspan/internal/userhooks/sample"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

// The time in which all hooks of one event have to be done: below the host's own
// limit, so that their verdict is heard. Cline's classic and next cores end a
// hook after 30 s, its SDK after 120 s.
const (
	editorBudget = 25 * time.Second
	sdkBudget    = 110 * time.Second
)

// Settings are the user's choices.
type Settings struct {
	// OnError says what happens to an event that hooks did not answer.
	OnError hookrun.OnError
	// StrictExit makes every exit code other than 0 block.
	StrictExit bool
	// Answer says how Cline gets what it cannot do.
	Answer translate.Options
}

// Hooks runs the user's hooks. Its methods may be used by several processes at
// once.
type Hooks struct {
	Setup
	// Dir is the folder for what is remembered; empty remembers nothing.
	Dir string
	// Environ is the environment that hooks get.
	Environ  []string
	Settings Settings
	// Parent returns the traceparent of the span that the session's event belongs
	// to. If nil, or if the result is empty, the environment's stays. It is called
	// only if a hook runs.
	Parent func(session string) string
	// Trace is called for each decision; nil means no calls.
	Trace func(format string, args ...any)
	// Post sends the requests of http hooks. If nil, an event stays unanswered that there are
	// http hooks, or rules on hosts, for. Without Setup.Conditions so does one that there are
	// expressions, or rules, for.
	Post hookrun.Post
	Now  func() time.Time
	// Began is when the host started waiting; if zero, when Run is called.
	Began time.Time
}

// Outcome is what became of one event.
type Outcome struct {
	// Call is the event in Claude's form; nil where nothing was asked.
	Call *translate.Call
	// Sources are the files that counted.
	Sources Sources
	// Result is empty for a copy of an event that the hooks ran for already, whose verdict
	// it gets.
	Result hookrun.Result
	Answer translate.Answer
	// Unanswered reports that nothing was done because the hooks take another program.
	Unanswered bool
	// Problems are what went wrong or cannot be had, one line each.
	Problems []string

	event     hook.Event
	respelled bool // why it is unanswered
}

// Run runs the hooks for one event. It never fails: faults are in the outcome's
// problems, and the answer is then the neutral one, or a refusal where the
// settings say so.
func (h *Hooks) Run(ctx context.Context, raw hook.Raw) Outcome {
	return h.run(ctx, raw, cline.Read(raw))
}

// run is Run for an event whose payload is read.
func (h *Hooks) run(ctx context.Context, raw hook.Raw, payload *cline.Payload) Outcome {
	started := h.started()
	head := payload.Head()
	roots := projects(head, raw)
	out := Outcome{Sources: h.find(roots)}
	events, err := payload.Events()
	if err != nil || len(events) == 0 {
		err = fmt.Errorf("%s: hooks were not run: %w: %w", raw.Event, errUnread, cmp.Or(err, errNoEvent))
		out.Problems = []string{err.Error()}
		return h.deny(out, head.Kind, err)
	}
	ev := events[0]
	out.event, out.Problems = ev, out.Sources.Problems()
	handlers := out.Sources.Handlers()
	out.Unanswered = h.cannot(ev.Kind, handlers)
	out.respelled = !out.Unanswered && h.plainOnly() && len(of(ev.Kind, handlers)) > 0 && h.mayRespell(&ev, payload)
	out.Unanswered = out.Unanswered || out.respelled
	if out.Unanswered {
		return out
	}
	c := h.context()
	var session hooksession.Session
	var reply string // for copies of the event; empty until there is one
	if h.Dir == "" {
		out.Call = translate.FromDecoded(&ev, payload, c)
	} else {
		if !h.plainOnly() { // else the summaries have led here
			out.Sources.summarize(h.Dir)
		}
		session = hooksession.At(h.Dir, ev.Session, h.Now)
		if err := session.Open(); err != nil {
			out.Problems = append(out.Problems, fmt.Sprintf("nothing can be remembered for hooks: %v", err))
		}
		wait, stop := context.WithTimeout(ctx, h.budget(&ev, started))
		turn, earlier, err := session.Turn(wait, ev.Name, raw.Payload)
		stop()
		switch {
		case err != nil:
			out.Problems = append(out.Problems, fmt.Sprintf("%s: hooks were not run: %v", raw.Event, errTwin))
			return h.deny(out, ev.Kind, errTwin)
		case turn == nil:
			out.Answer.Reply = verdictOf(earlier)
			return out
		}
		defer func() { turn.End(reply) }()
		for _, earlier := range session.Postponed() {
			p := cline.Read(earlier)
			if events, err := p.Events(); err == nil && len(events) > 0 {
				_, err = enter(session, &events[0], p, c)
				out.note(err)
			}
		}
		out.Call, err = enter(session, &ev, payload, c)
		out.note(err)
	}
	out = h.deny(out, ev.Kind, out.Sources.Broken()...)
	if !out.Answer.Reply.Cancel {
		h.answer(ctx, &out, session, raw.Cwd, roots, started)
	}
	reply = keptVerdict(out.Answer.Reply)
	return out
}

// keptVerdict is what of a reply counts for a copy of the event, in one line. Cline puts
// the replies to both together, so the text for the model is in one of them.
func keptVerdict(r hook.Reply) string {
	r.Context = ""
	if r == (hook.Reply{}) {
		return "{}" // as mostly; encoding/json takes long to begin
	}
	return rawjson.Encode(r)
}

func verdictOf(kept string) (r hook.Reply) {
	if json.Unmarshal([]byte(kept), &r) != nil {
		return hook.Reply{Cancel: true, ErrorMessage: "hookspan: the verdict on an equal event cannot be read"}
	}
	return r
}

// context are the facts about this computer that a translation takes.
func (s *Setup) context() translate.Context {
	return translate.Context{GOOS: s.GOOS, Spellings: s.Spellings, Exists: func(path string) bool {
		_, err := os.Stat(path)
		return err == nil || !errors.Is(err, fs.ErrNotExist)
	}}
}

// projects are the folders whose hooks count for an event.
func projects(head hook.Head, raw hook.Raw) []string {
	if len(head.Dirs) == 0 && raw.Cwd != "" {
		return []string{raw.Cwd}
	}
	return head.Dirs
}

// enter gives an event Claude's form and records it in its session.
func enter(s hooksession.Session, ev *hook.Event, p *cline.Payload, c translate.Context) (*translate.Call, error) {
	c.TranscriptPath = s.Transcript()
	c.Seen = ev.Kind == hook.KindRunStart && ev.ParentAgent == "" && s.Seen()
	call := translate.FromDecoded(ev, p, c)
	if ev.ParentAgent == "" && !s.Continues(ev.Kind) {
		// Cline reports a task that was given up, and then its session's end.
		call.Events = slices.DeleteFunc(call.Events, func(e translate.Event) bool { return e.Name == "SessionEnd" })
	}
	if err := s.Write(call.Rows()); err != nil {
		return call, fmt.Errorf("transcript for hooks: %w", err)
	}
	return call, nil
}

// note adds an error to the problems.
func (o *Outcome) note(err error) {
	if err != nil {
		o.Problems = append(o.Problems, err.Error())
	}
}

// answer runs the handlers and makes the answer of their verdicts.
func (h *Hooks) answer(ctx context.Context, out *Outcome, session hooksession.Session, dir string, roots []string, started time.Time) {
	events := out.Call.Asked()
	handlers := out.Sources.Handlers()
	if len(events) > 0 && len(handlers) > 0 {
		r := h.runner(out.Call, session, dir, roots, started)
		r.Env = out.Sources.Environ(r.Env)
		if h.Parent != nil && slices.ContainsFunc(r.Select(handlers, events), func(m hookrun.Match) bool { return m.Matched }) {
			r.Env = below(r.Env, h.Parent(out.Call.Session))
		}
		out.Result = r.Run(ctx, handlers, events)
		if why := out.Call.Unclear; why != "" && h.Settings.OnError != hookrun.OnErrorAllow && r.Guarded(handlers, events) {
			v := &out.Result.Verdicts[0]
			v.Decision, v.Reason = verdict.Deny, why+", so a guard cannot be asked; HOOKSPAN_HOOKS_ON_ERROR=allow allows such calls"
		}
		out.Problems = append(out.Problems, complaints(out.Result)...)
		out.Answer = out.Call.Answer(out.Result.Verdicts, h.Settings.Answer)
		out.Problems = append(out.Problems, out.Answer.Notes...)
	}
	if h.Dir == "" {
		return
	}
	if err := session.Keep(out.Answer.Pending); err != nil {
		out.Problems = append(out.Problems, fmt.Sprintf("text of a hook for the model is lost: %v", err))
	}
	if out.Call.Carries() && !out.Answer.Reply.Cancel {
		if waiting := session.Take(); len(waiting) > 0 {
			if text := out.Answer.Reply.Context; strings.TrimSpace(text) != "" {
				waiting = append(waiting, text)
			}
			out.Answer.Reply.Context = strings.Join(waiting, "\n\n")
		}
	}
}

// cannot reports handlers for an event that take more than this program has.
func (h *Hooks) cannot(kind hook.Kind, handlers []hookfile.Handler) bool {
	switch need(of(kind, handlers)) {
	case hooksession.Everything:
		return h.Post == nil
	case hooksession.Commands:
		return h.plainOnly()
	}
	return false
}

// mayRespell reports that a call may read a file of another spelling: the tables of letters
// would make each hook call slower that links them.
func (h *Hooks) mayRespell(ev *hook.Event, payload *cline.Payload) (missing bool) {
	c := h.context()
	c.Spellings = func(path string) []string {
		_, err := os.Stat(path)
		missing = missing || err != nil
		return nil
	}
	if ev.Tool != nil && ev.Kind == hook.KindToolStart {
		translate.FromDecoded(ev, payload, c)
	}
	return missing
}

func (h *Hooks) plainOnly() bool { return h.Conditions.Matcher == nil }

func (h *Hooks) runner(c *translate.Call, session hooksession.Session, dir string, roots []string, started time.Time) *hookrun.Runner {
	r := h.matching(dir, append(slices.Clip(roots), c.Cwd)[0])
	r.Session, r.Env, r.Budget = c.Session, h.Environ, h.budget(&c.Event, started)
	r.StrictExit, r.OnError, r.Trace, r.Post = h.Settings.StrictExit, h.Settings.OnError, h.Trace, h.Post
	if h.Dir != "" {
		r.EnvFile, r.Claim = session.EnvFile(), session.Once
	}
	return r
}

// budget is the time that is left for the hooks of an event.
func (h *Hooks) budget(ev *hook.Event, started time.Time) time.Duration {
	budget := editorBudget
	if ev.Dialect == sample.SDK {
		budget = sdkBudget
	}
	return budget - h.Now().Sub(started)
}

// deny makes the answer a refusal if hooks could not run for one of those reasons,
// the event can be refused and the settings say so.
func (h *Hooks) deny(out Outcome, kind hook.Kind, reasons ...error) Outcome {
	for _, why := range reasons {
		wanted := h.Settings.OnError == hookrun.OnErrorDeny && (kind == hook.KindToolStart || kind == hook.KindPrompt) ||
			h.Settings.OnError != hookrun.OnErrorAllow && kind == hook.KindToolStart &&
				(hookrun.Exhausted(why) || errors.Is(why, errTwin) || errors.Is(why, errMayGuard) || errors.Is(why, errUnread) && out.Sources.Guard())
		if wanted {
			out.Answer.Reply = hook.Reply{Cancel: true, ErrorMessage: fmt.Sprintf("%v (HOOKSPAN_HOOKS_ON_ERROR=%s)",
				why, cmp.Or(h.Settings.OnError, hookrun.OnErrorLimits))}
			break
		}
	}
	return out
}

var (
	errUnread   = errors.New("the payload cannot be read")
	errNoEvent  = errors.New("it holds no event")
	errMayGuard = errors.New("so it may hold a guard")
	errTwin     = errors.New("those of an equal event were not done in time")
)

// maxAhead is the longest time that Began can be in the past: a clock can be set in
// between.
const maxAhead = 10 * time.Second

// started is when the time for all hooks begins.
func (h *Hooks) started() time.Time {
	now := h.Now()
	if ahead := now.Sub(h.Began); h.Began.IsZero() || ahead < 0 {
		return now
	} else if ahead > maxAhead {
		return now.Add(-maxAhead)
	}
	return h.Began
}

// complaints returns the faults of the runs, one line each.
func complaints(res hookrun.Result) []string {
	var out []string
	for _, r := range res.Runs {
		where := fmt.Sprintf("%s:%d: %s hook %q: ", r.Handler.File, r.Handler.Line, r.Handler.Event, title(r.Handler))
		for _, fault := range []string{r.Err, r.Doubt} {
			if fault != "" {
				out = append(out, where+fault)
			}
		}
		for _, e := range r.Verdict.Errors {
			if e != r.Err {
				out = append(out, where+e)
			}
		}
		for _, ignored := range r.Verdict.Ignored {
			out = append(out, where+ignored)
		}
	}
	return out
}

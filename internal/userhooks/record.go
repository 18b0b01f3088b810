package userhooks

import (
	"fmt"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

// Record is the payload that says in the trace what the hooks did; nil where none
// ran and nothing was refused. about is the hash of the event's payload as it
// was stored, which may have been cut. Without texts, "-" is in place of each.
func (o *Outcome) Record(about uint64, texts bool) ([]byte, error) {
	if o.Call == nil || len(o.Result.Runs) == 0 && !o.Answer.Reply.Cancel {
		return nil, nil
	}
	ev := o.event
	ev.Hash = about
	runs := make([]hook.HookRun, 0, len(o.Result.Runs))
	for i := range o.Result.Runs {
		runs = append(runs, o.hookRun(&o.Result.Runs[i]))
	}
	answer := o.answered()
	if !texts {
		textless(&answer.By, &answer.Reason)
		for i := range runs {
			textless(&runs[i].Matcher, &runs[i].Command, &runs[i].Reason)
		}
	}
	b, err := cline.EncodeHookRuns(&ev, runs, answer)
	if err != nil {
		return nil, fmt.Errorf("record of the hooks: %w", err)
	}
	return b, nil
}

func textless(texts ...*string) {
	for _, t := range texts {
		if *t != "" {
			*t = "-"
		}
	}
}

func (o *Outcome) hookRun(r *hookrun.Run) hook.HookRun {
	out := hook.HookRun{
		Matcher: r.Handler.Matcher, Command: title(r.Handler), Source: r.Handler.File,
		Started: r.Started, Duration: r.Duration, Exit: hook.NoExit, Status: status(r),
		Decision: string(r.Verdict.Decision), Reason: r.Verdict.Reason,
	}
	if asked := o.Call.Asked(); r.Event < len(asked) {
		out.Event, out.Tool = asked[r.Event].Name, asked[r.Event].Tool
	}
	if r.Handler.Type == hookfile.TypeCommand && (out.Status == hook.HookOK || out.Status == hook.HookError) && !r.Output.Failed {
		out.Exit = r.Output.Exit
	}
	if r.Verdict.Stop && out.Decision == "" {
		out.Decision, out.Reason = "stop", r.Verdict.StopReason
	}
	if out.Reason == "" && len(r.Verdict.Errors) > 0 {
		out.Reason = r.Verdict.Errors[0]
	}
	return out
}

func status(r *hookrun.Run) string {
	switch {
	case r.Async:
		return hook.HookAsync
	case r.Output.TimedOut:
		return hook.HookTimeout
	case r.Output.Failed, r.Err != "":
		return hook.HookNotStarted
	case len(r.Verdict.Errors) > 0:
		return hook.HookError
	}
	return hook.HookOK
}

// answered is the answer that Cline got, and the hook that decided it.
func (o *Outcome) answered() hook.HookAnswer {
	a := hook.HookAnswer{Cancelled: o.Answer.Reply.Cancel, SoftDenied: o.Answer.Soft, Reason: o.Answer.Reply.ErrorMessage}
	a.InputChanged = o.Answer.Reply.OverrideInput != "" && !a.SoftDenied
	if a.SoftDenied && a.Reason == "" {
		for _, v := range o.Result.Verdicts {
			if denies(v) {
				a.Reason = v.Reason
				break
			}
		}
	}
	if !a.Denies() {
		return a
	}
	for i := range o.Result.Runs {
		if r := &o.Result.Runs[i]; denies(r.Verdict) {
			a.By = title(r.Handler)
			if r.Verdict.Reason != "" {
				a.Reason = r.Verdict.Reason
			}
			return a
		}
	}
	// An input, or a question, that Cline has no way to take is why, else.
	for i := range o.Result.Runs {
		if r := &o.Result.Runs[i]; r.Verdict.UpdatedInput != nil || r.Verdict.Decision == verdict.Ask || r.Verdict.Decision == verdict.Defer {
			a.By = title(r.Handler)
			return a
		}
	}
	return a
}

// title is what a handler runs or asks.
func title(h hookfile.Handler) string {
	switch {
	case h.Type == hookfile.TypeHTTP:
		return h.URL
	case len(h.Args) > 0:
		return h.Command + " " + strings.Join(h.Args, " ")
	}
	return h.Command
}

// denies reports that a verdict keeps something from happening.
func denies(v verdict.Verdict) bool {
	return v.Decision == verdict.Deny || v.Decision == verdict.Block || v.Stop
}

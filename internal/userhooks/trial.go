package userhooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
	"github.com/hookspan/hookspan/internal/userhooks/sample"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

// Trial is an event that the user's hooks are tried with.
type Trial struct {
	// Call is the event in Claude's form.
	Call *translate.Call
	// Sources are the files that count, Matches what the event starts of them.
	Sources Sources
	Matches []hookrun.Match
}

// Select finds the hooks that an event starts and runs none.
func (h *Hooks) Select(raw hook.Raw) (*Trial, error) {
	call, err := translate.FromCline(raw, h.context())
	if err != nil {
		return nil, err
	}
	roots := projects(cline.Peek(raw.Payload, raw.Event), raw)
	t := &Trial{Call: call, Sources: h.find(roots)}
	t.Matches = h.matching(raw.Cwd, append(roots, "")[0]).Select(t.Sources.Handlers(), call.Asked())
	return t, nil
}

// Try runs the hooks for an event with an empty memory, which is removed afterwards.
func (h *Hooks) Try(ctx context.Context, raw hook.Raw) (Outcome, error) {
	dir, err := os.MkdirTemp("", "hookspan-test-")
	if err != nil {
		return Outcome{}, fmt.Errorf("folder for the test: %w", err)
	}
	apart := *h
	apart.Dir = filepath.Join(dir, "hooks")
	out := apart.Run(ctx, raw)
	return out, errors.Join(ctx.Err(), os.RemoveAll(dir))
}

// Effect says in one sentence what Cline does on the answer.
func (o *Outcome) Effect() string {
	r := o.Answer.Reply
	kind, shows := hook.KindUnknown, "stops the task and shows: "
	if o.Call != nil {
		kind = o.Call.Kind
		if d := o.Call.Dialect; d == sample.Next || d == sample.SDK {
			shows = "stops the task and does not show the reason, which the trace has: "
		}
	}
	shows += strings.Join(strings.Fields(r.ErrorMessage), " ")
	switch {
	case r.Cancel && kind == hook.KindToolStart:
		return "Cline does not run the tool, " + shows
	case r.Cancel && kind == hook.KindPrompt:
		return "Cline does not take the prompt, " + shows
	case r.Cancel:
		return "Cline " + shows
	case o.Answer.Soft:
		return "Cline makes a call that says the reason and fails, in place of the one that was denied; the task continues."
	case r.OverrideInput != "":
		return "Cline runs the tool with the input that a hook gave."
	case strings.TrimSpace(r.Context) != "":
		return "Cline continues and gives the model what the hooks say."
	case len(o.Answer.Pending) > 0:
		return "Cline continues; the model does not receive the text yet."
	}
	return "Cline continues as if there were no hook."
}

// Ending says how a run ended.
func Ending(r *hookrun.Run) string {
	took := Duration(r.Duration.Round(time.Millisecond))
	switch {
	case r.Async && r.Err == "":
		return "started and not waited for"
	case r.Output.TimedOut:
		return "stopped at its time limit after " + took + ": the call continues as if there were no hook"
	case r.Err != "":
		return "failed: " + r.Err
	case r.Handler.Type == hookfile.TypeHTTP:
		return "answered in " + took
	}
	return fmt.Sprintf("exit %d, %s", r.Output.Exit, took)
}

// Duration is a duration for people, in seconds or milliseconds.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d%time.Second == 0:
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// Verdict says what a hook decided, one line each.
func Verdict(v verdict.Verdict) []string {
	var out []string
	add := func(what string, texts ...string) {
		for _, text := range texts {
			if strings.TrimSpace(text) != "" {
				text = ": " + text
			}
			out = append(out, what+text)
		}
	}
	if v.Decision != verdict.NoDecision {
		add(string(v.Decision), v.Reason)
	}
	if v.Stop {
		add("stop the agent", v.StopReason)
	}
	if v.UpdatedInput != nil {
		add("other input", string(v.UpdatedInput))
	}
	if v.UpdatedOutput != nil {
		add("other output", string(v.UpdatedOutput))
	}
	add("for the model", v.Context...)
	for _, s := range v.Feedback {
		if s != v.Reason {
			add("for the model", s)
		}
	}
	add("for you", v.SystemMessages...)
	add("error", v.Errors...)
	add("ignored", v.Ignored...)
	if out == nil {
		out = []string{"no objection"}
	}
	return out
}

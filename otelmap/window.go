package otelmap

import (
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// promptLead is how far a prompt in the host's files may precede the event that
// opened its run: an agent may write the message before it calls the hook.
const promptLead = 5 * time.Second

// endLag is how long after a turn's end its files may say that a request failed: some
// agents report that the turn has failed before they note it on the request.
const endLag = 2 * time.Second

// agentLag is how long after a subagent's end its files may say that its last request
// began: some agents write a request after they have called the hook.
const agentLag = 2 * time.Second

// broke reports whether a request of the lead agent was under way when its turn ended,
// and failed then. The turn's end is then that of the request, or of the part of the
// turn before this one.
func (r *Run) broke(c *hook.Request) (end time.Time, ok bool) {
	at := func(end time.Time) bool {
		return !c.Start.After(end) && c.End.After(end) && !c.End.After(end.Add(endLag))
	}
	switch {
	case r.terminal != nil && at(r.terminal.At()):
		return r.terminal.At(), true
	case at(r.resumed()):
		return r.resumed(), true
	}
	return time.Time{}, false
}

// since returns from when on the files' entries of the run's turn belong to it. The files
// have milliseconds. The hook of a prompt may be so slow that the agent is at work before the
// prompt is stored.
func (b *Builder) since(r *Run, prompts []hook.Prompt) instant {
	since := r.from.At()
	switch end := r.resumed(); {
	case !end.IsZero():
		// This part also has what came between the end of the part before and its
		// own first event.
		since = end.Add(time.Millisecond)
	case r.later && r.from.ParentAgent != "":
		// What the lead did before is of the part before.
	case r.later:
		since = since.Add(-promptLead)
	default:
		since = b.prompted(r, prompts, r.turn, since)
	}
	return instantOf(since.Truncate(time.Millisecond))
}

// resumed returns the end of the part before this one of the run's turn, zero if there is
// none or that is not known.
func (r *Run) resumed() time.Time {
	end := r.resumes
	if r.earlier != nil && r.earlier.terminal != nil {
		end = r.earlier.terminal.At()
	}
	if !r.later || end.After(r.from.At()) {
		return time.Time{}
	}
	return end
}

// holds reports whether an entry of the run's turn that was complete after the run began
// belongs to the run.
func (r *Run) holds(agent string, at time.Time) bool {
	switch {
	case r.agents[agent] != nil:
		return true // it may work on in the background
	case r.terminal != nil && agent == "":
		return !at.After(r.terminal.At())
	case r.part != nil:
		return at.Before(r.part.from.At().Truncate(time.Millisecond))
	}
	return true
}

// within returns the time of the entries that belong to the run if these have no turn:
// they come after the previous run's end and not after this one's. If the previous run
// has no end, or the clock was set back since, the run begins with its own first event. A
// run without an end continues until the next one begins. Entries before the session's
// first run do not count: the hooks may have been installed, or the log removed, in the
// middle.
func (b *Builder) within(r *Run, prompts []hook.Prompt) (from, to instant) {
	start, _ := r.bounds()
	if end := r.prev.PrevEnd; !end.IsZero() && !end.After(start) {
		from = min(instantOf(end)+1, r.from.at())
	} else {
		from = instantOf(b.opening(r, prompts))
	}
	to = always
	switch {
	case r.terminal != nil:
		to = r.terminal.at()
	case r.next != nil:
		to = instantOf(b.opening(r.next, prompts)) - 1
	}
	return from, to
}

// within returns the time of the requests that belong to a run of the agent.
func (a *agent) within() (from, to instant) {
	to = always
	if end := a.end(); end != never {
		to = end + instant(agentLag)
	}
	return a.items[0].at() - instant(promptLead), to
}

// end returns when the agent stopped, never if it has not.
func (a *agent) end() instant {
	if a.ended != nil {
		return a.ended.at()
	}
	return a.gone
}

// lost reports that the agent stopped without reporting its end.
func (a *agent) lost() bool { return a.ended == nil && a.gone != never }

// opening returns when the host's files begin to be about a run if the run before it
// reported no end: with the run's prompt, which an agent may write before it calls the
// hook. Without that prompt in the files it may be promptLead earlier, but not before the
// last event of the run before.
func (b *Builder) opening(r *Run, prompts []hook.Prompt) time.Time {
	begun := r.from.At().Truncate(time.Millisecond) // the precision of the files
	at := begun.Add(-promptLead)
	// A clock that was set back shows nothing.
	if r.before != nil && !r.before.lastAt().After(begun) {
		at = latest(at, r.before.lastAt())
	}
	return b.prompted(r, prompts, "", at)
}

// prompted returns when the host's files have the prompt that begins a run, if that is up to
// promptLead before the run, else otherwise. turn is that of the prompt in the files.
func (b *Builder) prompted(r *Run, prompts []hook.Prompt, turn string, otherwise time.Time) time.Time {
	begun, at := r.from.At().Truncate(time.Millisecond), otherwise
	i, _ := slices.BinarySearchFunc(prompts, begun.Add(-promptLead), func(p hook.Prompt, t time.Time) int { return p.At.Compare(t) })
	for _, p := range prompts[i:] {
		switch {
		case p.At.After(begun.Add(promptLead)), r.next != nil && !p.At.Before(r.next.from.At()):
			return at
		case p.Injected || p.Turn != turn:
		case !p.At.Before(begun):
			return begun
		case p.Text != "" && r.from.Prompt == b.opts.text(p.Text, MaxTaskRunes):
			at = p.At
		}
	}
	return at
}

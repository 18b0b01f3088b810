package otelmap

import (
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
)

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

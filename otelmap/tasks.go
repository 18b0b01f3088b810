package otelmap

import (
	"time"

	"github.com/hookspan/hookspan/hook"
)

// cancelGrace is how long after a cancellation a completion still replaces it.
// An agent may fire both in parallel when a task ends by itself, in either order,
// some 60 ms apart; a run is delivered once it has been still for as long
// as this.
const cancelGrace = time.Second

// openingGrace is how far two opening events of one run may lie apart.
const openingGrace = 5 * time.Second

// taskSegmenter sorts the events of an agent whose runs are tasks: a start opens
// one, a report of its end closes it.
type taskSegmenter struct{ *segments }

func (s taskSegmenter) add(it *item) {
	if it.ParentAgent != "" {
		s.addSub(it)
		return
	}
	// A gap this long means that the host died or the user left. A later event
	// opens a new run, so that the same log always gives the same runs whenever
	// it is read.
	if s.open != nil && it.At().Sub(s.open.lastAt()) > s.b.opts.IdleTimeout {
		s.closeOpen(OutcomeAbandoned)
	}
	if s.open == nil && s.echo(it) {
		return
	}
	switch it.Kind {
	case hook.KindRunStart, hook.KindRunResume:
		if s.open != nil && s.open.opening(it) {
			s.attach(s.open, it)
			return
		}
		s.closeOpen(OutcomeAbandoned)
		s.begin(it)
	case hook.KindRunComplete, hook.KindRunCancel, hook.KindRunError:
		s.end(it)
	case hook.KindSessionEnd:
		if s.open != nil {
			s.terminate(s.open, it)
			return
		}
		s.afterEnd(it)
	case hook.KindNotification:
		if s.open == nil {
			s.afterEnd(it)
			return
		}
		s.attach(s.open, it)
	default:
		if s.open == nil {
			s.begin(it)
			return
		}
		s.attach(s.open, it)
	}
}

// echo reports that an event is a late one of a run that was delivered and is
// not read any more. An event that lies further back than events can be late is
// none: then the clock was set back.
func (s taskSegmenter) echo(it *item) bool {
	switch it.Kind {
	case hook.KindRunStart, hook.KindRunResume, hook.KindPrompt:
		return false
	}
	late := s.b.carry.PrevEnd.Sub(it.At())
	return len(s.runs) == 0 && it.epoch == 0 && late >= 0 && late < clockStep && !s.b.carry.PrevEnd.IsZero()
}

// addSub files an event of a subagent with the run that started the agent, even
// while a later run is open.
func (s taskSegmenter) addSub(it *item) {
	r := s.subRuns[it.Agent]
	if r == nil && it.Kind != hook.KindRunStart && s.agentDelivered(it) {
		return
	}
	if r != nil && r.agents[it.Agent].ended != nil && it.Kind == hook.KindRunStart {
		r = nil // an agent that is asked again works for the run that asks
	}
	if r == nil {
		r = s.nearest(it)
	}
	if r == nil {
		// Only the subagent's events are here: they still make a run.
		r = s.begin(it)
		r.items = nil
	}
	s.attachSub(r, it, false)
}

// end files a terminal event of the lead agent.
func (s taskSegmenter) end(it *item) {
	if s.open != nil {
		s.terminate(s.open, it)
		return
	}
	if r := s.last(); r != nil && r.terminal != nil &&
		r.terminal.Kind == hook.KindRunCancel && it.Kind == hook.KindRunComplete &&
		it.At().Sub(r.terminal.At()) <= cancelGrace {
		// A cancellation never overwrites a completion, whichever came first.
		r.late = append(r.late, r.terminal)
		s.open = r
		s.terminate(r, it)
		return
	}
	if s.last() == nil && s.carry.Runs == 0 {
		// The only thing known of this task is that it ended.
		s.begin(it)
		s.terminate(s.open, it)
		return
	}
	s.afterEnd(it)
}

// afterEnd files an event that comes after its run's end and changes nothing.
// Without that run at hand it is the echo of one delivered earlier.
func (s taskSegmenter) afterEnd(it *item) {
	if r := s.last(); r != nil {
		r.late = append(r.late, it)
		r.touch(it)
	}
}

// opening reports that nothing but the run's beginning has been seen, so that
// another opening event (a resume beside a start) belongs to it.
func (r *Run) opening(it *item) bool {
	// Of one instant the start comes after what it started. Another run would
	// have the same identity, and its spans would take the place of this one's.
	if len(r.items) > 0 && !opens(r.items[0]) && r.items[0].At().Equal(it.At()) && r.lastAt().Equal(it.At()) {
		return true
	}
	if len(r.items) != 1 || it.At().Sub(r.items[0].At()) > openingGrace {
		return false
	}
	k := r.items[0].Kind
	return k == hook.KindRunStart || k == hook.KindRunResume
}

package otelmap

import (
	"time"

	"github.com/hookspan/hookspan/hook"
)

// CancelGrace is how long after a cancellation a completion still replaces it.
// An agent may report both in parallel when a task ends by itself, in either
// order, some 60 ms apart, on a busy machine more than a second. A run that was
// cancelled is delivered once it has been still for as long as this.
const CancelGrace = 5 * time.Second

// openingGrace is how far two opening events of one run may lie apart.
const openingGrace = 5 * time.Second

// addTaskEvent adds the next event of an agent whose runs are tasks: a start
// opens one, a report of its end closes it.
func (s *segmenter) addTaskEvent(it *item) {
	if it.ParentAgent != "" {
		s.addAgentEvent(it)
		return
	}
	s.closeIdle(it.At())
	if s.open == nil && s.belongsBefore(it) {
		// An end before the one that the run was delivered with changes nothing, unless that was a
		// cancellation.
		if !it.Kind.Terminal() || s.carry.PrevEnd.Sub(it.At()) <= CancelGrace {
			s.missed(it)
		}
		return
	}
	switch {
	case it.opens():
		if s.open != nil && s.open.opening(it) {
			s.open.attach(it)
			return
		}
		s.closeOpen()
		s.begin(it)
	case it.Kind.Terminal():
		s.endTask(it)
	case s.open != nil:
		s.open.attach(it)
	case it.Kind == hook.KindNotification:
		s.afterEnd(it)
	default:
		s.begin(it)
	}
}

// belongsBefore reports that an event is a late one of a run that was delivered
// before the place where reading began. An event from much earlier is not: then
// the clock was set back.
func (s *segmenter) belongsBefore(it *item) bool {
	if it.opens() || it.Kind == hook.KindPrompt {
		return false
	}
	late := s.b.carry.PrevEnd.Sub(it.At())
	return len(s.runs) == 0 && it.epoch == 0 && late >= 0 && late < clockStep && !s.b.carry.PrevEnd.IsZero()
}

// endTask adds a terminal event of the lead agent.
func (s *segmenter) endTask(it *item) {
	r := s.last()
	switch {
	case s.open != nil:
		s.terminate(s.open, it)
	case it.Kind == hook.KindSessionEnd:
		s.afterEnd(it)
	case r != nil && r.terminal != nil && r.terminal.Kind == hook.KindRunCancel &&
		it.Kind == hook.KindRunComplete && it.At().Sub(r.terminal.At()) <= CancelGrace:
		// A cancellation never overwrites a completion, whichever came first.
		r.late = append(r.late, r.terminal)
		s.terminate(r, it)
	case r == nil && s.carry.Runs == 0:
		// Only the task's end is known.
		s.terminate(s.begin(it), it)
	default:
		s.afterEnd(it)
	}
}

// afterEnd adds an event that comes after its run's end and changes nothing.
// Without a run it belongs to one that was delivered earlier.
func (s *segmenter) afterEnd(it *item) {
	if r := s.last(); r != nil {
		r.attachLate(it)
		return
	}
	s.missed(it)
}

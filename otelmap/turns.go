package otelmap

import (
	"cmp"
	"slices"

	"github.com/hookspan/hookspan/hook"
)

// addTurnEvent adds the next event of an agent that numbers its turns: a prompt
// opens a turn, a report of success or failure ends it, and the events between
// carry the prompt's id. Such agents differ from others in this:
//
//   - An interrupted turn may report no end: the next prompt or the session's end
//     closes it.
//   - A subagent in the background outlives its turn, whose end is then not the
//     run's.
//   - One of the user's hooks may make the agent continue at an end. Then the
//     turn has several ends, of which the last one counts.
func (s *segmenter) addTurnEvent(it *item) {
	if it.Kind == hook.KindSessionStart {
		s.startSession(it)
		return
	}
	if it.ParentAgent != "" {
		s.addAgentEvent(it)
		return
	}
	s.closeIdle(it.At())
	switch it.Kind {
	case hook.KindPrompt, hook.KindRunStart, hook.KindRunResume:
		s.ended = false
		if s.open != nil && it.Turn != "" && s.open.turn == it.Turn {
			// The user typed while the agent worked, or the events came out of order.
			s.open.attach(it)
			return
		}
		if s.open != nil && it.Turn == "" && s.open.refused() {
			s.open.attach(it)
			return
		}
		if r := s.runOf(it); it.Kind == hook.KindRunResume && it.Turn != "" && r != nil && r == s.last() && r.terminal != nil {
			s.reopen(r)
			r.attach(it)
			return
		}
		s.interrupt(it)
		s.begin(it)
	case hook.KindRunComplete, hook.KindRunCancel, hook.KindRunError:
		s.endTurn(it)
	case hook.KindSessionEnd:
		s.endSession(it)
	case hook.KindNotification, hook.KindNote, hook.KindCompact:
		s.note(it)
	default:
		s.work(it)
	}
}

// startSession notes how the session continues. A program that starts has no turn
// open; one that has compacted its conversation continues its turn.
func (s *segmenter) startSession(it *item) {
	s.ended = false
	s.carry.Model = cmp.Or(it.Model, s.carry.Model)
	source := it.source()
	if source == "compact" && s.open != nil {
		s.open.attach(it)
		return
	}
	s.closeOpen()
	s.carry.Source = source
	if s.started == nil {
		s.started = it
	}
}

// source returns how the session started.
func (it *item) source() string {
	for _, a := range it.Attrs {
		if s, ok := a.Value.(string); ok && a.Key == KeySessionSource {
			return s
		}
	}
	return ""
}

// interrupt closes the open turn as interrupted by the user, with the agents that
// it was waiting for: a call that starts an agent in the background reports its
// end at once, any other call never will.
func (s *segmenter) interrupt(it *item) {
	if s.open != nil {
		s.open.stopAgents(it)
	}
	s.closeOpen()
}

// stopAgents marks the agents that an interrupted run was waiting for as gone.
func (r *Run) stopAgents(by *item) {
	background := make(map[string]bool)
	for it := range r.all {
		if it.Kind == hook.KindToolEnd && it.Tool != nil {
			background[it.Tool.Agent] = true
		}
	}
	for id, a := range r.agents {
		if !background[id] {
			a.stop(by.at())
		}
	}
}

// stop marks an agent that has not ended as gone.
func (a *agent) stop(at instant) {
	if a.over() == never {
		a.gone = at
	}
}

// refused reports that one of the user's hooks has refused the run's end just now: its
// answer is the next prompt.
func (r *Run) refused() bool {
	for _, it := range slices.Backward(r.items) {
		if it.blocked() || it.Kind != hook.KindNotification {
			return it.blocked()
		}
	}
	return false
}

// runOf returns the run of an event of the lead agent, nil if there is none yet.
func (s *segmenter) runOf(it *item) *Run {
	if it.Turn == "" {
		return cmp.Or(s.open, s.last())
	}
	// Events of a turn after a run of it was closed for its silence make a
	// separate run, so that the same log gives the same runs whenever it is read.
	if r := s.turnRuns[it.Turn]; r != nil && !r.silent {
		return r
	}
	if s.open != nil && s.open.turn == "" {
		return s.open
	}
	return nil
}

// work adds an event that only a working agent makes.
func (s *segmenter) work(it *item) {
	r := s.runOf(it)
	switch {
	case r == nil && it.Kind != hook.KindToolStart && s.delivered(it):
		// A late copy of a delivered event.
	case r == nil:
		s.closeOpen()
		s.begin(it)
	default:
		if r.terminal != nil && it.Kind == hook.KindToolStart && s.last() == r {
			s.reopen(r)
		}
		r.attach(it)
	}
}

// reopen makes a turn continue although an end was reported.
func (s *segmenter) reopen(r *Run) {
	r.stopped, r.terminal, r.Outcome = r.terminal, nil, ""
	s.open = r
}

// note adds an event that may come at any time, also outside turns: some of the
// host's commands have an id and open no turn.
func (s *segmenter) note(it *item) {
	r := s.runOf(it)
	if r == nil && !s.delivered(it) {
		r = s.last()
	}
	switch r {
	case nil:
	case s.open:
		r.attach(it)
	default:
		r.attachLate(it)
	}
}

// endTurn adds the lead agent's report that it has stopped.
func (s *segmenter) endTurn(it *item) {
	r := s.runOf(it)
	if r == nil {
		if it.keyed && s.delivered(it) {
			return // a copy of the end that was delivered
		}
		s.closeOpen()
		r = s.begin(it)
	}
	if r.terminal != nil && it.keyed && r.terminal.Kind == it.Kind || r != s.open && r != s.last() {
		r.attachLate(it)
		return
	}
	if it.Kind == hook.KindRunCancel {
		r.stopAgents(it)
	}
	s.terminate(r, it)
}

// endSession closes the open turn and the agents in the background, which end
// with the program they run in.
func (s *segmenter) endSession(it *item) {
	s.ended = true
	if s.open != nil {
		s.terminate(s.open, it)
	} else if r := s.last(); r != nil {
		r.touch(it)
	}
	for _, a := range s.working {
		a.stop(it.at())
	}
	s.working = s.working[:0]
}

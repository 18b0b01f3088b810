package otelmap

import (
	"slices"

	"github.com/hookspan/hookspan/hook"
)

// Some agents number their turns: a prompt opens one, a report of success or
// failure ends it, and the events between carry the prompt's id. This file sorts the events
// of such a host into runs. It differs from the other hosts in this:
//
//   - An interrupted turn reports no end: the next prompt or the session's end
//     closes it.
//   - A subagent in the background outlives its turn, whose end is then not the
//     run's.
//   - A hook of the user's may turn an end into going on; then the turn has
//     several ends, of which the last one counts.

// turnSegmenter sorts the events of an agent that numbers its turns.
type turnSegmenter struct {
	*segments
	// turns are the newest run of each turn.
	turns map[string]*Run
	// started is the oldest start of the session that no run has taken yet.
	started *item
}

func (s *turnSegmenter) add(it *item) {
	if it.Kind == hook.KindSessionStart {
		s.startSession(it)
		return
	}
	if it.ParentAgent != "" {
		s.addTurnAgent(it)
		return
	}
	if s.open != nil && it.At().Sub(s.open.lastAt()) > s.b.opts.IdleTimeout {
		s.open.silent = true
		s.closeOpen(s.b.silence())
	}
	switch it.Kind {
	case hook.KindPrompt, hook.KindRunStart, hook.KindRunResume:
		s.over = false
		if s.open != nil && it.Turn != "" && s.open.turn == it.Turn {
			// Typed while the agent was at work, or heard after something else of
			// the turn.
			s.attach(s.open, it)
			return
		}
		s.breakOff()
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

// startSession notes how the session goes on. A program that starts has no turn
// open; one that has compacted its conversation goes on with the turn it is in.
func (s *turnSegmenter) startSession(it *item) {
	s.over = false
	if it.Model != "" {
		s.carry.Model = it.Model
	}
	source := it.fact(KeySessionSource)
	if source == "compact" && s.open != nil {
		s.attach(s.open, it)
		return
	}
	s.closeOpen(OutcomeInterrupted)
	s.carry.Source = source
	if s.started == nil {
		s.started = it
	}
}

// breakOff closes the open turn as one that the user interrupted. With it go the
// agents that it was waiting for: the call that starts one in the background
// reports its end at once, any other call never will.
func (s *turnSegmenter) breakOff() {
	if r := s.open; r != nil {
		background := make(map[string]bool)
		for it := range r.all {
			if it.Kind == hook.KindToolEnd && it.Tool != nil {
				background[it.Tool.Agent] = true
			}
		}
		for id, a := range r.agents {
			a.gone = a.gone || a.ended == nil && !background[id]
		}
	}
	s.closeOpen(OutcomeInterrupted)
}

// addTurnAgent files an event of a subagent. An agent of which nothing but its
// end is heard and whose type has no name is one of the host's own for a side
// question: no work of the turn's.
func (s *turnSegmenter) addTurnAgent(it *item) {
	if it.Kind.Terminal() && it.AgentType == "" && s.subRuns[it.Agent] == nil {
		return
	}
	if s.turns[it.Turn] == nil && it.Kind != hook.KindRunStart && it.Kind != hook.KindToolStart && s.delivered(it) &&
		s.subRuns[it.Agent] == nil {
		return
	}
	s.addSub(it)
}

// addSub files an event of a subagent with the run that asked for it, even while a
// later run is open.
func (s *turnSegmenter) addSub(it *item) {
	r, asking := s.subRuns[it.Agent], s.turns[it.Turn]
	working := it.Kind == hook.KindRunStart || it.Kind == hook.KindToolStart
	if r == nil && asking == nil && !working && s.agentDelivered(it) {
		return
	}
	if r != nil && r.agents[it.Agent].ended != nil && (it.Kind == hook.KindRunStart || asking != nil && asking != r) {
		r = nil // an agent that is asked again works for the run that asks
	}
	if r == nil {
		r = asking
	}
	if r == nil && it.Turn != "" {
		r = s.beginForAgent(it)
	}
	if r == nil {
		r = s.nearest(it)
	}
	if r == nil {
		// Only the subagent's events are here: they still make a run.
		r = s.begin(it)
		r.items = nil
	}
	// A hook of the user may have made the agent continue before.
	s.attachSub(r, it, true)
}

// beginForAgent opens a run for a turn of which a subagent is heard first. Where
// the turn was delivered before, it is a later part of that turn that lasts as
// long as its agents work; in any case another turn that is open stays so.
func (s *turnSegmenter) beginForAgent(it *item) *Run {
	open, later := s.open, s.known(it)
	r := s.begin(it)
	r.items, r.beside = nil, open
	if later {
		r.Outcome = OutcomeCompleted
	}
	if open != nil || later {
		s.open = open
	}
	return r
}

// begin opens a run. A turn that was open before, or was delivered already,
// continues in a separate run.
func (s *turnSegmenter) begin(it *item) *Run {
	r := s.segments.begin(it)
	r.turn = it.Turn
	if it.Turn != "" {
		if s.turns[it.Turn] != nil || it.Kind != hook.KindPrompt && s.known(it) {
			r.ID = continuedRunID(s.b.host, s.b.session, &it.Event)
		}
		s.turns[it.Turn] = r
	}
	r.model = s.carry.Model
	r.source, s.carry.Source = s.carry.Source, ""
	if s.started != nil {
		r.First, r.Last = min(r.First, s.started.Offset), max(r.Last, s.started.last)
		s.started = nil
	}
	return r
}

// known reports that a run of the event's turn ended before the place where
// reading began.
func (s *turnSegmenter) known(it *item) bool {
	return it.Turn != "" && slices.Contains(s.b.carry.Recent, turnRunID(s.b.host, s.b.session, it.Turn).String())
}

// delivered reports that nothing more is expected of a known turn.
func (s *turnSegmenter) delivered(it *item) bool {
	return s.known(it) && !slices.Contains(s.b.carry.Silent, turnRunID(s.b.host, s.b.session, it.Turn).String())
}

// runOf is the run an event of the lead agent belongs to, nil if there is none
// yet.
func (s *turnSegmenter) runOf(it *item) *Run {
	if it.Turn == "" {
		if s.open != nil {
			return s.open
		}
		return s.last()
	}
	// What comes of a turn after a run of it was closed for its silence makes a
	// run of its own, so that the same log gives the same runs whenever it is
	// read.
	if r := s.turns[it.Turn]; r != nil && !r.silent {
		return r
	}
	if s.open != nil && s.open.turn == "" {
		return s.open
	}
	return nil
}

// work files an event that only a working agent makes.
func (s *turnSegmenter) work(it *item) {
	r := s.runOf(it)
	switch {
	case r == nil && it.Kind != hook.KindToolStart && s.delivered(it):
		// A late copy of what was delivered.
	case r == nil:
		s.closeOpen(OutcomeInterrupted)
		s.begin(it)
	default:
		if r.terminal != nil && it.Kind == hook.KindToolStart && s.last() == r {
			// The turn goes on although an end was reported.
			r.stopped, r.terminal, r.Outcome = r.terminal, nil, ""
			s.open = r
		}
		s.attach(r, it)
	}
}

// note files an event that may stand anywhere, also beside no turn at all: some
// of the host's own commands have an id and open no turn.
func (s *turnSegmenter) note(it *item) {
	r := s.runOf(it)
	if r == nil && !s.delivered(it) {
		r = s.last()
	}
	switch r {
	case nil:
	case s.open:
		s.attach(r, it)
	default:
		r.late = append(r.late, it)
		r.touch(it)
	}
}

// endTurn files the lead agent's report that it has stopped.
func (s *turnSegmenter) endTurn(it *item) {
	r := s.runOf(it)
	if r == nil {
		if it.Key != "" && s.delivered(it) {
			return // a copy of the end that was delivered
		}
		s.closeOpen(OutcomeInterrupted)
		r = s.begin(it)
	}
	if r.terminal != nil && it.Key != "" && r.terminal.Kind == it.Kind {
		r.late = append(r.late, it)
		r.touch(it)
		return
	}
	if r != s.open && s.last() != r {
		r.late = append(r.late, it)
		r.touch(it)
		return
	}
	s.terminate(r, it)
}

// endSession closes what is open: the turn, and the agents in the background
// that end with the program they run in.
func (s *turnSegmenter) endSession(it *item) {
	s.over = true
	if s.open != nil {
		s.terminate(s.open, it)
	} else if r := s.last(); r != nil {
		r.touch(it)
	}
	for _, r := range s.runs {
		for _, a := range r.agents {
			a.gone = a.gone || a.ended == nil
		}
	}
}

// settle gives a run that fell silent after going on the end it had reported.
func (r *Run) settle() {
	if r.terminal == nil && r.stopped != nil {
		r.terminal, r.stopped = r.stopped, nil
		r.Outcome = OutcomeCompleted
		if r.terminal.Kind == hook.KindRunError {
			r.Outcome = OutcomeFailed
		}
	}
}

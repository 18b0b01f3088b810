package otelmap

import (
	"slices"

	"github.com/hookspan/hookspan/hook"
)

// segmenter sorts a session's events into runs.
type segmenter interface {
	// add files the next event in the agent's order.
	add(*item)
}

// segments are the runs so far, for either segmenter.
type segments struct {
	b     *Builder
	carry Carry
	runs  []*Run
	open  *Run
	// subRuns finds the run of a subagent by its id.
	subRuns map[string]*Run
	// over reports that the session has ended and has not started again.
	over bool
}

func (s *segments) last() *Run {
	if len(s.runs) == 0 {
		return nil
	}
	return s.runs[len(s.runs)-1]
}

func (s *segments) begin(it *item) *Run {
	r := &Run{
		ID:   runID(s.b.host, s.b.session, &it.Event),
		from: it, prev: s.carry, First: it.Offset,
	}
	r.context, _ = parseTraceparent(it.TraceParent)
	if last := s.last(); last != nil {
		last.next = r
	}
	s.runs = append(s.runs, r)
	s.open = r
	s.carry.Runs++
	s.attach(r, it)
	return r
}

func (s *segments) attach(r *Run, it *item) {
	r.items = append(r.items, it)
	if !r.context.IsValid() {
		r.context, _ = parseTraceparent(it.TraceParent)
	}
	r.touch(it)
}

// attachSub files an event of a subagent with its run. Without again, only the
// first end of the agent counts.
func (s *segments) attachSub(r *Run, it *item, again bool) {
	s.subRuns[it.Agent] = r
	a := r.agents[it.Agent]
	if a == nil {
		a = &agent{id: it.Agent, parent: it.ParentAgent, kind: it.AgentType}
		if r.agents == nil {
			r.agents = make(map[string]*agent)
		}
		r.agents[it.Agent] = a
	}
	if it.Kind == hook.KindRunStart {
		a.ended, a.gone = nil, false
	}
	r.touch(it)
	a.items = append(a.items, it)
	if it.Kind.Terminal() && (a.ended == nil || again) {
		a.ended = it
	}
}

// nearest returns the run that started a subagent, as far as the order of the
// events tells it, or nil.
func (s *segments) nearest(it *item) *Run {
	if r := s.subRuns[it.ParentAgent]; r != nil {
		return r
	}
	if s.open != nil {
		return s.open
	}
	return s.last()
}

// agentDelivered reports that the subagent's run was delivered when it had been silent
// for too long.
func (s *segments) agentDelivered(it *item) bool {
	return slices.Contains(s.b.carry.Agents, it.Agent)
}

func (s *segments) terminate(r *Run, it *item) {
	r.terminal = it
	r.touch(it)
	switch it.Kind {
	case hook.KindRunComplete:
		r.Outcome = OutcomeCompleted
	case hook.KindRunCancel:
		r.Outcome = OutcomeCancelled
	case hook.KindRunError:
		r.Outcome = OutcomeFailed
	default:
		r.Outcome = OutcomeInterrupted
	}
	s.leave(r)
}

// closeOpen ends the open run without a terminal event.
func (s *segments) closeOpen(outcome string) {
	if s.open == nil {
		return
	}
	s.open.Outcome = outcome
	s.leave(s.open)
}

func (s *segments) leave(r *Run) {
	s.open = nil
	r.lastModel = s.carry.Model
	s.carry = r.after(&s.b.opts)
}

package otelmap

import (
	"cmp"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// segmenter sorts a session's events, in the agent's order, into runs.
type segmenter struct {
	b     *Builder
	carry Carry
	runs  []*Run
	open  *Run
	// beside are older runs of turns that another process may still work on.
	beside []*Run
	// agentRuns are the runs of the subagents, turnRuns the newest runs of the
	// turns.
	agentRuns, turnRuns map[string]*Run
	// started is the session's oldest start that no run has taken yet, before the number
	// of processes before it.
	started *item
	before  int
	// working are the agents that have begun and may still be at work.
	working []*agent
	// ended reports that the session has ended and has not started again.
	ended bool
	// calls are the runs of the calls under way that have an id and no turn.
	calls hook.OpenCalls[*Run]
	// late are the events of runs before the place where reading began.
	late []Missed
}

// missed notes an event of a run before the place where reading began. Only one of a
// call or of a subagent may change that run's spans, or another end of it; where runs are tasks,
// a cancellation comes after each end.
func (s *segmenter) missed(it *item) {
	if it.Tool != nil || it.ParentAgent != "" || it.Kind == hook.KindRunComplete || it.Kind == hook.KindRunError || it.Kind == hook.KindRunCancel && s.b.turns() {
		m := Missed{Offset: it.Offset}
		if it.ParentAgent != "" {
			m.Keys = append(m.Keys, AgentKey(s.b.host, s.b.session, it.Agent))
		}
		if it.Turn != "" {
			m.Keys = append(m.Keys, turnRunID(s.b.host, s.b.session, it.Turn))
		}
		s.late = append(s.late, m)
	}
}

func (s *segmenter) last() *Run {
	if len(s.runs) == 0 {
		return nil
	}
	return s.runs[len(s.runs)-1]
}

// begin opens a run. A turn that was open before, or was delivered already,
// continues in a separate run.
func (s *segmenter) begin(it *item) *Run {
	r := &Run{
		turn: it.Turn,
		from: it, newest: it.at(), First: it.Offset, model: s.carry.Model, source: s.carry.Source,
	}
	if it.Turn != "" {
		r.whole = turnRunID(s.b.host, s.b.session, it.Turn)
		before := s.turnRuns[it.Turn]
		if r.earlier = before; before != nil {
			before.part = r
		} else {
			r.resumes = s.b.before(r.whole).Ends[r.whole.String()]
		}
		repeated := before == nil && it.Kind == hook.KindPrompt && it.StoredAt().Sub(s.carry.Stored) <= repeatWithin
		r.later = before != nil || s.known(it)
		r.continued = r.later && !repeated
		s.turnRuns[it.Turn] = r
	}
	if last := s.last(); last != nil {
		last.next, r.before = r, last
	}
	s.runs = append(s.runs, r)
	s.open = r
	s.carry.Runs++
	s.carry.Source = ""
	r.processes = s.carry.Processes
	r.attach(it)
	if s.started != nil {
		r.First, r.Last = min(r.First, s.started.Offset), max(r.Last, s.started.last)
		r.processes = s.before
		s.started = nil
	}
	return r
}

var outcomes = map[hook.Kind]string{
	hook.KindRunComplete: OutcomeCompleted,
	hook.KindRunCancel:   OutcomeCancelled,
	hook.KindRunError:    OutcomeFailed,
	hook.KindSessionEnd:  OutcomeInterrupted,

	hook.KindRequestError: OutcomeFailed,
}

func (s *segmenter) terminate(r *Run, it *item) {
	r.touch(it)
	if r.failing != nil && (it.Kind == hook.KindSessionEnd || it.Kind == hook.KindRunError) {
		it = r.failing
		r.failing = nil
	}
	r.retried()
	if r.terminal = it; it.Kind != hook.KindSessionEnd { // that may end several runs
		r.logged(it)
	}
	outcome := outcomes[it.Kind]
	if s.b.turns() && it.Kind == hook.KindRunCancel {
		outcome = OutcomeInterrupted // a turn is not taken back, unlike a task
	}
	s.leave(r, outcome)
}

// closeOpen ends the open run without a terminal event.
func (s *segmenter) closeOpen() {
	switch r := s.open; {
	case r == nil:
	case r.failing != nil:
		s.terminate(r, r.failing)
	default:
		s.leave(r, s.b.silence())
	}
}

// closeIdle closes the open run if there was no event for so long that the host
// crashed or the user left. A later event opens a new run, so that the same log
// always gives the same runs whenever it is read.
func (s *segmenter) closeIdle(now time.Time) {
	if s.b.opts.FromFiles {
		return
	}
	if s.open != nil && now.Sub(s.open.lastAt()) > s.b.opts.IdleTimeout {
		s.open.silent = s.b.turns()
		s.closeOpen()
	}
	for _, r := range slices.Clone(s.beside) {
		if now.Sub(r.lastAt()) > s.b.opts.IdleTimeout {
			r.silent = true
			s.leave(r, s.b.silence())
		}
	}
}

// idle reports that a turn's run had no event for so long when an event was stored.
func (s *segmenter) idle(r *Run, it *item) bool {
	return r != nil && s.b.turns() && !s.b.opts.FromFiles && it.StoredAt().Sub(r.EndedAt) > s.b.opts.IdleTimeout
}

// silent reports that a turn's run had been silent for so long when an event was stored
// that it counts as ended, with its agents.
func (s *segmenter) silent(r *Run, it *item) bool {
	if !s.idle(r, it) {
		return false
	}
	r.sleep(s.b.opts.IdleTimeout)
	if r.terminal == nil && r.Outcome == "" {
		s.leave(r, s.b.silence())
	}
	return true
}

func (s *segmenter) leave(r *Run, outcome string) {
	if s.open == r {
		s.open = nil
	}
	s.beside = slices.DeleteFunc(s.beside, func(other *Run) bool { return other == r })
	r.Outcome, r.lastModel = outcome, s.carry.Model
}

// addAgentEvent adds an event of a subagent to the run that asked for the agent,
// even while a later run is open.
func (s *segmenter) addAgentEvent(it *item) {
	s.rename(it)
	begins := it.Kind == hook.KindRunStart || s.b.turns() && it.Kind == hook.KindToolStart
	r, asking := s.awake(it, begins)
	switch {
	case r != nil:
		if r.agents[it.Agent].end() != never && asksAgain(r, asking, it, begins) {
			r = nil // an agent that is asked again works for the run that asks
		}
	case s.b.turns() && it.Kind.Terminal() && it.AgentType == "":
		// The host used an agent without a type for itself, not for the turn.
		return
	case !begins && s.agentIsLate(it, asking):
		s.missed(it)
		return
	}
	r, before := s.partOf(cmp.Or(r, asking), it)
	switch {
	case before:
		s.missed(it)
		return
	case r != nil:
	case it.Turn != "":
		r = s.beginForAgent(it)
	default:
		r = s.guess(it)
	}
	if r == nil && s.b.opts.Agent.Unnamed {
		return // the agent's files have it in the run that it belongs to
	}
	if r == nil { // events of a subagent alone still make a run
		r = s.begin(it)
		r.items = nil
	}
	s.agentRuns[it.Agent] = r
	if a := r.attachAgent(it, s.b.turns()); len(a.items) == 1 || begins {
		s.working = append(s.working, a)
	}
}

// agentIsLate reports that an event of an agent which begins nothing is of a run before the place where
// reading began, or of one that has ended. asking is the run that may have asked for the agent.
func (s *segmenter) agentIsLate(it *item, asking *Run) bool {
	if s.agentRuns[it.Agent] == nil && s.reported(it.Agent) && s.known(it) && !s.slept(it) {
		return true
	}
	known := s.reported(it.Agent) || s.turnRuns[it.Turn] != nil || s.known(it)
	return asking == nil && known && !s.asleep(it)
}

// guess returns the run that an agent of which nothing is known works for, nil if all have been
// silent for too long: its parent's is the best guess, then the open one.
func (s *segmenter) guess(it *item) *Run {
	for _, r := range []*Run{s.agentRuns[it.ParentAgent], s.open, s.last()} {
		if r != nil && !r.silent && !s.silent(r, it) {
			return r
		}
	}
	return nil
}

// awake returns the runs of the event's agent and turn that have not been silent for too
// long. What has ended without a report of the agent's may have been delivered: what the
// agent does then is a later part, whenever the log is read.
func (s *segmenter) awake(it *item, begins bool) (r, asking *Run) {
	r, asking = s.agentRuns[it.Agent], s.turnRuns[it.Turn]
	lost := r != nil && r.agents[it.Agent].lost() && begins && !r.working()
	if lost && asking == r {
		asking = nil
	}
	if lost || s.silent(r, it) {
		r = nil
	}
	if s.silent(asking, it) {
		asking = nil
	}
	return r, asking
}

// asksAgain reports that an event gives the agent of run r new work.
func asksAgain(r, asking *Run, it *item, begins bool) bool {
	if it.Kind == hook.KindRunStart {
		return true
	}
	return asking != nil && asking != r && (begins || asking.turn != r.turn)
}

// beginForAgent opens a run for a turn whose first event is a subagent's. If the
// turn was delivered before, the run is a later part of it that lasts as long as
// its agents work. Another turn that is open stays open.
func (s *segmenter) beginForAgent(it *item) *Run {
	open := s.open
	r := s.begin(it)
	r.items, r.beside = nil, open
	if r.later {
		r.Outcome = OutcomeCompleted
	}
	if open != nil || r.later {
		s.open = open
	}
	return r
}

// known reports that a run of the event's turn ended before the place where
// reading began.
func (s *segmenter) known(it *item) bool {
	return s.inCarry(it, func(c *Carry) []string { return c.Recent })
}

// delivered reports that no more events of a known turn are expected.
func (s *segmenter) delivered(it *item) bool {
	return s.known(it) && !s.asleep(it)
}

// past reports that no more work is expected of a known turn: another run has begun since.
func (s *segmenter) past(it *item) bool {
	recent := s.b.carry.Recent
	return s.delivered(it) && (len(s.runs) > 0 || len(recent) == 0 || recent[len(recent)-1] != turnRunID(s.b.host, s.b.session, it.Turn).String())
}

// ofLast reports that an event without a turn is of the last run before the place where reading began.
func (s *segmenter) ofLast(it *item) bool {
	recent := s.b.carry.Recent
	return it.Turn == "" && len(s.runs) == 0 && len(recent) > 0 && !slices.Contains(s.b.carry.Silent, recent[len(recent)-1])
}

// slept reports that a part of the event's turn was closed for its silence.
func (s *segmenter) slept(it *item) bool {
	for r := s.turnRuns[it.Turn]; r != nil; r = r.earlier {
		if r.silent {
			return true
		}
	}
	return s.inCarry(it, func(c *Carry) []string { return c.Silent })
}

// asleep reports that the newest part of the event's turn was.
func (s *segmenter) asleep(it *item) bool {
	if r := s.turnRuns[it.Turn]; r != nil {
		return r.silent
	}
	return s.carriedAsleep(it)
}

// carriedAsleep reports it of the newest part before the place where reading began.
func (s *segmenter) carriedAsleep(it *item) bool {
	return s.inCarry(it, func(c *Carry) []string { return c.Silent }) && !s.inCarry(it, func(c *Carry) []string { return c.Awake })
}

func (s *segmenter) inCarry(it *item, list func(*Carry) []string) bool {
	if it.Turn == "" {
		return false
	}
	turn := turnRunID(s.b.host, s.b.session, it.Turn)
	return slices.Contains(list(s.b.before(turn)), turn.String())
}

// attach adds an event of the lead agent.
func (r *Run) attach(it *item) {
	r.items = append(r.items, it)
	r.logged(it)
	r.newest = max(r.newest, it.at())
	if !r.context.IsValid() {
		r.context, _ = parseTraceparent(it.TraceParent)
	}
	r.touch(it)
}

// attachLate adds an event that changes nothing.
func (r *Run) attachLate(it *item) {
	r.late = append(r.late, it)
	r.touch(it)
}

// attachAgent adds an event of a subagent. The agent ends with its first end, or
// with the last one if again is set, because one of the user's hooks may have
// made it continue.
func (r *Run) attachAgent(it *item, again bool) *agent {
	a := r.agents[it.Agent]
	if a == nil {
		a = &agent{id: it.Agent, parent: it.ParentAgent, kind: it.AgentType, gone: never}
		if r.agents == nil {
			r.agents = make(map[string]*agent)
		}
		r.agents[it.Agent] = a
	}
	switch it.Kind {
	case hook.KindRunStart:
		a.ended, a.gone, a.stopped = nil, never, false
	case hook.KindToolStart:
		a.gone, a.stopped = never, false // it works on
	}
	r.touch(it)
	r.newest = max(r.newest, it.at())
	a.items = append(a.items, it)
	r.logged(it)
	switch {
	case it.Kind == hook.KindRequestError, it.Kind.Terminal() && (a.ended == nil || again):
		a.ended = it
	case a.ended != nil && a.ended.Kind == hook.KindRequestError:
		a.ended = nil // it was sent again
	}
	return a
}

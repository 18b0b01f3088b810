package otelmap

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// addTurnEvent adds the next event of an agent that numbers its turns: a prompt
// opens a turn, a report of success or failure ends it, and the events between
// carry the prompt's id. Such agents differ from others in this:
//
//   - An interrupted turn may report no end: the next prompt or the session's end
//     closes it. If several processes work on the session, each has a turn, which ends
//     by its own report or with its process.
//   - A subagent in the background outlives its turn, whose end is then not the
//     run's.
//   - One of the user's hooks may make the agent continue at an end. Then the
//     turn has several ends, of which the last one counts.
func (s *segmenter) addTurnEvent(it *item) {
	defer s.endAgents(it)
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
	case hook.KindAside:
		s.named(it)
	case hook.KindPrompt, hook.KindRunStart, hook.KindRunResume:
		s.prompt(it)
	case hook.KindRunComplete, hook.KindRunCancel, hook.KindRunError:
		s.endTurn(it)
	case hook.KindRequestError:
		s.failRequest(it)
	case hook.KindSessionEnd:
		s.endSession(it)
	case hook.KindNotification, hook.KindNote, hook.KindCompact:
		s.note(it)
	default:
		s.work(it)
	}
}

// prompt adds an event with which a turn begins or continues.
func (s *segmenter) prompt(it *item) {
	s.ended = false
	s.carry.Processes = max(1, s.carry.Processes)
	if s.open != nil && it.Turn != "" && s.open.turn == it.Turn {
		// The user typed while the agent worked, or the events came out of order.
		s.open.attach(it)
		return
	}
	if s.b.opts.Agent.Unnamed && it.keyed && s.named(it) {
		return
	}
	if s.open != nil && it.Turn == "" && (s.open.refused() || it.marked(KeyPromptQueued)) {
		if it.Kind == hook.KindPrompt && !it.marked(KeyPromptQueued) && !it.injected() { // the reason of the hook that refused
			r := *it.remarks // which other events share, and which may be read otherwise next time
			r.Attrs = append(slices.Clone(r.Attrs), hook.Attr{Key: KeyPromptInjected, Value: true})
			marked := *it
			marked.remarks, it = &r, &marked
		}
		s.open.attach(it)
		return
	}
	if r := s.runOf(it); it.Kind == hook.KindRunResume && it.Turn != "" && r != nil && r == s.last() && r.terminal != nil {
		s.reopen(r)
		r.attach(it)
		return
	}
	s.beginTurn(it, func() { s.interrupt(it) })
}

// named reports that an event only names a turn: one that a prompt has opened, or work that came
// before the event. The agent does not wait for the hook, which may be stored at any later place.
func (s *segmenter) named(it *item) bool {
	r, known := s.turnRuns[it.Turn], s.known(it)
	for i := len(s.runs) - 1; i >= 0 && r == nil && !known; i-- {
		from := s.runs[i].from
		switch {
		case s.runs[i].turn != "":
		case it.Kind == hook.KindAside && from.Kind == hook.KindPrompt && from.Prompt == it.Prompt,
			it.Kind == hook.KindPrompt && from.Kind != hook.KindPrompt && s.runs[i] == s.last():
			r = s.runs[i]
			r.turn, r.whole, s.turnRuns[it.Turn] = it.Turn, turnRunID(s.b.host, s.b.session, it.Turn), r
		}
	}
	if r != nil {
		r.attachLate(it)
	}
	return r != nil || known || it.Kind == hook.KindAside
}

// nameTurns gives the lead agent's events the turns that the files know and hooks do not name.
func (b *Builder) nameTurns(tr *hook.Transcript) (changed bool) {
	n := b.turnNames(tr)
	for _, it := range slices.Backward(b.sorted()) {
		if it.Turn != "" || it.ParentAgent != "" || it.marked(KeyPromptQueued) {
			continue
		}
		if turn := n.of(it); turn != "" {
			named := *it.facts
			named.Turn = turn
			it.facts, changed = b.share(named), true
		}
	}
	return changed
}

// turnNames are the turns of events, from the last to the first: of a prompt the next one that is
// begun by none that names it, of a call that of its result, and of what the agent waits for the
// last one begun. The hook of a failure or an interruption may come later than the next turn.
type turnNames struct {
	begun  []hook.Prompt
	called map[string]string
	ends   []hook.TurnEnd
	// named are the turns of prompts that hooks name, next is the place of the first turn of
	// which, as of those behind it, no earlier event is.
	named map[string]bool
	next  int
}

func (b *Builder) turnNames(tr *hook.Transcript) *turnNames {
	n := &turnNames{called: make(map[string]string), ends: tr.Ends, named: make(map[string]bool)}
	for _, p := range tr.Prompts {
		if p.Turn != "" && !p.Queued {
			n.begun = append(n.begun, p)
		}
	}
	for _, r := range tr.ToolResults {
		turn, again := n.called[r.ID]
		if r.Agent != "" || again && turn != r.Turn {
			r.Turn = "" // the id is not one call's
		}
		n.called[r.ID] = r.Turn
	}
	for _, it := range b.items {
		n.named[it.Turn] = n.named[it.Turn] || it.Kind == hook.KindPrompt
	}
	n.next = len(n.begun)
	return n
}

// after returns the place of the first turn that began after a time.
func (n *turnNames) after(at time.Time) int {
	return sort.Search(len(n.begun), func(i int) bool { return n.begun[i].At.After(at) })
}

func (n *turnNames) of(it *item) (turn string) {
	switch it.Kind {
	case hook.KindPrompt:
		// The files have milliseconds. A prompt that was refused has no turn.
		i := n.after(it.StoredAt().Add(-time.Millisecond))
		for i < n.next && (n.begun[i].Injected || n.named[n.begun[i].Turn]) {
			i++
		}
		if i < n.next {
			n.next = i
			return n.begun[i].Turn
		}
	case hook.KindToolStart, hook.KindRunComplete:
		n.next = min(n.next, n.after(it.StoredAt()))
		if n.next > 0 {
			return n.begun[n.next-1].Turn
		}
	case hook.KindToolEnd, hook.KindPermission:
		return n.called[it.Tool.ID]
	case hook.KindRunError, hook.KindRunCancel:
		for _, e := range n.ends {
			failed := e.Kind == hook.KindRunError
			if e.Kind.Terminal() && e.Kind != hook.KindRunComplete && failed == (it.Kind == hook.KindRunError) && !e.At.After(it.StoredAt()) {
				turn = e.Turn
			}
		}
	}
	return turn
}

// beginTurn opens a run for the event's turn. A turn that is open stays open beside it if
// another process may work on it, else it is closed.
func (s *segmenter) beginTurn(it *item, closeOpen func()) *Run {
	before := s.open
	switch {
	case it.Turn == "" || !s.several() || before != nil && before.turn == "":
		closeOpen()
		before = nil
	case before != nil:
		s.beside = append(s.beside, before)
	}
	r := s.begin(it)
	r.beside = before
	return r
}

// startSession notes how the session continues. A program that starts has no turn
// open; one that has compacted its conversation continues its turn.
func (s *segmenter) startSession(it *item) {
	s.ended = false
	s.carry.Model = cmp.Or(it.Model, s.carry.Model)
	source := it.text(KeySessionSource)
	if source == "compact" && s.open != nil {
		s.open.attach(it)
		return
	}
	if s.started == nil {
		s.started, s.before = it, s.carry.Processes
	}
	s.carry.Processes++
	if s.open == nil || s.open.turn == "" || !s.several() {
		s.closeOpen()
	}
	s.carry.Source = source
}

// several reports that more than one process works on the session.
func (s *segmenter) several() bool { return s.b.opts.Agent.Shared && s.carry.Processes > 1 }

// interrupt closes the open turns as interrupted by the user, with the agents that
// it was waiting for: a call that starts an agent in the background reports its
// end at once, any other call never will.
func (s *segmenter) interrupt(it *item) {
	for _, r := range slices.Concat(s.beside, []*Run{s.open}) {
		if r != nil {
			r.stopAgents(it)
			s.leave(r, s.b.silence())
		}
	}
}

// stopAgents marks the agents that an interrupted run was waiting for as gone.
func (r *Run) stopAgents(by *item) {
	background := make(map[string]bool)
	for it := range r.all {
		if it.Kind == hook.KindToolEnd && it.Tool != nil {
			background[it.end.Agent] = true
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
	if a.end() == never {
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
	// Events after a run was closed for its silence make a separate run, so that
	// the same log gives the same runs whenever it is read.
	if it.Turn == "" {
		if r := cmp.Or(s.open, s.last()); r != nil && !r.silent {
			return r
		}
		return nil
	}
	if r := s.turnRuns[it.Turn]; r != nil && !r.silent {
		// Whether one of many agents works is asked last.
		if !s.idle(r, it) || !r.working() || !s.silent(r, it) {
			return r
		}
	}
	if s.open != nil && s.open.turn == "" {
		return s.open
	}
	return nil
}

// work adds an event that only a working agent makes.
func (s *segmenter) work(it *item) {
	r := s.runOf(it)
	if asking := s.asking(it); asking != nil && !asking.silent {
		r = asking
	}
	r, before := s.partOf(r, it)
	switch {
	case r == nil && (before || it.Kind != hook.KindToolStart && s.delivered(it) || s.past(it)):
		s.missed(it) // it may also be a copy of an event that was delivered
	case r == nil:
		s.beginTurn(it, s.closeOpen)
	default:
		if r.terminal != nil && it.Kind == hook.KindToolStart && s.last() == r {
			s.reopen(r)
		}
		r.retried()
		r.attach(it)
	}
	if (it.Turn == "" || s.b.opts.Agent.Unnamed) && it.Kind == hook.KindToolStart && it.Tool.ID != "" {
		s.calls.Start(keyOf(it), cmp.Or(r, s.open))
	}
}

// partOf returns the part of a run's turn that the end of a call belongs to: the newest one with an
// event of the call, else the first behind the newest silence, of those with its agent. before reports
// that this one, and perhaps the call's start, is before the place where reading began.
func (s *segmenter) partOf(r *Run, it *item) (part *Run, before bool) {
	if r == nil || it.Kind != hook.KindToolEnd || it.Tool.ID == "" || !r.later {
		return r, false
	}
	subagent := it.ParentAgent != ""
	for ; ; r = r.earlier {
		for _, o := range slices.Backward(r.made(it)) {
			if o.Tool != nil && o.Tool.ID == it.Tool.ID {
				return r, false
			}
		}
		switch e := r.earlier; {
		case !r.later, e != nil && (e.silent || subagent && e.agents[it.Agent] == nil),
			e == nil && (s.carriedAsleep(it) || subagent && !slices.Contains(s.b.carry.Agents, it.Agent)):
			return r, false
		case e == nil:
			return nil, true
		}
	}
}

// made returns the run's events of an event's agent.
func (r *Run) made(it *item) []*item {
	if it.ParentAgent == "" {
		return r.items
	}
	if a := r.agents[it.Agent]; a != nil {
		return a.items
	}
	return nil
}

// asking returns the run of a call without a turn that ends: it may have been under way
// when the next prompt came.
func (s *segmenter) asking(it *item) *Run {
	if it.Turn != "" || it.Kind != hook.KindToolEnd {
		return nil
	}
	r, _ := s.calls.End(keyOf(it))
	return r
}

// reopen makes a turn continue although an end was reported.
func (s *segmenter) reopen(r *Run) {
	r.stopped, r.terminal, r.Outcome = r.terminal, nil, ""
	s.open = r
}

// failRequest adds the failure of a request, with which the turn may end.
func (s *segmenter) failRequest(it *item) {
	r := s.runOf(it)
	switch {
	case r == nil && (s.past(it) || s.ofLast(it)):
		return
	case r == nil:
		r = s.begin(it)
		r.items = nil
	case r != s.open:
		s.note(it)
		return
	}
	r.retried()
	r.failing = it
	r.touch(it)
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
		if it.keyed && s.delivered(it) || s.ofLast(it) {
			s.missed(it) // it may also be a copy of the end that was delivered
			return
		}
		r = s.beginTurn(it, s.closeOpen)
	}
	copied := r.terminal != nil && it.keyed && r.terminal.Kind == it.Kind &&
		(it.Kind != hook.KindRunComplete || it.StoredAt().Sub(r.terminal.StoredAt()) <= repeatWithin)
	// An end of another turn than the newest is its turn's own.
	own := r == s.open || r == s.last() || it.Turn != "" && r.turn == it.Turn && r.terminal == nil
	if copied || !own {
		r.attachLate(it)
		return
	}
	if it.Kind == hook.KindRunCancel {
		r.stopAgents(it)
	}
	s.terminate(r, it)
}

// endSession closes the open turn and the agents in the background, which end
// with the program they run in. If others work on the session, only its own turn ends.
func (s *segmenter) endSession(it *item) {
	// A program has only its newest turn.
	shared := s.several() || s.b.opts.Agent.Shared && it.Turn != "" && s.open != nil && s.open.turn != "" && s.open.turn != it.Turn
	s.carry.Processes = max(0, s.carry.Processes-1)
	if shared {
		if r := s.turnRuns[it.Turn]; r != nil {
			r.touch(it)
			if r.terminal == nil && r.Outcome == "" {
				s.terminate(r, it)
			}
			for _, a := range r.agents {
				a.stop(it.at())
			}
		}
		return
	}
	s.ended = true
	last := s.last()
	for _, r := range slices.Concat(s.beside, []*Run{s.open}) {
		if r != nil {
			s.terminate(r, it)
			last = nil
		}
	}
	if last != nil {
		last.touch(it)
	}
	for _, a := range s.working {
		a.stop(it.at())
	}
	s.working = s.working[:0]
}

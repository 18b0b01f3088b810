package otelmap

import (
	"cmp"
	"hash/maphash"
	"iter"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// files is what the agent's files hold, by the run that it belongs to. An entry belongs
// to one run at most. All runs share it, and it does not change.
type files struct {
	tr     *hook.Transcript
	shares map[RunID]*runFiles
	// agents are the subagents by id, ends the ends of turns by turn, asked the requests whose
	// answers ask for a call, by their ends.
	agents map[string]*hook.Subagent
	ends   map[string][]*hook.TurnEnd
	asked  map[callKey][]asking
	// timeless are the results without a time, which belong to every run.
	timeless []*hook.ToolResult
}

// runFiles is what belongs to one run. A request of which an end is changed is a copy.
type runFiles struct {
	calls   []*hook.Request
	results []*hook.ToolResult
	prompts []*hook.Prompt
	agents  []*hook.Subagent
}

// filesOf returns what the files hold. Several goroutines may call it.
func (b *Builder) filesOf(tr *hook.Transcript) *files {
	if f := b.files.Load(); f != nil && f.tr == tr {
		return f
	}
	f := &files{
		tr: tr, shares: make(map[RunID]*runFiles), agents: make(map[string]*hook.Subagent),
		ends: make(map[string][]*hook.TurnEnd),
	}
	of := func(r *Run) *runFiles {
		if r == nil {
			return &runFiles{}
		}
		s := f.shares[r.ID]
		if s == nil {
			s = &runFiles{}
			f.shares[r.ID] = s
		}
		return s
	}
	p, reported := b.places(tr), b.reportedCalls()
	for i := range tr.Requests {
		run, c := p.call(&tr.Requests[i])
		for _, id := range c.ToolCallIDs {
			key := callKey{c.Agent, id}
			p.asked[key] = append(p.asked[key], asking{instantOf(c.End), run})
		}
		s := of(run)
		s.calls = append(s.calls, c)
	}
	if slices.ContainsFunc(tr.ToolResults, func(r hook.ToolResult) bool { return r.Asked.IsZero() }) {
		f.asked = p.asked // else the results say when they were asked for
	}
	for _, list := range p.asked {
		slices.SortStableFunc(list, func(x, y asking) int { return cmp.Compare(x.end, y.end) })
	}
	for i := range tr.ToolResults {
		r := &tr.ToolResults[i]
		if r.At.IsZero() {
			f.timeless = append(f.timeless, r)
			continue
		}
		run := p.result(r)
		if r.Agent != "" && reported != nil {
			run = cmp.Or(reported[hook.CallKey{ID: r.ID, Name: r.Name, Input: maphash.String(b.seed, r.Input)}], run)
		}
		s := of(run)
		s.results = append(s.results, r)
	}
	for i := range tr.Prompts {
		q := &tr.Prompts[i]
		at := q.At
		if p.turns[q.Turn] != nil {
			at = at.Add(promptLead)
		}
		s := of(p.entry("", q.Turn, at))
		s.prompts = append(s.prompts, q)
	}
	for i := range tr.Agents {
		a := &tr.Agents[i]
		if f.agents[a.ID] == nil {
			f.agents[a.ID] = a
		}
		s := of(p.entry("", a.Turn, a.Start))
		s.agents = append(s.agents, a)
	}
	for i := range tr.Ends {
		e := &tr.Ends[i]
		f.ends[e.Turn] = append(f.ends[e.Turn], e)
	}
	for _, s := range f.shares {
		slices.SortStableFunc(s.calls, func(x, y *hook.Request) int {
			return cmp.Or(x.Start.Compare(y.Start), cmp.Compare(x.ID, y.ID))
		})
	}
	b.files.Store(f)
	return f
}

// reportedCalls are the runs of the calls with ids that hooks reported as the lead agent's, of an
// agent whose hooks name no subagents: one of a subagent in the background may be of a later run
// than it. It is nil for any other agent.
func (b *Builder) reportedCalls() map[hook.CallKey]*Run {
	if !b.opts.Agent.Unnamed {
		return nil
	}
	out := make(map[hook.CallKey]*Run)
	for _, r := range b.runs {
		for it := range r.all {
			if it.Tool != nil && it.Tool.ID != "" && it.ParentAgent == "" && out[keyOf(it)] == nil {
				out[keyOf(it)] = r
			}
		}
	}
	return out
}

// Release lets go of what a run consists of, also in the transcript: its requests and results
// there are empty afterwards. Of the builder only the spans of other runs may be asked for then.
func (b *Builder) Release(r *Run, tr *hook.Transcript) {
	b.items, b.seen, r.items, r.late = nil, nil, nil, nil
	for _, a := range r.agents {
		a.items = nil
	}
	f := b.filesOf(tr)
	if s := f.shares[r.ID]; s != nil {
		for _, c := range s.calls {
			*c = hook.Request{}
		}
		for _, t := range s.results {
			*t = hook.ToolResult{}
		}
		delete(f.shares, r.ID)
	}
}

// stretch is a time of which the files' entries belong to a run. latest is the latest
// end so far in its timeline.
type stretch struct {
	run              *Run
	from, to, latest instant
}

// always is the end of a stretch without an end.
const always instant = math.MaxInt64

// timeline finds the stretches of a moment.
type timeline []stretch

func (t timeline) sort() {
	slices.SortStableFunc(t, func(x, y stretch) int { return cmp.Compare(x.from, y.from) })
	latest := never
	for i := range t {
		latest = max(latest, t[i].to)
		t[i].latest = latest
	}
}

// at yields the runs whose stretch holds a moment, the one that begins last first.
func (t timeline) at(moment instant) iter.Seq[*Run] {
	return func(yield func(*Run) bool) {
		n := sort.Search(len(t), func(i int) bool { return t[i].from > moment })
		for i := n - 1; i >= 0 && t[i].latest >= moment; i-- {
			if t[i].to >= moment && !yield(t[i].run) {
				return
			}
		}
	}
}

// places finds the runs of the files' entries.
type places struct {
	// all are the runs by time, turnless those without a turn, turns the parts of each
	// turn, agents the runs of each subagent.
	all, turnless timeline
	turns, agents map[string]*timeline
	// since is from when on entries without a turn belong to a run.
	since map[*Run]instant
	// reported are the runs in which hooks reported a call, nil for several.
	reported map[callKey]*Run
	asked    map[callKey][]asking // as in files
	// elsewhere are the agents of earlier runs.
	elsewhere map[string]bool
}

// asking is the end of a request and its run, nil for one that is not here.
type asking struct {
	end instant
	run *Run
}

// at is when the request ended.
func (a asking) at() time.Time { return a.end.Time() }

func (b *Builder) places(tr *hook.Transcript) *places {
	p := &places{
		turns: make(map[string]*timeline), agents: make(map[string]*timeline), since: make(map[*Run]instant),
		reported: make(map[callKey]*Run), asked: make(map[callKey][]asking), elsewhere: make(map[string]bool),
	}
	prompts, ends := tr.Prompts, make(map[string]instant)
	for _, id := range b.carry.Agents {
		p.elsewhere[id] = true
		if until, known := b.carry.Until[id]; known {
			ends[id] = instantOf(until)
		}
	}
	for _, r := range b.runs {
		at := stretch{run: r}
		at.from, at.to = b.within(r, prompts)
		p.all, p.since[r] = append(p.all, at), at.from
		if r.turn == "" {
			p.turnless = append(p.turnless, at)
		} else {
			add(p.turns, r.turn, stretch{run: r, from: b.since(r, prompts), to: always})
		}
		if len(tr.ToolResults) > 0 {
			p.report("", r, r.items)
		}
		for id, a := range r.agents {
			s := stretch{run: r}
			s.from, s.to = a.within()
			add(p.agents, id, s)
			if len(tr.ToolResults) > 0 {
				p.report(id, r, a.items)
			}
		}
	}
	p.all.sort()
	p.turnless.sort()
	for _, t := range p.turns {
		t.sort()
	}
	for id, t := range p.agents {
		t.sort()
		// Each moment belongs to one of the runs: to the earlier one until the agent
		// begins again, or has been at rest for so long that only a lead is possible.
		end, known := ends[id]
		for i := range *t {
			s := &(*t)[i]
			began := s.run.agents[id].items[0].at()
			if known {
				s.from = max(s.from, min(end+1, began))
			}
			if i+1 < len(*t) {
				next := (*t)[i+1].run.agents[id].items[0].at()
				s.to = max(s.from, s.run.agents[id].end(), min(s.to, next-1))
			}
			end, known = s.to, true
		}
		t.sort()
	}
	return p
}

func add(to map[string]*timeline, key string, s stretch) {
	t := to[key]
	if t == nil {
		t = &timeline{}
		to[key] = t
	}
	*t = append(*t, s)
}

// report notes which calls the hooks have reported in a run.
func (p *places) report(agent string, r *Run, items []*item) {
	for _, it := range items {
		if it.Tool == nil || it.Tool.ID == "" {
			continue
		}
		key := callKey{agent, it.Tool.ID}
		if other, known := p.reported[key]; known && other != r {
			p.reported[key] = nil
			continue
		}
		p.reported[key] = r
	}
}

// call returns the run of a request: that of its agent whenever it was made, else that of
// its turn or its time. The request that is returned is a copy if it broke off with its turn:
// its end is the turn's.
func (p *places) call(c *hook.Request) (*Run, *hook.Request) {
	if t := p.agents[c.Agent]; t != nil {
		return first(t.at(instantOf(c.Start))), c
	}
	if p.elsewhere[c.Agent] {
		return nil, c
	}
	at := c.Start
	if c.Turn != "" && !c.End.IsZero() {
		at = c.End
	}
	if t := p.turns[c.Turn]; t != nil && c.Error != "" && c.Agent == "" {
		for r := range t.at(instantOf(c.End)) {
			if end, ok := r.broke(c); ok {
				broken := *c
				at, broken.End, c = end, end, &broken
				break
			}
		}
	}
	return p.entry(c.Agent, c.Turn, at), c
}

// result returns the run of a call's result: the one in which hooks reported the call,
// else that of its agent, turn and time. Without a turn it is the run of the request
// that asked for the call: an agent may note the result when the run has ended.
func (p *places) result(r *hook.ToolResult) *Run {
	key := callKey{r.Agent, r.ID}
	asked, known := hook.Newest(p.asked[key], r.At, asking.at)
	run := p.reported[key]
	if known && run != nil && r.Turn == "" && len(p.asked[key]) > 1 {
		// The id may be that of a call of another run: one that no hook reported, or of a run
		// that is not here.
		if asked.run != nil && asked.run != run || asked.run == nil && instantOf(r.At) < p.since[run] {
			run = nil
		}
	}
	if run != nil && (r.Agent != "" || r.Turn == "" || run.turn == "" || run.turn == r.Turn) {
		if r.Agent == "" && run.terminal != nil && r.At.After(run.terminal.At()) {
			return nil // what the agent noted when it had stopped is no result
		}
		return run
	}
	if t := p.agents[r.Agent]; t != nil {
		return first(t.at(instantOf(r.At)))
	}
	if p.elsewhere[r.Agent] {
		return nil
	}
	if r.Turn == "" && known {
		return asked.run
	}
	return p.entry(r.Agent, r.Turn, r.At)
}

// entry returns the run of an entry: by the turn if the agent numbers turns, else by
// time. at is when the entry was complete. The time counts for a turn, too: a forked
// session begins with a copy of the other's entries, all under the turn of its own first
// prompt, and a turn may be split into several runs.
func (p *places) entry(agent, turn string, at time.Time) *Run {
	moment := instantOf(at)
	if turn == "" {
		return first(p.all.at(moment))
	}
	if t := p.turns[turn]; t != nil {
		for r := range t.at(moment) {
			if r.holds(agent, at) {
				return r
			}
		}
	}
	return first(p.turnless.at(moment))
}

func first(runs iter.Seq[*Run]) *Run {
	for r := range runs {
		return r
	}
	return nil
}

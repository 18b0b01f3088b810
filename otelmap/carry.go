package otelmap

import (
	"maps"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
)

// Carry is what must be known of a session before the point where a log is
// read from. The zero value is the session's beginning.
type Carry struct {
	// PrevTrace and PrevSpan are the last run's root, in hex, to link to.
	PrevTrace string `json:"prev_trace,omitempty"`
	PrevSpan  string `json:"prev_span,omitempty"`
	// PrevEnd is that run's end, up to which requests to the model are counted;
	// zero if the run reported no end.
	PrevEnd time.Time `json:"prev_end,omitzero"`
	// EndKey is the key of the end that it reported, if copies of that may follow.
	EndKey string `json:"end_key,omitempty"`
	// Stored is when the newest of the events so far was stored: an event stored
	// long before it shows that the clock was set back.
	Stored time.Time `json:"stored,omitzero"`
	// Runs counts the runs so far.
	Runs int `json:"runs,omitempty"`
	// Agents are the newest subagents of those runs: their requests to the
	// model were counted there, even those made while a later run was open.
	Agents []string `json:"agents,omitempty"`
	// Until is until when the requests of these agents belong to the runs, unless they may
	// still make some.
	Until map[string]time.Time `json:"until,omitempty"`
	// Recent are the newest of those runs, a turn behind its parts: if their events are reported again,
	// they are ignored.
	Recent []string `json:"recent,omitempty"`
	// Silent are those of Recent of whose turns a part ended by the idle timeout, Awake those of
	// Silent whose newest part did not: later events of the others are new.
	Silent []string `json:"silent,omitempty"`
	Awake  []string `json:"awake,omitempty"`
	// Ends are the reported ends of the newest parts of the turns of Recent.
	Ends map[string]time.Time `json:"ends,omitempty"`
	// Unfinished reports that the newest of those runs lack the end of a call, of a subagent
	// or of the turn, which a slow hook may yet report.
	Unfinished bool `json:"unfinished,omitempty"`
	// Task is a preview of the session's first prompt that a hook reported, on
	// hosts without turns. It names a run that begins without a prompt.
	Task string `json:"task,omitempty"`
	// Processes counts the processes that work on the session, as far as they reported
	// their start.
	Processes int `json:"processes,omitempty"`
	// Source and Model are those of the newest start of the session. A run takes
	// Source when it begins.
	Source string `json:"source,omitempty"`
	Model  string `json:"model,omitempty"`
}

// carried bounds Carry.Agents and Carry.Recent.
const carried = 64

// after returns the carry after a run, without lists.
func (r *Run) after(o *Options) Carry {
	sc := r.rootContext(o)
	c := Carry{
		PrevTrace: sc.TraceID().String(), PrevSpan: sc.SpanID().String(),
		Runs: r.prev.Runs + 1, Model: r.lastModel, Task: r.prev.Task,
		Stored: latest(r.EndedAt, r.prev.Stored),
	}
	if r.terminal != nil {
		c.PrevEnd, c.EndKey = r.terminal.At(), r.terminal.endKey
	}
	if c.Task == "" && r.turn == "" {
		c.Task = termtext.Cut(r.firstOf(func(it *item) string {
			if it.injected() || it.ParentAgent != "" {
				return ""
			}
			return it.Prompt
		}), o.MaxInput)
	}
	return c
}

// list adds the lists of earlier and of the runs.
func (c *Carry) list(earlier *Carry, runs []*Run) {
	c.Agents, c.Recent = slices.Clone(earlier.Agents), slices.Clone(earlier.Recent)
	c.Silent, c.Awake = slices.Clone(earlier.Silent), slices.Clone(earlier.Awake)
	c.Unfinished = slices.ContainsFunc(runs, func(r *Run) bool { return !r.Complete() })
	until, ends := merged(earlier.Until, nil), merged(earlier.Ends, nil)
	for _, r := range runs {
		c.Recent = append(c.Recent, r.ID.String())
		if whole := r.whole.String(); r.whole != r.ID { // the turn continues, and is the newest
			c.Recent = append(slices.DeleteFunc(c.Recent, func(id string) bool { return id == whole }), whole)
		}
		delete(ends, r.whole.String())
		if r.turn != "" && r.terminal != nil {
			ends[r.whole.String()] = r.terminal.At()
		}
		c.Awake = slices.DeleteFunc(c.Awake, func(id string) bool { return id == r.whole.String() })
		if r.silent {
			c.Silent = append(c.Silent, r.whole.String())
		} else if slices.Contains(c.Silent, r.whole.String()) {
			c.Awake = append(c.Awake, r.whole.String())
		}
		for _, a := range r.sortedAgents() {
			c.Agents = slices.DeleteFunc(c.Agents, func(old string) bool { return old == a.id })
			c.Agents = append(c.Agents, a.id)
			c.Agents = c.Agents[max(0, len(c.Agents)-carried):]
			delete(until, a.id)
			if _, to := a.within(); to != always {
				until[a.id] = to.Time()
			}
		}
		c.Recent = c.Recent[max(0, len(c.Recent)-carried):]
	}
	maps.DeleteFunc(until, func(id string, _ time.Time) bool { return !slices.Contains(c.Agents, id) })
	maps.DeleteFunc(ends, func(id string, _ time.Time) bool { return !slices.Contains(c.Recent, id) })
	c.Until, c.Ends = until, ends
	c.Silent = slices.DeleteFunc(c.Silent, func(id string) bool { return !slices.Contains(c.Recent, id) })
	c.Awake = slices.DeleteFunc(c.Awake, func(id string) bool { return !slices.Contains(c.Recent, id) })
}

// merged returns the entries of both, those of the later one where both have one.
func merged(earlier, later map[string]time.Time) map[string]time.Time {
	all := make(map[string]time.Time, len(earlier)+len(later))
	maps.Copy(all, earlier)
	maps.Copy(all, later)
	return all
}

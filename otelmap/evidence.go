package otelmap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
)

// known returns how much of the run is known, and what is missing. lacking reports that there is
// no transcript.
func (j *joined) known(lacking bool, t *results) (evidence, missing string) {
	if j.open {
		return "", ""
	}
	var lacks []string
	note := func(n int, what string) {
		if n > 0 {
			lacks = append(lacks, fmt.Sprintf("%d %s", n, what))
		}
	}
	if !j.began() {
		lacks = append(lacks, "its beginning")
	}
	note(j.lostEvents(), "of its events, which could not be read")
	note(j.unreported(t), "of its calls, which no hook reported")
	var places []string
	for i := range j.tr.Unread {
		if u := &j.tr.Unread[i]; j.has(u) && !slices.Contains(places, u.Reason) {
			places = append(places, u.Reason)
		}
	}
	if len(places) > 0 {
		lacks = append(lacks, "rows of the agent's files: "+strings.Join(places, "; "))
	}
	switch {
	case len(lacks) > 0:
		return EvidencePartial, strings.Join(lacks, ", ")
	case j.outcome == OutcomeAbandoned:
		return EvidenceUnknown, "its end was not reported"
	case lacking && len(j.requests) == 0:
		return EvidenceUnknown, "the agent's files were not read: its tokens are not known"
	case lacking:
		return EvidenceUnknown, "the agent's files were not read"
	}
	return EvidenceComplete, ""
}

// began reports that the run has the event that begins one.
func (j *joined) began() bool {
	switch j.run.from.Kind {
	case hook.KindPrompt, hook.KindRunStart:
		return true
	case hook.KindRunResume: // of a turn that no run before began, the beginning is missing
		return !j.turns() || j.run.later || j.run.prev.Runs > 0
	}
	// What follows a long silence, or a stop that was refused, belongs to a turn with a
	// beginning.
	return j.run.later || j.run.prev.Runs > 0 && !j.turns()
}

// lostEvents counts the events that could not be read since the run began and before the
// next one, and those before the session's first.
func (j *joined) lostEvents() int {
	from, to := 0, len(j.lost)
	if j.run.before != nil {
		from, _ = slices.BinarySearch(j.lost, j.run.First)
	}
	if j.run.next != nil {
		to, _ = slices.BinarySearch(j.lost, j.run.next.First)
	}
	return max(0, to-from)
}

// unreported counts the lead agent's calls in the files that no hook reported, of the tools
// whose other calls hooks reported: there are tools that no hook is run for. Where hooks
// report calls without ids, it is not known which those are.
func (j *joined) unreported(t *results) (n int) {
	if len(t.of[""]) == 0 {
		return 0
	}
	known := make(map[*hook.ToolResult]bool)
	for _, c := range j.agents[0].made {
		known[c.result] = !c.unreported
	}
	reported, tools := make(map[string]bool), make(map[string]bool)
	for _, items := range [][]*item{j.run.items, j.run.late} {
		for _, it := range items {
			if it.Tool != nil {
				reported[it.Tool.ID], tools[it.Tool.Name] = true, true
			}
		}
	}
	for _, r := range t.of[""] {
		if r.ID != "" && tools[r.Name] && !known[r] && (t.taken[r] || !reported[r.ID]) && !reported[""] {
			n++
		}
	}
	return n
}

// has reports that what was not read concerns the run: its row would be before a row of the
// run, or before the next one's.
func (j *joined) has(u *hook.Unread) bool {
	switch {
	case u.Whole:
		return true
	case u.At.IsZero():
		return j.run.next == nil
	}
	next := j.run.next
	return !u.At.Before(j.start) && (next == nil || !u.At.After(next.Begun())) || j.run.before == nil && u.At.Before(j.start)
}

package otelmap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
)

// evidence returns how much of the run is known, and what is missing. It is what is known
// when the spans are made.
func (m *mapping) evidence(outcome string) (evidence, missing string) {
	if m.open {
		return "", ""
	}
	var lacks []string
	note := func(n int, what string) {
		if n > 0 {
			lacks = append(lacks, fmt.Sprintf("%d %s", n, what))
		}
	}
	if !m.began() {
		lacks = append(lacks, "its beginning")
	}
	note(m.lostEvents(), "of its events, which could not be read")
	note(m.unreported(), "of its calls, which no hook reported")
	var places []string
	for i := range m.tr.Unread {
		if u := &m.tr.Unread[i]; m.has(u) && !slices.Contains(places, u.Reason) {
			places = append(places, u.Reason)
		}
	}
	if len(places) > 0 {
		lacks = append(lacks, "rows of the agent's files: "+strings.Join(places, "; "))
	}
	switch {
	case len(lacks) > 0:
		return EvidencePartial, strings.Join(lacks, ", ")
	case outcome == OutcomeAbandoned:
		return EvidenceUnknown, "its end was not reported"
	case m.lacking && len(m.calls) == 0:
		return EvidenceUnknown, "the agent's files were not read: its tokens are not known"
	case m.lacking:
		return EvidenceUnknown, "the agent's files were not read"
	}
	return EvidenceComplete, ""
}

// began reports that the run has the event that begins one.
func (m *mapping) began() bool {
	switch m.run.from.Kind {
	case hook.KindPrompt, hook.KindRunStart:
		return true
	case hook.KindRunResume: // of a turn that no run before began, the beginning is missing
		return !m.turns() || m.run.later || m.run.prev.Runs > 0
	}
	// What follows a long silence, or a stop that was refused, belongs to a turn with a
	// beginning.
	return m.run.later || m.run.prev.Runs > 0 && !m.turns()
}

// lostEvents counts the events that could not be read since the run began and before the
// next one, and those before the session's first.
func (m *mapping) lostEvents() int {
	from, to := 0, len(m.lost)
	if m.run.before != nil {
		from, _ = slices.BinarySearch(m.lost, m.run.First)
	}
	if m.run.next != nil {
		to, _ = slices.BinarySearch(m.lost, m.run.next.First)
	}
	return max(0, to-from)
}

// unreported counts the lead agent's calls in the files that no hook reported, of the tools
// whose other calls hooks reported: there are tools that no hook is run for. Where hooks
// report calls without ids, it is not known which those are.
func (m *mapping) unreported() (n int) {
	known := make(map[*hook.ToolResult]bool)
	for _, c := range m.callsBy[""] {
		known[c.result] = !c.unreported
	}
	reported, tools := make(map[string]bool), make(map[string]bool)
	for _, items := range [][]*item{m.run.items, m.run.late} {
		for _, it := range items {
			if it.Tool != nil {
				reported[it.Tool.ID], tools[it.Tool.Name] = true, true
			}
		}
	}
	for _, r := range m.results.of[""] {
		if r.ID != "" && tools[r.Name] && !known[r] && (m.results.taken[r] || !reported[r.ID]) && !reported[""] {
			n++
		}
	}
	return n
}

// has reports that what was not read concerns the run: its row would be before a row of the
// run, or before the next one's.
func (m *mapping) has(u *hook.Unread) bool {
	switch {
	case u.Whole:
		return true
	case u.At.IsZero():
		return m.run.next == nil
	}
	next := m.run.next
	return !u.At.Before(m.start) && (next == nil || !u.At.After(next.Begun())) || m.run.before == nil && u.At.Before(m.start)
}

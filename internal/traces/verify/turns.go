package verify

import (
	"slices"
	"strconv"
	"time"

	"github.com/hookspan/hookspan/internal/traces/verify/second"
	"github.com/hookspan/hookspan/otelmap"
)

// run is when and how a run of a trace ended.
type run struct {
	start, end time.Time
	// asked reports that a prompt is in it.
	asked   bool
	outcome string
}

// turnDifferences names the runs that are of no turn in the files, and the turns that ended
// otherwise in the traces. The run of a turn that ended last decides, and of several turns in it the last
// one. A turn that was interrupted may look in the files as if it went on.
func (s *Brief) turnDifferences(lacks second.Lacks, files *second.Session) (out []Difference) {
	turns := slices.SortedStableFunc(slices.Values(files.Turns), func(a, b *second.Turn) int { return a.At.Compare(b.At) })
	runs := slices.SortedStableFunc(slices.Values(s.runs), func(a, b run) int { return a.start.Compare(b.start) })
	last := make(map[*second.Turn]run)
	for i, r := range runs {
		until := r.end
		if i+1 < len(runs) && runs[i+1].asked && runs[i+1].start.Before(until) {
			until = runs[i+1].start // something of this one ended after the next began
		}
		n, _ := slices.BinarySearchFunc(turns, r, func(t *second.Turn, r run) int {
			if t.At.Before(until) || !t.At.After(r.start) {
				return -1
			}
			return 1
		})
		switch {
		case n > 0 && (!r.asked || !turns[n-1].At.Before(r.start.Add(-early))):
			if t := turns[n-1]; !r.end.Before(last[t].end) {
				last[t] = r
			}
		case !lacks.CutTurns:
			out = append(out, Difference{Kind: Extra, What: "the turn of " + r.start.UTC().Format(time.RFC3339), InTrace: r.outcome, File: firstOf(files.Files)})
		}
	}
	for _, t := range turns {
		r, said := last[t], ""
		switch {
		case t.Answered && (r.outcome == otelmap.OutcomeInterrupted || r.outcome == otelmap.OutcomeCancelled) && !(lacks.CutTurns && s.stoppedIn(r)):
			said = otelmap.OutcomeCompleted
		case !t.Answered && r.outcome == otelmap.OutcomeCompleted:
			said = otelmap.OutcomeInterrupted
		default:
			continue
		}
		out = append(out, Difference{Kind: Outcome, What: "the turn of " + t.At.UTC().Format(time.RFC3339), InTrace: r.outcome, InFiles: said, File: t.File, IDs: []string{"line " + strconv.Itoa(t.Line)}})
	}
	return out
}

// stoppedIn reports a call of the run that did not end. An agent that writes a call when it
// has ended has only the text before it, which looks like the turn's answer.
func (s *Brief) stoppedIn(r run) bool {
	return slices.ContainsFunc(s.stopped, func(at time.Time) bool { return !at.Before(r.start) && !at.After(r.end) })
}

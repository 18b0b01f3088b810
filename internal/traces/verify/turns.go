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

// turnDifferences names the turns that ended otherwise in the traces than in the files. The
// last run of a turn decides, and of several prompts in it the last one. A turn that has no
// end in the files may have any.
func (s *Brief) turnDifferences(files *second.Session) (out []Difference) {
	turns := slices.SortedStableFunc(slices.Values(files.Turns), func(a, b *second.Turn) int { return a.At.Compare(b.At) })
	runs := slices.SortedStableFunc(slices.Values(s.runs), func(a, b run) int { return a.start.Compare(b.start) })
	last := make(map[*second.Turn]run)
	for _, r := range runs {
		n, _ := slices.BinarySearchFunc(turns, r, func(t *second.Turn, r run) int {
			if t.At.Before(r.end) || !t.At.After(r.start) {
				return -1
			}
			return 1
		})
		if n > 0 && (!r.asked || !turns[n-1].At.Before(r.start.Add(-early))) {
			last[turns[n-1]] = r
		}
	}
	for _, t := range turns {
		r, said := last[t], ""
		switch {
		case t.Answered && (r.outcome == otelmap.OutcomeInterrupted || r.outcome == otelmap.OutcomeCancelled):
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

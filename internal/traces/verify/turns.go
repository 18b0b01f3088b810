package verify

import (
	_ "embed"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
	"github.com/hookspan/hookspan/otelmap"
)

//go:embed outcomes.txt
var outcomes string

// showsFailed reports that an agent's files show that a turn has failed. Those of opencode's forks
// are opencode's.
func showsFailed(host string) bool {
	if hook.AgentOf(host).Plugin != "" {
		host = hook.HostOpencode
	}
	return strings.Contains(outcomes, "\n"+host+" "+otelmap.OutcomeFailed+": ")
}

// early is how much earlier than the hook that begins a run an agent may write a row of it.
const early = 10 * time.Second

// compareTurns pairs runs and turns. A turn has one run, or parts of which one begins where the
// files show that the turn had ended and went on, or that it was left for a time. A run may
// cover several turns, as that of a Cline task does; the last one says how it ended.
func (c *comparison) compareTurns() {
	turns := slices.SortedStableFunc(slices.Values(c.files.Turns), func(a, b *agentfiles.Turn) int { return a.At.Compare(b.At) })
	runs := slices.SortedStableFunc(slices.Values(c.runs), func(a, b run) int { return a.start.Compare(b.start) })
	homes := c.homes(turns, runs)
	begun := make(map[int]bool)
	for _, n := range homes {
		begun[n] = true
	}
	last, ends := make(map[*agentfiles.Turn]run), make(map[*agentfiles.Turn]bool)
	for i, r := range runs {
		n := homes[i]
		if n < 0 {
			if r.work || !r.asked || r.outcome == otelmap.OutcomeCompleted || !c.lacks.CutTurns {
				c.add(Difference{Trace: r.trace, Kind: Extra, What: "the turn of " + at(r.start), InTrace: r.outcome})
			}
			continue
		}
		for ; n < len(turns) && (n == homes[i] || turns[n].At.Before(r.end) && !begun[n]); n++ {
			before, again := last[turns[n]]
			if again && n == homes[i] && !follows(turns[n], before, r) {
				c.add(Difference{Trace: r.trace, Kind: Double, What: "the turn of " + at(turns[n].At), InTrace: at(r.start), InFiles: "once", File: turns[n].File})
			}
			if !again || !r.end.Before(before.end) {
				last[turns[n]] = r
			}
		}
		ends[turns[n-1]] = true
	}
	for _, t := range turns {
		if r, covered := last[t]; covered && ends[t] {
			c.compareOutcome(t, r)
		} else if !covered && t.Asked() && t.Work > 0 {
			c.add(Difference{Kind: Missing, What: "the turn of " + at(t.At), InFiles: "there", File: t.File, IDs: []string{"line " + strconv.Itoa(t.Line)}})
		}
	}
}

func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// homes are the turns that the runs begin in, less than 0 for none: that of the nearest begin
// for a run with a prompt, else the one that lasts then.
func (c *comparison) homes(turns []*agentfiles.Turn, runs []run) []int {
	homes := make([]int, len(runs))
	taken := make(map[int]bool)
	for i, r := range runs {
		homes[i] = -1
		n := sort.Search(len(turns), func(k int) bool { return turns[k].At.After(r.begun) })
		best := early + 1
		for k := n - 1; k >= 0 && r.begun.Sub(turns[k].At) <= early; k-- {
			if away := r.begun.Sub(turns[k].At); away < best && !(taken[k] && r.asked) {
				best, homes[i] = away, k
			}
		}
		for k := n; r.asked && k < len(turns) && turns[k].At.Sub(r.begun) <= early; k++ {
			if away := turns[k].At.Sub(r.begun); away < best && !taken[k] {
				best, homes[i] = away, k
			}
		}
		if homes[i] < 0 && n > 0 && (!r.begun.After(turns[n-1].Last.Add(early)) || r.asked && c.host == "cline") {
			homes[i] = n - 1 // it was under way
		}
		if homes[i] < 0 && !r.asked && n < len(turns) && !turns[n].Asked() && !turns[n].At.After(r.end) {
			homes[i] = n // what is left of it begins later
		}
		if homes[i] >= 0 {
			taken[homes[i]] = true
		}
	}
	return homes
}

// follows reports that a run is the next part of a turn.
func follows(t *agentfiles.Turn, before, r run) bool {
	if r.start.Before(before.end) {
		return false
	}
	resumed := slices.ContainsFunc(t.Breaks, func(b agentfiles.Break) bool { return !r.start.Before(b.From) && !before.end.After(b.To) })
	return resumed || before.outcome == otelmap.OutcomeAbandoned || !r.start.Before(t.Last)
}

// compareOutcome compares how a turn ended.
func (c *comparison) compareOutcome(t *agentfiles.Turn, r run) {
	theirs, unseen := otelmap.OutcomeInterrupted, r.outcome == otelmap.OutcomeFailed && !showsFailed(c.host)
	stopped := r.outcome == otelmap.OutcomeInterrupted || r.outcome == otelmap.OutcomeCancelled
	switch {
	case t.Answered && t.Failed:
		theirs = otelmap.OutcomeFailed
	case t.Answered:
		theirs = otelmap.OutcomeCompleted
	case t.Unclear || !t.Cut && r.outcome != otelmap.OutcomeCompleted && r.outcome != otelmap.OutcomeFailed:
		return
	}
	switch {
	case unseen, theirs == r.outcome, theirs == otelmap.OutcomeInterrupted && stopped:
	case stopped && c.lacks.CutTurns && c.stoppedIn(r):
	case theirs == otelmap.OutcomeInterrupted && r.outcome == otelmap.OutcomeFailed && (c.lacks.RemovedFailures || c.lacks.EarlyFailures && !r.work):
	default:
		c.add(Difference{
			Trace: r.trace, Kind: Outcome, What: "the turn of " + at(t.At), InTrace: r.outcome, InFiles: theirs, File: t.File, IDs: []string{"line " + strconv.Itoa(t.Line)},
		})
	}
}

// stoppedIn reports a call of the run that did not end. An agent that writes a call when it
// has ended has only the text before it, which looks like the turn's answer.
func (c *comparison) stoppedIn(r run) bool {
	return slices.ContainsFunc(c.calls, func(q call) bool {
		return (q.status == unfinished || q.status == cancelled) && !q.start.Before(r.start) && !q.start.After(r.end)
	})
}

// comparePrompts compares the prompts in their order. What is left on both sides was changed.
func (c *comparison) comparePrompts() {
	theirs := slices.SortedStableFunc(slices.Values(c.files.Prompts), func(x, y *agentfiles.Prompt) int { return x.At.Compare(y.At) })
	ours := slices.SortedStableFunc(slices.Values(c.prompts), func(x, y prompt) int { return x.at.Compare(y.at) })
	texts := make([]string, len(theirs)) // cleaned, as far as they were needed
	text := func(k int) string {
		if texts[k] == "" {
			texts[k] = words(c.clean(theirs[k].Text))
		}
		return texts[k]
	}
	equal := func(i, k int) bool {
		return sameText(ours[i].text, words(theirs[k].Text)) || sameText(ours[i].text, text(k))
	}
	var lost []int
	rest := make([]int, len(ours))
	for i := range rest {
		rest[i] = i
	}
	// Most are in the same order; one that was typed while the agent worked may be reported later.
	for k := range theirs {
		n := slices.IndexFunc(rest, func(i int) bool { return equal(i, k) && near(ours[i].at, theirs[k].At, theirs, k) })
		if n < 0 {
			lost = append(lost, k)
			continue
		}
		rest = slices.Delete(rest, n, n+1)
	}
	for len(lost) > 0 && len(rest) > 0 {
		c.add(Difference{
			Trace: c.trace(ours[rest[0]].run), Kind: Text, What: "prompt of " + at(theirs[lost[0]].At),
			InTrace: short(ours[rest[0]].text), InFiles: short(text(lost[0])), File: theirs[lost[0]].File, IDs: []string{"line " + strconv.Itoa(theirs[lost[0]].Line)},
		})
		lost, rest = lost[1:], rest[1:]
	}
	for _, k := range lost {
		c.note(Missing, c.runAt(theirs[k].At), "", "there", "line "+strconv.Itoa(theirs[k].Line))
	}
	for _, i := range rest {
		// A turn that was cut off before its first answer may be in no file.
		again := i > 0 && ours[i-1] == ours[i] || i+1 < len(ours) && ours[i+1] == ours[i]
		if again || !c.lacks.CutTurns || ours[i].run < len(c.runs) && c.runs[ours[i].run].work {
			c.note(Extra, ours[i].run, "there", "", short(ours[i].text))
		}
	}
	c.addNoted("prompt")
}

// near reports that a prompt is of the time of one in the files: not beyond those around it.
func near(at, theirs time.Time, all []*agentfiles.Prompt, k int) bool {
	if at.Sub(theirs).Abs() <= 50*time.Millisecond {
		return true
	}
	return (k == 0 || at.After(all[k-1].At)) && (k+1 == len(all) || at.Before(all[k+1].At))
}

// sameText compares the beginning of a prompt in a trace, up to where it was cut or something
// was removed, with the text in the files, of which it may be a part.
func sameText(ours, theirs string) bool {
	whole := len(ours) < maxPrompt && len(theirs) < maxPrompt
	for _, mark := range []string{"…", "[REDACTED", "[redacted", "***"} {
		var cut bool
		ours, _, cut = strings.Cut(ours, mark)
		whole = whole && !cut
	}
	ours = words(ours)
	if whole && 2*len(ours) < len(theirs) && ours != "" {
		return false // only the host puts something around a prompt
	}
	if len(ours) > maxCompared {
		ours = ours[:maxCompared]
	}
	return ours == "" || theirs == "" || strings.Contains(theirs, ours) || strings.HasPrefix(ours, theirs)
}

// maxCompared is how much of a text is compared, in bytes without spaces: the files' may be cut.
const maxCompared = 120

// words returns a text without spaces.
func words(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, text)
}

func short(text string) string {
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:40]) + "…"
	}
	return text
}

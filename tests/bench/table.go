package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// quantile is the smallest value that at least the share q of all is not above.
// It sorts what it is given.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	at := int(q*float64(len(all))+0.999999) - 1
	return all[min(max(at, 0), len(all)-1)]
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()*1e3) }

// ratio is the contestant's median to that of its base.
func ratio(c *contestant) float64 {
	if c.base == nil {
		return 1
	}
	base := quantile(c.base.took, 0.5)
	if base == 0 {
		return 0
	}
	return float64(quantile(c.took, 0.5)) / float64(base)
}

// table is the result in Markdown.
func table(contestants []*contestant) string {
	var b strings.Builder
	b.WriteString("| what runs | p50 ms | p95 ms | p99 ms | p50 to a no-op | peak MiB |\n|---|--:|--:|--:|--:|--:|\n")
	for _, c := range contestants {
		if c.missing {
			fmt.Fprintf(&b, "| %s | not on this machine | | | | |\n", c.name)
			continue
		}
		peak := "-"
		if c.peak > 0 {
			peak = fmt.Sprintf("%.1f", float64(c.peak)/1024)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.2f | %s |\n", c.name,
			millis(quantile(c.took, 0.5)), millis(quantile(c.took, 0.95)), millis(quantile(c.took, 0.99)), ratio(c), peak)
	}
	return b.String()
}

// budget is one promise and what came of it.
type budget struct {
	what, found string
	kept        bool
	// busy says that a program that does nothing came out so slow at times that
	// the machine must have been at other work.
	busy bool
}

func (b budget) broken() bool { return !b.kept && !b.busy }

// verdicts is what became of each promise, in Markdown.
func verdicts(budgets []budget) string {
	var b strings.Builder
	b.WriteString("| promised | measured | |\n|---|---|---|\n")
	for _, p := range budgets {
		verdict := "kept"
		switch {
		case p.busy:
			verdict = "unknown: the machine was busy"
		case !p.kept:
			verdict = "**broken**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.what, p.found, verdict)
	}
	return b.String()
}

// The promises for a hook call, of which the table's text is made.
const (
	ratioMost     = 2.0 // to a program that does nothing
	tailMost      = 10 * time.Millisecond
	peakMost      = 16 << 10 // KiB
	largeTimeMost = time.Second
	largeMost     = 32 << 10 // KiB
	sizeMost      = 5e6      // bytes
	growthMost    = 200 * time.Microsecond
	endMost       = 500 * time.Microsecond
)

// budgets holds the results to what is promised for a hook call. A crowd, a cold
// cache, what an installed hook puts before the program, and calls in which hooks
// of the user's run are shown and not promised; of the first and the last event of
// a session the ratio to a program that does nothing is not.
func budgets(contestants []*contestant, large largeResult, size int64) []budget {
	var few, many, plain, end *contestant
	worstRatio, worstTail, worstPeak := 0.0, time.Duration(0), 0
	for _, c := range contestants {
		switch {
		case c.missing, c.hooks, !strings.HasPrefix(c.name, "cline-hook") && !strings.HasPrefix(c.name, "claude-hook"), strings.Contains(c.name, "at once"), strings.Contains(c.name, "cold"), strings.Contains(c.name, "installed"):
			continue
		case strings.Contains(c.name, "stored") && few == nil:
			few = c
		case strings.Contains(c.name, "stored"):
			many = c
		case c.ends && end == nil:
			end = c
		case strings.Contains(c.name, "endpoint up") && plain == nil:
			plain = c
		}
		worstTail, worstPeak = max(worstTail, quantile(c.took, 0.99)), max(worstPeak, c.peak)
		if !c.apart {
			worstRatio = max(worstRatio, ratio(c))
		}
	}
	tail := quantile(contestants[0].took, 0.99)
	out := []budget{
		{what: fmt.Sprintf("a hook call costs at most %g times a Go program that does nothing, at p50", ratioMost), found: fmt.Sprintf("%.2f at worst; the aim is 1.6", worstRatio), kept: worstRatio <= ratioMost},
		{
			what: fmt.Sprintf("and at most %d ms at p99", tailMost.Milliseconds()), found: fmt.Sprintf("%s ms at worst, a no-op %s ms", millis(worstTail), millis(tail)),
			kept: worstTail <= tailMost, busy: tail > 5*time.Millisecond,
		},
		{what: fmt.Sprintf("and at most %d MiB of memory", peakMost>>10), found: fmt.Sprintf("%.1f MiB at worst", float64(worstPeak)/1024), kept: worstPeak <= peakMost},
		{
			what: fmt.Sprintf("a payload of 100 MB takes at most %g s and %d MiB", largeTimeMost.Seconds(), largeMost>>10), found: fmt.Sprintf("%s, %.1f MiB", large.took.Round(time.Millisecond), float64(large.peak)/1024),
			kept: large.took <= largeTimeMost && large.peak <= largeMost,
		},
		{what: fmt.Sprintf("the hook program has at most %g MB", sizeMost/1e6), found: fmt.Sprintf("%.2f MB", float64(size)/1e6), kept: float64(size) <= sizeMost},
	}
	more := func(a, b *contestant) time.Duration { return quantile(b.took, 0.5) - quantile(a.took, 0.5) }
	if few != nil && many != nil {
		d := more(few, many)
		out = append(out, budget{what: "a hook call does not grow with the number of stored events", found: millis(d) + " ms more with many, at p50", kept: d <= growthMost})
	}
	if plain != nil && end != nil {
		d := more(plain, end)
		out = append(out, budget{what: fmt.Sprintf("at the end of a task it costs at most %g ms more", endMost.Seconds()*1e3), found: millis(d) + " ms more, at p50", kept: d <= endMost})
	}
	return out
}

// line is one line of the short table: a cost, and the least that it can be.
type line struct {
	what, unit string
	ours       float64
	// least says what costs limit, in the same unit.
	least string
	limit float64
	// aim is what we aim at: a multiple of the limit, or a figure with its unit.
	aim string
}

// shortTable is what matters most of all parts, in Markdown.
func shortTable(lines []line) string {
	var b strings.Builder
	b.WriteString("| what | hookspan | the least it can be | | times | aim |\n|---|--:|---|--:|--:|--:|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s %s | %s | %s %s | %.2f | %s |\n", l.what, figure(l.ours), l.unit, l.least, figure(l.limit), l.unit, l.ours/l.limit, l.aim)
	}
	return b.String()
}

// figure writes a number with about three digits.
func figure(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

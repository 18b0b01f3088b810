package view

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// IsTime reports keys that are times.
func IsTime(by store.By) bool {
	return by == ByBlock || by == store.ByDay || by == store.ByWeek || by == store.ByMonth
}

// LargestFirst sorts groups by cost, tokens, calls and tasks, unless their keys are
// times.
func LargestFirst(by store.By, groups []store.Group) {
	if IsTime(by) {
		return
	}
	weight := func(g store.Group) (cost, tokens float64) {
		if g.Usage == nil {
			return 0, 0
		}
		if g.Usage.CostUSD != nil {
			cost = *g.Usage.CostUSD
		}
		return cost, float64(g.Usage.Input + g.Usage.Output)
	}
	slices.SortStableFunc(groups, func(x, y store.Group) int {
		xc, xt := weight(x)
		yc, yt := weight(y)
		return cmp.Or(cmp.Compare(yc, xc), cmp.Compare(yt, xt), cmp.Compare(y.Calls, x.Calls), cmp.Compare(y.Traces, x.Traces))
	})
}

// SumOf adds the calls of groups.
func SumOf(groups []store.Group) (all store.Totals) {
	for _, g := range groups {
		all.Calls += g.Calls
		all.Failures += g.Failures
		all.Denials += g.Denials
		all.Usage = all.Usage.Add(g.Usage)
	}
	return all
}

// CSV writes groups as RFC 4180 has it, with a line of names.
func CSV(to io.Writer, by store.By, groups []store.Group) error {
	w := csv.NewWriter(to)
	names := []string{
		string(by), "tasks", "calls", "failures", "denials", "p50_ms", "p95_ms",
		"input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "cost_usd", "unpriced_models",
	}
	if by == store.BySession {
		names = append(names, "title")
	}
	_ = w.Write(names)
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	for _, g := range groups {
		line := []string{
			cell(g.Key), strconv.Itoa(g.Traces), strconv.Itoa(g.Calls), strconv.Itoa(g.Failures), strconv.Itoa(g.Denials), "", "",
			"", "", "", "", "", cell(strings.Join(g.Unpriced, " ")),
		}
		if g.Traces > 0 && by != ByBlock {
			line[5], line[6] = ms(g.P50), ms(g.P95)
		}
		if u := g.Usage; u != nil {
			counts := line[7:11]
			for i, n := range []int64{u.Input, u.CacheRead, u.CacheWrite, u.Output} {
				counts[i] = strconv.FormatInt(n, 10)
			}
			if u.CostUSD != nil {
				line[11] = strconv.FormatFloat(*u.CostUSD, 'f', -1, 64)
			}
		}
		if by == store.BySession {
			line = append(line, cell(g.Title))
		}
		_ = w.Write(line)
	}
	w.Flush()
	return w.Error()
}

// cell keeps a spreadsheet from reading a text as a formula, and a terminal from
// obeying it.
func cell(text string) string {
	text = termtext.Line(text)
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}

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
		all.OfCalls += g.OfCalls
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
	_ = w.Write(append(names, "title", "took_ms", "waited_ms", "edits_denied", "last_trace", "until", "branches", "of_model_cost_usd", "median_cost_usd", "dearest_cost_usd", "of_calls", "repository", "added_tokens", "used_percent"))
	some := func(text string, known bool) string { return map[bool]string{true: text}[known] }
	for _, g := range groups {
		timed := g.Traces > 0 && by != ByBlock
		line := []string{
			cell(g.Key), strconv.Itoa(g.Traces), strconv.Itoa(g.Calls), strconv.Itoa(g.Failures), strconv.Itoa(g.Denials), some(ms(g.P50), timed), some(ms(g.P95), timed),
			"", "", "", "", "", cell(strings.Join(g.Unpriced, " ")), cell(g.Title), some(ms(g.Took), timed), some(ms(g.Waited), g.Waited > 0),
			some(strconv.Itoa(g.EditsDenied), by == store.ByModel), g.Last, some(g.Until.Format(time.RFC3339), !g.Until.IsZero()), cell(strings.Join(g.Branches, " ")),
			"", usd(g.MedianUSD), usd(g.DearestUSD), some(strconv.Itoa(g.OfCalls), g.OfCalls > 0), cell(g.Repository), "", usd(g.UsedPercent),
		}
		if g.OfModel != nil {
			line[20] = usd(g.OfModel.CostUSD) //nolint:gosec // The line has more.
		}
		if g.AddedTokens != nil {
			line[len(line)-2] = strconv.FormatInt(*g.AddedTokens, 10)
		}
		if u := g.Usage; u != nil {
			for i, n := range []int64{u.Input, u.CacheRead, u.CacheWrite, u.Output} {
				line[7+i] = some(strconv.FormatInt(n, 10), !ofCalls(by)) //nolint:gosec // The line has more.
			}
			line[11] = usd(u.CostUSD)
		}
		_ = w.Write(line)
	}
	w.Flush()
	return w.Error()
}

// ms is a time for a spreadsheet.
func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// usd is a cost or a share for a spreadsheet, "" if it is not known.
func usd(cost *float64) string {
	if cost == nil {
		return ""
	}
	return strconv.FormatFloat(*cost, 'f', -1, 64)
}

// cell keeps a spreadsheet from reading a text as a formula, and a terminal from
// obeying it.
func cell(text string) string {
	text = termtext.Line(text)
	if strings.IndexAny(text, "=+-@＝＋－＠﹦﹢﹣﹫−") == 0 { // in another width a spreadsheet reads the same sign
		return "'" + text
	}
	return text
}

package view

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// minKey is the width to which the keys of a table of sums are cut.
const minKey = 16

// Groups writes a table of sums, one line for each group, with a last line for all if
// there are several, and names the models without a price. The bars show cost, else
// tokens, else calls, else tasks. Columns in which every group is empty are left out.
func Groups(w io.Writer, by store.By, groups []store.Group, all store.Totals, o Options) error {
	st, b := newStyle(o), bufio.NewWriter(w)
	st.groups(b, by, groups, &all)
	if !by.OfCalls() {
		st.unpriced(b, all)
	}
	if means := activeMeans[by]; means != "" {
		_, _ = b.WriteString("\n")
		for _, l := range termtext.Wrap(means, min(st.room(), pipedWidth)) {
			_, _ = b.WriteString(st.paint(sgrDim, l) + "\n")
		}
	}
	return b.Flush()
}

// Sides writes the sums of the sides of a comparison.
func Sides(w io.Writer, sides []store.Group, o Options) error {
	b := bufio.NewWriter(w)
	newStyle(o).groups(b, BySide, sides, nil)
	return b.Flush()
}

// unpriced names the models without a price.
func (st *style) unpriced(b *bufio.Writer, all store.Totals) {
	if len(all.Unpriced) > 0 {
		text := "no price is known for " + termtext.Line(strings.Join(all.Unpriced, ", ")) + ": the costs do not include it"
		_, _ = b.WriteString("\n" + st.paint(sgrYellow, st.cut(text, st.room())) + "\n")
	}
}

// ofCalls reports whether the groups of a key are sums over calls, which have no tokens.
func ofCalls(by store.By) bool {
	return by.OfCalls() || by == ByServer || by == ByDenial || by == ByFailure
}

// groups draws the table, with a last line for all of them unless all is nil.
func (st *style) groups(b *bufio.Writer, by store.By, groups []store.Group, all *store.Totals) {
	rows := slices.Clone(groups)
	total := all != nil && len(groups) > 1
	if total {
		rows = append(rows, store.Group{Totals: *all})
	}
	last := len(rows) - 1
	t := &table{style: st, rows: len(rows), total: total}
	add := func(c *column, present func(*store.Group) bool, cell func(g *store.Group) (text, sgr string)) {
		if present != nil && !slices.ContainsFunc(groups, func(g store.Group) bool { return present(&g) }) {
			return
		}
		c.cell = func(i int) (string, string) { return cell(&rows[i]) }
		c.right = c.least == 0
		t.columns = append(t.columns, c)
	}
	addWords := func(c *column, present func(*store.Group) bool, cell func(g *store.Group) (text, sgr string)) {
		add(c, present, cell)
		c.right = false
	}
	number := func(n func(*store.Group) int, sgr string) func(*store.Group) (string, string) {
		return func(g *store.Group) (string, string) {
			if n(g) == 0 {
				return "-", sgrDim
			}
			return fmt.Sprint(n(g)), sgr
		}
	}
	tasks, calls := func(g *store.Group) int { return g.Traces }, func(g *store.Group) int { return g.Calls }
	failures, denials := func(g *store.Group) int { return g.Failures }, func(g *store.Group) int { return g.Denials }
	some := func(n func(*store.Group) int) func(*store.Group) bool {
		return func(g *store.Group) bool { return n(g) > 0 }
	}
	tokenCount := func(of func(*store.Usage) int64) func(*store.Group) (string, string) {
		return func(g *store.Group) (string, string) {
			if g.Usage == nil {
				return "-", sgrDim
			}
			return Tokens(of(g.Usage)), ""
		}
	}
	spent := func(g *store.Group) bool { return g.Usage != nil }

	t.columns = append(t.columns, &column{name: strings.ToUpper(string(by)), least: minKey, cell: func(i int) (string, string) {
		if total && i == last {
			return "total", ""
		}
		return st.key(by, &rows[i])
	}})
	add(&column{name: "TASKS", order: 4}, nil, number(tasks, ""))
	add(&column{name: "CALLS", order: 6}, some(calls), number(calls, ""))
	add(&column{name: "FAILED", order: 7}, some(failures), func(g *store.Group) (string, string) {
		if g.Failures == 0 {
			return "-", sgrDim
		}
		text := fmt.Sprintf("%d %3.0f%%", g.Failures, 100*float64(g.Failures)/float64(max(g.Calls, g.OfCalls, 1)))
		if g.OfCalls > 0 {
			text += fmt.Sprintf(" of %d", g.OfCalls)
		}
		return text, sgrRed
	})
	add(&column{name: "DENIED", order: 5}, some(denials), number(denials, sgrYellow))
	timed := func(*store.Group) bool { return by != ByBlock }
	for _, p := range []struct {
		name string
		of   func(*store.Group) time.Duration
	}{{"P50", func(g *store.Group) time.Duration { return g.P50 }}, {"P95", func(g *store.Group) time.Duration { return g.P95 }}} {
		add(&column{name: p.name, order: 3}, timed, func(g *store.Group) (string, string) {
			if total && g == &rows[last] {
				return "", "" // it is no sum
			}
			if g.Traces == 0 {
				return "-", sgrDim
			}
			return duration(p.of(g)), ""
		})
	}
	add(&column{name: "WAITED", order: 2}, func(g *store.Group) bool { return g.Waited > 0 && !ofCalls(by) }, func(g *store.Group) (string, string) {
		if g.Waited == 0 {
			return "", ""
		}
		return duration(g.Waited), ""
	})
	if !ofCalls(by) {
		add(&column{name: "IN", order: 8}, spent, tokenCount(func(u *store.Usage) int64 { return u.Input }))
		add(&column{name: "CACHED", order: 1}, spent, func(g *store.Group) (string, string) {
			if g.Usage == nil || g.Usage.Input == 0 {
				return "-", sgrDim
			}
			return fmt.Sprintf("%d%%", CachedShare(g.Usage)), ""
		})
		add(&column{name: "OUT", order: 2}, spent, tokenCount(func(u *store.Usage) int64 { return u.Output }))
	}
	cents := slices.ContainsFunc(rows, func(g store.Group) bool { return inCents(g.Usage) })
	add(&column{name: "COST"}, spent, func(g *store.Group) (string, string) { return cost(g.Usage, cents) })
	add(&column{name: "ADDED"}, func(*store.Group) bool { return activeMeans[by] != "" }, added)
	add(&column{name: "USED", order: 9}, func(g *store.Group) bool { return g.UsedPercent != nil }, used)
	add(&column{name: "OF MODEL", order: 5}, func(g *store.Group) bool { return g.OfModel != nil && g.OfModel.Cost() != g.Usage.Cost() }, func(g *store.Group) (string, string) {
		return cost(g.OfModel, cents)
	})
	if by == store.ByModel || by == BySide {
		perTask := func(g *store.Group) bool { return g.Traces > 0 }
		add(&column{name: "COST/TASK", order: 4}, spent, func(g *store.Group) (string, string) {
			if g.Traces == 0 || g.Usage == nil || g.Usage.CostUSD == nil {
				return "-", sgrDim
			}
			return cost(&store.Usage{CostUSD: new(*g.Usage.CostUSD / float64(g.Traces))}, cents)
		})
		priced := func(g *store.Group) bool { return g.MedianUSD != nil }
		add(&column{name: "MEDIAN", order: 6}, priced, func(g *store.Group) (string, string) {
			return cost(&store.Usage{CostUSD: g.MedianUSD}, cents)
		})
		add(&column{name: "DEAREST", order: 5}, priced, func(g *store.Group) (string, string) {
			if g.DearestUSD == nil || g.Usage.Cost() <= 0 {
				return "-", sgrDim
			}
			return fmt.Sprintf("%.0f%%", 100*min(1, *g.DearestUSD/g.Usage.Cost())), ""
		})
		add(&column{name: "TIME/TASK", order: 4}, perTask, func(g *store.Group) (string, string) {
			if g.Traces == 0 {
				return "-", sgrDim
			}
			return duration(g.Took / time.Duration(g.Traces)), ""
		})
		add(&column{name: "FAILED/TASK", order: 4}, perTask, func(g *store.Group) (string, string) {
			if g.Traces == 0 {
				return "-", sgrDim
			}
			return fmt.Sprintf("%.1f", float64(g.Failures)/float64(g.Traces)), ""
		})
		edits := func(g *store.Group) int { return g.EditsDenied }
		add(&column{name: "EDITS DENIED", order: 4}, some(edits), func(g *store.Group) (string, string) {
			if total && g == &rows[last] {
				return "", "" // it is not summed up
			}
			return number(edits, sgrYellow)(g)
		})
	}
	if by == ByFailure || by == ByDenial {
		addWords(&column{name: "LAST"}, nil, func(g *store.Group) (string, string) { return store.ShortID(g.Last), sgrDim })
	}
	addWords(&column{name: "REPOSITORY", order: 1}, func(g *store.Group) bool { return g.Repository != "" }, func(g *store.Group) (string, string) {
		return st.cut(termtext.Line(strings.TrimPrefix(g.Repository, "https://")), 40), sgrDim
	})
	addWords(&column{name: "BRANCHES", order: 1}, func(g *store.Group) bool { return len(g.Branches) > 0 }, func(g *store.Group) (string, string) {
		return st.cut(termtext.Line(strings.Join(g.Branches, ", ")), 40), sgrDim
	})
	add(&column{name: "TITLE", order: 9, least: minTitle}, func(g *store.Group) bool { return g.Title != "" }, func(g *store.Group) (string, string) {
		return termtext.Line(g.Title), ""
	})
	t.bar = bars(by, groups)
	t.draw(b)
}

// added is the cell of what loads added.
func added(g *store.Group) (text, sgr string) {
	if g.AddedTokens == nil {
		return "-", sgrDim
	}
	return Tokens(*g.AddedTokens), ""
}

// used is the cell of what was used of a plan at the end of a block. It has no sum.
func used(g *store.Group) (text, sgr string) {
	switch {
	case g.Until.IsZero():
		return "", ""
	case g.UsedPercent == nil:
		return "-", sgrDim
	}
	return fmt.Sprintf("%.0f%%", *g.UsedPercent), ""
}

// bars returns the length of each group's bar.
func bars(by store.By, groups []store.Group) func(i int) float64 {
	measures := []func(*store.Group) float64{
		func(g *store.Group) float64 { return g.Usage.Cost() },
		func(g *store.Group) float64 { return float64(g.Usage.Tokens()) },
		func(g *store.Group) float64 { return float64(g.Calls) },
		func(g *store.Group) float64 { return float64(g.Traces) },
	}
	if by.OfCalls() {
		measures = measures[2:]
	}
	for _, measure := range measures {
		most := 0.0
		for i := range groups {
			most = max(most, measure(&groups[i]))
		}
		if most > 0 {
			return func(i int) float64 { return measure(&groups[i]) / most }
		}
	}
	return nil
}

// key returns a group's key for people.
func (st *style) key(by store.By, g *store.Group) (text, sgr string) {
	key := termtext.Line(g.Key)
	if key == "" {
		none := "(not known)"
		switch by {
		case store.ByCommand:
			none = "(no command)"
		case store.ByTool:
			none = "(no tool)"
		case BySkill:
			none = "(no skill)"
		}
		return none, sgrDim
	}
	switch by {
	case store.ByDay:
		if day, err := time.Parse(time.DateOnly, key); err == nil {
			return key + day.Format(" Mon"), ""
		}
	case ByBlock:
		if begin, err := time.Parse(time.RFC3339, key); err == nil {
			key = begin.In(st.Location).Format("2006-01-02 15:04") + "-" + g.Until.In(st.Location).Format("15:04")
			if left := g.Until.Sub(st.Now); !st.Now.IsZero() && left > 0 {
				key += st.dot + duration(left) + " left"
			}
			return key, ""
		}
	case store.ByWeek:
		return "from " + key, ""
	case store.ByProject, ByRepository, ByPull:
		key = strings.TrimPrefix(key, "https://")
		// The part that a narrow view cuts is that which says least.
		name := lastPart(key)
		if parent := strings.TrimSuffix(key, name); name != "" && parent != "" {
			return name + "  " + parent, ""
		}
	}
	return key, ""
}

// sectionLength is how many groups a section of an overview shows.
const sectionLength = 5

// Stats writes an overview: the sums, and the largest groups by OverviewKeys, which it sorts.
func Stats(w io.Writer, all store.Totals, grouped map[store.By][]store.Group, o Options) error {
	st := newStyle(o)
	b := bufio.NewWriter(w)
	sums := append(SumsText(termtext.Plural(all.Traces, "task"), all), duration(all.Took))
	_, _ = b.WriteString(st.paint(sgrBold, st.fitting(sums)) + "\n")
	for _, by := range OverviewKeys {
		groups := grouped[by]
		if len(groups) == 0 {
			continue
		}
		LargestFirst(by, groups)
		_, _ = b.WriteString("\n")
		st.groups(b, by, First(by, groups, sectionLength), nil)
		if more := len(groups) - sectionLength; more > 0 {
			_, _ = b.WriteString(st.paint(sgrDim, st.cut(fmt.Sprintf("and %d more: hookspan stats --by %s", more, by), st.room())) + "\n")
		}
	}
	st.unpriced(b, all)
	return b.Flush()
}

// CachedShare is how much of the input came from the cache, in percent, rounded as the page
// rounds it.
func CachedShare(u *store.Usage) int {
	if u == nil || u.Input <= 0 {
		return 0
	}
	return int(math.Round(100 * float64(u.CacheRead) / float64(u.Input)))
}

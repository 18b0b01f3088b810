package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/otelmap"
)

// Totals returns the sums over the selected traces.
func (s *Store) Totals(ctx context.Context, f Filter) (Totals, error) {
	sum, _, err := s.Groups(ctx, f, nil)
	return sum, err
}

// Group returns the sums over the selected traces by a key, sorted by it. Days,
// weeks and months are those of the location. The percentiles are exact: the
// smallest duration that 50 or 95 percent do not exceed.
func (s *Store) Group(ctx context.Context, f Filter, by By, loc *time.Location) ([]Group, error) {
	_, groups, err := s.Groups(ctx, f, loc, by)
	return groups[by], err
}

// Groups returns what Totals and Group return for each of the keys, in about the
// time of one of them.
func (s *Store) Groups(ctx context.Context, f Filter, loc *time.Location, keys ...By) (Totals, map[By][]Group, error) {
	calls := false
	grouped := make([]*grouping, 0, len(keys))
	for _, by := range keys {
		if !slices.Contains(Keys, by) {
			return Totals{}, nil, fmt.Errorf("group by %q: want one of %s", by, names(Keys))
		}
		calls = calls || by.OfCalls()
		grouped = append(grouped, &grouping{dates: dates{by: by, in: loc}, model: f.Model, tallies: make(map[string]*tally)})
	}
	all := tally{model: f.Model}
	add := func(t *found, calls bool) {
		f.keepCalls(t.digest)
		for _, g := range grouped {
			if g.by.OfCalls() == calls {
				g.add(t)
			}
		}
	}
	var titles map[string]string
	err := s.read(ctx, f, func(q querier) (err error) {
		var later []found // of which some spans have the text
		err = f.scan(ctx, q, calls, func(t *found) error {
			all.addTrace(t)
			t.eachModel(func(m *modelDigest) { all.addModel(t, m) })
			add(t, false)
			if f.Text == "" {
				add(t, true)
			} else if calls {
				later = append(later, found{id: t.id, Summary: Summary{Runs: t.Runs}, spans: t.spans})
			}
			return nil
		})
		for i := 0; i < len(later) && err == nil; i++ {
			t := &later[i]
			t.digest = new(digest)
			err = eachSpan(ctx, q, func(_ int64, sp *tracepb.Span) error {
				t.digest.add(sp)
				return nil
			}, `id IN `+inList, list(t.spans))
			add(t, true)
		}
		if err == nil && slices.Contains(keys, BySession) {
			titles, err = f.titles(ctx, q)
		}
		return err
	})
	if err != nil {
		return Totals{}, nil, s.wrap("sum up traces", err)
	}
	out := make(map[By][]Group)
	for _, g := range grouped {
		out[g.by] = g.groups()
	}
	for i := range out[BySession] {
		g := &out[BySession][i]
		g.Title = titles[g.Key]
	}
	return all.totals(), out, nil
}

// titles returns, by session, the title of the first trace that has one, of those that
// the conditions on columns select.
func (f Filter) titles(ctx context.Context, q querier) (map[string]string, error) {
	titles := make(map[string]string)
	where, args := f.where()
	var session, title string
	return titles, eachRow(ctx, q, func(scan func(...any) error) error {
		if err := scan(&session, &title); err != nil {
			return err
		}
		if titles[session] == "" {
			titles[session] = title
		}
		return nil
	}, `SELECT session, title FROM traces t`+where+` ORDER BY started, trace_id`, args...)
}

// grouping sums up by one key.
type grouping struct {
	dates
	// model is that which a filter wants.
	model   string
	tallies map[string]*tally
	// folders are the first spellings of the folders that have several.
	folders map[string]string
}

func (g *grouping) of(key string) *tally {
	t := g.tallies[key]
	if t == nil {
		t = &tally{each: true, model: g.model}
		g.tallies[key] = t
	}
	return t
}

func (g *grouping) add(t *found) {
	switch g.by {
	case ByTool:
		for i := range t.digest.tools {
			g.of(t.digest.tools[i].name).addCalls(t, t.digest.tools[i].calls)
		}
	case ByCommand:
		for i := range t.digest.tools {
			g.of(t.digest.tools[i].command).addCalls(t, t.digest.tools[i].calls)
		}
	case ByHook:
		for i := range t.digest.hooks {
			g.of(t.digest.hooks[i].name).addCalls(t, t.digest.hooks[i].calls)
		}
	case ByModel:
		g.of(t.Model).addTrace(t)
		t.eachModel(func(m *modelDigest) {
			if m.known {
				g.of(m.name).addModel(t, m)
			}
		})
	default:
		key := g.key(&t.Summary)
		if g.by == ByProject && otelmap.OnDrive(key) {
			key = g.spelled(key)
		}
		sum := g.of(key)
		sum.addTrace(t)
		if g.by == ByProject && t.Branch != "" && !slices.Contains(sum.branches, t.Branch) {
			sum.branches = append(sum.branches, t.Branch)
		}
		t.eachModel(func(m *modelDigest) { sum.addModel(t, m) })
	}
}

// spelled returns the folder as it was spelled first.
func (g *grouping) spelled(folder string) string {
	key := otelmap.FolderKey(folder)
	if g.folders == nil {
		g.folders = make(map[string]string)
	}
	if _, known := g.folders[key]; !known {
		g.folders[key] = folder
	}
	return g.folders[key]
}

func (g *grouping) groups() []Group {
	out := make([]Group, 0, len(g.tallies))
	for _, key := range slices.Sorted(maps.Keys(g.tallies)) {
		t := g.tallies[key]
		slices.Sort(t.branches)
		out = append(out, Group{Key: key, Totals: t.totals(), Branches: t.branches})
		one, took := &out[len(out)-1], slices.Concat(t.took...)
		one.P50, one.P95 = percentile(took, 50), percentile(took, 95)
		one.SetCosts(slices.Concat(t.costs...))
	}
	return out
}

// percentile returns the smallest of the durations that p percent of them do not
// exceed. It changes their order.
func percentile(d []time.Duration, p int) time.Duration {
	if len(d) == 0 {
		return 0
	}
	return smallest(d, (len(d)*p+99)/100-1)
}

// smallest returns what would be at index n if d were sorted, in linear time.
func smallest[T cmp.Ordered](d []T, n int) T {
	for len(d) > 32 {
		// The median of five is near the middle even of sorted durations.
		five := [5]T{d[0], d[len(d)/4], d[len(d)/2], d[len(d)/4*3], d[len(d)-1]}
		slices.Sort(five[:])
		pivot := five[2]
		less, greater := 0, len(d)
		for i := 0; i < greater; {
			switch {
			case d[i] < pivot:
				d[less], d[i] = d[i], d[less]
				less++
				i++
			case d[i] > pivot:
				greater--
				d[greater], d[i] = d[i], d[greater]
			default:
				i++
			}
		}
		switch {
		case n < less:
			d = d[:less]
		case n >= greater:
			d, n = d[greater:], n-greater
		default:
			return pivot
		}
	}
	slices.Sort(d)
	return d[n]
}

// dates finds the keys of whole traces.
type dates struct {
	by By
	in *time.Location
	// known is the key of the last start, which was in this quarter of an hour and at this offset
	// in seconds: traces side by side often share them, and offsets are whole quarters.
	quarter int64
	offset  int
	known   string
}

func (d *dates) key(t *Summary) string {
	switch d.by {
	case ByProject:
		return t.Directory
	case ByAgent:
		return t.Host
	case BySession:
		return t.Session
	}
	if t.Started.IsZero() {
		return ""
	}
	start, quarter := t.Started.In(d.in), t.Started.Unix()/(15*60)
	_, offset := start.Zone()
	if d.known != "" && quarter == d.quarter && offset == d.offset {
		return d.known
	}
	start = Date(start)
	layout := time.DateOnly
	switch d.by {
	case ByWeek:
		start = start.AddDate(0, 0, -int(start.Weekday()+6)%7)
	case ByMonth:
		layout = "2006-01"
	}
	d.quarter, d.offset, d.known = quarter, offset, start.Format(layout)
	return d.known
}

// Date returns the day of a time as midnight in UTC, from which days can be counted: there are
// none without a midnight.
func Date(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// FirstInstant returns when the clocks of a time zone first show the date and time that wall has
// in UTC, or a later one: they may skip a midnight, or show it twice.
func FirstInstant(wall time.Time, in *time.Location) time.Time {
	for t := wall.Add(-26 * time.Hour).In(in); ; { // No zone is so far ahead.
		_, ahead := t.Zone()
		from, to := t.ZoneBounds()
		at := wall.Add(-time.Duration(ahead) * time.Second).In(in)
		if at.Before(from) {
			at = from
		}
		if to.IsZero() || at.Before(to) {
			return at
		}
		t = to
	}
}

// tally sums up.
type tally struct {
	Totals
	usage modelDigest
	// ofModel is the part of usage that is of a wanted model.
	model    string
	ofModel  modelDigest
	unpriced map[string]bool
	// each keeps took, the durations for percentiles.
	each bool
	took many[time.Duration]
	// branches are those of a project.
	branches []string
	// last is the trace that was counted last, priced the one of cost, the last of the costs.
	last, priced int64
	cost         *float64
	costs        many[float64]
}

// many has so many values that appending them to one list would copy each several times.
type many[T any] [][]T

func (m *many[T]) add(one T) *T {
	n := len(*m)
	if n == 0 || len((*m)[n-1]) == cap((*m)[n-1]) {
		*m = append(*m, make([]T, 0, 4<<min(n, 11)))
		n++
	}
	last := &(*m)[n-1]
	*last = append(*last, one)
	return &(*last)[len(*last)-1]
}

func (g *tally) addTrace(t *found) {
	d := t.Duration()
	g.Traces++
	g.Runs += t.Runs
	g.Took += d
	g.Waited += Waited(t.digest.waits)
	if g.each {
		g.took.add(d)
	}
	calls := &t.digest.counted
	g.Calls += calls.n
	g.Failures += calls.failed
	g.Denials += calls.denied
}

func (g *tally) addCalls(t *found, calls []call) {
	if g.last != t.id {
		g.last = t.id
		g.Traces++
		g.Runs += t.Runs
	}
	var c counts
	c.add(calls)
	g.Calls += c.n
	g.Failures += c.failed
	g.Denials += c.denied
	g.Took += c.took
	for _, one := range calls {
		g.took.add(one.took())
	}
}

func (g *tally) addModel(t *found, m *modelDigest) {
	if g.each && m.priced {
		if g.priced != t.id {
			g.priced, g.cost = t.id, g.costs.add(0)
		}
		*g.cost += m.cost.usd()
	}
	g.usage.sum(m)
	if g.model != "" && sameModel(m.name, g.model) {
		g.ofModel.sum(m)
	}
	if m.unpriced {
		if g.unpriced == nil {
			g.unpriced = make(map[string]bool)
		}
		g.unpriced[m.name] = true
	}
}

func (g *tally) totals() Totals {
	if g.Usage = g.usage.usage(); g.model != "" {
		g.OfModel = g.ofModel.usage()
	}
	g.Unpriced = slices.Sorted(maps.Keys(g.unpriced))
	return g.Totals
}

// eachModel calls f with the usage of each model. What the roots report beyond the
// requests, such as that of requests that were deleted, is the trace's model's.
func (t *found) eachModel(f func(*modelDigest)) {
	u := t.Usage
	if u == nil {
		for i := range t.digest.models {
			f(&t.digest.models[i])
		}
		return
	}
	rest := &t.digest.rest
	*rest = modelDigest{
		name: t.Model, known: true,
		input: u.Input, output: u.Output, cacheRead: u.CacheRead, cacheWrite: u.CacheWrite,
	}
	if u.CostUSD != nil {
		rest.priced, rest.cost = true, moneyOf(*u.CostUSD)
	}
	for i := range t.digest.models {
		m := &t.digest.models[i]
		rest.input -= m.input
		rest.output -= m.output
		rest.cacheRead -= m.cacheRead
		rest.cacheWrite -= m.cacheWrite
		rest.cost -= m.cost
		f(m)
	}
	rest.unpriced = !rest.priced && rest.input+rest.output > 0
	if !rest.priced {
		rest.cost = 0
	}
	f(rest)
}

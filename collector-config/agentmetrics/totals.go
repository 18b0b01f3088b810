package agentmetrics

import (
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/hookspan/hookspan/otelmap/instruments"
)

// series is the total of one combination of labels, in the form in which it is
// stored.
type series struct {
	Metric  string    `json:"metric"`
	Service string    `json:"service"`
	Labels  []string  `json:"labels"`
	Own     []string  `json:"own,omitempty"`
	Start   time.Time `json:"start"`
	// Last is when something was added last.
	Last    time.Time `json:"last"`
	Sum     float64   `json:"sum"`
	Count   uint64    `json:"count,omitempty"`
	Buckets []uint64  `json:"buckets,omitempty"`

	slot  int
	dirty bool
	// before is the total that had expired when this one began, which a clock that was
	// ahead may have done.
	before *series
	// expired reports that nothing was added for so long that it is not reported, since
	// the report with the number hidden.
	expired bool
	hidden  int
}

// totals are all series. The zero value is not usable.
type totals struct {
	labelLimit, seriesLimit int
	byKey                   map[string]*series
	// slots are the places of series in the storage; nil is a free one.
	slots []*series
	dirty []*series
	// freed are places that are free and not yet so in the storage.
	freed []int
	// sets are the combinations of the configured labels.
	sets map[string]bool
	// folded reports whether a limit was reached.
	folded bool
	// reports counts the calls of expire, expired the series that are.
	reports, expired int
}

// confirmed is after how many reports an expired series makes room for another one: a clock
// that is ahead is set right meanwhile.
const confirmed = 240

func key(metric, service string, own, labels []string) string {
	var b strings.Builder
	for _, part := range [][]string{{metric, service}, own, labels} {
		for _, s := range part {
			b.WriteString(s)
			b.WriteByte(0)
		}
		b.WriteByte(1)
	}
	return b.String()
}

// bounded returns the values of the configured labels, or "other" for each where there
// are too many combinations.
func (t *totals) bounded(own []string) []string {
	if len(own) == 0 {
		return own
	}
	set := strings.Join(own, "\x00")
	if t.sets[set] {
		return own
	}
	if len(t.sets) < t.labelLimit {
		t.sets[set] = true
		return own
	}
	t.folded = true
	own = slices.Clone(own)
	for i := 1; i < len(own); i += 2 {
		own[i] = "other"
	}
	return own
}

// add adds a sample. own are the configured labels, already bounded.
func (t *totals) add(now time.Time, service string, own []string, s instruments.Sample) {
	m := &instruments.Table[s.Instrument]
	k := key(m.Name, service, own, s.Attributes)
	one := t.byKey[k]
	if one == nil && len(t.byKey) >= t.seriesLimit && !t.makeRoom() {
		t.folded = true
		service, own, s.Attributes = "other", nil, []string{instruments.Overflow, "true"}
		k = key(m.Name, service, own, s.Attributes)
		one = t.byKey[k]
	}
	if one == nil {
		one = &series{Metric: m.Name, Service: service, Own: own, Labels: s.Attributes, Start: now}
		if m.Bounds != nil {
			one.Buckets = make([]uint64, len(m.Bounds)+1)
		}
		t.insert(k, one)
	}
	one.revive(t, now)
	if now.After(one.Last) {
		one.Last = now
	}
	one.Sum += s.Value
	one.Count++
	if m.Bounds != nil {
		i, _ := slices.BinarySearch(m.Bounds, s.Value)
		one.Buckets[i]++
	}
	t.touch(one)
}

// touch marks a series as not written.
func (t *totals) touch(one *series) {
	if !one.dirty {
		one.dirty = true
		t.dirty = append(t.dirty, one)
	}
}

func (t *totals) insert(k string, one *series) {
	one.slot = slices.Index(t.slots, nil)
	if one.slot < 0 {
		one.slot = len(t.slots)
		t.slots = append(t.slots, nil)
	}
	t.slots[one.slot] = one
	t.byKey[k] = one
}

// expire leaves series out of the reports to which nothing was added since a time. They keep
// their places: the clock may be ahead. It reports whether a total changed as the clock was.
func (t *totals) expire(now, before time.Time) (changed bool) {
	t.sets = map[string]bool{}
	t.reports++
	t.expired = 0
	for _, one := range t.byKey {
		if one.before != nil && now.Before(one.Start) {
			t.unite(one)
			changed = true
		}
		was := one.expired
		one.expired = one.Last.Before(before)
		if one.expired {
			if t.expired++; !was {
				one.hidden = t.reports
			}
			continue
		}
		if len(one.Own) > 0 && one.Own[1] != "other" {
			t.sets[strings.Join(one.Own, "\x00")] = true
		}
	}
	return changed
}

// revive begins the total of an expired series anew.
func (one *series) revive(t *totals, now time.Time) {
	if !one.expired {
		return
	}
	before := *one
	before.before = nil
	one.before, one.expired, one.Start = &before, false, now
	one.Sum, one.Count, one.Buckets = 0, 0, make([]uint64, len(one.Buckets))
	t.expired--
}

// unite adds the total that had expired: the clock was ahead then.
func (t *totals) unite(one *series) {
	b := one.before
	one.Start, one.Sum, one.Count, one.before = b.Start, one.Sum+b.Sum, one.Count+b.Count, nil
	for i := range b.Buckets {
		one.Buckets[i] += b.Buckets[i]
	}
	t.touch(one)
}

// makeRoom forgets series that have been expired for long, and reports whether there were
// any. Their slots are written over by the next ones.
func (t *totals) makeRoom() (made bool) {
	if t.expired == 0 {
		return false
	}
	for k, one := range t.byKey {
		if one.expired && !one.dirty && t.reports-one.hidden >= confirmed {
			delete(t.byKey, k)
			t.slots[one.slot] = nil
			t.freed = append(t.freed, one.slot)
			t.expired--
			made = true
		}
	}
	return made
}

// report writes all totals.
func (t *totals) report(now time.Time, gateway string) pmetric.Metrics {
	out := pmetric.NewMetrics()
	scopes := map[string]pmetric.ScopeMetrics{}
	points := map[string]pmetric.Metric{}
	for _, one := range t.slots {
		if one == nil || one.expired {
			continue
		}
		scope, ok := scopes[one.Service]
		if !ok {
			resource := out.ResourceMetrics().AppendEmpty()
			resource.Resource().Attributes().PutStr("service.name", one.Service)
			scope = resource.ScopeMetrics().AppendEmpty()
			scopes[one.Service] = scope
		}
		to, ok := points[one.Service+"\x00"+one.Metric]
		if !ok {
			to = scope.Metrics().AppendEmpty()
			describe(to, instruments.Named(one.Metric))
			points[one.Service+"\x00"+one.Metric] = to
		}
		labels := one.point(to, now)
		labels.PutStr("gateway", gateway)
		labels.PutStr("service.name", one.Service)
		for _, kv := range [][]string{one.Labels, one.Own} {
			for i := 0; i+1 < len(kv); i += 2 {
				labels.PutStr(kv[i], kv[i+1])
			}
		}
	}
	return out
}

func describe(to pmetric.Metric, m *instruments.Instrument) {
	to.SetName(m.Name)
	to.SetDescription(m.Description)
	to.SetUnit(m.Unit)
	if m.Bounds != nil {
		to.SetEmptyHistogram().SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		return
	}
	sum := to.SetEmptySum()
	sum.SetIsMonotonic(true)
	sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
}

// point writes the total and returns its labels, which are empty.
func (one *series) point(to pmetric.Metric, now time.Time) pcommon.Map {
	start, at := pcommon.NewTimestampFromTime(one.Start), pcommon.NewTimestampFromTime(now)
	if m := instruments.Named(one.Metric); m.Bounds != nil {
		p := to.Histogram().DataPoints().AppendEmpty()
		p.SetStartTimestamp(start)
		p.SetTimestamp(at)
		p.SetSum(one.Sum)
		p.SetCount(one.Count)
		p.ExplicitBounds().FromRaw(m.Bounds)
		p.BucketCounts().FromRaw(one.Buckets)
		return p.Attributes()
	}
	p := to.Sum().DataPoints().AppendEmpty()
	p.SetStartTimestamp(start)
	p.SetTimestamp(at)
	p.SetDoubleValue(one.Sum)
	return p.Attributes()
}

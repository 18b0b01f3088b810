package store

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// digest is what the sums need of a trace's spans. The column traces.facts has it
// in one value, because a sum over 25,000 such values takes a tenth of the time of
// one over the rows of their 500,000 calls.
//
// The value is digestVersion, then the members in the order of encode: numbers as
// varints, texts and lists with their length first. It does not depend on the order
// in which the spans were stored.
type digest struct {
	// sum has what the sums need of the trace's Summary: Host, Session, Model, Branch,
	// Directory, Runs, Usage, which is own with ownCost
	// after decode.
	sum     Summary
	own     Usage
	ownCost float64
	// spans, started and ended are in the columns of those names.
	spans          int
	started, ended int64
	// model is the first request's, modelAt its start.
	model   string
	modelAt int64
	// badRun reports a run that failed or was abandoned.
	badRun bool
	// waits are the periods in which the agent waited for the user, open that it does so
	// now.
	waits  []step.Wait
	open   bool
	models []modelDigest
	// rest is what eachModel finds beyond the models.
	rest modelDigest
	// counted has the numbers of tool calls, without their time.
	counted counts
	// tools are the tool calls by tool and command, hooks the hook runs by command.
	// decode leaves them out unless deep is set.
	tools, hooks []callsDigest
	// folders has the calls in each folder of a workspace that has several; their time and
	// end do not count.
	folders []callsDigest
	deep    bool
	// requests are the keys of the requests. encode leaves them out: they have a column.
	requests []byte
	// places finds an element of the lists.
	places map[placeKey]int
}

type placeKey struct {
	list          *[]callsDigest // nil for models
	name, command string
}

// place returns where an element is, and whether it was there.
func (d *digest) place(list *[]callsDigest, name, command string) (int, bool) {
	if d.places == nil {
		d.places = make(map[placeKey]int)
		for i := range d.models {
			d.places[placeKey{nil, d.models[i].name, ""}] = i
		}
		for _, l := range []*[]callsDigest{&d.tools, &d.hooks, &d.folders} {
			for i, c := range *l {
				d.places[placeKey{l, c.name, c.command}] = i
			}
		}
	}
	key := placeKey{list, name, command}
	i, ok := d.places[key]
	if !ok {
		if i = len(d.models); list != nil {
			i = len(*list)
		}
		d.places[key] = i
	}
	return i, ok
}

const digestVersion = 6

// modelDigest is the sum over the requests to a model.
type modelDigest struct {
	name string
	// known reports whether any request has usage, priced whether any has a cost,
	// unpriced whether any has tokens and no cost.
	known, priced, unpriced              bool
	input, output, cacheRead, cacheWrite int64
	cost                                 money
}

// money is in 10^-12 US dollars: sums of it do not depend on their order.
type money int64

const dollar money = 1e12

func moneyOf(usd float64) money {
	m := math.Round(usd * float64(dollar))
	if m != m || math.Abs(m) > 1e18 {
		return 0
	}
	return money(m)
}

func (m money) usd() float64 { return float64(m) / float64(dollar) }

// callsDigest are calls of one kind.
type callsDigest struct {
	name, command string
	calls         []call
}

// call is a duration in nanoseconds and, in the lowest three bits, its end.
type call int64

func callOf(took time.Duration, end otelmap.End) call { return call(took)<<3 | call(end) }

func (c call) took() time.Duration { return time.Duration(c >> 3) }

func (c call) end() otelmap.End { return otelmap.End(c & 7) }

// maxTook is the longest duration of a call that is counted.
const maxTook = math.MaxInt64 >> 4

// counts sums up calls. failed includes the unfinished. own are those of hookspan's own server
// that failed or were denied, of which the roots alone tell.
type counts struct {
	n, failed, denied, own int
	took                   time.Duration
}

func (c *counts) add(calls []call) {
	c.n += len(calls)
	for _, one := range calls {
		c.took += one.took()
		switch end := one.end(); {
		case end.Failed():
			c.failed++
		case end == otelmap.EndDenied:
			c.denied++
		}
	}
}

// usage returns the sum over the requests, nil if unknown.
func (d *digest) usage() (sum *Usage) {
	for i := range d.models {
		sum = sum.Add(d.models[i].usage())
	}
	return sum
}

// sum adds the usage of another.
func (m *modelDigest) sum(o *modelDigest) {
	m.known, m.priced = m.known || o.known, m.priced || o.priced
	m.input += o.input
	m.output += o.output
	m.cacheRead += o.cacheRead
	m.cacheWrite += o.cacheWrite
	m.cost += o.cost
}

func (m *modelDigest) usage() *Usage {
	if !m.known {
		return nil
	}
	u := &Usage{Input: m.input, Output: m.output, CacheRead: m.cacheRead, CacheWrite: m.cacheWrite}
	if m.priced {
		u.CostUSD = new(m.cost.usd())
	}
	return u
}

// add adds a span.
func (d *digest) add(s *tracepb.Span) {
	one := step.Of(s)
	start, end := column(s.GetStartTimeUnixNano()), column(s.GetEndTimeUnixNano())
	d.spans++
	if start > 0 && (d.started == 0 || start < d.started) {
		d.started = start
	}
	d.ended = max(d.ended, start, end)
	switch one.Kind() {
	case step.KindRun:
		outcome := one.Outcome()
		d.badRun = d.badRun || outcome == otelmap.OutcomeFailed || outcome == otelmap.OutcomeAbandoned
	case step.KindTool:
		tool, ended := one.Tool(), one.Counted()
		c := callOf(min(one.Took(), maxTook), ended)
		if d.counted.add([]call{c}); ended != one.End() {
			d.counted.own++
		}
		d.addCall(&d.tools, tool, CommandOf(tool, one.Arguments()), c)
		if dir := one.Folder(); dir != "" {
			d.addCall(&d.folders, dir, "", 0)
		}
	case step.KindRequest:
		model := one.Model()
		if model != "" && (d.model == "" || cmp.Or(cmp.Compare(start, d.modelAt), cmp.Compare(model, d.model)) < 0) {
			d.model, d.modelAt = model, start
		}
		d.addRequest(model, one.Usage())
		if key, ok := RequestKey(s); ok {
			d.requests = binary.BigEndian.AppendUint64(d.requests, key)
		}
	}
	for _, w := range one.Waits() {
		if w.To.IsZero() {
			d.open = true
			continue
		}
		d.waits = append(d.waits, w)
	}
	for e := range one.Events() {
		if e.Name() == otelmap.EventHook {
			h := hookRunOf(e)
			d.addCall(&d.hooks, h.Command, "", callOf(h.Took, h.End()))
		}
	}
}

func sortWaits(waits []step.Wait) {
	slices.SortFunc(waits, func(x, y step.Wait) int { return cmp.Or(x.From.Compare(y.From), x.To.Compare(y.To)) })
}

// Waited is how long an agent waited, whose waits it sorts; what several calls waited for at
// once counts once.
func Waited(waits []step.Wait) (sum time.Duration) {
	sortWaits(waits)
	var until time.Time
	for _, w := range waits {
		if w.From.Before(until) {
			w.From = until
		}
		if w.To.After(w.From) {
			sum, until = sum+w.To.Sub(w.From), w.To
		}
	}
	return sum
}

func (d *digest) addCall(list *[]callsDigest, name, command string, c call) {
	i, ok := d.place(list, name, command)
	if !ok {
		*list = append(*list, callsDigest{name: name, command: command})
	}
	(*list)[i].calls = append((*list)[i].calls, c)
}

func (d *digest) addRequest(model string, u *Usage) {
	i, ok := d.place(nil, model, "")
	if !ok {
		d.models = append(d.models, modelDigest{name: model})
	}
	m := &d.models[i]
	if u == nil {
		return
	}
	m.known = true
	m.input += u.Input
	m.output += u.Output
	m.cacheRead += u.CacheRead
	m.cacheWrite += u.CacheWrite
	switch {
	case u.CostUSD != nil:
		m.priced = true
		m.cost += moneyOf(*u.CostUSD)
	case u.Input+u.Output > 0:
		m.unpriced = true
	}
}

// encode returns the value of the column.
func (d *digest) encode() []byte {
	d.places = nil
	slices.SortFunc(d.models, func(x, y modelDigest) int { return cmp.Compare(x.name, y.name) })
	u := d.sum.Usage
	out := []byte{digestVersion, flags(d.badRun, u != nil, u != nil && u.CostUSD != nil)}
	for _, text := range []string{d.sum.Host, d.sum.Session, d.sum.Model, d.sum.Directory, d.sum.Branch} {
		out = appendText(out, text)
	}
	out = binary.AppendVarint(out, int64(d.sum.Runs))
	if u != nil {
		for _, n := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite} {
			out = binary.AppendVarint(out, n)
		}
		if u.CostUSD != nil {
			out = binary.AppendVarint(out, int64(moneyOf(*u.CostUSD)))
		}
	}
	out = binary.AppendVarint(out, d.modelAt)
	out = appendText(out, d.model)
	for _, n := range []int{d.counted.n, d.counted.failed, d.counted.denied, d.counted.own} {
		out = binary.AppendVarint(out, int64(n))
	}
	sortWaits(d.waits)
	out = binary.AppendUvarint(out, uint64(len(d.waits)))
	for _, w := range d.waits {
		out = binary.AppendVarint(binary.AppendVarint(out, column(otlp.UnixNano(w.From))), int64(w.To.Sub(w.From)))
	}
	out = binary.AppendUvarint(out, uint64(len(d.models)))
	for i := range d.models {
		m := &d.models[i]
		out = append(appendText(out, m.name), flags(m.known, m.priced, m.unpriced))
		for _, n := range []int64{m.input, m.output, m.cacheRead, m.cacheWrite, int64(m.cost)} {
			out = binary.AppendVarint(out, n)
		}
	}
	for _, list := range [][]callsDigest{d.tools, d.hooks, d.folders} {
		slices.SortFunc(list, func(x, y callsDigest) int {
			return cmp.Or(cmp.Compare(x.name, y.name), cmp.Compare(x.command, y.command))
		})
		out = binary.AppendUvarint(out, uint64(len(list)))
		for i := range list {
			slices.Sort(list[i].calls)
			out = appendText(appendText(out, list[i].name), list[i].command)
			out = binary.AppendUvarint(out, uint64(len(list[i].calls)))
			for _, c := range list[i].calls {
				out = binary.AppendUvarint(out, uint64(c)) //nolint:gosec // not negative
			}
		}
	}
	return out
}

func flags(set ...bool) (out byte) {
	for i, s := range set {
		if s {
			out |= 1 << i
		}
	}
	return out
}

func appendText(to []byte, s string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(s))), s...)
}

// digestReader decodes digests.
type digestReader struct {
	data   []byte
	bad    bool
	recent [251]string
}

// decode sets what encode wrote. The lists of d are used again.
func (r *digestReader) decode(data []byte, d *digest) error {
	r.data, r.bad, d.places = data, false, nil
	if v := r.byte(); v > digestVersion {
		return fmt.Errorf("%w: a trace's sums have the form %d, this hookspan reads %d: update hookspan", ErrNewer, v, digestVersion)
	} else if v != digestVersion {
		return fmt.Errorf("%w: a trace's sums have the unknown form %d, want %d", errUndecodable, v, digestVersion)
	}
	set := r.byte()
	d.badRun = set&1 != 0
	d.sum = Summary{Host: r.text(), Session: r.text(), Model: r.text(), Directory: r.text(), Branch: r.text(), Runs: int(r.varint())}
	if set&2 != 0 {
		d.own = Usage{Input: r.varint(), Output: r.varint(), CacheRead: r.varint(), CacheWrite: r.varint()}
		if d.sum.Usage = &d.own; set&4 != 0 {
			d.ownCost = money(r.varint()).usd()
			d.own.CostUSD = &d.ownCost
		}
	}
	d.modelAt, d.model = r.varint(), r.text()
	d.counted = counts{n: int(r.varint()), failed: int(r.varint()), denied: int(r.varint()), own: int(r.varint())}
	d.waits = d.waits[:0]
	for range r.length() {
		from := fromColumn(r.varint())
		d.waits = append(d.waits, step.Wait{From: from, To: from.Add(time.Duration(r.varint()))})
	}
	d.models = d.models[:0]
	for range r.length() {
		m := modelDigest{name: r.text()}
		set := r.byte()
		m.known, m.priced, m.unpriced = set&1 != 0, set&2 != 0, set&4 != 0
		m.input, m.output, m.cacheRead, m.cacheWrite, m.cost = r.varint(), r.varint(), r.varint(), r.varint(), money(r.varint())
		d.models = append(d.models, m)
	}
	if d.deep {
		d.tools, d.hooks, d.folders = r.calls(d.tools), r.calls(d.hooks), r.calls(d.folders)
	}
	if r.bad || d.deep && len(r.data) > 0 {
		return fmt.Errorf("%w: facts", errUndecodable)
	}
	return nil
}

func (r *digestReader) calls(list []callsDigest) []callsDigest {
	n := 0
	for range r.length() {
		if n == cap(list) {
			list = append(list[:n], callsDigest{})
		}
		list = list[:n+1]
		c := &list[n]
		n++
		c.name, c.command, c.calls = r.text(), r.text(), c.calls[:0]
		for range r.length() {
			c.calls = append(c.calls, call(r.uvarint())) //nolint:gosec // as encoded
		}
	}
	return list[:n]
}

func (r *digestReader) byte() byte {
	if len(r.data) == 0 {
		r.bad = true
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

func (r *digestReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *digestReader) varint() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}

// length reads the length of what follows, which takes at least as many bytes.
func (r *digestReader) length() int {
	n := r.uvarint()
	if n > uint64(len(r.data)) {
		r.bad, r.data = true, nil
		return 0
	}
	return int(n) //nolint:gosec // bounded
}

// text returns the next text. Most texts were there before, most of these lately.
func (r *digestReader) text() string {
	n := r.length()
	b := r.data[:n]
	r.data = r.data[n:]
	if n == 0 {
		return ""
	}
	at := &r.recent[(n*31+int(b[n-1])*7+int(b[n/2]))%len(r.recent)]
	if *at != string(b) {
		*at = string(b)
	}
	return *at
}

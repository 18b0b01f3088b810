package sums

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap/instruments"
)

// Series is one combination of an instrument and attributes.
type Series struct {
	// Service is the service.name of the resource.
	Service string
	// Instrument is a name, Attributes a JSON array of keys and values in turn.
	Instrument, Attributes string
}

// Overflowing returns the series that takes what a limit leaves out.
func (s Series) Overflowing() Series {
	return Series{"other", s.Instrument, `["` + instruments.Overflow + `","true"]`}
}

func (s Series) compare(o Series) int {
	return cmp.Or(strings.Compare(s.Instrument, o.Instrument), strings.Compare(s.Service, o.Service), strings.Compare(s.Attributes, o.Attributes))
}

// pairs returns the attributes, keys and values in turn.
func (s Series) pairs() (out []string) {
	if text := s.Attributes; len(text) > len(`[""]`) && !strings.Contains(text, `\`) {
		return strings.Split(text[2:len(text)-2], `","`) // No value has a quote.
	}
	_ = json.Unmarshal([]byte(s.Attributes), &out) // It is this package's.
	return out
}

// group names what a span counts in once whatever its other attributes are: the instrument, and
// of tokens their type.
func (s Series) group() string {
	pairs := s.pairs()
	if i := slices.Index(pairs, instruments.TokenType); i >= 0 {
		return s.Instrument + " " + pairs[i+1]
	}
	return s.Instrument
}

// Counts are what was added to series: the sum and, of a histogram, the observations in each bucket.
type Counts map[Series][]int64

// Put adds numbers that are not negative to a series.
func (c Counts) Put(s Series, n ...int64) {
	c[s] = Sum(c[s], n)
}

// Sum adds numbers to others in their places, which it may change.
func Sum(to, n []int64) []int64 {
	to = append(to, make([]int64, max(0, len(n)-len(to)))...)
	for i := range n {
		to[i] = Plus(to[i], n[i])
	}
	return to
}

// Plus adds numbers that are not negative. Beyond the largest number it is that.
func Plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// counted is a span as instruments reads it.
type counted struct{ span *tracepb.Span }

func (s counted) Text(key string) (string, bool) {
	v := otlp.Find(s.span.GetAttributes(), key)
	return otlp.Format(v), v != nil
}

func (s counted) Number(key string) (float64, bool) {
	switch v := otlp.Find(s.span.GetAttributes(), key).GetValue().(type) {
	case *commonpb.AnyValue_IntValue:
		return float64(v.IntValue), true
	case *commonpb.AnyValue_DoubleValue:
		return v.DoubleValue, true
	}
	return 0, false
}

func (s counted) Times() (start, end uint64) {
	return s.span.GetStartTimeUnixNano(), s.span.GetEndTimeUnixNano()
}
func (s counted) Status() string { return s.span.GetStatus().GetCode().String() }

// Counted reports whether spans count: those of imported sessions and of hookspan test do not.
func Counted(s *tracepb.Span) bool {
	return !instruments.Imported(counted{s}) && !instruments.OfTest(counted{s})
}

// Service returns the name of a message's service.
func Service(origin *tracepb.ResourceSpans) string {
	if v := otlp.Find(origin.GetResource().GetAttributes(), instruments.Service); v != nil {
		return instruments.Cut(otlp.Format(v))
	}
	return "unknown"
}

// Repository returns the attribute of the repository that a resource, or else a span, or else its trace's
// root, names.
func Repository(origin *tracepb.ResourceSpans, span, root *tracepb.Span) []string {
	for _, all := range [][]*commonpb.KeyValue{origin.GetResource().GetAttributes(), span.GetAttributes(), root.GetAttributes()} {
		if name := otlp.Text(all, instruments.Repository); name != "" {
			return []string{instruments.Repository, instruments.Cut(name)}
		}
	}
	return nil
}

// Add adds what a span of a service counts, to series that have more keys and values.
func (c Counts) Add(service string, s *tracepb.Span, more ...string) {
	var pairs []string
	var attributes string
	for _, one := range instruments.Samples(counted{s}) {
		i := &instruments.Table[one.Instrument]
		if attributes == "" || &pairs[0] != &one.Attributes[0] || len(pairs) != len(one.Attributes) {
			pairs, attributes = one.Attributes, encode(one.Attributes, more)
		}
		series := Series{service, i.Name, attributes}
		n := c[series]
		if n == nil {
			n = make([]int64, width(i))
			c[series] = n
		}
		n[0] = Plus(n[0], int64(math.Round(min(one.Value*scale(i), math.MaxInt64/2))))
		if i.Bounds != nil {
			bucket, _ := slices.BinarySearch(i.Bounds, one.Value)
			n[1+bucket]++
		}
	}
}

// encode returns texts as a JSON array, as package json does, without its reflection.
func encode(all ...[]string) string {
	b := append(make([]byte, 0, 400), '[')
	for _, texts := range all {
		for _, text := range texts {
			if len(b) > 1 {
				b = append(b, ',')
			}
			if plain(text) {
				b = append(append(append(b, '"'), text...), '"')
				continue
			}
			quoted, _ := json.Marshal(text)
			b = append(b, quoted...)
		}
	}
	return string(append(b, ']'))
}

// plain reports that a text is in JSON as it is.
func plain(text string) bool {
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// width is how many numbers an instrument has.
func width(i *instruments.Instrument) int {
	if i.Bounds == nil {
		return 1
	}
	return 1 + len(i.Bounds) + 1
}

// scale is how many of the whole numbers are one of an instrument's unit.
func scale(i *instruments.Instrument) float64 {
	if i.Unit == "s" || i == &instruments.Table[instruments.Cost] || i == &instruments.Table[instruments.RunCost] {
		return 1e9
	}
	return 1
}

// Growth returns what is added to counts for a trace that says want now and had added before, and
// whether both agree then. Nothing is taken away: where a total has shrunk, or has moved to other
// attributes, what was added stays, and the total grows by what exceeds that.
func Growth(added, want Counts) (grown Counts, agree bool) {
	grown, agree = make(Counts), true
	all := maps.Clone(want)
	maps.Copy(all, added)
	groups := make(map[string][]Series)
	for _, s := range slices.SortedFunc(maps.Keys(all), Series.compare) {
		groups[s.group()] = append(groups[s.group()], s)
	}
	for _, members := range groups {
		more := growing{grown, added, want, members}
		if width := width(instruments.Named(members[0].Instrument)); width > 1 {
			more.distribute(1, width, members)
			// A histogram without observations has no sum.
			members = slices.DeleteFunc(slices.Clone(members), func(s Series) bool { return Observations(added[s])+Observations(grown[s]) == 0 })
		}
		if rest := more.distribute(0, 1, members); rest > 0 && len(members) > 0 {
			grown.Put(members[0], rest)
		}
	}
	for s := range all {
		for i := range max(len(want[s]), len(added[s])) {
			agree = agree && At(want[s], i) == Plus(At(added[s], i), At(grown[s], i))
		}
	}
	return grown, agree
}

// growing are the series of a group.
type growing struct {
	grown, added, want Counts
	group              []Series
}

// distribute adds what the total of the numbers from one up to another has grown by, to those of
// some series that have grown, and returns what is left.
func (g growing) distribute(from, to int, members []Series) (rest int64) {
	for _, s := range g.group {
		for i := from; i < to; i++ {
			rest += At(g.want[s], i) - At(g.added[s], i)
		}
	}
	for _, s := range members {
		for i := from; i < to; i++ {
			if more := min(rest, At(g.want[s], i)-At(g.added[s], i)); more > 0 {
				n := make([]int64, len(g.want[s]))
				n[i] = more
				g.grown.Put(s, n...)
				rest -= more
			}
		}
	}
	return rest
}

// At returns a number, 0 behind the last one.
func At(n []int64, i int) int64 {
	if i < len(n) {
		return n[i]
	}
	return 0
}

// Observations counts those of a histogram.
func Observations(n []int64) (sum int64) {
	for i := 1; i < len(n); i++ {
		sum = Plus(sum, n[i])
	}
	return sum
}

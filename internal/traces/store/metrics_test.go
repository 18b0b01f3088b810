package store

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/ramdir"
	"github.com/hookspan/hookspan/internal/traces/sums"
	"github.com/hookspan/hookspan/otelmap"
)

var days = flag.Int("days", 60, "how many drawn days the metrics must survive")

// group is what a trace counts in once: the instrument, of tokens their type, and the sum or the
// observations.
type group struct {
	instrument, token string
	observations      bool
}

func intoGroup(to map[group]int64, s sums.Series, n []int64) {
	g := group{instrument: s.Instrument}
	for _, t := range []string{"input", "output"} {
		if strings.Contains(s.Attributes, `"gen_ai.token.type","`+t+`"`) {
			g.token = t
		}
	}
	to[g] += sums.At(n, 0)
	g.observations = true
	to[g] += sums.Observations(n)
}

// backend is a destination of metrics.
type backend struct {
	delta bool
	at    time.Time
	// has are the values by series and number, lost what was taken whose answer was lost.
	has, lost map[string]float64
}

func newBackend(delta bool) *backend {
	return &backend{delta: delta, has: make(map[string]float64), lost: make(map[string]float64)}
}

// errStale refuses a report that is not newer than the one before.
var errStale = errors.New("not newer than what is there")

// take takes a report as a backend does.
func (b *backend) take(at time.Time, request []byte, lost bool) error {
	var sent colmetricspb.ExportMetricsServiceRequest
	if err := proto.Unmarshal(request, &sent); err != nil {
		return err
	}
	value := func(key string, v float64) error {
		switch {
		case b.delta:
			if b.has[key] += v; lost {
				b.lost[key] += v
			}
		case v < b.has[key]:
			return fmt.Errorf("%s falls from %v to %v", key, b.has[key], v)
		default:
			b.has[key] = v
		}
		return nil
	}
	var errs []error
	var newest time.Time
	times := func(start, at uint64) {
		newest = time.Unix(0, int64(at)) //nolint:gosec // A time.
		if start == 0 || start >= at {
			errs = append(errs, fmt.Errorf("reported from %d to %d", start, at))
		}
	}
	if at.After(b.at) {
		b.at = at
	} else {
		return errStale
	}
	for _, rm := range sent.ResourceMetrics {
		for _, m := range rm.GetScopeMetrics()[0].GetMetrics() {
			name := rm.GetResource().GetAttributes()[0].GetValue().GetStringValue() + " " + m.GetName()
			for _, p := range m.GetSum().GetDataPoints() {
				times(p.GetStartTimeUnixNano(), p.GetTimeUnixNano())
				errs = append(errs, value(name+texts(p.GetAttributes()), p.GetAsDouble()))
			}
			for _, p := range m.GetHistogram().GetDataPoints() {
				times(p.GetStartTimeUnixNano(), p.GetTimeUnixNano())
				var sum uint64
				for i, n := range p.GetBucketCounts() {
					sum += n
					errs = append(errs, value(fmt.Sprint(name, texts(p.GetAttributes()), i), float64(n)))
				}
				if sum != p.GetCount() || !b.delta && sum == 0 && p.GetSum() != 0 {
					errs = append(errs, fmt.Errorf("%s: %d observations in buckets, count %d, sum %v", name, sum, p.GetCount(), p.GetSum()))
				}
				errs = append(errs, value(name+texts(p.GetAttributes()), p.GetSum()))
			}
		}
	}
	if len(request) > 0 && !newest.Equal(at) {
		errs = append(errs, fmt.Errorf("reported of %v, not %v", newest, at))
	}
	return errors.Join(errs...)
}

func texts(all []*commonpb.KeyValue) (out string) {
	for _, kv := range all {
		out += " " + kv.GetKey() + "=" + kv.GetValue().GetStringValue()
	}
	return out
}

// drawnTrace is a trace of a day: the spans that are stored, and what it has counted.
type drawnTrace struct {
	b       *build
	counts  bool
	removed bool
	most    map[group]int64
}

// stored notes that spans were stored.
func (d *drawnTrace) stored() {
	if !d.counts || d.removed {
		return
	}
	c, now := make(sums.Counts), make(map[group]int64)
	for _, s := range d.b.Spans {
		c.Add("cline", s)
	}
	for s, n := range c {
		intoGroup(now, s, n)
	}
	for g, n := range now {
		d.most[g] = max(d.most[g], n)
	}
}

// day draws what happens to a store whose two processes count, and to two destinations.
type day struct {
	*testing.T

	draw   *rand.Rand
	path   string
	now    time.Time
	stores [2]*Store
	traces []*drawnTrace
	places map[string]*backend
	killed int
	whole  int64
}

func (d *day) pick(of ...string) string { return of[d.draw.IntN(len(of))] }

func (d *day) open(i int) {
	if d.stores[i] != nil {
		if err := d.stores[i].Close(); err != nil {
			d.Fatal(err)
		}
	}
	s, err := Open(d.Context(), d.path)
	if err == nil {
		s.Now = func() time.Time { return d.now }
		err = s.Measure(d.Context(), false)
	}
	if err == nil {
		_, err = s.db.ExecContext(d.Context(), `PRAGMA synchronous = OFF`)
	}
	if err != nil {
		d.Fatal(err)
	}
	d.stores[i] = s
}

func (d *day) process() *Store { return d.stores[d.draw.IntN(2)] }

// usage are attributes of tokens and cost.
func (d *day) usage(in, out string) (a []*commonpb.KeyValue) {
	for _, key := range []string{in, out} {
		if d.draw.IntN(5) > 0 {
			a = append(a, num(key, d.draw.Int64N(5000)))
		}
	}
	if d.draw.IntN(3) > 0 {
		a = append(a, float(otelmap.KeyCost, d.draw.Float64()))
	}
	return a
}

func (d *day) span(b *build, root int) {
	took := time.Duration(d.draw.IntN(400_000)) * time.Millisecond
	switch d.draw.IntN(3) {
	case 0:
		b.Chat(root, 0, took, d.usage(otelmap.KeyInputTokens, otelmap.KeyOutputTokens)...)
		b.Last().Attributes[1] = str(otelmap.KeyRequestModel, d.pick("m-one", "m-two"))
	default:
		b.Tool(root, d.pick("Bash", "Read", "Edit"), `{}`, 0, took)
		if d.draw.IntN(3) == 0 {
			b.Fail(d.pick(otelmap.ErrorTool, otelmap.ErrorToolUnfinished), "")
		}
	}
	b.Last().Attributes = append(b.Last().Attributes, str(otelmap.KeyConversationID, fmt.Sprintf("%x", b.ID[:2])))
	ownIDs(b)
}

// ownIDs gives the last span ids that no other trace has.
func ownIDs(b *build) {
	for _, id := range [][]byte{b.Last().SpanId, b.Last().ParentSpanId} {
		if len(id) > 0 {
			copy(id, b.ID[:6])
		}
	}
}

func (d *day) root(b *build) int {
	n := b.Root("", d.pick(otelmap.OutcomeCompleted, otelmap.OutcomeAbandoned), time.Duration(d.draw.IntN(4000))*time.Second,
		append(d.usage(otelmap.KeyRunInputTokens, otelmap.KeyRunOutputTokens), str(otelmap.KeyModel, d.pick("m-one", "m-two")))...)
	b.Last().Attributes[2] = str(otelmap.KeyConversationID, fmt.Sprintf("%x", b.ID[:2]))
	ownIDs(b)
	return n
}

// correct replaces a span by a drawn one with its id.
func (d *day) correct(b *build) *tracepb.Span {
	i := d.draw.IntN(len(b.Spans))
	other := newBuild("other")
	other.ID = b.ID
	if i == 0 {
		d.root(other)
	} else {
		d.span(other, 1)
	}
	other.Last().SpanId = b.Spans[i].SpanId
	b.Spans[i] = other.Last()
	return b.Spans[i]
}

// upload stores spans of a trace, unless the process is killed before the transaction ends.
func (d *day) upload(t *drawnTrace, spans []*tracepb.Span) {
	s, killed := d.process(), errors.New("killed")
	if d.draw.IntN(6) == 0 {
		if err := s.upload(d.Context(), t.b.Request(spans...), func(*prepared) error { return killed }); !errors.Is(err, killed) {
			d.Fatalf("error %v", err)
		}
		d.killed++
		d.open(d.draw.IntN(2))
		s = d.process()
	}
	if err := s.UploadTraces(d.Context(), t.b.Request(spans...)); err != nil {
		d.Fatal(err)
	}
	t.stored()
}

func (d *day) begin() {
	t := &drawnTrace{b: newBuild(fmt.Sprint("day ", len(d.traces))), counts: true, most: make(map[group]int64)}
	root := d.root(t.b)
	for range d.draw.IntN(6) {
		d.span(t.b, root)
	}
	if d.draw.IntN(6) == 0 {
		t.counts = false
		t.b.Spans[0].Attributes = append(t.b.Spans[0].Attributes, otlp.Bool(d.pick(otelmap.KeyImported, otelmap.KeyTest), true))
	}
	d.traces = append(d.traces, t)
	if cut := d.draw.IntN(len(t.b.Spans)); cut > 0 && d.draw.IntN(3) == 0 {
		all := t.b.Spans
		t.b.Spans = all[:cut]
		d.upload(t, t.b.Spans)
		t.b.Spans = all
		d.upload(t, all[cut:])
		return
	}
	d.upload(t, t.b.Spans)
}

// late stores what comes after a trace's end, with or without what is there already.
func (d *day) late() {
	t := d.traces[d.draw.IntN(len(d.traces))]
	var changed []*tracepb.Span
	for range d.draw.IntN(3) {
		if d.draw.IntN(2) == 0 {
			d.span(t.b, 1)
			changed = append(changed, t.b.Last())
		} else {
			changed = append(changed, d.correct(t.b))
		}
	}
	if len(changed) == 0 || d.draw.IntN(3) == 0 {
		changed = t.b.Spans
	}
	d.upload(t, changed)
}

func (d *day) remove() {
	t, err := d.traces[d.draw.IntN(len(d.traces))], error(nil)
	if d.draw.IntN(3) == 0 {
		// For a year the store knows what it has removed.
		d.now = d.now.Add(8 * time.Hour)
		_, err = d.process().Prune(d.Context(), d.now.Add(-4*time.Hour))
		for _, t := range d.traces {
			t.removed = true
		}
	} else {
		_, err = d.process().Delete(d.Context(), []string{traceID(t.b)})
		t.removed = true
	}
	if err != nil {
		d.Fatal(err)
	}
}

// send reports to a destination, which may be down, or lose its answer.
func (d *day) send(place string, certain bool) {
	s, b := d.process(), d.places[place]
	got, err := s.Sums(d.Context(), place)
	if err != nil {
		d.Fatal(err)
	}
	grown := slices.ContainsFunc(got.Points, func(p sums.Point) bool { return p.Grown() })
	if some, _, err := s.Unreported(d.Context(), place); err != nil || some != grown {
		d.Fatalf("something is to be reported: %t, %v, want %t", some, err, grown)
	}
	fate := "taken"
	if !certain {
		fate = d.pick("taken", "taken", "down", "lost", "killed")
	}
	f := got.Form(d.now, b.delta)
	points := slices.DeleteFunc(got.Points, func(p sums.Point) bool { return b.delta && !p.Grown() })
	if fate == "down" || len(points) == 0 {
		return
	}
	if err := b.take(f.At, f.Encode(points), fate != "taken"); errors.Is(err, errStale) && !certain {
		return
	} else if err != nil {
		d.Fatal(err)
	}
	if fate == "taken" {
		if err := s.Acknowledge(d.Context(), place, f, points, got.Version); err != nil {
			d.Fatal(err)
		}
	}
}

func (d *day) run() {
	for range 5 + d.draw.IntN(40) {
		d.now = d.now.Add(time.Minute)
		switch n := d.draw.IntN(20); {
		case n < 5 || len(d.traces) == 0:
			d.begin()
		case n < 11:
			d.late()
		case n < 13:
			d.remove()
		case n < 14:
			d.open(d.draw.IntN(2))
		case n < 15:
			d.now = d.now.Add(time.Duration(d.draw.IntN(150)) * time.Hour)
		default:
			d.send(d.pick("cumulative", "delta"), false)
		}
		if d.draw.IntN(12) == 0 {
			d.jump()
		}
	}
	for place, b := range d.places {
		if !d.now.After(b.at) {
			d.now = b.at.Add(time.Minute)
		}
		d.send(place, true)
	}
	d.check()
}

// jump sets the clock wrong for one report.
func (d *day) jump() {
	right := d.now
	d.now = d.now.Add(time.Duration(d.draw.IntN(600)-300) * time.Hour)
	d.send(d.pick("cumulative", "delta"), false)
	d.now = right
}

// check holds the sums against the list of everything that was ever counted, and the destinations
// against the sums.
func (d *day) check() {
	got, err := d.stores[0].Sums(d.Context(), "")
	if err != nil {
		d.Fatal(err)
	}
	have, want := make(map[group]int64), make(map[group]int64)
	for _, p := range got.Points {
		intoGroup(have, p.Series, p.Total)
	}
	for _, t := range d.traces {
		for g, n := range t.most {
			want[g] += n
			d.whole += n
		}
	}
	for g := range want {
		if have[g] != want[g] {
			d.Errorf("%+v is %d, want %d", g, have[g], want[g])
		}
		delete(have, g)
	}
	for g, n := range have {
		if n != 0 {
			d.Errorf("%+v is %d, want nothing", g, n)
		}
	}
	f := got.Form(d.now.Add(10_000*time.Hour), false)
	totals := newBackend(false)
	if err := totals.take(f.At, f.Encode(got.Points), false); err != nil {
		d.Error(err)
	}
	for key, n := range totals.has {
		if c := d.places["cumulative"].has[key]; c != n {
			d.Errorf("cumulative: %s is %v, want %v", key, c, n)
		}
		b := d.places["delta"]
		if c := b.has[key] - b.lost[key]; c-n > 1e-7 || n-c > 1e-7 {
			d.Errorf("delta: %s is %v without what was taken twice, want %v", key, c, n)
		}
	}
}

func TestRepositoryIsALabelOnRequest(t *testing.T) {
	for _, asked := range []bool{false, true} {
		s := open(t)
		if err := s.Measure(t.Context(), asked); err != nil {
			t.Fatal(err)
		}
		b := newBuild("with a repository")
		root := b.Root("", otelmap.OutcomeCompleted, time.Minute, str(otelmap.KeyRepositoryName, "shop-api"))
		b.Tool(root, "Bash", `{}`, 0, time.Second)
		err := s.UploadTraces(t.Context(), b.Messages())
		if err == nil {
			b.Tool(root, "Read", `{}`, 0, time.Second)
			err = s.UploadTraces(t.Context(), b.Request(b.Last()))
		}
		if err == nil { // elsewhere
			b.Tool(root, "Edit", `{}`, 0, time.Second)
			b.Last().Attributes = append(b.Last().Attributes, str(otelmap.KeyRepositoryName, "library"))
			err = s.UploadTraces(t.Context(), b.Request(b.Last()))
		}
		got, failed := s.Sums(t.Context(), "")
		if err = errors.Join(err, failed); err != nil || len(got.Points) != 8 {
			t.Fatalf("%d series, %v", len(got.Points), err)
		}
		for _, p := range got.Points {
			name := "shop-api"
			if strings.Contains(p.Series.Attributes, "Edit") {
				name = "library"
			}
			if has := strings.HasSuffix(p.Series.Attributes, `,"vcs.repository.name","`+name+`"]`); has != asked {
				t.Errorf("asked: %t, %s %s", asked, p.Series.Instrument, p.Series.Attributes)
			}
		}
	}
}

// TestMetricsEqualEverythingEverCounted draws days of two processes with one store: traces that
// come in parts, again, late and corrected, imports, kills, deletions, retention, wrong clocks, and
// destinations that are down or lose answers. The sums, and with them what the destinations have, are
// those of everything that was ever counted, but for the answers that were lost.
func TestMetricsEqualEverythingEverCounted(t *testing.T) {
	whole, killed := int64(0), 0
	for seed := range uint64(*days) { //nolint:gosec // Not negative.
		d := &day{
			T: t, draw: rand.New(rand.NewPCG(seed, 59)), now: t0, path: filepath.Join(ramdir.New(t), "traces.db"), //nolint:gosec // It draws cases.
			places: map[string]*backend{"cumulative": newBackend(false), "delta": newBackend(true)},
		}
		d.open(0)
		d.open(1)
		d.run()
		whole, killed = whole+d.whole, killed+d.killed
		for _, s := range d.stores {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if t.Failed() {
			t.Fatalf("day %d", seed)
		}
	}
	if whole == 0 || killed == 0 {
		t.Errorf("%d counted, %d killed: nothing was tried", whole, killed)
	}
	t.Logf("%d days, %d killed uploads", *days, killed)
}

// TestASeriesTakesHalfAKilobyte counts calls of so many tools, and has one destination acknowledge them.
func TestASeriesTakesHalfAKilobyte(t *testing.T) {
	for _, most := range []int{1, 100, 1000, 2000} {
		s := open(t)
		if err := s.Measure(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		ask := func(query string) int64 {
			n, err := number(t.Context(), s.db, query)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		size := func() int64 {
			return ask(`SELECT sum(pgsize) FROM dbstat WHERE name IN ('series', 'sqlite_autoindex_series_1', 'acknowledged', 'reports', 'metrics')`)
		}
		empty, series := size(), 0
		for i := 0; series < most; i++ {
			b := newBuild(fmt.Sprint(i))
			copy(b.ID[:], fmt.Sprintf("%016d", i))
			root := b.Root("", otelmap.OutcomeCompleted, time.Minute)
			for j := range 20 {
				b.Tool(root, fmt.Sprintf("mcp__server_%03d__tool_%03d", i, j), `{}`, 0, time.Second)
			}
			for n, span := range b.Spans {
				span.TraceId, span.SpanId = b.ID[:], fmt.Appendf(nil, "%05d%03d", i, n)
			}
			if err := s.UploadTraces(t.Context(), b.Messages()); err != nil {
				t.Fatal(err)
			}
			series = int(ask(`SELECT count(*) FROM series`))
		}
		got, err := s.Sums(t.Context(), "https://backend.example/v1/metrics")
		if err == nil {
			err = s.Acknowledge(t.Context(), "https://backend.example/v1/metrics", got.Form(t0, false), got.Points, got.Version)
		}
		each := int(size()-empty) / series
		t.Logf("%d series: %d bytes each beyond %d", series, each, empty)
		if err != nil || each > 512 {
			t.Errorf("%d bytes for each of %d series, want at most 512, %v", each, series, err)
		}
	}
}

// BenchmarkUpload stores traces of 20 spans, with and without counting them, and reports how
// much larger the store is for a series and for a trace.
func BenchmarkUpload(b *testing.B) {
	for _, counts := range []bool{false, true} {
		b.Run(fmt.Sprint("counts ", counts), func(b *testing.B) {
			s := open(b)
			if counts {
				if err := s.Measure(b.Context(), false); err != nil {
					b.Fatal(err)
				}
			}
			for i := 0; b.Loop(); i++ {
				t := clineTrace()
				copy(t.ID[:], fmt.Sprintf("%016d", i))
				for n, span := range t.Spans {
					span.TraceId, span.SpanId = t.ID[:], fmt.Appendf(nil, "%05d%03d", i%100_000, n)
				}
				if err := s.UploadTraces(b.Context(), t.Messages()); err != nil {
					b.Fatal(err)
				}
			}
			bytes, err := s.Size(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(bytes)/float64(b.N), "B/trace")
		})
	}
}

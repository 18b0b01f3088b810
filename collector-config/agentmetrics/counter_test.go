package agentmetrics

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/hookspan/hookspan/otelmap/instruments"
)

// disk is a storage that can refuse.
type disk struct {
	component.StartFunc
	component.ShutdownFunc
	mu   sync.Mutex
	at   map[string][]byte
	full error
}

func (d *disk) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	return d, nil
}
func (d *disk) Close(context.Context) error { return nil }
func (d *disk) Get(_ context.Context, key string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at[key], nil
}

func (d *disk) Set(ctx context.Context, key string, v []byte) error {
	return d.Batch(ctx, storage.SetOperation(key, v))
}

func (d *disk) Delete(ctx context.Context, key string) error {
	return d.Batch(ctx, storage.DeleteOperation(key))
}

func (d *disk) Batch(_ context.Context, ops ...*storage.Operation) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full != nil {
		return d.full
	}
	for _, op := range ops {
		switch op.Type {
		case storage.Set:
			d.at[op.Key] = op.Value
		case storage.Delete:
			delete(d.at, op.Key)
		case storage.Get:
			op.Value = d.at[op.Key]
		}
	}
	return nil
}

type host struct{ ext component.Component }

func (h host) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{component.MustNewID("file_storage"): h.ext}
}

// running is a connector on a disk, and where it reports to.
type running struct {
	*counter
	t    *testing.T
	sink *consumertest.MetricsSink
}

func start(t *testing.T, d *disk, change func(*Config)) *running {
	t.Helper()
	cfg := NewFactory().CreateDefaultConfig().(*Config)
	cfg.Gateway, cfg.Interval = "gw", time.Hour
	h := componenttest.NewNopHost()
	if d != nil {
		id := component.MustNewID("file_storage")
		cfg.Storage, h = &id, host{d}
	}
	if change != nil {
		change(cfg)
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	r := &running{newCounter(connectortest.NewNopSettings(Type), cfg, nil), t, &consumertest.MetricsSink{}}
	r.next = r.sink
	if err := r.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	return r
}

// totals stops the connector and returns the sums that it reported last, by the metric
// and the labels asked for.
func (r *running) stopped(labels ...string) map[string]float64 {
	r.t.Helper()
	if err := r.Shutdown(context.WithoutCancel(r.t.Context())); err != nil {
		r.t.Fatal(err)
	}
	all := r.sink.AllMetrics()
	out := map[string]float64{}
	if len(all) == 0 {
		return out
	}
	add := func(name string, a pcommon.Map, v float64) {
		for _, l := range labels {
			if v, ok := a.Get(l); ok {
				name += " " + l + "=" + v.AsString()
			}
		}
		out[name] += v
	}
	for _, rm := range all[len(all)-1].ResourceMetrics().All() {
		for _, m := range rm.ScopeMetrics().At(0).Metrics().All() {
			if m.Type() == pmetric.MetricTypeHistogram {
				for _, p := range m.Histogram().DataPoints().All() {
					add(m.Name(), p.Attributes(), float64(p.Count()))
				}
				continue
			}
			for _, p := range m.Sum().DataPoints().All() {
				add(m.Name(), p.Attributes(), p.DoubleValue())
			}
		}
	}
	return out
}

func (r *running) take(td ptrace.Traces) {
	r.t.Helper()
	if err := r.ConsumeTraces(r.t.Context(), td); err != nil {
		r.t.Fatal(err)
	}
}

// run is a trace of a root, a request and a call, changed before it is sent.
func run(n int, change func(resource pcommon.Map, root, tool ptrace.Span)) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "cline")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	add := func(id byte, operation string) ptrace.Span {
		s := spans.AppendEmpty()
		s.SetTraceID(pcommon.TraceID{byte(n >> 8), byte(n), 1})
		s.SetSpanID(pcommon.SpanID{id})
		s.SetStartTimestamp(1e18)
		s.SetEndTimestamp(1e18 + 7*60*1e9)
		s.Attributes().PutStr("gen_ai.operation.name", operation)
		return s
	}
	root := add(1, "invoke_agent")
	root.Attributes().PutStr("hookspan.outcome", "completed")
	root.Attributes().PutInt("hookspan.usage.input_tokens", 100)
	root.Attributes().PutDouble("hookspan.cost.usd", 0.5)
	chat := add(2, "chat")
	chat.Attributes().PutInt("gen_ai.usage.input_tokens", 70)
	tool := add(3, "execute_tool")
	tool.Attributes().PutStr("gen_ai.tool.name", "bash")
	if change != nil {
		change(rs.Resource().Attributes(), root, tool)
	}
	return td
}

func expect(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s is %v, want %v; all: %v", k, got[k], v, got)
		}
	}
}

func newDisk() *disk { return &disk{at: map[string][]byte{}} }

func TestASpanCountsOnceAcrossRepeatsAndRestarts(t *testing.T) {
	d := newDisk()
	r := start(t, d, nil)
	r.take(run(1, nil))
	r.take(run(1, nil))
	// Killed: nothing is stopped.
	r = start(t, d, nil)
	r.take(run(1, nil))
	r.take(run(2, nil))
	expect(t, r.stopped(), map[string]float64{
		"agent.calls": 6, "agent.duration": 6, "hookspan.run.tokens": 200, "hookspan.run.cost.usd": 1, "hookspan.repeated.spans": 6,
	})
}

func TestConcurrentRequestsAddUp(t *testing.T) {
	r := start(t, newDisk(), nil)
	var wg sync.WaitGroup
	for n := range 50 {
		wg.Go(func() { r.take(run(n, nil)) })
		wg.Go(func() { r.report(t.Context()) })
	}
	wg.Wait()
	expect(t, r.stopped(), map[string]float64{"agent.calls": 150, "hookspan.run.tokens": 5000, "gen_ai.client.token.usage": 50})
}

func TestAFullDiskRefusesAndCountsOnce(t *testing.T) {
	d := newDisk()
	r := start(t, d, nil)
	d.full = errors.New("full")
	if err := r.ConsumeTraces(t.Context(), run(1, nil)); err == nil {
		t.Fatal("acknowledged though nothing was written")
	}
	d.full = nil
	r.take(run(1, nil))
	r = start(t, d, nil)
	expect(t, r.stopped(), map[string]float64{"agent.calls": 3, "hookspan.run.tokens": 100})
}

func TestLabelsComeFromResourceSpanOrRoot(t *testing.T) {
	r := start(t, nil, func(c *Config) { c.Labels = "team.id, vcs.repository.name" })
	r.take(run(1, func(resource pcommon.Map, root, tool ptrace.Span) {
		resource.PutStr("team.id", "core")
		root.Attributes().PutStr("team.id", "forged")
		root.Attributes().PutStr("vcs.repository.name", "shop")
		tool.Attributes().PutStr("vcs.repository.name", "other-repo")
	}))
	expect(t, r.stopped("team.id", "vcs.repository.name"), map[string]float64{
		"agent.calls team.id=core vcs.repository.name=shop": 2, "agent.calls team.id=core vcs.repository.name=other-repo": 1,
		"hookspan.run.tokens team.id=core vcs.repository.name=shop": 100,
	})
}

func TestLabelsAreBounded(t *testing.T) {
	d := newDisk()
	limit := func(c *Config) { c.Labels, c.LabelLimit = "team.id", 2 }
	for range 2 {
		r := start(t, d, limit)
		for n := range 5 {
			r.take(run(n, func(resource pcommon.Map, _, _ ptrace.Span) { resource.PutStr("team.id", fmt.Sprint("team ", n)) }))
		}
		expect(t, r.stopped("team.id"), map[string]float64{
			"hookspan.run.tokens team.id=team 0": 100, "hookspan.run.tokens team.id=team 1": 100, "hookspan.run.tokens team.id=other": 300,
		})
	}
	r := start(t, nil, func(c *Config) { c.SeriesLimit = 10 })
	for n := range 100 {
		r.take(run(n, func(resource pcommon.Map, _, tool ptrace.Span) {
			resource.PutStr("service.name", fmt.Sprint(n))
			tool.Attributes().PutStr("gen_ai.tool.name", fmt.Sprint(n))
		}))
	}
	if got := r.stopped(); got["agent.calls"] != 300 {
		t.Errorf("%v calls, want 300", got["agent.calls"])
	}
	if n := len(r.totals.byKey); n > 10+len(instruments.Table) {
		t.Errorf("%d series, want at most the limit and one for each metric", n)
	}
}

func TestImportedRunsStayOut(t *testing.T) {
	for name, change := range map[string]func(pcommon.Map, ptrace.Span, ptrace.Span){
		"root":     func(_ pcommon.Map, root, _ ptrace.Span) { root.Attributes().PutBool("hookspan.imported", true) },
		"resource": func(resource pcommon.Map, _, _ ptrace.Span) { resource.PutBool("hookspan.imported", true) },
	} {
		r := start(t, nil, nil)
		r.take(run(1, change))
		got := r.stopped()
		if got["hookspan.imported.spans"] != 3 || len(got) != 1 {
			t.Errorf("marked on the %s: %v, want only three imported spans", name, got)
		}
	}
}

func TestTestSpansCountNowhere(t *testing.T) {
	r := start(t, nil, nil)
	td := run(1, nil)
	each(td, func(_ pcommon.Map, span ptrace.Span) { span.Attributes().PutBool("hookspan.test", true) })
	r.take(td)
	r.take(td)
	if got := r.stopped(); len(got) > 0 {
		t.Errorf("metrics %v, want none", got)
	}
}

func TestSeriesExpire(t *testing.T) {
	d := newDisk()
	r := start(t, d, nil)
	r.take(run(1, nil))
	now := r.now
	r.now = func() time.Time { return now().Add(200 * time.Hour) }
	r.report(t.Context())
	r.take(run(2, nil))
	expect(t, r.stopped(), map[string]float64{"agent.calls": 3})
	expect(t, start(t, d, nil).stopped(), map[string]float64{"agent.calls": 3})
}

func TestOnlyTheLastSpansAreRemembered(t *testing.T) {
	var r recent
	r.ids = map[uint64]struct{}{}
	for n := range uint64(maxRecent + 300) {
		r.add(n)
		if n%100 == 99 {
			var chunk []uint64
			for i := n - 99; i <= n; i++ {
				chunk = append(chunk, i)
			}
			r.keep(chunk)
		}
	}
	if len(r.ids) > maxRecent+200 || r.add(maxRecent) || !r.add(0) {
		t.Errorf("%d spans are remembered; want the last %d alone", len(r.ids), maxRecent)
	}
}

func TestABrokenTotalBeginsAtZero(t *testing.T) {
	d := newDisk()
	r := start(t, d, nil)
	r.take(run(1, nil))
	for k := range d.at {
		if strings.HasPrefix(k, "s/") {
			d.at[k] = []byte("{")
		}
	}
	r = start(t, d, nil)
	r.take(run(2, nil))
	expect(t, r.stopped(), map[string]float64{"agent.calls": 3})
	for _, index := range []string{"{", `{"slots":-1,"first":0,"chunks":-1}`} {
		d.at["index"] = []byte(index)
		r = start(t, d, nil)
		r.take(run(3, nil))
		expect(t, r.stopped(), map[string]float64{"agent.calls": 3})
	}
}

func TestAClockThatIsSetBackStopsNoReport(t *testing.T) {
	r := start(t, nil, nil)
	r.take(run(1, nil))
	r.report(t.Context())
	now := r.now
	r.now = func() time.Time { return now().Add(-time.Hour) }
	r.take(run(2, nil))
	expect(t, r.stopped(), map[string]float64{"agent.calls": 6})
	var last pcommon.Timestamp
	for _, m := range r.sink.AllMetrics() {
		at := m.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Sum().DataPoints().At(0).Timestamp()
		if at < last {
			t.Errorf("reported for %v after %v", at.AsTime(), last.AsTime())
		}
		last = at
	}
}

// TestLongValuesAreNotKept has texts of a megabyte in labels of as many traces.
func TestLongValuesAreNotKept(t *testing.T) {
	const traces, size = 64, 1 << 20
	r := start(t, nil, func(c *Config) { c.Labels = "team.id" })
	for n := range traces {
		r.take(run(n, func(resource pcommon.Map, root, _ ptrace.Span) {
			resource.PutStr("team.id", fmt.Sprint(n)+strings.Repeat("x", size))
			root.Attributes().PutStr("gen_ai.agent.name", fmt.Sprint(n)+strings.Repeat("y", size))
		}))
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > traces*size/2 {
		t.Errorf("%d bytes are in use after %d values of %d bytes", m.HeapAlloc, 2*traces, size)
	}
	runtime.KeepAlive(r)
}

func TestHostileNumbersDoNotCount(t *testing.T) {
	r := start(t, nil, nil)
	r.take(run(1, func(_ pcommon.Map, root, _ ptrace.Span) {
		root.Attributes().PutInt("hookspan.usage.input_tokens", -5)
		root.Attributes().PutStr("hookspan.cost.usd", "a lot")
		root.SetEndTimestamp(1)
		root.Attributes().PutStr("gen_ai.agent.name", strings.Repeat("é", 500)+"\xff")
	}))
	for k := range r.totals.byKey {
		if len(k) > 1000 || !utf8.ValidString(k) {
			t.Errorf("a series has the labels %.50q, %d bytes", k, len(k))
		}
	}
	got := r.stopped()
	if got["hookspan.run.tokens"] != 0 || got["hookspan.run.cost.usd"] != 0 || got["agent.calls"] != 3 {
		t.Errorf("%v", got)
	}
}

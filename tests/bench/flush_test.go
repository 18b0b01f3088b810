package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/redact/redactspans"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/bench/backlog"
	"github.com/hookspan/hookspan/tests/bench/way"
	"github.com/hookspan/hookspan/tests/internal/measure"
)

// BenchmarkDelivery delivers a backlog inside this process, for a look at where
// the time goes:
//
//	go -C tests/bench test . -run '^$' -bench 'Delivery/otlp' -benchtime 1x -cpuprofile cpu.out
//
// The receiver of otlp is a separate process, as in the table of deliveries;
// nowhere is a client that does nothing.
func BenchmarkDelivery(b *testing.B) {
	dir := b.TempDir()
	if err := build(b.Context(), dir); err != nil {
		b.Fatal(err)
	}
	f := &field{programs: dir}
	r, err := measure.StartReceiver(b.Context(), f.program("receiver"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := r.Close(); err != nil {
			b.Error(err)
		}
	})
	session := backlog.Session{Dialect: backlog.Classic, Turns: 1000, Turn: turnEvents}
	for _, to := range []string{"nowhere", "otlp", "store"} {
		b.Run(to, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				session.End = time.Now().Add(-time.Minute)
				d := newDelivery(b, session, to, r.URL)
				b.StartTimer()
				res, err := d.Run(b.Context(), deliver.Pass{Wait: true, Force: true})
				if err != nil || res[0].Spans != session.Spans() {
					b.Fatalf("%+v, %v; want %d spans", res, err, session.Spans())
				}
			}
			b.ReportMetric(float64(session.Events()*b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func newDelivery(b *testing.B, s backlog.Session, to, url string) *deliver.Deliverer {
	b.Helper()
	dir := b.TempDir()
	if _, err := s.Write(filepath.Join(dir, "spool")); err != nil {
		b.Fatal(err)
	}
	sp, err := spool.Open(filepath.Join(dir, "spool"), spool.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = sp.Close() })
	clean := redact.New(nil)
	d := &deliver.Deliverer{
		Spool: sp, Sources: way.Sources(), Map: way.Mapping(clean), Redact: func(m *tracepb.ResourceSpans) *tracepb.ResourceSpans { return redactspans.Clean(clean, m) }, SyncLog: true, Now: time.Now,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Judge: way.Judge,
	}
	dst := deliver.Destination{Name: to, Batch: batchSpans}
	switch to {
	case "nowhere":
		dst.Client = nowhere{}
	case "otlp":
		dst.Client, err = deliver.NewOTLP(b.Context(), deliver.OTLP{Endpoint: url + "/v1/traces"})
	case "store":
		var st *store.Store
		st, err = store.Open(b.Context(), filepath.Join(dir, "traces.db"))
		dst.Client, dst.Local, dst.Batch = st, true, 8192
		b.Cleanup(func() { _ = st.Close() })
	}
	if err != nil {
		b.Fatal(err)
	}
	d.Destinations = []deliver.Destination{dst}
	return d
}

// nowhere is a client that costs nothing.
type nowhere struct{}

func (nowhere) UploadTraces(context.Context, []*tracepb.ResourceSpans) error { return nil }

func TestRounded(t *testing.T) {
	for rate, want := range map[float64]string{0: "0", 7.9: "7", 999: "999", 1234: "1,230", 123456: "123,000", 1234567: "1,230,000"} {
		if got := rounded(rate); got != want {
			t.Errorf("%v became %s, want %s", rate, got, want)
		}
	}
}

func TestDeliveriesAreTold(t *testing.T) {
	var names []string
	for _, d := range deliveries(1_000_000) {
		for _, n := range names {
			if n == d.name() {
				t.Errorf("two rows are named %s", n)
			}
		}
		names = append(names, d.name())
	}
	if all := strings.Join(names, "; "); !strings.HasPrefix(all, "10^4 events, classic Cline, to otlp; ") || !strings.Contains(all, "10^6 events, classic Cline, to store and otlp") {
		t.Errorf("the rows are %s", all)
	}
}

// TestFlushBudgets breaks one promise at a time.
func TestFlushBudgets(t *testing.T) {
	const alone = "the exporter alone sends at least 90 % of what otlptracehttp does"
	const memory = "a delivery of 10^6 events takes at most 128 MiB"
	for name, tc := range map[string]struct {
		change func(rows []*delivery, plains []*plain)
		broken string
	}{
		"all kept":            {func([]*delivery, []*plain) {}, ""},
		"a small one is slow": {func(rows []*delivery, _ []*plain) { rows[0].took *= 10 }, ""},
		"large":               {func(rows []*delivery, _ []*plain) { rows[2].peak = 129 << 10 }, memory},
		"one large task": {func(rows []*delivery, _ []*plain) {
			rows[0].session = backlog.Session{Turns: 1, Turn: 100_000}
			rows[0].peak = 107 << 10
		}, "such a delivery to one destination takes at most 106 MiB"},
		"stopped":         {func(rows []*delivery, _ []*plain) { rows[2].stopped = true }, memory},
		"a slow exporter": {func(_ []*delivery, plains []*plain) { plains[3].perSecond = 89_000 }, alone},
	} {
		t.Run(name, func(t *testing.T) {
			row := func(turns int, to string, took time.Duration) *delivery {
				s := backlog.Session{Dialect: backlog.Classic, Turns: turns, Turn: turnEvents}
				return &delivery{session: s, shape: "classic Cline", to: to, took: took, peak: 64 << 10}
			}
			// 490,000 spans in 5 s are 98,000 a second.
			rows := []*delivery{row(100, "otlp", time.Second), row(10_000, "otlp", 5*time.Second), row(10_000, "store", time.Minute)}
			plains := plainLoops()
			for _, p := range plains {
				p.perSecond, p.wallSecond = 100_000, 100_000
			}
			tc.change(rows, plains)
			var broken []string
			for _, b := range flushBudgets(rows, plains) {
				if b.broken() {
					broken = append(broken, b.what)
				}
			}
			if got := strings.Join(broken, "; "); got != tc.broken {
				t.Errorf("broken: %q, want %q", got, tc.broken)
			}
		})
	}
}

// TestDeliveriesAreChecked: figures of spans that did not arrive are worth nothing.
func TestDeliveriesAreChecked(t *testing.T) {
	s := backlog.Session{Dialect: backlog.Classic, Turns: 1, Turn: 100} // 49 spans
	for name, tc := range map[string]struct {
		to, said string
		received int64
		ok       bool
	}{
		"all":                   {"otlp", `[{"destination":"otlp","tasks":1,"spans":49}]`, 49, true},
		"both":                  {"", `[{"destination":"store","spans":49},{"destination":"otlp","spans":49}]`, 49, true},
		"the store alone":       {"store", `[{"destination":"store","spans":49}]`, 0, true},
		"one is missing":        {"otlp", `[{"destination":"otlp","tasks":1,"spans":48}]`, 48, false},
		"one did not arrive":    {"otlp", `[{"destination":"otlp","tasks":1,"spans":49}]`, 48, false},
		"nobody took part":      {"otlp", `[]`, 0, false},
		"another took part":     {"otlp", `[{"destination":"otlp","spans":49},{"destination":"store","spans":49}]`, 49, false},
		"sent behind our backs": {"store", `[{"destination":"store","spans":49}]`, 49, false},
		"no answer":             {"otlp", ``, 49, false},
	} {
		d := &delivery{session: s, to: tc.to}
		if err := d.check([]byte(tc.said), measure.Counts{Spans: tc.received}); (err == nil) != tc.ok {
			t.Errorf("%s: %v, want it taken: %v", name, err, tc.ok)
		}
	}
}

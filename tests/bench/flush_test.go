package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/bench/backlog"
	"github.com/hookspan/hookspan/tests/bench/way"
)

// BenchmarkDelivery delivers a backlog inside this process, for a look at where
// the time goes:
//
//	go test ./tests/bench -run '^$' -bench 'Delivery/otlp' -benchtime 1x -cpuprofile cpu.out
//
// The receiver of otlp is a process of its own, as in the table of deliveries;
// nowhere is an exporter that does nothing.
func BenchmarkDelivery(b *testing.B) {
	dir := b.TempDir()
	if err := build(b.Context(), dir); err != nil {
		b.Fatal(err)
	}
	f := &field{programs: dir}
	r, err := f.receiver(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := r.close(); err != nil {
			b.Error(err)
		}
	})
	session := backlog.Session{Dialect: backlog.Classic, Turns: 1000, Turn: turnEvents}
	for _, to := range []string{"nowhere", "otlp", "store"} {
		b.Run(to, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				session.End = time.Now().Add(-time.Minute)
				d := newDelivery(b, session, to, r.url)
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
		Spool: sp, Sources: way.Sources(), Map: way.Mapping(clean), Redact: clean.Spans, SyncLog: true, Now: time.Now,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Judge: way.Judge,
	}
	dst := deliver.Destination{Name: to, Batch: batchSpans}
	switch to {
	case "nowhere":
		dst.Exporter = nowhere{}
	case "otlp":
		dst.Exporter, err = deliver.NewOTLP(b.Context(), deliver.OTLP{Endpoint: url + "/v1/traces"})
	case "store":
		var st *store.Store
		st, err = store.Open(b.Context(), filepath.Join(dir, "traces.db"))
		dst.Exporter, dst.Local, dst.Batch = st, true, 8192
		b.Cleanup(func() { _ = st.Close() })
	}
	if err != nil {
		b.Fatal(err)
	}
	d.Destinations = []deliver.Destination{dst}
	return d
}

// nowhere is an exporter that costs nothing.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                             { return nil }

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

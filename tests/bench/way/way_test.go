package way

import (
	"runtime"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/tests/bench/backlog"
)

func newStages(tb testing.TB, turns int) *Stages {
	tb.Helper()
	w, err := New(tb.Context(), tb.TempDir(), backlog.Session{Dialect: backlog.Classic, Turns: turns, Turn: 100, End: time.Now().Add(-time.Hour)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := w.Close(); err != nil {
			tb.Error(err)
		}
	})
	return w
}

// BenchmarkStage takes events through one step alone on one core, for a look at
// where its time goes:
//
//	go -C tests/bench test ./way -run '^$' -bench Stage/decode -cpuprofile cpu.out
func BenchmarkStage(b *testing.B) {
	w := newStages(b, 200)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, s := range w.All {
		b.Run(s.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if s.Prepare != nil {
					b.StopTimer()
					if err := s.Prepare(); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				if err := s.Run(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(w.Session.Events()), "ns/event")
		})
	}
}

// TestStagesTakeEverything: each step sees the whole session, or its figures
// would be those of less.
func TestStagesTakeEverything(t *testing.T) {
	w := newStages(t, 3)
	if len(w.records) != w.Session.Events() || len(w.events) != w.Session.Events() {
		t.Errorf("%d records and %d events, want %d", len(w.records), len(w.events), w.Session.Events())
	}
	spans := otlp.Count(w.spans)
	// Each call has an input and an answer, and each turn a prompt and a result.
	if spans != w.Session.Spans() || len(w.texts) < 2*(spans-w.Session.Turns) || len(w.Bodies) != 1 {
		t.Errorf("%d spans, %d texts, %d requests; want %d spans, texts for all calls and one request", spans, len(w.texts), len(w.Bodies), w.Session.Spans())
	}
	for _, s := range w.All {
		c, err := w.Measure(s, 0)
		if err != nil || c.Time <= 0 {
			t.Errorf("%s: %+v, %v", s.Name, c, err)
		}
	}
}

package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/otelmap"
)

// childVar makes the test binary a process that writes to a store.
const childVar = "STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		if err := child(os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// crash is the name of the child that is killed right after an export.
const crash = "crash"

// child writes the common trace and one of its own, span by span and then as
// a whole, as one of several processes.
func child(path, name string) (err error) {
	ctx := context.Background()
	s, err := Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if name == crash {
		if err := s.ExportSpans(ctx, clineTrace().spans.Snapshots()); err != nil {
			return err
		}
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		return errors.Join(self.Kill(), errors.New("alive after being killed"))
	}
	for _, spans := range []tracetest.SpanStubs{clineTrace().spans, ownTrace(name).spans} {
		snaps := spans.Snapshots()
		for i := range snaps {
			if err := s.ExportSpans(ctx, snaps[i:i+1]); err != nil {
				return err
			}
		}
		if err := s.ExportSpans(ctx, snaps); err != nil {
			return err
		}
	}
	return nil
}

func ownTrace(name string) *build {
	b := newBuild(name)
	root := b.root("task of "+name, otelmap.OutcomeCompleted, time.Minute)
	for i := range 20 {
		b.tool(root, "read_file", `{"path":"a"}`, time.Duration(i)*time.Second, time.Duration(i+1)*time.Second)
	}
	return b
}

// everything is what a store holds, as far as a user can see it.
func everything(t *testing.T, s *Store) []*Trace {
	t.Helper()
	list, err := s.List(t.Context(), Filter{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	var out []*Trace
	for _, l := range list {
		tr, err := s.Trace(t.Context(), l.TraceID)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tr)
	}
	return out
}

func TestSeveralProcessesWriteAtOnce(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "new folder", "traces.db")
	names := []string{"a", "b", "c", "d"}
	var wg sync.WaitGroup
	for _, name := range names {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), exe, path, name)
			cmd.Env = append(os.Environ(), childVar+"=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %s: %v: %s", name, err, out)
			}
		})
	}
	wg.Wait()

	want := open(t)
	export(t, want, clineTrace().spans)
	for _, name := range names {
		export(t, want, ownTrace(name).spans)
	}
	if d := cmp.Diff(everything(t, want), everything(t, openAt(t, path)), equalSpans); d != "" {
		t.Errorf("the stores differ (-one process +four):\n%s", d)
	}
}

func TestAnAcknowledgedExportOutlivesItsProcess(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "traces.db")
	cmd := exec.CommandContext(t.Context(), exe, path, crash)
	cmd.Env = append(os.Environ(), childVar+"=1")
	if out, err := cmd.CombinedOutput(); err == nil || len(out) > 0 {
		t.Fatalf("the process was not killed: %v: %s", err, out)
	}
	want := open(t)
	export(t, want, clineTrace().spans)
	if d := cmp.Diff(everything(t, want), everything(t, openAt(t, path)), equalSpans); d != "" {
		t.Errorf("the stores differ (-alive +killed):\n%s", d)
	}
}

func TestGoroutinesShareAStore(t *testing.T) {
	s := open(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := fmt.Sprint(i % 4)
			if err := s.ExportSpans(t.Context(), ownTrace(name).spans.Snapshots()); err != nil {
				t.Error(err)
			}
			if _, err := s.List(t.Context(), Filter{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := len(everything(t, s)); got != 4 {
		t.Errorf("got %d traces, want 4", got)
	}
}

func TestExportingAgainChangesNothing(t *testing.T) {
	once := open(t)
	export(t, once, clineTrace().spans)
	want := everything(t, once)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		spans := clineTrace().spans
		spans = append(spans, spans[:r.IntN(len(spans))]...)
		r.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
		s := open(t)
		for len(spans) > 0 {
			n := 1 + r.IntN(len(spans))
			export(t, s, spans[:n])
			spans = spans[n:]
		}
		if d := cmp.Diff(want, everything(t, s), equalSpans); d != "" {
			t.Fatalf("seed %d: the stores differ (-once +shuffled):\n%s", seed, d)
		}
	}
}

func TestALaterSpanReplacesAnEarlier(t *testing.T) {
	s := open(t)
	b := newBuild("later")
	b.root("task", otelmap.OutcomeAbandoned, time.Second)
	export(t, s, b.spans)
	b = newBuild("later")
	b.root("task", otelmap.OutcomeCompleted, time.Minute)
	export(t, s, b.spans)
	tr := everything(t, s)[0]
	if tr.Outcome != otelmap.OutcomeCompleted || tr.Duration() != time.Minute || len(tr.Spans) != 1 {
		t.Errorf("got outcome %q, duration %v, %d spans; want completed, 1m0s, 1", tr.Outcome, tr.Duration(), len(tr.Spans))
	}
}

func TestAResourceThatChangesIsStored(t *testing.T) {
	s := open(t)
	b := newBuild("resource")
	b.root("task", otelmap.OutcomeCompleted, time.Second)
	export(t, s, b.spans)
	b.last().InstrumentationScope.Version = "9.9.9"
	export(t, s, b.spans)
	if got := everything(t, s)[0].Spans[0].InstrumentationScope.Version; got != "9.9.9" {
		t.Errorf("got scope version %q, want 9.9.9", got)
	}
}

func TestAnExportIsWholeOrNothing(t *testing.T) {
	s := open(t)
	bad := clineTrace().spans
	bad[len(bad)-1].SpanContext = trace.SpanContext{}
	err := s.ExportSpans(t.Context(), bad.Snapshots())
	if err == nil || !strings.Contains(err.Error(), "attempt_completion") || !strings.Contains(err.Error(), s.Path()) {
		t.Errorf("got error %v, want one that names the span and the file", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.ExportSpans(cancelled, clineTrace().spans.Snapshots()); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
	if got := everything(t, s); len(got) != 0 {
		t.Errorf("%d traces are stored, want none", len(got))
	}
	if err := s.ExportSpans(t.Context(), nil); err != nil {
		t.Errorf("no spans: %v", err)
	}
}

func TestAnExportWaitsForTheLock(t *testing.T) {
	s := open(t)
	other := openAt(t, s.Path())
	tx, err := other.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.ExportSpans(t.Context(), clineTrace().spans.Snapshots()) }()
	if _, err := tx.ExecContext(t.Context(), `INSERT INTO origins (body) VALUES ('x')`); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}

	// Who is told to stop stops waiting.
	tx, err = other.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(tx)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.ExportSpans(ctx, clineTrace().spans.Snapshots()); err == nil {
		t.Error("the export went through a lock")
	}
}

func TestTheStoreServesAnSDK(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(s))
	_, span := tp.Tracer("test").Start(t.Context(), "work")
	span.End()
	tr, err := s.Trace(t.Context(), span.SpanContext().TraceID().String())
	if err != nil {
		t.Fatal(err)
	}
	if tr.Title != "work" || len(tr.Spans) != 1 {
		t.Errorf("got title %q and %d spans, want work and 1", tr.Title, len(tr.Spans))
	}
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.ExportSpans(t.Context(), tr.Spans.Snapshots()); err == nil {
		t.Error("a closed store takes spans")
	}
}

func BenchmarkExport1kSpans(b *testing.B) {
	for _, bench := range []struct {
		name  string
		again bool
	}{{"new", false}, {"again", true}} {
		b.Run(bench.name, func(b *testing.B) {
			s := open(b)
			i := 0
			for b.Loop() {
				b.StopTimer()
				bu := newBuild(fmt.Sprint(i))
				root := bu.root("task", otelmap.OutcomeCompleted, time.Hour)
				for j := range 999 {
					bu.tool(root, "read_file", `{"path":"src/server.ts"}`, time.Duration(j)*time.Second, time.Duration(j+1)*time.Second)
				}
				snaps := bu.spans.Snapshots()
				if !bench.again {
					i++
				}
				b.StartTimer()
				if err := s.ExportSpans(b.Context(), snaps); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "spans/s")
		})
	}
}

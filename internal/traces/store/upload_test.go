package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hookspan/hookspan/internal/otlp"
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

// The names of children that kill themselves.
const (
	crash = "crash" // after an upload
)

// child is one of several processes that write. It uploads the common trace and
// a separate one, span by span and then at once.
func child(path, name string) (err error) {
	ctx := context.Background()
	s, err := Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if name == crash {
		if err := s.UploadTraces(ctx, clineTrace().Messages()); err != nil {
			return err
		}
		return kill()
	}
	for _, b := range []*build{clineTrace(), ownTrace(name)} {
		for _, span := range b.Spans {
			if err := s.UploadTraces(ctx, b.Request(span)); err != nil {
				return err
			}
		}
		if err := s.UploadTraces(ctx, b.Messages()); err != nil {
			return err
		}
	}
	return nil
}

// kill kills this process.
func kill() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return errors.Join(self.Kill(), errors.New("alive after being killed"))
}

// runChild runs a child to its end, which is violent for those that kill
// themselves.
func runChild(t *testing.T, path, name string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Error(err)
		return
	}
	cmd := exec.CommandContext(t.Context(), exe, path, name)
	cmd.Env = append(os.Environ(), childVar+"=1")
	out, err := cmd.CombinedOutput()
	if killed := name == crash; killed != (err != nil) || len(out) > 0 {
		t.Errorf("process %s: %v: %s", name, err, out)
	}
}

func ownTrace(name string) *build {
	b := newBuild(name)
	root := b.Root("task of "+name, otelmap.OutcomeCompleted, time.Minute)
	for i := range 20 {
		b.Tool(root, "read_file", `{"path":"a"}`, time.Duration(i)*time.Second, time.Duration(i+1)*time.Second)
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
	path := filepath.Join(t.TempDir(), "new folder", "traces.db")
	names := []string{"a", "b", "c", "d"}
	var wg sync.WaitGroup
	for _, name := range names {
		wg.Go(func() { runChild(t, path, name) })
	}
	wg.Wait()

	want := open(t)
	upload(t, want, clineTrace().Messages())
	for _, name := range names {
		upload(t, want, ownTrace(name).Messages())
	}
	if d := cmp.Diff(everything(t, want), everything(t, openAt(t, path)), protocmp.Transform()); d != "" {
		t.Errorf("the stores differ (-one process +four):\n%s", d)
	}
}

func TestAcknowledgedUploadSurvivesKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.db")
	runChild(t, path, crash)
	want := open(t)
	upload(t, want, clineTrace().Messages())
	if d := cmp.Diff(everything(t, want), everything(t, openAt(t, path)), protocmp.Transform()); d != "" {
		t.Errorf("the stores differ (-alive +killed):\n%s", d)
	}
}

func TestGoroutinesShareAStore(t *testing.T) {
	s := open(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := fmt.Sprint(i % 4)
			if err := s.UploadTraces(t.Context(), ownTrace(name).Messages()); err != nil {
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

func TestUploadingAgainChangesNothing(t *testing.T) {
	once := open(t)
	upload(t, once, clineTrace().Messages())
	want := everything(t, once)
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := clineTrace()
		spans := append(b.Spans, b.Spans[:r.IntN(len(b.Spans))]...)
		r.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
		s := open(t)
		for len(spans) > 0 {
			n := 1 + r.IntN(len(spans))
			upload(t, s, b.Request(spans[:n]...))
			spans = spans[n:]
		}
		if d := cmp.Diff(want, everything(t, s), protocmp.Transform()); d != "" {
			t.Fatalf("seed %d: the stores differ (-once +shuffled):\n%s", seed, d)
		}
	}
}

func TestLaterSpanReplacesEarlier(t *testing.T) {
	s := open(t)
	b := newBuild("later")
	b.Root("task", otelmap.OutcomeAbandoned, time.Second)
	upload(t, s, b.Messages())
	b = newBuild("later")
	b.Root("task", otelmap.OutcomeCompleted, time.Minute)
	upload(t, s, b.Messages())
	tr := everything(t, s)[0]
	if tr.Outcome != otelmap.OutcomeCompleted || tr.Duration() != time.Minute || otlp.Count(tr.ResourceSpans) != 1 {
		t.Errorf("got outcome %q, duration %v, %d spans; want completed, 1m0s, 1", tr.Outcome, tr.Duration(), otlp.Count(tr.ResourceSpans))
	}
}

func TestChangedResourceIsStored(t *testing.T) {
	s := open(t)
	b := newBuild("resource")
	b.Root("task", otelmap.OutcomeCompleted, time.Second)
	upload(t, s, b.Messages())
	b.Version = "9.9.9"
	upload(t, s, b.Messages())
	if got := everything(t, s)[0].ResourceSpans[0].ScopeSpans[0].Scope.Version; got != "9.9.9" {
		t.Errorf("got scope version %q, want 9.9.9", got)
	}
}

func TestUploadStoresAllOrNothing(t *testing.T) {
	s := open(t)
	bad := clineTrace()
	bad.Last().SpanId = make([]byte, 8)
	err := s.UploadTraces(t.Context(), bad.Messages())
	if err == nil || !strings.Contains(err.Error(), "attempt_completion") || !strings.Contains(err.Error(), strconv.Quote(s.path)) {
		t.Errorf("got error %v, want one that names the span and the file", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.UploadTraces(cancelled, clineTrace().Messages()); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
	if got := everything(t, s); len(got) != 0 {
		t.Errorf("%d traces are stored, want none", len(got))
	}
	if err := s.UploadTraces(t.Context(), nil); err != nil {
		t.Errorf("no spans: %v", err)
	}
}

func TestUploadWaitsForTheLock(t *testing.T) {
	s := open(t)
	other := openAt(t, s.path)
	tx, err := other.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.UploadTraces(t.Context(), clineTrace().Messages()) }()
	if _, err := tx.ExecContext(t.Context(), `INSERT INTO origins (message) VALUES (x'01')`); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}

	// A cancelled upload stops waiting.
	tx, err = other.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(tx)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.UploadTraces(ctx, clineTrace().Messages()); err == nil {
		t.Error("the upload ignored a lock")
	}
}

func TestStoreIsAClientOfTheSDKExporter(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	exporter, err := otlptrace.New(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	_, span := tp.Tracer("test").Start(t.Context(), "work")
	span.End()
	tr, err := s.Trace(t.Context(), span.SpanContext().TraceID().String())
	if err != nil {
		t.Fatal(err)
	}
	if tr.Title != "work" || otlp.Count(tr.ResourceSpans) != 1 {
		t.Errorf("got title %q and %d spans, want work and 1", tr.Title, otlp.Count(tr.ResourceSpans))
	}
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.UploadTraces(t.Context(), tr.ResourceSpans); err == nil {
		t.Error("a closed store takes spans")
	}
}

func BenchmarkUpload1kSpans(b *testing.B) {
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
				root := bu.Root("task", otelmap.OutcomeCompleted, time.Hour)
				for j := range 999 {
					bu.Tool(root, "read_file", `{"path":"src/server.ts"}`, time.Duration(j)*time.Second, time.Duration(j+1)*time.Second)
				}
				request := bu.Messages()
				if !bench.again {
					i++
				}
				b.StartTimer()
				if err := s.UploadTraces(b.Context(), request); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "spans/s")
		})
	}
}

// everyField is a span with every field, and attributes of every type.
func everyField() []*tracepb.ResourceSpans {
	b := newBuild("every field")
	b.Root("a <&> \u2028 \"quoted\" \\ task", otelmap.OutcomeCompleted, time.Second)
	s := b.Last()
	value := func(v *commonpb.AnyValue) {
		s.Attributes = append(s.Attributes, &commonpb.KeyValue{Key: "k", Value: v})
	}
	value(nil)
	value(&commonpb.AnyValue{})
	value(&commonpb.AnyValue{Value: &commonpb.AnyValue_BytesValue{BytesValue: []byte{0, 0xff}}})
	value(&commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{Values: []*commonpb.KeyValue{num("n", -1)}}}})
	s.Attributes = append(s.Attributes, otlp.Strings("list", []string{"a", ""}), otlp.Bool("b", false), float("nan", math.NaN()), float("inf", math.Inf(1)))
	s.Kind, s.TraceState, s.Flags, s.ParentSpanId = tracepb.Span_SPAN_KIND_CONSUMER, "vendor=a,other=b", 0x303, spanID(7)
	s.DroppedAttributesCount, s.DroppedEventsCount, s.DroppedLinksCount = 5, 6, math.MaxUint32
	s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_OK, Message: "odd"}
	s.Events = []*tracepb.Span_Event{{Name: "e", TimeUnixNano: 1, Attributes: []*commonpb.KeyValue{num("n", 1)}, DroppedAttributesCount: 3}, {}}
	s.Links = []*tracepb.Span_Link{{
		TraceId: b.ID[:], SpanId: spanID(8), TraceState: "k=v", Flags: 0x301,
		Attributes: []*commonpb.KeyValue{num("n", 1)}, DroppedAttributesCount: 4,
	}, {}}
	messages := b.Messages()
	messages[0].ScopeSpans[0].Scope.Attributes = []*commonpb.KeyValue{num("n", 1)}
	return messages
}

func TestMessagesReadBackEqual(t *testing.T) {
	bare := newBuild("bare")
	for name, messages := range map[string][]*tracepb.ResourceSpans{
		"every field": everyField(),
		"a run":       clineTrace().Messages(),
		"ids only":    {{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{TraceId: bare.ID[:], SpanId: spanID(1)}}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := &tracepb.TracesData{ResourceSpans: stored(t, messages).ResourceSpans}
			if d := cmp.Diff(&tracepb.TracesData{ResourceSpans: messages}, got, protocmp.Transform(), cmpopts.EquateNaNs()); d != "" {
				t.Errorf("read back (-stored +read):\n%s", d)
			}
		})
	}
}

func TestInvalidUTF8IsReplaced(t *testing.T) {
	b := newBuild("invalid")
	b.Add(-1, "bad \xff name", 0, time.Second, str("k", "\xc3("))
	b.Last().Events = []*tracepb.Span_Event{{Name: "\xfe", Attributes: []*commonpb.KeyValue{otlp.Strings("list", []string{"\xff"})}}}
	before := proto.CloneOf(b.Last())
	got := stored(t, b.Messages()).ResourceSpans[0].ScopeSpans[0].Spans[0]
	want := proto.CloneOf(before)
	want.Name, want.Attributes = "bad \ufffd name", []*commonpb.KeyValue{str("k", "\ufffd(")}
	want.Events = []*tracepb.Span_Event{{Name: "\ufffd", Attributes: []*commonpb.KeyValue{otlp.Strings("list", []string{"\ufffd"})}}}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
	if b.Last().Name != before.Name {
		t.Error("the caller's span was changed")
	}
}

func TestTimesBeyondSQLiteAreUnknownInSummary(t *testing.T) {
	b := newBuild("far")
	b.Add(-1, "far", 0, time.Second)
	b.Last().StartTimeUnixNano, b.Last().EndTimeUnixNano = math.MaxUint64, math.MaxUint64
	tr := stored(t, b.Messages())
	if !tr.Started.IsZero() || tr.ResourceSpans[0].ScopeSpans[0].Spans[0].StartTimeUnixNano != math.MaxUint64 {
		t.Errorf("got start %v", tr.Started)
	}
}

package deliver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/otlptest"
)

// began is where the tests' clock starts, after the recorded sessions.
var began = time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC)

// clock is a clock that moves when it is told to, or slept by.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func newClock() *clock { return &clock{now: began} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return nil
}

func (c *clock) Slept() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.slept)
}

// recorded are the payloads of a session that Cline wrote, in order. Those of
// the same recording under another id make another session.
func recorded(t tb, folder, id string) []spool.Record {
	t.Helper()
	dir := filepath.Join("..", "..", "hook", "cline", "testdata", folder)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recording in %s: %v", dir, err)
	}
	var out []spool.Record
	var own string
	for _, f := range files {
		payload, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		_, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".json"), "-")
		event, _, _ = strings.Cut(event, ".")
		if own == "" {
			own = cline.Peek(payload, event).Session
		}
		if id != "" {
			payload = bytes.ReplaceAll(payload, []byte(own), []byte(id))
		}
		out = append(out, spool.Record{
			Host: cline.Host, Event: event, Payload: payload,
			Session: cline.Peek(payload, event).Session, Cwd: "/home/dev/project",
		})
	}
	return out
}

func decode(r *spool.Record) ([]hook.Event, error) {
	return cline.Decode(cline.Raw{
		Payload: r.Payload, Event: r.Event, StoredAt: r.At, Offset: r.Offset,
		Cwd: r.Cwd, TraceParent: r.TraceParent,
	})
}

// tb is what the helpers need of a test, or of a run of the state machine.
type tb interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// bench is a spool, a clock and what a Deliverer logs.
type bench struct {
	t     tb
	dir   string
	spool *spool.Spool
	clock *clock

	mu  sync.Mutex
	log []string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	return newBenchIn(t, filepath.Join(t.TempDir(), "spool"))
}

func newBenchIn(t tb, dir string) *bench {
	t.Helper()
	sp, err := spool.Open(dir, spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sp.Close() })
	return &bench{t: t, dir: dir, spool: sp, clock: newClock()}
}

func (b *bench) logf(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = append(b.log, line)
}

func (b *bench) logged(part string) (lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.log {
		if strings.Contains(l, part) {
			lines = append(lines, l)
		}
	}
	return lines
}

// append stores records now.
func (b *bench) append(recs ...spool.Record) spool.Key {
	b.t.Helper()
	for i := range recs {
		r := recs[i]
		r.At = b.clock.Now()
		if err := b.spool.Append(&r); err != nil {
			b.t.Fatal(err)
		}
	}
	return spool.SessionKey(recs[0].Host, recs[0].Session)
}

func (b *bench) deliverer(dsts ...Destination) *Deliverer {
	return &Deliverer{
		Spool:        b.spool,
		Sources:      map[string]Source{cline.Host: {Decode: decode}},
		Map:          otelmap.Options{IdleTimeout: 1000 * time.Hour},
		Destinations: dsts,
		Now:          b.clock.Now, Sleep: b.clock.Sleep, Log: b.logf,
	}
}

// run delivers and gives the results by destination.
func (b *bench) run(d *Deliverer, p Pass) map[string]Result {
	b.t.Helper()
	rs, err := d.Run(context.Background(), p)
	if err != nil {
		b.t.Fatal(err)
	}
	out := make(map[string]Result, len(rs))
	for _, r := range rs {
		out[r.Destination] = r
	}
	return out
}

func (b *bench) session(k spool.Key) *spool.Session {
	b.t.Helper()
	s, err := b.spool.Session(k)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = s.Close() })
	return s
}

func (b *bench) state(k spool.Key, destination string) *State {
	b.t.Helper()
	s, err := b.spool.Session(k)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	st, err := ReadState(s, destination)
	if err != nil {
		b.t.Fatal(err)
	}
	return st
}

func (b *bench) size(k spool.Key) int64 {
	b.t.Helper()
	n, err := b.session(k).Size()
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// path is a file in a session's folder.
func (b *bench) path(k spool.Key, name string) string {
	return filepath.Join(b.dir, k.Host, k.Name, name)
}

// view is a session mapped whole from its log, by no code of this package.
type view struct {
	runs  []*otelmap.Run
	spans map[string]tracetest.SpanStubs // by run
}

func (b *bench) view(k spool.Key, o otelmap.Options) view {
	b.t.Helper()
	s, err := b.spool.Session(k)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r, err := s.Reader(0)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	v := view{spans: make(map[string]tracetest.SpanStubs)}
	var builder *otelmap.Builder
	for r.Next() {
		if builder == nil {
			builder = otelmap.NewBuilder(k.Host, r.Record().Session, o, otelmap.Carry{})
		}
		events, err := decode(r.Record())
		if err != nil {
			b.t.Fatal(err)
		}
		for i := range events {
			builder.Add(events[i])
		}
	}
	if err := r.Err(); err != nil {
		b.t.Fatal(err)
	}
	if builder == nil {
		return v
	}
	v.runs = builder.Runs(b.clock.Now())
	for _, r := range v.runs {
		v.spans[r.ID.String()] = builder.Spans(r, nil)
	}
	return v
}

// ended are the ids of the spans of the runs that have ended, sorted.
func (v view) ended() []otlptest.ID {
	var ids []otlptest.ID
	for _, r := range v.runs {
		if r.Ended {
			ids = append(ids, idsOf(v.spans[r.ID.String()].Snapshots())...)
		}
	}
	slices.SortFunc(ids, compareIDs)
	return ids
}

// count is the number of ended runs and of their spans.
func (v view) count() (runs, spans int) {
	for _, r := range v.runs {
		if r.Ended {
			runs++
			spans += len(v.spans[r.ID.String()])
		}
	}
	return runs, spans
}

func idsOf(spans []sdktrace.ReadOnlySpan) []otlptest.ID {
	ids := make([]otlptest.ID, len(spans))
	for i, s := range spans {
		ids[i] = otlptest.ID{Trace: s.SpanContext().TraceID().String(), Span: s.SpanContext().SpanID().String()}
	}
	return ids
}

func compareIDs(x, y otlptest.ID) int {
	if c := strings.Compare(x.Trace, y.Trace); c != 0 {
		return c
	}
	return strings.Compare(x.Span, y.Span)
}

// memory is a destination in the process that upserts by id.
type memory struct {
	mu sync.Mutex
	// before is asked before spans are taken, after once they are; an error of
	// either fails the export. Nil means no error.
	before, after func(context.Context, []sdktrace.ReadOnlySpan) error
	spans         map[otlptest.ID]tracetest.SpanStub
	count         map[otlptest.ID]int
	calls         int
	// stamp is the state of the logs that spans are made from; if nil, it never
	// changes. changed are the spans that differed between two copies while the
	// logs were the same.
	stamp   func() int64
	stamps  map[otlptest.ID]int64
	changed []otlptest.ID
}

func (m *memory) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	m.mu.Lock()
	before, after := m.before, m.after
	m.calls++
	m.mu.Unlock()
	if before != nil {
		if err := before(ctx, spans); err != nil {
			return err
		}
	}
	m.take(spans)
	if after != nil {
		return after(ctx, spans)
	}
	return nil
}

func (m *memory) take(spans []sdktrace.ReadOnlySpan) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spans == nil {
		m.spans = make(map[otlptest.ID]tracetest.SpanStub)
		m.count = make(map[otlptest.ID]int)
		m.stamps = make(map[otlptest.ID]int64)
	}
	var stamp int64
	if m.stamp != nil {
		stamp = m.stamp()
	}
	for i, id := range idsOf(spans) {
		stub := tracetest.SpanStubFromReadOnlySpan(spans[i])
		if old, seen := m.spans[id]; seen && m.stamps[id] == stamp && !sameSpan(old, stub) {
			m.changed = append(m.changed, id)
		}
		m.stamps[id] = stamp
		m.spans[id] = stub
		m.count[id]++
	}
}

func (m *memory) Shutdown(context.Context) error { return nil }

// ids are the spans that were taken, sorted, each once.
func (m *memory) ids() []otlptest.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []otlptest.ID
	for id := range m.spans {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareIDs)
	return ids
}

// doubles counts the copies beyond the first of each span.
func (m *memory) doubles() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.count {
		n += c - 1
	}
	return n
}

// sameSpan compares every byte that a destination could see.
func sameSpan(x, y tracetest.SpanStub) bool {
	text := func(s tracetest.SpanStub) string {
		b, err := EncodeJSON(context.Background(), tracetest.SpanStubs{s}.Snapshots())
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	return text(x) == text(y)
}

// received are the ids a receiver took, sorted.
func received(s *otlptest.Server) []otlptest.ID {
	var ids []otlptest.ID
	for _, sp := range s.Spans() {
		ids = append(ids, sp.ID)
	}
	slices.SortFunc(ids, compareIDs)
	return ids
}

func wantIDs(t tb, what string, want, got []otlptest.ID) {
	t.Helper()
	if len(want) == 0 {
		t.Fatalf("%s: the test expects no span at all", what)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: spans (-want +got):\n%s", what, d)
	}
}

func otlpDestination(t tb, name string, o OTLP) Destination {
	t.Helper()
	e, err := NewOTLP(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Shutdown(context.Background()) })
	return Destination{Name: name, Client: e}
}

// saved is a session's delivery file as it was, for undoing an acknowledgement.
type saved struct {
	path  string
	bytes []byte
}

func save(path string) (saved, error) {
	b, err := os.ReadFile(path) //nolint:gosec // A file of the test.
	if errors.Is(err, fs.ErrNotExist) {
		return saved{path: path}, nil
	}
	return saved{path, b}, err
}

func (s saved) restore() error {
	if s.bytes == nil {
		if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return os.WriteFile(s.path, s.bytes, 0o600)
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(b)
}

var errTest = errors.New("made to fail")

// fail gives a hook of memory that fails with the error.
func fail(err error) func(context.Context, []sdktrace.ReadOnlySpan) error {
	return func(context.Context, []sdktrace.ReadOnlySpan) error { return err }
}

func stubs(s ...tracetest.SpanStub) []sdktrace.ReadOnlySpan {
	return tracetest.SpanStubs(s).Snapshots()
}

// renamed stands for redaction: it changes every span, and not its argument.
func renamed(spans tracetest.SpanStubs) tracetest.SpanStubs {
	out := slices.Clone(spans)
	for i := range out {
		out[i].Name = "redacted"
	}
	return out
}

// sample is one valid span.
func sample() tracetest.SpanStub {
	return tracetest.SpanStub{
		Name: "sample", StartTime: began, EndTime: began.Add(time.Second),
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
		}),
	}
}

func list(s ...tracetest.SpanStub) tracetest.SpanStubs { return s }

func sortIDs(ids []otlptest.ID) { slices.SortFunc(ids, compareIDs) }

// hooked calls f before each record is decoded.
func hooked(decode func(*spool.Record) ([]hook.Event, error), f func()) func(*spool.Record) ([]hook.Event, error) {
	return func(r *spool.Record) ([]hook.Event, error) {
		f()
		return decode(r)
	}
}

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
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/testkit/ramdir"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
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
	if folder == "classic-session" {
		dir = filepath.Join("..", "demo", "session")
	}
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
			Host: hook.HostCline, Event: event, Payload: payload,
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
	return newBenchIn(t, filepath.Join(ramdir.New(t), "spool"))
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
		Sources:      map[string]Source{hook.HostCline: {Agent: agentstest.Mapping(hook.HostCline), Decode: decode}},
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
	spans map[string]*tracepb.ResourceSpans // by run
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
	v := view{spans: make(map[string]*tracepb.ResourceSpans)}
	var builder *otelmap.Builder
	for r.Next() {
		if builder == nil {
			o.Agent = agentstest.Mapping(k.Host)
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

// of are the spans of a run.
func (v view) of(r *otelmap.Run) []*tracepb.ResourceSpans {
	return []*tracepb.ResourceSpans{v.spans[r.ID.String()]}
}

// ended are the ids of the spans of the runs that have ended, sorted.
func (v view) ended() []otlptest.ID {
	var ids []otlptest.ID
	for _, r := range v.runs {
		if r.Ended {
			ids = append(ids, idsOf(v.spans[r.ID.String()])...)
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
			spans += len(idsOf(v.spans[r.ID.String()]))
		}
	}
	return runs, spans
}

func idsOf(messages ...*tracepb.ResourceSpans) []otlptest.ID {
	var ids []otlptest.ID
	for s := range otlp.Spans(messages) {
		ids = append(ids, idOf(s))
	}
	return ids
}

func idOf(s *tracepb.Span) otlptest.ID {
	return otlptest.ID{Trace: otlp.TraceID(s), Span: otlp.SpanID(s)}
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
	before, after func(context.Context, []*tracepb.ResourceSpans) error
	spans         map[otlptest.ID]*tracepb.Span
	count         map[otlptest.ID]int
	calls         int
	// stamp is the state of the logs that spans are made from; if nil, it never
	// changes. changed are the spans that differed between two copies while the
	// logs were the same.
	stamp   func() int64
	stamps  map[otlptest.ID]int64
	changed []otlptest.ID
}

func (m *memory) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
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

func (m *memory) take(spans []*tracepb.ResourceSpans) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spans == nil {
		m.spans = make(map[otlptest.ID]*tracepb.Span)
		m.count = make(map[otlptest.ID]int)
		m.stamps = make(map[otlptest.ID]int64)
	}
	var stamp int64
	if m.stamp != nil {
		stamp = m.stamp()
	}
	for span := range otlp.Spans(spans) {
		id := idOf(span)
		if old, seen := m.spans[id]; seen && m.stamps[id] == stamp && !proto.Equal(old, span) {
			m.changed = append(m.changed, id)
		}
		m.stamps[id] = stamp
		m.spans[id] = span
		m.count[id]++
	}
}

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
	t.Cleanup(func() { _ = e.Stop(context.Background()) })
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
func fail(err error) func(context.Context, []*tracepb.ResourceSpans) error {
	return func(context.Context, []*tracepb.ResourceSpans) error { return err }
}

// message is one message with the spans.
func message(spans ...*tracepb.Span) []*tracepb.ResourceSpans {
	return []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}}
}

// renamed stands for redaction: it changes every span, and not its argument.
func renamed(run *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	run = proto.CloneOf(run)
	for s := range otlp.Spans([]*tracepb.ResourceSpans{run}) {
		s.Name = "redacted"
	}
	return run
}

// sample is one valid span.
func sample() *tracepb.Span {
	return &tracepb.Span{
		Name: "sample", StartTimeUnixNano: otlp.UnixNano(began), EndTimeUnixNano: otlp.UnixNano(began.Add(time.Second)),
		TraceId: []byte{1, 15: 0}, SpanId: []byte{2, 7: 0}, Status: &tracepb.Status{},
	}
}

func sortIDs(ids []otlptest.ID) { slices.SortFunc(ids, compareIDs) }

// hooked calls f before each record is decoded.
func hooked(decode func(*spool.Record) ([]hook.Event, error), f func()) func(*spool.Record) ([]hook.Event, error) {
	return func(r *spool.Record) ([]hook.Event, error) {
		f()
		return decode(r)
	}
}

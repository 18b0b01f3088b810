package fault_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// outageRows take destinations away for long.
var outageRows = []proof.Row{{
	Name:  "a week's outage of the OTLP endpoint, in 7 ways, with spans waiting",
	Rule:  "the store has everything meanwhile; tries keep to their back-off; then every span comes, once, under the store's ids",
	Short: 2_500, Long: 100_000,
	Rest: true,
	Run:  weekOutage,
}}

// hall is a spool in the test's own process, with a clock that is set.
type hall struct {
	t     testing.TB
	dir   string
	spool *spool.Spool

	mu  sync.Mutex
	now time.Time
	log []string
}

// midday is where clocks start.
var midday = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func newHall(t testing.TB, dir string) *hall {
	t.Helper()
	sp, err := spool.Open(filepath.Join(dir, "spool"), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sp.Close() })
	return &hall{t: t, dir: dir, spool: sp, now: midday}
}

func (h *hall) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hall) advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func (h *hall) sleep(ctx context.Context, d time.Duration) error {
	h.advance(d)
	return ctx.Err()
}

func (h *hall) line(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, text)
}

// put stores one event as received now.
func (h *hall) put(a *agent, event, session, turn string, n int) {
	h.t.Helper()
	h.record(&spool.Record{Host: a.host, Session: session, Event: event, At: h.Now(), Payload: a.payload(event, session, turn, n)})
}

func (h *hall) record(rec *spool.Record) {
	h.t.Helper()
	if err := h.spool.Append(rec); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hall) deliverer(dsts ...deliver.Destination) *deliver.Deliverer {
	raw := func(r *spool.Record) hook.Raw {
		return hook.Raw{Payload: r.Payload, Event: r.Event, StoredAt: r.At, Offset: r.Offset, Cwd: r.Cwd}
	}
	return &deliver.Deliverer{
		Spool: h.spool,
		Sources: map[string]deliver.Source{
			hook.HostCline:  {Agent: agentstest.Mapping(hook.HostCline), Decode: func(r *spool.Record) ([]hook.Event, error) { return cline.Decode(raw(r)) }},
			hook.HostClaude: {Agent: agentstest.Mapping(hook.HostClaude), Decode: func(r *spool.Record) ([]hook.Event, error) { return claude.Decode(raw(r)) }},
		},
		Map: otelmap.Options{IdleTimeout: 30 * time.Minute}, Destinations: dsts,
		Now: h.Now, Sleep: h.sleep, Log: h.line,
	}
}

func (h *hall) run(d *deliver.Deliverer) map[string]deliver.Result {
	h.t.Helper()
	list, err := d.Run(context.Background(), deliver.Pass{})
	if err != nil {
		h.t.Fatal(err)
	}
	out := make(map[string]deliver.Result, len(list))
	for _, r := range list {
		out[r.Destination] = r
	}
	return out
}

// localStore is a store, and the ids of what is in it.
func (h *hall) localStore() (dst deliver.Destination, ids func() []otlptest.ID) {
	h.t.Helper()
	st, err := store.Open(h.t.Context(), filepath.Join(h.dir, "traces.db"))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = st.Close() })
	return deliver.Destination{Name: "store", Client: st, Local: true, Batch: 8192}, func() (ids []otlptest.ID) {
		sums, err := st.List(h.t.Context(), store.Filter{Limit: -1})
		if err != nil {
			h.t.Fatal(err)
		}
		for _, sum := range sums {
			tr, err := st.Trace(h.t.Context(), sum.TraceID)
			if err != nil {
				h.t.Fatal(err)
			}
			ids = append(ids, spanIDsOf(tr.ResourceSpans)...)
		}
		return sortIDs(ids)
	}
}

func spanIDsOf(messages []*tracepb.ResourceSpans) (ids []otlptest.ID) {
	for s := range otlp.Spans(messages) {
		ids = append(ids, otlptest.ID{Trace: otlp.TraceID(s), Span: otlp.SpanID(s)})
	}
	return ids
}

func sortIDs(ids []otlptest.ID) []otlptest.ID {
	slices.SortFunc(ids, func(x, y otlptest.ID) int {
		return cmpOr(x.Trace, y.Trace, x.Span, y.Span)
	})
	return ids
}

func cmpOr(words ...string) int {
	for i := 0; i+1 < len(words); i += 2 {
		if words[i] != words[i+1] {
			if words[i] < words[i+1] {
				return -1
			}
			return 1
		}
	}
	return 0
}

func received(s *otlptest.Server) (ids []otlptest.ID, doubles int) {
	for _, span := range s.Spans() {
		ids = append(ids, span.ID)
		doubles += span.Count - 1
	}
	return sortIDs(ids), doubles
}

// endpoint is a client whose server can be taken from behind its address.
type endpoint struct {
	deliver.Client
	calls int
}

func (e *endpoint) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	e.calls++
	return e.Client.UploadTraces(ctx, spans)
}

func weekOutage(t *testing.T, r *proof.Result) {
	h := newHall(t, t.TempDir())
	server := otlptest.New(t)
	client, err := deliver.NewOTLP(t.Context(), deliver.OTLP{Endpoint: server.URL(), Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	out := &endpoint{Client: client}
	local, inStore := h.localStore()
	d := h.deliverer(local, deliver.Destination{Name: "otlp", Client: out, Batch: 512})

	// Runs of 49 calls and a root, in sessions of two.
	n := 0
	for ; n*50 < r.N; n++ {
		a := &agents[n%len(agents)]
		session, turn := fmt.Sprintf("outage-%d", n/4), fmt.Sprintf("turn-%d", n)
		h.put(a, a.began, session, turn, n*50)
		for i := range 49 {
			h.put(a, "PreToolUse", session, turn, n*50+i)
		}
		h.put(a, a.ended, session, turn, n*50+49)
		h.advance(time.Second)
	}
	h.advance(time.Minute)
	days := []struct {
		answer otlptest.Answer
		passes int
	}{
		{otlptest.Status(503, "down"), 12},
		{otlptest.CloseBefore(), 6},
		{otlptest.Answer{Hang: true, Refuse: true}, 3},
		{otlptest.Wait(429, "3600"), 6},
		{otlptest.Status(500, "boom"), 2},
		{otlptest.LoginPage(), 4},
		{otlptest.Status(503, "down"), 4},
	}
	var peak uint64
	passes := 0
	for day, weather := range days {
		server.Always(weather.answer)
		for range weather.passes {
			before := out.calls
			res := h.run(d)
			passes++
			if res["otlp"].Spans > 0 || res["otlp"].Parked > 0 || res["otlp"].Waiting != n {
				r.Break("day %d: otlp: %+v, want all %d runs to wait; the store has %d spans", day, res["otlp"], n, len(inStore()))
			}
			if day != 4 && out.calls-before > 1 {
				r.Break("day %d: %d calls in one pass of a destination that is down", day, out.calls-before)
			}
			h.keepsBackoff(r, day == 3)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
			h.advance(24 * time.Hour / time.Duration(weather.passes))
		}
		if day == 0 {
			if got := len(inStore()); got != n*50 {
				r.Break("the store has %d spans during the outage, want %d", got, n*50)
			}
		}
	}
	server.Release()
	server.Reset()
	res := h.run(d)
	r.Trial(n * 50)
	got, doubles := received(server)
	if diff := cmp.Diff(inStore(), got); diff != "" || len(got) != n*50 {
		r.Break("after the outage: %d spans of %d, %+v; spans (-store +otlp):\n%.2000s", len(got), n*50, res["otlp"], diff)
	}
	if doubles > 0 {
		r.Break("%d spans came more than once although no answer was lost", doubles)
	}
	if again := h.run(d); again["otlp"].Runs > 0 || again["store"].Runs > 0 {
		r.Break("a further delivery sent something: %+v", again)
	}
	r.Note("%d passes, %d tries, at most %d MiB of heap in use", passes, out.calls, peak>>20)
}

// maxWait is the longest back-off.
const maxWait = 15 * time.Minute

// keepsBackoff holds every session's stored next try to the limits.
func (h *hall) keepsBackoff(r *proof.Result, asked bool) {
	keys, err := h.spool.Sessions()
	if err != nil {
		h.t.Fatal(err)
	}
	for _, k := range keys {
		s, err := h.spool.Session(k)
		if err != nil {
			h.t.Fatal(err)
		}
		st, err := deliver.ReadState(s, "otlp")
		if err := errors.Join(err, s.Close()); err != nil {
			h.t.Fatal(err)
		}
		if st.Attempts == 0 {
			continue
		}
		wait := st.NextTry.Sub(h.Now())
		// A quarter of an hour, or what the endpoint asked for.
		if wait > time.Hour || wait > maxWait && !asked {
			r.Break("session %s waits %s for its next try", k, wait)
		}
		if st.LastError == "" {
			r.Break("session %s has %d attempts and no error", k, st.Attempts)
		}
	}
}

package deliver

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/spool"
)

// bigTurn is a turn with calls of which each has a text of so many bytes.
func bigTurn(id string, calls, size int) []spool.Record {
	recs := longTurn(id, calls)
	for i := range recs {
		recs[i].Payload = []byte(strings.Replace(string(recs[i].Payload), `"tool_response":"ok"`, `"tool_response":"`+strings.Repeat("x", size)+`"`, 1))
	}
	return recs
}

// TestRequestsAreBoundedByBytes delivers runs with long texts, short and long ones, and one with
// a span that alone is too large.
func TestRequestsAreBoundedByBytes(t *testing.T) {
	const most = 64 << 10
	for name, recs := range map[string][][]spool.Record{
		"a run": {bigTurn("p1", 100, 8000)}, "several runs": {bigTurn("p1", 3, 9000), bigTurn("p2", 3, 9000), bigTurn("p3", 3, 9000)},
		"a large span": {bigTurn("p1", 5, 200_000)},
	} {
		for _, window := range []int64{0, 1000} {
			b, m := newBench(t), &memory{}
			m.before = func(_ context.Context, spans []*tracepb.ResourceSpans) error {
				if size := otlp.Size(spans); size > most && otlp.Count(spans) > 1 {
					t.Errorf("%s: a request of %d spans has %d bytes", name, otlp.Count(spans), size)
				}
				return nil
			}
			d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 512, Bytes: most})
			d.Map.MaxOutput, d.Window = 1<<20, window
			var k spool.Key
			for _, r := range recs {
				k = b.append(r...)
			}
			b.clock.Advance(time.Minute)
			b.run(d, Pass{})
			if want := whole(t, b, d, k); len(m.spans) != len(want) || m.doubles() != 0 {
				t.Errorf("%s: %d spans, %d doubles, want %d", name, len(m.spans), m.doubles(), len(want))
			}
		}
	}
}

// TestSlowLineGetsSmallerRequests has a line on which no request of more than 10 kB ends within
// the time limit.
func TestSlowLineGetsSmallerRequests(t *testing.T) {
	b, m := newBench(t), &memory{}
	sizes := []int{}
	m.before = func(_ context.Context, spans []*tracepb.ResourceSpans) error {
		if sizes = append(sizes, otlp.Size(spans)); otlp.Size(spans) > 10_000 {
			return &Error{Err: errTest, BrokeOff: true}
		}
		return nil
	}
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 512, Bytes: 1 << 20})
	d.Map.MaxOutput = 1 << 20
	k := b.append(bigTurn("p1", 100, 2000)...)
	b.append(turn("p2")...)
	for range 12 {
		b.clock.Advance(time.Hour)
		b.run(d, Pass{})
	}
	if want := whole(t, b, d, k); len(m.spans) != len(want) || b.state(k, "otlp").Offset != b.size(k) {
		t.Errorf("%d spans, want %d; requests of %d bytes", len(m.spans), len(want), sizes)
	}
	if len(b.state(k, "otlp").Parked) != 0 {
		t.Error("a run was set aside")
	}
	// A span that alone is too much means that the destination is down.
	m.before = fail(&Error{Err: errTest, BrokeOff: true})
	b.append(turn("p3")...)
	for range 30 {
		b.clock.Advance(time.Hour)
		if r := b.run(d, Pass{})["otlp"]; r.Waiting != 1 || r.Parked != 0 {
			t.Fatalf("%s, want it waiting", mustJSON(r))
		}
	}
}

// TestSlowLineGetsSmallerRequestsOfStoredTraces has a line on which no request of more than
// 100 kB ends within the time limit, for an import and for what one is owed: each size is tried
// once.
func TestSlowLineGetsSmallerRequestsOfStoredTraces(t *testing.T) {
	b, m := newBench(t), &memory{}
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 512, Bytes: 1 << 20})
	d.Map.MaxOutput = 1 << 20
	d.Sleep = func(context.Context, time.Duration) error { return context.DeadlineExceeded }
	k := b.append(bigTurn("p1", 300, 2000)...)
	b.clock.Advance(time.Minute)
	out, err := d.prepare(t.Context(), b.session(k), &State{}, true)
	if err != nil || len(out.runs) != 1 {
		t.Fatal(err)
	}
	spans := []*tracepb.ResourceSpans{out.runs[0].spans()}
	broken := 0
	m.before = func(_ context.Context, spans []*tracepb.ResourceSpans) error {
		if otlp.Size(spans) > 100_000 {
			broken++
			return &Error{Err: errTest, BrokeOff: true}
		}
		return nil
	}
	for range 3 {
		if _, err := d.Send(t.Context(), &d.Destinations[0], spans); err != nil {
			t.Error(err)
		}
		get := func(context.Context, string) ([]*tracepb.ResourceSpans, error) { return spans, nil }
		if f, err := d.Fill(t.Context(), &d.Destinations[0], []StoredTrace{{ID: "x"}}, get); err != nil || f.Left != 0 || f.Traces != 1 {
			t.Errorf("%s, %v", mustJSON(f), err)
		}
	}
	if broken == 0 || broken > 4 {
		t.Errorf("%d requests broke off", broken)
	}
	// A destination that hangs is not waited for more often than the sizes need.
	broken, d.Destinations[0].Bytes = 0, 1<<20
	m.before = func(context.Context, []*tracepb.ResourceSpans) error {
		broken++
		return &Error{Err: errTest, BrokeOff: true}
	}
	if _, err := d.Send(t.Context(), &d.Destinations[0], spans); err == nil || broken > 5 {
		t.Errorf("%d requests broke off: %v", broken, err)
	}
}

// TestVerySlowLineGetsEverSmallerRequests has a line on which no request of more than 20 kB ends
// within the time limit: an export by hand, which tries again, gets there.
func TestVerySlowLineGetsEverSmallerRequests(t *testing.T) {
	b, m := newBench(t), &memory{}
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 512, Bytes: 1 << 20})
	d.Map.MaxOutput = 1 << 20
	k := b.append(bigTurn("p1", 300, 2000)...)
	b.clock.Advance(time.Minute)
	out, err := d.prepare(t.Context(), b.session(k), &State{}, true)
	if err != nil || len(out.runs) != 1 {
		t.Fatal(err)
	}
	spans := []*tracepb.ResourceSpans{out.runs[0].spans()}
	m.before = func(_ context.Context, spans []*tracepb.ResourceSpans) error {
		if otlp.Size(spans) > 20_000 {
			return &Error{Err: errTest, BrokeOff: true}
		}
		return nil
	}
	get := func(context.Context, string) ([]*tracepb.ResourceSpans, error) { return spans, nil }
	if f, err := d.Fill(t.Context(), &d.Destinations[0], []StoredTrace{{ID: "x"}}, get); err != nil || f.Left != 0 || f.Traces != 1 {
		t.Errorf("%s, %v", mustJSON(f), err)
	}
}

// TestCollectorsLimitSplitsTheRequest answers as the Collector does beyond its limit, and as
// other receivers.
func TestCollectorsLimitSplitsTheRequest(t *testing.T) {
	for _, answer := range []string{"http: request body too large", "Request Entity Too Large", "message size exceeds the maximum of 4 MB"} {
		taken := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if len(body) > 30_000 {
				http.Error(w, answer, http.StatusBadRequest)
				return
			}
			taken++
		}))
		b := newBench(t)
		dst := otlpDestination(t, "otlp", OTLP{Endpoint: server.URL})
		dst.Batch = 512
		d := b.claudeDeliverer(nil, dst)
		d.Map.MaxOutput = 1 << 20
		b.append(bigTurn("p1", 20, 8000)...)
		b.clock.Advance(time.Minute)
		if r := b.run(d, Pass{})["otlp"]; r.Runs != 1 || r.Parked != 0 || taken < 5 {
			t.Errorf("%q: %s after %d requests", answer, mustJSON(r), taken)
		}
		server.Close()
	}
}

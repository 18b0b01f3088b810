package deliver

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// fate is what becomes of the run that meets a fault.
type fate uint8

const (
	retried   fate = iota // everything waits and comes at the next try
	parked                // that run alone is rejected
	setAside              // that run alone waits for its next try
	halfTaken             // the run counts as delivered without some spans
)

// faults are the ways in which a destination fails, and what they lead to. The
// first answer of the first pass is the fault, every other one is normal.
var faults = []struct {
	name   string
	answer otlptest.Answer
	fate   fate
	// min and max bound the next try; zero means the first back-off.
	min, max time.Duration
	// says is what the error tells the user.
	says string
	// took reports that the receiver has the spans although it failed.
	took bool
}{
	{name: "closes the connection before answering", answer: otlptest.CloseBefore(), says: "EOF"},
	{name: "half an answer", answer: otlptest.CloseHalfway(), says: "broke off", took: true},
	{name: "hangs beyond the time limit", answer: otlptest.Hang(), says: "otlp http://", took: true},
	{name: "408", answer: otlptest.Status(408, "slow"), says: "408"},
	{name: "429 without Retry-After", answer: otlptest.Wait(429, ""), says: "429"},
	{name: "429 with Retry-After in seconds", answer: otlptest.Wait(429, "7200"), min: 2 * time.Hour, max: 2 * time.Hour, says: "429"},
	{name: "429 with a Retry-After below the back-off", answer: otlptest.Wait(429, "1"), says: "429"},
	{name: "429 with a Retry-After of a year", answer: otlptest.Wait(429, "31536000"), min: 24 * time.Hour, max: 24 * time.Hour, says: "429"},
	{name: "429 with a Retry-After that is no time", answer: otlptest.Wait(429, "soon"), says: "429"},
	{name: "500", answer: otlptest.Status(500, "boom"), fate: setAside, says: "boom"},
	{name: "501", answer: otlptest.Status(501, ""), fate: setAside, says: "501"},
	{name: "502", answer: otlptest.Status(502, ""), says: "502"},
	{name: "503", answer: otlptest.Wait(503, ""), says: "503"},
	{name: "503 with Retry-After", answer: otlptest.Wait(503, "1800"), min: 30 * time.Minute, max: 30 * time.Minute, says: "503"},
	{name: "504", answer: otlptest.Status(504, ""), says: "504"},
	{name: "304 without a place to go", answer: otlptest.Answer{Status: 304}, says: "304"},
	{name: "200 with a login page", answer: otlptest.LoginPage(), says: "web page"},
	{
		name: "200 with a login page of no declared type", says: "web page",
		answer: otlptest.Answer{Body: "\n <HTML><body>Sign in</body>", Sniff: true, Refuse: true},
	},
	{
		name: "203 with a login page called plain text", says: "web page",
		answer: otlptest.Answer{Status: 203, ContentType: "text/plain", Body: "<!doctype html><p>Sign in", Refuse: true},
	},
	{name: "400", answer: otlptest.Status(400, "bad span"), fate: parked, says: "bad span"},
	{name: "401", answer: otlptest.Status(401, ""), fate: parked, says: "OTEL_EXPORTER_OTLP_HEADERS"},
	{name: "403", answer: otlptest.Status(403, ""), fate: parked, says: "OTEL_EXPORTER_OTLP_HEADERS"},
	{name: "404", answer: otlptest.Status(404, ""), fate: parked, says: "/v1/traces appended"},
	{name: "405", answer: otlptest.Status(405, ""), fate: parked, says: "/v1/traces appended"},
	{name: "415", answer: otlptest.Status(415, ""), fate: parked, says: "415"},
	{name: "422", answer: otlptest.Status(422, ""), fate: parked, says: "422"},
	{name: "partial success", answer: otlptest.Partial(2, "too many attributes"), fate: halfTaken, says: "too many attributes"},
	{name: "partial success that takes nothing", answer: otlptest.Partial(1_000_000, "no quota"), fate: parked, says: "no quota"},
}

func TestDestinationFaults(t *testing.T) {
	for _, f := range faults {
		for _, json := range []bool{false, true} {
			name := f.name + "/protobuf"
			if json {
				name = f.name + "/json"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				e := newFaultEnv(t, json)
				e.faulty.Script(f.answer)
				first := e.run(e.d, Pass{})["otlp"]
				e.othersHaveEverything(t)
				st := e.state(e.key, "otlp")
				if !strings.Contains(strings.Join(first.Errors, "\n"), f.says) {
					t.Errorf("errors %q, want %q in them", first.Errors, f.says)
				}

				switch f.fate {
				case retried:
					e.wantRetried(t, first, st, f.min, f.max, f.took)
				case parked:
					e.wantParked(t, first, st)
				case setAside:
					e.wantSetAside(t, first, st)
				case halfTaken:
					e.wantPartial(t, first, st)
				}
				e.othersHaveEverything(t)
			})
		}
	}
}

// faultEnv is a spool with one session of several ended runs, a destination
// that can be made to fail and others that work.
type faultEnv struct {
	*bench
	d              *Deliverer
	key            spool.Key
	faulty, other  *otlptest.Server
	infinium       *infiniumtest.Server
	memory         *memory
	view           view
	runs, spans    int
	firstRunsSpans int
}

func newFaultEnv(t *testing.T, json bool) *faultEnv {
	t.Helper()
	e := &faultEnv{
		bench: newBench(t), faulty: otlptest.New(t), other: otlptest.New(t),
		infinium: infiniumtest.New(t), memory: &memory{},
	}
	e.key = e.append(recorded(t, "classic-session", "")...)
	e.clock.Advance(time.Minute)
	inf, err := infinium.NewClient(infinium.Options{
		BaseURL: e.infinium.URL(), AgentID: infiniumtest.AgentID, AgentSecret: infiniumtest.AgentSecret,
	})
	if err != nil {
		t.Fatal(err)
	}
	// The time limit is short for the answer that never comes; the others come
	// from this process.
	timeout := 30 * time.Second
	if strings.Contains(t.Name(), "hangs") {
		timeout = 2 * time.Second
	}
	e.d = e.deliverer(
		otlpDestination(t, "otlp", OTLP{Endpoint: e.faulty.URL(), JSON: json, Timeout: timeout}),
		otlpDestination(t, "other", OTLP{Endpoint: e.other.URL(), JSON: !json}),
		Destination{Name: "infinium", Client: inf},
		Destination{Name: "memory", Client: e.memory},
	)
	e.view = e.bench.view(e.key, e.d.Map)
	e.runs, e.spans = e.view.count()
	if e.runs < 3 {
		t.Fatalf("the recording has %d ended runs, want at least 3", e.runs)
	}
	e.firstRunsSpans = otlp.Count(e.view.of(e.view.runs[0]))
	return e
}

func (e *faultEnv) othersHaveEverything(t *testing.T) {
	t.Helper()
	wantIDs(t, "other", e.view.ended(), received(e.other))
	wantIDs(t, "memory", e.view.ended(), e.memory.ids())
	if n := len(e.infinium.Traces()); n != e.runs {
		t.Errorf("infinium has %d traces, want %d", n, e.runs)
	}
	if n := e.memory.doubles(); n != 0 {
		t.Errorf("memory got %d spans again", n)
	}
}

// wantRetried checks the first pass, that nothing is sent before the next try,
// and that everything comes then.
func (e *faultEnv) wantRetried(t *testing.T, first Result, st *State, least, most time.Duration, took bool) {
	t.Helper()
	if least == 0 {
		least, most = minBackoff*8/10, minBackoff*12/10
	}
	if first.Waiting != e.runs || first.Runs != 0 || first.Spans != 0 || first.Parked != 0 || len(first.Errors) != 1 {
		t.Errorf("first pass: %s, want %d waiting", mustJSON(first), e.runs)
	}
	wait := st.NextTry.Sub(e.clock.Now())
	if wait < least || wait > most || st.Attempts != 1 || st.LastError != first.Errors[0] || st.Offset != 0 || len(st.Done) != 0 {
		t.Errorf("state %s: next try in %v, want %v to %v and nothing acknowledged", mustJSON(st), wait, least, most)
	}

	requests := len(e.faulty.Requests())
	e.clock.Advance(wait - time.Millisecond)
	early := e.run(e.d, Pass{})["otlp"]
	if n := len(e.faulty.Requests()); n != requests {
		t.Errorf("%d requests before the next try", n-requests)
	}
	if early.Waiting != 1 || cmp.Diff(early.Errors, first.Errors) != "" {
		t.Errorf("pass before the next try: %s, want it waiting with the stored error", mustJSON(early))
	}

	e.clock.Advance(time.Millisecond)
	again := e.run(e.d, Pass{})["otlp"]
	if again.Runs != e.runs || again.Spans != e.spans || again.Waiting != 0 || len(again.Errors) != 0 {
		t.Errorf("pass at the next try: %s, want %d runs, %d spans", mustJSON(again), e.runs, e.spans)
	}
	wantIDs(t, "otlp", e.view.ended(), received(e.faulty))
	for _, s := range e.faulty.Spans() {
		want := 1
		if took && s.Trace == e.faulty.Spans()[0].Trace {
			want = 2
		}
		if s.Count != want || s.Changed {
			t.Errorf("span %v came %d times, changed %t; want %d times, unchanged", s.ID, s.Count, s.Changed, want)
		}
	}
	e.wantAtRest(t, State{Runs: int64(e.runs), Spans: int64(e.spans)})
}

func (e *faultEnv) wantParked(t *testing.T, first Result, st *State) {
	t.Helper()
	if first.Parked != 1 || first.Runs != e.runs-1 || first.Spans != e.spans-e.firstRunsSpans || first.Waiting != 0 {
		t.Errorf("first pass: %s, want 1 parked and %d delivered", mustJSON(first), e.runs-1)
	}
	if len(st.Parked) != 1 {
		t.Fatalf("state %s, want one parked run", mustJSON(st))
	}
	p := st.Parked[0]
	if p.Trace != e.view.runs[0].ID.String() || p.Spans != e.firstRunsSpans || p.Error == "" || !p.At.Equal(e.clock.Now()) {
		t.Errorf("parked %s, want the first run's trace %s", mustJSON(p), e.view.runs[0].ID)
	}
	requests := len(e.faulty.Requests())
	e.clock.Advance(48 * time.Hour)
	if r := e.run(e.d, Pass{})["otlp"]; r.Runs+r.Waiting+r.Parked != 0 || len(e.faulty.Requests()) != requests {
		t.Errorf("pass afterwards: %s, want nothing", mustJSON(r))
	}
	if r := e.run(e.d, Pass{Force: true})["otlp"]; r.Runs != 1 || r.Spans != e.firstRunsSpans {
		t.Errorf("forced pass: %s, want the rejected run delivered", mustJSON(r))
	}
	wantIDs(t, "otlp", e.view.ended(), received(e.faulty))
	e.wantAtRest(t, State{Runs: int64(e.runs), Spans: int64(e.spans)})
}

// wantSetAside checks that one run waits for its next try, and that it comes then.
func (e *faultEnv) wantSetAside(t *testing.T, first Result, st *State) {
	t.Helper()
	if first.Waiting != 1 || first.Runs != e.runs-1 || first.Parked != 0 {
		t.Errorf("first pass: %s, want 1 waiting and %d delivered", mustJSON(first), e.runs-1)
	}
	if len(st.Parked) != 1 || st.Parked[0].Trace != e.view.runs[0].ID.String() || st.Parked[0].Attempts != 1 {
		t.Fatalf("state %s, want the first run set aside", mustJSON(st))
	}
	requests, wait := len(e.faulty.Requests()), st.Parked[0].NextTry.Sub(e.clock.Now())
	if wait < minBackoff*8/10 || wait > minBackoff*12/10 {
		t.Errorf("next try in %v", wait)
	}
	e.clock.Advance(wait - time.Millisecond)
	if r := e.run(e.d, Pass{})["otlp"]; r.Waiting != 1 || len(e.faulty.Requests()) != requests {
		t.Errorf("pass before the next try: %s, want it waiting", mustJSON(r))
	}
	e.clock.Advance(time.Millisecond)
	if r := e.run(e.d, Pass{})["otlp"]; r.Runs != 1 || r.Spans != e.firstRunsSpans {
		t.Errorf("pass at the next try: %s, want the run delivered", mustJSON(r))
	}
	wantIDs(t, "otlp", e.view.ended(), received(e.faulty))
	for _, s := range e.faulty.Spans() {
		if s.Count != 1 {
			t.Errorf("span %v came %d times", s.ID, s.Count)
		}
	}
	e.wantAtRest(t, State{Runs: int64(e.runs), Spans: int64(e.spans)})
}

func (e *faultEnv) wantPartial(t *testing.T, first Result, st *State) {
	t.Helper()
	if first.Runs != e.runs || first.Spans != e.spans-2 || first.Parked != 0 || first.Waiting != 0 {
		t.Errorf("first pass: %s, want %d runs, %d spans", mustJSON(first), e.runs, e.spans-2)
	}
	if n := len(e.faulty.Spans()); n != e.spans-2 {
		t.Errorf("%d spans were taken, want all but 2 of %d", n, e.spans)
	}
	e.wantAtRest(t, State{Runs: int64(e.runs), Spans: int64(e.spans - 2), Rejected: 2})
	_ = st
}

// wantAtRest checks that the destination is through: nothing is sent any more,
// whether forced or not.
func (e *faultEnv) wantAtRest(t *testing.T, want State) {
	t.Helper()
	st := e.state(e.key, "otlp")
	got := State{Runs: st.Runs, Spans: st.Spans, Rejected: st.Rejected}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("counters (-want +got):\n%s", d)
	}
	if st.Attempts != 0 || !st.NextTry.IsZero() || st.LastError != "" {
		t.Errorf("state %s, want no trace of the trouble", mustJSON(st))
	}
	if open := e.view.runs[len(e.view.runs)-1]; open.Ended && st.Offset != e.size(e.key) {
		t.Errorf("position %d, want the log's end %d", st.Offset, e.size(e.key))
	}
	requests := len(e.faulty.Requests())
	e.clock.Advance(48 * time.Hour)
	for _, p := range []Pass{{}, {Force: true}} {
		if r := e.run(e.d, p)["otlp"]; r.Runs+r.Waiting+r.Parked != 0 {
			t.Errorf("pass %+v afterwards: %s, want nothing", p, mustJSON(r))
		}
	}
	if n := len(e.faulty.Requests()); n != requests {
		t.Errorf("%d requests after everything was answered for", n-requests)
	}
}

func TestForceIgnoresNextTry(t *testing.T) {
	e := newFaultEnv(t, false)
	e.faulty.Script(otlptest.Wait(429, "7200"))
	e.run(e.d, Pass{})
	if r := e.run(e.d, Pass{})["otlp"]; r.Runs != 0 || r.Waiting != 1 {
		t.Fatalf("unforced: %s, want it waiting", mustJSON(r))
	}
	if r := e.run(e.d, Pass{Force: true})["otlp"]; r.Runs != e.runs {
		t.Errorf("forced: %s, want %d runs", mustJSON(r), e.runs)
	}
	wantIDs(t, "otlp", e.view.ended(), received(e.faulty))
}

func TestRedirectIsNotFollowed(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			e := newFaultEnv(t, false)
			elsewhere := otlptest.New(t)
			e.faulty.Script(otlptest.Redirect(code, elsewhere.URL()+"?token=geheim"))
			first := e.run(e.d, Pass{})["otlp"]
			if len(first.Errors) != 1 || !strings.Contains(first.Errors[0], elsewhere.URL()) || strings.Contains(first.Errors[0], "geheim") {
				t.Errorf("errors %q, want the place named without its query", first.Errors)
			}
			e.wantRetried(t, first, e.state(e.key, "otlp"), 0, 0, false)
			if n := len(elsewhere.Requests()); n != 0 {
				t.Errorf("%d requests went to the other host", n)
			}
		})
	}
}

func TestTooLargeRequestsAreSplit(t *testing.T) {
	e := newFaultEnv(t, false)
	e.faulty.SetMaxSpans(3)
	r := e.run(e.d, Pass{})["otlp"]
	if r.Runs != e.runs || r.Spans != e.spans || len(r.Errors) != 0 {
		t.Errorf("pass: %s, want %d runs, %d spans", mustJSON(r), e.runs, e.spans)
	}
	wantIDs(t, "otlp", e.view.ended(), received(e.faulty))
	for _, req := range e.faulty.Requests() {
		if req.Status == 200 && req.Taken > 3 {
			t.Errorf("a request with %d spans was taken", req.Taken)
		}
	}
	e.wantAtRest(t, State{Runs: int64(e.runs), Spans: int64(e.spans)})
}

func TestTooLargeSpanIsRefusedAlone(t *testing.T) {
	e := newFaultEnv(t, false)
	// The largest of the recorded spans does not fit, the others do.
	limit := e.largestButOne(t)
	e.faulty.SetMaxBytes(limit)
	r := e.run(e.d, Pass{})["otlp"]
	if r.Runs != e.runs || r.Spans != e.spans-1 || r.Parked != 0 || len(r.Errors) != 1 || !strings.Contains(r.Errors[0], "1 of ") || !strings.Contains(r.Errors[0], "413") {
		t.Errorf("pass: %s, want all runs without one span and one line about it", mustJSON(r))
	}
	if n := len(e.faulty.Spans()); n != e.spans-1 {
		t.Errorf("%d spans were taken, want %d", n, e.spans-1)
	}
	e.wantAtRest(t, State{Runs: int64(e.runs), Spans: int64(e.spans - 1), Rejected: 1})
}

func TestRunOfTooLargeSpansIsParked(t *testing.T) {
	e := newFaultEnv(t, false)
	e.faulty.SetMaxBytes(1)
	r := e.run(e.d, Pass{})["otlp"]
	if r.Parked != e.runs || r.Runs != 0 || r.Spans != 0 {
		t.Errorf("pass: %s, want %d parked", mustJSON(r), e.runs)
	}
}

// largestButOne is the size of the request with the second largest span alone.
func (e *faultEnv) largestButOne(t *testing.T) int {
	t.Helper()
	probe := otlptest.New(t)
	d := otlpDestination(t, "probe", OTLP{Endpoint: probe.URL()})
	for _, r := range e.view.runs {
		if !r.Ended {
			continue
		}
		for _, one := range otlp.Split(e.view.of(r), 1) {
			if err := d.Client.UploadTraces(t.Context(), one); err != nil {
				t.Fatal(err)
			}
		}
	}
	var first, second int
	for _, r := range probe.Requests() {
		switch n := len(r.Body); {
		case n > first:
			first, second = n, first
		case n > second:
			second = n
		}
	}
	if first == second {
		t.Fatal("two spans are equally large: the recording does not serve")
	}
	return second
}

func TestSplitRunIsSentAgainAfterFailure(t *testing.T) {
	e := newFaultEnv(t, false)
	e.d.Destinations[0].Batch = 2
	e.faulty.Script(otlptest.Answer{}, otlptest.Wait(503, ""))
	r := e.run(e.d, Pass{})["otlp"]
	if r.Waiting != e.runs || r.Runs != 0 {
		t.Fatalf("first pass: %s, want all waiting", mustJSON(r))
	}
	if r = e.run(e.d, Pass{Force: true})["otlp"]; r.Runs != e.runs {
		t.Errorf("second pass: %s", mustJSON(r))
	}
	wantIDs(t, "otlp", e.view.ended(), received(e.faulty))
	for _, s := range e.faulty.Spans() {
		if s.Changed {
			t.Errorf("span %v changed between its copies", s.ID)
		}
	}
}

func TestDestinationRecoversAfterADay(t *testing.T) {
	e := newFaultEnv(t, false)
	e.faulty.Always(otlptest.CloseBefore())
	var tries int
	until := e.clock.Now().Add(24 * time.Hour)
	last := time.Duration(0)
	for e.clock.Now().Before(until) {
		before := len(e.faulty.Requests())
		e.run(e.d, Pass{})
		if len(e.faulty.Requests()) > before {
			tries++
		}
		st := e.state(e.key, "otlp")
		last = st.NextTry.Sub(e.clock.Now())
		if last <= 0 || last > maxBackoff {
			t.Fatalf("after %d tries: next in %v, want above 0 and at most %v", tries, last, maxBackoff)
		}
		if st.Attempts != tries {
			t.Fatalf("attempts %d, want %d", st.Attempts, tries)
		}
		e.clock.Advance(last)
	}
	if last < maxBackoff*8/10 {
		t.Errorf("after a day the next try is in %v, want about %v", last, maxBackoff)
	}
	if tries < 90 || tries > 150 {
		t.Errorf("%d tries in a day, want one per quarter of an hour or so", tries)
	}
	e.faulty.Reset()
	if r := e.run(e.d, Pass{})["otlp"]; r.Runs != e.runs || r.Spans != e.spans {
		t.Errorf("back again: %s, want everything", mustJSON(r))
	}
	wantIDs(t, "otlp", e.view.ended(), received(e.faulty))
	e.othersHaveEverything(t)
	e.wantAtRest(t, State{Runs: int64(e.runs), Spans: int64(e.spans)})
}

func TestRefusedConnections(t *testing.T) {
	e := newFaultEnv(t, false)
	gone := otlptest.New()
	url := gone.URL()
	gone.Close()
	e.d.Destinations[0] = otlpDestination(t, "otlp", OTLP{Endpoint: url})
	r := e.run(e.d, Pass{})["otlp"]
	if r.Waiting != e.runs || len(r.Errors) != 1 || !strings.Contains(r.Errors[0], "refused") {
		t.Errorf("pass: %s, want all waiting for a refused connection", mustJSON(r))
	}
	e.othersHaveEverything(t)
	// A later process finds it up.
	e.d.Destinations[0] = otlpDestination(t, "otlp", OTLP{Endpoint: e.faulty.URL()})
	e.clock.Advance(time.Minute)
	e.run(e.d, Pass{})
	wantIDs(t, "otlp", e.view.ended(), received(e.faulty))
}

func TestSilentDestinationIsTriedOncePerPass(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"1795175957341", "1795175957342", "1795175957343"} {
		b.append(recorded(t, "classic-session", id)...)
	}
	b.clock.Advance(time.Minute)
	down := &memory{before: fail(&Error{Err: errTest})}
	d := b.deliverer(Destination{Name: "otlp", Client: down})
	r := b.run(d, Pass{})["otlp"]
	if down.calls != 1 {
		t.Errorf("%d calls, want 1: the others would only time out too", down.calls)
	}
	if r.Waiting < 9 {
		t.Errorf("%d runs waiting, want those of all three sessions", r.Waiting)
	}
}

func TestSpansAreRedactedForEveryDestination(t *testing.T) {
	b := newBench(t)
	b.append(recorded(t, "classic-session", "")...)
	b.clock.Advance(time.Minute)
	x, y := &memory{}, &memory{}
	d := b.deliverer(Destination{Name: "store", Client: x}, Destination{Name: "otlp", Client: y})
	d.Map.Capture = otelmap.CaptureFull
	d.Redact = renamed
	b.run(d, Pass{})
	for _, m := range []*memory{x, y} {
		if len(m.spans) == 0 {
			t.Fatal("nothing was delivered")
		}
		for id, s := range m.spans {
			if s.Name != "redacted" {
				t.Errorf("span %v went out as %q", id, s.Name)
			}
		}
	}
}

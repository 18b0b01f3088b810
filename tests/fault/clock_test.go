package fault_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// clockRows let time go wrong.
var clockRows = []proof.Row{{
	Name:  "clocks that jump, stand still or are garbage, the host's and ours",
	Rule:  "every tool call comes once, every span ends, none ends before it begins, every parent is there",
	Short: 150, Long: 20_000,
	Run: wrongClocks,
}, {
	Name: "a clock that is ahead by a day, by 60 days and by years, and is set back",
	Rule: "what waited is sent at once, a killed run ends, a run that continues stays one; every call comes once",
	Run:  aheadAndBack,
}}

// jumps are what the clock may do between two events.
var jumps = []time.Duration{
	0, 0, 0, 1, time.Millisecond, time.Second, -time.Second, time.Minute, -time.Minute, 20 * time.Minute, -20 * time.Minute,
	24 * time.Hour, -24 * time.Hour, 10 * 365 * 24 * time.Hour, -10 * 365 * 24 * time.Hour,
}

// stamps are what a host may write for the time.
var stamps = []string{
	"", "0", "-1", "1", "x", "1795175957341", "1795175957341", "1795175957341.5", "1e99", "-9223372036854775808", "9223372036854775807",
	"99999999999999999999999", "1795175957", "1795175957341000", "1795175957341000000", "2026-11-20T12:00:00Z", "NaN", "253402300799999", "8640000000000000",
}

var (
	earliest = time.Unix(0, -1<<63)
	latest   = time.Unix(0, 1<<63-1)
)

func wrongClocks(t *testing.T, r *proof.Result) {
	rnd := rand.New(rand.NewPCG(9, 10)) //nolint:gosec // Drawn, and the same each time.
	h := newHall(t, t.TempDir())
	server := otlptest.New(t)
	otlp, err := deliver.NewOTLP(t.Context(), deliver.OTLP{Endpoint: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	local, inStore := h.localStore()
	d := h.deliverer(local, deliver.Destination{Name: "otlp", Client: otlp, Batch: 512})
	// want are the tool calls, with the word for what their session's times were.
	want := make(map[int]string)
	n := 0
	for trial := range r.N {
		a := &agents[trial%len(agents)]
		session := fmt.Sprintf("clock-%d", trial)
		at := midday.Add(-time.Hour)
		switch rnd.IntN(12) {
		case 0:
			at = earliest
		case 1:
			at = latest
		case 2:
			at = time.Time{}
		}
		garbage := rnd.IntN(3) == 0
		story := a.host
		put := func(event string, number int) {
			payload, host := a.payload(event, session, "turn", number), "right"
			if garbage {
				host = stamps[rnd.IntN(len(stamps))]
				payload = restamp(payload, host)
			}
			story += fmt.Sprintf("; %s at %q, stored %s", event, host, at)
			h.record(&spool.Record{Host: a.host, Session: session, Event: event, At: at, Payload: payload})
			if next := at.Add(jumps[rnd.IntN(len(jumps))]); next.After(earliest) && next.Before(latest) {
				at = next
			}
		}
		first := n
		put(a.began, n)
		for range 1 + rnd.IntN(4) {
			put("PreToolUse", n)
			n++
		}
		put(a.ended, n)
		for i := first; i < n; i++ {
			want[i] = story
		}
		r.Trial(1)
	}
	// Ours jumps too, and then a day passes after which every run has ended.
	for _, jump := range []time.Duration{time.Minute, -48 * time.Hour, 100 * 365 * 24 * time.Hour} {
		h.advance(jump)
		h.run(d)
	}
	h.mu.Lock()
	h.now = latest.Add(24 * time.Hour)
	h.mu.Unlock()
	for name, res := range h.run(d) {
		if res.Waiting+res.Parked > 0 || len(res.Errors) > 0 {
			r.Break("%s: %+v", name, res)
		}
	}
	checkClocks(r, server.Spans(), want)
	got, _ := received(server)
	if diff := cmp.Diff(inStore(), got); diff != "" {
		r.Break("spans (-store +otlp):\n%.2000s", diff)
	}
}

// restamp puts another time into a Cline payload.
func restamp(payload []byte, stamp string) []byte {
	const member = `"timestamp":"`
	s := string(payload)
	for i := 0; i+len(member) < len(s); i++ {
		if s[i:i+len(member)] == member {
			end := i + len(member)
			for s[end] != '"' {
				end++
			}
			return []byte(s[:i+len(member)] + stamp + s[end:])
		}
	}
	return payload
}

func checkClocks(r *proof.Result, spans []otlptest.Span, want map[int]string) {
	there := make(map[otlptest.ID]bool)
	for i := range spans {
		there[spans[i].ID] = true
	}
	for i := range spans {
		s := &spans[i]
		start, end := s.Proto.GetStartTimeUnixNano(), s.Proto.GetEndTimeUnixNano()
		// What lies before 1970 is 0 in OTLP, begin and end.
		if end < start || end == 0 && start > 0 {
			r.Break("span %q of %s goes from %d to %d", s.Name, s.Trace, start, end)
		}
		if s.Parent != "" && !there[otlptest.ID{Trace: s.Trace, Span: s.Parent}] {
			r.Break("span %q of %s has a parent %s that is not there", s.Name, s.Trace, s.Parent)
		}
		if n, ok := spanNumber(s); ok {
			delete(want, n)
		}
	}
	for n, story := range want {
		r.Break("tool call %d has not come: %s", n, story)
	}
}

// aheadAndBack has the clock be ahead while events are stored and a destination is down,
// and then right.
func aheadAndBack(t *testing.T, r *proof.Result) {
	for _, ahead := range []time.Duration{25 * time.Hour, 60 * 24 * time.Hour, 10 * 365 * 24 * time.Hour} {
		for i := range agents {
			a := &agents[i]
			h := newHall(t, t.TempDir())
			server := otlptest.New(t)
			otlp, err := deliver.NewOTLP(t.Context(), deliver.OTLP{Endpoint: server.URL()})
			if err != nil {
				t.Fatal(err)
			}
			local, inStore := h.localStore()
			d := h.deliverer(local, deliver.Destination{Name: "otlp", Client: otlp, Batch: 512})
			want := map[int]string{}
			put := func(event, session string) {
				h.put(a, event, session, "turn", len(want))
				if event == "PreToolUse" {
					want[len(want)] = fmt.Sprintf("%s, %v ahead", session, ahead)
				}
			}
			h.advance(ahead)
			server.Always(otlptest.Answer{Status: 503})
			for _, session := range []string{"refused", "killed", "continues"} {
				put(a.began, session)
				put("PreToolUse", session)
			}
			put(a.ended, "refused")
			h.advance(time.Minute)
			h.run(d)
			h.advance(-ahead)
			server.Reset()
			put("PreToolUse", "continues")
			h.advance(time.Minute)
			h.run(d)
			if n := len(server.Spans()); n != 4 {
				r.Break("%s, %v ahead: %d spans come at once, want two runs with a call each", a.program, ahead, n)
			}
			put(a.ended, "continues")
			h.advance(time.Minute)
			h.run(d)
			r.Trial(3)
			spans := server.Spans()
			checkClocks(r, spans, want)
			for _, s := range spans {
				if s.Count > 1 {
					r.Break("%s, %v ahead: span %q came %d times", a.program, ahead, s.Name, s.Count)
				}
			}
			if len(inStore()) != len(spans) || len(spans) != 3+4 {
				r.Break("%s, %v ahead: %d spans at otlp and %d in the store, want three runs", a.program, ahead, len(spans), len(inStore()))
			}
		}
	}
}

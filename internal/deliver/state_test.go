package deliver

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

func TestStateIsReadBack(t *testing.T) {
	b := newBench(t)
	k := b.append(oneRun(t, "")...)
	s := b.session(k)
	want := &State{
		Version: stateVersion, Host: "cline", Session: "1", Offset: 12,
		Carry: otelmap.Carry{PrevTrace: "a", Runs: 3, PrevEnd: began}, Done: map[string]bool{"x": true},
		Attempts: 2, NextTry: began.Add(time.Minute), LastError: "boom", Runs: 1, Spans: 2, Rejected: 3,
		Parked: []Parked{{Ref: Ref{Trace: "t"}, At: began, Spans: 4, Error: "no"}},
	}
	if err := want.write(s, "otlp"); err != nil {
		t.Fatal(err)
	}
	got, err := ReadState(s, "otlp")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("state (-want +got):\n%s", d)
	}
	if other, err := ReadState(s, "store"); err != nil || other.Offset != 0 {
		t.Errorf("another destination's state %s (%v), want the beginning", mustJSON(other), err)
	}
}

func TestDamagedStateIsReplaced(t *testing.T) {
	for _, c := range []struct{ name, bytes, fails string }{
		{"empty", "", ""},
		{"cut", `{"v":1,"offset":70`, ""},
		{"binary", "\x00\xff", ""},
		{"wrong kind of member", `{"v":1,"offset":"far"}`, ""},
		{"of a later version", `{"v":2,"offset":3}`, "upgrade hookspan"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			k := b.append(oneRun(t, "")...)
			if err := os.WriteFile(b.path(k, "delivery-otlp.json"), []byte(c.bytes), 0o600); err != nil {
				t.Fatal(err)
			}
			b.clock.Advance(time.Minute)
			m, quiet := &memory{}, &memory{}
			d := b.deliverer(Destination{Name: "otlp", Client: m}, Destination{Name: "store", Client: quiet})
			r := b.run(d, Pass{})["otlp"]
			wantIDs(t, "store", b.view(k, d.Map).ended(), quiet.ids())
			if c.fails != "" {
				if len(r.Errors) != 1 || !strings.Contains(r.Errors[0], c.fails) || len(m.ids()) != 0 {
					t.Errorf("pass: %s, want an error with %q and nothing sent", mustJSON(r), c.fails)
				}
				return
			}
			wantIDs(t, "otlp", b.view(k, d.Map).ended(), m.ids())
		})
	}
}

func TestDoneRunsAreForgotten(t *testing.T) {
	b, m := newBench(t), &memory{}
	d := b.deliverer(Destination{Name: "otlp", Client: m})
	recs := recorded(t, "classic-session", "")
	most := 0
	for i := range recs {
		k := b.append(recs[i])
		b.clock.Advance(time.Minute)
		// Each run is delivered once the next one is open.
		if e := recs[i].Event; e != "UserPromptSubmit" && e != "PreToolUse" {
			continue
		}
		b.run(d, Pass{})
		most = max(most, len(b.state(k, "otlp").Done))
	}
	if most != 1 {
		t.Errorf("up to %d runs were noted as done at once, want the newest alone", most)
	}
	if st := b.state(spool.SessionKey(recs[0].Host, recs[0].Session), "otlp"); st.Runs < 3 || m.doubles() != 0 {
		t.Errorf("%d runs delivered, %d spans twice; want at least 3 and none", st.Runs, m.doubles())
	}
}

func TestCutLogIsReadFromItsStart(t *testing.T) {
	for _, c := range []struct {
		name string
		size int64
		// more is stored after the cut.
		more bool
	}{
		{"cut", 4096, false},
		{"cut and continued", 4096, true},
		{"empty", 0, false},
		{"replaced", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, m := newBench(t), &memory{}
			recs := recorded(t, "classic-session", "")
			k := b.append(recs...)
			b.clock.Advance(time.Minute)
			d := b.deliverer(Destination{Name: "store", Client: m})
			b.run(d, Pass{})
			before := b.state(k, "store")
			before.Parked = []Parked{{Ref: Ref{Trace: "t"}, At: b.clock.Now().Add(-2 * keepParked), Spans: 1, Error: "no"}}
			if err := before.write(b.session(k), "store"); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(b.path(k, "events.json-seq"), c.size); err != nil {
				t.Fatal(err)
			}
			if c.more {
				b.append(oneRun(t, recs[0].Session)...)
				b.clock.Advance(time.Minute)
			}
			if size := b.size(k); size >= before.Offset {
				t.Fatalf("the log has %d bytes again", size)
			}
			if b.at(k, b.clock.Now().Add(-2*keepDelivered)); d.Housekeep(t.Context(), Limits{}) != nil || !b.there(k) {
				t.Fatal("housekeeping took the cut log for delivered")
			}
			r := b.run(d, Pass{})["store"]
			runs, _ := b.view(k, d.Map).count()
			if r.Runs != runs || c.more && runs == 0 {
				t.Errorf("pass: %s, want %d runs", mustJSON(r), runs)
			}
			st := b.state(k, "store")
			if st.Offset > b.size(k) || st.Runs != before.Runs+int64(runs) || len(st.Parked) != 1 {
				t.Errorf("state %s, want a position within %d, and the counters and the parked run kept", mustJSON(st), b.size(k))
			}
			b.run(d, Pass{})
			if n := len(b.logged("cut or replaced")); n != 1 {
				t.Errorf("%d lines on the cut, want 1", n)
			}
		})
	}
}

// TestLogThatLostItsEndIsReadFromItsStart stores as much after the loss as it took.
func TestLogThatLostItsEndIsReadFromItsStart(t *testing.T) {
	b, m := newBench(t), &memory{}
	recs := recorded(t, "classic-session", "")
	k := b.append(recs...)
	b.clock.Advance(time.Minute)
	d := b.deliverer(Destination{Name: "store", Client: m})
	b.run(d, Pass{})
	before := b.state(k, "store").Offset
	if before == 0 {
		t.Fatal("nothing was delivered")
	}
	if err := os.Truncate(b.path(k, "events.json-seq"), 4096); err != nil {
		t.Fatal(err)
	}
	for b.size(k) < before {
		b.append(oneRun(t, recs[0].Session)...)
	}
	if b.at(k, b.clock.Now().Add(-2*keepDelivered)); d.Housekeep(t.Context(), Limits{}) != nil || !b.there(k) {
		t.Fatal("housekeeping took the log for delivered")
	}
	b.clock.Advance(time.Minute)
	runs, _ := b.view(k, d.Map).count()
	if r := b.run(d, Pass{})["store"]; r.Runs != runs || runs == 0 {
		t.Errorf("pass: %s, want %d runs", mustJSON(r), runs)
	}
}

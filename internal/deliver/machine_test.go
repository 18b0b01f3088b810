package deliver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/testkit/ramdir"
	"github.com/hookspan/hookspan/spool"
)

// machine is the model: what was stored, what each destination took and what it
// rejected. Its law is that nothing is lost between the two ends:
// stored and ended = taken + refused + still waiting.
type machine struct {
	*bench
	sessions []*feed
	dsts     []*party
	d        *Deliverer
	// stored counts the events appended so far.
	stored int64
}

// feed is a recorded session and how much of it has been stored.
type feed struct {
	key  spool.Key
	recs []spool.Record
	next int
}

// party is a destination in its present mood.
type party struct {
	memory
	name  string
	batch int
	// refused are the traces it rejected.
	refused map[string]bool
}

// fault is what a destination does with one call.
type fault uint8

const (
	takes        fault = iota
	down               // nothing arrives
	halfAnswer         // everything arrives, the answer does not
	refuses            // never wants this run
	rejects            // takes all but one span, for good
	tooLarge           // takes single spans alone
	faultsNumber = iota
)

func newMachine(t *rapid.T) *machine {
	m := &machine{bench: newBenchIn(t, filepath.Join(ramdir.New(t), "spool"))}
	for i, folder := range []string{"classic-session", "next-session", "sdk-session", "e2e-cli2/ok", "e2e-cli3/tools"} {
		f := &feed{recs: recorded(t, folder, "")}
		f.key = spool.SessionKey(f.recs[0].Host, f.recs[0].Session)
		if i < 3 || rapid.Bool().Draw(t, folder) {
			m.sessions = append(m.sessions, f)
		}
	}
	m.join("store", 3)
	m.join("otlp", 0)
	m.restart()
	return m
}

// join adds a destination, which starts with nothing.
func (m *machine) join(name string, batch int) {
	p := &party{name: name, batch: batch, refused: make(map[string]bool)}
	p.stamp = func() int64 { return m.stored }
	m.dsts = append(m.dsts, p)
}

// feed stores the next n events of a session.
func (m *machine) feed(f *feed, n int) {
	m.append(f.recs[f.next : f.next+n]...)
	f.next += n
	m.stored += int64(n)
}

// restart is a new process: nothing but the spool is left of the one before.
func (m *machine) restart() {
	var dsts []Destination
	for _, p := range m.dsts {
		dsts = append(dsts, Destination{Name: p.name, Client: p, Batch: p.batch})
	}
	m.d = m.deliverer(dsts...)
}

// mood makes a destination do the faults in turn, and take what comes after.
func (p *party) mood(faults []fault) {
	p.before = func(_ context.Context, spans []*tracepb.ResourceSpans) error {
		if len(faults) == 0 {
			return nil
		}
		f := faults[0]
		faults = faults[1:]
		trace := idsOf(spans...)[0].Trace
		switch f {
		case down:
			return &Error{Err: errTest}
		case halfAnswer:
			p.take(spans)
			return &Error{Err: errTest}
		case refuses:
			return &Error{Err: errTest, Permanent: true}
		case rejects:
			p.take(message(slices.Collect(otlp.Spans(spans))[1:]...))
			p.refused[trace] = true
			return &Error{Err: errTest, Permanent: true, Rejected: 1}
		case tooLarge:
			if otlp.Count(spans) > 1 {
				return &Error{Err: errTest, Permanent: true, TooLarge: true}
			}
		}
		return nil
	}
}

func (m *machine) pass(t *rapid.T) {
	moods := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint8Range(0, faultsNumber-1), 0, 4), len(m.dsts), len(m.dsts)).Draw(t, "faults")
	for i, p := range m.dsts {
		var faults []fault
		for _, f := range moods[i] {
			faults = append(faults, fault(f))
		}
		p.mood(faults)
	}
	p := Pass{Force: rapid.Bool().Draw(t, "force")}
	if rapid.Bool().Draw(t, "one session") {
		p.Sessions = []spool.Key{rapid.SampledFrom(m.sessions).Draw(t, "session").key}
	}
	m.run(m.d, p)
}

func TestEverySpanReachesEveryDestination(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"": m.check,
			"store events": func(t *rapid.T) {
				f := rapid.SampledFrom(m.sessions).Draw(t, "session")
				n := min(rapid.IntRange(1, 12).Draw(t, "events"), len(f.recs)-f.next)
				if n > 0 {
					m.feed(f, n)
				}
			},
			"time passes": func(t *rapid.T) {
				m.clock.Advance(rapid.SampledFrom([]time.Duration{
					10 * time.Millisecond, 900 * time.Millisecond, 3 * time.Second, 10 * time.Second, 20 * time.Minute,
				}).Draw(t, "time"))
			},
			"deliver": m.pass,
			"deliver and die before the note of it": func(t *rapid.T) {
				var files []saved
				for _, f := range m.sessions {
					for _, p := range m.dsts {
						s, err := save(m.path(f.key, stateFile(p.name)))
						if err != nil {
							t.Fatal(err)
						}
						files = append(files, s)
					}
				}
				m.pass(t)
				for _, s := range files {
					if _, err := os.Stat(filepath.Dir(s.path)); err != nil {
						continue // The session has no event yet.
					}
					if rapid.Bool().Draw(t, "dies") {
						if err := s.restore(); err != nil {
							t.Fatal(err)
						}
					}
				}
				m.restart()
			},
			"another process": func(*rapid.T) { m.restart() },
			"lose a delivery file": func(t *rapid.T) {
				f, p := rapid.SampledFrom(m.sessions).Draw(t, "session"), rapid.SampledFrom(m.dsts).Draw(t, "destination")
				path := m.path(f.key, stateFile(p.name))
				if _, err := os.Stat(path); err != nil {
					return
				}
				if err := os.WriteFile(path, []byte(`{"v":1,"off`), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			"a new destination": func(*rapid.T) {
				if len(m.dsts) < 4 {
					m.join(fmt.Sprintf("new-%d", len(m.dsts)), len(m.dsts))
					m.restart()
				}
			},
		})
		m.end(t)
	})
}

// check holds after every step: a position never passes what was neither taken
// nor refused, nor a run that is under way, and what is sent again is the same
// to the byte unless more has been stored.
func (m *machine) check(t *rapid.T) {
	for _, p := range m.dsts {
		if len(p.changed) > 0 {
			t.Fatalf("%s: spans %v changed between two copies of them", p.name, p.changed)
		}
	}
	for _, f := range m.sessions {
		if f.next == 0 {
			continue
		}
		v := m.view(f.key, m.d.Map)
		for _, p := range m.dsts {
			st := m.state(f.key, p.name)
			if size := m.size1(f.key); st.Offset > size {
				t.Fatalf("%s: position %d behind the log's end %d", p.name, st.Offset, size)
			}
			for _, r := range v.runs {
				if r.First >= st.Offset {
					continue
				}
				if !r.Ended {
					t.Fatalf("%s: position %d passed the open run %s at %d", p.name, st.Offset, r.ID, r.First)
				}
				if missing := p.missing(v, st, r.ID.String()); len(missing) > 0 {
					t.Fatalf("%s: position %d passed run %s at %d, of which %v is missing", p.name, st.Offset, r.ID, r.First, missing)
				}
			}
			for id := range st.Done {
				if missing := p.missing(v, st, id); len(missing) > 0 {
					t.Fatalf("%s: run %s is noted as done without %v", p.name, id, missing)
				}
			}
		}
	}
}

// missing are the spans of a run that a destination neither took nor refused, unless
// the run was set aside.
func (p *party) missing(v view, st *State, run string) (ids []otlptest.ID) {
	if slices.ContainsFunc(st.Parked, func(a Parked) bool { return a.Trace == run }) {
		return nil
	}
	for _, id := range idsOf(v.spans[run]) {
		if p.count[id] == 0 && !p.refused[id.Trace] {
			ids = append(ids, id)
		}
	}
	return ids
}

// end brings everything to rest and checks the law.
func (m *machine) end(t *rapid.T) {
	for _, f := range m.sessions {
		if f.next < len(f.recs) {
			m.feed(f, len(f.recs)-f.next)
		}
	}
	m.restart()
	for _, p := range m.dsts {
		p.mood(nil)
	}
	m.clock.Advance(time.Hour)
	m.run(m.d, Pass{})
	for _, r := range m.run(m.d, Pass{Force: true}) {
		if len(r.Errors) > 0 || r.Waiting > 0 || r.Parked > 0 {
			t.Fatalf("last pass: %s, want all well", mustJSON(r))
		}
	}
	m.check(t)
	known := make(map[otlptest.ID]bool)
	for _, f := range m.sessions {
		v := m.view(f.key, m.d.Map)
		for _, r := range v.runs {
			for i, s := range slices.Collect(otlp.Spans(v.of(r))) {
				id := idOf(s)
				known[id] = true
				for _, p := range m.dsts {
					if r.Ended && p.count[id] == 0 && !p.refused[id.Trace] {
						t.Fatalf("%s never got span %v %q, number %d of run %s", p.name, id, s.Name, i, r.ID)
					}
				}
			}
		}
	}
	for _, p := range m.dsts {
		for id := range p.count {
			if !known[id] {
				t.Fatalf("%s has span %v %q that belongs to no run", p.name, id, p.spans[id].Name)
			}
		}
		calls := p.calls
		m.clock.Advance(time.Hour)
		m.run(m.d, Pass{Force: true})
		if p.calls != calls {
			t.Fatalf("%s was sent something after everything was delivered", p.name)
		}
	}
}

// size1 is size without a handle kept open.
func (m *machine) size1(k spool.Key) int64 {
	s, err := m.spool.Session(k)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	n, err := s.Size()
	if err != nil {
		m.t.Fatal(err)
	}
	return n
}

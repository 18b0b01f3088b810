package deliver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/spool"
)

// at sets when a session's log was last appended to.
func (b *bench) at(k spool.Key, when time.Time) {
	b.t.Helper()
	if err := os.Chtimes(b.path(k, "events.json-seq"), when, when); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) there(k spool.Key) bool {
	_, err := os.Lstat(b.path(k, "events.json-seq"))
	return err == nil
}

func TestHousekeepRemovesDeliveredSessions(t *testing.T) {
	for _, c := range []struct {
		name string
		age  time.Duration
		// undone changes the session after both destinations had it.
		undone func(t *testing.T, b *bench, k spool.Key)
		gone   bool
	}{
		{name: "all have it, silent for a day", age: keepDelivered + time.Second, gone: true},
		{name: "all have it, silent for less than a day", age: keepDelivered},
		{name: "all have it, stored in the future", age: -time.Hour},
		{
			name: "one destination lacks it", age: 100 * keepDelivered,
			undone: func(t *testing.T, b *bench, k spool.Key) {
				if err := os.Remove(b.path(k, "delivery-otlp.json")); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "a record came after", age: 100 * keepDelivered,
			undone: func(t *testing.T, b *bench, k spool.Key) { b.append(oneRun(t, "")[0]) },
		},
		{
			name: "a process died while it appended", age: keepDelivered + time.Second, gone: true,
			undone: func(t *testing.T, b *bench, k spool.Key) { tear(t, b, k) },
		},
		{
			name: "a process may be appending still", age: keepDelivered,
			undone: func(t *testing.T, b *bench, k spool.Key) { tear(t, b, k) },
		},
		{
			name: "a newer hookspan wrote to it", age: 100 * keepDelivered,
			undone: func(t *testing.T, b *bench, k spool.Key) {
				path := b.path(k, "events.json-seq")
				whole, err := os.ReadFile(path) //nolint:gosec // A file of the test.
				if err != nil {
					t.Fatal(err)
				}
				newer := strings.Replace(string(whole), `{"v":1,`, `{"v":9,`, 1)
				if err := os.WriteFile(path, []byte(newer), 0o600); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "a position is of another version", age: 100 * keepDelivered,
			undone: func(t *testing.T, b *bench, k spool.Key) {
				if err := os.WriteFile(b.path(k, "delivery-otlp.json"), []byte(`{"v":2}`), 0o600); err != nil {
					t.Fatal(err)
				}
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			k := b.append(oneRun(t, "")...)
			b.clock.Advance(time.Minute)
			d := b.deliverer(Destination{Name: "store", Client: &memory{}}, Destination{Name: "otlp", Client: &memory{}})
			b.run(d, Pass{})
			if c.undone != nil {
				c.undone(t, b, k)
			}
			b.at(k, b.clock.Now().Add(-c.age))
			err := d.Housekeep(t.Context(), Limits{})
			if bad := strings.Contains(c.name, "version"); (err != nil) != bad {
				t.Errorf("error %v, want one: %t", err, bad)
			}
			if b.there(k) == c.gone {
				t.Errorf("log is there: %t, want gone: %t", b.there(k), c.gone)
			}
		})
	}
}

// tear appends half a record, as a process does that is killed in the middle.
func tear(t testing.TB, b *bench, k spool.Key) {
	t.Helper()
	path := b.path(k, "events.json-seq")
	whole, err := os.ReadFile(path) //nolint:gosec // A file of the test.
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, whole[:100]...), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTornEndIsQuarantined(t *testing.T) {
	b := newBench(t)
	k := b.append(oneRun(t, "")...)
	b.clock.Advance(time.Minute)
	d := b.deliverer(Destination{Name: "store", Client: &memory{}})
	b.run(d, Pass{})
	tear(t, b, k)
	b.at(k, b.clock.Now().Add(-2*keepDelivered))
	if err := d.Housekeep(t.Context(), Limits{}); err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(filepath.Join(b.dir, k.Host, k.Name, "quarantine", "*"))
	if err != nil || len(kept) != 1 || b.there(k) {
		t.Errorf("quarantine holds %q (%v), log is there: %t; want the torn end alone", kept, err, b.there(k))
	}
}

func TestTornEndDoesNotBlockDelivery(t *testing.T) {
	b, m := newBench(t), &memory{}
	k := b.append(oneRun(t, "")...)
	tear(t, b, k)
	b.clock.Advance(time.Minute)
	d := b.deliverer(Destination{Name: "store", Client: m})
	if r := b.run(d, Pass{Wait: true})["store"]; r.Runs != 1 {
		t.Errorf("pass: %s, want the run before the torn end", mustJSON(r))
	}
	if r := b.run(d, Pass{})["store"]; r.Runs != 0 || len(r.Errors) != 0 {
		t.Errorf("second pass: %s, want nothing", mustJSON(r))
	}
	// What comes later is delivered as if nothing had happened.
	k2 := b.append(recorded(t, "e2e-cli2/precompact", recorded(t, "e2e-cli2/ok", "")[0].Session)...)
	if k2 != k {
		t.Fatal("another session")
	}
	b.clock.Advance(time.Minute)
	b.run(d, Pass{})
	wantIDs(t, "store", b.view(k, d.Map).ended(), m.ids())
	if len(b.logged("damaged")) == 0 {
		t.Error("the torn record was passed over silently")
	}
}

func TestHousekeepSkipsLockedSession(t *testing.T) {
	for _, name := range []string{"store", "otlp"} {
		for _, undelivered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, over the limit %t", name, undelivered), func(t *testing.T) {
				b := newBench(t)
				k := b.append(oneRun(t, "")...)
				b.clock.Advance(time.Minute)
				d := b.deliverer(Destination{Name: "store", Client: &memory{}}, Destination{Name: "otlp", Client: &memory{}})
				d.Map.IdleTimeout = time.Hour
				l := Limits{MaxBytes: 1}
				if !undelivered {
					b.run(d, Pass{})
					l = Limits{}
				}
				b.at(k, b.clock.Now().Add(-2*keepDelivered))
				unlock, ok, err := b.session(k).TryLock(name)
				if err != nil || !ok {
					t.Fatalf("lock: %t, %v", ok, err)
				}
				if err := d.Housekeep(t.Context(), l); err != nil || !b.there(k) {
					t.Errorf("error %v, log is there: %t; want it left alone", err, b.there(k))
				}
				if err := unlock(); err != nil {
					t.Fatal(err)
				}
				if err := d.Housekeep(t.Context(), l); err != nil || b.there(k) {
					t.Errorf("error %v, log is there: %t; want it removed once it is free", err, b.there(k))
				}
			})
		}
	}
}

func TestEvictionRemovesOldestDeliveredFirst(t *testing.T) {
	b := newBench(t)
	d := b.deliverer(Destination{Name: "store", Client: &memory{}})
	d.Map.IdleTimeout = 30 * time.Minute
	names := make(map[spool.Key]string)
	add := func(name, id string, delivered bool, age time.Duration) {
		k := b.append(oneRun(t, id)...)
		names[k] = name
		b.clock.Advance(2 * time.Second)
		if delivered {
			b.run(d, Pass{Sessions: []spool.Key{k}})
		}
		b.at(k, b.clock.Now().Add(-age))
	}
	add("delivered, young", "1795174830001", true, 2*time.Hour)
	add("delivered, old", "1795174830002", true, 4*time.Hour)
	add("delivered, at work", "1795174830003", true, 10*time.Minute)
	add("waiting, young", "1795174830004", false, 3*time.Hour)
	add("waiting, old", "1795174830005", false, 20*time.Hour)
	add("waiting, at work", "1795174830006", false, 10*time.Minute)
	add("waiting, from the future", "1795174830007", false, -time.Hour)

	var total int64
	for k := range names {
		total += b.size(k)
	}
	one := total / int64(len(names))
	want := [][]string{
		{},
		{"delivered, old"},
		{"delivered, young"},
		{"waiting, old"},
		{"waiting, young"},
		{}, // What is at work stays, however large.
		{},
	}
	for i, gone := range want {
		before := left(b, names)
		logged := len(b.logged("spool over its limit"))
		limit := max(1, total-int64(i)*one+one/2)
		if err := d.Housekeep(t.Context(), Limits{MaxBytes: limit}); err != nil {
			t.Fatal(err)
		}
		after := left(b, names)
		var removed []string
		for _, n := range names {
			if before[n] && !after[n] {
				removed = append(removed, n)
			}
		}
		if d := cmp.Diff(gone, append([]string{}, removed...)); d != "" {
			t.Errorf("step %d removed (-want +got):\n%s", i, d)
		}
		lines := b.logged("spool over its limit")[logged:]
		if len(lines) != len(gone) {
			t.Fatalf("step %d logged %q, want one line for each session removed", i, lines)
		}
		for _, l := range lines {
			if lost := strings.HasPrefix(gone[0], "waiting"); strings.Contains(l, "NOT DELIVERED") != lost || !strings.Contains(l, fmt.Sprintf("%d events", len(oneRun(t, "")))) {
				t.Errorf("step %d logged %q for %q", i, l, gone[0])
			}
		}
	}
}

func left(b *bench, names map[spool.Key]string) map[string]bool {
	out := make(map[string]bool)
	for k, n := range names {
		if b.there(k) {
			out[n] = true
		}
	}
	return out
}

func TestSessionContinuesAfterRemoval(t *testing.T) {
	b, m := newBench(t), &memory{}
	recs := recorded(t, "classic-session", "")
	k := b.append(recs[:19]...)
	b.clock.Advance(time.Minute)
	d := b.deliverer(Destination{Name: "store", Client: m})
	b.run(d, Pass{})
	before := len(m.ids())
	b.at(k, b.clock.Now().Add(-2*keepDelivered))
	if err := d.Housekeep(t.Context(), Limits{}); err != nil || b.there(k) {
		t.Fatalf("error %v, log is there: %t", err, b.there(k))
	}
	b.append(recs[21:]...)
	b.clock.Advance(time.Minute)
	b.run(d, Pass{})
	want := b.view(k, d.Map).ended()
	have := make(map[string]bool)
	for _, id := range m.ids() {
		have[id.Trace+id.Span] = true
	}
	for _, id := range want {
		if !have[id.Trace+id.Span] {
			t.Errorf("span %v of the new log is missing", id)
		}
	}
	if before == 0 || len(want) == 0 || m.doubles() != 0 {
		t.Errorf("%d spans before, %d after, %d doubles", before, len(want), m.doubles())
	}
}

func TestHousekeepKeepsSessionsOfOtherProcesses(t *testing.T) {
	for _, c := range []struct {
		name string
		// tried are the destinations that an earlier process had, of which otlp
		// was down; sweeps are those of the process that sweeps.
		tried, sweeps []string
		gone          bool
	}{
		{"all are set up here", []string{"store"}, []string{"store"}, true},
		{"one that is owed is not set up here", []string{"store", "otlp"}, []string{"store"}, false},
		{"one that has all is not set up here", []string{"store", "file"}, []string{"store"}, true},
		{"none is set up here", nil, nil, false},
		{"none is set up here, and another has all", []string{"store"}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			k := b.append(oneRun(t, "")...)
			b.clock.Advance(time.Minute)
			process := func(names []string) *Deliverer {
				var dsts []Destination
				for _, n := range names {
					m := &memory{}
					if n == "otlp" {
						m.before = fail(&Error{Err: errTest})
					}
					dsts = append(dsts, Destination{Name: n, Client: m})
				}
				return b.deliverer(dsts...)
			}
			b.run(process(c.tried), Pass{})
			b.at(k, b.clock.Now().Add(-100*keepDelivered))
			if err := process(c.sweeps).Housekeep(t.Context(), Limits{}); err != nil || b.there(k) == c.gone {
				t.Errorf("error %v, log is there: %t, want gone: %t", err, b.there(k), c.gone)
			}
		})
	}
}

func TestRefusedRunIsKeptForAMonth(t *testing.T) {
	b := newBench(t)
	k := b.append(oneRun(t, "")...)
	b.clock.Advance(time.Minute)
	m := &memory{before: fail(&Error{Err: errTest, Permanent: true})}
	d := b.deliverer(Destination{Name: "otlp", Client: m})
	b.run(d, Pass{})
	b.at(k, b.clock.Now())
	elsewhere := b.deliverer(Destination{Name: "store", Client: &memory{}})
	b.run(elsewhere, Pass{})
	for _, c := range []struct {
		age  time.Duration
		gone bool
	}{{25 * time.Hour, false}, {keepParked - time.Hour, false}, {keepParked + time.Hour, true}} {
		for to := began.Add(time.Minute + c.age); b.clock.Now().Before(to); {
			b.clock.Advance(min(20*time.Hour, to.Sub(b.clock.Now())))
			if err := elsewhere.Housekeep(t.Context(), Limits{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range []*Deliverer{elsewhere, d} {
			if err := d.Housekeep(t.Context(), Limits{}); err != nil || b.there(k) == c.gone {
				t.Errorf("after %v: error %v, log is there: %t, want gone: %t", c.age, err, b.there(k), c.gone)
			}
			if c.gone {
				break
			}
		}
	}
}

// TestLogWaitsForTheDestinationsOfItsRecords has processes sweep that are not set up for
// all destinations that the hooks had.
func TestLogWaitsForTheDestinationsOfItsRecords(t *testing.T) {
	for _, c := range []struct {
		to, sweeps []string
		gone       bool
	}{
		{[]string{"store"}, []string{"store"}, true},
		{[]string{"store,otlp"}, []string{"store"}, false},
		{[]string{"store,otlp"}, []string{"store", "otlp"}, true},
		{[]string{"store", "store,otlp", "store"}, []string{"store"}, false},
		{[]string{"otlp"}, []string{"store"}, false},
		{[]string{""}, []string{"store"}, true},
		{[]string{"store,a-later-one"}, []string{"store"}, false},
	} {
		for _, l := range []Limits{{}, {MaxBytes: 1}} {
			t.Run(fmt.Sprintf("%q, %q, limit %d", c.to, c.sweeps, l.MaxBytes), func(t *testing.T) {
				b := newBench(t)
				records := oneRun(t, "")
				for i := range records {
					records[i].To = c.to[min(i, len(c.to)-1)]
				}
				k := b.append(records...)
				b.clock.Advance(time.Minute)
				var dsts []Destination
				for _, name := range c.sweeps {
					dsts = append(dsts, Destination{Name: name, Client: &memory{}})
				}
				d := b.deliverer(dsts...)
				d.Map.IdleTimeout = time.Hour
				b.run(d, Pass{})
				b.at(k, b.clock.Now().Add(-2*keepDelivered))
				err := d.Housekeep(t.Context(), l)
				said := strings.Join(b.logged("NOT DELIVERED to "), "")
				if err != nil || b.there(k) == (c.gone || l.MaxBytes > 0) || (said != "") == (c.gone || l.MaxBytes == 0) {
					t.Errorf("error %v, log is there: %t, want gone: %t; logged %q", err, b.there(k), c.gone, said)
				}
			})
		}
	}
}

// TestEvictionOfRefusedRunsIsNoDelivery has one destination refuse a session that the
// other has.
func TestEvictionOfRefusedRunsIsNoDelivery(t *testing.T) {
	b := newBench(t)
	k := b.append(oneRun(t, "")...)
	b.clock.Advance(time.Minute)
	d := b.deliverer(Destination{Name: "store", Client: &memory{}},
		Destination{Name: "otlp", Client: &memory{before: fail(&Error{Err: errTest, Permanent: true})}})
	d.Map.IdleTimeout = 30 * time.Minute
	b.run(d, Pass{})
	b.at(k, b.clock.Now().Add(-time.Hour))
	if err := d.Housekeep(t.Context(), Limits{MaxBytes: 1}); err != nil {
		t.Fatal(err)
	}
	if l := b.logged("spool over its limit"); len(l) != 1 || !strings.Contains(l[0], "NOT DELIVERED") {
		t.Errorf("logged %q, want that refused runs are gone", l)
	}
}

// TestSessionThatIsNeverSilentForADayIsEvicted has one event an hour, each delivered.
func TestSessionThatIsNeverSilentForADayIsEvicted(t *testing.T) {
	b := newBench(t)
	d := b.claudeDeliverer(nil, Destination{Name: "store", Client: &memory{}})
	for i := range 48 {
		k := b.append(turn(fmt.Sprintf("p%d", i))...)
		b.at(k, b.clock.Now())
		b.clock.Advance(time.Hour)
		b.run(d, Pass{})
		if err := d.Housekeep(t.Context(), Limits{MaxBytes: 4 << 10}); err != nil || b.there(k) && b.size(k) > 4<<10 {
			t.Fatalf("after %d hours: error %v, %d bytes, more than the limit", i, err, b.size(k))
		}
	}
	if len(b.logged("NOT DELIVERED")) > 0 {
		t.Error("events were lost")
	}
}

// TestKilledRemovalIsFinished has a removal end after the log lost its name. The process
// that sweeps next is not set up for one of the destinations.
func TestKilledRemovalIsFinished(t *testing.T) {
	b := newBench(t)
	k := b.append(oneRun(t, "")...)
	b.clock.Advance(time.Minute)
	b.run(b.deliverer(Destination{Name: "store", Client: &memory{}}, Destination{Name: "otlp", Client: &memory{}}), Pass{})
	if err := os.Rename(b.path(k, "events.json-seq"), b.path(k, "0123456789abcdef.lock")); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(b.path(k, "x"))
	old := b.clock.Now().Add(-2 * keepDelivered)
	if err := os.Chtimes(folder, old, old); err != nil {
		t.Fatal(err)
	}
	if err := b.deliverer(Destination{Name: "store", Client: &memory{}}).Housekeep(t.Context(), Limits{}); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(folder); err == nil {
		t.Errorf("the folder still has %v", entries)
	}
}

// TestWrongClockKeepsRefusedRuns sweeps while the clock is years ahead, then back. The log of
// a refused run stays for a month of even sweeps, and its removal is logged.
func TestWrongClockKeepsRefusedRuns(t *testing.T) {
	for name, c := range map[string]struct {
		before, after time.Duration // how far the clock is off when the run is refused, and then
	}{
		"ahead later": {0, 5 * 365 * 24 * time.Hour}, "ahead then": {5 * 365 * 24 * time.Hour, 0}, "two days later": {0, 48 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			k := b.append(oneRun(t, "")...)
			b.clock.Advance(time.Minute + c.before)
			d := b.deliverer(Destination{Name: "otlp", Client: &memory{before: fail(&Error{Err: errTest, Permanent: true})}})
			d.Map.IdleTimeout = 30 * time.Minute
			b.run(d, Pass{})
			b.at(k, began)
			sweep := func() {
				if err := d.Housekeep(t.Context(), Limits{}); err != nil {
					t.Fatal(err)
				}
			}
			for range 20 {
				b.clock.Advance(c.after - c.before)
				sweep()
				b.clock.Advance(time.Minute)
				sweep()
				b.clock.Advance(c.before - c.after)
				sweep()
			}
			b.clock.Advance(c.after - c.before)
			sweep()
			if !b.there(k) {
				t.Fatal("the log of a refused run is gone")
			}
			days := 0
			for ; b.there(k) && days < 100; days++ {
				b.clock.Advance(12 * time.Hour)
				sweep()
				b.clock.Advance(12*time.Hour - time.Minute)
				sweep()
			}
			if days < 29 || days > 31 {
				t.Errorf("removed after %d days, want 30", days)
			}
			if len(b.logged("1 refused runs were not taken within 30 days")) != 1 {
				t.Errorf("logged %q", b.logged(""))
			}
		})
	}
}

// TestSweepReadsNoLogAgainForAMissingDestination has a session that was meant for a destination
// too that no process delivers to: it stays, and later sweeps do not read its log.
func TestSweepReadsNoLogAgainForAMissingDestination(t *testing.T) {
	b := newBench(t)
	d := b.claudeDeliverer(nil, Destination{Name: "store", Client: &memory{}})
	decoded, src := 0, d.Sources["claude-code"]
	src.Decode = hooked(src.Decode, func() { decoded++ })
	d.Sources["claude-code"] = src
	var k spool.Key
	for i := range 100 {
		recs := turn(fmt.Sprintf("p%d", i))
		for n := range recs {
			recs[n].To = "store,otlp"
		}
		k = b.append(recs...)
	}
	b.append(said("SessionEnd", "p99", `"reason":"other"`))
	b.clock.Advance(time.Minute)
	b.run(d, Pass{})
	b.at(k, b.clock.Now())
	b.clock.Advance(time.Hour)
	for sweep := range 3 {
		decoded = 0
		if err := d.Housekeep(t.Context(), Limits{}); err != nil || !b.there(k) {
			t.Fatalf("error %v, the log is there: %t", err, b.there(k))
		}
		if sweep > 0 && decoded > 100 {
			t.Errorf("sweep %d decodes %d events of 401", sweep, decoded)
		}
	}
	var logged []string
	d.Log = func(line string) { logged = append(logged, line) }
	if err := d.Housekeep(t.Context(), Limits{MaxBytes: 1}); err != nil || !strings.Contains(strings.Join(logged, " "), "NOT DELIVERED to otlp") {
		t.Errorf("%v, logged %q, want which destination lacks it", err, logged)
	}
}

// TestEachTryDoesNotRenewTheAge refuses a run at each of its tries: it is given up after a month.
func TestEachTryDoesNotRenewTheAge(t *testing.T) {
	for name, refused := range map[string]*Error{
		"it fails": {Err: errTest, RunOnly: true}, "it is denied": {Err: errTest, Permanent: true, Denied: true},
	} {
		b, m := newBench(t), &memory{before: fail(refused)}
		d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Taken: func() time.Time { return time.Now().Add(1000 * time.Hour) }})
		k := b.append(turn("p1")...)
		b.clock.Advance(time.Minute)
		b.run(d, Pass{})
		b.at(k, b.clock.Now())
		calls := m.calls
		for hours := 0; b.there(k); hours += 6 {
			if b.clock.Advance(6 * time.Hour); hours > 31*24 {
				t.Fatalf("%s: after %d hours and %d tries the log is there", name, hours, m.calls)
			}
			b.run(d, Pass{})
			if err := d.Housekeep(t.Context(), Limits{}); err != nil {
				t.Fatal(err)
			}
		}
		if m.calls < calls+10 {
			t.Errorf("%s: %d tries", name, m.calls-calls)
		}
	}
}

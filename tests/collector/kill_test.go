package collector_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

var killRows = []proof.Row{{
	Name:  "SIGKILL of an agent, a gateway or the backend at a random moment under load, and its restart",
	Rule:  "every span of every event that a hook has answered for comes to the backend, under its ids and with its content",
	Short: 12, Long: 200,
	Run: killUnderLoad,
}}

func killUnderLoad(t *testing.T, r *proof.Result) {
	if !lab.CanAwait {
		r.Skip("the deliveries that hooks start can be ended on Linux alone")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // No secret hangs on it.
	f := newFleet(t, knobs{machines: 2})
	f.startAll()
	stop := f.load(r)
	killed := make(map[string]int)
	var overlapping int
	for n := 0; n < r.N; {
		// By how much has come, or by time: neither alone reaches every moment.
		limit, have := time.Duration(rnd.Int64N(int64(2*time.Second))), f.archive.total(t)
		more := rnd.IntN(400)
		until(t.Context(), limit, func() bool { return f.archive.total(t) >= have+more })
		victims := []*process{f.pick(rnd)}
		if rnd.IntN(4) == 0 {
			if second := f.pick(rnd); second != victims[0] {
				victims = append(victims, second)
				overlapping++
			}
		}
		for _, p := range victims {
			if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
			killed[p.name]++
			n++
			r.Trial(1)
		}
		// Away for a while, in which the others go on.
		until(t.Context(), time.Duration(rnd.Int64N(int64(time.Second))), func() bool { return false })
		for _, p := range victims {
			p.start(t)
		}
	}
	stop()
	v := f.settled(r)
	for i, s := range v.lost {
		if i == 5 {
			r.Break("and %d more of %d spans are lost", len(v.lost)-i, v.want)
			break
		}
		r.Break("span %v %q is lost", s.ID, s.Name)
	}
	sessions := 0
	for _, m := range f.machines {
		sessions += m.sessions
	}
	r.Note("%s; %d times two at once; %d spans of %d sessions, %d copies came again", counted(killed), overlapping, v.want, sessions, v.again)
}

func counted(m map[string]int) string {
	var agents, gateways, others int
	for name, n := range m {
		switch name[:5] {
		case "agent":
			agents += n
		case "gatew":
			gateways += n
		default:
			others += n
		}
	}
	return fmt.Sprintf("%d agents, %d gateways, %d backends were killed", agents, gateways, others)
}

func (f *fleet) pick(rnd *rand.Rand) *process {
	all := f.all()
	return all[rnd.IntN(len(all))]
}

// load stores sessions and delivers without a pause, on each machine, until it
// is stopped.
func (f *fleet) load(r *proof.Result) (stop func()) {
	f.t.Helper()
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, m := range f.machines {
		for range recordings {
			m.hooks()
		}
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for range 3 {
					if err := m.store(); err != nil {
						r.Break("machine %s: %v", m.name, err)
						return
					}
				}
				if err := m.flush(); err != nil {
					r.Break("machine %s: %v", m.name, err)
					return
				}
			}
		})
	}
	return func() { close(done); wg.Wait() }
}

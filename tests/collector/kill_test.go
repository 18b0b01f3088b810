package collector_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

var killRows = []proof.Row{{
	Name:  "SIGKILL of an agent, a gateway or the backend at a random moment under load, and its restart",
	Rule:  "every span of every event that a hook has answered for reaches the backend, under its ids and with its content; every run reaches Infinium",
	Short: 8, Long: 200,
	Run: killUnderLoad,
}}

func killUnderLoad(t *testing.T, r *proof.Result) {
	needsLab(r)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // No secret hangs on it.
	platform := infiniumtest.New(t)
	f := newFleet(t, knobs{machines: 2, gateway: infiniumConfig(platform)})
	f.startAll()
	stop := f.load(r)
	killed := make(map[string]int)
	var down []*process
	overlapping, starting := 0, 0
	for n := 0; n < r.N; {
		// By how much has arrived, or by time: neither alone reaches every moment.
		limit, have := time.Duration(rnd.Int64N(int64(2*time.Second))), f.archive.total(t)
		more := rnd.IntN(400)
		until(t.Context(), limit, func() bool { return f.archive.total(t) >= have+more })
		// Some stay away while others are killed, so that queues are full then.
		down = slices.DeleteFunc(down, func(p *process) bool {
			if rnd.IntN(2) == 0 {
				return false
			}
			if !startLoses && rnd.IntN(3) == 0 {
				if err := p.Launch(t.Context()); err != nil {
					t.Fatal(err)
				}
				until(t.Context(), time.Duration(rnd.Int64N(int64(time.Second))), func() bool { return false })
				if err := p.Kill(); err != nil {
					t.Fatal(err)
				}
				starting++
				return false
			}
			p.start(t)
			return true
		})
		p := f.pick(rnd)
		if !p.Running() {
			continue
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		if down = append(down, p); len(down) > 1 {
			overlapping++
		}
		killed[p.name]++
		n++
		r.Trial(1)
	}
	f.startAll()
	stop()
	v := f.settled(r)
	v.check(r)
	onPlatform := f.infinium(r, platform)
	compactions := 0
	for _, p := range f.all() {
		compactions += strings.Count(p.Log(), "finished compaction")
	}
	r.Note("%s, %d of them while another was down; %d more while they started; queue files were made smaller %d times; %s; %s",
		counted(killed), overlapping, starting, compactions, f.figures(v), onPlatform)
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
	f.firstSessions()
	for _, m := range f.machines {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for range 10 {
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

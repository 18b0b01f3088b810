package fault_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// crowdHooks is how many hooks run at once.
const crowdHooks = 16

// killRandomRows kill hooks and deliveries at random moments, in the
// middle of a system call, too.
var killRandomRows = []proof.Row{{
	Name:  fmt.Sprintf("SIGKILL at a random moment of one of %d hooks at once, with a delivery running", crowdHooks),
	Rule:  "events that were answered for are there, whole, once; all that is stored is delivered",
	Short: 500, Long: 20000,
	Run: func(t *testing.T, r *proof.Result) {
		if !lab.CanAwait {
			r.Skip("the deliveries that hooks start can be ended on Linux alone")
		}
		const round = 5000
		var sum crowd
		for r.N > int(sum.killed.Load()) {
			killCrowd(t, r, &sum, min(r.N-int(sum.killed.Load()), round))
		}
		r.Note("%d hooks ended before their moment came; %d deliveries were killed, %d ended; %d torn records",
			sum.ended.Load(), sum.deliveriesKilled, sum.deliveriesEnded, sum.torn)
	},
}}

// crowd counts what became of many programs.
type crowd struct {
	killed, ended                     atomic.Int64
	deliveriesKilled, deliveriesEnded int
	torn                              int
}

// moments draws when to kill: evenly over the time that a program takes, as long
// as the last ones of its kind took.
type moments struct {
	mu   sync.Mutex
	rnd  *rand.Rand
	mean float64
}

func (m *moments) draw() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Duration(m.rnd.Float64() * 1.1 * m.mean)
}

func (m *moments) took(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mean += (float64(d) - m.mean) / 16
}

// killed starts the program, kills it at a moment, and reports whether that was
// before its end.
func (m *moments) killed(cmd *exec.Cmd) (bool, error) {
	moment := m.draw()
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return false, err
	}
	timer := time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	timer.Stop()
	if cmd.ProcessState.ExitCode() < 0 {
		return true, nil
	}
	m.took(time.Since(began))
	return false, err
}

// killCrowd makes kills on a separate machine.
func killCrowd(t *testing.T, r *proof.Result, sum *crowd, kills int) {
	const hooks, sessions = crowdHooks, 4
	w := lab.New(t, "HOOKSPAN_EXPORTERS=store,otlp,file")
	var mu sync.Mutex
	var l ledger
	var left atomic.Int64
	left.Store(int64(kills))
	hookTimes := &moments{rnd: rand.New(rand.NewPCG(1, uint64(sum.killed.Load()))), mean: float64(10 * time.Millisecond)} //nolint:gosec // No secret hangs on it.
	flushTimes := &moments{rnd: rand.New(rand.NewPCG(2, uint64(sum.killed.Load()))), mean: float64(100 * time.Millisecond)}
	one := func() error {
		mu.Lock()
		n := l.number()
		mu.Unlock()
		a := &hosts[n%len(hosts)]
		hook := a.tool
		if n%64 < len(hosts) {
			hook = a.end
		}
		cmd := w.Program(a.program, a.args(hook)...)
		cmd.Stdin = bytes.NewReader(a.payload(hook, fmt.Sprintf("crowd-%d", n%sessions), n))
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		killed, err := hookTimes.killed(cmd)
		answer := out.String()
		acked := !killed || a.answer != "" && answer == a.answer
		mu.Lock()
		l.acked[n] = acked
		mu.Unlock()
		if killed {
			sum.killed.Add(1)
			left.Add(-1)
			r.Trial(1)
		} else {
			sum.ended.Add(1)
		}
		if err != nil || answer != a.answer && (!killed || answer != "") || errs.Len() > 0 {
			return fmt.Errorf("%s: %w, killed: %t, answered %q, said %q", a.program, err, killed, answer, errs.String())
		}
		return nil
	}
	var crowd sync.WaitGroup
	for range hooks {
		crowd.Go(func() {
			for left.Load() > 0 {
				if err := one(); err != nil {
					r.Break("%v", err)
				}
			}
		})
	}
	over := make(chan struct{})
	var delivery sync.WaitGroup
	delivery.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-over:
				return
			default:
			}
			cmd := w.Program("hookspan", "flush")
			if i%2 == 0 {
				killed, _ := flushTimes.killed(cmd)
				if killed {
					sum.deliveriesKilled++
					continue
				}
			} else if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
				r.Break("delivery: %v", err)
			}
			sum.deliveriesEnded++
		}
	})
	crowd.Wait()
	close(over)
	delivery.Wait()
	if err := lab.EndDeliveries(w.Home); err != nil {
		t.Fatal(err)
	}
	_, torn := stored(t, w)
	sum.torn += torn
	deliverAll(t, r, w, &l)
}

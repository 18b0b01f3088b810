package collector_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

var outageRows = []proof.Row{
	{
		Name:  "a gateway away until the queues of the agents are full and refuse, and sessions beyond that",
		Rule:  "hookspan keeps what an agent refuses; once the gateway is back every span comes",
		Short: 10, Long: 400,
		Run: fullQueue,
	},
	{
		Name:  "hookspan, agents, gateways and the backend started in any order",
		Rule:  "what was delivered before the next one was there comes once it is",
		Short: 2, Long: 24,
		Run: anyOrder,
	},
}

// fullQueue counts the sessions that are stored once a queue is full.
func fullQueue(t *testing.T, r *proof.Result) {
	needsLab(r)
	f := newFleet(t, knobs{machines: 2, agent: "yaml:\nexporters: {otlp_http: {sending_queue: {sizer: requests, queue_size: 20}}}"})
	f.startAll()
	f.firstSessions()
	if err := f.gateways[1].Kill(); err != nil {
		t.Fatal(err)
	}
	// Sessions until each agent refuses.
	before := 0
	for _, m := range f.machines {
		full := until(t.Context(), 2*time.Minute, func() bool {
			for range 5 {
				if err := m.store(); err != nil {
					t.Fatal(err)
				}
				before++
			}
			return strings.Contains(fmt.Sprint(m.Flush()["otlp"].Errors), "queue is full")
		})
		if !full {
			t.Fatalf("machine %s: its agent has not refused anything: %v", m.name, m.Flush())
		}
	}
	waiting := 0
	for n := range r.N {
		m := f.machines[n%len(f.machines)]
		if err := m.store(); err != nil {
			t.Fatal(err)
		}
		if n%10 < len(f.machines) {
			if err := m.flush(); err != nil {
				t.Fatal(err)
			}
		}
		r.Trial(1)
	}
	for _, m := range f.machines {
		waiting += m.Flush()["otlp"].Waiting
	}
	if waiting < r.N {
		r.Break("%d runs wait while a queue is full, want one of each of %d sessions at least", waiting, r.N)
	}
	f.startAll()
	v := f.settled(r)
	v.check(r)
	r.Note("full after %d sessions, %d runs waited in hookspan; %s", before, waiting, f.figures(v))
}

func needsLab(r *proof.Result) {
	if !lab.CanAwait {
		r.Skip("the deliveries that hooks start can be ended on Linux alone")
	}
}

// anyOrder starts what there is in one order after another, and delivers after
// each start.
func anyOrder(t *testing.T, r *proof.Result) {
	needsLab(r)
	orders := permutations([]string{"hookspan", "agents", "gateways", "backend"})
	// The order in which none finds its destination is first, then the others.
	rand.Shuffle(len(orders)-1, func(i, j int) { orders[i+1], orders[j+1] = orders[j+1], orders[i+1] })
	var tried []string
	for _, order := range orders[:min(r.N, len(orders))] {
		inOrder(t, r, order)
		tried = append(tried, strings.Join(order, ", "))
		r.Trial(1)
	}
	if len(tried) < len(orders) {
		r.Note("%s", strings.Join(tried, "; "))
	}
}

func inOrder(t *testing.T, r *proof.Result, order []string) {
	f := newFleet(t, knobs{machines: 1})
	hooks := false
	for _, what := range order {
		started := f.agents
		switch what {
		case "hookspan":
			started, hooks = nil, true
			f.firstSessions()
		case "gateways":
			started = f.gateways
		case "backend":
			started = []*process{f.backend}
		}
		for _, p := range started {
			p.start(t)
		}
		if hooks {
			for _, m := range f.machines {
				if err := m.store(); err != nil {
					t.Fatal(err)
				}
				if err := m.flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	v := f.settled(r)
	v.check(r)
	for _, p := range f.all() {
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
	}
}

func permutations(of []string) [][]string {
	if len(of) == 1 {
		return [][]string{of}
	}
	var out [][]string
	for i, first := range of {
		for _, rest := range permutations(slices.Delete(slices.Clone(of), i, i+1)) {
			out = append(out, append([]string{first}, rest...))
		}
	}
	return out
}

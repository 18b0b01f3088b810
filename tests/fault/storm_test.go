package fault_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// stormRows start many hooks on one session at once.
var stormRows = []proof.Row{
	storm(1, 4), storm(16, 2), storm(64, 2), storm(256, 1),
}

func storm(hooks, rounds int) proof.Row {
	return proof.Row{
		Name:  fmt.Sprintf("%d hooks at once on one session", hooks),
		Rule:  "each answers neutrally and exits with 0; each event is there, whole, once",
		Short: hooks * rounds, Long: hooks * rounds * 10,
		Run: func(t *testing.T, r *proof.Result) {
			w := lab.New(t)
			for first := 0; first < r.N; first += hooks {
				var wg sync.WaitGroup
				for i := range hooks {
					wg.Go(func() {
						if err := w.TryHook("PreToolUse", preToolUse("storm", first+i)); err != nil {
							r.Break("hook %d: %v", first+i, err)
						}
						r.Trial(1)
					})
				}
				wg.Wait()
			}
			seen := make(map[int]int)
			for _, rec := range w.Records(t) {
				seen[toolNumber(t, rec.Payload)]++
			}
			for i := range r.N {
				if seen[i] != 1 {
					r.Break("event %d is stored %d times", i, seen[i])
				}
			}
		},
	}
}

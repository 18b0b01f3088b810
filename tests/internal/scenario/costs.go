package scenario

import (
	"fmt"
	"math"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

// Price is what a million tokens of a model cost in USD.
type Price struct{ Input, CacheRead, CacheWrite, Output float64 }

// CompareCosts compares the costs on the chat spans with those of the tokens that the
// model answered with, and the root's cost with their sum. prices are by model; a model
// without one has no cost. It returns what differs, one line each.
func CompareCosts(t *rig.Trace, requests []llm.Request, prices map[string]Price) (wrong []string) {
	if t.Root == nil {
		return []string{"no root to compare the cost of"}
	}
	spans := make(map[string]*sink.Span)
	for _, s := range t.Operation(otelmap.OpChat) {
		spans[s.Attrs.String(otelmap.KeyResponseID)] = s
	}
	compare := func(what string, s *sink.Span, want float64, known bool) {
		got, there := s.Attrs[otelmap.KeyCost].(float64)
		if there != known || math.Abs(got-want) > 1e-12 {
			wrong = append(wrong, fmt.Sprintf("%s: cost %v (there: %v), want %v (%v)", what, got, there, want, known))
		}
	}
	var sum float64
	var known bool
	for _, r := range requests {
		s, u := spans[r.ID], r.Usage
		if u == nil || !r.Complete || s == nil {
			continue // CompareModel reports a request without a span
		}
		p, priced := prices[r.Model]
		cost := (float64(u.Input)*p.Input + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite + float64(u.Output)*p.Output) / 1e6
		compare("request "+r.ID, s, cost, priced)
		sum, known = sum+cost, known || priced
	}
	compare("the root", t.Root, sum, known)
	return wrong
}

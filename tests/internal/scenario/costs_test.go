package scenario_test

import (
	"strings"
	"testing"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestCompareCostsFindsWhatDiffers(t *testing.T) {
	t.Parallel()
	list := map[string]scenario.Price{"m": {Input: 1, CacheRead: 0.5, CacheWrite: 2, Output: 10}}
	// A request has 1 token written, 2 read and 3 of output beside its input.
	right := map[string]any{"c1": 43e-6, "c2": 53e-6, "c4": 63e-6, "root": 159e-6}
	for name, tt := range map[string]struct {
		list map[string]scenario.Price
		// change are other costs, nil for none.
		change map[string]any
		want   string
	}{
		"nothing":                  {list, nil, ""},
		"a request":                {list, map[string]any{"c2": 54e-6}, "request m2"},
		"a request without a cost": {list, map[string]any{"c2": nil}, "request m2"},
		"the sum":                  {list, map[string]any{"root": 160e-6}, "the root"},
		"no sum":                   {list, map[string]any{"root": nil}, "the root"},
		"a cost without a price":   {nil, nil, "request m1"},
		"no price":                 {nil, map[string]any{"c1": nil, "c2": nil, "c4": nil, "root": nil}, ""},
		"a sum without a price":    {nil, map[string]any{"c1": nil, "c2": nil, "c4": nil, "root": 0.0}, "the root"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests, _, spans := sample()
			for i := range requests {
				requests[i].Model = "m"
			}
			for i := range spans {
				cost, there := right[spans[i].SpanID]
				if other, changed := tt.change[spans[i].SpanID]; changed {
					cost, there = other, other != nil
				}
				if there {
					spans[i].Attrs[otelmap.KeyCost] = cost
				}
			}
			traces, _ := rig.Traces(spans)
			got := strings.Join(scenario.CompareCosts(traces[0], requests, tt.list), "\n")
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("CompareCosts says %q, want %q", got, tt.want)
			}
		})
	}
}

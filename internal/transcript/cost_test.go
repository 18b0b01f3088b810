package transcript

import (
	"math"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
)

func TestListCost(t *testing.T) {
	july, august := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 8, 21, 0, 0, 0, 0, time.UTC)
	usage := &hook.Usage{Input: 1000, CacheRead: 600, CacheWrite: 100, Output: 50, InputIncludesCache: true}
	for _, tt := range []struct {
		name   string
		call   hook.Request
		writes bool
		want   float64 // negative: none
	}{
		{"the cache is a part of the input", hook.Request{Model: "gpt-5.6-sol", Start: july, Usage: usage}, true, 0.0015 + 0.0003 + 0.000625 + 0.0015},
		{"the cache comes on top", hook.Request{Model: "gpt-5.6-sol", Start: july, Usage: &hook.Usage{Input: 1000, CacheRead: 600, CacheWrite: 100, Output: 50}}, true, 0.005 + 0.0003 + 0.000625 + 0.0015},
		{"at the price of the day", hook.Request{Model: "gpt-5.6-sol", Start: august, End: july, Usage: usage}, true, 0.0012 + 0.00024 + 0.0005 + 0.001},
		{"at the price of its end", hook.Request{Model: "gpt-5.6-sol", End: july, Usage: usage}, true, 0.0015 + 0.0003 + 0.000625 + 0.0015},
		{"more from the cache than in all", hook.Request{Model: "gpt-5.5", Usage: &hook.Usage{Input: 100, CacheRead: 600, InputIncludesCache: true}}, true, 0.0003},
		{"uncounted writes", hook.Request{Model: "gpt-5.6-sol", Usage: &hook.Usage{Input: 1000, InputIncludesCache: true}}, false, -1},
		{"uncounted writes that cost no more", hook.Request{Model: "gpt-5.5", Usage: &hook.Usage{Input: 1000, InputIncludesCache: true}}, false, 0.005},
		{"an unknown model", hook.Request{Model: "mine", Usage: usage}, true, -1},
		{"a request without tokens", hook.Request{Model: "gpt-5.5"}, true, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := -1.0
			if c := ListCost(&tt.call, tt.writes); c != nil {
				got = *c
			}
			if math.Abs(got-tt.want) > 1e-12 {
				t.Errorf("cost = %v, want %v", got, tt.want)
			}
		})
	}
}

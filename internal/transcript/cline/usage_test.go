package cline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
)

func TestInputIncludesCacheByProvider(t *testing.T) {
	n := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name, provider string
		in, read       float64
		want           int64
	}{
		{"subtracted by Cline", "openai-native", 700, 300, 1000},
		{"separate at the source", "anthropic", 14, 13000, 13014},
		{"as the API counts", "openai", 1000, 300, 1000},
		{"unknown", "some-new-provider", 700, 300, 1000},
		{"smaller than its part, so not included", "openai", 100, 300, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := classicUsage(c.provider, counts{input: n(c.in), cacheRead: n(c.read)})
			if got := u.TotalInput(); got != c.want {
				t.Errorf("total input = %d, want %d", got, c.want)
			}
		})
	}
}

func TestUsageKeepsAbsentApartFromZero(t *testing.T) {
	zero, big, negative := 0.0, 1e300, -1.0
	if u := classicUsage("openai", counts{}); u != nil {
		t.Errorf("usage of nothing = %+v, want nil", u)
	}
	if diff := cmp.Diff(&hook.Usage{CostUSD: &zero}, classicUsage("anthropic", counts{cost: &zero})); diff != "" {
		t.Errorf("cost of zero (-want +got):\n%s", diff)
	}
	if u := sdkUsage(counts{input: &big, output: &negative}); u.Input != 0 || u.Output != 0 || u.CostUSD != nil {
		t.Errorf("usage of nonsense = %+v, want zeros", u)
	}
}

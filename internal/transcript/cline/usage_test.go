package cline

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

func counts(text string) *hook.Usage {
	return usage(rawjson.Members([]byte(text)), &classicCounts)
}

func TestInputIncludesCacheByProvider(t *testing.T) {
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
			u := counts(fmt.Sprintf(`{"tokensIn":%v,"cacheReads":%v}`, c.in, c.read))
			setIncludesCache(u, inputIncludesCache[c.provider])
			if got := u.TotalInput(); got != c.want {
				t.Errorf("total input = %d, want %d", got, c.want)
			}
		})
	}
}

func TestUsageKeepsAbsentApartFromZero(t *testing.T) {
	zero := 0.0
	if u := counts(`{"cost":null}`); u != nil {
		t.Errorf("usage of nothing = %+v, want nil", u)
	}
	if diff := cmp.Diff(&hook.Usage{CostUSD: &zero}, counts(`{"cost":0}`)); diff != "" {
		t.Errorf("cost of zero (-want +got):\n%s", diff)
	}
	if u := counts(`{"tokensIn":1,"cost":-3}`); u.CostUSD != nil {
		t.Errorf("a negative cost = %v, want none", *u.CostUSD)
	}
	if u := counts(`{"tokensIn":1e300,"tokensOut":-1}`); u.Input != 0 || u.Output != 0 || u.CostUSD != nil {
		t.Errorf("usage of nonsense = %+v, want zeros", u)
	}
}

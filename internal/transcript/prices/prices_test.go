package prices

import (
	"math"
	"testing"
	"time"
)

func TestCost(t *testing.T) {
	const m = 1_000_000
	november := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		model  string
		at     time.Time
		tokens Tokens
		want   float64 // negative: none
	}{
		{"each kind of token", "gpt-6.2-sol", november, Tokens{Input: 100_000, Read: 100_000, Write: 50_000, Output: m}, 0.2 + 0.01 + 0.125 + 10},
		{"nothing", "gpt-5.5", november, Tokens{}, 0},
		{"an unknown model", "gpt-7", november, Tokens{Input: m}, -1},

		{"the longest input of the usual price", "gpt-5.5", november, Tokens{Input: 200_000, Read: 72_000, Output: 1000}, 1 + 0.036 + 0.03},
		{"a long input", "gpt-5.5", november, Tokens{Input: 200_000, Read: 72_001, Output: 1000}, 2 + 0.072001 + 0.045},
		{"a long input by what is written", "gpt-6-astra", november, Tokens{Input: 272_000, Write: 1}, 5.44 + 0.000025},
		{"a long input of Google's", "gemini-2.5-pro", november, Tokens{Input: 100_000, Read: 100_001, Output: 1000}, 0.25 + 0.02500025 + 0.015},
		{"the longest usual input of Google's", "gemini-2.5-pro", november, Tokens{Input: 100_000, Read: 100_000, Output: 1000}, 0.125 + 0.0125 + 0.01},
		{"a long input of Anthropic's", "claude-haiku-5-5", november, Tokens{Read: 50_000, Write: 50_000, Write1h: 1}, 0.0025 + 0.03125 + 0.000001},
		{"the longest usual input of Anthropic's", "claude-haiku-5-5", november, Tokens{Read: 50_000, Write: 49_999, Write1h: 1}, 0.0005 + 0.006249875 + 0.0000002},
		{"a model with one price for every length", "gpt-5.1", november, Tokens{Input: m}, 1.25},
		{"the longest input with a price", "gpt-6.1-terra", november, Tokens{Input: 272_000}, 0.272},
		{"no price of a longer one", "gpt-6.1-terra", november, Tokens{Input: 271_999, Read: 2}, -1},

		{"no price of cached input", "gpt-5-pro", november, Tokens{Input: m, Read: m}, 30},
		{"no price of cached input, long", "gpt-5.5-pro", november, Tokens{Read: m}, 60},
		{"no price of writing", "gpt-5.5", november, Tokens{Write: 100_000}, 0.5},
		{"writes for an hour where all last as long", "gpt-6-astra", november, Tokens{Write1h: 100_000}, 1.25},
		{"writes for an hour", "claude-sonnet-5", november, Tokens{Write: 400, Write1h: 600}, 0.001 + 0.0024},

		{"uncounted writes at the price of input", "gpt-5.5", november, Tokens{Input: 100_000, UncountedWrites: true}, 0.5},
		{"uncounted writes at another price", "gpt-6-astra", november, Tokens{Input: 100_000, UncountedWrites: true}, -1},
		{"uncounted writes of Anthropic's", "claude-sonnet-5", november, Tokens{Input: 100_000, UncountedWrites: true}, -1},

		{"in the fast mode, each kind of token", "claude-opus-5-5", november, Tokens{Input: 1000, Read: 1000, Write: 1000, Write1h: 1000, Output: 1000, Fast: true}, 2 * (0.004 + 0.0002 + 0.005 + 0.008 + 0.02)},
		{"in the fast mode, searches at the usual price", "claude-fable-5-2", november, Tokens{Output: 1000, Searches: 3, Fast: true}, 0.08 + 0.03},
		{"in the fast mode of early 2026", "claude-opus-4-6", time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Tokens{Input: 1000, Output: 1000, Fast: true}, 0.03 + 0.15},
		{"in the fast mode of summer 2026", "claude-opus-4-8", november, Tokens{Output: 1000, Fast: true}, 0.05},
		{"OpenAI's fast mode", "gpt-5.5", november, Tokens{Input: 1000, Read: 1000, Output: 1000, Fast: true}, 2.5 * (0.005 + 0.0005 + 0.03)},
		{"the fast mode after a price has changed", "gpt-5.6-sol", november, Tokens{Input: 1000, Write: 1000, Output: 1000, Fast: true}, 2 * (0.004 + 0.005 + 0.02)},
		{"a long input, which has no fast mode", "gpt-5.5", november, Tokens{Input: 300_000, Fast: true}, -1},
		{"a model of OpenAI's without a fast mode", "gpt-6-sol", november, Tokens{Output: 1000, Fast: true}, -1},
		{"a model without a fast mode", "claude-sonnet-5-5", november, Tokens{Output: 1000, Fast: true}, -1},
		{"searches of a vendor without their price", "gpt-5.5", november, Tokens{Searches: 1}, -1},

		{"before a price falls", "gpt-5.6-terra", time.Date(2026, 7, 29, 23, 59, 59, 0, time.UTC), Tokens{Input: 100_000}, 0.25},
		{"when a price falls", "gpt-5.6-terra", time.Date(2026, 7, 30, 0, 0, 0, 0, time.UTC), Tokens{Input: 100_000}, 0.2},
		{"by the day in UTC", "gpt-5.6-terra", time.Date(2026, 7, 30, 1, 0, 0, 0, time.FixedZone("", 2*3600)), Tokens{Input: 100_000}, 0.25},
		{"long, before a price falls", "gpt-5.6-luna", time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), Tokens{Input: 300_000}, 0.6},
		{"long, after it has fallen", "gpt-5.6-luna", november, Tokens{Input: 300_000}, 0.12},
		{"long before the model", "gpt-5.6-sol", time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), Tokens{Output: 1000}, 0.03},
		{"without a time", "gpt-5.6-sol", time.Time{}, Tokens{Output: 1000}, 0.02},
		{"without a time, a later price announced", "gemini-3.6-flash", time.Time{}, Tokens{Input: m}, 0.75},
		{"a later price", "gemini-3.6-flash", time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), Tokens{Input: m}, 1.5},
		{"of Anthropic's, before", "claude-sonnet-5-5", time.Date(2026, 10, 6, 0, 0, 0, 0, time.UTC), Tokens{Read: m}, 0.2},
		{"of Anthropic's, after", "claude-sonnet-5-5-20260801", november, Tokens{Read: m}, 0.1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			usd, ok := Of(tt.model).Cost(tt.at, tt.tokens)
			if ok != (tt.want >= 0) || ok && math.Abs(usd-tt.want) > 1e-12 || !ok && usd != 0 {
				t.Errorf("cost = %v, %v, want %v", usd, ok, tt.want)
			}
		})
	}
}

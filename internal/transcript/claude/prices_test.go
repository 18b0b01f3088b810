package claude

import (
	"math"
	"testing"
	"time"
)

func testPrices(t testing.TB) *priceList {
	t.Helper()
	p, err := loadPrices()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A cache write costs 1.25 times the input, one for an hour twice: a row that
// does not fit has a slip of the pen.
func TestPriceListIsWhole(t *testing.T) {
	p := testPrices(t)
	if _, err := time.Parse("2006-01", p.Date); err != nil || p.Source == "" || p.Unit != "USD per million tokens" {
		t.Errorf("list is of %q from %q in %q: %v", p.Date, p.Source, p.Unit, err)
	}
	for i, m := range p.Models {
		if m.Family == "" || m.From == 0 || m.From > m.To || m.Output != 5*m.Input ||
			math.Abs(m.Write5m-1.25*m.Input) > 1e-9 || math.Abs(m.Write1h-2*m.Input) > 1e-9 || m.Read <= 0 || m.Read > m.Input/10+1e-9 {
			t.Errorf("row %d is odd: %+v", i, m)
		}
		for _, other := range p.Models[:i] {
			if m.Family == other.Family && m.From <= other.To && other.From <= m.To {
				t.Errorf("row %d overlaps %+v", i, other)
			}
		}
	}
}

func TestPricesByModelName(t *testing.T) {
	p := testPrices(t)
	for model, input := range map[string]float64{
		"claude-opus-5-5":                              4,
		"claude-opus-5-5[1m]":                          4,
		"claude-opus-5":                                5,
		"claude-opus-4-5-20251101":                     5,
		"claude-opus-4-6":                              5,
		"claude-opus-4-1-20250805":                     15,
		"claude-opus-4-20250514":                       15,
		"claude-sonnet-5":                              2,
		"claude-sonnet-4-20250514":                     3,
		"claude-sonnet-4-6":                            3,
		"claude-haiku-4-5-20251001":                    1,
		"claude-3-5-haiku-20241022":                    0.8,
		"claude-3-5-haiku-latest":                      0.8,
		"claude-fable-5":                               10,
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0": 3,
		"anthropic.claude-haiku-4-5-20251001-v1:0":     1,
		"arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-4-1-20250805-v1:0": 15,
		"claude-sonnet-4-5@20250929":  3,
		"anthropic/claude-sonnet-4.5": 3,
		// Not in the list: no price rather than a wrong one.
		"claude-opus-6": 0, "claude-opus-5-6": 0, "claude-sonnet-4-7": 0, "claude-3-5-sonnet-20241022": 0,
		"claude-3-opus-20240229": 0, "claude-2": 0, "claude-instant": 0, "gpt-5": 0, "opus": 0, "": 0,
		"claude-": 0, "claude-opus": 0, "claude-opus-5-5-5": 0, "myclaude-opus-5": 0, "claude-opus-thinking-5": 0,
		"<synthetic>": 0,
	} {
		var got float64
		for range 2 { // the second is from memory
			got = 0
			if m := p.of(model); m != nil {
				got = m.Input
			}
		}
		if got != input {
			t.Errorf("input price of %q = %v, want %v", model, got, input)
		}
	}
}

func TestClaudeCost(t *testing.T) {
	for _, tt := range []struct {
		name        string
		model, more string
		usage       string
		want        float64 // negative: none
	}{
		{"of each kind of token", "claude-sonnet-5", "", `{"input_tokens":1000000,"output_tokens":100000,"cache_read_input_tokens":10000}`, 2 + 1 + 0.002},
		{"writes for five minutes", "claude-sonnet-5", "", `{"cache_creation_input_tokens":1000,"cache_creation":{"ephemeral_5m_input_tokens":1000}}`, 0.0025},
		{"writes for an hour", "claude-sonnet-5", "", `{"cache_creation_input_tokens":1000,"cache_creation":{"ephemeral_1h_input_tokens":1000}}`, 0.004},
		{"writes of both kinds", "claude-sonnet-5", "", `{"cache_creation_input_tokens":1000,"cache_creation":{"ephemeral_5m_input_tokens":400,"ephemeral_1h_input_tokens":600}}`, 0.001 + 0.0024},
		{"writes without a split", "claude-sonnet-5", "", `{"cache_creation_input_tokens":1000}`, 0.0025},
		{"writes of which the split says nothing", "claude-sonnet-5", "", `{"cache_creation_input_tokens":1000,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0}}`, 0.0025},
		{"writes with a split alone", "claude-sonnet-5", "", `{"cache_creation":{"ephemeral_5m_input_tokens":400,"ephemeral_1h_input_tokens":600}}`, 0.0034},
		{"writes with a split that is too large", "claude-sonnet-5", "", `{"cache_creation_input_tokens":100,"cache_creation":{"ephemeral_1h_input_tokens":1000}}`, 0.0004},
		{"as the row says", "claude-sonnet-5", `"costUSD":0.5`, `{"input_tokens":1000000}`, 0.5},
		{"as the row says, model unknown", "other", `"costUSD":0.5`, `{"input_tokens":1000000}`, 0.5},
		{"free as the row says", "claude-sonnet-5", `"costUSD":0`, `{"input_tokens":1000000}`, 0},
		{"odd in the row", "claude-sonnet-5", `"costUSD":-1`, `{"input_tokens":1000000}`, 2},
		{"of an unknown model", "other", `"x":1`, `{"input_tokens":1000000}`, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			more := tt.more
			if more == "" {
				more = `"x":1`
			}
			tr := readLines(t, crow("assistant", 0, more, `"message":{"id":"m","model":"`+tt.model+`","content":[],"usage":`+tt.usage+`}`))
			if len(tr.Calls) != 1 || tr.Calls[0].Usage == nil {
				t.Fatalf("calls = %+v", tr.Calls)
			}
			got := -1.0
			if c := tr.Calls[0].Usage.CostUSD; c != nil {
				got = *c
			}
			if math.Abs(got-tt.want) > 1e-12 {
				t.Errorf("cost = %v, want %v", got, tt.want)
			}
		})
	}
}

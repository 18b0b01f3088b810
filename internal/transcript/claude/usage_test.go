package claude

import (
	"math"
	"testing"
)

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
		{"of a long input", "claude-haiku-5-5", "", `{"input_tokens":10000,"cache_read_input_tokens":80000,"cache_creation_input_tokens":10001,"cache_creation":{"ephemeral_1h_input_tokens":10000}}`, 0.005 + 0.004 + 0.01 + 0.000000625},
		{"of an input that is not long", "claude-haiku-5-5", "", `{"input_tokens":10000,"cache_read_input_tokens":80000,"cache_creation_input_tokens":10000}`, 0.001 + 0.0008 + 0.00125},
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

package claude

import (
	"maps"
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
		{"in the fast mode", "claude-opus-4-6", "", `{"input_tokens":1000,"output_tokens":1000,"speed":"fast"}`, 0.18},
		{"in the fast mode of a newer model", "claude-opus-4-8", "", `{"input_tokens":1000,"output_tokens":1000,"speed":"fast"}`, 0.06},
		{"in the standard mode", "claude-opus-4-6", "", `{"input_tokens":1000,"output_tokens":1000,"speed":"standard"}`, 0.03},
		{"in a fast mode without a price", "claude-sonnet-5", "", `{"input_tokens":1000,"speed":"fast"}`, -1},
		{"with web searches", "claude-sonnet-4-6", "", `{"input_tokens":1000,"output_tokens":1000,"server_tool_use":{"web_search_requests":5}}`, 0.068},
		{"with a compaction", "claude-sonnet-4-6", "", `{"input_tokens":1000,"iterations":[{"type":"message","input_tokens":1000},{"type":"compaction","input_tokens":2000,"output_tokens":100}]}`, 0.0105},
		{"with a compaction that reads the cache and writes it", "claude-sonnet-5", "", `{"output_tokens":0,"cache_creation_input_tokens":1000,"iterations":[{"type":"compaction","cache_read_input_tokens":10000,"cache_creation_input_tokens":3000,"cache_creation":{"ephemeral_5m_input_tokens":1000,"ephemeral_1h_input_tokens":2000}}]}`, 0.0025 + 0.002 + 0.0025 + 0.008},
		{"with two compactions", "claude-sonnet-5", "", `{"output_tokens":0,"iterations":[{"type":"compaction","input_tokens":1000},{"type":"compaction","input_tokens":2000,"output_tokens":100}]}`, 0.006 + 0.001},
		{"with a compaction, long alone", "claude-haiku-5-5", "", `{"input_tokens":60000,"iterations":[{"type":"compaction","input_tokens":100001,"output_tokens":1000}]}`, 0.006 + 0.0500005 + 0.0025},
		{"with a compaction, long together", "claude-haiku-5-5", "", `{"input_tokens":60000,"iterations":[{"type":"compaction","input_tokens":60000}]}`, 0.012},
		{"in the US", "claude-sonnet-4-6", "", `{"input_tokens":1000,"output_tokens":1000,"inference_geo":"us","server_tool_use":{"web_search_requests":1}}`, 1.1*0.018 + 0.01},
		{"in the US and fast, with a compaction", "claude-opus-4-8", "", `{"output_tokens":1000,"speed":"fast","inference_geo":"us","iterations":[{"type":"compaction","output_tokens":1000}]}`, 2.2 * 0.05},
		{"anywhere", "claude-sonnet-4-6", "", `{"output_tokens":1000,"inference_geo":"global"}`, 0.015},
		{"not said where", "claude-sonnet-4-6", "", `{"output_tokens":1000,"inference_geo":"not_available","service_tier":"standard"}`, 0.015},
		{"in the US before there was a price", "claude-sonnet-4-5", "", `{"output_tokens":1000,"inference_geo":"us"}`, -1},
		{"of the priority tier", "claude-sonnet-4-6", "", `{"output_tokens":1000,"service_tier":"priority"}`, -1},
		{"of a batch", "claude-sonnet-4-6", "", `{"output_tokens":1000,"service_tier":"batch","iterations":[{"type":"compaction","output_tokens":1000}]}`, -1},
		{"of an input that is not long", "claude-haiku-5-5", "", `{"input_tokens":10000,"cache_read_input_tokens":80000,"cache_creation_input_tokens":10000}`, 0.001 + 0.0008 + 0.00125},
	} {
		t.Run(tt.name, func(t *testing.T) {
			more := tt.more
			if more == "" {
				more = `"x":1`
			}
			tr := readLines(t, crow("assistant", 0, more, `"message":{"id":"m","model":"`+tt.model+`","content":[],"usage":`+tt.usage+`}`))
			if len(tr.Requests) != 1 || tr.Requests[0].Usage == nil {
				t.Fatalf("calls = %+v", tr.Requests)
			}
			got := -1.0
			if c := tr.Requests[0].Usage.CostUSD; c != nil {
				got = *c
			}
			if math.Abs(got-tt.want) > 1e-12 {
				t.Errorf("cost = %v, want %v", got, tt.want)
			}
		})
	}
}

// What an advisor took is beside the counts of the response, under its own model, and each
// row of the response repeats it.
func TestAdvisorIsACallOfItsModel(t *testing.T) {
	usage := `"usage":{"input_tokens":2,"output_tokens":500,"iterations":[{"type":"message","input_tokens":2,"output_tokens":500},` +
		`{"type":"advisor_message","model":"claude-opus-4-6","input_tokens":100000,"output_tokens":4000}]}`
	row := crow("assistant", 0, `"x":1`, `"message":{"id":"m","model":"claude-sonnet-4-6","content":[],`+usage+`}`)
	tr := readLines(t, row, row)
	got := make(map[string]int64)
	for _, c := range tr.Requests {
		got[c.ID+" "+c.Model] = c.Usage.Output
	}
	want := map[string]int64{"m claude-sonnet-4-6": 500, "m-advisor-1 claude-opus-4-6": 4000}
	if !maps.Equal(got, want) {
		t.Errorf("output tokens %v, want %v", got, want)
	}
}

package prices

import (
	"math"
	"testing"
	"time"
)

// TestCasesOfOtherCounters has the cases of the tests of three other counters of costs: the
// kind of request is theirs, and what it costs is by the vendor's page, worked out by hand.
//
// The sources are, in the first column:
//
//	ccusage   github.com/ryoppippi/ccusage, rust/crates/ccusage/src/cost.rs and pricing.rs (5816e640)
//	toktrack  github.com/mag123c/toktrack, src/services/pricing.rs (04cd85ea)
//	LiteLLM   github.com/BerriAI/litellm, tests/test_litellm/litellm_core_utils/llm_cost_calc (3bc83414 and 6271e1e7)
//
// and the prices of the vendors, in USD per million tokens, are of
//
//	claude    platform.claude.com/docs/en/about-claude/pricing, …/build-with-claude/fast-mode and …/data-residency
//	openai    developers.openai.com/api/docs/pricing and openai.com/api-fast-mode
//	google    ai.google.dev/gemini-api/docs/pricing
func TestCasesOfOtherCounters(t *testing.T) {
	const m, none = float64(1e6), -1.0
	at := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	spring := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		source, vendor, name, model string
		at                          time.Time
		tokens                      Tokens
		want                        float64 // negative: no price
	}{
		// The cache of one hour costs twice the input, that of five minutes 1.25 times.
		{"ccusage prices_cache_creation_breakdown_by_duration", "claude", "both durations", "claude-opus-4-5", at, Tokens{Read: 30, Write: 10, Write1h: 20}, (30*0.5 + 10*6.25 + 20*10) / m},
		{"ccusage falls_back_to_flat_cache_creation_rate_without_breakdown", "claude", "no durations", "claude-opus-4-5", at, Tokens{Write: 10}, 10 * 6.25 / m},
		{"ccusage parses_cache_creation_breakdown_from_usage_json", "claude", "a whole request", "claude-sonnet-4-20250514", at, Tokens{Input: 1, Output: 2, Write: 100, Write1h: 200}, (1*3 + 2*15 + 100*3.75 + 200*6) / m},
		{"LiteLLM test_generic_cost_per_token_anthropic_prompt_caching", "claude", "one hour alone", "claude-haiku-4-5-20251001", at, Tokens{Input: 3, Write1h: 14055, Output: 10}, (3*1 + 14055*2 + 10*5.0) / m},
		{"LiteLLM test_anthropic_style_cache_itemization_still_works", "claude", "reads and writes", "claude-opus-4-5", at, Tokens{Input: 100, Read: 2000, Write: 3000, Output: 50}, (100*5 + 2000*0.5 + 3000*6.25 + 50*25) / m},
		{"toktrack test_calculate_cost_with_cache_tokens", "claude", "a part of the input is read", "claude-sonnet-4", at, Tokens{Input: 800, Output: 500, Read: 200, Write: 100}, (800*3 + 500*15 + 200*0.3 + 100*3.75) / m},
		{"toktrack test_non_cached_input_calculation", "claude", "all of the input is read", "claude-opus-5-5", at, Tokens{Output: 500, Read: 150}, (500*20 + 150*0.2) / m},

		// Fast: Claude's multiplies all tokens.
		{"ccusage embedded_pricing_includes_claude_fast_multiplier_for_provider_models", "claude", "fast 4.6", "anthropic.claude-opus-4-6-v1", at, Tokens{Input: 1000, Output: 100, Fast: true}, 6 * (1000*5 + 100*25) / m},
		{"ccusage embedded_pricing_includes_claude_fast_multiplier_for_provider_models", "claude", "fast 4.7", "anthropic.claude-opus-4-7", at, Tokens{Input: 1000, Output: 100, Fast: true}, 6 * (1000*5 + 100*25) / m},
		{"ccusage embedded_pricing_includes_claude_fast_multiplier_for_provider_models", "claude", "fast 4.8", "anthropic.claude-opus-4-8", at, Tokens{Input: 1000, Output: 100, Fast: true}, 2 * (1000*5 + 100*25) / m},
		{"ccusage fills_claude_fast_multiplier_when_litellm_pricing_omits_it", "claude", "fast with the cache of an hour", "claude-opus-4-6", at, Tokens{Read: 1000, Write1h: 1000, Fast: true}, 6 * (1000*0.5 + 1000*10) / m},
		{"ccusage fills_claude_fast_multiplier_when_litellm_pricing_omits_it", "claude", "a long input, fast", "claude-opus-4-6", at, Tokens{Input: 250_000, Fast: true}, 6 * 250_000 * 5.0 / m},
		{"ccusage fills_claude_fast_multiplier_when_litellm_pricing_omits_it", "claude", "no Fast of Sonnet", "claude-sonnet-4-6", at, Tokens{Input: 1000, Fast: true}, none},

		// Fast of OpenAI, which was called priority; long inputs have none.
		{"ccusage embedded_pricing_includes_codex_priority_multiplier", "openai", "priority 5.5", "gpt-5.5", at, Tokens{Input: 1000, Read: 1000, Output: 1000, Fast: true}, 1000 * (12.5 + 1.25 + 75) / m},
		{"ccusage embedded_pricing_includes_codex_priority_multiplier", "openai", "priority 5.4", "gpt-5.4", at, Tokens{Input: 1000, Read: 1000, Output: 1000, Fast: true}, 1000 * (5 + 0.5 + 30.0) / m},
		{"ccusage fills_codex_fast_multiplier_when_litellm_pricing_omits_it", "openai", "priority 5.2", "gpt-5.2", at, Tokens{Input: 1000, Read: 1000, Output: 1000, Fast: true}, 1000 * (3.5 + 0.35 + 28) / m},
		{"ccusage embedded_pricing_includes_codex_priority_multiplier", "openai", "priority of a small one", "gpt-5-mini", at, Tokens{Input: 1000, Read: 1000, Output: 1000, Fast: true}, 1000 * (0.45 + 0.045 + 3.6) / m},
		{"ccusage embedded_pricing_includes_codex_priority_multiplier", "openai", "priority 4.1", "gpt-4.1", at, Tokens{Input: 1000, Read: 1000, Output: 1000, Fast: true}, 1000 * (3.5 + 0.875 + 14) / m},
		{"LiteLLM test_tiered_cache_creation_rates_are_registered_and_billed", "openai", "priority with writes", "gpt-5.6-sol", spring, Tokens{Input: 1000, Write: 99_000, Fast: true}, 2 * (1000*5 + 99_000*6.25) / m},
		{"ccusage fills_codex_fast_multiplier_when_litellm_pricing_omits_it", "openai", "long and fast", "gpt-5.5", at, Tokens{Input: 300_000, Fast: true}, none},
		{"ccusage fills_codex_fast_multiplier_when_litellm_pricing_omits_it", "openai", "no Fast of 5.2-codex", "gpt-5.2-codex", at, Tokens{Input: 1000, Fast: true}, none},

		// Tiers: the whole of a long request costs more, not what is above.
		{"LiteLLM test_generic_cost_per_token_above_200k_tokens", "google", "above 200k", "gemini-2.5-pro", at, Tokens{Input: 220_000_000, Output: 150}, (220_000_000*2.5 + 150*15) / m},
		{"LiteLLM test_generic_cost_per_token_above_200k_tokens", "google", "at 200k", "gemini-2.5-pro", at, Tokens{Input: 200_000, Output: 150}, (200_000*1.25 + 150*10) / m},
		{"LiteLLM test_get_token_base_cost_picks_highest_crossed_tier", "google", "one above 200k", "gemini-2.5-pro", at, Tokens{Input: 200_001}, 200_001 * 2.5 / m},
		{"LiteLLM test_standalone_threshold_field_selects_tier", "google", "reads above 200k", "gemini-3.1-pro-preview", at, Tokens{Input: 1000, Read: 250_000, Output: 1000}, (1000*4 + 250_000*0.4 + 1000*18) / m},
		{"LiteLLM test_cost_types_select_thresholds_independently", "google", "a long output alone", "gemini-3.1-pro-preview", at, Tokens{Input: 40_000, Output: 250_000}, (40_000*2 + 250_000*12) / m},
		{"LiteLLM test_tiered_cache_creation_rates_are_registered_and_billed", "openai", "above 272k, with writes", "gpt-5.6-sol", spring, Tokens{Input: 1000, Write: 299_000}, (1000*10 + 299_000*12.5) / m},
		{"LiteLLM test_tiered_cache_creation_rates_are_registered_and_billed", "openai", "below 272k, with writes", "gpt-5.6-sol", spring, Tokens{Input: 1000, Write: 99_000}, (1000*5 + 99_000*6.25) / m},
		{"ccusage tiered_cost", "claude", "no tier of 4.6", "claude-sonnet-4-6", at, Tokens{Input: 300_000, Output: 1000}, (300_000*3 + 1000*15) / m},
		{"ccusage tiered_cost", "claude", "a tier of 100k", "claude-haiku-5-5", at, Tokens{Input: 1000, Read: 100_000, Output: 1000}, (1000*0.5 + 100_000*0.05 + 1000*2.5) / m},
		{"LiteLLM test_generic_cost_per_token_gpt54_above_272k_tokens", "openai", "above 272k", "gpt-5.4", at, Tokens{Input: 273_000, Output: 1000}, (273_000*5 + 1000*22.5) / m},

		// Writes of OpenAI's newer models.
		{"LiteLLM test_openai_cache_write_tokens_billed_at_the_cache_creation_rate", "openai", "writes", "gpt-5.6-sol", spring, Tokens{Input: 3, Write: 12_314, Output: 5}, (3*5 + 12_314*6.25 + 5*30) / m},
		{"LiteLLM test_openai_style_both_cache_costs_itemized", "openai", "reads and writes", "gpt-5.6-sol", spring, Tokens{Input: 100, Read: 16_000, Write: 26_022, Output: 50}, (100*5 + 16_000*0.5 + 26_022*6.25 + 50*30) / m},
		{"ccusage embedded_pricing_includes_gpt_5_5_for_offline_codex_reports", "openai", "no price of writes", "gpt-5.5", at, Tokens{Input: 100, Read: 1000, Write: 10, Output: 10}, (100*5 + 1000*0.5 + 10*5 + 10*30) / m},

		// Regions: in the US, and names of other clouds.
		{"LiteLLM test_anthropic_geo_multiplier_applies_to_cache_tokens", "claude", "in the US", "claude-opus-4-8", at, Tokens{Input: 1_000_000, US: true}, 5.5},
		{"LiteLLM test_anthropic_geo_multiplier_applies_to_cache_tokens", "claude", "in the US, with the cache", "claude-sonnet-4-6", at, Tokens{Read: 1000, Write: 1000, Write1h: 1000, Output: 1000, US: true}, 1.1 * 1000 * (0.3 + 3.75 + 6 + 15) / m},
		{"LiteLLM test_anthropic_geo_multiplier_applies_to_cache_tokens", "claude", "in the US and fast", "claude-opus-4-6", at, Tokens{Input: 1000, Output: 1000, Fast: true, US: true}, 1.1 * 6 * 1000 * (5 + 25) / m},
		{"LiteLLM test_anthropic_geo_multiplier_applies_to_cache_tokens", "claude", "before there was a choice", "claude-opus-4-5", at, Tokens{Input: 1000, US: true}, none},
		{"ccusage embedded_pricing_includes_claude_fast_multiplier_for_provider_models", "claude", "a region's name", "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", at, Tokens{Input: 1000, Output: 1000}, 1000 * (3 + 15.0) / m},
		{"ccusage embedded_pricing_resolves_opus_47_dot_model_names", "claude", "a router's name", "openrouter/anthropic/claude-opus-4.7", at, Tokens{Input: 1000}, 1000 * 5.0 / m},
		{"ccusage embedded_pricing_resolves_opus_48_dot_model_names", "claude", "dots and a date", "claude-opus-4.8-20260528", at, Tokens{Input: 10, Read: 10, Write: 10, Output: 10}, 10 * (5 + 0.5 + 6.25 + 25) / m},
		{"ccusage embedded_pricing_does_not_resolve_undated_codex_auto_review_model", "openai", "a name without a price", "codex-auto-review", at, Tokens{Input: 1000}, none},
		{"toktrack test_get_pricing_not_found", "openai", "an unknown name", "nonexistent-model", at, Tokens{Input: 1000}, none},
	} {
		usd, ok := Of(tt.model).Cost(tt.at, tt.tokens)
		if ok != (tt.want >= 0) || ok && math.Abs(usd-tt.want) > 1e-9*max(1, tt.want) {
			t.Errorf("%s, %s (%s): %s costs %v, %v, want %v", tt.vendor, tt.name, tt.source, tt.model, usd, ok, tt.want)
		}
	}
}

package prices

import (
	"testing"
	"time"
)

func TestPricesByModelName(t *testing.T) {
	for model, input := range map[string]float64{
		"claude-opus-5-5":                              4,
		"claude-opus-5-5[1m]":                          4,
		"claude-opus-5":                                5,
		"claude-opus-4-5-20251101":                     5,
		"claude-opus-4-6":                              5,
		"claude-opus-4-1-20250805":                     15,
		"claude-opus-4-20250514":                       15,
		"claude-sonnet-5":                              2,
		"claude-sonnet-5-5":                            2,
		"claude-sonnet-4-20250514":                     3,
		"claude-sonnet-4-6":                            3,
		"claude-haiku-4-5-20251001":                    1,
		"claude-haiku-5-5":                             0.1,
		"claude-3-5-haiku-20241022":                    0.8,
		"claude-3-5-haiku-latest":                      0.8,
		"claude-fable-5":                               10,
		"claude-fable-5-1":                             10,
		"claude-fable-5-2":                             8,
		"claude-mythos-5":                              10,
		"claude-mythos-5-1":                            10,
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0": 3,
		"anthropic.claude-haiku-4-5-20251001-v1:0":     1,
		"arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-4-1-20250805-v1:0": 15,
		"claude-sonnet-4-5@20250929":  3,
		"anthropic/claude-sonnet-4.5": 3,

		"gpt-5.5":                       5,
		"gpt-5.5-2026-04-23":            5,
		"openai/gpt-5.5":                5,
		"openai/gpt-5.5-2026-04-23":     5,
		"gpt-5.1-codex":                 1.25,
		"gpt-5.1-codex-mini":            0.25,
		"gpt-4.1-2025-04-14":            2,
		"o3-20250416":                   2,
		"gemini-2.5-pro":                1.25,
		"models/gemini-2.5-pro":         1.25,
		"google/gemini-2.5-flash-lite":  0.1,
		"gemini-2.5-pro@20250617":       1.25,
		"gemini-3.1-flash-lite-preview": 0.25,

		// Not in a list: no price rather than a wrong one.
		"claude-opus-6": 0, "claude-opus-5-6": 0, "claude-sonnet-4-7": 0, "claude-3-5-sonnet-20241022": 0, "claude-fable-5-3": 0, "claude-mythos-5-2": 0,
		"claude-3-opus-20240229": 0, "claude-2": 0, "claude-instant": 0, "opus": 0, "": 0,
		"claude-": 0, "claude-opus": 0, "claude-opus-5-5-5": 0, "myclaude-opus-5": 0, "claude-opus-thinking-5": 0,
		"<synthetic>": 0,
		"gpt-5.7":     0, "gpt-5.5-mini": 0, "gpt-5.5-latest": 0, "gpt-5.5-": 0, "gpt-5.5-2026-04": 0, "gpt-5.5-2026-13-01": 0, "my-gpt-5.5": 0,
		"gpt-5.5[1m]": 0, "azure/gpt-5.5": 0, "google/gpt-5.5": 0, "openai/openai/gpt-5.5": 0, "-2026-04-23": 0, "gpt-oss-120b": 0,
		"gpt-5.5-2026-04-23-2026-04-23": 0, "gpt-5.5@2026-04-23": 0,
		"gemini-2.5-pro-preview-06-05": 0, "gemini-2.5": 0, "gemini-2.5-flash-image": 0, "openai/gemini-2.5-pro": 0, "models/models/gemini-2.5-pro": 0,
		"qwen3-coder-plus": 0,
	} {
		m := Of(model)
		if got, ok := m.Cost(time.Time{}, Tokens{Input: 10_000}); ok != (input > 0) || !near(got, input/100) {
			t.Errorf("10,000 tokens of %q cost %v, %v; want %v", model, got, ok, input/100)
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, name := range []string{"gpt-5.5-2026-04-23", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "models/gemini-2.5-pro", "", "-20060102"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		usd, ok := Of(name).Cost(time.Time{}, Tokens{Input: 1})
		if ok != (usd > 0) {
			t.Errorf("a token of %q costs %v, %v", name, usd, ok)
		}
	})
}

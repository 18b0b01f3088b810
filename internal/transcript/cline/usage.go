package cline

import (
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// inputIncludesCache lists the providers for which classic Cline passes on the
// API's prompt count as it is, cache hits included (core/api/providers/*). For
// all others it subtracts the cache counts first, or the API, like
// Anthropic's, never adds them: anthropic, cline, openrouter, openai-native,
// deepseek, groq, moonshot, gemini, vercel-ai-gateway.
//
// A provider not listed counts as excluding. That is the convention of Cline's
// own cost formula, and of the providers most tokens go through.
var inputIncludesCache = map[string]bool{
	"openai":      true, // "OpenAI compatible"
	"litellm":     true,
	"fireworks":   true,
	"qwen":        true,
	"huggingface": true,
	"sapaicore":   true,
	"requesty":    true,
	"xai":         true,
	"zai":         true,
}

// The names of a call's input, output, cache reads, cache writes and cost.
var (
	classicCounts = [5]string{"tokensIn", "tokensOut", "cacheReads", "cacheWrites", "cost"}
	sdkCounts     = [5]string{"inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "cost"}
)

// usage reads the counts of a call, nil if there are none.
func usage(counts rawjson.Object, names *[5]string) *hook.Usage {
	var n [5]*float64
	found := false
	for i, name := range names {
		if v, ok := rawjson.Float(counts.Get(name)); ok {
			n[i], found = &v, true
		}
	}
	if !found {
		return nil
	}
	return &hook.Usage{
		Input:      transcript.Tokens(n[0]),
		Output:     transcript.Tokens(n[1]),
		CacheRead:  transcript.Tokens(n[2]),
		CacheWrite: transcript.Tokens(n[3]),
		CostUSD:    transcript.Cost(n[4]),
	}
}

// setIncludesCache notes whether the input count includes the cache counts. One
// that is smaller than its parts does not, whatever the provider: providers
// change, and so do the versions of Cline.
func setIncludesCache(u *hook.Usage, includes bool) {
	if u != nil {
		u.InputIncludesCache = includes && u.Input >= u.CacheRead+u.CacheWrite
	}
}

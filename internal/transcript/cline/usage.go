package cline

import (
	"github.com/hookspan/hookspan/hook"
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

// classicUsage builds the usage of a classic request.
func classicUsage(provider string, c counts) *hook.Usage {
	return c.usage(inputIncludesCache[provider])
}

// sdkUsage builds the usage of an SDK message. The SDK brings every provider
// to one form: its price formula takes cache reads and writes off inputTokens
// before it multiplies, so the count includes them.
func sdkUsage(c counts) *hook.Usage {
	return c.usage(true)
}

// counts are a call's figures as found; nil means absent.
type counts struct {
	input, output, cacheRead, cacheWrite, cost *float64
}

func (c counts) empty() bool {
	return c.input == nil && c.output == nil && c.cacheRead == nil && c.cacheWrite == nil && c.cost == nil
}

// usage returns nil where nothing was found.
func (c counts) usage(includesCache bool) *hook.Usage {
	if c.empty() {
		return nil
	}
	u := &hook.Usage{
		Input:      transcript.Tokens(c.input),
		Output:     transcript.Tokens(c.output),
		CacheRead:  transcript.Tokens(c.cacheRead),
		CacheWrite: transcript.Tokens(c.cacheWrite),
		CostUSD:    c.cost,
	}
	// A count smaller than its parts does not hold them, whatever the table
	// says: providers change, and so do the versions of Cline.
	u.InputIncludesCache = includesCache && u.Input >= u.CacheRead+u.CacheWrite
	return u
}

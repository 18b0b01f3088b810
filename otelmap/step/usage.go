package step

import (
	"cmp"
	"math"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// Usage is a sum over requests to the model. Counts are of tokens. Its JSON is stable.
type Usage struct {
	// Input includes the cache reads and writes.
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cacheReadTokens"`
	CacheWrite int64 `json:"cacheWriteTokens"`
	// CostUSD is in US dollars, nil if no price is known.
	CostUSD *float64 `json:"costUsd,omitempty"`
}

// tokens returns a count of a request or of an agent by the request's key.
func (a attrs) tokens(key string) (int64, bool) {
	if n, ok := a.count(key); ok {
		return n, true
	}
	return a.count(otelmap.RunKey(key))
}

func (a attrs) amount(key string) (float64, bool) {
	v, ok := otlp.Find(a, key).GetValue().(*commonpb.AnyValue_DoubleValue)
	if !ok || !(v.DoubleValue >= 0 && v.DoubleValue <= math.MaxFloat64) {
		return 0, false
	}
	return v.DoubleValue, true
}

// usage returns nil if there are neither tokens nor a cost.
func (a attrs) usage() *Usage {
	in, okIn := a.tokens(otelmap.KeyInputTokens)
	out, okOut := a.tokens(otelmap.KeyOutputTokens)
	cost, priced := a.amount(otelmap.KeyCost)
	if !okIn && !okOut && !priced {
		return nil
	}
	u := &Usage{Input: in, Output: out}
	u.CacheRead, _ = a.tokens(otelmap.KeyCacheReadTokens)
	u.CacheWrite, _ = a.tokens(otelmap.KeyCacheWriteTokens)
	if priced {
		u.CostUSD = &cost
	}
	return u
}

// Usage returns what a request used, or all requests of an agent as far as they are known, nil
// if nothing is known. The source is the agent's own files.
func (s Step) Usage() *Usage { return s.attrs().usage() }

// Input counts the tokens of the input, with cache reads and writes, and reports whether they
// are known. So do the next four.
func (s Step) Input() (int64, bool) { return s.attrs().tokens(otelmap.KeyInputTokens) }

// HostInput counts them as the agent does, with or without the cache.
func (s Step) HostInput() (int64, bool) { return s.attrs().count(otelmap.KeyHostInputTokens) }

// Output counts the tokens of the output.
func (s Step) Output() (int64, bool) { return s.attrs().tokens(otelmap.KeyOutputTokens) }

// CacheRead counts the tokens that were read from the cache.
func (s Step) CacheRead() (int64, bool) { return s.attrs().tokens(otelmap.KeyCacheReadTokens) }

// CacheWrite counts the tokens that were written to the cache.
func (s Step) CacheWrite() (int64, bool) { return s.attrs().tokens(otelmap.KeyCacheWriteTokens) }

// CacheHour reports that the request wrote to a cache that lasts an hour.
func (s Step) CacheHour() bool {
	n, _ := s.attrs().count(otelmap.KeyCacheWriteHourTokens)
	return n > 0
}

// Cost is in US dollars.
func (s Step) Cost() (float64, bool) { return s.attrs().amount(otelmap.KeyCost) }

// Requests counts the run's requests to the model.
func (s Step) Requests() (int64, bool) { return s.attrs().count(otelmap.KeyLLMRequests) }

// Add returns the sum of two usages, either of which may be nil.
func (u *Usage) Add(v *Usage) *Usage {
	switch {
	case u == nil:
		return v
	case v == nil:
		return u
	}
	sum := Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		CostUSD: cmp.Or(u.CostUSD, v.CostUSD),
	}
	if u.CostUSD != nil && v.CostUSD != nil {
		sum.CostUSD = new(*u.CostUSD + *v.CostUSD)
	}
	return &sum
}

// Cost returns the cost, 0 if it is not known.
func (u *Usage) Cost() float64 {
	if u == nil || u.CostUSD == nil {
		return 0
	}
	return *u.CostUSD
}

// Tokens returns the sum of input and output.
func (u *Usage) Tokens() int64 {
	if u == nil {
		return 0
	}
	return u.Input + u.Output
}

// Less returns the usage that is left without a part of it, nil if that is nothing.
func (u *Usage) Less(part *Usage) *Usage {
	if u == nil || part == nil {
		return u
	}
	rest := Usage{
		Input: u.Input - part.Input, Output: u.Output - part.Output,
		CacheRead: u.CacheRead - part.CacheRead, CacheWrite: u.CacheWrite - part.CacheWrite,
	}
	if u.CostUSD != nil {
		// Less than 10^-12 dollars is the noise of sums.
		if cost := math.Round((*u.CostUSD-part.Cost())*1e12) / 1e12; cost != 0 {
			rest.CostUSD = &cost
		}
	}
	if rest == (Usage{}) {
		return nil
	}
	return &rest
}

package claude

import (
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/prices"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// counts are a response's counts as its rows gave them. Of several rows of one
// response the largest count is taken, as a row written while the response was
// coming in holds less. iterations[] is a breakdown of all counts and is not
// read.
type counts struct {
	// The first four are disjoint; the last two are a split of write by how
	// long the cache lasts.
	input, output, read, write, write5m, write1h int64
	// known reports that a row gave a count, whole that one gave write.
	known, whole bool
	// cost is what a row says the response cost, in USD; versions of 2025 did.
	cost *float64
}

// add takes in the counts of one row: its message's usage and its cost.
func (c *counts) add(usage, cost []byte) {
	set := func(count *int64, raw []byte) bool {
		n, ok := rawjson.Float(raw)
		if ok {
			c.known, *count = true, max(*count, transcript.Tokens(&n))
		}
		return ok
	}
	u := rawjson.Members(usage)
	split := rawjson.Members(u.Get("cache_creation"))
	set(&c.input, u.Get("input_tokens"))
	set(&c.output, u.Get("output_tokens"))
	set(&c.read, u.Get("cache_read_input_tokens"))
	c.whole = set(&c.write, u.Get("cache_creation_input_tokens")) || c.whole
	set(&c.write5m, split.Get("ephemeral_5m_input_tokens"))
	set(&c.write1h, split.Get("ephemeral_1h_input_tokens"))
	if usd, ok := rawjson.Float(cost); ok && usd >= 0 && (c.cost == nil || usd > *c.cost) {
		c.cost = &usd
	}
}

// written is the tokens written to the cache, whether as one count or only split.
func (c *counts) written() int64 {
	if c.whole {
		return c.write
	}
	return c.write5m + c.write1h
}

func (c *counts) total() int64 { return c.input + c.output + c.read + c.written() }

// usage is nil if no row gave a count. Without a price there is no cost: 0
// would say that the call was free.
func (c *counts) usage(m *prices.Model, at time.Time) *hook.Usage {
	if !c.known {
		return nil
	}
	write := c.written()
	u := &hook.Usage{Input: c.input, Output: c.output, CacheRead: c.read, CacheWrite: write, CostUSD: c.cost}
	if u.CostUSD != nil {
		return u
	}
	write1h := min(c.write1h, write)
	t := prices.Tokens{Input: c.input, Read: c.read, Write: write - write1h, Write1h: write1h, Output: c.output}
	if usd, ok := m.Cost(at, t); ok {
		u.CostUSD = &usd
	}
	return u
}

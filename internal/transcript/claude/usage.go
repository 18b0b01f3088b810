package claude

import (
	"cmp"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/internal/transcript/prices"
)

// counts are a response's counts as its rows gave them. Of several rows of one
// response the largest count is taken, as a row written while the response was
// coming in holds less. iterations[] is a breakdown of all counts; only what an
// advisor and a compaction took is not part of them.
type counts struct {
	// The first four are disjoint; the last two are a split of write by how
	// long the cache lasts.
	input, output, read, write, write5m, write1h int64
	// known reports that a row gave a count, whole that one gave write.
	known, whole bool
	// searches are the web searches, fast reports that the request was in the fast mode.
	searches int64
	fast     bool
	// compactions are the counts of the compactions, advice those of an advisor, which
	// has its own model, in their order.
	compactions, advice []iteration
	// cost is what a row says the response cost, in USD; versions of 2025 did.
	cost *float64
}

// iteration is a part of a response that its counts leave out.
type iteration struct {
	model  string
	counts counts
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
	if n, ok := rawjson.Int(rawjson.Member(u.Get("server_tool_use"), "web_search_requests")); ok {
		c.searches = max(c.searches, n)
	}
	c.fast = c.fast || u.Text("speed") == "fast"
	compactions, advice := 0, 0
	rawjson.EachElement(u.Get("iterations"), func(raw []byte) {
		part := rawjson.Members(raw)
		switch part.Text("type") {
		case "advisor_message":
			addPart(&c.advice, advice, part.Text("model"), raw)
			advice++
		case "compaction":
			addPart(&c.compactions, compactions, "", raw)
			compactions++
		}
	})
	if usd, ok := rawjson.Float(cost); ok && usd >= 0 && (c.cost == nil || usd > *c.cost) {
		c.cost = &usd
	}
}

// addPart takes in the counts of the part with an index.
func addPart(parts *[]iteration, i int, model string, usage []byte) {
	if i == len(*parts) {
		*parts = append(*parts, iteration{})
	}
	p := &(*parts)[i]
	p.model = cmp.Or(word(model), p.model)
	p.counts.add(usage, nil)
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
	all, write1h := *c, min(c.write1h, c.written())
	all.write, all.whole = c.written(), true
	for i := range c.compactions {
		p := &c.compactions[i].counts
		all.input, all.output, all.read = all.input+p.input, all.output+p.output, all.read+p.read
		all.write, write1h = all.write+p.written(), write1h+min(p.write1h, p.written())
	}
	u := &hook.Usage{Input: all.input, Output: all.output, CacheRead: all.read, CacheWrite: all.write, CostUSD: c.cost}
	if u.CostUSD != nil {
		return u
	}
	t := prices.Tokens{
		Input: all.input, Read: all.read, Write: all.write - write1h, Write1h: write1h, Output: all.output, Searches: c.searches, Fast: c.fast,
	}
	if usd, ok := m.Cost(at, t); ok {
		u.CostUSD = &usd
	}
	return u
}

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
// coming in holds less. iterations[] is a breakdown of all counts, which can be 0 themselves;
// only what an advisor and a compaction took is not part of them.
type counts struct {
	// The first four are disjoint; the last two are a split of write by how
	// long the cache lasts.
	input, output, read, write, write5m, write1h int64
	// known reports that a row gave a count, whole that one gave write, final that one gave
	// those of the whole response.
	known, whole, final bool
	// searches are the web searches, fast reports that the request was in the fast mode, us that
	// it ran in the US because the user wanted that. tier is the service tier.
	searches int64
	fast, us bool
	tier     string
	// compactions are the counts of the compactions, advice those of an advisor, which
	// has its own model, in their order.
	compactions, advice []iteration
	// usd is what a row says the response cost, in USD; versions of 2025 did.
	usd *float64
}

// iteration is a part of a response that its counts leave out.
type iteration struct {
	model  string
	counts counts
}

// add takes in the counts of one row: its message's usage and its cost. A final row has the
// reason why the response ended.
func (c *counts) add(usage, cost []byte, final bool) {
	if final = final && rawjson.Member(usage, "input_tokens") != nil; final != c.final && c.known {
		if c.final {
			return
		}
		*c = counts{usd: c.usd} // a gateway may have guessed what the first rows say
	}
	c.final = final
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
	c.fast, c.us = c.fast || u.Text("speed") == "fast", c.us || u.Text("inference_geo") == "us"
	c.tier = cmp.Or(word(u.Text("service_tier")), c.tier)
	compactions, advice, bare := 0, 0, c.input+c.output+c.read+c.write == 0
	rawjson.EachElement(u.Get("iterations"), func(raw []byte) {
		part := rawjson.Members(raw)
		switch part.Text("type") {
		case "advisor_message":
			addPart(&c.advice, advice, part.Text("model"), raw)
			advice++
		case "compaction":
			addPart(&c.compactions, compactions, "", raw)
			compactions++
		case "message":
			if bare { // the response's own counts are all 0
				var part counts
				part.add(raw, nil, false)
				c.input, c.output, c.read, c.write = c.input+part.input, c.output+part.output, c.read+part.read, c.write+part.write
				c.write5m, c.write1h = max(c.write5m, part.write5m), max(c.write1h, part.write1h)
			}
		}
	})
	if usd, ok := rawjson.Float(cost); ok && usd >= 0 && (c.usd == nil || usd > *c.usd) {
		c.usd = &usd
	}
}

// addPart takes in the counts of the part with an index.
func addPart(parts *[]iteration, i int, model string, usage []byte) {
	if i == len(*parts) {
		*parts = append(*parts, iteration{})
	}
	p := &(*parts)[i]
	p.model = cmp.Or(word(model), p.model)
	p.counts.add(usage, nil, false)
}

// written is the tokens written to the cache, whether as one count or only split.
func (c *counts) written() int64 {
	if c.whole {
		return c.write
	}
	return c.write5m + c.write1h
}

// hour is the part of it that lasts an hour.
func (c *counts) hour() int64 { return min(c.write1h, c.written()) }

func (c *counts) total() int64 { return c.input + c.output + c.read + c.written() }

// usage is nil if no row gave a count. Without a price there is no cost: 0
// would say that the call was free.
func (c *counts) usage(m *prices.Model, at time.Time) *hook.Usage {
	if !c.known {
		return nil
	}
	u := &hook.Usage{Input: c.input, Output: c.output, CacheRead: c.read, CacheWrite: c.written(), CacheWriteHour: c.hour()}
	usd, priced := c.cost(m, at)
	for i := range c.compactions {
		p := &c.compactions[i].counts
		p.like(c)
		u.Input, u.Output, u.CacheRead, u.CacheWrite = u.Input+p.input, u.Output+p.output, u.CacheRead+p.read, u.CacheWrite+p.written()
		more, ok := p.cost(m, at)
		usd, priced = usd+more, priced && ok
	}
	if u.CostUSD = c.usd; u.CostUSD == nil && priced {
		u.CostUSD = &usd
	}
	return u
}

// like has a part of a response run where and as the response did.
func (c *counts) like(whole *counts) { c.fast, c.us, c.tier = whole.fast, whole.us, whole.tier }

// cost is what the request costs without its parts, each of which is a request: a long one may
// be in the company of short ones. There are list prices of the standard tier alone.
func (c *counts) cost(m *prices.Model, at time.Time) (usd float64, ok bool) {
	if c.tier != "" && c.tier != "standard" {
		return 0, false
	}
	write1h := c.hour()
	return m.Cost(at, prices.Tokens{
		Input: c.input, Read: c.read, Write: c.written() - write1h, Write1h: write1h, Output: c.output, Searches: c.searches, Fast: c.fast, US: c.us,
	})
}

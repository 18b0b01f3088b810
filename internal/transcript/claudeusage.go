package transcript

import (
	"strconv"

	"github.com/hookspan/hookspan/hook"
)

// The counts of a response. The four of input and output are disjoint; the two
// writes are a split of countWrite by how long the cache lasts, not further
// tokens. iterations[] is a breakdown of all of them and is not read.
const (
	countInput = iota
	countOutput
	countRead
	countWrite
	countWrite5m
	countWrite1h
	countKinds
)

// claudeCounts are a response's counts as its rows gave them.
type claudeCounts struct {
	n    [countKinds]int64
	have uint8
	// cost is what the row itself says it cost, in USD; versions of 2025 did.
	cost     float64
	haveCost bool
}

// at is a count, 0 where it is absent.
func (c *claudeCounts) at(i int) int64 { return c.n[i] }

func (c *claudeCounts) has(i int) bool { return c.have&(1<<i) != 0 }

// set takes a count in: of several rows of one response the largest counts, as
// a row written while the response was coming in holds less.
func (c *claudeCounts) set(i int, n int64) {
	c.have |= 1 << i
	c.n[i] = max(c.n[i], n)
}

// write is the tokens written to the cache, whether as one count or only split.
func (c *claudeCounts) write() int64 {
	if c.has(countWrite) {
		return c.n[countWrite]
	}
	return c.n[countWrite5m] + c.n[countWrite1h]
}

func (c *claudeCounts) total() int64 {
	return c.n[countInput] + c.n[countOutput] + c.n[countRead] + c.write()
}

// add takes in the counts of one row: its message's usage and its cost.
func (c *claudeCounts) add(usage, cost []byte) {
	set := func(i int, raw []byte) {
		if n, ok := rawNumber(raw); ok {
			c.set(i, tokens(&n))
		}
	}
	eachMember(usage, func(key, value []byte) {
		switch string(key) {
		case "input_tokens":
			set(countInput, value)
		case "output_tokens":
			set(countOutput, value)
		case "cache_read_input_tokens":
			set(countRead, value)
		case "cache_creation_input_tokens":
			set(countWrite, value)
		case "cache_creation":
			eachMember(value, func(key, value []byte) {
				switch string(key) {
				case "ephemeral_5m_input_tokens":
					set(countWrite5m, value)
				case "ephemeral_1h_input_tokens":
					set(countWrite1h, value)
				}
			})
		}
	})
	if usd, ok := rawNumber(cost); ok && usd >= 0 {
		c.cost, c.haveCost = max(c.cost, usd), true
	}
}

// usage is nil where no row gave a count. Without a price there is no cost: 0
// would say that the call was free.
func (c *claudeCounts) usage(p *price) *hook.Usage {
	if c.have == 0 {
		return nil
	}
	u := &hook.Usage{
		Input:      c.n[countInput],
		Output:     c.n[countOutput],
		CacheRead:  c.n[countRead],
		CacheWrite: c.write(),
	}
	switch {
	case c.haveCost:
		usd := c.cost
		u.CostUSD = &usd
	case p != nil:
		usd := p.cost(c)
		u.CostUSD = &usd
	}
	return u
}

// rawNumber reads a number, or a string that holds one.
func rawNumber(raw []byte) (float64, bool) {
	if len(raw) == 0 {
		return 0, false
	}
	text := string(raw)
	if raw[0] == '"' {
		text = rawString(raw)
	}
	n, err := strconv.ParseFloat(text, 64)
	// ParseFloat knows words for what no count can be.
	return n, err == nil && n == n && n <= 1e300 && n >= -1e300
}

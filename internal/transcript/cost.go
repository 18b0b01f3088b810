package transcript

import (
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript/prices"
)

// ListCost returns what a request of c.Usage costs by the vendor's list in USD, nil if
// its model has no price: 0 would say that it was free. writes reports that the agent
// counts what the request wrote to the cache.
func ListCost(c *hook.Request, writes bool) *float64 { return listCost(c, writes, false) }

// FastCost is ListCost for a request in the fast mode.
func FastCost(c *hook.Request, writes bool) *float64 { return listCost(c, writes, true) }

func listCost(c *hook.Request, writes, fast bool) *float64 {
	u := c.Usage
	if u == nil {
		return nil
	}
	at := c.Start
	if at.IsZero() {
		at = c.End
	}
	usd, ok := prices.Of(c.Model).Cost(at, prices.Tokens{
		Input: max(0, u.TotalInput()-u.CacheRead-u.CacheWrite), Read: u.CacheRead, Write: u.CacheWrite, Output: u.Output, UncountedWrites: !writes, Fast: fast,
	})
	if !ok {
		return nil
	}
	return &usd
}

// Package prices has the list prices of models of Anthropic, Google and OpenAI, as the
// vendors publish them for their APIs in the standard tier and, where a request says so,
// in the fast mode. There is one dated list for
// each vendor.
//
// A model without a price has none: a name is in a list, or in one of the spellings that
// names.go knows, and is never taken for a similar one. The sums are what a request costs
// by the list. What the user pays can differ: by a subscription, a discount, another
// provider or region.
//
// The fast mode multiplies the prices of all tokens, those of the cache included, and not
// that of a search (https://platform.claude.com/docs/en/build-with-claude/fast-mode). Less
// sure is how long inputs of Opus 4.6 and 4.7 were priced in it: the first description, of
// February 2026, has twice the price of input and 1.5 times that of output above 200,000
// tokens, a later one has one price for all; the list follows the later one. Claude Mythos
// 5.2 has a fast mode, but no price of it was found, and so it has none here.
//
// OpenAI's fast mode, priority processing before July 2026, is priced for some models and
// for no long inputs (https://openai.com/api-fast-mode/). With a subscription Codex takes
// other multiples of credits for it.
//
// Inference in the US alone, which Anthropic has since version 4.6, multiplies the prices of
// all tokens, those of the fast mode too, and not that of a search
// (https://platform.claude.com/docs/en/build-with-claude/data-residency).
package prices

import "time"

// Tokens are what one request took. The counts are disjoint, and none is negative.
type Tokens struct {
	// Input is what the model read and the cache had no part in.
	Input int64
	// Read is what came from the cache.
	Read int64
	// Write is what was written to the cache, for five minutes or for the time that the
	// vendor has for all. Write1h is what was written for an hour.
	Write, Write1h int64
	// Output includes what the model thought.
	Output int64
	// UncountedWrites reports that Input may include tokens written to the cache,
	// because the agent does not count them separately. Such a request has no cost
	// if the model's price of a cache write differs from that of input.
	UncountedWrites bool
	// Searches are the web searches that the model made.
	Searches int64
	// Fast reports that the request was in the fast mode, which has other prices.
	Fast bool
	// US reports that the model ran in the US because the user wanted that, which Anthropic
	// has other prices for.
	US bool
}

// input is the whole input, which decides whether a request is a long one.
func (t *Tokens) input() int64 { return t.Input + t.Read + t.Write + t.Write1h }

// rates are in USD per million tokens.
type rates struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// Without a price for reading the cache, or for writing it, this costs as much as
	// input; Write1h without one costs as much as Write.
	Read    *float64 `json:"read"`
	Write   *float64 `json:"write"`
	Write1h *float64 `json:"write1h"`
}

// fill sets the prices that the list leaves out.
func (r *rates) fill() {
	if r.Read == nil {
		r.Read = &r.Input
	}
	if r.Write == nil {
		r.Write = &r.Input
	}
	if r.Write1h == nil {
		r.Write1h = r.Write
	}
}

func (r *rates) cost(t *Tokens) (usd float64, ok bool) {
	if t.UncountedWrites && *r.Write != r.Input {
		return 0, false
	}
	sum := float64(t.Input)*r.Input + float64(t.Output)*r.Output +
		float64(t.Read)**r.Read + float64(t.Write1h)**r.Write1h + float64(t.Write)**r.Write
	return sum / 1e6, true
}

// price is a row of a list: what some models cost from a day on.
type price struct {
	// Models are the names of the models. Instead of them, a row of Anthropic's list
	// has a family and its first and last version.
	Models []string `json:"models"`
	Family string   `json:"family"`
	First  version  `json:"first"`
	Last   version  `json:"last"`
	// From is the first day, in UTC. It is zero in the first row of a model.
	From day `json:"from"`
	// UpTo, if not zero, is the longest input for which there is a price, in tokens.
	UpTo int64 `json:"upTo"`
	rates
	// Fast is how many times as much a request costs in the fast mode. If zero, no
	// price is known.
	Fast float64 `json:"fast"`
	// US is how many times as much a request costs that must run in the US. If zero, no price
	// is known.
	US float64 `json:"us"`
	// search is what a thousand web searches cost in USD; zero if no price is known.
	search float64
	// Long is what a request costs with a longer input than Above, all of it.
	Long *longRates `json:"long"`
}

type longRates struct {
	Above int64 `json:"above"`
	rates
}

// cost is what a request costs by this row.
func (p *price) cost(t *Tokens) (usd float64, ok bool) {
	input, r := t.input(), &p.rates
	switch {
	case p.UpTo > 0 && input > p.UpTo, t.Fast && p.Fast == 0, t.US && p.US == 0, t.Searches > 0 && p.search == 0:
		return 0, false
	case p.Long != nil && input > p.Long.Above && t.Fast:
		return 0, false
	case p.Long != nil && input > p.Long.Above:
		r = &p.Long.rates
	}
	usd, ok = r.cost(t)
	if t.Fast {
		usd *= p.Fast
	}
	if t.US {
		usd *= p.US
	}
	return usd + float64(t.Searches)*p.search/1000, ok
}

// Model is what a model costs, and has cost.
type Model struct {
	// rows are in the order of their first days.
	rows []*price
	// date is that of the list.
	date time.Time
}

// Cost returns what a request of that time costs in USD. ok is false if the price is not
// known. A request before the first price costs that, and one without a time costs what
// requests cost at the date of the list. m may be nil.
func (m *Model) Cost(at time.Time, t Tokens) (usd float64, ok bool) {
	if m == nil {
		return 0, false
	}
	if at.IsZero() {
		at = m.date
	}
	row := m.rows[0]
	for _, next := range m.rows[1:] {
		if !at.Before(next.From.begin) {
			row = next
		}
	}
	return row.cost(&t)
}

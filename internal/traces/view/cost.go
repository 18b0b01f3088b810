package view

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// Costs says where the money of a trace went. Its JSON is stable.
type Costs struct {
	// PullRequests are those for which requests were made, if they were looked for.
	PullRequests []string `json:"pullRequests,omitempty"`
	// Sentence says it in one sentence.
	Sentence string `json:"sentence"`
	// Usage is the trace's, nil if unknown.
	Usage *store.Usage `json:"usage,omitempty"`
	// Items are the parts, each kind's largest first. Requests and subagents sum up to the
	// whole; the others are parts of these.
	Items []CostItem `json:"items"`
	// Opening is the first request of the task's session, nil if it is not known, and Before
	// says it in one sentence.
	Opening *store.Opening `json:"opening,omitempty"`
	Before  string         `json:"before,omitempty"`
	// Findings are those of the task, if they were looked for.
	Findings []Finding `json:"findings,omitempty"`
}

// CostItem is a part of a trace's cost.
type CostItem struct {
	// Kind is "requests", "subagent", "other", "cache miss" or "output".
	Kind string `json:"kind"`
	What string `json:"what"`
	// Span is that of the request, call or subagent, "" for several.
	Span string `json:"spanId,omitempty"`
	// Tokens are input and output; of a cache miss the input that was not in the cache, of an
	// output what it added to the next request's input.
	Tokens int64 `json:"tokens"`
	// CostUSD is nil if unknown.
	CostUSD *float64 `json:"costUsd,omitempty"`
}

const (
	// fewTokens is from how many tokens on a miss or an output is worth a line, fewLines how
	// many lines of each kind there are.
	fewTokens = 2_000
	fewLines  = 3
)

// CostsOf finds out where the money went, and says how the session began, if that is known.
func CostsOf(w *store.Work, opening *store.Opening) Costs {
	out := Costs{Usage: w.Summary.Usage, Opening: opening, Before: before(opening)}
	lead := CostItem{Kind: "requests"}
	var rest *store.Usage
	requests := 0
	for i := range w.Requests {
		r := &w.Requests[i]
		rest = rest.Add(r.Usage)
		if r.Subagent == "" {
			requests++
			lead.add(r.Usage)
		}
	}
	if lead.What = termtext.Plural(requests, "request") + " of the agent"; requests > 0 {
		out.Items = append(out.Items, lead)
	}
	agents := subagentCosts(w)
	out.Items = append(out.Items, agents...)
	if u := w.Summary.Usage.Less(rest); u != nil && (u.Input+u.Output > 0 || u.CostUSD != nil) {
		other := CostItem{Kind: "other", What: "what the agent reports beyond its requests"}
		other.add(u)
		out.Items = append(out.Items, other)
	}
	misses, outputs := details(w)
	out.Items = slices.Concat(out.Items, misses[:min(len(misses), fewLines)], outputs[:min(len(outputs), fewLines)])
	out.Sentence = out.sentence(len(agents), misses, outputs)
	return out
}

func (c *CostItem) add(u *store.Usage) {
	if u == nil {
		return
	}
	if c.Tokens += u.Input + u.Output; u.CostUSD != nil {
		c.CostUSD = new(c.cost() + *u.CostUSD)
	}
}

func (c *CostItem) cost() float64 {
	if c.CostUSD == nil {
		return 0
	}
	return *c.CostUSD
}

// dearest sorts by cost and tokens.
func dearest(items []CostItem) []CostItem {
	slices.SortStableFunc(items, func(x, y CostItem) int {
		return cmp.Or(cmp.Compare(y.cost(), x.cost()), cmp.Compare(y.Tokens, x.Tokens))
	})
	return items
}

// subagentCosts are those of the requests by the kind of subagent.
func subagentCosts(w *store.Work) (out []CostItem) {
	kinds := make(map[string]int)
	for i := range w.Requests {
		r := &w.Requests[i]
		if r.Subagent == "" {
			continue
		}
		what := "subagent " + termtext.Line(r.Subagent)
		at, known := kinds[what]
		if !known {
			at = len(out)
			kinds[what], out = at, append(out, CostItem{Kind: "subagent", What: what})
		}
		out[at].add(r.Usage)
	}
	spans := make(map[string][]string)
	for _, a := range w.Subagents {
		what := "subagent " + termtext.Line(a.Name)
		spans[what] = append(spans[what], a.Span)
	}
	for i := range out {
		if of := spans[out[i].What]; len(of) == 1 {
			out[i].Span = of[0]
		} else if len(of) > 1 {
			out[i].What += fmt.Sprintf(" (%d)", len(of))
		}
	}
	return dearest(out)
}

// pairs calls f with each request of which the usage is known, the one before it of the same agent,
// and the calls between them.
func pairs(w *store.Work, f func(before, r *store.Request, between []*store.Call)) {
	before := make(map[string]*store.Request)
	calls := make(map[string][]*store.Call)
	for i := range w.Calls {
		c := &w.Calls[i]
		calls[c.AgentSpan] = append(calls[c.AgentSpan], c)
	}
	for i := range w.Requests {
		r := &w.Requests[i]
		p := before[r.AgentSpan]
		if r.Usage == nil {
			continue
		}
		if before[r.AgentSpan] = r; p == nil {
			continue
		}
		own := calls[r.AgentSpan]
		from, _ := slices.BinarySearchFunc(own, p.Started, func(c *store.Call, at time.Time) int { return c.Started.Compare(at) })
		to := from
		for to < len(own) && own[to].Started.Before(r.Started) {
			to++
		}
		f(p, r, own[from:to])
	}
}

// growth is by how much a request is larger than the one before with its answer.
func growth(before, r *store.Request) int64 {
	return r.Usage.Input - before.Usage.Input - before.Usage.Output
}

// Missed reports whether a request missed the cache, which had what the agent's request before had,
// and how many tokens of that it sent anew.
func Missed(before, r *store.Request) (anew int64, missed bool) {
	known := min(before.Usage.Input, r.Usage.Input)
	anew = known - r.Usage.CacheRead
	return anew, anew >= fewTokens && r.Usage.CacheRead < known/2
}

// details finds the requests that missed the cache, which had what the agent's request
// before had, and the outputs that made the next request larger.
func details(w *store.Work) (misses, outputs []CostItem) {
	cached := slices.ContainsFunc(w.Requests, func(r store.Request) bool { return r.Usage != nil && r.Usage.CacheRead+r.Usage.CacheWrite > 0 })
	pairs(w, func(p, r *store.Request, between []*store.Call) {
		if anew, missed := Missed(p, r); cached && missed {
			misses = append(misses, CostItem{
				Kind: "cache miss", Span: r.Span, Tokens: anew, CostUSD: r.Usage.CostUSD,
				What: fmt.Sprintf("request at %s sent %s anew that was in the request before", Offset(r.Started, w.Summary.Started), Tokens(anew)),
			})
		}
		more := growth(p, r)
		if more < fewTokens {
			return
		}
		item := CostItem{Kind: "output", Tokens: more, What: "request at " + Offset(r.Started, w.Summary.Started)}
		var of []string
		for _, c := range between {
			item.Span = c.Span
			of = append(of, strings.TrimSpace(termtext.Line(c.Tool)+" "+Given(c)))
		}
		if len(of) > 0 {
			item.What = strings.Join(of, ", ")
		}
		if len(of) != 1 {
			item.Span = r.Span
		}
		outputs = append(outputs, item)
	})
	return dearest(misses), dearest(outputs)
}

func (c *Costs) sentence(agents int, misses, outputs []CostItem) string {
	if c.Usage == nil {
		return "No tokens are known of this task."
	}
	whole := CostItem{}
	whole.add(c.Usage)
	amount := func(i CostItem) string {
		if i.CostUSD != nil {
			return Dollars(*i.CostUSD)
		}
		return Tokens(i.Tokens) + " tokens"
	}
	var parts []string
	for _, i := range c.Items[:min(len(c.Items), 1+min(agents, 2))] {
		of, all := i.cost(), whole.cost()
		if all <= 0 {
			of, all = float64(i.Tokens), float64(whole.Tokens)
		}
		switch {
		case i.Kind != "requests" && i.Kind != "subagent":
		case i.CostUSD == nil && whole.CostUSD != nil:
			parts = append(parts, "no price is known for "+i.What)
		default:
			parts = append(parts, fmt.Sprintf("%.0f %% for %s", 100*of/max(all, 1e-12), i.What))
		}
	}
	text := amount(whole)
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if len(misses) > 0 {
		sum := CostItem{}
		for _, m := range misses {
			sum.Tokens += m.Tokens
			if m.CostUSD != nil {
				sum.CostUSD = new(sum.cost() + *m.CostUSD)
			}
		}
		text += fmt.Sprintf("; %s missed the cache (%s)", termtext.Plural(len(misses), "request"), amount(sum))
	}
	if len(outputs) > 0 {
		text += fmt.Sprintf("; the largest output added %s tokens", Tokens(outputs[0].Tokens))
	}
	return text + "."
}

// before says what the agent had sent before the first prompt did any work.
func before(o *store.Opening) string {
	if o == nil {
		return ""
	}
	said := func(o *store.Opening) string {
		text := Tokens(o.Input) + " tokens"
		if o.Cached != nil && o.Input > 0 {
			text += fmt.Sprintf(", %.0f %% of them cached", 100*float64(*o.Cached)/float64(o.Input))
		}
		return text
	}
	text := "Before you typed: the session's first request had " + said(o)
	switch p := o.Previous; {
	case p == nil:
	case p.Input == o.Input:
		text += "; in the project's session before " + said(p)
	case p.Input < o.Input:
		text += fmt.Sprintf("; %s more than in the project's session before (%s)", Tokens(o.Input-p.Input), said(p))
	default:
		text += fmt.Sprintf("; %s less than in the project's session before (%s)", Tokens(p.Input-o.Input), said(p))
	}
	return text + "."
}

// Cost writes where the money of a trace went.
func Cost(w io.Writer, title string, c Costs, o Options) error {
	st, b := newStyle(o), bufio.NewWriter(w)
	_, _ = b.WriteString(st.paint(sgrBold, st.cut(termtext.Line(title), st.room())) + "\n")
	for _, text := range []string{c.Sentence, c.Before} {
		if text == "" {
			continue
		}
		for _, l := range termtext.Wrap(text, min(st.room(), pipedWidth)) {
			_, _ = b.WriteString(l + "\n")
		}
	}
	if len(c.Items) > 0 {
		_, _ = b.WriteString("\n")
		t := &table{style: st, rows: len(c.Items), columns: []*column{
			{name: "KIND", order: 1, cell: func(i int) (string, string) { return c.Items[i].Kind, sgrDim }},
			{name: "TOKENS", right: true, order: 3, cell: func(i int) (string, string) { return Tokens(c.Items[i].Tokens), "" }},
			{name: "COST", right: true, cell: func(i int) (string, string) { return cost(&store.Usage{CostUSD: c.Items[i].CostUSD}, inCents(c.Usage)) }},
			{name: "SPAN", order: 2, cell: func(i int) (string, string) {
				return cmp.Or(termtext.CutWidth(c.Items[i].Span, shortID, ""), "-"), sgrDim
			}},
			{name: "WHAT", least: minTitle, cell: func(i int) (string, string) { return c.Items[i].What, "" }},
		}}
		t.draw(b)
	}
	if len(c.Findings) > 0 {
		_, _ = b.WriteString("\n")
		st.findings(b, c.Findings)
	}
	return b.Flush()
}

package infinium

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// usage sums a run's requests to the model. Figures are nil if unknown.
type usage struct {
	provider, model                           string
	prompt, completion, requests, read, write *int64
	cost                                      *float64
}

// usage returns the root's totals, which also count requests that have no span,
// or else the sums over the chat spans.
func (m *mapping) usage() usage {
	root, turns := m.lead(), m.form.Turns
	u := usage{requests: known(root.Requests())}
	u.add(root, turns)
	u.name(root)
	summed, named := u.prompt != nil || u.completion != nil, u.model != ""
	var chats int64
	for _, n := range m.nodes {
		if n.kind != step.KindRequest {
			continue
		}
		chats++
		if !summed {
			u.add(n.step, turns)
		}
		if !named && n.step.Model() != "" {
			u.name(n.step)
		}
	}
	if u.requests == nil && chats > 0 {
		u.requests = &chats
	}
	return u
}

// name takes the model and its provider as the agent spells them.
func (u *usage) name(s step.Step) { u.provider, u.model = clean(s.Provider()), clean(s.Model()) }

func (u *usage) add(s step.Step, withCache bool) {
	// With the tokens of the cache or as the agent counts, whichever Infinium's
	// connector for the agent sends.
	prompt := known(s.HostInput())
	if prompt == nil || withCache {
		prompt = known(s.Input())
	}
	u.prompt = sum(u.prompt, prompt)
	u.completion = sum(u.completion, known(s.Output()))
	u.read = sum(u.read, known(s.CacheRead()))
	u.write = sum(u.write, known(s.CacheWrite()))
	u.cost = sum(u.cost, known(s.Cost()))
}

// sum adds what is known; nil means unknown.
func sum[N int64 | float64](x, y *N) *N {
	if x == nil || y == nil {
		return cmp.Or(x, y)
	}
	n := *x + *y
	return &n
}

// llm is the member of the body, nil if nothing was counted.
func (u *usage) llm() *LLMUsage {
	total := sum(u.prompt, u.completion)
	if total == nil && u.requests == nil {
		return nil
	}
	return &LLMUsage{
		Provider: word(u.provider, ""), Model: word(u.model, ""), PromptTokens: u.prompt,
		CompletionTokens: u.completion, TotalTokens: total, APICallsCount: u.requests,
	}
}

// tags are the environment's. They leave empty values out, and have the figures
// that LLMUsage has no member for.
func (m *mapping) tags(u usage) map[string]string {
	root := m.lead()
	version := cmp.Or(clean(root.HostVersion()), m.ofResource(step.Resource.Version))
	tags := map[string]string{
		TagFramework: m.form.Framework, TagTraceID: m.TraceID, TagModel: u.model,
		TagCacheReads: number(u.read), TagCacheWrites: number(u.write), TagTotalCost: price(u.cost),
		TagSessionID: clean(root.Session()), TagWorkingDirectory: clean(root.Directory()),
		TagPermissionMode: clean(root.PermissionMode()), TagOutcome: clean(root.Outcome()),
	}
	if m.root == nil {
		tags[TagSessionID] = m.first(step.Step.Session)
	}
	if !m.form.Turns {
		tags[TagModel] = strings.Trim(u.provider+"/"+u.model, "/")
		tags[TagModelProvider] = u.provider
	}
	var compactions int64
	for e := range root.Events() {
		if e.Name() == otelmap.EventCompaction {
			compactions++
			tags[TagCompactions] = number(&compactions)
		}
	}
	if m.form.VersionTag != "" {
		tags[m.form.VersionTag] = version
	}
	for k, v := range tags {
		if v == "" {
			delete(tags, k)
		} else {
			tags[k] = cut(v, maxTagRunes)
		}
	}
	return tags
}

func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// price has ten digits, which are finer than any price of a token and hide the
// noise of binary sums.
func price(usd *float64) string {
	if usd == nil {
		return ""
	}
	s := strconv.FormatFloat(*usd, 'f', 10, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

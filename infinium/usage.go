package infinium

import (
	"cmp"
	"strconv"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/hookspan/hookspan/otelmap"
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
	root, turns := m.Root().GetAttributes(), m.form.Turns
	u := usage{requests: count(root, otelmap.KeyLLMRequests)}
	u.add(root, turns)
	u.name(root)
	summed, named := u.prompt != nil || u.completion != nil, u.model != ""
	var chats int64
	for _, n := range m.nodes {
		if n.op != otelmap.OpChat {
			continue
		}
		chats++
		if !summed {
			u.add(n.Attributes, turns)
		}
		if !named && modelName(n.Attributes) != "" {
			u.name(n.Attributes)
		}
	}
	if u.requests == nil && chats > 0 {
		u.requests = &chats
	}
	return u
}

// name takes the model and its provider as the agent spells them.
func (u *usage) name(a []*commonpb.KeyValue) {
	u.provider = cmp.Or(text(a, otelmap.KeyHostProvider), text(a, otelmap.KeyProvider))
	u.model = modelName(a)
}

func modelName(a []*commonpb.KeyValue) string {
	return cmp.Or(clean(otelmap.Model(a)), text(a, otelmap.KeyResponseModel))
}

func (u *usage) add(a []*commonpb.KeyValue, withCache bool) {
	// With the tokens of the cache or as the agent counts, whichever Infinium's
	// connector for the agent sends.
	prompt := count(a, otelmap.KeyHostInputTokens)
	if prompt == nil || withCache {
		prompt = tokens(a, otelmap.KeyInputTokens)
	}
	u.prompt = sum(u.prompt, prompt)
	u.completion = sum(u.completion, tokens(a, otelmap.KeyOutputTokens))
	u.read = sum(u.read, tokens(a, otelmap.KeyCacheReadTokens))
	u.write = sum(u.write, tokens(a, otelmap.KeyCacheWriteTokens))
	u.cost = sum(u.cost, amount(a, otelmap.KeyCost))
}

// tokens is a count of a request or of an agent.
func tokens(a []*commonpb.KeyValue, key string) *int64 {
	return cmp.Or(count(a, key), count(a, otelmap.RunKey(key)))
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
	a := m.Root().GetAttributes()
	version := cmp.Or(text(a, otelmap.KeyHostVersion), resourceText(m.Run, otelmap.KeyServiceVersion))
	tags := map[string]string{
		TagFramework: m.form.Framework, TagTraceID: m.TraceID, TagModel: u.model,
		TagCacheReads: number(u.read), TagCacheWrites: number(u.write), TagTotalCost: price(u.cost),
		TagSessionID: text(a, otelmap.KeyConversationID), TagWorkingDirectory: text(a, otelmap.KeyWorkingDirectory),
		TagPermissionMode: text(a, otelmap.KeyPermissionMode), TagOutcome: text(a, otelmap.KeyOutcome),
	}
	if m.root == nil {
		tags[TagSessionID] = firstText(m.Run, otelmap.KeyConversationID)
	}
	if !m.form.Turns {
		tags[TagModel] = strings.Trim(u.provider+"/"+u.model, "/")
		tags[TagModelProvider] = u.provider
	}
	var compactions int64
	for _, ev := range m.Root().GetEvents() {
		if ev.GetName() == otelmap.EventCompaction {
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

package infinium

import (
	"cmp"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/hookspan/hookspan/otelmap"
)

// usage sums the run's requests to the model: the root's totals, which also
// count what has no span of its own, else the sum over the chat spans. It is
// nil when nothing was counted.
func (r *run) usage() *LLMUsage {
	var u LLMUsage
	provider, model := r.model()
	u.Provider, u.Model = word(provider, ""), word(model, "")
	if r.root != nil {
		a := r.root.Attributes()
		u.PromptTokens = promptTokens(r.host(), a)
		u.CompletionTokens = count(a, otelmap.KeyOutputTokens)
		u.APICallsCount = count(a, otelmap.KeyLLMRequests)
	}
	if u.PromptTokens == nil && u.CompletionTokens == nil {
		for n := range r.chats {
			a := n.Attributes()
			u.PromptTokens = sum(u.PromptTokens, promptTokens(r.host(), a))
			u.CompletionTokens = sum(u.CompletionTokens, count(a, otelmap.KeyOutputTokens))
		}
	}
	if u.APICallsCount == nil {
		one := int64(1)
		for range r.chats {
			u.APICallsCount = sum(u.APICallsCount, &one)
		}
	}
	u.TotalTokens = sum(u.PromptTokens, u.CompletionTokens)
	if u.TotalTokens == nil && u.APICallsCount == nil {
		return nil
	}
	return &u
}

// promptTokens is the input count: of Cline as it counts itself, because that is
// the figure Infinium's own connector sends; of Claude Code, which counts what
// came from the cache apart, with the cache.
func promptTokens(host string, a []attribute.KeyValue) *int64 {
	if n := count(a, otelmap.KeyHostInputTokens); n != nil && !styleOf(host, Limits{}).claude {
		return n
	}
	return count(a, otelmap.KeyInputTokens)
}

// sum adds what is known; nil means unknown.
func sum(x, y *int64) *int64 {
	if y == nil {
		return x
	}
	n := *y
	if x != nil {
		n += *x
	}
	return &n
}

// chats gives the run's requests to the model.
func (r *run) chats(yield func(*node) bool) {
	for _, n := range r.nodes {
		if n.op == otelmap.OpChat && !yield(n) {
			return
		}
	}
}

// model names provider and model as the host spells them: the root's, else the
// last request's.
func (r *run) model() (provider, model string) {
	read := func(n *node) {
		a := n.Attributes()
		if m := cmp.Or(text(a, otelmap.KeyRequestModel), text(a, otelmap.KeyResponseModel)); m != "" {
			provider = cmp.Or(text(a, otelmap.KeyHostProvider), text(a, otelmap.KeyProvider))
			model = m
		}
	}
	if r.root != nil {
		read(r.root)
	}
	if model == "" {
		for n := range r.chats {
			read(n)
		}
	}
	if model == "" && r.root != nil {
		a := r.root.Attributes()
		provider = cmp.Or(text(a, otelmap.KeyHostProvider), text(a, otelmap.KeyProvider))
	}
	return provider, model
}

// tags are the environment's; empty values are left out.
func (r *run) tags(st *style) map[string]string {
	tags := make(map[string]string)
	put := func(key, value string) {
		if value != "" {
			tags[key] = cut(value, maxTagRunes)
		}
	}
	put(TagFramework, st.framework)
	put(TagTraceID, r.traceID.String())
	provider, model := r.model()
	if st.claude {
		put(TagModel, model)
	} else {
		put(TagModel, strings.Trim(provider+"/"+model, "/"))
		put(TagModelProvider, provider)
	}
	if r.root == nil {
		for _, n := range r.nodes {
			if id := text(n.Attributes(), otelmap.KeyConversationID); id != "" {
				put(TagSessionID, id)
				break
			}
		}
		put(st.versionTag, r.resourceText(otelmap.KeyServiceVersion))
		r.putUsage(put, nil)
		return tags
	}
	a := r.root.Attributes()
	put(TagSessionID, text(a, otelmap.KeyConversationID))
	put(TagWorkingDirectory, text(a, otelmap.KeyWorkingDirectory))
	put(st.versionTag, cmp.Or(text(a, otelmap.KeyHostVersion), r.resourceText(otelmap.KeyServiceVersion)))
	put(TagPermissionMode, text(a, otelmap.KeyPermissionMode))
	put(TagOutcome, text(a, otelmap.KeyOutcome))
	var compactions int64
	for _, ev := range r.root.Events() {
		if ev.Name == otelmap.EventCompaction {
			compactions++
		}
	}
	if compactions > 0 {
		put(TagCompactions, strconv.FormatInt(compactions, 10))
	}
	r.putUsage(put, a)
	return tags
}

// putUsage adds the figures that Infinium's usage has no member for.
func (r *run) putUsage(put func(key, value string), root []attribute.KeyValue) {
	reads := count(root, otelmap.KeyCacheReadTokens)
	writes := count(root, otelmap.KeyCacheWriteTokens)
	cost := amount(root, otelmap.KeyCost)
	if promptTokens(r.host(), root) == nil && count(root, otelmap.KeyOutputTokens) == nil {
		for n := range r.chats {
			a := n.Attributes()
			reads = sum(reads, count(a, otelmap.KeyCacheReadTokens))
			writes = sum(writes, count(a, otelmap.KeyCacheWriteTokens))
			if c := amount(a, otelmap.KeyCost); c != nil {
				total := *c
				if cost != nil {
					total += *cost
				}
				cost = &total
			}
		}
	}
	if reads != nil {
		put(TagCacheReads, strconv.FormatInt(*reads, 10))
	}
	if writes != nil {
		put(TagCacheWrites, strconv.FormatInt(*writes, 10))
	}
	if cost != nil {
		// Ten digits are finer than any price of a token and hide the noise of
		// binary sums.
		s := strconv.FormatFloat(*cost, 'f', 10, 64)
		put(TagTotalCost, strings.TrimSuffix(strings.TrimRight(s, "0"), "."))
	}
}

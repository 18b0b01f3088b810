package codex

import (
	"cmp"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// settings is the type of the row with the settings of the turns that follow, or of the
// one that has just begun.
const settings = "thread_settings_applied"

// unknownTier is that of a turn whose settings could not be read.
const unknownTier = "unknown"

// addCall adds a request with its tokens, of which those of the input include what was
// read from the cache and written to it.
func (l *log) addCall(id string, usage rawjson.Object, at time.Time) {
	count := func(name string) int64 { return transcript.TokenCount(usage, name) }
	start := l.input
	if len(l.words)+len(l.asked) > 0 { // none of an answer that is still to come
		start = l.began
	}
	if start.IsZero() || start.After(at) {
		start = at
	}
	c := hook.Request{
		Kind: hook.RequestSingle, ID: id, Turn: l.turn, Agent: l.agent, Start: start, End: at,
		Provider: l.provider, Model: l.model, Text: l.Texts.Keep(strings.Join(l.words, "\n")), ToolCallIDs: l.asked,
		Usage: &hook.Usage{
			Input: count("input_tokens"), Output: count("output_tokens"), Reasoning: count("reasoning_output_tokens"), CacheRead: count("cached_input_tokens"),
			CacheWrite: count("cache_write_input_tokens"), InputIncludesCache: true,
		},
	}
	c.ID = cmp.Or(c.ID, l.requestID(at, at, c.Usage))
	writes := usage.Get("cache_write_input_tokens") != nil
	switch tier := l.tier; {
	case !l.costs:
	case tier == "", tier == "default", tier == "standard":
		c.Usage.CostUSD = transcript.ListCost(&c, writes)
	case tier == "fast", tier == "priority":
		c.Usage.CostUSD = transcript.FastCost(&c, writes)
	}
	l.Calls = append(l.Calls, c)
	l.words, l.asked = nil, nil
}

// madeID is what an id is made of. A row that is there again has the same.
type madeID struct {
	agent     string
	from, end time.Time
	usage     hook.Usage
}

// requestID is the id of a request to which no response gave one.
func (l *log) requestID(from, end time.Time, u *hook.Usage) string {
	key := madeID{l.agent, from, end, *cmp.Or(u, &hook.Usage{})}
	if l.made[key] == "" {
		l.made[key] = l.timeID("req-", from)
	}
	return l.made[key]
}

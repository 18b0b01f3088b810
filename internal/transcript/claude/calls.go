package claude

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/prices"
)

// syntheticModel is the model in rows that no model wrote.
const syntheticModel = "<synthetic>"

// response is one response of the API, folded from its rows: there is one row
// for each block of content, and each carries the usage of the whole.
type response struct {
	hook.LLMCall
	counts    counts
	sidechain bool
	// rows are hashes of the rows' own ids, by which a copy is known.
	rows []uint64
	// next is another response with this message id, again set on it.
	next  *response
	again bool
}

// responses folds rows into calls.
type responses struct {
	list []*response
	byID map[string]*response // the first of each id
}

// at returns the call that a row belongs to, and whether it is a new one.
//
// A response is known by its message id and the request's id. The same message
// under another request id, on a side chain or in another agent's log is the
// same response, shown again: resolve decides which of them counts, when they
// are complete.
func (c *responses) at(id, request, agent string, sidechain bool) (call *response, fresh bool) {
	var last *response
	for call := c.byID[id]; call != nil; last, call = call, call.next {
		sameRequest := request == call.RequestID || request == "" || call.RequestID == ""
		if sameRequest && call.Agent == agent && call.sidechain == sidechain {
			call.RequestID = cmp.Or(call.RequestID, request)
			return call, false
		}
	}
	call = &response{
		LLMCall:   hook.LLMCall{Kind: hook.CallRequest, ID: id, RequestID: request, Agent: agent},
		sidechain: sidechain, again: last != nil,
	}
	if last != nil {
		last.next = call
	} else {
		if c.byID == nil {
			c.byID = make(map[string]*response)
		}
		c.byID[id] = call
	}
	c.list = append(c.list, call)
	return call, true
}

// seen reports whether the row has been folded into the call before.
func (c *response) seen(uuid []byte) bool {
	if len(uuid) == 0 {
		return false
	}
	h := fnv.New64a()
	_, _ = h.Write(uuid) // never fails
	sum := h.Sum64()
	if slices.Contains(c.rows, sum) {
		return true
	}
	c.rows = append(c.rows, sum)
	return false
}

// resolve ends the folding: one call for each message id. Of a message under
// two request ids, the one on the main thread counts, as a side question (/btw)
// shows the conversation's answers again; else the one with more tokens.
func (c *responses) resolve() []hook.LLMCall {
	calls := make([]hook.LLMCall, 0, len(c.byID))
	models := make(map[string]*prices.Model)
	c.byID = nil
	for i, best := range c.list {
		c.list[i] = nil // there may be very many, and both need not be kept
		if best.again {
			continue
		}
		for other := best.next; other != nil; other = other.next {
			if best.sidechain && !other.sidechain || best.sidechain == other.sidechain && other.counts.total() > best.counts.total() {
				best = other
			}
		}
		m, ok := models[best.Model]
		if !ok {
			m = prices.Of(best.Model)
			models[best.Model] = m
		}
		best.Usage = best.counts.usage(m, best.Start)
		calls = append(calls, best.LLMCall)
	}
	c.list = nil
	return calls
}

// providerOf returns who ran the model, by a message's id: Bedrock and Vertex AI
// have their own prefixes.
func providerOf(messageID string) string {
	switch {
	case strings.HasPrefix(messageID, "msg_bdrk_"):
		return "bedrock"
	case strings.HasPrefix(messageID, "msg_vrtx_"):
		return "vertex"
	}
	return "anthropic"
}

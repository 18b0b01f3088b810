package claude

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
)

// syntheticModel stands in rows that no model wrote.
const syntheticModel = "<synthetic>"

// response is one response of the API, folded from its rows: there is one row
// for each block of content, and each carries the usage of the whole.
type response struct {
	hook.LLMCall
	counts    counts
	sidechain bool
	// rows are hashes of the rows' own ids, by which a copy is known.
	rows []uint64
	// next is the place of another response with this message id plus one; 0
	// ends the list.
	next int
}

// responses folds rows into calls.
type responses struct {
	list []*response
	byID map[string]int
}

// at returns the call that a row belongs to, and whether it is a new one.
//
// A response is known by its message id and the request's id. The same message
// under another request id, on a side chain or in another agent's log is the
// same response, shown again: which of them counts is for resolve to say, when
// they are whole.
func (c *responses) at(id, request, agent string, sidechain bool) (call *response, fresh bool) {
	if c.byID == nil {
		c.byID = make(map[string]int)
	}
	if first, known := c.byID[id]; known {
		last := first
		for i := first + 1; i > 0; i = c.list[i-1].next {
			last = i - 1
			call := c.list[last]
			sameRequest := request == call.RequestID || request == "" || call.RequestID == ""
			if sameRequest && call.Agent == agent && call.sidechain == sidechain {
				call.RequestID = cmp.Or(call.RequestID, request)
				return call, false
			}
		}
		c.list[last].next = len(c.list) + 1
	} else {
		c.byID[id] = len(c.list)
	}
	call = &response{
		LLMCall: hook.LLMCall{
			Kind: hook.CallRequest, ID: id, RequestID: request, Agent: agent,
		},
		sidechain: sidechain,
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
func (c *responses) resolve(prices *priceList) []hook.LLMCall {
	calls := make([]hook.LLMCall, 0, len(c.byID))
	for i, best := range c.list {
		if best == nil {
			continue // shown again, and dealt with
		}
		for j := best.next; j > 0; {
			other := c.list[j-1]
			c.list[j-1] = nil
			j = other.next
			if best.sidechain && !other.sidechain || best.sidechain == other.sidechain && other.counts.total() > best.counts.total() {
				best = other
			}
		}
		c.list[i] = nil // there may be very many, and both need not be kept
		best.Usage = best.counts.usage(prices.of(best.Model))
		calls = append(calls, best.LLMCall)
	}
	c.list, c.byID = nil, nil
	return calls
}

// providerOf reads who ran the model from a message's id: Bedrock and
// Vertex AI have prefixes of their own.
func providerOf(messageID string) string {
	switch {
	case strings.HasPrefix(messageID, "msg_bdrk_"):
		return "bedrock"
	case strings.HasPrefix(messageID, "msg_vrtx_"):
		return "vertex"
	}
	return "anthropic"
}

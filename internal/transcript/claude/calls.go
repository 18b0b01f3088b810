package claude

import (
	"hash/fnv"
	"io"
	"strconv"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/internal/transcript/prices"
)

// syntheticModel is the model in rows that no model wrote.
const syntheticModel = "<synthetic>"

// response is one response of the API, folded from its rows: there is one row
// for each block of content, and each carries the usage of the whole.
type response struct {
	hook.Request
	counts    counts
	sidechain bool
	// row is a hash of what the first row holds, by which a copy is known: it may have
	// another id. rows are those of the others.
	row  uint64
	rows map[uint64]bool
	// words and thoughts are the memory of a Text and a Reasoning of several rows, else nil.
	words, thoughts *strings.Builder
	// next is another response with this message id, again set on it. last is the last one,
	// set on the first.
	next, last *response
	again      bool
}

// responses folds rows into calls.
type responses struct {
	list []*response
	byID map[string]*response // the first of each id
	// shown are those of the few ids that have several: the first in a conversation, and that
	// of each request in one.
	shown map[shownKey]*response
}

// shownKey is a message in a conversation. The request is empty for the first.
type shownKey struct {
	id, request, agent string
	sidechain          bool
}

// at returns the call that a row belongs to, and whether it is a new one.
//
// A response is known by its message id and the request's id. The same message
// under another request id, on a side chain or in another agent's log is the
// same response, shown again: resolve decides which of them counts, when they
// are complete.
func (c *responses) at(id, request, agent string, sidechain bool) (call *response, fresh bool) {
	if c.byID == nil {
		c.byID, c.shown = make(map[string]*response), make(map[shownKey]*response)
	}
	first, key := c.byID[id], shownKey{id: id, agent: agent, sidechain: sidechain}
	call, key.request = c.find(first, key), request
	if call != nil && request != "" && call.RequestID != "" {
		call = c.find(first, key)
	}
	if call != nil {
		if call.RequestID == "" && request != "" {
			call.RequestID = request
			if first.next != nil {
				c.shown[key] = call
			}
		}
		return call, false
	}
	call = &response{
		Request:   hook.Request{Kind: hook.RequestSingle, ID: id, RequestID: request, Agent: agent},
		sidechain: sidechain, again: first != nil,
	}
	if first == nil {
		call.last = call
		c.byID[id] = call
	} else {
		if first.next == nil {
			c.show(first)
		}
		first.last.next, first.last = call, call
		c.show(call)
	}
	c.list = append(c.list, call)
	return call, true
}

// find returns the response of a message in a conversation; first is that of the message.
func (c *responses) find(first *response, key shownKey) *response {
	if first == nil || first.next != nil {
		return c.shown[key]
	}
	if first.Agent != key.agent || first.sidechain != key.sidechain || key.request != "" && first.RequestID != key.request {
		return nil
	}
	return first
}

// show has find find one of several responses of a message.
func (c *responses) show(call *response) {
	key := shownKey{id: call.ID, agent: call.Agent, sidechain: call.sidechain}
	if c.shown[key] == nil {
		c.shown[key] = call
	}
	if call.RequestID != "" {
		key.request = call.RequestID
		c.shown[key] = call
	}
}

// complete takes in the tokens of a copy of an answer, whose own rows may have been written
// before they were known.
func (c *responses) complete(r *row) {
	m := rawjson.Members(r.message)
	for call := c.byID[m.Text("id")]; call != nil; call = call.next {
		if call.RequestID == r.text("requestId") && !call.sidechain {
			call.counts.add(m.Get("usage"), r.Get("costUSD"), m.Text("stop_reason") != "")
		}
	}
}

// say adds the texts of a row.
func (c *response) say(texts *transcript.Texts, text, thought string) {
	c.Text, c.words = join(texts, c.words, c.Text, "\n", text)
	line := "\n"
	if strings.HasSuffix(c.Reasoning, line) {
		line = ""
	}
	c.Reasoning, c.thoughts = join(texts, c.thoughts, c.Reasoning, line, thought)
}

func join(texts *transcript.Texts, w *strings.Builder, text, line, more string) (string, *strings.Builder) {
	switch {
	case more == "":
		return text, w
	case text == "":
		return texts.Keep(more), w
	case w == nil:
		w = new(strings.Builder)
	}
	return texts.Join(w, text, line+more), w
}

// seen reports whether a row with the same texts and tool calls has been folded into
// the call before.
func (c *response) seen(content transcript.Content) bool {
	h := fnv.New64a()
	for i := range content {
		for _, part := range [...]string{content[i].Type, content[i].Text, content[i].ID} {
			_, _ = io.WriteString(h, part+"\x00") // never fails
		}
	}
	sum := h.Sum64() | 1 // zero means no row
	if c.row == 0 {
		c.row = sum
		return false
	}
	seen := c.row == sum || c.rows[sum]
	if !seen && c.rows == nil {
		c.rows = make(map[uint64]bool, 1)
	}
	if !seen {
		c.rows[sum] = true
	}
	return seen
}

// resolve ends the folding: one call for each message id. Of a message under
// two request ids, the one on the main thread counts, as a side question (/btw)
// shows the conversation's answers again; else the one with more tokens. What another
// model answered within the response, as an advisor, is a separate call.
func (c *responses) resolve() []hook.Request {
	calls := make([]hook.Request, 0, len(c.byID))
	models := make(map[string]*prices.Model)
	priceOf := func(name string) *prices.Model {
		m, ok := models[name]
		if !ok {
			m = prices.Of(name)
			models[name] = m
		}
		return m
	}
	c.byID, c.shown = nil, nil
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
		best.Usage = best.counts.usage(priceOf(best.Model), best.Start)
		calls = append(calls, best.Request)
		for i := range best.counts.advice {
			a := &best.counts.advice[i]
			a.counts.us, a.counts.tier = best.counts.us, best.counts.tier
			call := hook.Request{
				Kind: hook.RequestSingle, ID: best.ID + "-advisor-" + strconv.Itoa(i+1), RequestID: best.RequestID, Agent: best.Agent,
				Turn: best.Turn, Provider: best.Provider, Model: a.model, Start: best.Start, End: best.End,
			}
			call.Usage = a.counts.usage(priceOf(a.model), best.Start)
			calls = append(calls, call)
		}
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

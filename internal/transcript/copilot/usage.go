package copilot

import (
	"cmp"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// addUsage adds a request, which has just been answered.
func (l *log) addUsage(r *row) {
	if r.kind == assistantUsage {
		l.addEditorUsage(r)
		return
	}
	u := r.data.Members("usage")
	took, _ := rawjson.Millis(u.Get("duration"))
	c := hook.Request{
		Kind: hook.RequestSingle, ID: u.Text("apiCallId"), Agent: r.agent, Start: r.at.Add(-took), End: r.at,
		Provider: u.Text("providerType"), Model: u.Text("model"), ResponseModel: u.Text("model"), FinishReason: u.Text("finishReason"), Usage: usage(u),
	}
	if c.ID == "" {
		c.ID = transcript.TimeID("req-", c.Start)
	}
	if u.Is("isByok") {
		c.Usage.CostUSD = transcript.ListCost(&c, true)
	}
	l.recorded, l.records = true, true
	if i, ok := l.requests[agentKey{r.agent, c.ID}]; ok && l.parts[agentKey{r.agent, c.ID}] { // the answer came first
		delete(l.parts, agentKey{r.agent, c.ID})
		c.Text, c.ToolCallIDs = l.Calls[i].Text, l.Calls[i].ToolCallIDs
		l.Calls[i] = c
		return
	}
	l.addRequest(c)
}

// addEditorUsage adds what a request took, which has an answer before or after this row.
func (l *log) addEditorUsage(r *row) {
	if !l.editor {
		return
	}
	last := len(l.Calls) - 1
	if last >= 0 && l.Calls[last].Agent == r.agent && l.Calls[last].Usage == nil {
		l.Calls[last].Usage, l.Calls[last].Model = usage(r.data), cmp.Or(r.data.Text("model"), l.Calls[last].Model)
		return
	}
	l.addUnrecorded(r)
	c := &l.Calls[len(l.Calls)-1]
	c.Usage = usage(r.data)
	l.requests[agentKey{c.Agent, ""}] = len(l.Calls) - 1 // where an answer without an id looks
}

func (l *log) addRequest(c hook.Request) {
	l.requests[agentKey{c.Agent, c.ID}] = len(l.Calls)
	l.Calls = append(l.Calls, c)
}

// addUnrecorded adds the request of an answer that has no record: before 1.0.102 there is
// the number of tokens of the answer alone, or none.
func (l *log) addUnrecorded(r *row) {
	c := hook.Request{
		Kind: hook.RequestSingle, ID: r.data.Text("apiCallId", "messageId"), Agent: r.agent, Start: l.input[r.agent], End: r.at, Model: cmp.Or(r.data.Text("model"), l.model),
	}
	if c.Start.IsZero() || c.Start.After(c.End) {
		c.Start = c.End
	}
	if c.ID == "" {
		c.ID = transcript.TimeID("req-", c.End)
	}
	l.parts[agentKey{c.Agent, c.ID}] = true
	l.addRequest(c)
}

// addMetrics adds what the requests since the session was opened took, where they have no
// records: a sum for each model, less what the answers have told.
func (l *log) addMetrics(r *row) {
	calls := l.Calls[l.opened:]
	recorded := l.recorded
	l.opened, l.recorded = len(l.Calls), false
	if recorded || l.records && len(calls) == 0 { // versions with records sum the whole session
		return
	}
	at := l.worked
	if at.IsZero() {
		at = r.at
	}
	var sums []hook.Request
	rawjson.EachMember(r.data.Get("modelMetrics"), func(name, value []byte) {
		model := string(name)
		sums = append(sums, hook.Request{
			Kind: hook.RequestsUnlisted, ID: transcript.TimeID("session-"+model+"-", at), Start: at, End: at, Model: model, Usage: usage(rawjson.Members(value).Members("usage")),
		})
	})
	for i := range calls {
		c := &calls[i]
		if len(sums) == 1 {
			c.Model = sums[0].Model // the session may have begun with another
		}
		if c.Usage == nil || len(sums) == 0 {
			continue
		}
		named := func(sum hook.Request) bool { return sum.Model == c.Model }
		holds := func(sum hook.Request) bool { return sum.Usage.Output >= c.Usage.Output }
		of := slices.IndexFunc(sums, func(sum hook.Request) bool { return named(sum) && holds(sum) })
		if of < 0 { // the answer was another model's than the session's
			of = slices.IndexFunc(sums, holds)
		}
		if of < 0 {
			of = max(0, slices.IndexFunc(sums, named))
		}
		c.Model, sums[of].Usage.Output = sums[of].Model, max(0, sums[of].Usage.Output-c.Usage.Output)
	}
	l.Calls = append(l.Calls, slices.DeleteFunc(sums, func(sum hook.Request) bool {
		return sum.Usage.TotalInput()+sum.Usage.Output == 0
	})...)
	l.opened, l.worked = len(l.Calls), time.Time{}
}

// usage is what a request took. The input includes what came from the cache.
func usage(u rawjson.Object) *hook.Usage {
	count := func(names ...string) int64 { return transcript.TokenCount(u, names...) }
	return &hook.Usage{
		Input: count("inputTokens"), Output: count("outputTokens"), Reasoning: count("reasoningTokens"), CacheRead: count("cacheReadTokens"), CacheWrite: count("cacheWriteTokens", "cacheCreationInputTokens"),
		InputIncludesCache: true,
	}
}

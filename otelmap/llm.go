package otelmap

import (
	"cmp"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

func (j *joined) chatMessage(c *exchange) *tracepb.Span {
	id := c.ID
	if c.Error != "" && c.RequestID == "" && j.turns() {
		id = "" // the host made it up; there was no response
	}
	a := texts(
		KeyOperation, OpChat,
		KeyConversationID, j.session,
		KeyProvider, j.standardProvider(c.Provider),
		KeyAgentName, j.byID[c.Agent].name,
		KeyRequestModel, c.Model,
		KeyResponseModel, c.ResponseModel,
		KeyResponseID, id,
		KeyRequestID, c.RequestID,
	)
	reason := cmp.Or(finishReasons[c.FinishReason], c.FinishReason)
	if c.Error != "" {
		reason = finishError
	}
	if reason != "" {
		a = append(a, otlp.Strings(KeyFinishReasons, []string{reason}))
	}
	a.texts(KeyHostProvider, c.Provider)
	if u := c.Usage; u != nil {
		a.usage(u, u.TotalInput(), true, sameKey)
		if u.CacheWriteHour > 0 {
			a.num(KeyCacheWriteHourTokens, u.CacheWriteHour)
		}
	}
	if at := j.checkedOut(c.Agent, c.start); j.elsewhere(&at) {
		if at.Name != j.place.Name || at.URL != j.place.URL {
			a.texts(KeyRepositoryName, at.Name, KeyRepositoryURL, at.URL)
		}
		a.texts(KeyBranch, at.Branch)
		a.flag(KeyBranchUnknown, at.Branch == "")
	}
	if c.Agent == "" {
		a.texts(KeyEffort, j.opts.text(j.run.terminal.text(KeyEffort), j.opts.MaxOutput))
		a.flag(KeyCompacted, !j.compacted.IsZero() && c.start.After(j.compacted))
	}
	finish := class(c.Error)
	if finish == ErrorOther {
		finish = "" // which is no reason
	}
	a.texts(KeyFinish, finish, KeySystemInstructions, j.system(c), KeyInputMessages, j.input(c), KeyOutputMessages, j.output(c, reason))
	s := newSpan(OpChat, c.Model, a)
	if c.Error != "" {
		fail(s, cmp.Or(class(c.Error), ErrorOther), j.opts.text(c.Message, j.opts.MaxOutput), c.end)
	}
	return s
}

// finishError is the reason of a request that failed or was cancelled.
const finishError = "error"

func sameKey(key string) string { return key }

// finishReasons maps the hosts' reasons to the values that the conventions know;
// others stay as they are.
var finishReasons = map[string]string{
	"end_turn":                      "stop",
	"stop_sequence":                 "stop",
	"max_tokens":                    "length",
	"model_context_window_exceeded": "length",
	"tool_use":                      "tool_call",
	"refusal":                       "content_filter",
}

// usage adds the sums over the requests of a subagent, or of the whole run.
func (j *joined) usage(a *attrs, of *actor) {
	var sum hook.Usage
	var total, requests, counted int64
	list := of.requests
	if of.id == "" {
		list = j.requests
	}
	for _, c := range list {
		if c.Kind == hook.RequestSingle {
			requests++
		}
		u := c.Usage
		if u == nil {
			continue
		}
		counted++
		total += u.TotalInput()
		sum.Input += u.Input
		sum.Output += u.Output
		sum.Reasoning += u.Reasoning
		sum.CacheRead += u.CacheRead
		sum.CacheWrite += u.CacheWrite
		if u.CostUSD != nil {
			cost := *u.CostUSD + *cmp.Or(sum.CostUSD, new(float64))
			sum.CostUSD = &cost
		}
	}
	if requests > 0 {
		a.num(KeyLLMRequests, requests)
	}
	if counted > 0 {
		key := RunKey
		if requests == 0 && of.id == "" {
			key = sameKey // no span of a request has them
		}
		a.usage(&sum, total, true, key)
	}
}

// usageEvents returns an event for each use of the model that has no span.
func (j *joined) usageEvents() []*tracepb.Span_Event {
	sources := map[hook.RequestKind]string{hook.RequestsDeleted: "deleted", hook.RequestsOfSubagents: "subagents", hook.RequestsUnlisted: "session"}
	var events []*tracepb.Span_Event
	for _, c := range j.requests {
		if source := sources[c.Kind]; source != "" && c.Usage != nil {
			a := texts(KeyUsageSource, source)
			a.usage(c.Usage, c.Usage.TotalInput(), false, RunKey)
			events = append(events, spanEvent(EventUsage, latest(c.Start, j.start), a))
		}
	}
	return events
}

package verify

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// loss is something that is wrong in the traces of a session.
type loss struct {
	name string
	// lose changes a run, the spans of which begin with the root, and reports whether it did.
	// If nil, all traces of the session are lost.
	lose func(scope *tracepb.ScopeSpans) bool
	// second reports that the second reading alone names it, too.
	second bool
	// but are agents whose files do not tell it; of these the first reading may name it.
	but []string
}

// first changes the first span for which is returns true.
func first(is func(*tracepb.Span) bool, change func(*tracepb.Span)) func(*tracepb.ScopeSpans) bool {
	return func(scope *tracepb.ScopeSpans) bool {
		i := slices.IndexFunc(scope.Spans, is)
		if i >= 0 {
			change(scope.Spans[i])
		}
		return i >= 0
	}
}

// last changes the last one.
func last(is func(*tracepb.Span) bool, change func(*tracepb.Span)) func(*tracepb.ScopeSpans) bool {
	return func(scope *tracepb.ScopeSpans) bool {
		for _, s := range slices.Backward(scope.Spans) {
			if is(s) {
				change(s)
				return true
			}
		}
		return false
	}
}

// without drops the first span for which is returns true, and those below it.
func without(is func(*tracepb.Span) bool) func(*tracepb.ScopeSpans) bool {
	return func(scope *tracepb.ScopeSpans) bool {
		i := slices.IndexFunc(scope.Spans, is)
		if i < 0 {
			return false
		}
		gone := map[string]bool{string(scope.Spans[i].SpanId): true}
		for n := 0; n < len(gone); {
			n = len(gone)
			for _, s := range scope.Spans {
				if gone[string(s.ParentSpanId)] {
					gone[string(s.SpanId)] = true
				}
			}
		}
		scope.Spans = slices.DeleteFunc(scope.Spans, func(s *tracepb.Span) bool { return gone[string(s.SpanId)] })
		return true
	}
}

// twice doubles the first span for which is returns true.
func twice(is func(*tracepb.Span) bool) func(*tracepb.ScopeSpans) bool {
	return func(scope *tracepb.ScopeSpans) bool {
		i := slices.IndexFunc(scope.Spans, is)
		if i >= 0 {
			twin := proto.CloneOf(scope.Spans[i])
			twin.SpanId = []byte("doubled!")
			scope.Spans = append(scope.Spans, twin)
		}
		return i >= 0
	}
}

func and(tests ...func(*tracepb.Span) bool) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool {
		return !slices.ContainsFunc(tests, func(is func(*tracepb.Span) bool) bool { return !is(s) })
	}
}

func has(key string) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool {
		n, isInt := otlp.Integer(s.Attributes, key)
		return isInt && n > 0 || otlp.Text(s.Attributes, key) != "" || key == otelmap.KeyCost && otlp.Find(s.Attributes, key) != nil
	}
}

func ended(status string) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool { return statusOf(s) == status }
}

func outcome(is string) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool {
		return role(store.RoleRoot)(s) && otlp.Text(s.Attributes, otelmap.KeyOutcome) == is
	}
}

func text(key, value string) func(*tracepb.Span) {
	return func(s *tracepb.Span) { set(s, otlp.String(key, value)) }
}

// plusOne changes a count of tokens of a root, whichever name it has.
func plusOne(keys ...string) func(*tracepb.Span) {
	return func(s *tracepb.Span) {
		for _, key := range keys {
			if has(key)(s) {
				add(key, 1)(s)
			}
		}
	}
}

func anyOf(keys ...string) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return has(key)(s) })
	}
}

func prompts(change func(events []*tracepb.Span_Event, i int) []*tracepb.Span_Event) func(*tracepb.ScopeSpans) bool {
	return func(scope *tracepb.ScopeSpans) bool {
		for _, s := range scope.Spans {
			if i := slices.IndexFunc(s.Events, isPrompt); i >= 0 && role(store.RoleRoot)(s) {
				s.Events = change(s.Events, i)
				return true
			}
		}
		return false
	}
}

func losses() []loss {
	call, request, root := and(role(store.RoleTool), has(otelmap.KeyToolCallID)), and(role(store.RoleChat), has(otelmap.KeyOutputTokens)), role(store.RoleRoot)
	cline, codex, gemini, opencode := "cline", "codex", "gemini-cli", "opencode"
	// Only the words of these say that a call failed.
	words := []string{cline, codex, gemini}
	tokens := func(name, key, run string) []loss {
		return []loss{
			{name: name + " of a request", lose: first(and(request, has(key)), add(key, 1)), second: true},
			{name: name + " of a turn", lose: first(and(root, anyOf(key, run)), plusOne(key, run)), second: true},
		}
	}
	return slices.Concat(
		[]loss{
			{name: "a request", lose: without(request), second: true},
			{name: "a request too many", lose: twice(request), second: true},
			{name: "the id of a request", lose: first(and(request, has(otelmap.KeyResponseID)), text(otelmap.KeyResponseID, "invented"))},
			{name: "the model of a request", lose: first(and(request, has(otelmap.KeyRequestModel)), text(otelmap.KeyRequestModel, "another")), second: true, but: []string{cline}},
			{name: "the failure of a request", lose: first(and(role(store.RoleChat), ended(failed)), succeed)},
			{name: "a request that failed", lose: without(and(role(store.RoleChat), ended(failed)))},
			{name: "a request that is said to have failed", lose: first(request, fail("overloaded"))},
			{name: "a call", lose: without(call), second: true},
			{name: "a call too many", lose: twice(call), second: true, but: []string{codex}},
			{name: "the id of a call", lose: first(call, text(otelmap.KeyToolCallID, "call_invented")), second: true},
			{name: "the name of a call", lose: first(call, text(otelmap.KeyToolName, "another"))},
			{name: "the result of a call", lose: first(and(call, ended(ok)), fail(otelmap.ErrorToolUnfinished)), second: true},
			{name: "the failure of a call", lose: first(and(call, ended(failed)), succeed), second: true, but: words},
			{name: "a failure that is none", lose: first(and(call, ended(ok)), fail(otelmap.ErrorToolFailure)), second: true, but: words},
			{name: "a denial", lose: first(and(call, ended(denied)), succeed), second: true, but: words},
			{name: "a denial that is none", lose: first(and(call, ended(ok)), fail(otelmap.ErrorToolDenied)), second: true, but: words},
			{name: "a prompt", lose: prompts(func(e []*tracepb.Span_Event, i int) []*tracepb.Span_Event { return slices.Delete(e, i, i+1) }), second: true},
			{name: "a prompt too many", lose: prompts(func(e []*tracepb.Span_Event, i int) []*tracepb.Span_Event { return append(e, e[i]) }), second: true},
			{name: "a turn", lose: func(scope *tracepb.ScopeSpans) bool {
				found := len(scope.Spans) > 0 && slices.ContainsFunc(scope.Spans, request)
				if found {
					scope.Spans = nil
				}
				return found
			}, second: true},
			{name: "a subagent", lose: without(role(store.RoleAgent)), second: true},
			{name: "whose a call is", lose: func(scope *tracepb.ScopeSpans) bool {
				i := slices.IndexFunc(scope.Spans, role(store.RoleAgent))
				return i >= 0 && first(func(s *tracepb.Span) bool {
					return role(store.RoleTool)(s) && string(s.ParentSpanId) == string(scope.Spans[i].SpanId)
				}, func(s *tracepb.Span) { s.ParentSpanId = scope.Spans[0].SpanId })(scope)
			}},
			{name: "the session", second: true},
			{name: "the end of a turn", lose: first(outcome(otelmap.OutcomeCompleted), text(otelmap.KeyOutcome, otelmap.OutcomeInterrupted)), second: true},
			{name: "an interruption", lose: first(outcome(otelmap.OutcomeInterrupted), text(otelmap.KeyOutcome, otelmap.OutcomeCompleted)), second: true},
			{name: "a turn that is said to have failed", lose: first(outcome(otelmap.OutcomeCompleted), text(otelmap.KeyOutcome, otelmap.OutcomeFailed))},
			{name: "the number of calls", lose: first(and(root, has(otelmap.KeyToolCalls)), add(otelmap.KeyToolCalls, 1))},
			{name: "the cost of a request", lose: first(and(request, has(otelmap.KeyCost)), costs(9))},
			{name: "a price", lose: first(and(request, has(otelmap.KeyCost)), func(s *tracepb.Span) { drop(s, otelmap.KeyCost) })},
			{name: "the cost of a turn", lose: first(and(root, has(otelmap.KeyCost)), costs(9))},
			// Requests of these last until their calls have ended.
			{name: "the order", lose: last(call, shift(-time.Hour)), but: []string{cline, opencode}},
			{name: "a sum of requests", lose: func(scope *tracepb.ScopeSpans) bool {
				for _, s := range scope.Spans {
					if i := slices.IndexFunc(s.Events, func(e *tracepb.Span_Event) bool { return e.Name == otelmap.EventUsage }); i >= 0 {
						s.Events = slices.Delete(s.Events, i, i+1)
						return true
					}
				}
				return false
			}, second: true},
		},
		tokens("input tokens", otelmap.KeyInputTokens, otelmap.KeyRunInputTokens),
		tokens("output tokens", otelmap.KeyOutputTokens, otelmap.KeyRunOutputTokens),
		tokens("tokens from the cache", otelmap.KeyCacheReadTokens, otelmap.KeyRunCacheReadTokens),
		tokens("tokens to the cache", otelmap.KeyCacheWriteTokens, otelmap.KeyRunCacheWriteTokens),
	)
}

// TestVerifyNamesEachLoss has something wrong in the traces of a recorded session of each
// agent, which verify names, and mostly the second reading alone.
func TestVerifyNamesEachLoss(t *testing.T) {
	byHost := make(map[string][]recording)
	for _, r := range recordings(t) {
		byHost[r.host] = append(byHost[r.host], r)
	}
	named := make(map[string][]string)
	for _, l := range losses() {
		for _, host := range slices.Sorted(maps.Keys(byHost)) {
			for _, r := range byHost[host] {
				spans := r.lose(l.lose)
				if spans == nil {
					continue
				}
				named[l.name] = append(named[l.name], host)
				again := len(r.differences(t, spans)) > 0
				expected := l.second || !slices.Contains(l.but, host)
				if expected && !again && len(r.compare(spans)) == 0 {
					t.Errorf("%s without %s, session %s: verify names nothing", host, l.name, r.id)
				}
				if l.second && !slices.Contains(l.but, host) && !again {
					t.Errorf("%s without %s, session %s: the second reading names nothing", host, l.name, r.id)
				}
				break // one session of an agent
			}
		}
		if len(named[l.name]) == 0 {
			t.Errorf("no session has %s to lose", l.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		t.Logf("%s: %s", name, strings.Join(named[name], ", "))
	}
}

// lose returns the traces of the session of which one run has changed, nil if none can.
func (r *recording) lose(lose func(*tracepb.ScopeSpans) bool) []*tracepb.ResourceSpans {
	if lose == nil {
		return []*tracepb.ResourceSpans{}
	}
	for i := range r.spans {
		clone := proto.CloneOf(r.spans[i])
		for _, scope := range clone.ScopeSpans {
			if lose(scope) {
				spans := slices.Clone(r.spans)
				spans[i] = clone
				return slices.DeleteFunc(spans, func(m *tracepb.ResourceSpans) bool {
					return !slices.ContainsFunc(m.ScopeSpans, func(s *tracepb.ScopeSpans) bool { return len(s.Spans) > 0 })
				})
			}
		}
	}
	return nil
}

// compare compares the traces of the session with the agent's files as they were read first.
func (r *recording) compare(spans []*tracepb.ResourceSpans) (found []Difference) {
	var c Comparison
	byID := make(map[string]*store.Trace)
	for _, m := range spans {
		for s := range otlp.Spans([]*tracepb.ResourceSpans{m}) {
			id := string(s.TraceId)
			if byID[id] == nil {
				byID[id] = &store.Trace{Summary: store.Summary{TraceID: id, Session: r.id, Started: otlp.Start(s), Ended: otlp.End(s)}}
			}
			t := byID[id]
			if start := otlp.Start(s); start.Before(t.Started) {
				t.Started = start
			}
			if end := otlp.End(s); end.After(t.Ended) {
				t.Ended = end
			}
			if n := len(t.ResourceSpans); n == 0 || t.ResourceSpans[n-1] != m {
				t.ResourceSpans = append(t.ResourceSpans, m)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		c.Add(byID[id])
	}
	for _, result := range c.Results(r.files) {
		found = append(found, result.Differences...)
	}
	return found
}

package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/second"
	"github.com/hookspan/hookspan/otelmap"
)

// at is a time of the sessions made by hand.
func at(seconds float64) time.Time {
	return time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

// span makes a span of an operation that ended well.
func span(op string, from, to float64, attrs ...*commonpb.KeyValue) *tracepb.Span {
	return &tracepb.Span{
		SpanId: fmt.Appendf(nil, "%08.0f", 1000*from), StartTimeUnixNano: otlp.UnixNano(at(from)), EndTimeUnixNano: otlp.UnixNano(at(to)),
		Attributes: append(attrs, otlp.String(otelmap.KeyOperation, op)),
	}
}

func usage(in, out, read, written int64) []*commonpb.KeyValue {
	return []*commonpb.KeyValue{
		otlp.Int(otelmap.KeyInputTokens, in), otlp.Int(otelmap.KeyOutputTokens, out),
		otlp.Int(otelmap.KeyCacheReadTokens, read), otlp.Int(otelmap.KeyCacheWriteTokens, written),
	}
}

func rootSpan(from, to float64, outcome string, u []*commonpb.KeyValue, prompts ...float64) *tracepb.Span {
	s := span(otelmap.OpInvokeAgent, from, to, append(u, otlp.String(otelmap.KeyHost, "h"), otlp.String(otelmap.KeyOutcome, outcome))...)
	for _, p := range prompts {
		s.Events = append(s.Events, &tracepb.Span_Event{Name: otelmap.EventPrompt, TimeUnixNano: otlp.UnixNano(at(p))})
	}
	return s
}

func chatSpan(from float64, id, model string, u []*commonpb.KeyValue) *tracepb.Span {
	return span(otelmap.OpChat, from, from+1, append(u, otlp.String(otelmap.KeyResponseID, id), otlp.String(otelmap.KeyRequestModel, model))...)
}

func toolSpan(from float64, id, name string) *tracepb.Span {
	s := span(otelmap.OpExecuteTool, from, from+1, otlp.String(otelmap.KeyToolName, name))
	if id != "" {
		set(s, otlp.String(otelmap.KeyToolCallID, id))
	}
	return s
}

func resource(spans ...*tracepb.Span) *tracepb.ResourceSpans {
	return &tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}
}

// made is a session made by hand: what the store has, and what a second reading of its
// files has.
type made struct {
	spans  []*tracepb.Span
	files  *second.Session
	others map[string]*made
	lacks  second.Lacks
	now    float64
	cut    bool
}

// span returns the first span with an attribute of a value.
func (m *made) span(value string) *tracepb.Span {
	i := slices.IndexFunc(m.spans, func(s *tracepb.Span) bool {
		return slices.ContainsFunc(s.Attributes, func(a *commonpb.KeyValue) bool { return a.GetValue().GetStringValue() == value })
	})
	return m.spans[i]
}

func (m *made) drop(value string) {
	s := m.span(value)
	m.spans = slices.DeleteFunc(m.spans, func(x *tracepb.Span) bool { return x == s })
}

// agreeing is a session of two turns, the second of which was interrupted, of which the
// store has what the files have.
func agreeing() *made {
	fact := func(seconds float64) second.Fact { return second.Fact{File: "/h/s.jsonl", At: at(seconds)} }
	line := func(seconds float64, n int) second.Fact {
		f := fact(seconds)
		f.Line = n
		return f
	}
	failing := toolSpan(5, "c2", "Bash")
	fail(otelmap.ErrorToolFailure)(failing)
	hanging := toolSpan(22, "c3", "Read")
	fail(otelmap.ErrorToolUnfinished)(hanging)
	return &made{
		spans: []*tracepb.Span{
			rootSpan(0, 10, otelmap.OutcomeCompleted, usage(30, 4, 6, 2), 0),
			chatSpan(1, "r1", "m", usage(10, 1, 6, 0)), chatSpan(3, "r2", "n", usage(20, 3, 0, 2)),
			toolSpan(2, "c1", "Read"), failing,
			rootSpan(20, 24, otelmap.OutcomeInterrupted, usage(5, 1, 0, 0), 20),
			chatSpan(21, "r3", "m", usage(5, 1, 0, 0)), hanging,
		},
		files: &second.Session{
			Requests: map[string]*second.Request{
				"r1": {Fact: fact(2), Model: "m", Input: 10, Bare: 10, Output: 1, CacheRead: 6},
				"r2": {Fact: fact(4), Model: "n", Input: 20, Bare: 20, Output: 3, CacheWrite: 2},
				"r3": {Fact: fact(22), Model: "m", Input: 5, Bare: 5, Output: 1},
			},
			Calls: map[string]*second.Call{
				"c1": {Fact: fact(3), Answered: true, Times: 1}, "c2": {Fact: fact(6), Answered: true, Failed: true, Times: 1}, "c3": {Fact: fact(22), Times: 1},
			},
			Prompts: []second.Prompt{{Fact: line(0, 1)}, {Fact: line(20, 9)}},
			Turns:   []*second.Turn{{Fact: line(0, 1), Answered: true}, {Fact: line(20, 9), Cut: true}},
			Results: map[string]bool{}, Files: []string{"/h/s.jsonl", "/h/t.jsonl"}, Began: at(0), Ended: at(24),
		},
		now: 1e6,
	}
}

// empty returns a session without requests, calls and spans.
func empty() *made {
	return &made{files: &second.Session{Requests: make(map[string]*second.Request), Calls: make(map[string]*second.Call)}}
}

// beside adds a session whose files have what one with its own has as well.
func (m *made) beside(id string, with func(*made)) {
	other := empty()
	with(other)
	m.others = map[string]*made{id: other}
}

var unequal = []struct {
	name   string
	change func(*made)
}{
	{"nothing", func(*made) {}},
	{"a request is not in the traces", func(m *made) { m.drop("r1") }},
	{"two requests are not in the traces", func(m *made) { m.drop("r1"); m.drop("r3") }},
	{"a request is not in the files", func(m *made) { delete(m.files.Requests, "r2") }},
	{"no request is in the files", func(m *made) { clear(m.files.Requests) }},
	{"a request is there twice", func(m *made) { m.spans = append(m.spans, chatSpan(8, "r1", "m", nil)) }},
	{"a request three times", func(m *made) { m.spans = append(m.spans, chatSpan(8, "r1", "m", nil), chatSpan(9, "r1", "m", nil)) }},
	{"all requests have other ids", func(m *made) {
		for _, id := range []string{"r1", "r2", "r3"} {
			set(m.span(id), otlp.String(otelmap.KeyResponseID, "x"+id))
		}
		set(m.spans[0], otlp.Int(otelmap.KeyInputTokens, 31))
	}},
	{"a request is to another model", func(m *made) { m.files.Requests["r1"].Model = "n" }},
	{"two are", func(m *made) { m.files.Requests["r1"].Model, m.files.Requests["r2"].Model = "n", "m" }},
	{"the files name no model", func(m *made) {
		for _, q := range m.files.Requests {
			q.Model = ""
		}
	}},
	{"the traces name no model of a request", func(m *made) { drop(m.span("r2"), otelmap.KeyRequestModel); m.files.Requests["r1"].Model = "n" }},
	{"input tokens of the runs", func(m *made) { add(otelmap.KeyInputTokens, 1)(m.spans[0]) }},
	{"output tokens of the runs", func(m *made) { add(otelmap.KeyOutputTokens, 1)(m.spans[5]) }},
	{"cache tokens of the runs", func(m *made) {
		add(otelmap.KeyCacheReadTokens, 2)(m.spans[0])
		add(otelmap.KeyCacheWriteTokens, 3)(m.spans[0])
	}},
	{"input tokens of a request", func(m *made) { add(otelmap.KeyInputTokens, -1)(m.span("r2")) }},
	{"output tokens of a request", func(m *made) { add(otelmap.KeyOutputTokens, 7)(m.span("r2")) }},
	{"cache tokens of a request", func(m *made) {
		add(otelmap.KeyCacheReadTokens, 1)(m.span("r2"))
		add(otelmap.KeyCacheWriteTokens, 1)(m.span("r2"))
	}},
	{"tokens are with another model's", func(m *made) {
		add(otelmap.KeyInputTokens, 4)(m.span("r2"))
		add(otelmap.KeyInputTokens, -4)(m.span("r1"))
	}},
	{"so, beside a sum of requests", func(m *made) {
		add(otelmap.KeyInputTokens, 4)(m.span("r2"))
		add(otelmap.KeyInputTokens, -4)(m.span("r1"))
		m.spans[0].Events = append(m.spans[0].Events, &tracepb.Span_Event{Name: otelmap.EventUsage, Attributes: usage(0, 0, 0, 0)})
	}},
	{"the root's sum has a request without a span", func(m *made) {
		m.drop("r2")
		m.spans[0].Events = append(m.spans[0].Events, &tracepb.Span_Event{Name: otelmap.EventUsage, Attributes: usage(20, 3, 0, 2)})
	}},
	{"an event without tokens is no sum", func(m *made) {
		m.spans[0].Events = append(m.spans[0].Events, &tracepb.Span_Event{Name: otelmap.EventUsage}, &tracepb.Span_Event{Name: "other", Attributes: usage(1, 1, 1, 1)})
	}},
	{"the input may include the cache: too little", func(m *made) { m.files.Requests["r1"].Bare = 16; set(m.spans[0], otlp.Int(otelmap.KeyInputTokens, 29)) }},
	{"the input may include the cache: within", func(m *made) {
		m.files.Requests["r1"].Bare = 4
		set(m.spans[0], otlp.Int(otelmap.KeyInputTokens, 24))
		set(m.span("r1"), otlp.Int(otelmap.KeyInputTokens, 4))
	}},
	{"the input may include the cache: below", func(m *made) {
		m.files.Requests["r1"].Bare = 4
		set(m.spans[0], otlp.Int(otelmap.KeyInputTokens, 23))
		set(m.span("r1"), otlp.Int(otelmap.KeyInputTokens, 3))
	}},
	{"the input may include the cache: above", func(m *made) { m.files.Requests["r1"].Bare = 4; set(m.spans[0], otlp.Int(otelmap.KeyInputTokens, 31)) }},
	{"a call is not in the traces", func(m *made) { m.drop("c1") }},
	{"two calls are not in the traces", func(m *made) { m.drop("c1"); m.drop("c3") }},
	{"a call has no id in the traces", func(m *made) { drop(m.span("c1"), otelmap.KeyToolCallID) }},
	{"a call without an id in the files", func(m *made) { drop(m.span("c1"), otelmap.KeyToolCallID); m.files.Calls["c1"].Unnamed = true }},
	{"one of these is not in the traces", func(m *made) { m.drop("c1"); m.files.Calls["c1"].Unnamed = true }},
	{"a call too many", func(m *made) { m.spans = append(m.spans, toolSpan(8, "c9", "Read")) }},
	{"a call too many whose result is in the files", func(m *made) { m.spans = append(m.spans, toolSpan(8, "c9", "Read")); m.files.Results["c9"] = true }},
	{"a call too many that a script made", func(m *made) { m.spans = append(m.spans, toolSpan(8, "c9", "Read")); m.lacks.ScriptCalls = true }},
	{"a call too many without an id", func(m *made) { m.spans = append(m.spans, toolSpan(8, "", "Read")) }},
	{"a call without an id whose result is in the files", func(m *made) { m.spans = append(m.spans, toolSpan(8, "", "Read")); m.files.Results["c9"] = true }},
	{"two of these", func(m *made) {
		m.spans = append(m.spans, toolSpan(8, "", "Read"), toolSpan(9, "", "Read"))
		m.files.Results["c9"] = true
	}},
	{"a call without an id, where hooks have such", func(m *made) { m.spans = append(m.spans, toolSpan(8, "", "Read")); m.lacks.UnnamedCalls = true }},
	{"a call without an id, where scripts make such", func(m *made) { m.spans = append(m.spans, toolSpan(8, "", "Read")); m.lacks.ScriptCalls = true }},
	{"a call of a skill's text", func(m *made) {
		m.spans = append(m.spans, toolSpan(8, "", "Skill"))
		set(m.spans[len(m.spans)-1], otlp.String(invokedBy, "user"))
	}},
	{"a call of a skill's text, and one is lost", func(m *made) {
		m.drop("c1")
		m.spans = append(m.spans, toolSpan(8, "", "Skill"))
		set(m.spans[len(m.spans)-1], otlp.String(invokedBy, "user"))
	}},
	{"a skill's call with an id", func(m *made) {
		set(m.span("c1"), otlp.String(invokedBy, "user"))
		m.spans = append(m.spans, toolSpan(8, "", "Read"))
	}},
	{"a call is there twice", func(m *made) { m.spans = append(m.spans, toolSpan(8, "c1", "Read")) }},
	{"an id that two calls have", func(m *made) { m.spans = append(m.spans, toolSpan(8, "c1", "Read")); m.files.Calls["c1"].Times = 2 }},
	{"only one of these", func(m *made) { m.files.Calls["c1"].Times = 2 }},
	{"an answered call has no end", func(m *made) { fail(otelmap.ErrorToolUnfinished)(m.span("c1")) }},
	{"two have none", func(m *made) {
		fail(otelmap.ErrorToolUnfinished)(m.span("c1"))
		fail(otelmap.ErrorToolUnfinished)(m.span("c2"))
	}},
	{"a call has an end without an answer", func(m *made) { succeed(m.span("c3")) }},
	{"a call failed without an answer", func(m *made) { fail(otelmap.ErrorToolFailure)(m.span("c3")) }},
	{"a failure is a success", func(m *made) { succeed(m.span("c2")) }},
	{"a failure is a denial", func(m *made) { fail(otelmap.ErrorToolDenied)(m.span("c2")) }},
	{"a success is a failure", func(m *made) { fail(otelmap.ErrorToolFailure)(m.span("c1")) }},
	{"the end of a failure is not known", func(m *made) {
		succeed(m.span("c2"))
		set(m.span("c2"), otlp.String(otelmap.KeyToolOutcome, otelmap.ToolOutcomeUnknown))
	}},
	{"a prompt is not in the traces", func(m *made) { m.spans[5].Events = nil }},
	{"no prompt is in the traces", func(m *made) { m.spans[5].Events, m.spans[0].Events = nil, nil }},
	{"a prompt is not a person's", func(m *made) {
		m.spans[0].Events[0].Attributes = []*commonpb.KeyValue{otlp.Bool(otelmap.KeyPromptInjected, true)}
	}},
	{"a prompt too many", func(m *made) { m.spans[0].Events = append(m.spans[0].Events, m.spans[5].Events...) }},
	{"a prompt is two seconds away", func(m *made) { m.spans[5].Events = nil; m.spans[0].Events[0].TimeUnixNano = otlp.UnixNano(at(2)) }},
	{"a prompt is nearly two seconds away", func(m *made) { m.spans[5].Events = nil; m.spans[0].Events[0].TimeUnixNano = otlp.UnixNano(at(1.9)) }},
	{"a turn was interrupted that the files end", func(m *made) { m.files.Turns[1].Cut, m.files.Turns[1].Answered = false, true }},
	{"so during a call, where files lack such", func(m *made) {
		m.files.Turns[1].Cut, m.files.Turns[1].Answered, m.lacks.CutTurns = false, true, true
		m.lacks.UnnamedCalls = true
		fail(otelmap.ErrorToolCancelled)(m.span("c3"))
		drop(m.span("c3"), otelmap.KeyToolCallID)
		delete(m.files.Calls, "c3")
	}},
	{"so during no call, where files lack such", func(m *made) {
		m.files.Turns[1].Cut, m.files.Turns[1].Answered, m.lacks.CutTurns = false, true, true
		m.drop("c3")
		delete(m.files.Calls, "c3")
	}},
	{"a turn more, where files lack such", func(m *made) {
		m.files.Turns[1].Cut, m.lacks.CutTurns = false, true
		m.spans[0].Events = append(m.spans[0].Events, m.spans[5].Events...)
	}},
	{"a call more, where files lack such", func(m *made) {
		m.files.Turns[1].Cut, m.lacks.CutTurns, m.lacks.UnnamedCalls = false, true, true
		m.spans = append(m.spans, toolSpan(8, "", "Read"))
	}},
	{"nothing more, where files lack such", func(m *made) { m.files.Turns[1].Cut, m.lacks.CutTurns = false, true }},
	{"no file", func(m *made) { m.drop("c1"); m.files.Files, m.files.Calls["c1"].File = nil, "" }},
	{"no session in the files", func(m *made) { m.files = nil }},
	{"no trace", func(m *made) { m.spans = nil }},
	{"the second turn has not ended", func(m *made) { m.spans, m.now = m.spans[:5], 25 }},
	{"the second turn has not ended, an hour ago", func(m *made) { m.spans, m.now = m.spans[:5], 24+3600 }},
	{"no turn has ended", func(m *made) { m.spans, m.now = nil, 25 }},
	{"the store has lost the first turn", func(m *made) { m.spans, m.cut = m.spans[5:], true }},
	{"it has lost a call of the second, too", func(m *made) { m.spans, m.cut = m.spans[5:7], true }},
	{"it has lost all", func(m *made) { m.spans, m.cut = nil, true }},
	{"the agent wrote the prompt before its hook ran", func(m *made) {
		m.spans, m.cut, m.files.Prompts[1].At = m.spans[5:], true, at(10)
		m.spans[0].Events[0].TimeUnixNano = otlp.UnixNano(at(10))
	}},
	{"another session has a request, a call and a prompt of it", func(m *made) {
		m.files.Requests["r1"].Held, m.files.Calls["c1"].Held, m.files.Prompts[0].Held = []string{"t"}, []string{"t"}, []string{"t"}
		moved := []*tracepb.Span{m.span("r1"), m.span("c1"), rootSpan(0, 10, otelmap.OutcomeCompleted, usage(10, 1, 6, 0), 0)}
		m.drop("r1")
		m.drop("c1")
		m.spans[0].Events = nil
		add(otelmap.KeyInputTokens, -10)(m.spans[0])
		add(otelmap.KeyOutputTokens, -1)(m.spans[0])
		add(otelmap.KeyCacheReadTokens, -6)(m.spans[0])
		m.beside("t", func(o *made) { o.spans = moved })
	}},
	{"the first of several that have it", func(m *made) {
		m.files.Calls["c1"].Held = []string{"t", "u"}
		moved := m.span("c1")
		m.drop("c1")
		m.beside("t", func(*made) {})
		m.others["u"] = empty()
		m.others["u"].spans = []*tracepb.Span{moved}
	}},
	{"no session has it", func(m *made) {
		m.files.Calls["c1"].Held = []string{"t"}
		m.drop("c1")
		m.beside("t", func(o *made) { o.files = nil })
	}},
	{"nothing but copies, and a prompt", func(m *made) {
		moved := m.spans
		for _, q := range m.files.Requests {
			q.Held = []string{"t"}
		}
		for _, c := range m.files.Calls {
			c.Held = []string{"t"}
		}
		m.spans = nil
		m.beside("t", func(o *made) {
			o.spans = moved
			o.files.Prompts, o.files.Turns = slices.Clone(m.files.Prompts), slices.Clone(m.files.Turns)
		})
	}},
}

// TestDifferencesOfASecondReading has sessions that agree in all but one thing. For each it
// notes whether the sums agree, by which most sessions are passed over, and what is named.
func TestDifferencesOfASecondReading(t *testing.T) {
	st, err := store.Open(t.Context(), t.TempDir()+"/traces.db")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	var out strings.Builder
	for _, c := range unequal {
		m := agreeing()
		c.change(m)
		all := map[string]*made{"s": m}
		maps.Copy(all, m.others)
		check := Check{
			Store: st, Files: &second.Reading{Lacks: m.lacks, Sessions: make(map[string]*second.Session)}, Sums: make(map[string]*Sums), Now: at(m.now),
			Cut: func(context.Context, string) (bool, error) { return m.cut, nil },
		}
		for id, one := range all {
			check.Sums[id] = NewSums()
			check.Sums[id].Add(resource(one.spans...))
			if one.files != nil {
				check.Files.Sessions[id] = one.files
			}
		}
		fmt.Fprintf(&out, "%s: %s\n", c.name, map[bool]string{true: "equal", false: "unequal"}[check.Sums["s"].equal(m.files)])
		ids := slices.Sorted(maps.Keys(all))
		if c.name == "no trace" {
			untold, err := check.Untold(t.Context(), map[string]bool{"s": true})
			if err != nil || len(untold) > 0 {
				t.Errorf("untold although asked for: %v, %v", untold, err)
			}
			if untold, err = check.Untold(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			list(&out, "untold ", untold)
		}
		differ, err := check.Sessions(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		list(&out, "", differ)
	}
	golden.Check(t, "second.txt", out.String())
}

func list(out *strings.Builder, what string, sessions []Session) {
	for _, s := range sessions {
		fmt.Fprintf(out, "  %ssession %s%s\n", what, s.Session, map[bool]string{true: ", no trace"}[s.NoTrace])
		for _, d := range s.Differences {
			fmt.Fprintf(out, "    %s\n", d)
		}
	}
}

// TestUntoldSessions has sessions in the files of which the store has nothing, something,
// or that are copies of one which it has.
func TestUntoldSessions(t *testing.T) {
	st, err := store.Open(t.Context(), t.TempDir()+"/traces.db")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	prompt, request, call := agreeing(), agreeing(), agreeing()
	clear(prompt.files.Requests)
	clear(prompt.files.Calls)
	clear(request.files.Calls)
	request.files.Prompts = nil
	clear(call.files.Requests)
	call.files.Prompts = nil
	copied := agreeing()
	copied.files.Prompts = nil
	for _, q := range copied.files.Requests {
		q.Held = []string{"stored"}
	}
	for _, q := range copied.files.Calls {
		q.Held = []string{"stored"}
	}
	check := Check{Store: st, Sums: map[string]*Sums{"stored": NewSums(), "called": NewSums(), "prompted": NewSums(), "requested": NewSums()}, Files: &second.Reading{Sessions: map[string]*second.Session{
		"copied": copied.files, "empty": empty().files, "prompt": prompt.files, "request": request.files, "call": call.files,
		"stored": agreeing().files, "called": agreeing().files, "prompted": agreeing().files, "requested": agreeing().files,
	}}}
	check.Sums["stored"].Add(resource(agreeing().spans...))
	check.Sums["called"].Add(resource(toolSpan(2, "c1", "Read")))
	check.Sums["prompted"].Add(resource(rootSpan(0, 10, otelmap.OutcomeCompleted, nil, 0)))
	check.Sums["requested"].Add(resource(chatSpan(1, "r1", "m", nil)))
	untold, err := check.Untold(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	list(&out, "", untold)
	golden.Check(t, "untold.txt", out.String())
}

package scenario_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

// sample is a log of two calls, the second by the subagent of the first, what
// is wanted of them, and spans that are right.
func sample() ([]llm.Request, []scenario.Tool, []sink.Span) {
	usage := func(n int64) *llm.Usage {
		return &llm.Usage{Input: n, CacheWrite: 1, CacheRead: 2, Output: 3}
	}
	failed := true
	requests := []llm.Request{
		{
			Part: llm.PartMain, ID: "m1", RequestID: "r1", Text: "Delegate.", Finish: "tool_use", Usage: usage(10), Complete: true,
			Calls: []llm.Call{{ID: "t1", Name: "Agent", Args: map[string]any{"prompt": "look"}, Result: &llm.Result{Text: "looked", Failed: new(bool)}}},
		},
		{
			Part: llm.PartSub, ID: "m2", RequestID: "r2", Finish: "tool_use", Usage: usage(20), Complete: true,
			Calls: []llm.Call{{ID: "t2", Name: "Bash", Args: map[string]any{"command": "exit 3"}, Result: &llm.Result{Text: "Exit code 3", Failed: &failed}}},
		},
		{Part: llm.PartSub, Status: 500},
		{
			Part: llm.PartMain, ID: "m4", RequestID: "r4", Text: "Done.", Finish: "end_turn", Usage: usage(30), Complete: true,
		},
	}
	at := time.Unix(100, 0)
	span := func(id, parent, op string, attrs sink.Attrs) sink.Span {
		at = at.Add(time.Second)
		s := sink.Span{TraceID: "t", SpanID: id, ParentID: parent, Name: op, Start: at, End: at.Add(time.Second), Status: "Unset", Attrs: attrs}
		attrs[otelmap.KeyOperation] = op
		return s
	}
	tool := func(id, name, args, result string) sink.Attrs {
		return sink.Attrs{
			otelmap.KeyToolCallID: id, otelmap.KeyToolName: name,
			otelmap.KeyToolArguments: args, otelmap.KeyToolResult: result,
		}
	}
	chat := func(id, request, text, finish string, input int64) sink.Attrs {
		return sink.Attrs{
			otelmap.KeyResponseID: id, otelmap.KeyRequestID: request, otelmap.KeyOutputMessages: otelmap.AnswerMessages(text, ""),
			otelmap.KeyFinishReasons: []any{finish}, otelmap.KeyInputTokens: input, otelmap.KeyOutputTokens: int64(3),
			otelmap.KeyCacheReadTokens: int64(2), otelmap.KeyCacheWriteTokens: int64(1),
		}
	}
	spans := []sink.Span{
		span("root", "", otelmap.OpInvokeAgent, sink.Attrs{
			otelmap.KeyRunInputTokens: int64(69), otelmap.KeyRunOutputTokens: int64(9),
			otelmap.KeyRunCacheReadTokens: int64(6), otelmap.KeyRunCacheWriteTokens: int64(3),
		}),
		span("c1", "root", otelmap.OpChat, chat("m1", "r1", "Delegate.", "tool_call", 13)),
		span("t1", "root", otelmap.OpExecuteTool, tool("t1", "Agent", `{"prompt":"look"}`, "looked")),
		span("a1", "t1", otelmap.OpInvokeAgent, sink.Attrs{}),
		span("c2", "a1", otelmap.OpChat, chat("m2", "r2", "", "tool_call", 23)),
		span("t2", "a1", otelmap.OpExecuteTool, tool("t2", "Bash", `{"command":"exit 3"}`, "")),
		span("c4", "root", otelmap.OpChat, chat("m4", "r4", "Done.", "stop", 33)),
	}
	spans[5].Status, spans[5].StatusMessage = "Error", "Exit code 3"
	spans[5].Attrs[otelmap.KeyErrorType] = otelmap.ErrorToolFailure
	return requests, []scenario.Tool{scenario.OK("looked"), {Error: otelmap.ErrorToolFailure, Text: "code 3", Under: 0}}, spans
}

func TestCompareModelFindsWhatDiffers(t *testing.T) {
	t.Parallel()
	attr := func(span, key string, v any) func([]sink.Span) []sink.Span {
		return func(spans []sink.Span) []sink.Span {
			for i := range spans {
				if spans[i].SpanID == span {
					spans[i].Attrs = maps.Clone(spans[i].Attrs)
					spans[i].Attrs[key] = v
				}
			}
			return spans
		}
	}
	without := func(span string) func([]sink.Span) []sink.Span {
		return func(spans []sink.Span) []sink.Span {
			return slices.DeleteFunc(spans, func(s sink.Span) bool { return s.SpanID == span })
		}
	}
	edit := func(span string, f func(*sink.Span)) func([]sink.Span) []sink.Span {
		return func(spans []sink.Span) []sink.Span {
			for i := range spans {
				if spans[i].SpanID == span {
					f(&spans[i])
				}
			}
			return spans
		}
	}
	twice := func(span, id string) func([]sink.Span) []sink.Span {
		return func(spans []sink.Span) []sink.Span {
			i := slices.IndexFunc(spans, func(s sink.Span) bool { return s.SpanID == span })
			s := spans[i]
			s.SpanID = id
			return append(spans, s)
		}
	}
	tests := map[string]struct {
		change func([]sink.Span) []sink.Span
		want   string
	}{
		"nothing":                        {func(s []sink.Span) []sink.Span { return s }, ""},
		"a tool missing":                 {without("t2"), "call t2 of Bash has no span"},
		"a tool twice":                   {twice("t2", "t3"), "two spans"},
		"a tool of another name":         {attr("t1", otelmap.KeyToolName, "Task"), `name "Task"`},
		"a failure taken for success":    {edit("t2", func(s *sink.Span) { s.Status = "Unset" }), `status "Unset"`},
		"another class of failure":       {attr("t2", otelmap.KeyErrorType, "X"), `error.type "X"`},
		"a success taken for failure":    {attr("t1", otelmap.KeyErrorType, "X"), `error.type "X"`},
		"a failure's text lost":          {edit("t2", func(s *sink.Span) { s.StatusMessage = "" }), "result and error say"},
		"a result lost":                  {attr("t1", otelmap.KeyToolResult, ""), "result and error say"},
		"arguments of another call":      {attr("t2", otelmap.KeyToolArguments, `{"command":"echo"}`), "arguments"},
		"a subagent's tool at the lead":  {edit("t2", func(s *sink.Span) { s.ParentID = "root" }), "call of the subagent it is under"},
		"a message missing":              {without("c1"), "message m1 has no span"},
		"a message twice":                {twice("c1", "c9"), "two spans"},
		"a message nobody sent":          {edit("c4", func(s *sink.Span) { s.Attrs[otelmap.KeyResponseID] = "m9" }), `message "m9"`},
		"other tokens":                   {attr("c1", otelmap.KeyCacheReadTokens, int64(7)), "tokens"},
		"another request id":             {attr("c1", otelmap.KeyRequestID, "r9"), `request id "r9"`},
		"another text":                   {attr("c1", otelmap.KeyOutputMessages, ""), `text ""`},
		"another finish reason":          {attr("c1", otelmap.KeyFinishReasons, []any{"tool_use"}), "finish reasons [tool_use]"},
		"a subagent's message at root":   {edit("c2", func(s *sink.Span) { s.ParentID = "root" }), "under a subagent: false"},
		"a lead's message at a subagent": {edit("c4", func(s *sink.Span) { s.ParentID = "a1" }), "under a subagent: true"},
		"a message after its call":       {edit("c1", func(s *sink.Span) { s.Start = s.Start.Add(time.Hour) }), "after its call t1"},
		"another sum":                    {attr("root", otelmap.KeyRunOutputTokens, int64(8)), "sums on the root"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests, want, spans := sample()
			traces, _ := rig.Traces(tt.change(spans))
			got := strings.Join(scenario.CompareModel(traces[0], requests, want), "\n")
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("CompareModel says %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCompareModelWantsOrder(t *testing.T) {
	t.Parallel()
	requests, want, spans := sample()
	for i := range requests {
		requests[i].Part = llm.PartMain
	}
	spans[5].Start = spans[2].Start.Add(-time.Minute)
	traces, _ := rig.Traces(spans)
	got := strings.Join(scenario.CompareModel(traces[0], requests, want), "\n")
	if !strings.Contains(got, "call t2 starts before") {
		t.Errorf("CompareModel says %q", got)
	}
}

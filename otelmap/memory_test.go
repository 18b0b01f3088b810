package otelmap

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"weak"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
)

// memoryRun returns the spans of a run of n requests with a call each, and its transcript.
func memoryRun(n int) (*tracepb.ResourceSpans, weak.Pointer[hook.Transcript]) {
	begin := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	at := func(i int) time.Time { return begin.Add(time.Duration(i) * time.Second) }
	tr := &hook.Transcript{Session: "s"}
	b := NewBuilder("claude-code", "s", Options{Agent: turnAgent}, Carry{})
	b.Add(hook.Event{Kind: hook.KindPrompt, Turn: "t", Prompt: "go", StoredAt: at(0), Offset: 1})
	for i := range n {
		id := fmt.Sprint("call", i)
		tr.Requests = append(tr.Requests, hook.Request{
			ID: fmt.Sprint("m", i), Turn: "t", Model: "a-model", Start: at(i), End: at(i), ToolCallIDs: []string{id}, FinishReason: "tool_use",
		})
		for k, kind := range []hook.Kind{hook.KindToolStart, hook.KindToolEnd} {
			b.Add(hook.Event{Kind: kind, Turn: "t", StoredAt: at(i), Offset: int64(2 + 2*i + k), Tool: &hook.Tool{ID: id, Name: "Bash", Input: `{"command":"make"}`}})
		}
	}
	b.Add(hook.Event{Kind: hook.KindRunComplete, Turn: "t", StoredAt: at(n), Offset: int64(2 + 2*n)})
	return b.Spans(b.Runs(at(n + 1))[0], tr), weak.Make(tr)
}

// TestSpansHoldNothingOfTheirMapping has spans that outlive the builder: the transcript must not.
func TestSpansHoldNothingOfTheirMapping(t *testing.T) {
	spans, tr := memoryRun(3)
	runtime.GC()
	if tr.Value() != nil {
		t.Error("the transcript is in memory as long as the spans")
	}
	runtime.KeepAlive(spans)
}

// TestLongRunHasEqualAttributesOnce counts the attributes in memory of a run: but for those with
// texts and ids of their own there are as many for a long one as for a short one.
func TestLongRunHasEqualAttributesOnce(t *testing.T) {
	held := func(n int) int {
		attributes := make(map[*commonpb.KeyValue]bool)
		spans, _ := memoryRun(n)
		for _, s := range spans.GetScopeSpans()[0].GetSpans() {
			for _, kv := range s.GetAttributes() {
				attributes[kv] = true
			}
		}
		return len(attributes)
	}
	each := (held(60) - held(10)) / 50
	t.Logf("%d attributes for a request and its call", each)
	if each > 6 {
		t.Errorf("%d attributes for each request and its call, want at most 6", each)
	}
}

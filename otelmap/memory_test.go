package otelmap

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/testing/protocmp"

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

// TestReleasedRunIsNotHeld counts what is in memory of a session's runs, of which one after the
// other is released: its calls are free, and the others' spans as before.
func TestReleasedRunIsNotHeld(t *testing.T) {
	begin := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	const n = 5
	at := func(i int) time.Time { return begin.Add(time.Duration(i) * time.Minute) }
	session := func() (*Builder, []*Run, *hook.Transcript, []weak.Pointer[item]) {
		b, tr := NewBuilder("claude-code", "s", Options{Agent: turnAgent}, Carry{}), &hook.Transcript{Session: "s"}
		for i := range n {
			turn, call := fmt.Sprint("t", i), &hook.Tool{ID: fmt.Sprint("c", i), Name: "Bash", Input: `{"command":"make"}`}
			tr.Requests = append(tr.Requests, hook.Request{ID: fmt.Sprint("m", i), Turn: turn, Start: at(i), End: at(i), ToolCallIDs: []string{call.ID}})
			tr.ToolResults = append(tr.ToolResults, hook.ToolResult{ID: call.ID, Turn: turn, Name: call.Name, Input: call.Input, Text: "made", Asked: at(i), At: at(i)})
			for k, e := range []hook.Event{{Kind: hook.KindPrompt, Prompt: "go"}, {Kind: hook.KindToolStart, Tool: call}, {Kind: hook.KindToolEnd, Tool: call}, {Kind: hook.KindRunComplete}} {
				e.Turn, e.StoredAt, e.Offset = turn, at(i), int64(4*i+k)
				b.Add(e)
			}
		}
		var events []weak.Pointer[item]
		for _, it := range b.items {
			if it.Tool != nil {
				events = append(events, weak.Make(it))
			}
		}
		return b, b.Runs(at(n)), tr, events
	}
	b, runs, tr, events := session()
	whole, all, same, _ := session()
	for i, r := range runs {
		if diff := cmp.Diff(whole.Spans(all[i], same), b.Spans(r, tr), protocmp.Transform()); diff != "" {
			t.Errorf("run %d (-nothing released +those before):\n%s", i, diff)
		}
		b.Release(r, tr)
		runtime.GC()
		held := 0
		for _, e := range events {
			if e.Value() != nil {
				held++
			}
		}
		kept := slices.DeleteFunc(slices.Clone(tr.ToolResults), func(r hook.ToolResult) bool { return r.ID == "" })
		if want := n - i - 1; held != 2*want || len(kept) != want {
			t.Errorf("%d events and %d results in memory after run %d, want %d and %d", held, len(kept), i, 2*want, want)
		}
	}
	runtime.KeepAlive(b)
}

// TestLongRunTakesLittleMemory weighs what is in memory of a run of which each call has an id and
// the other texts of another, before its spans are written.
func TestLongRunTakesLittleMemory(t *testing.T) {
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	begin := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	before := held()
	b := NewBuilder("claude-code", "s", Options{Agent: turnAgent}, Carry{})
	b.Add(hook.Event{Kind: hook.KindPrompt, Turn: "t", Prompt: "go", StoredAt: begin, Offset: 1})
	const n = 20_000
	for i := range n {
		for k, kind := range []hook.Kind{hook.KindToolStart, hook.KindToolEnd} {
			b.Add(hook.Event{Kind: kind, Turn: "t", StoredAt: begin.Add(time.Duration(i)), Offset: int64(2 + 2*i + k), Tool: &hook.Tool{ID: fmt.Sprint("call", i), Name: "Bash", Input: `{"command":"make"}`}})
		}
	}
	r := b.Runs(begin)[0]
	b.Seal()
	spans := b.Batches(r, nil)
	each := (held() - before) / n
	t.Logf("%d bytes for a call", each)
	if each > 480 {
		t.Errorf("%d bytes for each call, want at most 480", each)
	}
	runtime.KeepAlive(spans)
	before = held()
	if r.Complete() || held() > before+1<<20 {
		t.Error("the run is complete without an end, or the question takes memory")
	}
	runtime.KeepAlive(b)
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

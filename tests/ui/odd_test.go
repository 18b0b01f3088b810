package ui

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// TestOddTasksAreShown opens tasks that no agent should write: each tab and row of them shows something, and nothing fails.
func TestOddTasksAreShown(t *testing.T) {
	const year, unknown = uint64(365 * 24 * time.Hour), uint64(0)
	now := uint64(time.Now().Add(-time.Hour).UnixNano())
	root := func(from, to uint64, a ...*commonpb.KeyValue) *tracepb.Span {
		return &tracepb.Span{SpanId: []byte("rootspan"), Name: "invoke_agent x", StartTimeUnixNano: from, EndTimeUnixNano: to, Attributes: append([]*commonpb.KeyValue{
			otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyHost, "claude-code"), otlp.String(otelmap.KeyOutcome, otelmap.OutcomeCompleted),
		}, a...)}
	}
	call := func(i int, parent string, from, to uint64, a ...*commonpb.KeyValue) *tracepb.Span {
		return &tracepb.Span{SpanId: fmt.Appendf(nil, "%08d", i), ParentSpanId: []byte(parent), Name: "execute_tool Bash", StartTimeUnixNano: from, EndTimeUnixNano: to, Attributes: append([]*commonpb.KeyValue{
			otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool), otlp.String(otelmap.KeyToolName, "Bash"), otlp.String(otelmap.KeyToolArguments, `{"command":"ls"}`),
		}, a...)}
	}
	chain := []*tracepb.Span{root(now, now+1)}
	for i := range 3000 {
		parent := "rootspan"
		if i > 0 {
			parent = fmt.Sprintf("%08d", i-1)
		}
		chain = append(chain, call(i, parent, now+uint64(i), now+uint64(i)+1))
	}
	question := &tracepb.Span_Event{Name: otelmap.EventPermission, TimeUnixNano: math.MaxUint64}
	asked := call(1, "rootspan", now, now+1e9)
	asked.Events = []*tracepb.Span_Event{question, question, {Name: "", TimeUnixNano: 1}}
	odd := map[string][]*tracepb.Span{
		"one row":             {root(now, now+1e9)},
		"no duration":         {root(now, now), call(1, "rootspan", now, now)},
		"no root":             {call(1, "gonegone", now, now+1e9), call(2, "gonegone", now+2e9, now+3e9)},
		"no times":            {root(unknown, unknown), call(1, "rootspan", unknown, unknown)},
		"begins with 1970":    {root(1, 2), call(1, "rootspan", now, now+1e9)},
		"ends before it":      {root(now, now-1e9), call(1, "rootspan", now+5e9, now)},
		"half a millennium":   {root(1, math.MaxUint64), call(1, "rootspan", 400*year, 450*year)},
		"a cycle of parents":  {call(1, "00000002", now, now+1), call(2, "00000001", now, now+1)},
		"its own parent":      {call(1, "00000001", now, now+1)},
		"deep":                chain,
		"asked at the end":    {root(now, now+2e9), asked},
		"a cost of no number": {root(now, now+1e9, otlp.Float(otelmap.KeyCost, math.NaN())), call(1, "rootspan", now, now+1)},
		"an endless cost":     {root(now, now+1e9, otlp.Float(otelmap.KeyCost, math.Inf(1)))},
		"a prompt of lines":   {root(now, now+1e9, otlp.String(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, "\n\n  \nFix it\n\nplease")))},
	}
	s, b := serve(t, nil), open(t)
	id := func(name string) string { return fmt.Sprintf("%x", (name + strings.Repeat(" ", 16))[:16]) }
	for name, spans := range odd {
		for _, sp := range spans {
			sp.TraceId = []byte((name + strings.Repeat(" ", 16))[:16])
		}
		if err := s.store.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}}); err != nil {
			t.Fatal(name, err)
		}
	}
	b.enter(s)
	b.screen("light", 1440, 900)
	b.wait(fmt.Sprintf("document.querySelectorAll('.task').length === %d", len(odd)))
	for name, spans := range odd {
		b.goTo(s, "/t/"+id(name))
		b.wait(`document.querySelector("#row0") && document.querySelector("h1.prompt")?.innerText.trim()`)
		for i := range min(len(spans)+1, 5) {
			b.keys("j")
			b.wait(`document.querySelector(".row-details[aria-busy=false] h2")?.innerText.trim()`)
			if i == 0 {
				b.wait(`document.querySelector("#row0.selected")`)
			}
		}
		b.keys("z", "2")
		b.wait(`document.querySelector(".story")`)
		b.keys("3")
		b.wait(`document.querySelector(".story[aria-label=Changes]")`)
		for _, query := range []string{"?zoom=0-" + strings.Repeat("9", 400), "?zoom=1-2", "?sort=cost&slower=1", "?span=ffffffffffffffff.9"} {
			b.goTo(s, "/t/"+id(name)+query)
			b.wait(`document.querySelector(".axis-tree") && !/NaN|Infinity/.test(document.querySelector("#panel").innerHTML)`)
		}
		for _, p := range b.takeProblems(s) {
			t.Errorf("%s: %s", name, p)
		}
	}
}

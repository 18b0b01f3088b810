package step

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/otelmap"
)

func texts(pairs ...string) (out []*commonpb.KeyValue) {
	for pair := range slices.Chunk(pairs, 2) {
		out = append(out, otlp.String(pair[0], pair[1]))
	}
	return out
}

func TestEnd(t *testing.T) {
	for _, c := range []struct {
		name       string
		key, value string
		failed     bool
		open       bool
		want       otelmap.End
	}{
		{name: "a span without a word", want: otelmap.EndOK},
		{name: "a span that failed", failed: true, want: otelmap.EndFailed},
		{name: "a span without an end", open: true, want: otelmap.EndUnfinished},
		{name: "a tool's failure", key: otelmap.KeyErrorType, value: otelmap.ErrorTool, failed: true, want: otelmap.EndFailed},
		{name: "a denied call", key: otelmap.KeyErrorType, value: otelmap.ErrorToolDenied, failed: true, want: otelmap.EndDenied},
		{name: "a cancelled call", key: otelmap.KeyErrorType, value: otelmap.ErrorToolCancelled, failed: true, want: otelmap.EndDenied},
		{name: "an unfinished call", key: otelmap.KeyErrorType, value: otelmap.ErrorToolUnfinished, failed: true, want: otelmap.EndUnfinished},
		{name: "an abandoned subagent", key: otelmap.KeyErrorType, value: otelmap.ErrorAbandoned, failed: true, want: otelmap.EndUnfinished},
		{name: "an unknown outcome", key: otelmap.KeyToolOutcome, value: otelmap.ToolOutcomeUnknown, want: otelmap.EndUnknown},
		{name: "an unknown outcome that failed", key: otelmap.KeyToolOutcome, value: otelmap.ToolOutcomeUnknown, failed: true, want: otelmap.EndFailed},
		{name: "a call under way", key: otelmap.KeyToolOutcome, value: otelmap.ToolOutcomeRunning, want: otelmap.EndRunning},
		{name: "a completed run", key: otelmap.KeyOutcome, value: otelmap.OutcomeCompleted, open: true, want: otelmap.EndOK},
		{name: "a failed run", key: otelmap.KeyOutcome, value: otelmap.OutcomeFailed, want: otelmap.EndFailed},
		{name: "a cancelled run", key: otelmap.KeyOutcome, value: otelmap.OutcomeCancelled, want: otelmap.EndDenied},
		{name: "an interrupted run", key: otelmap.KeyOutcome, value: otelmap.OutcomeInterrupted, want: otelmap.EndDenied},
		{name: "an abandoned run", key: otelmap.KeyOutcome, value: otelmap.OutcomeAbandoned, failed: true, want: otelmap.EndUnfinished},
		{name: "a run under way", key: otelmap.KeyOutcome, value: otelmap.OutcomeRunning, want: otelmap.EndRunning},
	} {
		s := &tracepb.Span{EndTimeUnixNano: 1}
		if c.open {
			s.EndTimeUnixNano = 0
		}
		if c.key != "" {
			s.Attributes = texts(c.key, c.value)
		}
		if c.failed {
			s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
		}
		if got := Of(s).End(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestKind(t *testing.T) {
	parent := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	for _, c := range []struct {
		name string
		span *tracepb.Span
		want Kind
	}{
		{"none", nil, KindOther},
		{"another program's", &tracepb.Span{Name: "GET /", Attributes: texts("http.method", "GET")}, KindOther},
		{"a call", &tracepb.Span{Attributes: texts(otelmap.KeyOperation, otelmap.OpExecuteTool)}, KindTool},
		{"a call by its name", &tracepb.Span{Name: "execute_tool Read"}, KindTool},
		{"a request", &tracepb.Span{Name: "execute_tool x", Attributes: texts(otelmap.KeyOperation, otelmap.OpChat)}, KindRequest},
		{"a script", &tracepb.Span{Attributes: texts(otelmap.KeyOperation, otelmap.OpInvokeWorkflow)}, KindScript},
		{"a run", &tracepb.Span{Attributes: texts(otelmap.KeyOperation, otelmap.OpInvokeAgent, otelmap.KeyHost, "codex"), ParentSpanId: parent}, KindRun},
		{"a subagent", &tracepb.Span{Attributes: texts(otelmap.KeyOperation, otelmap.OpInvokeAgent), ParentSpanId: parent}, KindAgent},
		{"another program's agent", &tracepb.Span{Name: "invoke_agent x", ParentSpanId: make([]byte, 8)}, KindRun},
		{"one with a remote parent", &tracepb.Span{Name: "invoke_agent x", ParentSpanId: parent, Flags: remoteParent}, KindRun},
	} {
		if got := Of(c.span).Kind(); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// TestFiguresThatAreNoneAreNotKnown covers what no agent writes and other programs may.
func TestFiguresThatAreNoneAreNotKnown(t *testing.T) {
	s := Of(&tracepb.Span{Attributes: []*commonpb.KeyValue{
		otlp.Int(otelmap.KeyInputTokens, -1), otlp.Float(otelmap.KeyCost, -2), otlp.Int(otelmap.KeyHostDuration, -3), otlp.Int(otelmap.KeyToolCallID, 7),
	}})
	if u := s.Usage(); u != nil {
		t.Errorf("usage %+v", u)
	}
	if ran, ok := s.Ran(); ok || ran != 0 {
		t.Errorf("ran %s, %t", ran, ok)
	}
	if id := s.CallID(); id != "7" {
		t.Errorf("call %q", id)
	}
}

// TestMarksAreRead has what a span or an event says by a mark, or by one attribute of several.
func TestMarksAreRead(t *testing.T) {
	prompt := func(more ...*commonpb.KeyValue) Event {
		return EventOf(&tracepb.Span_Event{Name: otelmap.EventPrompt, Attributes: more})
	}
	thrown := []*tracepb.Span_Event{{Name: otelmap.EventException, Attributes: texts(otelmap.KeyExceptionType, "E", otelmap.KeyExceptionMessage, "no")}}
	failed := &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
	for name, c := range map[string]struct{ got, want any }{
		"a prompt":                               {prompt().Prompt(), true},
		"a prompt that is marked as the user's":  {prompt(otlp.Bool(otelmap.KeyPromptInjected, false)).Prompt(), true},
		"a prompt of the program":                {prompt(otlp.Bool(otelmap.KeyPromptInjected, true)).Prompt(), false},
		"a model that only the response names":   {Of(&tracepb.Span{Attributes: texts(otelmap.KeyResponseModel, "m-1")}).Model(), "m-1"},
		"a model that the request names as well": {Of(&tracepb.Span{Attributes: texts(otelmap.KeyResponseModel, "m-1", otelmap.KeyRequestModel, "m")}).Model(), "m"},
		"an exception":                           {Of(&tracepb.Span{Events: thrown, Status: failed}).Failure(), Failure{Kind: "E", Message: "no", Whole: "no"}},
		"an exception that was handled":          {Of(&tracepb.Span{Events: thrown}).Failure(), Failure{}},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestHookThatTheAgentReportsDeniesACall(t *testing.T) {
	hook := func(command, decision string) *tracepb.Span_Event {
		return &tracepb.Span_Event{Name: otelmap.EventHook, Attributes: texts(otelmap.KeyHookCommand, command, otelmap.KeyHookDecision, decision)}
	}
	s := &tracepb.Span{Attributes: texts(otelmap.KeyErrorType, otelmap.ErrorToolDenied), Events: []*tracepb.Span_Event{hook("lint", "allow"), hook("guard", "deny")}}
	if got := Of(s).DeniedBy(); got != "guard" {
		t.Errorf("denied by %q", got)
	}
	s.Attributes = nil
	if got := Of(s).DeniedBy(); got != "" {
		t.Errorf("a call that ran was denied by %q", got)
	}
}

// every is what all parts say of a span.
func every(s Step) map[string]any {
	out := map[string]any{
		"kind": s.Kind(), "host": s.Host(), "end": s.End(), "outcome": s.Outcome(), "tool": s.Tool(), "call": s.CallID(), "server": s.Server(),
		"folder": s.Folder(), "denier": s.DeniedBy(), "arguments": s.Arguments(), "result": s.Result(), "returned": s.Returned(), "failure": s.Failure(),
		"usage": s.Usage(), "model": s.Model(), "agent": s.Agent(), "asked": s.Asked(), "given": s.Given(), "said": s.Said(), "task": s.Task(), "answer": s.Answer(),
		"waits": s.Waits(), "branch": s.Branch(), "branch unknown": s.BranchUnknown(), "repository": s.Repository(), "took": s.Took(), "name": s.Name(),
	}
	out["ran"], _ = s.Ran()
	var events []any
	for e := range s.Events() {
		h := e.Hook()
		events = append(events, e.Name(), e.At(), e.Text(), e.Usage(), e.HookEnd(), h.Command, h.Reason, h.Took, e.AwaitsUser())
	}
	out["events"] = events
	return out
}

// TestSkimmedSpanSaysWhatTheWholeOneDoes holds the keys of the parts against the methods that
// read them: over the recordings, and a span with all attributes.
func TestSkimmedSpanSaysWhatTheWholeOneDoes(t *testing.T) {
	parts := make([]Part, len(keysOf))
	for i := range parts {
		parts[i] = Part(i) //nolint:gosec // few
	}
	skim := NewSkimmer(parts...)
	full := &tracepb.Span{Name: "execute_tool x", StartTimeUnixNano: 1, EndTimeUnixNano: 5e9, Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}}
	for _, key := range Keys(parts...) {
		full.Attributes = append(full.Attributes, otlp.String(key, "the value of "+key))
	}
	for _, name := range []string{otelmap.EventHook, otelmap.EventException, otelmap.EventNotification, otelmap.EventPermission} {
		e := &tracepb.Span_Event{Name: name, TimeUnixNano: 1e9, Attributes: append(slices.Clone(full.Attributes), otlp.Bool(otelmap.KeyAwaitsUser, true))}
		full.Events = append(full.Events, e)
	}
	spans := []*tracepb.Span{full}
	for _, run := range recorded.Spans(t) {
		spans = slices.AppendSeq(spans, otlp.Spans([]*tracepb.ResourceSpans{run}))
	}
	for _, s := range spans {
		message, err := proto.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		skimmed, err := skim.Span(message)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(every(Of(s)), every(Of(skimmed))); d != "" {
			t.Errorf("span %s (-whole +skimmed):\n%s", s.GetName(), d)
		}
	}
}

func TestTreeFindsOwnersAndRoots(t *testing.T) {
	id := func(n byte) []byte { return []byte{n, 0, 0, 0, 0, 0, 0, 1} }
	span := func(n, parent byte, op string, more ...string) *tracepb.Span {
		s := &tracepb.Span{SpanId: id(n), Attributes: texts(append(more, otelmap.KeyOperation, op)...)}
		if parent > 0 {
			s.ParentSpanId = id(parent)
		}
		return s
	}
	const agent, tool, script = otelmap.OpInvokeAgent, otelmap.OpExecuteTool, otelmap.OpInvokeWorkflow
	spans := []*tracepb.Span{
		span(9, 8, tool), // before what it is below
		span(1, 0, agent, otelmap.KeyHost, "claude-code"),
		span(2, 1, tool),
		span(3, 2, agent),
		span(4, 3, script),
		span(5, 4, tool),
		span(6, 5, agent, otelmap.KeyHost, "codex"), // a run that a call started
		span(7, 6, tool),
		span(8, 3, agent),
		span(10, 77, tool), // whose parent is missing
		span(11, 12, tool), span(12, 11, tool),
	}
	var tree Tree
	for _, s := range spans {
		tree.Add(Of(s))
	}
	for _, c := range []struct{ at, parent, owner, root, depth int }{
		{0, 8, 8, 1, 4},
		{1, None, None, 1, 0},
		{2, 1, None, 1, 1},
		{3, 2, None, 1, 2},
		{5, 4, 3, 1, 4},
		{6, None, None, 6, 0},
		{7, 6, None, 6, 1},
		{8, 3, 3, 1, 3},
		{9, None, None, None, 1},
	} {
		got := []int{tree.Parent(c.at), tree.Owner(c.at), tree.Root(c.at), tree.Depth(c.at)}
		if want := []int{c.parent, c.owner, c.root, c.depth}; !slices.Equal(got, want) {
			t.Errorf("span %d: parent, owner, root, depth %v, want %v", c.at, got, want)
		}
	}
	if tree.Root(10) != None || tree.Root(11) != None {
		t.Error("a loop of parents has a root")
	}
	if again := tree.Add(Of(span(9, 1, tool))); again != 0 || tree.Owner(0) != None || tree.Depth(0) != 1 {
		t.Errorf("a span that was added again has the place %d, owner %d, depth %d", again, tree.Owner(0), tree.Depth(0))
	}
}

func TestAskedAreTheCallsOfTheMessages(t *testing.T) {
	for _, value := range []string{
		"", "no JSON", "[]", "null", "{}", `[{"role":"user","parts":[{"type":"text","content":"a tool_call of \"x\""}]}]`,
		`[{"role":"assistant","parts":[{"type":"tool_call","id":"a"},{"type":"text","content":"b"},{"type":"tool_call","name":"tool_call"}],"finish_reason":""}]`,
		` [ { "parts" : [ {"id" : "\u0061\"", "type" : "tool_c\u0061ll"}, {"type":"tool_call","id":"tool_call"} ] } , {"parts":[{"type":"tool_call","id":"c"}]}]`,
		`[{"parts":[{"type":"tool_call","id":"a"}]}`, `[{"parts":[{"type":"tool_call","id":"a"`, `[{"parts":null},{"role":"tool_call"}]`,
		`[{"parts":[{"type":"tool_call_response","id":"a","response":"tool_call"}]}]`,
	} {
		var want []string
		for _, m := range otelmap.Messages(value) {
			for _, p := range m.Parts {
				if p.Type == otelmap.PartCall {
					want = append(want, p.ID)
				}
			}
		}
		if d := cmp.Diff(want, callIDs(value)); d != "" {
			t.Errorf("%s (-want +got):\n%s", value, d)
		}
	}
}

func TestUsageIsSummedAndLessened(t *testing.T) {
	x, y := &Usage{Input: 5, Output: 3, CostUSD: new(0.3)}, &Usage{Input: 2, CacheRead: 1, CostUSD: new(0.1)}
	sum := x.Add(y)
	if d := cmp.Diff(&Usage{Input: 7, Output: 3, CacheRead: 1, CostUSD: new(0.4)}, sum); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(&Usage{Input: 5, Output: 3, CostUSD: new(0.3)}, sum.Less(y)); d != "" {
		t.Error(d)
	}
	if rest := sum.Less(sum); rest != nil {
		t.Errorf("nothing is left, not %+v", rest)
	}
	if sum.Tokens() != 10 || sum.Cost() != 0.4 || x.Add(nil) != x || (*Usage)(nil).Add(y) != y {
		t.Errorf("%d tokens, %f dollars", sum.Tokens(), sum.Cost())
	}
}

func TestWaitsAreThoseOfEvents(t *testing.T) {
	at := func(s uint64) uint64 { return s * 1e9 }
	call := &tracepb.Span{
		EndTimeUnixNano: at(10), Attributes: []*commonpb.KeyValue{otlp.Int(otelmap.KeyHostDuration, 2000)},
		Events: []*tracepb.Span_Event{{Name: otelmap.EventPermission, TimeUnixNano: at(3)}},
	}
	if d := cmp.Diff([]Wait{{time.Unix(3, 0).UTC(), time.Unix(8, 0).UTC()}}, Of(call).Waits()); d != "" {
		t.Error(d)
	}
	call.Attributes = texts(otelmap.KeyToolOutcome, otelmap.ToolOutcomeRunning)
	if d := cmp.Diff([]Wait{{From: time.Unix(3, 0).UTC()}}, Of(call).Waits()); d != "" {
		t.Error(d)
	}
	call.Events[0].Attributes = []*commonpb.KeyValue{otlp.Int(otelmap.KeyWaited, 1000)}
	if d := cmp.Diff([]Wait{{time.Unix(3, 0).UTC(), time.Unix(4, 0).UTC()}}, Of(call).Waits()); d != "" {
		t.Error("the user has answered:", d)
	}
	run := &tracepb.Span{
		Attributes: texts(otelmap.KeyOutcome, otelmap.OutcomeRunning),
		Events: []*tracepb.Span_Event{
			{Name: otelmap.EventNotification, TimeUnixNano: at(1), Attributes: []*commonpb.KeyValue{otlp.Int(otelmap.KeyWaited, 1000)}},
			{Name: otelmap.EventNotification, TimeUnixNano: at(5), Attributes: []*commonpb.KeyValue{otlp.Bool(otelmap.KeyAwaitsUser, true)}},
		},
	}
	if d := cmp.Diff([]Wait{{time.Unix(1, 0).UTC(), time.Unix(2, 0).UTC()}, {From: time.Unix(5, 0).UTC()}}, Of(run).Waits()); d != "" {
		t.Error(d)
	}
}

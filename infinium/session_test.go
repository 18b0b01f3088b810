package infinium

import (
	"bytes"
	stdcmp "cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap"
)

// sessionRuns are the turns of a session: one that went well, one that the API
// ended, one that went well and used another model.
func sessionRuns() [][]*tracepb.Span {
	one := turn(1, 0, 20_000,
		str(otelmap.KeyOutcome, otelmap.OutcomeCompleted), str(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, "Fix the login bug in auth.py")),
		str(otelmap.KeyOutputMessages, otelmap.AnswerMessages("I've fixed the login bug", "")), str(otelmap.KeyRequestModel, "claude-haiku-4-5"),
		str(otelmap.KeyProvider, "anthropic"), str(otelmap.KeyPermissionMode, "default"), str(otelmap.KeyPromptID, "p1"),
		str(otelmap.KeyWorkingDirectory, "/home/user/project"), str(otelmap.KeySessionSource, "startup"),
		num(otelmap.KeyInputTokens, 1_000), num(otelmap.KeyHostInputTokens, 10), num(otelmap.KeyOutputTokens, 100),
		num(otelmap.KeyCacheReadTokens, 990), num(otelmap.KeyCacheWriteTokens, 0), dec(otelmap.KeyCost, 0.1),
		num(otelmap.KeyLLMRequests, 2), num(otelmap.KeyToolCalls, 1), num(otelmap.KeyToolFailures, 0))
	prompt(one.spans[0], 0, "Fix the login bug in auth.py")
	one.tool(102, 101, "Edit", 5_000, 5_040, `{"file_path":"auth.py"}`, "edited")

	two := claudeRun()
	two.spans[0].Links = []*tracepb.Span_Link{linkTo(one.spans[0])}
	const later = uint64(30 * time.Second)
	for _, s := range two.spans {
		s.StartTimeUnixNano, s.EndTimeUnixNano = s.StartTimeUnixNano+later, s.EndTimeUnixNano+later
		for _, ev := range s.Events {
			ev.TimeUnixNano += later
		}
	}
	two.spans[0].Events[0].TimeUnixNano = ns(75_100) // The exception.

	three := turn(3, 90_000, 100_000,
		str(otelmap.KeyOutcome, otelmap.OutcomeCompleted), str(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, "Now add tests")),
		str(otelmap.KeyOutputMessages, otelmap.AnswerMessages("Tests added and passing", "")), str(otelmap.KeyRequestModel, "claude-sonnet-4-5"),
		str(otelmap.KeyProvider, "anthropic"), str(otelmap.KeyPromptID, "p3"),
		num(otelmap.KeyInputTokens, 500), num(otelmap.KeyHostInputTokens, 5), num(otelmap.KeyOutputTokens, 50),
		dec(otelmap.KeyCost, 0.2), num(otelmap.KeyLLMRequests, 1), num(otelmap.KeyToolCalls, 1), num(otelmap.KeyToolFailures, 1))
	prompt(three.spans[0], 90_000, "Now add tests")
	three.spans[0].Events = append(three.spans[0].Events, &tracepb.Span_Event{Name: otelmap.EventCompaction, TimeUnixNano: ns(91_000)})
	fail(three.tool(302, 301, "Write", 95_000, 95_010, `{"file_path":"test_auth.py"}`, ""), otelmap.ErrorToolFailure, "no such directory")
	return [][]*tracepb.Span{one.spans, two.spans, three.spans}
}

// turn is a run of Claude Code in a separate trace, with the span numbers of
// its hundred.
func turn(n uint64, from, to int, attrs ...*commonpb.KeyValue) *tree {
	t := &tree{id: traceID(n)}
	t.add(n*100+1, 0, "invoke_agent claude-code", from, to, append([]*commonpb.KeyValue{
		str(otelmap.KeyOperation, otelmap.OpInvokeAgent), str(otelmap.KeyAgentName, "claude-code"),
		str(otelmap.KeyHost, "claude-code"), str(otelmap.KeyConversationID, "3f0c-session"),
	}, attrs...)...)
	return t
}

func linkTo(s *tracepb.Span) *tracepb.Span_Link {
	return &tracepb.Span_Link{TraceId: s.TraceId, SpanId: s.SpanId}
}

// joined are the spans of a joined session, the root first.
func joined(runs [][]*tracepb.Span) []*tracepb.Span {
	var messages []*tracepb.ResourceSpans
	for _, spans := range runs {
		messages = append(messages, message(spans))
	}
	return slices.Collect(otlp.Spans([]*tracepb.ResourceSpans{Session(messages)}))
}

func TestSessionRoot(t *testing.T) {
	runs := sessionRuns()
	spans := joined(runs)
	root := spans[0]
	checkTree(t, spans, runs[0][0])
	if root.StartTimeUnixNano != ns(0) || root.EndTimeUnixNano != ns(100_000) {
		t.Errorf("from %s to %s, want from the first start to the last end", otlp.Start(root), otlp.End(root))
	}
	if root.Status != nil || len(root.Links) != 0 {
		t.Errorf("status %v and links %v, want the last run's status and no link into the session", root.Status, root.Links)
	}
	got := map[string]string{}
	for _, kv := range root.Attributes {
		if _, twice := got[kv.Key]; twice {
			t.Errorf("%s is there twice", kv.Key)
		}
		got[kv.Key] = otlp.Format(kv.Value)
	}
	want := map[string]string{
		otelmap.KeyTurns: "3", otelmap.KeyOutcome: "completed", otelmap.KeyInputMessages: otelmap.TextMessages(otelmap.RoleUser, "Fix the login bug in auth.py"),
		otelmap.KeyOutputMessages: otelmap.AnswerMessages("Tests added and passing", ""), otelmap.KeyRequestModel: "claude-sonnet-4-5", otelmap.KeyProvider: "anthropic",
		otelmap.KeyPermissionMode: "acceptEdits", otelmap.KeyWorkingDirectory: "/home/user/project", otelmap.KeySessionSource: "startup",
		otelmap.KeyConversationID: "3f0c-session", otelmap.KeyHost: "claude-code", otelmap.KeyHostVersion: "2.1.329",
		otelmap.KeyOperation: "invoke_agent", otelmap.KeyAgentName: "claude-code",
		// The second run has no totals: the sums over its two requests replace them.
		otelmap.KeyRunInputTokens: "4600", otelmap.KeyHostInputTokens: "57",
		otelmap.KeyRunOutputTokens: "235", otelmap.KeyRunCacheReadTokens: "2470", otelmap.KeyRunCacheWriteTokens: "0",
		otelmap.KeyCost: "0.33", otelmap.KeyLLMRequests: "5",
		otelmap.KeyToolCalls: "2", otelmap.KeyToolFailures: "1",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("attributes (-want +got):\n%s", d)
	}
	var events []string
	for _, ev := range root.Events {
		events = append(events, fmt.Sprintf("%d %s", (ev.TimeUnixNano-ns(0))/1e6, ev.Name))
	}
	wantEvents := []string{
		"0 hookspan.prompt", "30000 hookspan.prompt", "75100 hookspan.turn_failed", "90000 hookspan.prompt", "91000 hookspan.compaction",
	}
	if d := cmp.Diff(wantEvents, events); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

// checkTree checks that the spans are one tree in the order of time.
func checkTree(t interface{ Errorf(string, ...any) }, spans []*tracepb.Span, first *tracepb.Span) {
	root := spans[0]
	if keyOf(root) != keyOf(first) || !bytes.Equal(root.ParentSpanId, first.ParentSpanId) || root.Flags != first.Flags {
		t.Errorf("the root's place is not that of the first run's")
	}
	ids := map[string]bool{}
	for _, s := range spans {
		ids[string(s.SpanId)] = true
	}
	if len(ids) != len(spans) {
		t.Errorf("%d ids for %d spans", len(ids), len(spans))
	}
	for _, s := range spans[1:] {
		if !bytes.Equal(s.TraceId, root.TraceId) || !ids[string(s.ParentSpanId)] {
			t.Errorf("%s is in trace %s, its parent %s is not below the root", s.Name, otlp.TraceID(s), otlp.ParentID(s))
		}
	}
	byStart := func(x, y *tracepb.Span) int { return stdcmp.Compare(x.StartTimeUnixNano, y.StartTimeUnixNano) }
	byTime := func(x, y *tracepb.Span_Event) int { return stdcmp.Compare(x.TimeUnixNano, y.TimeUnixNano) }
	if !slices.IsSortedFunc(spans[1:], byStart) || len(spans) > 1 && spans[1].StartTimeUnixNano < root.StartTimeUnixNano {
		t.Errorf("the spans are not in the order of their start")
	}
	if !slices.IsSortedFunc(root.Events, byTime) {
		t.Errorf("the root's events are not in order")
	}
}

func TestSessionOfFewRuns(t *testing.T) {
	one := sessionRuns()[0]
	counted := sessionRuns()[0]
	counted[0].Attributes = append(counted[0].Attributes, num(otelmap.KeyTurns, 1))
	newer := slices.Clone(one[:1])
	tests := map[string]struct {
		runs [][]*tracepb.Span
		want []*tracepb.Span
	}{
		"none":                      {nil, nil},
		"one without spans":         {[][]*tracepb.Span{{}}, nil},
		"one":                       {[][]*tracepb.Span{one}, counted},
		"one and one without spans": {[][]*tracepb.Span{nil, one, {}}, counted},
		"one twice":                 {[][]*tracepb.Span{newer, one}, counted},
		"one that was counted":      {[][]*tracepb.Span{counted}, counted},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := joined(tt.runs)
			if d := cmp.Diff(tt.want, got, protocmp.Transform(), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestSessionTraces(t *testing.T) {
	change := func(i int, f func(*tracepb.Span)) [][]*tracepb.Span {
		runs := sessionRuns()
		f(runs[i][0])
		return runs
	}
	shared := sessionRuns()
	for _, r := range shared {
		id := traceID(77)
		for _, s := range r {
			s.TraceId = id[:]
		}
		r[0].ParentSpanId, r[0].Flags = spanID(78), remoteParent
	}
	lacking := func(k string) func(*tracepb.Span) {
		return func(s *tracepb.Span) { s.Attributes = without(s.Attributes, k) }
	}
	with := func(kv *commonpb.KeyValue) func(*tracepb.Span) {
		return func(s *tracepb.Span) { s.Attributes = append(s.Attributes, kv) }
	}
	overlapping := sessionRuns()
	overlapping[0][0].EndTimeUnixNano = ns(200_000)
	earlier := sessionRuns()
	earlier[0][0].StartTimeUnixNano = ns(31_000)
	unstarted := func(i int) [][]*tracepb.Span {
		return change(i, func(s *tracepb.Span) { s.StartTimeUnixNano = 0 })
	}
	priced := [][]*tracepb.Span{turn(1, 0, 10).spans, turn(2, 20, 30).spans}
	for i := range priced {
		tr := &tree{id: traceID(uint64(i + 1)), spans: priced[i]}
		tr.chat(uint64(i+50), uint64(i+1)*100+1, "m", 1, 2, dec(otelmap.KeyCost, 0.5))
		priced[i] = tr.spans
	}
	cline := [][]*tracepb.Span{clineRun().spans, smallRun(9).spans}

	errorsOf := func(t Trace) string {
		var out []string
		for _, e := range t.Errors {
			out = append(out, fmt.Sprintf("%s %t", e.ErrorType, e.Recoverable))
		}
		return strings.Join(out, ", ")
	}
	const usual = "ToolFailure true, rate_limit false, ToolFailure true"
	tests := map[string]struct {
		runs [][]*tracepb.Span
		got  func(Trace) string
		want string
	}{
		"the name counts the turns":              {sessionRuns(), func(t Trace) string { return t.Name }, "Claude Code session (3 turns)"},
		"a run by itself is one turn":            {sessionRuns()[:1], func(t Trace) string { return t.Name }, "Claude Code session (1 turn)"},
		"a session of Cline has a task":          {cline, func(t Trace) string { return t.Name }, "Fix the login validation bug"},
		"a task in a later run":                  {change(0, lacking(otelmap.KeyInputMessages)), func(t Trace) string { return t.Description }, "Fix the login bug in auth.py"},
		"an answer in an earlier run":            {change(2, lacking(otelmap.KeyOutputMessages)), func(t Trace) string { return t.OutputSummary }, "I've fixed the login bug"},
		"a model in an earlier run":              {change(2, lacking(otelmap.KeyRequestModel)), func(t Trace) string { return t.LLMUsage.Model }, "claude-sonnet-4-5-20250514"},
		"it lasts to the last end":               {overlapping, func(t Trace) string { return fmt.Sprint(t.CurrentDatetime, " ", t.Duration) }, "2026-04-18T10:00:00.000Z 200"},
		"a turn's failure stays":                 {sessionRuns(), errorsOf, usual},
		"a failure without an exception":         {change(1, func(s *tracepb.Span) { s.Events = s.Events[:1] }), errorsOf, usual},
		"an exception without a failure":         {change(1, func(s *tracepb.Span) { s.Status = nil }), errorsOf, "ToolFailure true, ToolFailure true"},
		"the last turn's failure comes last":     {sessionRuns()[:2], errorsOf, "ToolFailure true, rate_limit false"},
		"its message is its own":                 {sessionRuns()[:2], func(t Trace) string { return t.Errors[1].Message }, "API Error: 429"},
		"a failure that says nothing":            {change(0, func(s *tracepb.Span) { s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR} }), errorsOf, "RunError false, " + usual},
		"the outcome is the last turn's":         {sessionRuns()[:2], func(t Trace) string { return t.Environment.CustomTags[TagOutcome] }, "failed"},
		"how an earlier turn ended is no tag":    {change(0, with(str(otelmap.KeyCancelStatus, "x"))), func(t Trace) string { return t.Environment.CustomTags[TagOutcome] }, "completed"},
		"runs of one trace":                      {shared, func(t Trace) string { return t.TraceID + " " + t.RootSpanID + " " + errorsOf(t) }, "0000000000000000000000000000004d 0000000000000065 " + usual},
		"the first start is not the first run's": {earlier, func(t Trace) string { return t.CurrentDatetime }, "2026-04-18T10:00:30.000Z"},
		"a start that is not known":              {unstarted(0), func(t Trace) string { return t.CurrentDatetime }, "2026-04-18T10:00:30.000Z"},
		"a later start that is not known":        {unstarted(1), func(t Trace) string { return t.CurrentDatetime }, "2026-04-18T10:00:00.000Z"},
		"a provider without its model": {change(2, func(s *tracepb.Span) {
			lacking(otelmap.KeyRequestModel)(s)
			lacking(otelmap.KeyProvider)(s)
			with(str(otelmap.KeyProvider, "aws.bedrock"))(s)
		}), func(t Trace) string { return t.LLMUsage.Provider }, "anthropic"},
		"prices without tokens":            {priced, func(t Trace) string { return t.Environment.CustomTags[TagTotalCost] }, "1"},
		"prices are summed":                {sessionRuns(), func(t Trace) string { return t.Environment.CustomTags[TagTotalCost] }, "0.33"},
		"requests are summed":              {sessionRuns(), func(t Trace) string { return strconv.FormatInt(*t.LLMUsage.APICallsCount, 10) }, "5"},
		"tokens are summed as hosts count": {sessionRuns(), func(t Trace) string { return strconv.FormatInt(*t.LLMUsage.PromptTokens, 10) }, "4600"},
		"a host without its own count":     {change(0, lacking(otelmap.KeyHostInputTokens)), func(t Trace) string { return strconv.FormatInt(*t.LLMUsage.PromptTokens, 10) }, "4600"},
		"compactions are summed":           {sessionRuns(), func(t Trace) string { return t.Environment.CustomTags[TagCompactions] }, "1"},
		"a subagent's tool keeps its agent": {sessionRuns(), func(t Trace) string {
			i := slices.IndexFunc(t.Steps, func(s Step) bool { return s.Action == "tool_use:Grep" })
			return t.Steps[i].Metadata.SubagentID
		}, "agent-5"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Traces(messages(joined(tt.runs)...), testForms)
			if len(got) != 1 {
				t.Fatalf("%d traces, want 1", len(got))
			}
			if d := cmp.Diff(tt.want, tt.got(got[0])); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// mark is a text that names its time.
func mark(ms int) string { return fmt.Sprintf("@%06d", ms) }

// session draws the runs of a session. No two events have the same time, and every
// text is the mark of its time, so that a test knows the expected order without the
// mapping. Runs may overlap, as those with background agents do.
func session(t *rapid.T) [][]*tracepb.Span {
	n := rapid.IntRange(1, 4).Draw(t, "runs")
	now := 0
	tick := func() int {
		now += rapid.IntRange(1, 5_000).Draw(t, "pause")
		return now
	}
	var trees []*tree
	used := map[*tree]uint64{}
	begin := func() {
		k := uint64(len(trees) + 1) //nolint:gosec // Small.
		tr := turn(k, tick(), 0)
		if rapid.Bool().Draw(t, "shared trace") {
			tr.id = traceID(99)
			tr.spans[0].TraceId, tr.spans[0].ParentSpanId, tr.spans[0].Flags = tr.id[:], spanID(9_999), remoteParent
		}
		trees = append(trees, tr)
		used[tr] = k*100 + 1
	}
	begin()
	for range rapid.IntRange(0, 30).Draw(t, "moments") {
		if len(trees) < n && rapid.IntRange(0, 4).Draw(t, "next run") == 0 {
			begin()
		}
		happen(t, rapid.SampledFrom(trees).Draw(t, "run"), used, tick())
	}
	var runs [][]*tracepb.Span
	for _, tr := range trees {
		end(t, tr.spans[0], tick())
		runs = append(runs, tr.spans)
	}
	return runs
}

// happen adds one thing that happened in a run.
func happen(t *rapid.T, tr *tree, used map[*tree]uint64, ms int) {
	parents := []uint64{used[tr] - used[tr]%100 + 1}
	for _, s := range tr.spans[1:] {
		if strings.HasPrefix(s.Name, "invoke_agent") {
			parents = append(parents, binary.BigEndian.Uint64(s.SpanId))
		}
	}
	parent := rapid.SampledFrom(parents).Draw(t, "parent")
	kind := rapid.SampledFrom([]string{"prompt", "note", "compaction", "tool", "agent", "chat"}).Draw(t, "kind")
	root := tr.spans[0]
	var s *tracepb.Span
	switch kind {
	case "prompt":
		prompt(root, ms, mark(ms), otlp.Bool(otelmap.KeyPromptInjected, rapid.Bool().Draw(t, "injected")))
		return
	case "note":
		root.Events = append(root.Events, &tracepb.Span_Event{Name: otelmap.EventNotification, TimeUnixNano: ns(ms)})
		return
	case "compaction":
		root.Events = append(root.Events, &tracepb.Span_Event{Name: otelmap.EventCompaction, TimeUnixNano: ns(ms)})
		return
	case "tool":
		used[tr]++
		s = tr.tool(used[tr], parent, "T", ms, ms+1, mark(ms), "")
	case "agent":
		used[tr]++
		s = tr.agent(used[tr], parent, "A", ms, ms+1, str(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, mark(ms))))
	case "chat":
		used[tr]++
		s = tr.chat(used[tr], parent, "m", ms, ms+1, figures(t)...)
	}
	if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
		fail(s, "E", mark(ms))
	}
}

// figures are usage as a root or a request may report it: some figures or none.
func figures(t *rapid.T) (out []*commonpb.KeyValue) {
	for _, k := range []string{
		otelmap.KeyInputTokens, otelmap.KeyHostInputTokens, otelmap.KeyOutputTokens, otelmap.KeyCacheReadTokens, otelmap.KeyCacheWriteTokens,
	} {
		if rapid.Bool().Draw(t, k) {
			out = append(out, num(k, int64(rapid.IntRange(0, 1_000).Draw(t, "n"))))
		}
	}
	if rapid.Bool().Draw(t, "cost") {
		out = append(out, dec(otelmap.KeyCost, float64(rapid.IntRange(0, 1_000).Draw(t, "n"))/1_000))
	}
	return out
}

// end closes a run.
func end(t *rapid.T, root *tracepb.Span, ms int) {
	root.EndTimeUnixNano = ns(ms)
	root.Attributes = append(root.Attributes, str(otelmap.KeyOutcome, otelmap.OutcomeCompleted))
	if rapid.Bool().Draw(t, "totals") {
		root.Attributes = append(root.Attributes, figures(t)...)
	}
	if rapid.Bool().Draw(t, "requests") {
		root.Attributes = append(root.Attributes, num(otelmap.KeyLLMRequests, int64(rapid.IntRange(0, 9).Draw(t, "n"))))
	}
	for k, v := range map[string]string{
		otelmap.KeyInputMessages: otelmap.TextMessages(otelmap.RoleUser, mark(ms)), otelmap.KeyOutputMessages: otelmap.AnswerMessages(mark(ms), ""), otelmap.KeyRequestModel: mark(ms), otelmap.KeyPermissionMode: mark(ms),
	} {
		if rapid.Bool().Draw(t, k) {
			root.Attributes = append(root.Attributes, str(k, v))
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "run fails") == 0 {
		fail(root, otelmap.ErrorRun, mark(ms))
	}
}

func TestSessionKeepsContentOfItsTurns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		runs := session(rt)
		before := fmt.Sprintf("%+v", runs)
		spans := joined(runs)
		if len(runs) > 1 {
			checkTree(rt, spans, runs[0][0])
		}
		traces := Traces(messages(spans...), testForms)
		if len(traces) != 1 || traces[0].Late {
			rt.Fatalf("got %+v, want one trace", traces)
		}
		got := traces[0]
		if after := fmt.Sprintf("%+v", runs); after != before {
			rt.Errorf("the argument was changed (-want +got):\n%s", cmp.Diff(before, after))
		}

		var steps []Step
		var errs []ErrorDetail
		var own *ErrorDetail
		var total figuresOf
		for i, r := range runs {
			single := Traces(messages(r...), testForms)[0]
			steps = append(steps, single.Steps...)
			errs = append(errs, single.Errors...)
			if i == len(runs)-1 && failed(r[0]) {
				own, errs = &errs[len(errs)-1], errs[:len(errs)-1]
			}
			total.add(rt, single)
			if i == 0 && (got.TraceID != single.TraceID || got.RootSpanID != single.RootSpanID || got.CurrentDatetime != single.CurrentDatetime) {
				rt.Errorf("ids or start are not those of the first run")
			}
		}
		slices.SortFunc(steps, func(x, y Step) int {
			return strings.Compare(x.InputPreview+x.InputSummary, y.InputPreview+y.InputSummary)
		})
		slices.SortFunc(errs, func(x, y ErrorDetail) int { return strings.Compare(x.Message, y.Message) })
		if own != nil {
			errs = append(errs, *own)
		}
		if d := cmp.Diff(steps, got.Steps); d != "" {
			rt.Errorf("steps (-want +got):\n%s", d)
		}
		if d := cmp.Diff(errs, got.Errors); d != "" {
			rt.Errorf("errors (-want +got):\n%s", d)
		}
		var sum figuresOf
		sum.add(rt, got)
		if d := cmp.Diff(total, sum, cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < 1e-9 })); d != "" {
			rt.Errorf("sums (-want +got):\n%s", d)
		}
		if want := "Claude Code session (" + termtext.Plural(len(runs), "turn") + ")"; got.Name != want {
			rt.Errorf("name %q, want %q", got.Name, want)
		}
	})
}

// figuresOf sums the numbers of traces.
type figuresOf struct {
	Prompt, Completion, Total, Calls int64
	Reads, Writes, Compactions, Cost float64
}

func (f *figuresOf) add(rt *rapid.T, t Trace) {
	value := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	if u := t.LLMUsage; u != nil {
		f.Prompt += value(u.PromptTokens)
		f.Completion += value(u.CompletionTokens)
		f.Total += value(u.TotalTokens)
		f.Calls += value(u.APICallsCount)
	}
	for tag, to := range map[string]*float64{
		TagCacheReads: &f.Reads, TagCacheWrites: &f.Writes, TagCompactions: &f.Compactions, TagTotalCost: &f.Cost,
	} {
		if s := t.Environment.CustomTags[tag]; s != "" {
			n, err := strconv.ParseFloat(s, 64)
			if err != nil {
				rt.Fatal(err)
			}
			*to += n
		}
	}
}

// What has been joined may be joined with what comes later.
func TestSessionIDsStayWhenSessionGrows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		runs := session(rt)
		k := rapid.IntRange(0, len(runs)).Draw(rt, "joined before")
		want := Traces(messages(joined(runs)...), testForms)
		got := Traces(messages(joined(append([][]*tracepb.Span{joined(runs[:k])}, runs[k:]...))...), testForms)
		if d := cmp.Diff(want, got, cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < 1e-9 })); d != "" {
			rt.Errorf("joined in two steps (-want +got):\n%s", d)
		}
	})
}

func TestSessionKeepsLinksToOtherTraces(t *testing.T) {
	runs := sessionRuns()
	out := &tracepb.Span_Link{TraceId: bytes.Clone(runs[0][0].TraceId), SpanId: spanID(5)}
	runs[0][0].Links = []*tracepb.Span_Link{out}
	runs[2][0].Links = []*tracepb.Span_Link{linkTo(runs[1][0])}
	if d := cmp.Diff([]*tracepb.Span_Link{out}, joined(runs)[0].Links, protocmp.Transform()); d != "" {
		t.Errorf("links (-want +got):\n%s", d)
	}
}

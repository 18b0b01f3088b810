package infinium

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/otelmap"
)

// sessionRuns are the turns of a session: one that went well, one that the API
// ended, one that went well and used another model.
func sessionRuns() []tracetest.SpanStubs {
	one := turn(1, 0, 20_000,
		otelmap.KeyOutcome.String(otelmap.OutcomeCompleted), otelmap.KeyTask.String("Fix the login bug in auth.py"),
		otelmap.KeyResult.String("I've fixed the login bug"), otelmap.KeyRequestModel.String("claude-haiku-4-5"),
		otelmap.KeyProvider.String("anthropic"), otelmap.KeyPermissionMode.String("default"), otelmap.KeyPromptID.String("p1"),
		otelmap.KeyWorkingDirectory.String("/home/user/project"), otelmap.KeySessionSource.String("startup"),
		otelmap.KeyInputTokens.Int64(1_000), otelmap.KeyHostInputTokens.Int64(10), otelmap.KeyOutputTokens.Int64(100),
		otelmap.KeyCacheReadTokens.Int64(990), otelmap.KeyCacheWriteTokens.Int64(0), otelmap.KeyCost.Float64(0.1),
		otelmap.KeyLLMRequests.Int64(2), otelmap.KeyToolCalls.Int64(1), otelmap.KeyToolFailures.Int64(0))
	prompt(&one.spans[0], 0, "Fix the login bug in auth.py")
	one.tool(102, 101, "Edit", 5_000, 5_040, `{"file_path":"auth.py"}`, "edited")

	two := claudeRun()
	two.spans[0].Links = []sdktrace.Link{{SpanContext: one.spans[0].SpanContext}}
	for i := range two.spans {
		s := &two.spans[i]
		s.StartTime, s.EndTime = s.StartTime.Add(30_000e6), s.EndTime.Add(30_000e6)
		for j := range s.Events {
			s.Events[j].Time = s.Events[j].Time.Add(30_000e6)
		}
	}
	two.spans[0].Events[0].Time = at(75_100) // The exception.

	three := turn(3, 90_000, 100_000,
		otelmap.KeyOutcome.String(otelmap.OutcomeCompleted), otelmap.KeyTask.String("Now add tests"),
		otelmap.KeyResult.String("Tests added and passing"), otelmap.KeyRequestModel.String("claude-sonnet-4-5"),
		otelmap.KeyProvider.String("anthropic"), otelmap.KeyPromptID.String("p3"),
		otelmap.KeyInputTokens.Int64(500), otelmap.KeyHostInputTokens.Int64(5), otelmap.KeyOutputTokens.Int64(50),
		otelmap.KeyCost.Float64(0.2), otelmap.KeyLLMRequests.Int64(1), otelmap.KeyToolCalls.Int64(1), otelmap.KeyToolFailures.Int64(1))
	prompt(&three.spans[0], 90_000, "Now add tests")
	three.spans[0].Events = append(three.spans[0].Events, sdktrace.Event{Name: otelmap.EventCompaction, Time: at(91_000)})
	fail(three.tool(302, 301, "Write", 95_000, 95_010, `{"file_path":"test_auth.py"}`, ""), otelmap.ErrorToolFailure, "no such directory")
	return []tracetest.SpanStubs{one.spans, two.spans, three.spans}
}

// turn is a run of Claude Code in a trace of its own, with the span numbers of
// its hundred.
func turn(n uint64, from, to int, attrs ...attribute.KeyValue) *tree {
	t := &tree{id: traceID(n), spans: make(tracetest.SpanStubs, 0, 64)}
	t.add(n*100+1, 0, "invoke_agent claude-code", from, to, append([]attribute.KeyValue{
		otelmap.KeyOperation.String(otelmap.OpInvokeAgent), otelmap.KeyAgentName.String("claude-code"),
		otelmap.KeyHost.String("claude-code"), otelmap.KeyConversationID.String("3f0c-session"),
	}, attrs...)...)
	return t
}

func TestSessionRoot(t *testing.T) {
	runs := sessionRuns()
	spans := Session(runs)
	root := spans[0]
	whole(t, spans, runs[0][0])
	if !root.StartTime.Equal(at(0)) || !root.EndTime.Equal(at(100_000)) {
		t.Errorf("from %s to %s, want from the first start to the last end", root.StartTime, root.EndTime)
	}
	if root.Status.Code != codes.Unset || len(root.Links) != 0 {
		t.Errorf("status %v and links %v, want the last run's status and no link into the session", root.Status, root.Links)
	}
	got := map[attribute.Key]any{}
	for _, kv := range root.Attributes {
		if _, twice := got[kv.Key]; twice {
			t.Errorf("%s stands twice", kv.Key)
		}
		got[kv.Key] = kv.Value.AsInterface()
	}
	want := map[attribute.Key]any{
		otelmap.KeyTurns: int64(3), otelmap.KeyOutcome: "completed", otelmap.KeyTask: "Fix the login bug in auth.py",
		otelmap.KeyResult: "Tests added and passing", otelmap.KeyRequestModel: "claude-sonnet-4-5", otelmap.KeyProvider: "anthropic",
		otelmap.KeyPermissionMode: "acceptEdits", otelmap.KeyWorkingDirectory: "/home/user/project", otelmap.KeySessionSource: "startup",
		otelmap.KeyConversationID: "3f0c-session", otelmap.KeyHost: "claude-code", otelmap.KeyHostVersion: "2.1.329",
		otelmap.KeyOperation: "invoke_agent", otelmap.KeyAgentName: "claude-code",
		// The second run has no totals: its two requests stand in for them.
		otelmap.KeyInputTokens: int64(1_000 + 3_100 + 500), otelmap.KeyHostInputTokens: int64(10 + 42 + 5),
		otelmap.KeyOutputTokens: int64(100 + 85 + 50), otelmap.KeyCacheReadTokens: int64(990 + 1_480), otelmap.KeyCacheWriteTokens: int64(0),
		otelmap.KeyCost: 0.1 + 0.01 + 0.02 + 0.2, otelmap.KeyLLMRequests: int64(2 + 2 + 1),
		otelmap.KeyToolCalls: int64(2), otelmap.KeyToolFailures: int64(1),
	}
	if d := cmp.Diff(want, got, cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < 1e-12 })); d != "" {
		t.Errorf("attributes (-want +got):\n%s", d)
	}
	var events []string
	for _, ev := range root.Events {
		events = append(events, fmt.Sprintf("%d %s", ev.Time.Sub(start).Milliseconds(), ev.Name))
	}
	wantEvents := []string{
		"0 hookspan.prompt", "30000 hookspan.prompt", "75100 hookspan.turn_failed", "90000 hookspan.prompt", "91000 hookspan.compaction",
	}
	if d := cmp.Diff(wantEvents, events); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

// whole checks that the spans are one tree in the order of time.
func whole(t interface{ Errorf(string, ...any) }, spans tracetest.SpanStubs, first tracetest.SpanStub) {
	root := spans[0]
	if !root.SpanContext.Equal(first.SpanContext) || !root.Parent.Equal(first.Parent) {
		t.Errorf("the root's place is not that of the first run's")
	}
	ids := map[trace.SpanID]bool{}
	for _, s := range spans {
		ids[s.SpanContext.SpanID()] = true
	}
	if len(ids) != len(spans) {
		t.Errorf("%d ids for %d spans", len(ids), len(spans))
	}
	for _, s := range spans[1:] {
		if id := root.SpanContext.TraceID(); s.SpanContext.TraceID() != id || s.Parent.TraceID() != id || !ids[s.Parent.SpanID()] {
			t.Errorf("%s is in trace %s, its parent %s %s is not below the root", s.Name, s.SpanContext.TraceID(), s.Parent.TraceID(), s.Parent.SpanID())
		}
	}
	byStart := func(x, y tracetest.SpanStub) int { return x.StartTime.Compare(y.StartTime) }
	byTime := func(x, y sdktrace.Event) int { return x.Time.Compare(y.Time) }
	if !slices.IsSortedFunc(spans[1:], byStart) || len(spans) > 1 && spans[1].StartTime.Before(root.StartTime) {
		t.Errorf("the spans are not in the order of their start")
	}
	if !slices.IsSortedFunc(root.Events, byTime) {
		t.Errorf("the root's events are not in order")
	}
}

func TestSessionOfFewRuns(t *testing.T) {
	one := sessionRuns()[0]
	counted := slices.Clone(one)
	counted[0].Attributes = append(slices.Clone(one[0].Attributes), otelmap.KeyTurns.Int64(1))
	newer := slices.Clone(one[:1])
	tests := map[string]struct {
		runs []tracetest.SpanStubs
		want tracetest.SpanStubs
	}{
		"none":                      {nil, nil},
		"one without spans":         {[]tracetest.SpanStubs{{}}, nil},
		"one":                       {[]tracetest.SpanStubs{one}, counted},
		"one and one without spans": {[]tracetest.SpanStubs{nil, one, {}}, counted},
		"one twice":                 {[]tracetest.SpanStubs{newer, one}, counted},
		"one that was counted":      {[]tracetest.SpanStubs{counted}, counted},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Session(tt.runs)
			if d := cmp.Diff(fmt.Sprintf("%+v", tt.want), fmt.Sprintf("%+v", got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestSessionTraces(t *testing.T) {
	change := func(i int, f func(*tracetest.SpanStub)) []tracetest.SpanStubs {
		runs := sessionRuns()
		f(&runs[i][0])
		return runs
	}
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID(77), SpanID: spanID(78), Remote: true})
	shared := sessionRuns()
	for _, r := range shared {
		for i := range r {
			r[i].SpanContext = r[i].SpanContext.WithTraceID(remote.TraceID())
			r[i].Parent = r[i].Parent.WithTraceID(remote.TraceID())
		}
		r[0].Parent = remote
	}
	without := func(k attribute.Key) func(*tracetest.SpanStub) {
		return func(s *tracetest.SpanStub) {
			s.Attributes = slices.DeleteFunc(s.Attributes, func(kv attribute.KeyValue) bool { return kv.Key == k })
		}
	}
	with := func(kv attribute.KeyValue) func(*tracetest.SpanStub) {
		return func(s *tracetest.SpanStub) { s.Attributes = append(s.Attributes, kv) }
	}
	overlapping := sessionRuns()
	overlapping[0][0].EndTime = at(200_000)
	earlier := sessionRuns()
	earlier[0][0].StartTime = at(31_000)
	unstarted := func(i int) []tracetest.SpanStubs {
		return change(i, func(s *tracetest.SpanStub) { s.StartTime = time.Time{} })
	}
	priced := []tracetest.SpanStubs{turn(1, 0, 10).spans, turn(2, 20, 30).spans}
	for i := range priced {
		tr := &tree{id: priced[i][0].SpanContext.TraceID(), spans: priced[i]}
		tr.chat(uint64(i+50), uint64(i+1)*100+1, "m", 1, 2, otelmap.KeyCost.Float64(0.5))
		priced[i] = tr.spans
	}
	cline := []tracetest.SpanStubs{clineRun().spans, smallRun(9).spans}

	errorsOf := func(t Trace) string {
		var out []string
		for _, e := range t.Errors {
			out = append(out, fmt.Sprintf("%s %t", e.ErrorType, e.Recoverable))
		}
		return strings.Join(out, ", ")
	}
	const usual = "ToolFailure true, rate_limit false, ToolFailure true"
	tests := map[string]struct {
		runs []tracetest.SpanStubs
		got  func(Trace) string
		want string
	}{
		"the name counts the turns":              {sessionRuns(), func(t Trace) string { return t.Name }, "Claude Code session (3 turns)"},
		"a run by itself is one turn":            {sessionRuns()[:1], func(t Trace) string { return t.Name }, "Claude Code session (1 turn)"},
		"a session of Cline has a task":          {cline, func(t Trace) string { return t.Name }, "Fix the login validation bug"},
		"a task told late":                       {change(0, without(otelmap.KeyTask)), func(t Trace) string { return t.Description }, "Fix the login bug in auth.py"},
		"an answer told early":                   {change(2, without(otelmap.KeyResult)), func(t Trace) string { return t.OutputSummary }, "I've fixed the login bug"},
		"a model told early":                     {change(2, without(otelmap.KeyRequestModel)), func(t Trace) string { return t.LLMUsage.Model }, "claude-sonnet-4-5-20250514"},
		"it lasts to the last end":               {overlapping, func(t Trace) string { return fmt.Sprint(t.CurrentDatetime, " ", t.Duration) }, "2026-04-18T10:00:00.000Z 200"},
		"a turn's failure stays":                 {sessionRuns(), errorsOf, usual},
		"a failure without an exception":         {change(1, func(s *tracetest.SpanStub) { s.Events = s.Events[:1] }), errorsOf, usual},
		"an exception without a failure":         {change(1, func(s *tracetest.SpanStub) { s.Status = sdktrace.Status{} }), errorsOf, "ToolFailure true, ToolFailure true"},
		"the last turn's failure comes last":     {sessionRuns()[:2], errorsOf, "ToolFailure true, rate_limit false"},
		"its message is its own":                 {sessionRuns()[:2], func(t Trace) string { return t.Errors[1].Message }, "API Error: 429"},
		"a failure that says nothing":            {change(0, func(s *tracetest.SpanStub) { s.Status.Code = codes.Error }), errorsOf, "RunError false, " + usual},
		"the outcome is the last turn's":         {sessionRuns()[:2], func(t Trace) string { return t.Environment.CustomTags[TagOutcome] }, "failed"},
		"how an earlier turn ended is no tag":    {change(0, with(otelmap.KeyCancelStatus.String("x"))), func(t Trace) string { return t.Environment.CustomTags[TagOutcome] }, "completed"},
		"runs of one trace":                      {shared, func(t Trace) string { return t.TraceID + " " + t.RootSpanID + " " + errorsOf(t) }, "0000000000000000000000000000004d 0000000000000065 " + usual},
		"the first start is not the first run's": {earlier, func(t Trace) string { return t.CurrentDatetime }, "2026-04-18T10:00:30.000Z"},
		"a start that is not known":              {unstarted(0), func(t Trace) string { return t.CurrentDatetime }, "2026-04-18T10:00:30.000Z"},
		"a later start that is not known":        {unstarted(1), func(t Trace) string { return t.CurrentDatetime }, "2026-04-18T10:00:00.000Z"},
		"a provider without its model": {change(2, func(s *tracetest.SpanStub) {
			without(otelmap.KeyRequestModel)(s)
			without(otelmap.KeyProvider)(s)
			with(otelmap.KeyProvider.String("aws.bedrock"))(s)
		}), func(t Trace) string { return t.LLMUsage.Provider }, "anthropic"},
		"prices without tokens":               {priced, func(t Trace) string { return t.Environment.CustomTags[TagTotalCost] }, "1"},
		"prices are summed":                   {sessionRuns(), func(t Trace) string { return t.Environment.CustomTags[TagTotalCost] }, "0.33"},
		"requests are summed":                 {sessionRuns(), func(t Trace) string { return strconv.FormatInt(*t.LLMUsage.APICallsCount, 10) }, "5"},
		"tokens are summed as hosts count":    {sessionRuns(), func(t Trace) string { return strconv.FormatInt(*t.LLMUsage.PromptTokens, 10) }, "4600"},
		"a host that does not tell its count": {change(0, without(otelmap.KeyHostInputTokens)), func(t Trace) string { return strconv.FormatInt(*t.LLMUsage.PromptTokens, 10) }, "4600"},
		"compactions are summed":              {sessionRuns(), func(t Trace) string { return t.Environment.CustomTags[TagCompactions] }, "1"},
		"a subagent's tool keeps its agent": {sessionRuns(), func(t Trace) string {
			i := slices.IndexFunc(t.Steps, func(s Step) bool { return s.Action == "tool_use:Grep" })
			return t.Steps[i].Metadata.SubagentID
		}, "agent-5"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Traces(Session(tt.runs).Snapshots(), Limits{})
			if len(got) != 1 {
				t.Fatalf("%d traces, want 1", len(got))
			}
			if d := cmp.Diff(tt.want, tt.got(got[0])); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// mark is a text that tells the moment it belongs to.
func mark(ms int) string { return fmt.Sprintf("@%06d", ms) }

// session draws the runs of a session. No two things happen at one time, and
// every text is the mark of its time, so that the order of what comes out of
// them can be told without the mapping. Runs may overlap, as those with agents
// in the background do.
func session(t *rapid.T) []tracetest.SpanStubs {
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
			tr.spans[0].SpanContext = tr.spans[0].SpanContext.WithTraceID(tr.id)
			tr.spans[0].Parent = trace.NewSpanContext(trace.SpanContextConfig{TraceID: tr.id, SpanID: spanID(9_999), Remote: true})
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
	var runs []tracetest.SpanStubs
	for _, tr := range trees {
		end(t, &tr.spans[0], tick())
		runs = append(runs, tr.spans)
	}
	return runs
}

// happen adds one thing that happened in a run.
func happen(t *rapid.T, tr *tree, used map[*tree]uint64, ms int) {
	parents := []uint64{used[tr] - used[tr]%100 + 1}
	for _, s := range tr.spans[1:] {
		if strings.HasPrefix(s.Name, "invoke_agent") {
			id := s.SpanContext.SpanID()
			parents = append(parents, uint64(id[6])<<8|uint64(id[7]))
		}
	}
	parent := rapid.SampledFrom(parents).Draw(t, "parent")
	kind := rapid.SampledFrom([]string{"prompt", "note", "compaction", "tool", "agent", "chat"}).Draw(t, "kind")
	if len(tr.spans) == cap(tr.spans) {
		kind = "prompt"
	}
	root := &tr.spans[0]
	var s *tracetest.SpanStub
	switch kind {
	case "prompt":
		prompt(root, ms, mark(ms), attribute.Bool(otelmap.KeyPromptInjected, rapid.Bool().Draw(t, "injected")))
		return
	case "note":
		root.Events = append(root.Events, sdktrace.Event{Name: otelmap.EventNotification, Time: at(ms)})
		return
	case "compaction":
		root.Events = append(root.Events, sdktrace.Event{Name: otelmap.EventCompaction, Time: at(ms)})
		return
	case "tool":
		used[tr]++
		s = tr.tool(used[tr], parent, "T", ms, ms+1, mark(ms), "")
	case "agent":
		used[tr]++
		s = tr.agent(used[tr], parent, "A", ms, ms+1, otelmap.KeyTask.String(mark(ms)))
	case "chat":
		used[tr]++
		s = tr.chat(used[tr], parent, "m", ms, ms+1, figures(t)...)
	}
	if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
		fail(s, "E", mark(ms))
	}
}

// figures are usage as a root or a request may tell it: any of it or nothing.
func figures(t *rapid.T) (out []attribute.KeyValue) {
	for _, k := range []attribute.Key{
		otelmap.KeyInputTokens, otelmap.KeyHostInputTokens, otelmap.KeyOutputTokens, otelmap.KeyCacheReadTokens, otelmap.KeyCacheWriteTokens,
	} {
		if rapid.Bool().Draw(t, string(k)) {
			out = append(out, k.Int64(int64(rapid.IntRange(0, 1_000).Draw(t, "n"))))
		}
	}
	if rapid.Bool().Draw(t, "cost") {
		out = append(out, otelmap.KeyCost.Float64(float64(rapid.IntRange(0, 1_000).Draw(t, "n"))/1_000))
	}
	return out
}

// end closes a run.
func end(t *rapid.T, root *tracetest.SpanStub, ms int) {
	root.EndTime = at(ms)
	root.Attributes = append(root.Attributes, otelmap.KeyOutcome.String(otelmap.OutcomeCompleted))
	if rapid.Bool().Draw(t, "totals") {
		root.Attributes = append(root.Attributes, figures(t)...)
	}
	if rapid.Bool().Draw(t, "requests") {
		root.Attributes = append(root.Attributes, otelmap.KeyLLMRequests.Int64(int64(rapid.IntRange(0, 9).Draw(t, "n"))))
	}
	for k, v := range map[attribute.Key]string{
		otelmap.KeyTask: mark(ms), otelmap.KeyResult: mark(ms), otelmap.KeyRequestModel: mark(ms), otelmap.KeyPermissionMode: mark(ms),
	} {
		if rapid.Bool().Draw(t, string(k)) {
			root.Attributes = append(root.Attributes, k.String(v))
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "run fails") == 0 {
		fail(root, otelmap.ErrorRun, mark(ms))
	}
}

func TestAJoinedSessionTellsWhatItsTurnsTell(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		runs := session(rt)
		before := fmt.Sprintf("%+v", runs)
		joined := Session(runs)
		if len(runs) > 1 {
			whole(rt, joined, runs[0][0])
		}
		traces := Traces(joined.Snapshots(), Limits{})
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
			single := Traces(r.Snapshots(), Limits{})[0]
			steps = append(steps, single.Steps...)
			errs = append(errs, single.Errors...)
			if i == len(runs)-1 && r[0].Status.Code == codes.Error {
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
		if want := "Claude Code session (" + plural(int64(len(runs)), "turn") + ")"; got.Name != want {
			rt.Errorf("name %q, want %q", got.Name, want)
		}
	})
}

// figuresOf sums what traces tell in numbers.
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
func TestSessionsGrow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		runs := session(rt)
		k := rapid.IntRange(0, len(runs)).Draw(rt, "joined before")
		want := Traces(Session(runs).Snapshots(), Limits{})
		got := Traces(Session(append([]tracetest.SpanStubs{Session(runs[:k])}, runs[k:]...)).Snapshots(), Limits{})
		if d := cmp.Diff(want, got, cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < 1e-9 })); d != "" {
			rt.Errorf("joined in two steps (-want +got):\n%s", d)
		}
	})
}

func TestSessionKeepsLinksThatLeadOut(t *testing.T) {
	runs := sessionRuns()
	out := sdktrace.Link{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID(500), SpanID: spanID(101)})}
	runs[0][0].Links = []sdktrace.Link{out}
	runs[2][0].Links = []sdktrace.Link{{SpanContext: runs[1][0].SpanContext}}
	got := Session(runs)[0].Links
	if len(got) != 1 || !got[0].SpanContext.Equal(out.SpanContext) {
		t.Errorf("links %v, want the one to an earlier session", got)
	}
}

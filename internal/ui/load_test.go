package ui

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/loopback"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// someTrace is a run with a subagent, a failed call, a change, a denial by a hook, a wait
// for approval and a request to the model.
func someTrace() []*tracepb.ResourceSpans {
	trace := []byte("0123456789abcdef")
	at := func(d time.Duration) uint64 { return uint64(testTime.Add(d).UnixNano()) }
	var spans []*tracepb.Span
	add := func(parent, id, name string, from, to time.Duration, a ...*commonpb.KeyValue) *tracepb.Span {
		s := &tracepb.Span{TraceId: trace, SpanId: []byte(id), ParentSpanId: []byte(parent), Name: name, StartTimeUnixNano: at(from), EndTimeUnixNano: at(to), Attributes: a}
		spans = append(spans, s)
		return s
	}
	event := func(name string, after time.Duration, a ...*commonpb.KeyValue) *tracepb.Span_Event {
		return &tracepb.Span_Event{Name: name, TimeUnixNano: at(after), Attributes: a}
	}
	tool := func(name, arguments string) []*commonpb.KeyValue {
		return []*commonpb.KeyValue{otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool), otlp.String(otelmap.KeyToolName, name), otlp.String(otelmap.KeyToolArguments, arguments)}
	}
	const s = time.Second
	root := add("", "rootspan", "invoke_agent cline", 0, 100*s, otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyHost, "cline"),
		otlp.String(otelmap.KeyOutcome, otelmap.OutcomeCompleted), otlp.String(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, "Do it")), otlp.String(otelmap.KeyOutputMessages, otelmap.AnswerMessages("Done", "")), otlp.String(otelmap.KeyRequestModel, "m"))
	root.Events = []*tracepb.Span_Event{event(otelmap.EventNotification, 40*s, otlp.String(otelmap.KeyText, "first")), event(otelmap.EventNotification, 60*s, otlp.String(otelmap.KeyText, "second NEEDLE"))}
	asked := add("rootspan", "edits001", "execute_tool Edit", 10*s, 30*s, append(tool("Edit", `{"file_path":"/a.go","old_string":"x","new_string":"y"}`), otlp.Int(otelmap.KeyHostDuration, 2000))...)
	asked.Events = []*tracepb.Span_Event{event(otelmap.EventPermission, 11*s)}
	add("rootspan", "agent001", "invoke_agent sub", 31*s, 50*s, otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, "look")))
	add("agent001", "chats001", "chat m", 32*s, 33*s, otlp.String(otelmap.KeyOperation, otelmap.OpChat), otlp.String(otelmap.KeyRequestModel, "m"), otlp.String(otelmap.KeyOutputMessages, otelmap.AnswerMessages("I look for the Needle", "")),
		otlp.Int(otelmap.KeyInputTokens, 10), otlp.Int(otelmap.KeyOutputTokens, 2), otlp.Float(otelmap.KeyCost, 0.25))
	failed := add("agent001", "fails001", "execute_tool bash", 34*s, 35*s, append(tool("bash", `{"command":"go test"}`), otlp.String(otelmap.KeyErrorType, otelmap.ErrorTool))...)
	failed.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "exit code 1"}
	denied := add("rootspan", "denied01", "execute_tool bash", 70*s, 71*s, append(tool("bash", `{"command":"rm -rf needles"}`), otlp.String(otelmap.KeyErrorType, otelmap.ErrorToolDenied))...)
	denied.Events = []*tracepb.Span_Event{event(otelmap.EventHook, 70*s, otlp.String(otelmap.KeyHookDecision, "deny"), otlp.String(otelmap.KeyHookReason, "never"))}
	add("missing1", "orphan01", "GET /", 80*s, 81*s)
	return []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}}
}

// TestRunningTaskIsShownLikeAStoredOne compares the answers about a trace in the store
// with those about the same one in memory, and looks at what they say.
func TestRunningTaskIsShownLikeAStoredOne(t *testing.T) {
	empty, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "empty.db"))
	if err != nil {
		t.Fatal(err)
	}
	full, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "full.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = empty.Close(), full.Close() })
	if err := full.UploadTraces(t.Context(), someTrace()); err != nil {
		t.Fatal(err)
	}
	trace := store.NewTrace(someTrace())
	servers := []*Server{
		New(Options{Store: full, Token: testToken}),
		New(Options{Store: empty, Token: testToken, Running: func(context.Context) ([]*store.Trace, error) { return []*store.Trace{trace}, nil }, Watch: []string{t.TempDir()}}),
	}
	hexID := func(id string) string { return hex.EncodeToString([]byte(id)) }
	for path, texts := range map[string][]string{
		"":                                 {`"rows":11`, `"prompt":"Do it"`, `"answer":"Done"`, `"message":"exit code 1"`, `"status":"denied"`},
		"/rows":                            {`"cost":{"4":0.25}`, `"waits":{"1":[11000000,28000000]}`},
		"/lines":                           {`"text":"I look for the Needle"`, `"note":"exit code 1"`, `"text":"/a.go"`},
		"/lines?from=11":                   {`[]`},
		"/row/2":                           {`"label":"permission_request"`, `"id":"` + hexID("edits001") + `.1"`},
		"/find?text=NEEDLE":                {`[4,7,8]`},
		"/find?text=permission":            {`[2]`},
		"/row/" + hexID("rootspan") + ".2": {`"row":7`},
		"/row/" + hexID("fails001"):        {`"row":5`},
		"/conversation":                    {`"text":"Do it"`, `"who":"subagent"`, `"next":0`, `"text":"Done"`},
		"/conversation?from=8":             {`rm -rf needles`, `"who":"hook"`},
		"/changes":                         {`"path":"/a.go"`, `"plus":1,"minus":1`, `"next":0`},
		"/changes?from=2":                  {`"changes":[]`},
	} {
		var answers []string
		for _, s := range servers {
			s.policy = loopback.Page([]string{"example.com"}, opening)
			w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/traces/"+trace.TraceID+path, nil)
			r.Header.Set(TokenHeader, testToken)
			s.ServeHTTP(w, r)
			if w.Code != 200 {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
			answers = append(answers, versionNumber.ReplaceAllString(w.Body.String(), ""))
		}
		if d := cmp.Diff(answers[0], answers[1]); d != "" {
			t.Errorf("%s (-stored +running):\n%s", path, d)
		}
		for _, text := range texts {
			if !strings.Contains(answers[0], text) {
				t.Errorf("%s: no %s in %s", path, text, answers[0])
			}
		}
	}
}

var versionNumber = regexp.MustCompile(`"version":\d+,`)

// BenchmarkLargeTrace reads the rows of a trace with 100,000 spans, and writes them as
// the page gets them.
func BenchmarkLargeTrace(b *testing.B) {
	s, err := store.Open(b.Context(), filepath.Join(b.TempDir(), "traces.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	at := func(d time.Duration) uint64 { return uint64(testTime.Add(d).UnixNano()) }
	trace, root := []byte("0123456789abcdef"), []byte("rootspan")
	const n = 100_000
	spans := []*tracepb.Span{{TraceId: trace, SpanId: root, Name: "invoke_agent cline", StartTimeUnixNano: at(0), EndTimeUnixNano: at(n * time.Millisecond), Attributes: []*commonpb.KeyValue{
		otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyHost, "cline"), otlp.String(otelmap.KeyOutcome, otelmap.OutcomeCompleted),
	}}}
	for i := range n {
		start := time.Duration(i) * time.Millisecond
		spans = append(spans, &tracepb.Span{
			TraceId: trace, SpanId: fmt.Appendf(nil, "%08d", i), ParentSpanId: root, Name: "execute_tool bash", StartTimeUnixNano: at(start), EndTimeUnixNano: at(start + time.Millisecond),
			Attributes: []*commonpb.KeyValue{
				otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool), otlp.String(otelmap.KeyToolName, "bash"), otlp.String(otelmap.KeyToolCallID, fmt.Sprint("call", i)),
				otlp.String(otelmap.KeyToolArguments, fmt.Sprintf(`{"command":"go test ./p%d"}`, i)), otlp.String(otelmap.KeyToolResult, "ok  	example.org/p	0.012s"),
			},
		})
	}
	if err := s.UploadTraces(b.Context(), []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}}); err != nil {
		b.Fatal(err)
	}
	server := New(Options{Store: s, Token: testToken})
	r := httptest.NewRequestWithContext(b.Context(), "GET", "/", nil)
	r.SetPathValue("id", otlp.TraceID(spans[0]))
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := server.load(b.Context(), otlp.TraceID(spans[0])); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v, err := server.ofTrace(server.rows)(r)
			if err != nil {
				b.Fatal(err)
			}
			server.write(httptest.NewRecorder(), 200, v)
		}
	})
}

// TestCostsOfRowsSumUpToTheRuns has runs and subagents whose requests are not all known.
func TestCostsOfRowsSumUpToTheRuns(t *testing.T) {
	at := func(d time.Duration) uint64 { return uint64(testTime.Add(d).UnixNano()) }
	var spans []*tracepb.Span
	add := func(parent, id, operation string, cost float64, more ...*commonpb.KeyValue) *tracepb.Span {
		n := time.Duration(len(spans)) * time.Second
		s := &tracepb.Span{
			TraceId: []byte("0123456789abcdef"), SpanId: []byte(id), ParentSpanId: []byte(parent), Name: operation, StartTimeUnixNano: at(n), EndTimeUnixNano: at(n + time.Second),
			Attributes: append(more, otlp.String(otelmap.KeyOperation, operation)),
		}
		if cost > 0 {
			s.Attributes = append(s.Attributes, otlp.Float(otelmap.KeyCost, cost))
		}
		spans = append(spans, s)
		return s
	}
	run := []*commonpb.KeyValue{otlp.String(otelmap.KeyHost, "cline"), otlp.String(otelmap.KeyOutcome, otelmap.OutcomeCompleted)}
	root := add("", "rootspan", otelmap.OpInvokeAgent, 2, run...)
	root.Events = []*tracepb.Span_Event{{Name: otelmap.EventUsage, TimeUnixNano: at(0), Attributes: []*commonpb.KeyValue{otlp.String(otelmap.KeyUsageSource, "subagents"), otlp.Float(otelmap.KeyCost, 0.5)}}}
	add("rootspan", "chats001", otelmap.OpChat, 0.25)
	add("rootspan", "agent001", otelmap.OpInvokeAgent, 0.25) // without requests
	add("rootspan", "agent002", otelmap.OpInvokeAgent, 0.5)
	add("agent002", "chats002", otelmap.OpChat, 0.125)
	add("agent002", "chats003", otelmap.OpChat, 0.375)
	add("", "rootspa2", otelmap.OpInvokeAgent, 1, run...)
	add("rootspa2", "chats004", otelmap.OpChat, 1.125) // more than the run reports
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}}); err != nil {
		t.Fatal(err)
	}
	l, err := New(Options{Store: s, Token: testToken}).load(t.Context(), otlp.TraceID(root))
	if err != nil {
		t.Fatal(err)
	}
	// The runs report 2 and 1 dollars, of which 1.5 and 1.125 are below them.
	if d := cmp.Diff(map[int]float64{0: 0.5, 1: 0.5, 2: 0.25, 3: 0.25, 5: 0.125, 6: 0.375, 7: -0.125, 8: 1.125}, l.costs()); d != "" {
		t.Errorf("costs (-want +got):\n%s", d)
	}
	sum := 0.0
	for _, usd := range l.costs() {
		sum += usd
	}
	if sum != *l.Usage.CostUSD {
		t.Errorf("the rows cost %v, the header says %v", sum, *l.Usage.CostUSD)
	}
}

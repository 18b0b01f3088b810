package ui

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

// ranCall is a call of a task for loadedTask.
type ranCall struct {
	tool, arguments, kind, message string
	at                             time.Duration
}

// loadedTask stores a task that was interrupted, with these calls, and loads it.
func loadedTask(t *testing.T, o Options, calls ...ranCall) (*Server, *loaded) {
	t.Helper()
	at := func(d time.Duration) uint64 { return uint64(testTime.Add(d).UnixNano()) }
	spans := []*tracepb.Span{{
		TraceId: []byte("0123456789abcdef"), SpanId: []byte("rootspan"), Name: "invoke_agent x", StartTimeUnixNano: at(0), EndTimeUnixNano: at(time.Hour),
		Attributes: []*commonpb.KeyValue{
			otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyHost, "claude-code"), otlp.String(otelmap.KeyOutcome, otelmap.OutcomeInterrupted),
		},
	}}
	for i, c := range calls {
		s := &tracepb.Span{
			TraceId: spans[0].TraceId, SpanId: fmt.Appendf(nil, "%08d", i), ParentSpanId: spans[0].SpanId, Name: "execute_tool " + c.tool,
			StartTimeUnixNano: at(c.at), EndTimeUnixNano: at(c.at + time.Second),
			Attributes: []*commonpb.KeyValue{
				otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool), otlp.String(otelmap.KeyToolName, c.tool), otlp.String(otelmap.KeyToolArguments, c.arguments),
			},
		}
		if c.kind != "" {
			s.Attributes = append(s.Attributes, otlp.String(otelmap.KeyErrorType, c.kind))
			s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: c.message}
		}
		spans = append(spans, s)
	}
	o.Store, _ = emptyStore(t)
	o.Token = testToken
	if err := o.Store.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}}); err != nil {
		t.Fatal(err)
	}
	s := New(o)
	l, err := s.load(t.Context(), otlp.TraceID(spans[0]))
	if err != nil {
		t.Fatal(err)
	}
	return s, l
}

func TestReasonIsTheProblemAfterWhichNothingWasDone(t *testing.T) {
	sudo := ranCall{"Bash", `{"command":"sudo rm x"}`, otelmap.ErrorTool, "sudo: a password is required", 23 * time.Second}
	edit := ranCall{"Edit", `{"file_path":"a.go","old_string":"x","new_string":"y"}`, otelmap.ErrorToolDenied, "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. x). STOP what you are doing and wait.", 18 * time.Minute}
	read := ranCall{"Read", `{"file_path":"a.go"}`, "", "", 19 * time.Minute}
	for want, calls := range map[string][]ranCall{
		"Edit a.go was denied by you":                  {sudo, edit},
		"Bash sudo rm x: sudo: a password is required": {sudo},
		"": {sudo, edit, read},
	} {
		_, l := loadedTask(t, Options{}, calls...)
		if got, err := l.reason(t.Context()); got != want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}

// TestChangesAreCountedFromWholeTexts has a preview that ends within the change.
func TestChangesAreCountedFromWholeTexts(t *testing.T) {
	cut := ranCall{"Write", `{"file_path":"/a.go","content":"one\ntwo…"}`, "", "", time.Second}
	for whole, want := range map[string]struct {
		plus int
		cut  bool
	}{`{"file_path":"/a.go","content":"one\ntwo\nthree\nfour\n"}`: {4, false}, "": {2, true}} {
		s, l := loadedTask(t, Options{Whole: func(_ context.Context, _ *store.Trace, rows ...*view.Row) ([]view.CallText, error) {
			out := make([]view.CallText, len(rows))
			for i := range out {
				if out[i].Place = view.PlacePreview; whole != "" {
					out[i] = view.CallText{Arguments: whole, Place: view.PlaceFiles}
				}
			}
			return out, nil
		}}, cut, ranCall{"Write", `{"file_path":"/b.go","content":"one\n"}`, "", "", 2 * time.Second})
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.SetPathValue("id", l.TraceID)
		answer, err := s.changes(r)
		if err != nil {
			t.Fatal(err)
		}
		got := answer.(struct {
			Changes []change `json:"changes"`
			Next    int      `json:"next"`
		}).Changes
		if len(got) != 2 || got[0].Plus != want.plus || got[0].Cut != want.cut || got[1].Plus != 1 || got[1].Cut {
			t.Errorf("whole text %q: %+v, want %+v", whole, got, want)
		}
	}
}

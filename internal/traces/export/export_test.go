package export

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// recorded reads the spans of a recorded session from testdata.
func recorded(t *testing.T, name string) []*tracepb.ResourceSpans {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	messages, err := otlptest.Messages(doc)
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// filled returns a store with the messages and its summaries, newest first.
func filled(t *testing.T, messages ...[]*tracepb.ResourceSpans) (*store.Store, []store.Summary) {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, m := range messages {
		if err := s.UploadTraces(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.List(t.Context(), store.Filter{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	return s, all
}

// written returns the messages in a format.
func written(t *testing.T, f Format, messages ...[]*tracepb.ResourceSpans) string {
	t.Helper()
	s, all := filled(t, messages...)
	var b bytes.Buffer
	get := func(id string) (*store.Trace, error) { return s.Trace(t.Context(), id) }
	if _, err := Write(&b, f, all, get, Options{Location: time.UTC, Redact: redact.New(nil)}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRecordedSessions leaves the style out, of which the page has the checksum.
func TestRecordedSessions(t *testing.T) {
	claude, cline := recorded(t, "claude"), recorded(t, "cline")
	for name, sessions := range map[string][][]*tracepb.ResourceSpans{"claude": {claude}, "cline": {cline}, "both": {claude, cline}} {
		golden.Check(t, name+".md", written(t, Markdown, sessions...))
		head, rest, _ := strings.Cut(written(t, HTML, sessions...), "<style>")
		_, body, _ := strings.Cut(rest, "</style>")
		golden.Check(t, name+".html", head+body)
	}
}

// TestOTLPIsOneRequestWithAllSpans decodes the document as a receiver does, and
// compares it with what was stored.
func TestOTLPIsOneRequestWithAllSpans(t *testing.T) {
	claude, cline := recorded(t, "claude"), recorded(t, "cline")
	messages, err := otlptest.Messages([]byte(written(t, OTLP, claude, cline)))
	if err != nil {
		t.Fatal(err)
	}
	wire, err := proto.Marshal(&coltracepb.ExportTraceServiceRequest{ResourceSpans: messages})
	if err != nil {
		t.Fatal(err)
	}
	var got coltracepb.ExportTraceServiceRequest
	if err := proto.Unmarshal(wire, &got); err != nil {
		t.Fatal(err)
	}
	want := &coltracepb.ExportTraceServiceRequest{ResourceSpans: append(cline, claude...)}
	if d := cmp.Diff(want, &got, protocmp.Transform()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if empty, err := otlptest.Messages([]byte(written(t, OTLP))); err != nil || len(empty) != 0 {
		t.Errorf("no trace: %d messages, %v, want none", len(empty), err)
	}
}

// TestEverythingIsRedactedAgain stores a key, as before a rule for it existed.
func TestEverythingIsRedactedAgain(t *testing.T) {
	const key = "ghp_" + "0123456789abcdefghijABCDEFGHIJ456789"
	b := newBuild()
	b.root.Attributes = append(b.root.Attributes, otlp.String(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, "use "+key)), otlp.String(otelmap.KeyOutputMessages, otelmap.AnswerMessages(key, "")),
		otlp.String(otelmap.KeyWorkingDirectory, "/home/"+key), otlp.String(otelmap.KeyBranch, "fix-"+key), otlp.String(otelmap.KeyConversationID, key))
	b.tool("Bash", `{"command":"curl -H `+key+`"}`, key)
	for _, f := range Formats {
		got := written(t, f, b.messages())
		if strings.Contains(got, key) {
			t.Errorf("%s holds the key:\n%s", f, got)
		}
		if !strings.Contains(got, "REDACTED") {
			t.Errorf("%s does not show that something was removed", f)
		}
	}
}

// TestIndexSaysHowEachTraceEnded has a trace without a root beside another.
func TestIndexSaysHowEachTraceEnded(t *testing.T) {
	other := newBuild()
	for _, s := range other.spans {
		s.TraceId = bytes.Repeat([]byte{9}, 16)
	}
	lone := newBuild()
	lone.spans = lone.spans[:0]
	lone.tool("Bash", "{}", "")
	got := written(t, HTML, other.messages(), lone.messages())
	for _, want := range []string{`title="completed">`, `title="no root span">`} {
		if !strings.Contains(got, want) {
			t.Errorf("not in the index: %s", want)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	if _, err := Write(&bytes.Buffer{}, "pdf", nil, nil, Options{}); err == nil || !strings.Contains(err.Error(), "want one of") {
		t.Errorf("got %v", err)
	}
}

func TestFormatOf(t *testing.T) {
	for path, want := range map[string]Format{"a.html": HTML, "A.HTM": HTML, "x/b.md": Markdown, "b.markdown": Markdown, "c.json": OTLP, "c": "", "c.pdf": "", "": ""} {
		if got, ok := FormatOf(path); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", path, got, ok, want)
		}
	}
}

// build makes one trace.
type build struct {
	root  *tracepb.Span
	spans []*tracepb.Span
}

func newBuild(attrs ...*commonpb.KeyValue) *build {
	b := &build{}
	b.root = b.span("invoke_agent test", append([]*commonpb.KeyValue{
		otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyHost, "test"),
		otlp.String(otelmap.KeyOutcome, otelmap.OutcomeCompleted),
	}, attrs...)...)
	return b
}

func (b *build) span(name string, attrs ...*commonpb.KeyValue) *tracepb.Span {
	n := len(b.spans)
	start := time.Date(2026, 3, 4, 10, 15, n, 0, time.UTC)
	s := &tracepb.Span{
		Name: name, TraceId: bytes.Repeat([]byte{7}, 16), SpanId: []byte{1, 0, 0, 0, 0, 0, byte(n >> 8), byte(n)},
		StartTimeUnixNano: otlp.UnixNano(start), EndTimeUnixNano: otlp.UnixNano(start.Add(time.Second)), Attributes: attrs,
	}
	if n > 0 {
		s.ParentSpanId = b.spans[0].SpanId
	}
	b.spans = append(b.spans, s)
	return s
}

func (b *build) tool(name, arguments, result string) *tracepb.Span {
	return b.span("execute_tool "+name, otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool), otlp.String(otelmap.KeyToolName, name),
		otlp.String(otelmap.KeyToolArguments, arguments), otlp.String(otelmap.KeyToolResult, result))
}

func (b *build) messages() []*tracepb.ResourceSpans {
	return []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: b.spans}}}}
}

// TestDeletedTraceIsLeftOut deletes a trace after it was chosen.
func TestDeletedTraceIsLeftOut(t *testing.T) {
	for _, f := range Formats {
		s, all := filled(t, recorded(t, "claude"), recorded(t, "cline"))
		get := func(id string) (*store.Trace, error) { return s.Trace(t.Context(), id) }
		if _, err := s.Delete(t.Context(), []string{all[0].TraceID}); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		gone, err := Write(&b, f, all, get, Options{Location: time.UTC})
		if err != nil || !slices.Equal(gone, []string{all[0].TraceID}) || !strings.Contains(b.String(), all[1].TraceID) {
			t.Errorf("%s: left out %v, %v, want the first trace", f, gone, err)
		}
		if f == OTLP {
			if messages, err := otlptest.Messages(b.Bytes()); err != nil || otlp.Count(messages) != all[1].Spans {
				t.Errorf("%d spans, %v, want %d", otlp.Count(messages), err, all[1].Spans)
			}
		}
	}
}

package redactspans

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hookspan/hookspan/internal/redact"
)

// message is a run with text s in every place that holds text.
func message(s string) *tracepb.ResourceSpans {
	kv := func(key string, v *commonpb.AnyValue) *commonpb.KeyValue {
		return &commonpb.KeyValue{Key: key, Value: v}
	}
	text := &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}
	number := &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: 7}}
	attrs := []*commonpb.KeyValue{
		kv("text", text),
		kv("bytes", &commonpb.AnyValue{Value: &commonpb.AnyValue_BytesValue{BytesValue: []byte(s)}}),
		kv("values", &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{
			ArrayValue: &commonpb.ArrayValue{Values: []*commonpb.AnyValue{number, text}},
		}}),
		kv("map", &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{
			KvlistValue: &commonpb.KeyValueList{Values: []*commonpb.KeyValue{kv("k", text)}},
		}}),
		kv("number", number),
	}
	run := &tracepb.ResourceSpans{
		SchemaUrl: "https://schema.example/1",
		Resource:  &resourcepb.Resource{Attributes: []*commonpb.KeyValue{kv("host", text)}},
		ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{
			{
				Name: "run " + s, Attributes: attrs,
				Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: s},
				Events: []*tracepb.Span_Event{{Name: s, Attributes: attrs}},
				Links:  []*tracepb.Span_Link{{Attributes: attrs}},
			},
			{Name: "bare"},
		}}},
	}
	return proto.CloneOf(run) // no part is shared
}

func TestCleanRedactsEveryText(t *testing.T) {
	key := "gh" + "p_" + strings.Repeat("aB3d", 9)
	in := message(key)
	got := Clean(redact.New(nil), in)
	if d := cmp.Diff(message("[REDACTED:github-token]"), got, protocmp.Transform()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !proto.Equal(in, message(key)) {
		t.Error("the input was changed")
	}
}

func TestCleanUsesTail(t *testing.T) {
	got := Clean(redact.New(nil), message("gh"+"p_aB3daB3daB3d…"))
	if d := cmp.Diff(message("[REDACTED:github-token]…"), got, protocmp.Transform()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestCleanKeepsWhatIsNotText(t *testing.T) {
	in := message("plain")
	if d := cmp.Diff(in, Clean(redact.New(nil), in), protocmp.Transform()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if Clean(redact.New(nil), nil) != nil {
		t.Error("no spans became some")
	}
}

// TestArgumentsStayJSON has rules that reach beyond a text: what they find is removed too.
func TestArgumentsStayJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"command":"my token is x","n":1}`: `{"command":"my [REDACTED:mine]","n":1}`,
		`{"card":4111111111111111}`:         `{"card":"[REDACTED:mine]"}`,
		`{"pass":"x"}`:                      `"{[REDACTED:mine]}"`,
		`no JSON with a token`:              `no JSON with a [REDACTED:mine]`,
		`{"command":"ls"}`:                  `{"command":"ls"}`,
	} {
		rules, err := redact.ParseRules(strings.NewReader(`mine token.*|\b\d{16}\b|"pass":"x"`))
		if err != nil {
			t.Fatal(err)
		}
		spans := attributes("gen_ai.tool.call.arguments", in)
		if got := Clean(redact.New(rules), spans).ScopeSpans[0].Spans[0].Attributes[0].Value.GetStringValue(); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

// TestMessagesStayJSON has rules that reach beyond a text: the end of the JSON, and the
// names of its members.
func TestMessagesStayJSON(t *testing.T) {
	key := "gh" + "p_" + strings.Repeat("aB3d", 9)
	for name, tc := range map[string]struct{ rule, in, want string }{
		"a secret behind a line end": {
			"", `[{"role":"user","parts":[{"type":"text","content":"a\n` + key + `"}]}]`,
			`[{"parts":[{"content":"a\n[REDACTED:github-token]","type":"text"}],"role":"user"}]`,
		},
		"a beginning that was cut": {
			"", `[{"role":"user","parts":[{"type":"text","content":"gh` + `p_aB3daB3daB3d…"}]}]`,
			`[{"parts":[{"content":"[REDACTED:github-token]…","type":"text"}],"role":"user"}]`,
		},
		"a rule that takes all to the end": {
			`token.*`, `[{"role":"user","parts":[{"type":"text","content":"my token is x"}]}]`,
			`[{"parts":[{"content":"my [REDACTED:mine]","type":"text"}],"role":"user"}]`,
		},
		"a rule that takes the names": {
			`"role":"`, `[{"role":"user","parts":[]}]`, `[{"role":"user","parts":[]}]`,
		},
	} {
		rules, err := redact.ParseRules(strings.NewReader("mine " + tc.rule))
		if tc.rule == "" {
			rules, err = nil, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		in := &tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{Attributes: []*commonpb.KeyValue{{
			Key: "gen_ai.input.messages", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: tc.in}},
		}}}}}}}
		got := Clean(redact.New(rules), in).ScopeSpans[0].Spans[0].Attributes[0].Value.GetStringValue()
		if got != tc.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, tc.want)
		}
	}
}

package redact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// stubs is a span with text s in every place that holds text.
func stubs(s string) tracetest.SpanStubs {
	attrs := func() []attribute.KeyValue {
		return []attribute.KeyValue{
			attribute.String("text", s),
			attribute.StringSlice("texts", []string{"a", s}),
			{Key: "bytes", Value: attribute.ByteSliceValue([]byte(s))},
			{Key: "values", Value: attribute.SliceValue(attribute.StringValue(s), attribute.IntValue(1))},
			{Key: "map", Value: attribute.MapValue(attribute.String("k", s))},
			attribute.Int("number", 7),
		}
	}
	res := resource.NewWithAttributes("https://schema.example/1", attribute.String("host", s))
	one := tracetest.SpanStub{
		Name: "run " + s, Attributes: attrs(), Resource: res,
		Status: trace.Status{Code: codes.Error, Description: s},
		Events: []trace.Event{{Name: s, Attributes: attrs()}},
		Links:  []trace.Link{{Attributes: attrs()}},
	}
	return tracetest.SpanStubs{one, {Name: "second", Resource: res}, {Name: "bare"}}
}

func flat(ss tracetest.SpanStubs) string {
	var b strings.Builder
	write := func(attrs []attribute.KeyValue) {
		for _, a := range attrs {
			b.WriteString(string(a.Key) + "=" + a.Value.Emit() + "\n") //nolint:staticcheck // Any whole text will do.
			b.WriteString(string(a.Value.AsByteSlice()))
		}
	}
	for _, s := range ss {
		b.WriteString(s.Name + "\n" + s.Status.Description + "\n")
		write(s.Attributes)
		for _, e := range s.Events {
			b.WriteString(e.Name + "\n")
			write(e.Attributes)
		}
		for _, l := range s.Links {
			write(l.Attributes)
		}
		if s.Resource != nil {
			write(s.Resource.Attributes())
		}
	}
	return b.String()
}

func TestSpansRedactsEveryText(t *testing.T) {
	key := "gh" + "p_" + strings.Repeat("aB3d", 9)
	in := stubs(key)
	before := flat(in)
	got := flat(New(nil).Spans(in))
	if d := cmp.Diff(flat(stubs("[REDACTED:github-token]")), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if flat(in) != before || !strings.Contains(before, key) {
		t.Error("the input was changed")
	}
	// The places of the key in the input, so that none was forgotten here.
	if n := strings.Count(got, "[REDACTED:github-token]"); n != 3+3*5+2 {
		t.Errorf("%d markers", n)
	}
}

func TestSpansUsesTail(t *testing.T) {
	got := New(nil).Spans(tracetest.SpanStubs{{Attributes: []attribute.KeyValue{attribute.String("k", "gh"+"p_aB3daB3daB3d…")}}})
	if d := cmp.Diff("[REDACTED:github-token]…", got[0].Attributes[0].Value.AsString()); d != "" {
		t.Error(d)
	}
}

func TestSpansKeepsWhatIsNotText(t *testing.T) {
	in := stubs("plain")
	got := New(nil).Spans(in)
	if d := cmp.Diff(flat(in), flat(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got[0].Resource != got[1].Resource {
		t.Error("spans of one resource have two")
	}
	if got[0].Resource.SchemaURL() != "https://schema.example/1" {
		t.Errorf("schema URL %q", got[0].Resource.SchemaURL())
	}
	if got[2].Resource != nil || got[2].Events != nil || got[2].Attributes != nil {
		t.Error("a bare span has gained something")
	}
	if New(nil).Spans(nil) != nil {
		t.Error("no spans became some")
	}
}

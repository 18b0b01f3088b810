package otlp

import (
	"math"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
)

func TestFormat(t *testing.T) {
	list := &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{
		Values: []*commonpb.KeyValue{Int("b", 2), String("a", `<"`)},
	}}}
	for want, v := range map[string]*commonpb.AnyValue{
		"":                  nil,
		` "x" `:             String("", ` "x" `).Value,
		"7":                 Int("", 7).Value,
		"0.5":               Float("", 0.5).Value,
		"NaN":               Float("", math.NaN()).Value,
		"true":              Bool("", true).Value,
		"aGk=":              {Value: &commonpb.AnyValue_BytesValue{BytesValue: []byte("hi")}},
		`["a","b"]`:         Strings("", []string{"a", "b"}).Value,
		`{"a":"<\"","b":2}`: list,
	} {
		if got := Format(v); got != want {
			t.Errorf("Format(%v) = %q, want %q", v, got, want)
		}
	}
}

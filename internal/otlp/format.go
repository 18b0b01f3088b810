package otlp

import (
	"math"
	"strconv"
	"strings"

	"github.com/hookspan/hookspan/internal/rawjson"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
)

// Format returns a value as text: a string as it is, bytes in base64, an array
// or a map as JSON. This is the OpenTelemetry specification's representation of
// AnyValue for formats other than OTLP.
func Format(v *commonpb.AnyValue) string {
	switch v := v.GetValue().(type) {
	case nil:
		return ""
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	}
	return strings.Trim(rawjson.Encode(plain(v)), `"`)
}

// plain returns the value in the types that encoding/json writes.
func plain(v *commonpb.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_BoolValue:
		return v.BoolValue
	case *commonpb.AnyValue_IntValue:
		return v.IntValue
	case *commonpb.AnyValue_DoubleValue:
		if math.IsNaN(v.DoubleValue) || math.IsInf(v.DoubleValue, 0) {
			return strconv.FormatFloat(v.DoubleValue, 'g', -1, 64)
		}
		return v.DoubleValue
	case *commonpb.AnyValue_BytesValue:
		return v.BytesValue
	case *commonpb.AnyValue_ArrayValue:
		out := []any{}
		for _, element := range v.ArrayValue.GetValues() {
			out = append(out, plain(element))
		}
		return out
	case *commonpb.AnyValue_KvlistValue:
		out := map[string]any{}
		for _, kv := range v.KvlistValue.GetValues() {
			out[kv.GetKey()] = plain(kv.GetValue())
		}
		return out
	}
	return nil
}

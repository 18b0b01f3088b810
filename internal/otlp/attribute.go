package otlp

import (
	"slices"
	"strings"
	"unicode/utf8"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
)

// piece is an attribute in one piece of memory: most of a span is such attributes.
type piece[T any] struct {
	attribute commonpb.KeyValue
	value     commonpb.AnyValue
	own       T
}

func (a *piece[T]) of(key string) *commonpb.KeyValue {
	a.attribute.Key, a.attribute.Value = key, &a.value
	return &a.attribute
}

// String returns a string attribute. It replaces invalid UTF-8, as Strings does.
func String(key, value string) *commonpb.KeyValue {
	var a piece[commonpb.AnyValue_StringValue]
	a.own.StringValue, a.value.Value = ValidText(value), &a.own
	return a.of(key)
}

// Int returns an integer attribute.
func Int(key string, value int64) *commonpb.KeyValue {
	var a piece[commonpb.AnyValue_IntValue]
	a.own.IntValue, a.value.Value = value, &a.own
	return a.of(key)
}

// Float returns a floating-point attribute.
func Float(key string, value float64) *commonpb.KeyValue {
	var a piece[commonpb.AnyValue_DoubleValue]
	a.own.DoubleValue, a.value.Value = value, &a.own
	return a.of(key)
}

// Bool returns a boolean attribute.
func Bool(key string, value bool) *commonpb.KeyValue {
	var a piece[commonpb.AnyValue_BoolValue]
	a.own.BoolValue, a.value.Value = value, &a.own
	return a.of(key)
}

// Strings returns an attribute that holds an array of strings.
func Strings(key string, values []string) *commonpb.KeyValue {
	array := make([]*commonpb.AnyValue, len(values))
	for i, v := range values {
		array[i] = stringValue(v)
	}
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{
		ArrayValue: &commonpb.ArrayValue{Values: array},
	}}}
}

func stringValue(s string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: ValidText(s)}}
}

// Find returns the value of the first attribute with the key, or nil.
func Find(attrs []*commonpb.KeyValue, key string) *commonpb.AnyValue {
	i := slices.IndexFunc(attrs, func(kv *commonpb.KeyValue) bool { return kv.GetKey() == key })
	if i < 0 {
		return nil
	}
	return attrs[i].GetValue()
}

// Set returns attributes of which one has the key and value of another.
func Set(attrs []*commonpb.KeyValue, one *commonpb.KeyValue) []*commonpb.KeyValue {
	i := slices.IndexFunc(attrs, func(kv *commonpb.KeyValue) bool { return kv.GetKey() == one.GetKey() })
	if i < 0 {
		return append(attrs, one)
	}
	attrs[i] = one
	return attrs
}

// Text returns the value of a string attribute. It returns "" if the attribute
// is absent or of another type.
func Text(attrs []*commonpb.KeyValue, key string) string {
	return Find(attrs, key).GetStringValue()
}

// Integer returns the value of an integer attribute and whether there is one.
func Integer(attrs []*commonpb.KeyValue, key string) (int64, bool) {
	v := Find(attrs, key)
	_, ok := v.GetValue().(*commonpb.AnyValue_IntValue)
	return v.GetIntValue(), ok
}

// ValidText returns s with invalid UTF-8 replaced, as a message that holds any
// cannot be encoded, and NUL, as a backend on PostgreSQL refuses a batch that holds any.
// Other control characters are kept: who shows a text decides about them.
func ValidText(s string) string {
	if !utf8.ValidString(s) { // quicker than strings.ToValidUTF8
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	return strings.ReplaceAll(s, "\x00", "\ufffd")
}

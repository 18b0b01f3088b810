package store

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
)

// jsonAttrs are attributes in the JSON of OTLP.
type jsonAttrs []attribute.KeyValue

type jsonKeyValue struct {
	Key   string    `json:"key"`
	Value jsonValue `json:"value"`
}

// MarshalJSON gives OTLP's list of KeyValue.
func (a jsonAttrs) MarshalJSON() ([]byte, error) {
	s, err := encode(keyValues(a))
	return []byte(s), err
}

// UnmarshalJSON reads OTLP's list of KeyValue.
func (a *jsonAttrs) UnmarshalJSON(data []byte) error {
	var kvs []jsonKeyValue
	if err := json.Unmarshal(data, &kvs); err != nil {
		return err
	}
	*a = nil
	for _, kv := range kvs {
		v, err := kv.Value.attribute()
		if err != nil {
			return fmt.Errorf("attribute %q: %w", kv.Key, err)
		}
		*a = append(*a, attribute.KeyValue{Key: attribute.Key(kv.Key), Value: v})
	}
	return nil
}

func keyValues(a []attribute.KeyValue) []jsonKeyValue {
	out := make([]jsonKeyValue, len(a))
	for i, kv := range a {
		out[i] = jsonKeyValue{Key: string(kv.Key), Value: valueOf(kv.Value)}
	}
	return out
}

// jsonValue is OTLP's AnyValue: at most one member is set.
//
// OTLP has one kind of array, the API five and lists of anything. An array
// whose elements are of one plain type is that type's list; SDKType names the
// type where this rule would give another one.
type jsonValue struct {
	String  *string     `json:"stringValue,omitempty"`
	Bool    *bool       `json:"boolValue,omitempty"`
	Int     *int64      `json:"intValue,string,omitempty"`
	Double  *jsonDouble `json:"doubleValue,omitempty"`
	Array   *jsonArray  `json:"arrayValue,omitempty"`
	Map     *jsonMap    `json:"kvlistValue,omitempty"`
	Bytes   *[]byte     `json:"bytesValue,omitempty"`
	SDKType string      `json:"sdkType,omitempty"`
}

type jsonArray struct {
	Values []jsonValue `json:"values"`
}

type jsonMap struct {
	Values jsonAttrs `json:"values"`
}

// jsonDouble is a float64 that may be infinite or not a number, which the JSON
// of Protobuf spells as strings.
type jsonDouble float64

// MarshalJSON gives a number or one of Protobuf's three strings.
func (d jsonDouble) MarshalJSON() ([]byte, error) {
	f := float64(d)
	switch {
	case math.IsNaN(f):
		return []byte(`"NaN"`), nil
	case math.IsInf(f, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-Infinity"`), nil
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads a number, or a number in a string.
func (d *jsonDouble) UnmarshalJSON(data []byte) error {
	text := string(data)
	if len(data) > 0 && data[0] == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("double %q: %w", text, err)
	}
	*d = jsonDouble(f)
	return nil
}

// The names of the list types, as SDKType gives them.
const (
	typeBools   = "BOOLSLICE"
	typeInts    = "INT64SLICE"
	typeFloats  = "FLOAT64SLICE"
	typeStrings = "STRINGSLICE"
	typeSlice   = "SLICE"
)

func valueOf(v attribute.Value) jsonValue {
	switch v.Type() {
	case attribute.BOOL:
		return jsonValue{Bool: new(v.AsBool())}
	case attribute.INT64:
		return jsonValue{Int: new(v.AsInt64())}
	case attribute.FLOAT64:
		return jsonValue{Double: new(jsonDouble(v.AsFloat64()))}
	case attribute.STRING:
		return jsonValue{String: new(v.AsString())}
	case attribute.BYTESLICE:
		b := v.AsByteSlice()
		if b == nil {
			b = []byte{}
		}
		return jsonValue{Bytes: &b}
	case attribute.MAP:
		return jsonValue{Map: &jsonMap{Values: v.AsMap()}}
	case attribute.BOOLSLICE:
		return list(typeBools, v.AsBoolSlice(), attribute.BoolValue)
	case attribute.INT64SLICE:
		return list(typeInts, v.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		return list(typeFloats, v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.STRINGSLICE:
		return list(typeStrings, v.AsStringSlice(), attribute.StringValue)
	case attribute.SLICE:
		return list(typeSlice, v.AsSlice(), func(v attribute.Value) attribute.Value { return v })
	}
	return jsonValue{}
}

func list[T any](name string, values []T, value func(T) attribute.Value) jsonValue {
	a := &jsonArray{Values: make([]jsonValue, len(values))}
	for i, v := range values {
		a.Values[i] = valueOf(value(v))
	}
	out := jsonValue{Array: a}
	if a.kind() != name {
		out.SDKType = name
	}
	return out
}

// kind names the list type of an array that does not say.
func (a *jsonArray) kind() string {
	kind := typeSlice
	for i := range a.Values {
		k := a.Values[i].listKind()
		if k == typeSlice || i > 0 && k != kind {
			return typeSlice
		}
		kind = k
	}
	return kind
}

// listKind names the list type that holds values such as v.
func (v *jsonValue) listKind() string {
	switch {
	case v.Bool != nil:
		return typeBools
	case v.Int != nil:
		return typeInts
	case v.Double != nil:
		return typeFloats
	case v.String != nil:
		return typeStrings
	}
	return typeSlice
}

func (v *jsonValue) attribute() (attribute.Value, error) {
	switch {
	case v.String != nil:
		return attribute.StringValue(*v.String), nil
	case v.Bool != nil:
		return attribute.BoolValue(*v.Bool), nil
	case v.Int != nil:
		return attribute.Int64Value(*v.Int), nil
	case v.Double != nil:
		return attribute.Float64Value(float64(*v.Double)), nil
	case v.Bytes != nil:
		return attribute.ByteSliceValue(*v.Bytes), nil
	case v.Map != nil:
		return attribute.MapValue(v.Map.Values...), nil
	case v.Array != nil:
		return v.Array.attribute(v.SDKType)
	}
	return attribute.Value{}, nil
}

func (a *jsonArray) attribute(kind string) (attribute.Value, error) {
	if kind == "" {
		kind = a.kind()
	}
	values := make([]attribute.Value, len(a.Values))
	for i := range a.Values {
		v, err := a.Values[i].attribute()
		if err != nil {
			return attribute.Value{}, err
		}
		if k := a.Values[i].listKind(); kind != typeSlice && k != kind {
			return attribute.Value{}, fmt.Errorf("element %d of a %s is a %v", i, kind, v.Type())
		}
		values[i] = v
	}
	switch kind {
	case typeBools:
		return attribute.BoolSliceValue(each(values, attribute.Value.AsBool)), nil
	case typeInts:
		return attribute.Int64SliceValue(each(values, attribute.Value.AsInt64)), nil
	case typeFloats:
		return attribute.Float64SliceValue(each(values, attribute.Value.AsFloat64)), nil
	case typeStrings:
		return attribute.StringSliceValue(each(values, attribute.Value.AsString)), nil
	case typeSlice:
		return attribute.SliceValue(values...), nil
	}
	return attribute.Value{}, fmt.Errorf("sdkType %q: want one of %s, %s, %s, %s, %s",
		kind, typeBools, typeInts, typeFloats, typeStrings, typeSlice)
}

func each[T any](values []attribute.Value, get func(attribute.Value) T) []T {
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = get(v)
	}
	return out
}

package store

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// equalSpans compares spans by what they mean: times as moments, everything
// else to the last bit.
var equalSpans = cmp.Options{
	cmp.Comparer(func(a, b trace.SpanContext) bool { return a.Equal(b) }),
	cmp.Comparer(func(a, b attribute.Value) bool { return reflect.DeepEqual(bits(a), bits(b)) }),
	cmp.Comparer(func(a, b *resource.Resource) bool { return a.Equal(b) && a.SchemaURL() == b.SchemaURL() }),
	cmp.Comparer(func(a, b attribute.Set) bool { return a.Equals(&b) }),
}

// bits makes values comparable in which a NaN may stand.
func bits(v attribute.Value) any {
	switch v.Type() {
	case attribute.FLOAT64:
		return []any{v.Type(), math.Float64bits(v.AsFloat64())}
	case attribute.FLOAT64SLICE:
		out := []any{v.Type()}
		for _, f := range v.AsFloat64Slice() {
			out = append(out, math.Float64bits(f))
		}
		return out
	case attribute.SLICE:
		out := []any{v.Type()}
		for _, e := range v.AsSlice() {
			out = append(out, bits(e))
		}
		return out
	case attribute.MAP:
		out := []any{v.Type()}
		for _, kv := range v.AsMap() {
			out = append(out, kv.Key, bits(kv.Value))
		}
		return out
	}
	return v
}

func traceState(t *testing.T, s string) trace.TraceState {
	t.Helper()
	ts, err := trace.ParseTraceState(s)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// fullSpan has everything a span can have.
func fullSpan(t *testing.T) tracetest.SpanStub {
	b := newBuild("full")
	scope := instrumentation.Scope{
		Name: "scope", Version: "1", SchemaURL: "https://example.com/scope",
		Attributes: attribute.NewSet(attribute.Bool("a", true), attribute.Int("b", 2)),
	}
	link := b.context(8).WithTraceID(trace.TraceID{9: 1}).WithRemote(true).WithTraceState(traceState(t, "k=v"))
	return tracetest.SpanStub{
		Name:        "full <&> \u2028 \"quoted\" \\ span",
		SpanContext: b.context(1).WithTraceState(traceState(t, "vendor=a,other=b")).WithTraceFlags(0x01),
		Parent: b.context(2).WithTraceID(trace.TraceID{1}).WithRemote(true).
			WithTraceFlags(0x03).WithTraceState(traceState(t, "p=q")),
		SpanKind:  trace.SpanKindConsumer,
		StartTime: t0.Add(123456789), EndTime: t0.Add(987654321),
		Attributes: []attribute.KeyValue{
			attribute.String("string", "x"), attribute.String("empty", ""), attribute.String("", "no key"),
			attribute.Bool("bool", false), attribute.Int64("min", math.MinInt64), attribute.Int64("max", math.MaxInt64),
			attribute.Float64("float", 0.1), attribute.Float64("whole", 1), attribute.Float64("nan", math.NaN()),
			attribute.Float64("inf", math.Inf(1)), attribute.Float64("-inf", math.Inf(-1)),
			attribute.Float64("-0", math.Copysign(0, -1)), attribute.Float64("tiny", math.SmallestNonzeroFloat64),
			attribute.StringSlice("strings", []string{"a", ""}), attribute.StringSlice("no strings", nil),
			attribute.BoolSlice("bools", []bool{true, false}), attribute.BoolSlice("no bools", []bool{}),
			attribute.Int64Slice("ints", []int64{1, -1}), attribute.Int64Slice("no ints", []int64{}),
			attribute.Float64Slice("floats", []float64{1, math.Inf(1)}), attribute.Float64Slice("no floats", []float64{}),
			attribute.ByteSlice("bytes", []byte{0, 0xff}), attribute.ByteSlice("no bytes", []byte{}),
			{Key: "nothing", Value: attribute.Value{}},
			attribute.Slice("mixed", attribute.IntValue(1), attribute.StringValue("1"), attribute.Value{}),
			attribute.Slice("alike", attribute.IntValue(1), attribute.IntValue(2)), attribute.Slice("no values"),
			attribute.Slice("nested", attribute.SliceValue(attribute.SliceValue()), attribute.Int64SliceValue([]int64{})),
			attribute.Map("map", attribute.Int("a", 1), attribute.Map("b", attribute.Bool("c", true))), attribute.Map("no map"),
			attribute.String("same", "1"), attribute.String("same", "2"),
		},
		Events: []sdktrace.Event{
			{Name: "one", Time: t0.Add(1), Attributes: []attribute.KeyValue{attribute.Int("n", 1)}, DroppedAttributeCount: 3},
			{Name: "", Time: t0},
		},
		Links: []sdktrace.Link{
			{SpanContext: link, Attributes: []attribute.KeyValue{attribute.Int("n", 1)}, DroppedAttributeCount: 4},
			{},
		},
		Status:            sdktrace.Status{Code: codes.Error, Description: "it broke"},
		DroppedAttributes: 5, DroppedEvents: 6, DroppedLinks: math.MaxUint32, ChildSpanCount: 7,
		Resource:             resource.NewWithAttributes("https://example.com/schema", attribute.String("service.name", "x"), attribute.Int64Slice("r", nil)),
		InstrumentationScope: scope, InstrumentationLibrary: scope, //nolint:staticcheck // The codec carries it as well.
	}
}

func readBack(t *testing.T, spans ...tracetest.SpanStub) tracetest.SpanStubs {
	t.Helper()
	s := open(t)
	export(t, s, spans)
	tr, err := s.Trace(t.Context(), spans[0].SpanContext.TraceID().String())
	if err != nil {
		t.Fatal(err)
	}
	// As an exporter would see them.
	return tracetest.SpanStubsFromReadOnlySpans(tr.Spans.Snapshots())
}

func TestSpansReadBackEqual(t *testing.T) {
	b := newBuild("bare")
	bare := tracetest.SpanStub{SpanContext: b.context(1), Resource: resource.Empty()}
	ok := fullSpan(t)
	ok.Status = sdktrace.Status{Code: codes.Ok}
	described := fullSpan(t)
	described.Status = sdktrace.Status{Code: codes.Unset, Description: "odd, but possible"}
	remote := fullSpan(t)
	remote.SpanContext = remote.SpanContext.WithRemote(true)
	for name, span := range map[string]tracetest.SpanStub{
		"with everything": fullSpan(t), "with nothing": bare, "with status ok": ok,
		"with a described unset status": described, "remote itself": remote,
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tracetest.SpanStubs{span}, readBack(t, span), equalSpans); d != "" {
				t.Errorf("read back (-stored +read):\n%s", d)
			}
		})
	}
	t.Run("of a whole run", func(t *testing.T) {
		want := tracetest.SpanStubsFromReadOnlySpans(clineTrace().spans.Snapshots())
		if d := cmp.Diff(want, readBack(t, want...), equalSpans); d != "" {
			t.Errorf("read back (-stored +read):\n%s", d)
		}
	})
}

func TestComparisonSeesEveryDifference(t *testing.T) {
	for name, change := range map[string]func(*tracetest.SpanStub){
		"parent flags": func(s *tracetest.SpanStub) { s.Parent = s.Parent.WithTraceFlags(0) },
		"list type":    func(s *tracetest.SpanStub) { s.Attributes[0] = attribute.Slice("string") },
		"resource":     func(s *tracetest.SpanStub) { s.Resource = resource.Empty() },
		"scope":        func(s *tracetest.SpanStub) { s.InstrumentationScope.Attributes = *attribute.EmptySet() },
		"link":         func(s *tracetest.SpanStub) { s.Links[0].SpanContext = s.Links[0].SpanContext.WithRemote(false) },
	} {
		changed := fullSpan(t)
		change(&changed)
		if cmp.Equal(fullSpan(t), changed, equalSpans) {
			t.Errorf("%s: the change is not seen", name)
		}
	}
}

func TestWhatOTLPCannotCarryIsMadeFit(t *testing.T) {
	b := newBuild("unfit")
	b.add(-1, "bad \xff name", 0, time.Second, attribute.String("k", "\xc3("))
	b.last().StartTime = time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC)
	b.last().DroppedEvents = -1
	b.last().Events = []sdktrace.Event{{Name: "e", Time: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}}
	got := readBack(t, b.spans...)[0]
	want := tracetest.SpanStubsFromReadOnlySpans(b.spans.Snapshots())[0]
	want.Name, want.Attributes = "bad \ufffd name", []attribute.KeyValue{attribute.String("k", "\ufffd(")}
	want.StartTime, want.DroppedEvents = time.Time{}, 0
	want.Events = []sdktrace.Event{{Name: "e"}}
	if d := cmp.Diff(want, got, equalSpans); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
}

// anyValue draws attribute values of every type.
func anyValue(depth int) *rapid.Generator[attribute.Value] {
	return rapid.Custom(func(t *rapid.T) attribute.Value {
		kinds := 9
		if depth > 0 {
			kinds = 12
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return attribute.StringValue(rapid.String().Draw(t, "s"))
		case 1:
			return attribute.BoolValue(rapid.Bool().Draw(t, "b"))
		case 2:
			return attribute.Int64Value(rapid.Int64().Draw(t, "i"))
		case 3:
			return attribute.Float64Value(rapid.Float64().Draw(t, "f"))
		case 4:
			return attribute.StringSliceValue(rapid.SliceOf(rapid.String()).Draw(t, "ss"))
		case 5:
			return attribute.BoolSliceValue(rapid.SliceOf(rapid.Bool()).Draw(t, "bs"))
		case 6:
			return attribute.Int64SliceValue(rapid.SliceOf(rapid.Int64()).Draw(t, "is"))
		case 7:
			return attribute.Float64SliceValue(rapid.SliceOf(rapid.Float64()).Draw(t, "fs"))
		case 8:
			return attribute.ByteSliceValue(rapid.SliceOf(rapid.Byte()).Draw(t, "y"))
		case 9:
			return attribute.Value{}
		case 10:
			return attribute.SliceValue(rapid.SliceOfN(anyValue(depth-1), 0, 4).Draw(t, "vs")...)
		}
		var kvs []attribute.KeyValue
		for _, v := range rapid.SliceOfN(anyValue(depth-1), 0, 4).Draw(t, "map") {
			kvs = append(kvs, attribute.KeyValue{Key: attribute.Key(rapid.String().Draw(t, "k")), Value: v})
		}
		return attribute.MapValue(kvs...)
	})
}

func TestAnyValueReadsBackEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := jsonAttrs{{Key: "k", Value: anyValue(3).Draw(t, "value")}}
		text, err := encode(want)
		if err != nil {
			t.Fatal(err)
		}
		var got jsonAttrs
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if d := cmp.Diff(want, got, equalSpans); d != "" {
			t.Fatalf("%s (-want +got):\n%s", text, d)
		}
	})
}

func FuzzDecodeSpan(f *testing.F) {
	for _, s := range clineTrace().spans {
		text, err := encode(toJSON(s.Snapshot()))
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"attributes":[{"key":"a","value":{"arrayValue":{"values":[{"intValue":"1"}]},"sdkType":"BOOLSLICE"}}]}`))
	f.Add([]byte(`{"traceId":"00","spanId":"","links":[{}],"status":{"code":9}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		one, err := decodeSpan(data)
		if err != nil {
			return
		}
		text, err := encode(toJSON(one.Snapshot()))
		if err != nil {
			t.Fatalf("a decoded span cannot be encoded: %v", err)
		}
		two, err := decodeSpan([]byte(text))
		if err != nil {
			t.Fatalf("what was encoded cannot be decoded: %v\n%s", err, text)
		}
		if d := cmp.Diff(one, two, equalSpans); d != "" {
			t.Errorf("decode(encode(span)) (-span +result):\n%s", d)
		}
	})
}

package sink

import (
	"encoding/base64"
	"encoding/hex"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Span is a received span in a form that is easy to assert on and survives
// JSON. Read integers by
// Attrs.Int: they are float64 once they have been through JSON.
type Span struct {
	TraceID  string    `json:"trace_id"`
	SpanID   string    `json:"span_id"`
	ParentID string    `json:"parent_id,omitempty"`
	Name     string    `json:"name"`
	Kind     string    `json:"kind"`
	Start    time.Time `json:"start"`
	End      time.Time `json:"end"`
	// Status is "Unset", "Ok" or "Error".
	Status        string  `json:"status"`
	StatusMessage string  `json:"status_message,omitempty"`
	Attrs         Attrs   `json:"attrs"`
	Resource      Attrs   `json:"resource"`
	Scope         string  `json:"scope"`
	Events        []Event `json:"events,omitempty"`
	Links         []Link  `json:"links,omitempty"`
}

// Event is a span event.
type Event struct {
	Name  string    `json:"name"`
	At    time.Time `json:"at"`
	Attrs Attrs     `json:"attrs"`
}

// Link is a span link.
type Link struct {
	TraceID string `json:"trace_id"`
	SpanID  string `json:"span_id"`
	Attrs   Attrs  `json:"attrs"`
}

// Attrs are attributes by key. Values are string, bool, int64, float64, or a
// slice of them.
type Attrs map[string]any

// String returns the attribute's text, or "" where it is absent or no string.
func (a Attrs) String(key string) string {
	s, _ := a[key].(string)
	return s
}

// Int returns the attribute as an integer and whether it is a number.
func (a Attrs) Int(key string) (int64, bool) {
	switch v := a[key].(type) {
	case int64:
		return v, true
	case float64: // as JSON has it
		return int64(v), v == float64(int64(v))
	}
	return 0, false
}

// Root reports whether the span has no parent.
func (s *Span) Root() bool { return s.ParentID == "" }

// flatten lists the request's spans. id writes an id of the wire form that the
// request had.
func flatten(req *collectorpb.ExportTraceServiceRequest, id func([]byte) string) []Span {
	var out []Span
	for _, rs := range req.GetResourceSpans() {
		res := attrs(rs.GetResource().GetAttributes())
		for _, ss := range rs.GetScopeSpans() {
			for _, sp := range ss.GetSpans() {
				out = append(out, flattenSpan(sp, res, ss.GetScope().GetName(), id))
			}
		}
	}
	return out
}

var (
	kinds = map[tracepb.Span_SpanKind]string{
		tracepb.Span_SPAN_KIND_UNSPECIFIED: "Unspecified", tracepb.Span_SPAN_KIND_INTERNAL: "Internal",
		tracepb.Span_SPAN_KIND_SERVER: "Server", tracepb.Span_SPAN_KIND_CLIENT: "Client",
		tracepb.Span_SPAN_KIND_PRODUCER: "Producer", tracepb.Span_SPAN_KIND_CONSUMER: "Consumer",
	}
	statuses = map[tracepb.Status_StatusCode]string{
		tracepb.Status_STATUS_CODE_UNSET: "Unset", tracepb.Status_STATUS_CODE_OK: "Ok", tracepb.Status_STATUS_CODE_ERROR: "Error",
	}
)

func flattenSpan(sp *tracepb.Span, res Attrs, scope string, id func([]byte) string) Span {
	s := Span{
		TraceID: id(sp.GetTraceId()), SpanID: id(sp.GetSpanId()),
		ParentID: id(sp.GetParentSpanId()), Name: sp.GetName(), Kind: kinds[sp.GetKind()],
		Start: nanos(sp.GetStartTimeUnixNano()), End: nanos(sp.GetEndTimeUnixNano()),
		Status: statuses[sp.GetStatus().GetCode()], StatusMessage: sp.GetStatus().GetMessage(),
		Attrs: attrs(sp.GetAttributes()), Resource: res, Scope: scope,
	}
	for _, e := range sp.GetEvents() {
		s.Events = append(s.Events, Event{Name: e.GetName(), At: nanos(e.GetTimeUnixNano()), Attrs: attrs(e.GetAttributes())})
	}
	for _, l := range sp.GetLinks() {
		s.Links = append(s.Links, Link{
			TraceID: id(l.GetTraceId()), SpanID: id(l.GetSpanId()), Attrs: attrs(l.GetAttributes()),
		})
	}
	return s
}

// jsonID undoes what a JSON decoder made of an id: OTLP/JSON writes ids in hex,
// and protobuf's own JSON form takes every bytes field for base64.
func jsonID(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func nanos(n uint64) time.Time {
	return time.Unix(0, int64(n)).UTC() //nolint:gosec // A span's time fits until the year 2262.
}

func attrs(kvs []*commonpb.KeyValue) Attrs {
	out := make(Attrs, len(kvs))
	for _, kv := range kvs {
		out[kv.GetKey()] = value(kv.GetValue())
	}
	return out
}

func value(v *commonpb.AnyValue) any {
	switch x := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return x.StringValue
	case *commonpb.AnyValue_BoolValue:
		return x.BoolValue
	case *commonpb.AnyValue_IntValue:
		return x.IntValue
	case *commonpb.AnyValue_DoubleValue:
		return x.DoubleValue
	case *commonpb.AnyValue_BytesValue:
		return hex.EncodeToString(x.BytesValue)
	case *commonpb.AnyValue_ArrayValue:
		out := make([]any, 0, len(x.ArrayValue.GetValues()))
		for _, e := range x.ArrayValue.GetValues() {
			out = append(out, value(e))
		}
		return out
	case *commonpb.AnyValue_KvlistValue:
		return attrs(x.KvlistValue.GetValues())
	}
	return nil
}

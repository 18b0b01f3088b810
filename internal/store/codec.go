package store

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// A span is stored as the JSON of OTLP (opentelemetry.io/docs/specs/otlp,
// "JSON Protobuf Encoding"): ids in hex, 64-bit numbers as decimal strings,
// enumerations as numbers. What an SDK span has and OTLP has not stands in
// members called "sdk" and "sdkType", which an OTLP receiver must ignore.

// Bits of OTLP's span flags beyond the eight of the W3C trace flags.
const (
	flagHasIsRemote = 0x100
	flagIsRemote    = 0x200
)

type jsonSpan struct {
	TraceID           string      `json:"traceId"`
	SpanID            string      `json:"spanId"`
	TraceState        string      `json:"traceState,omitempty"`
	ParentSpanID      string      `json:"parentSpanId,omitempty"`
	Flags             uint32      `json:"flags,omitempty"`
	Name              string      `json:"name"`
	Kind              int         `json:"kind,omitempty"`
	Start             uint64      `json:"startTimeUnixNano,string"`
	End               uint64      `json:"endTimeUnixNano,string"`
	Attributes        jsonAttrs   `json:"attributes,omitempty"`
	DroppedAttributes uint32      `json:"droppedAttributesCount,omitempty"`
	Events            []jsonEvent `json:"events,omitempty"`
	DroppedEvents     uint32      `json:"droppedEventsCount,omitempty"`
	Links             []jsonLink  `json:"links,omitempty"`
	DroppedLinks      uint32      `json:"droppedLinksCount,omitempty"`
	Status            *jsonStatus `json:"status,omitempty"`
	SDK               *jsonSDK    `json:"sdk,omitempty"`
}

type jsonEvent struct {
	Time       uint64    `json:"timeUnixNano,string"`
	Name       string    `json:"name"`
	Attributes jsonAttrs `json:"attributes,omitempty"`
	Dropped    uint32    `json:"droppedAttributesCount,omitempty"`
}

type jsonLink struct {
	TraceID    string    `json:"traceId"`
	SpanID     string    `json:"spanId"`
	TraceState string    `json:"traceState,omitempty"`
	Attributes jsonAttrs `json:"attributes,omitempty"`
	Dropped    uint32    `json:"droppedAttributesCount,omitempty"`
	Flags      uint32    `json:"flags,omitempty"`
}

type jsonStatus struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code,omitempty"`
}

// jsonSDK is what OTLP does not carry. ParentFlags are absent where the
// parent's trace flags are the span's own, as they nearly always are.
type jsonSDK struct {
	ChildSpanCount   int    `json:"childSpanCount,omitempty"`
	Remote           bool   `json:"remote,omitempty"`
	ParentTraceID    string `json:"parentTraceId,omitempty"`
	ParentTraceState string `json:"parentTraceState,omitempty"`
	ParentFlags      *uint8 `json:"parentFlags,omitempty"`
}

// jsonOrigin is what spans have in common.
type jsonOrigin struct {
	Resource       jsonResource `json:"resource"`
	SchemaURL      string       `json:"schemaUrl,omitempty"`
	Scope          jsonScope    `json:"scope"`
	ScopeSchemaURL string       `json:"scopeSchemaUrl,omitempty"`
}

type jsonResource struct {
	Attributes jsonAttrs `json:"attributes,omitempty"`
}

type jsonScope struct {
	Name       string    `json:"name,omitempty"`
	Version    string    `json:"version,omitempty"`
	Attributes jsonAttrs `json:"attributes,omitempty"`
}

// nanos is t as OTLP has it. The zero time and times before 1970 are 0.
func nanos(t time.Time) uint64 {
	if t.Unix() < 0 || t.Unix() > math.MaxInt64/int64(time.Second)-1 {
		return 0
	}
	return uint64(t.UnixNano())
}

func fromNanos[N int64 | uint64](n N) time.Time {
	if n <= 0 || uint64(n) > math.MaxInt64 {
		return time.Time{}
	}
	return time.Unix(0, int64(n)).UTC()
}

func count32(n int) uint32 {
	return uint32(min(max(n, 0), math.MaxUint32))
}

// Otel's status codes are not OTLP's: Ok and Error have changed places.
func statusOf(s sdktrace.Status) *jsonStatus {
	switch s.Code {
	case codes.Ok:
		return &jsonStatus{Code: 1, Message: s.Description}
	case codes.Error:
		return &jsonStatus{Code: 2, Message: s.Description}
	}
	if s.Description == "" {
		return nil
	}
	return &jsonStatus{Message: s.Description}
}

func (s *jsonStatus) sdk() sdktrace.Status {
	if s == nil {
		return sdktrace.Status{}
	}
	out := sdktrace.Status{Description: s.Message}
	switch s.Code {
	case 1:
		out.Code = codes.Ok
	case 2:
		out.Code = codes.Error
	}
	return out
}

func flagsOf(own trace.TraceFlags, remote bool) uint32 {
	f := uint32(own) | flagHasIsRemote
	if remote {
		f |= flagIsRemote
	}
	return f
}

// toJSON gives the stored form of a span.
func toJSON(s sdktrace.ReadOnlySpan) jsonSpan {
	sc, parent := s.SpanContext(), s.Parent()
	out := jsonSpan{
		TraceID: sc.TraceID().String(), SpanID: sc.SpanID().String(),
		TraceState: sc.TraceState().String(), Flags: flagsOf(sc.TraceFlags(), parent.IsRemote()),
		Name: s.Name(), Kind: int(s.SpanKind()),
		Start: nanos(s.StartTime()), End: nanos(s.EndTime()),
		Attributes: s.Attributes(), DroppedAttributes: count32(s.DroppedAttributes()),
		DroppedEvents: count32(s.DroppedEvents()), DroppedLinks: count32(s.DroppedLinks()),
		Status: statusOf(s.Status()),
	}
	for _, e := range s.Events() {
		out.Events = append(out.Events, jsonEvent{
			Time: nanos(e.Time), Name: e.Name, Attributes: e.Attributes, Dropped: count32(e.DroppedAttributeCount),
		})
	}
	for _, l := range s.Links() {
		c := l.SpanContext
		out.Links = append(out.Links, jsonLink{
			TraceID: c.TraceID().String(), SpanID: c.SpanID().String(), TraceState: c.TraceState().String(),
			Attributes: l.Attributes, Dropped: count32(l.DroppedAttributeCount),
			Flags: flagsOf(c.TraceFlags(), c.IsRemote()),
		})
	}
	sdk := jsonSDK{ChildSpanCount: max(s.ChildSpanCount(), 0), Remote: sc.IsRemote()}
	if parent.SpanID().IsValid() {
		out.ParentSpanID = parent.SpanID().String()
		if parent.TraceID() != sc.TraceID() {
			sdk.ParentTraceID = parent.TraceID().String()
		}
		sdk.ParentTraceState = parent.TraceState().String()
		if f := parent.TraceFlags(); f != sc.TraceFlags() {
			sdk.ParentFlags = new(uint8(f))
		}
	}
	if sdk != (jsonSDK{}) {
		out.SDK = &sdk
	}
	return out
}

// stub gives back the span; the origin is the caller's to fill in.
func (s *jsonSpan) stub() (tracetest.SpanStub, error) {
	out := tracetest.SpanStub{
		Name: s.Name, SpanKind: trace.SpanKind(s.Kind),
		StartTime: fromNanos(s.Start), EndTime: fromNanos(s.End),
		Attributes: s.Attributes, DroppedAttributes: int(s.DroppedAttributes),
		DroppedEvents: int(s.DroppedEvents), DroppedLinks: int(s.DroppedLinks),
		Status: s.Status.sdk(),
	}
	sdk := jsonSDK{}
	if s.SDK != nil {
		sdk = *s.SDK
	}
	out.ChildSpanCount = sdk.ChildSpanCount
	own := uint8(s.Flags & 0xff)
	var err error
	if out.SpanContext, err = spanContext(s.TraceID, s.SpanID, s.TraceState, own, sdk.Remote); err != nil {
		return out, err
	}
	if s.ParentSpanID != "" {
		tid, flags := s.TraceID, own
		if sdk.ParentTraceID != "" {
			tid = sdk.ParentTraceID
		}
		if sdk.ParentFlags != nil {
			flags = *sdk.ParentFlags
		}
		out.Parent, err = spanContext(tid, s.ParentSpanID, sdk.ParentTraceState, flags, s.Flags&flagIsRemote != 0)
		if err != nil {
			return out, fmt.Errorf("parent: %w", err)
		}
	}
	for _, e := range s.Events {
		out.Events = append(out.Events, sdktrace.Event{
			Name: e.Name, Time: fromNanos(e.Time), Attributes: e.Attributes, DroppedAttributeCount: int(e.Dropped),
		})
	}
	for _, l := range s.Links {
		sc, err := spanContext(l.TraceID, l.SpanID, l.TraceState, uint8(l.Flags&0xff), l.Flags&flagIsRemote != 0)
		if err != nil {
			return out, fmt.Errorf("link: %w", err)
		}
		out.Links = append(out.Links, sdktrace.Link{
			SpanContext: sc, Attributes: l.Attributes, DroppedAttributeCount: int(l.Dropped),
		})
	}
	return out, nil
}

// spanContext takes ids of all zeros too, which the API's own parsers refuse.
func spanContext(tid, sid, state string, flags uint8, remote bool) (trace.SpanContext, error) {
	c := trace.SpanContextConfig{TraceFlags: trace.TraceFlags(flags), Remote: remote}
	if err := unhex(c.TraceID[:], tid); err != nil {
		return trace.SpanContext{}, fmt.Errorf("trace id %q: %w", tid, err)
	}
	if err := unhex(c.SpanID[:], sid); err != nil {
		return trace.SpanContext{}, fmt.Errorf("span id %q: %w", sid, err)
	}
	var err error
	if c.TraceState, err = trace.ParseTraceState(state); err != nil {
		return trace.SpanContext{}, fmt.Errorf("trace state %q: %w", state, err)
	}
	return trace.NewSpanContext(c), nil
}

func unhex(dst []byte, s string) error {
	if len(s) != 2*len(dst) {
		return fmt.Errorf("it has %d hex digits, want %s", len(s), strconv.Itoa(2*len(dst)))
	}
	_, err := hex.Decode(dst, []byte(s))
	return err
}

func originOf(s sdktrace.ReadOnlySpan) jsonOrigin {
	r, sc := s.Resource(), s.InstrumentationScope()
	return jsonOrigin{
		Resource: jsonResource{Attributes: r.Attributes()}, SchemaURL: r.SchemaURL(),
		Scope: jsonScope{
			Name: sc.Name, Version: sc.Version, Attributes: sc.Attributes.ToSlice(),
		},
		ScopeSchemaURL: sc.SchemaURL,
	}
}

func (o *jsonOrigin) resource() *resource.Resource {
	return resource.NewWithAttributes(o.SchemaURL, o.Resource.Attributes...)
}

func (o *jsonOrigin) scope() instrumentation.Scope {
	return instrumentation.Scope{
		Name: o.Scope.Name, Version: o.Scope.Version, SchemaURL: o.ScopeSchemaURL,
		Attributes: attribute.NewSet(o.Scope.Attributes...),
	}
}

// encode is json.Marshal without the escapes for HTML, which would make
// commands and paths unreadable to a person who looks into the file.
func encode(v any) (string, error) {
	b, err := rawjson.Marshal(v)
	return string(b), err
}

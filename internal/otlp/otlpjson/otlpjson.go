// Package otlpjson writes OTLP trace messages as OTLP/JSON. It is not part of
// package otlp because Protobuf's JSON costs each start of a program that links it.
package otlpjson

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
)

// Encode returns the messages as an OTLP/JSON document,
// {"resourceSpans":[...]}, on one line.
func Encode(messages []*tracepb.ResourceSpans) ([]byte, error) {
	if len(messages) == 0 {
		return []byte(`{"resourceSpans":[]}`), nil
	}
	data := proto.CloneOf(&tracepb.TracesData{ResourceSpans: messages})
	for s := range otlp.Spans(data.GetResourceSpans()) {
		if proto.Size(s.GetStatus()) == 0 {
			s.Status = nil
		}
	}
	// OTLP/JSON has identifiers in hexadecimal where Protobuf's JSON has base64.
	// Hexadecimal digits are base64 digits too, so the bytes that they
	// represent in base64 are encoded as the digits.
	err := convertIDs(data, func(id []byte) ([]byte, error) {
		return base64.RawStdEncoding.DecodeString(hex.EncodeToString(id))
	})
	if err != nil {
		return nil, err
	}
	doc, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encode OTLP/JSON: %w", err)
	}
	// protojson puts in white space at random.
	var line bytes.Buffer
	err = json.Compact(&line, doc)
	return line.Bytes(), err
}

// convertIDs replaces all trace and span identifiers.
func convertIDs(data *tracepb.TracesData, convert func([]byte) ([]byte, error)) error {
	for s := range otlp.Spans(data.GetResourceSpans()) {
		ids := []*[]byte{&s.TraceId, &s.SpanId, &s.ParentSpanId}
		for _, l := range s.GetLinks() {
			ids = append(ids, &l.TraceId, &l.SpanId)
		}
		for _, id := range ids {
			converted, err := convert(*id)
			if err != nil {
				return fmt.Errorf("identifier %x of span %q: %w", *id, s.GetName(), err)
			}
			*id = converted
		}
	}
	return nil
}

package otlptest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// The content types of OTLP/HTTP.
const (
	TypeProtobuf = "application/x-protobuf"
	TypeJSON     = "application/json"
)

// Decode reads the body of a request by its headers. size is the number of
// bytes after decompression. The error names what a receiver would refuse.
func Decode(h http.Header, body []byte) (req *coltracepb.ExportTraceServiceRequest, size int, err error) {
	switch enc := h.Get("Content-Encoding"); enc {
	case "":
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, 0, fmt.Errorf("gzip body: %w", err)
		}
		if body, err = io.ReadAll(io.LimitReader(z, maxRead)); err != nil {
			return nil, 0, fmt.Errorf("gzip body: %w", err)
		}
	default:
		return nil, 0, fmt.Errorf("content encoding %q: want gzip or none", enc)
	}
	req = &coltracepb.ExportTraceServiceRequest{}
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	switch kind {
	case TypeProtobuf:
		err = proto.Unmarshal(body, req)
	case TypeJSON:
		req, err = DecodeJSON(body)
	default:
		err = fmt.Errorf("content type %q: want %s or %s", kind, TypeProtobuf, TypeJSON)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("body: %w", err)
	}
	return req, len(body), nil
}

// DecodeJSON reads one OTLP/JSON request, such as a line of a file destination.
// OTLP writes ids in hex, where the JSON form of protobuf has base64.
// Members that it does not know are left out, as a receiver does.
func DecodeJSON(body []byte) (*coltracepb.ExportTraceServiceRequest, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF { //nolint:errorlint // Token returns it unwrapped.
		return nil, fmt.Errorf("more than one JSON text")
	}
	if err := convertIDs(tree); err != nil {
		return nil, err
	}
	b, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	req := &coltracepb.ExportTraceServiceRequest{}
	return req, (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b, req)
}

// Messages reads an OTLP/JSON document, such as hookspan export writes.
func Messages(doc []byte) ([]*tracepb.ResourceSpans, error) {
	req, err := DecodeJSON(doc)
	return req.GetResourceSpans(), err
}

// convertIDs rewrites ids in place. Attributes cannot be mistaken for them:
// their names are values of "key" members.
func convertIDs(v any) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := convertIDs(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, e := range v {
			switch k {
			case "traceId", "spanId", "parentSpanId":
				s, ok := e.(string)
				if !ok {
					return fmt.Errorf("%s is no string", k)
				}
				b, err := hex.DecodeString(s)
				if err != nil {
					return fmt.Errorf("%s %q: %w", k, s, err)
				}
				v[k] = base64.StdEncoding.EncodeToString(b)
			default:
				if err := convertIDs(e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

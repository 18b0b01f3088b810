package deliver

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"

	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Metrics is a client of OTLP/HTTP for metrics.
type Metrics struct {
	options OTLP
	url     string
	client  *http.Client
}

// NewMetrics returns a client for metrics as NewOTLP does for traces.
func NewMetrics(o OTLP) (*Metrics, error) {
	client, bare, err := o.client(metricsSignal)
	if err != nil {
		return nil, err
	}
	return &Metrics{o, bare.String(), client}, nil
}

// Upload sends a request in protobuf once. The error is an *Error.
func (m *Metrics) Upload(ctx context.Context, body []byte) error {
	kind := "application/x-protobuf"
	if m.options.JSON {
		var message colmetricspb.ExportMetricsServiceRequest
		err := proto.Unmarshal(body, &message)
		if err == nil {
			body, err = protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(&message)
		}
		if err != nil {
			return &Error{Err: fmt.Errorf("encode metrics: %w", err), Permanent: true}
		}
		kind = "application/json"
	}
	if m.options.Gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(body) // Memory takes all.
		_ = w.Close()
		body = packed.Bytes()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return &Error{Err: err, Permanent: true}
	}
	req.Header.Set("Content-Type", kind)
	if m.options.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	for name, value := range m.options.Headers {
		req.Header.Set(name, value)
	}
	resp, err := m.client.Do(req)
	if err == nil {
		return resp.Body.Close()
	}
	// The client's error repeats the endpoint.
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	return &Error{Err: err}
}

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// warm waits until each gateway reaches every other: one that was started before
// the others tries again only after a while. It returns how many spans that took.
func (g *gateways) warm(ctx context.Context) (spans int, err error) {
	for _, endpoint := range g.endpoints {
		// So many traces in a row that each of the gateways gets some.
		row := 0
		err := until(ctx, "the gateways reach one another", func() (bool, error) {
			for row < 32 {
				ok, err := probe(ctx, endpoint+"/v1/traces")
				if err != nil {
					return false, err
				}
				if !ok {
					row = 0
					return false, nil
				}
				row++
				spans++
			}
			return true, nil
		})
		if err != nil {
			return 0, err
		}
	}
	return spans, nil
}

// probe sends one span and reports whether it was taken.
func probe(ctx context.Context, url string) (taken bool, err error) {
	var id [24]byte
	if _, err := rand.Read(id[:]); err != nil {
		return false, err
	}
	now := uint64(time.Now().UnixNano()) //nolint:gosec // Times of this century.
	name := &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "probe"}}
	body, err := proto.Marshal(&collectorpb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{{Key: "service.name", Value: name}}},
		ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{
			TraceId: id[:16], SpanId: id[16:], Name: "probe", Kind: tracepb.Span_SPAN_KIND_INTERNAL, StartTimeUnixNano: now, EndTimeUnixNano: now,
		}}}},
	}}})
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return false, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return true, nil
	case http.StatusServiceUnavailable:
		return false, nil
	}
	return false, fmt.Errorf("%s answered %s to one span: %.300q", url, resp.Status, text)
}

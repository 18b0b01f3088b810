package importer

import (
	"context"
	"errors"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// Stored reads traces of the store for a destination that does not have them, with each
// span marked as imported.
type Stored struct {
	Store *store.Store
	// Resource are the attributes of resources to set anew.
	Resource []*commonpb.KeyValue
	// Gone are the traces that were deleted meanwhile.
	Gone map[string]bool
}

// Trace returns the runs of a trace, none if it was deleted.
func (s *Stored) Trace(ctx context.Context, id string) ([]*tracepb.ResourceSpans, error) {
	t, err := s.Store.Trace(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		if s.Gone == nil {
			s.Gone = make(map[string]bool)
		}
		s.Gone[id] = true
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, run := range t.ResourceSpans {
		markImported(run)
		for _, attr := range s.Resource {
			setResource(run, attr)
		}
	}
	return t.ResourceSpans, nil
}

// markImported marks spans that are sent from history, so that they can be kept out of
// what counts as of today.
func markImported(run *tracepb.ResourceSpans) {
	for _, scope := range run.GetScopeSpans() {
		for _, s := range scope.GetSpans() {
			if otlp.Find(s.GetAttributes(), otelmap.KeyImported) == nil {
				s.Attributes = append(s.Attributes, otlp.Bool(otelmap.KeyImported, true))
			}
		}
	}
}

// setResource sets an attribute of a run's resource, and the user that the run has from it.
func setResource(run *tracepb.ResourceSpans, attr *commonpb.KeyValue) {
	if r := run.GetResource(); r != nil {
		r.Attributes = otlp.Set(r.Attributes, attr)
	}
	for s := range otlp.Spans([]*tracepb.ResourceSpans{run}) {
		if attr.GetKey() == otelmap.KeyUser && otlp.Find(s.Attributes, otelmap.KeyOutcome) != nil {
			s.Attributes = otlp.Set(s.Attributes, attr)
		}
	}
}

package sample

import (
	"context"

	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// FillRecorded stores the recorded sessions of all agents.
func FillRecorded(ctx context.Context, s *store.Store) error {
	for _, one := range recorded.Sessions() {
		spans, err := one.Spans(ctx)
		if err != nil {
			return err
		}
		for i := range spans {
			if err := s.UploadTraces(ctx, spans[i:i+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

package store

import (
	"context"
	"fmt"
)

// Remove removes one trace by its whole id. It fails with ErrNotFound where
// there is none.
func (s *Store) Remove(ctx context.Context, traceID string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.wrap("remove trace", err)
	}
	defer rollback(tx)
	for _, q := range []string{
		`DELETE FROM spans WHERE trace IN (SELECT id FROM traces WHERE trace_id = ?)`,
		`DELETE FROM traces WHERE trace_id = ?`,
	} {
		res, err := tx.ExecContext(ctx, q, traceID)
		if err != nil {
			return s.wrap("remove trace", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return fmt.Errorf("trace store %q: remove trace %s: %w", s.path, traceID, ErrNotFound)
		}
	}
	// An origin that no span uses any more goes at the next Prune.
	if err := tx.Commit(); err != nil {
		return s.wrap("remove trace", err)
	}
	return nil
}

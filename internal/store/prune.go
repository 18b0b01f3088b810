package store

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"github.com/hookspan/hookspan/internal/otlp"
)

// keepRemoved is how long the store remembers a removed run.
const keepRemoved = 365 * 24 * time.Hour

// pruneBatch is how many traces Prune removes per transaction, so that an
// upload never waits long for the lock.
const pruneBatch = 200

// Prune removes the traces whose last span ended and was stored before the given
// time, shrinks the file and returns how many traces it removed. The age of an
// imported trace counts from its import. Prune works in small transactions: what
// it removed before an error stays removed and is counted. For a year
// Conversation and Beside still return the removed runs.
func (s *Store) Prune(ctx context.Context, before time.Time) (int, error) {
	limit, total := column(otlp.UnixNano(before)), 0
	for n := pruneBatch; n == pruneBatch; total += n {
		err := s.write(ctx, "prune", func(tx *sql.Tx) (err error) {
			n, err = pruneSome(ctx, tx, limit, s.now())
			return err
		})
		if err != nil {
			return total, err
		}
	}
	if total == 0 {
		return 0, nil
	}
	return total, s.wrap("shrink", s.shrink(ctx))
}

// Remove removes one trace by its complete id. It fails with ErrNotFound if no
// trace has the id. Resources that no span uses remain until the next Prune.
func (s *Store) Remove(ctx context.Context, traceID string) error {
	return s.write(ctx, "remove trace "+traceID, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM imports WHERE session IN (SELECT session FROM traces WHERE trace_id = ?)`, traceID)
		if err != nil {
			return err
		}
		for _, q := range []string{
			`DELETE FROM spans WHERE trace IN (SELECT id FROM traces WHERE trace_id = ?)`,
			`DELETE FROM traces WHERE trace_id = ?`,
		} {
			res, err := tx.ExecContext(ctx, q, traceID)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				return cmp.Or(err, ErrNotFound)
			}
		}
		return nil
	})
}

// oldTraces selects what Prune removes at once.
const oldTraces = `SELECT id FROM traces WHERE max(ended, stored) < ? ORDER BY max(ended, stored) LIMIT ?`

func pruneSome(ctx context.Context, tx *sql.Tx, before int64, now time.Time) (int, error) {
	var removed int64
	forgotten := column(otlp.UnixNano(now.Add(-keepRemoved)))
	for _, step := range []struct {
		query string
		args  []any
	}{
		{`DELETE FROM imports WHERE session IN (SELECT session FROM removed WHERE removed < ?)`, []any{forgotten}},
		{`DELETE FROM removed WHERE removed < ?`, []any{forgotten}},
		{
			`DELETE FROM imports WHERE session IN (SELECT session FROM traces WHERE id IN (` + oldTraces + `))`,
			[]any{before, pruneBatch},
		},
		{
			`INSERT OR REPLACE INTO removed (span_id, trace_id, host, session, directory, started, ended, removed)
			SELECT s.span_id, t.trace_id, t.host, t.session, t.directory, s.started, s.ended, ?
			FROM traces t CROSS JOIN spans s WHERE s.trace = t.id AND s.role = 1 AND t.id IN (` + oldTraces + `)`,
			[]any{column(otlp.UnixNano(now)), before, pruneBatch},
		},
		{`DELETE FROM spans WHERE trace IN (` + oldTraces + `)`, []any{before, pruneBatch}},
		{`DELETE FROM traces WHERE id IN (` + oldTraces + `)`, []any{before, pruneBatch}},
	} {
		res, err := tx.ExecContext(ctx, step.query, step.args...)
		if err != nil {
			return 0, err
		}
		if removed, err = res.RowsAffected(); err != nil {
			return 0, err
		}
	}
	if removed == 0 {
		return 0, nil
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM origins WHERE NOT EXISTS (SELECT 1 FROM spans WHERE origin = origins.id)`)
	return int(removed), err
}

// shrink cuts free pages off the file's end and empties the write-ahead log, so
// that removed texts do not stay on the disk. The log cannot be emptied while
// another process reads; a later Prune or the last Close empties it then.
func (s *Store) shrink(ctx context.Context) error {
	// Each row frees one page.
	err := eachRow(ctx, s.db, func(func(...any) error) error { return nil }, `PRAGMA incremental_vacuum`)
	if err != nil {
		return err
	}
	var blocked, logged, moved int
	return s.db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&blocked, &logged, &moved)
}

package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/otlp"
)

// keepRemoved is how long the store remembers a removed run.
const keepRemoved = 365 * 24 * time.Hour

// pruneBatch is how many traces Prune removes per transaction, so that an
// upload never waits long for the lock.
const pruneBatch = 50

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

// Outdated reports whether Prune would remove a trace.
func (s *Store) Outdated(ctx context.Context, before time.Time) (found bool, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM traces WHERE max(ended, stored) < ?)`, column(otlp.UnixNano(before))).Scan(&found)
	return found, s.wrap("find outdated traces", err)
}

// Remove removes one trace by its complete id, which an import may store again.
// It fails with ErrNotFound if no trace has the id. Resources that no span uses
// remain until the next Prune.
func (s *Store) Remove(ctx context.Context, traceID string) error {
	return s.write(ctx, "remove trace "+traceID, func(tx *sql.Tx) error {
		var id int64
		err := tx.QueryRowContext(ctx, `SELECT id FROM traces WHERE trace_id = ?`, traceID).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		return removeTrace(ctx, &prepared{on: tx}, id)
	})
}

// Delete removes all selected traces, whatever the limit, overwrites them within
// the file and returns how many they were. As after Prune, an import skips their
// runs for a year.
func (s *Store) Delete(ctx context.Context, f Filter) (total int, err error) {
	ids, err := s.ids(ctx, f, -1)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	for some := range slices.Chunk(ids, pruneBatch) {
		n := 0
		err := s.write(ctx, "delete", func(tx *sql.Tx) (err error) {
			n, err = removeTraces(ctx, tx, some, s.now())
			return err
		})
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, s.wrap("shrink", s.shrink(ctx))
}

// oldTraces selects what Prune removes at once.
const oldTraces = `SELECT id FROM traces WHERE max(ended, stored) < ? ORDER BY max(ended, stored) LIMIT ?`

func pruneSome(ctx context.Context, tx *sql.Tx, before int64, now time.Time) (int, error) {
	forgotten := column(otlp.UnixNano(now.Add(-keepRemoved)))
	for _, q := range []string{
		`DELETE FROM imports WHERE session IN (SELECT session FROM removed WHERE removed < ?)`,
		`DELETE FROM removed WHERE removed < ?`,
	} {
		if _, err := tx.ExecContext(ctx, q, forgotten); err != nil {
			return 0, err
		}
	}
	var ids []int64
	err := eachRow(ctx, tx, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		ids = append(ids, id)
		return err
	}, oldTraces, before, pruneBatch)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return removeTraces(ctx, tx, ids, now)
}

// removeTraces removes traces, of which it keeps what an import needs, and
// returns how many were there.
func removeTraces(ctx context.Context, tx *sql.Tx, ids []int64, now time.Time) (n int, err error) {
	p := &prepared{on: tx}
	for _, id := range ids {
		_, err := p.ExecContext(ctx, `
			INSERT OR REPLACE INTO removed (span_id, trace_id, host, session, directory, started, ended, removed)
			SELECT s.span_id, t.trace_id, t.host, t.session, t.directory, s.started, s.ended, ?
			FROM traces t CROSS JOIN spans s WHERE s.trace = t.id AND s.role = 1 AND t.id = ?`, column(otlp.UnixNano(now)), id)
		if err != nil {
			return n, err
		}
		switch err := removeTrace(ctx, p, id); {
		case errors.Is(err, ErrNotFound):
		case err != nil:
			return n, err
		default:
			n++
		}
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM origins WHERE NOT EXISTS (SELECT 1 FROM spans WHERE origin = origins.id)`)
	return n, err
}

func removeTrace(ctx context.Context, p *prepared, id int64) error {
	err := removeWords(ctx, p, `trace = ?1 AND id <= (SELECT indexed FROM traces WHERE id = ?1)`, id)
	if err != nil {
		return err
	}
	for _, q := range []string{
		`DELETE FROM imports WHERE session IN (SELECT session FROM traces WHERE id = ?)`,
		`DELETE FROM spans WHERE trace = ?`,
	} {
		if _, err := p.ExecContext(ctx, q, id); err != nil {
			return err
		}
	}
	res, err := p.ExecContext(ctx, `DELETE FROM traces WHERE id = ?`, id)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return cmp.Or(err, ErrNotFound)
	}
	return nil
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

// Removals is what Limit has removed.
type Removals struct {
	Traces int64 `json:"traces"`
	// Last is when it last did. It is zero if never.
	Last time.Time `json:"last,omitzero"`
}

// Removals returns what Limit has removed since the store was made.
func (s *Store) Removals(ctx context.Context) (r Removals, err error) {
	var last int64
	err = s.db.QueryRowContext(ctx, `SELECT traces, last FROM removals`).Scan(&r.Traces, &last)
	r.Last = fromColumn(last)
	return r, s.wrap("count removed traces", err)
}

// Limit removes the traces that were stored or ended first until the store has at
// most so many bytes, and returns how many it removed, of which it keeps count. If
// the bytes are zero, there is no limit.
func (s *Store) Limit(ctx context.Context, most int64) (total int, err error) {
	for most > 0 {
		used, err := s.used(ctx)
		if err != nil || used <= most {
			return total, err
		}
		n := 0
		err = s.write(ctx, "remove the oldest traces", func(tx *sql.Tx) (err error) {
			if n, err = pruneSome(ctx, tx, math.MaxInt64, s.now()); err == nil && n > 0 {
				_, err = tx.ExecContext(ctx, `UPDATE removals SET traces = traces + ?, last = ?`, n, column(otlp.UnixNano(s.now())))
			}
			return err
		})
		if total += n; err == nil {
			err = s.wrap("shrink", s.shrink(ctx))
		}
		if err != nil || n == 0 {
			return total, err
		}
	}
	return 0, nil
}

// used returns the size of the database without its free pages.
func (s *Store) used(ctx context.Context) (bytes int64, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT (page_count - freelist_count) * page_size
		FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&bytes)
	return bytes, s.wrap("measure", err)
}

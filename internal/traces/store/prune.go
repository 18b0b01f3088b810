package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hookspan/hookspan/internal/otlp"
)

// keepRemoved is how long the store remembers a removed run.
const keepRemoved = 365 * 24 * time.Hour

// pruneBatch is how many traces Limit removes at least before it measures again.
const pruneBatch = 50

// Prune removes the traces whose last span ended and was stored before the given
// time, shrinks the file and returns how many traces it removed. The age of an
// imported trace counts from its import. Prune works in small transactions: what
// it removed before an error stays removed and is counted. For a year
// Conversation and Beside still return the removed runs.
func (s *Store) Prune(ctx context.Context, before time.Time) (int, error) {
	n, err := s.removeOldest(ctx, "prune", column(otlp.UnixNano(before)), math.MaxInt, ``)
	if err == nil {
		err = s.clear(ctx)
	}
	return n, err
}

// Outdated reports whether Prune would remove a trace.
func (s *Store) Outdated(ctx context.Context, before time.Time) (found bool, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM traces WHERE max(ended, stored) < ?)`, column(otlp.UnixNano(before))).Scan(&found)
	return found, s.wrap("find outdated traces", err)
}

// Remove removes one trace by its complete id, which an import may store again.
// It fails with ErrNotFound if no trace has the id.
func (s *Store) Remove(ctx context.Context, traceID string) error {
	err := s.write(ctx, "remove trace "+traceID, func(tx *sql.Tx) error {
		p := &prepared{on: tx}
		id, err := number(ctx, p, `SELECT id FROM traces WHERE trace_id = ?`, traceID)
		switch {
		case err != nil:
			return err
		case id == 0:
			return ErrNotFound
		}
		return hide(ctx, p, id)
	})
	if err == nil {
		err = s.clear(ctx)
	}
	return err
}

// Delete removes the traces with these complete ids, overwrites them within the file
// and returns how many were there. As after Prune, an import skips their runs for a
// year.
func (s *Store) Delete(ctx context.Context, traces []string) (int, error) {
	n, err := s.inTurns(ctx, "delete", func(tx *prepared, enough func() bool) (n int, left bool, err error) {
		for ; err == nil && len(traces) > 0 && !enough(); traces = traces[1:] {
			var id int64
			if id, err = number(ctx, tx, `SELECT id FROM traces WHERE trace_id = ?`, traces[0]); id > 0 {
				n++
				err = cmp.Or(s.remember(ctx, tx, id), hide(ctx, tx, id))
			}
		}
		return n, len(traces) > 0, err
	})
	if err == nil {
		err = s.clear(ctx)
	}
	return n, err
}

// removeOldest removes the traces that ended and were stored before a time, but at most
// so many, those that were stored or ended first, and executes also, if it is set, with
// their number and the time. Their spans are still in the file.
func (s *Store) removeOldest(ctx context.Context, doing string, before int64, most int, also string) (int, error) {
	forgotten := column(otlp.UnixNano(s.now().Add(-keepRemoved)))
	_, err := s.inTurns(ctx, doing, func(tx *prepared, _ func() bool) (int, bool, error) {
		const some = `removed WHERE removed < ? ORDER BY removed, span_id LIMIT 1000)`
		_, err := tx.ExecContext(ctx, `DELETE FROM imports WHERE session IN (SELECT session FROM `+some, forgotten)
		if err != nil {
			return 0, false, err
		}
		n, err := affected(ctx, tx, `DELETE FROM removed WHERE span_id IN (SELECT span_id FROM `+some, []any{forgotten})
		return 0, n == 1000, err
	})
	if err != nil {
		return 0, err
	}
	return s.inTurns(ctx, doing, func(tx *prepared, enough func() bool) (n int, left bool, err error) {
		var ids []int64
		err = eachRow(ctx, tx, func(scan func(...any) error) error {
			var id int64
			err := scan(&id)
			ids = append(ids, id)
			return err
		}, oldTraces, before, min(most, 1000))
		for ; err == nil && n < len(ids) && !(n > 0 && enough()); n++ {
			err = cmp.Or(s.remember(ctx, tx, ids[n]), hide(ctx, tx, ids[n]))
		}
		if err == nil && also != "" {
			_, err = tx.ExecContext(ctx, also, n, column(otlp.UnixNano(s.now())))
		}
		most -= n
		return n, n > 0 && most > 0, err
	})
}

// oldTraces selects what Prune removes at once.
const oldTraces = `SELECT id FROM traces WHERE max(ended, stored) < ? ORDER BY max(ended, stored) LIMIT ?`

// remember keeps of a trace what an import needs.
func (s *Store) remember(ctx context.Context, tx *prepared, id int64) error {
	_, err := tx.ExecContext(ctx, `
		INSERT OR REPLACE INTO removed (span_id, trace_id, host, session, directory, started, ended, removed, requests)
		SELECT s.span_id, t.trace_id, t.host, t.session, `+mainFolder+`, s.started, s.ended, ?, t.requests
		FROM traces t CROSS JOIN spans s WHERE s.trace = t.id AND s.role = 1 AND t.id = ?`, column(otlp.UnixNano(s.now())), id)
	return err
}

// hide removes a trace, of which the spans stay for clear.
func hide(ctx context.Context, tx *prepared, id int64) error {
	for _, q := range []string{
		`DELETE FROM imports WHERE session IN (SELECT session FROM traces WHERE id = ?1)`,
		`INSERT INTO gone (trace, spans, indexed) SELECT id, spans, indexed FROM traces WHERE id = ?`,
		`UPDATE removals SET writes = max(writes, (SELECT writes FROM traces WHERE id = ?))`,
		`DELETE FROM traces WHERE id = ?`,
	} {
		if _, err := tx.ExecContext(ctx, q, id); err != nil {
			return err
		}
	}
	return nil
}

// clear overwrites the spans of removed traces and their words, and shrinks the file. It
// works in turns, and continues where another that was interrupted has ended.
func (s *Store) clear(ctx context.Context) error {
	var gone, spans int64
	var noted bool
	err := s.db.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(spans), 0), (`+hasNotes+`) FROM gone`).Scan(&gone, &spans, &noted)
	if err != nil || gone == 0 && !noted {
		return s.wrap("clear", err)
	}
	if spans > fewSpans {
		err = s.write(ctx, "clear", func(tx *sql.Tx) error {
			p := &prepared{on: tx}
			emptied, err := affected(ctx, p, removeEverything, nil)
			if err == nil && emptied > 0 {
				_, err = p.ExecContext(ctx, `UPDATE gone SET indexed = 0`)
				return err
			}
			all, err := number(ctx, p, `SELECT coalesce(sum(spans), 0) FROM traces`)
			if err == nil && spans*noteRatio > all {
				_, err = p.ExecContext(ctx, noteRemoved)
			}
			return err
		})
	}
	if err == nil {
		_, err = s.inTurns(ctx, "clear", func(tx *prepared, enough func() bool) (int, bool, error) {
			left, err := clearSome(ctx, tx, enough)
			return 0, left, err
		})
	}
	if err == nil {
		_, err = s.db.ExecContext(ctx, `DELETE FROM origins WHERE NOT EXISTS (SELECT 1 FROM spans WHERE origin = origins.id)`)
	}
	if err == nil {
		err = s.purgeWords(ctx)
	}
	if err == nil {
		err = s.shrink(ctx)
	}
	return s.wrap("clear", err)
}

// clearSome removes some spans of traces that are gone.
func clearSome(ctx context.Context, tx *prepared, enough func() bool) (left bool, err error) {
	ctx = context.WithoutCancel(ctx) // as in indexSome
	if _, err := useLetters(ctx, tx); err != nil {
		return false, err
	}
	room := fewSpans
	if noted, err := number(ctx, tx, hasNotes); err != nil {
		return false, err
	} else if noted == 1 {
		room = indexBatch
	}
	for room > 0 && !enough() {
		// Its spans come in the order of their ids, which is that of the index.
		var trace, indexed, last int64
		err := eachRow(ctx, tx, func(scan func(...any) error) error { return scan(&trace, &indexed) },
			`SELECT trace, indexed FROM gone ORDER BY trace LIMIT 1`)
		if err != nil || trace == 0 {
			return false, err
		}
		first := trace << numberBits
		err = eachDocument(ctx, tx, func(id int64, doc []byte) (err error) {
			if last = id; id <= indexed {
				_, err = tx.ExecContext(ctx, removeDocument, id, string(doc))
				room--
			}
			if err == nil && (room == 0 || enough()) {
				err = ErrEnough
			}
			return err
		}, `id >= ? AND id < ? ORDER BY id`, first, first+1<<numberBits)
		all := err == nil
		if all || errors.Is(err, ErrEnough) {
			_, err = tx.ExecContext(ctx, `DELETE FROM spans WHERE id >= ? AND id <= ?`, first, last)
		}
		if err == nil && all {
			_, err = tx.ExecContext(ctx, `DELETE FROM gone WHERE trace = ?`, trace)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// number returns the number that a query returns, 0 if it returns none.
func number(ctx context.Context, q querier, query string, args ...any) (n int64, err error) {
	err = eachRow(ctx, q, func(scan func(...any) error) error { return scan(&n) }, query, args...)
	return n, err
}

// shrink cuts free pages off the file's end and empties the write-ahead log, so
// that removed texts do not stay on the disk. The log cannot be emptied while
// another process reads; a later Prune or the last Close empties it then.
func (s *Store) shrink(ctx context.Context) error {
	_, err := s.inTurns(ctx, "shrink", func(tx *prepared, enough func() bool) (int, bool, error) {
		for before := int64(math.MaxInt64); ; {
			free, err := number(ctx, tx, `PRAGMA freelist_count`)
			if err != nil || free == 0 || free >= before {
				return 0, false, err
			}
			if before = free; enough() {
				return 0, true, nil
			}
			// Each row frees one page.
			if err := eachRow(ctx, tx, func(func(...any) error) error { return nil }, `PRAGMA incremental_vacuum(200)`); err != nil {
				return 0, false, err
			}
		}
	})
	if err != nil {
		return err
	}
	c, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	// TRUNCATE holds the lock of writers while it waits for readers.
	const wait = `PRAGMA busy_timeout = %d`
	var blocked, logged, moved int
	_, err = c.ExecContext(ctx, fmt.Sprintf(wait, turn.Milliseconds()))
	for _, mode := range []string{"PASSIVE", "TRUNCATE", "TRUNCATE", "TRUNCATE"} {
		if err == nil && (mode == "PASSIVE" || blocked != 0 || logged > 0) {
			err = c.QueryRowContext(ctx, `PRAGMA wal_checkpoint(`+mode+`)`).Scan(&blocked, &logged, &moved)
		}
	}
	_, reset := c.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf(wait, busyTimeout.Milliseconds()))
	return errors.Join(err, reset)
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
		var all int64
		if err := s.db.QueryRowContext(ctx, `SELECT count(*) FROM traces`).Scan(&all); err != nil {
			return total, s.wrap("count traces", err)
		}
		// Half of what seems too much: the oldest traces may be the largest.
		some := max(pruneBatch, int(float64(all)*float64(used-most)/float64(used)/2))
		n, err := s.removeOldest(ctx, "remove the oldest traces", math.MaxInt64, some, `UPDATE removals SET traces = traces + ?, last = ?`)
		if total += n; err == nil {
			err = s.clear(ctx)
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

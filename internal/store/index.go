package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// ErrIndexing reports a search while many spans are not in the full text yet, as
// after an update from a version without one.
var ErrIndexing = errors.New("the full text is not complete yet")

// indexBatch is how many spans one transaction adds to the full text, so that an
// upload never waits long for the lock.
const indexBatch = 2000

// searchWait is how long a search adds what is missing in the full text.
const searchWait = 3 * time.Second

// Index adds to the full text what uploads have stored since, for at most so long,
// and returns how many traces are left. If the time is zero, it adds all.
func (s *Store) Index(ctx context.Context, most time.Duration) (left int, err error) {
	for begin := time.Now(); ; {
		more := false
		if err := s.db.QueryRowContext(ctx, waiting+` LIMIT 1)`).Scan(&more); err != nil || !more {
			return 0, s.wrap("read full text", err)
		}
		if most > 0 && time.Since(begin) >= most {
			err := s.db.QueryRowContext(ctx, `SELECT count(*) FROM traces WHERE waiting = 1`).Scan(&left)
			return left, s.wrap("read full text", err)
		}
		if err := s.write(ctx, "add to the full text", func(tx *sql.Tx) error { return indexSome(ctx, &prepared{on: tx}) }); err != nil {
			return 0, err
		}
	}
}

const waiting = `SELECT EXISTS (SELECT 1 FROM traces WHERE waiting = 1`

// indexSome adds the words of some spans that wait.
func indexSome(ctx context.Context, tx *prepared) error {
	// Statements whose context can end cost a goroutine each.
	ctx = context.WithoutCancel(ctx)
	type trace struct{ id, indexed int64 }
	var traces []trace
	err := eachRow(ctx, tx, func(scan func(...any) error) error {
		var t trace
		err := scan(&t.id, &t.indexed)
		traces = append(traces, t)
		return err
	}, `SELECT id, indexed FROM traces WHERE waiting = 1 ORDER BY id LIMIT ?`, indexBatch)
	room := indexBatch
	for _, t := range traces {
		if err != nil || room <= 0 {
			break
		}
		n := 0
		err = eachDocument(ctx, tx, func(id int64, doc []byte) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO words (rowid, text) VALUES (?, ?)`, id, string(doc))
			t.indexed = id
			n++
			return err
		}, `id > ? AND id < ? ORDER BY id LIMIT ?`, max(t.indexed, t.id<<numberBits), (t.id+1)<<numberBits, room)
		if err == nil {
			_, err = tx.ExecContext(ctx, `UPDATE traces SET indexed = ?, waiting = ? WHERE id = ?`, t.indexed, n == room, t.id)
		}
		room -= n
	}
	return err
}

// appendWords appends the words of a span with spaces between. Another sign is
// between texts, so that no phrase spans them. The words that the index has can
// only be removed with the same result: a change needs a new index.
func appendWords(to []byte, s *tracepb.Span) []byte {
	for i, text := range textsOf(s) {
		if i > 0 {
			to = append(to, " ¶ "...)
		}
		eachWord(text, func(word []byte, _, _ int) bool {
			to = append(append(to, word...), ' ')
			return true
		})
	}
	return to
}

// textSkimmer returns a skimmer that keeps what textsOf looks at.
func textSkimmer() *otlp.Skimmer {
	return otlp.NewSkimmer(slices.Concat(spanTexts, eventTexts, []string{otelmap.KeyExceptionMessage}), nil)
}

// eachDocument calls f with the ids of the spans that a condition selects, and with
// their words. f must not keep them.
func eachDocument(ctx context.Context, tx *prepared, f func(id int64, doc []byte) error, where string, args ...any) error {
	skim := textSkimmer()
	var doc []byte
	return eachMessage(ctx, tx, func(id int64, message []byte) error {
		s, err := skim.Span(message)
		if err != nil {
			return fmt.Errorf("%w: span %d: %w", errUndecodable, id, err)
		}
		doc = appendWords(doc[:0], s)
		return f(id, doc)
	}, where, args...)
}

// removeWords removes spans from the full text, before their messages change.
func removeWords(ctx context.Context, tx *prepared, where string, args ...any) error {
	return eachDocument(ctx, tx, func(id int64, doc []byte) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)`, id, string(doc))
		return err
	}, where, args...)
}

// unchanged reports whether a span is stored as it is. If it is stored differently,
// its words are removed.
func (t *openTrace) unchanged(ctx context.Context, tx *prepared, spanID string, message []byte, origin int64) (same bool, err error) {
	var id int64
	err = eachRow(ctx, tx, func(scan func(...any) error) error {
		var old sql.RawBytes
		var oldOrigin int64
		err := scan(&id, &old, &oldOrigin)
		same = bytes.Equal(old, message) && origin == oldOrigin
		return err
	}, `SELECT id, message, origin FROM spans WHERE trace = ? AND span_id = ?`, t.id, spanID)
	if err == nil && !same && id > 0 && id <= t.indexed {
		err = removeWords(ctx, tx, `id = ?`, id)
	}
	return same, err
}

// match returns the phrases in the language of the index. They have letters and
// digits only.
func match(want []phrase) string {
	var out []string
	for _, p := range want {
		quoted := `"` + strings.Join(p.words, " ") + `"`
		if p.prefix {
			quoted += " *"
		}
		out = append(out, quoted)
	}
	return strings.Join(out, " AND ")
}

// complete adds what is missing in the full text.
func (s *Store) complete(ctx context.Context) error {
	left, err := s.Index(ctx, searchWait)
	if err == nil && left > 0 {
		err = fmt.Errorf("%w: %d traces are left: run 'hookspan flush', or try again", ErrIndexing, left)
	}
	return err
}

// traceSet is a set of traces, with the ids of the spans that a search has found
// in them, if it was one.
type traceSet map[int64][]int64

// tracesWith returns the traces that have a span with all phrases.
func tracesWith(ctx context.Context, q querier, want []phrase) (traceSet, error) {
	var ids []int64
	var id int64
	err := eachRow(ctx, q, func(scan func(...any) error) error {
		err := scan(&id)
		ids = append(ids, id)
		return err
	}, `SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid`, match(want))
	set := make(traceSet)
	for len(ids) > 0 {
		n, trace := 1, ids[0]>>numberBits
		for n < len(ids) && ids[n]>>numberBits == trace {
			n++
		}
		set[trace], ids = ids[:n], ids[n:]
	}
	return set, err
}

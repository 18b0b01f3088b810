package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"golang.org/x/text/unicode/norm"

	"github.com/hookspan/hookspan/otelmap/step"
)

// ErrIndexing reports a search while many spans are not in the full text yet, as
// after an update from a version without one.
var ErrIndexing = errors.New("the full text is not complete yet")

// indexBatch is how many spans one transaction adds to the full text, or takes out of
// it: what these write when they end is not in their turn.
const indexBatch = 500

// searchWait is how long a search adds what is missing in the full text.
const searchWait = 3 * time.Second

// Index adds to the full text what uploads have stored since, for at most so long,
// and returns how many traces are left. If the time is zero, it adds all, and completes
// a removal that was interrupted.
func (s *Store) Index(ctx context.Context, most time.Duration) (left int, err error) {
	begin := time.Now()
	late := func() bool { return most > 0 && time.Since(begin) >= most }
	more := false
	if err := s.checkLetters(ctx); err != nil {
		return 0, err
	}
	err = s.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM traces WHERE waiting = 1 LIMIT 1)`).Scan(&more)
	if err == nil && more && !late() {
		_, err = s.inTurns(ctx, "add to the full text", func(tx *prepared, enough func() bool) (int, bool, error) {
			more, err := indexSome(ctx, tx, enough)
			return 0, more && !late(), err
		})
	}
	if err == nil && late() {
		err = s.db.QueryRowContext(ctx, `SELECT count(*) FROM traces WHERE waiting = 1`).Scan(&left)
	}
	if err == nil && most == 0 {
		err = s.clear(ctx)
	}
	return left, s.wrap("full text", err)
}

// indexSome adds the words of some spans that wait.
func indexSome(ctx context.Context, tx *prepared, enough func() bool) (more bool, err error) {
	// Statements whose context can end cost a goroutine each.
	ctx = context.WithoutCancel(ctx)
	if _, err := useLetters(ctx, tx); err != nil {
		return false, err
	}
	type trace struct{ id, indexed int64 }
	var traces []trace
	err = eachRow(ctx, tx, func(scan func(...any) error) error {
		var t trace
		err := scan(&t.id, &t.indexed)
		traces = append(traces, t)
		return err
	}, `SELECT id, indexed FROM traces WHERE waiting = 1 ORDER BY id LIMIT ?`, indexBatch)
	room := indexBatch
	for i, t := range traces {
		if err != nil || room <= 0 || i > 0 && enough() {
			return true, err
		}
		n := 0
		waits := false
		err = eachDocument(ctx, tx, func(id int64, doc []byte) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO words (rowid, text) VALUES (?, ?)`, id, string(doc))
			t.indexed = id
			if n++; err == nil && (n == room || enough()) {
				waits = true
				return ErrEnough
			}
			return err
		}, `id > ? AND id < ? ORDER BY id`, max(t.indexed, t.id<<numberBits), (t.id+1)<<numberBits)
		if errors.Is(err, ErrEnough) {
			err = nil
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, `UPDATE traces SET indexed = ?, waiting = ? WHERE id = ?`, t.indexed, waits, t.id)
		}
		room -= n
	}
	return len(traces) == indexBatch, err
}

// appendWords appends the words of a span with spaces between. Another sign is
// between texts, so that no phrase spans them. The words that the index has can
// only be removed with the same result: checkLetters asks for that.
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

// letters are the versions of Go's and of x/text's tables of letters, by which words are cut.
const letters = "Unicode " + unicode.Version + ", " + norm.Version

// wordsAnew empties a full text that was made by other tables of letters: a word that
// these cut otherwise could never be removed. The next Index fills it.
const wordsAnew = `INSERT INTO words (words) VALUES ('delete-all');
UPDATE traces SET indexed = 0, waiting = 1; UPDATE gone SET indexed = 0;
DELETE FROM letters; INSERT INTO letters VALUES ('` + letters + `')`

// ownLetters reports that the tables of this program made the full text.
const ownLetters = `SELECT EXISTS (SELECT 1 FROM letters WHERE version = '` + letters + `')`

// checkLetters makes the full text anew if other tables of letters made it. Who only reads traces
// need not wait for that.
func (s *Store) checkLetters(ctx context.Context) error {
	var ok bool
	err := s.db.QueryRowContext(ctx, ownLetters).Scan(&ok)
	if err != nil || ok {
		return s.wrap("check the full text", err)
	}
	return s.write(ctx, "make the full text anew", func(tx *sql.Tx) error {
		_, err := useLetters(ctx, &prepared{on: tx})
		return err
	})
}

// useLetters is checkLetters before words are added or removed: another program may have made the
// full text anew since the store was opened. It reports whether it has emptied it.
func useLetters(ctx context.Context, tx *prepared) (emptied bool, err error) {
	own, err := number(ctx, tx, ownLetters)
	if err != nil || own == 1 {
		return false, err
	}
	for q := range strings.SplitSeq(wordsAnew, ";") { // Each is prepared.
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return false, err
		}
	}
	return true, nil
}

// eachDocument calls f with the ids of the spans that a condition selects, and with
// their words. f must not keep them.
func eachDocument(ctx context.Context, tx *prepared, f func(id int64, doc []byte) error, where string, args ...any) error {
	skim := step.NewSkimmer(textParts...)
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
		_, err := tx.ExecContext(ctx, removeDocument, id, string(doc))
		return err
	}, where, args...)
}

const removeDocument = `INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)`

// Words that are removed are searched for and overwritten at once, which takes about a
// millisecond for each span. For many spans it is quicker only to note what is removed,
// and to write the whole index anew afterwards without it, a part at a time. Until that
// is done the index itself has the note: its option secure-delete is off.
const (
	removeAtOnce = `INSERT INTO words (words, rank) VALUES ('secure-delete', 1)`
	noteRemoved  = `INSERT INTO words (words, rank) VALUES ('secure-delete', 0)`
	hasNotes     = `SELECT v = 0 FROM words_config WHERE k = 'secure-delete'`
	// isClean reports that the index consists of one part, which has no notes.
	isClean = `SELECT (SELECT min(segid) FROM words_idx) IS (SELECT max(segid) FROM words_idx)`
	// mergeSome writes at most -rank pages of the index anew, without what is noted.
	mergeSome = `INSERT INTO words (words, rank) VALUES ('merge', ?)`
	// removeEverything empties an index that has no trace's words any more.
	removeEverything = `INSERT INTO words (words) SELECT 'delete-all' WHERE NOT EXISTS (SELECT 1 FROM traces WHERE indexed > 0)`
)

// fewSpans is how many spans one transaction removes at once. More than that are noted,
// if they are more than one in noteRatio of all.
const (
	fewSpans  = 40
	noteRatio = 50
)

// purgeWords removes from the file what is only noted as removed.
func (s *Store) purgeWords(ctx context.Context) error {
	var due bool
	if err := s.db.QueryRowContext(ctx, hasNotes).Scan(&due); err != nil || !due {
		return err
	}
	_, err := s.inTurns(ctx, "write the full text anew", func(tx *prepared, enough func() bool) (int, bool, error) {
		// How much is read for a page depends on how much of it is noted.
		for pages := 1; ; pages *= 2 {
			if clean, err := number(ctx, tx, isClean); err != nil || clean == 1 {
				if err == nil {
					_, err = tx.ExecContext(ctx, removeAtOnce)
				}
				return 0, false, err
			}
			if _, err := tx.ExecContext(ctx, mergeSome, -pages); err != nil || enough() {
				return 0, true, err
			}
		}
	})
	return err
}

// unchanged reports whether a span is stored as it is. If it is stored differently,
// its words are removed.
func (t *openTrace) unchanged(ctx context.Context, spanID string, message []byte, origin int64) (same bool, err error) {
	var id int64
	err = eachRow(ctx, t.tx, func(scan func(...any) error) error {
		var old sql.RawBytes
		var oldOrigin int64
		err := scan(&id, &old, &oldOrigin)
		same = bytes.Equal(old, message) && origin == oldOrigin
		return err
	}, `SELECT id, message, origin FROM spans WHERE trace = ? AND span_id = ?`, t.id, spanID)
	if err == nil && !same && id > 0 && id <= t.indexed {
		if t.unindexed == 0 {
			if emptied, err := useLetters(ctx, t.tx); emptied || err != nil {
				for _, other := range slices.Concat(slices.Collect(maps.Values(t.traces))...) {
					other.indexed = 0
				}
				return same, err
			}
		}
		if t.unindexed++; t.unindexed == fewSpans {
			_, err = t.tx.ExecContext(ctx, noteRemoved)
		}
		if err == nil {
			err = removeWords(ctx, t.tx, `id = ?`, id)
		}
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

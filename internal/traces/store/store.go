package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/spool"
)

// busyTimeout is how long a statement waits for another process's lock. An
// upload holds it for milliseconds, so that a hundred sessions can end at once.
const busyTimeout = 10 * time.Second

// busyPause is the time between two attempts at what SQLite itself does not
// wait for.
const busyPause = 10 * time.Millisecond

// Store is an open trace store. All methods may be used from several
// goroutines, and several processes may have one file open.
type Store struct {
	// Now is the clock, set before the first use. If nil, time.Now.
	Now func() time.Time

	path string
	// counts reports that uploads count what they store, repository that they do so by the repository.
	counts, repository atomic.Bool
	// hadSums reports that the store has counted before it was opened.
	hadSums bool
	db      *sql.DB
	// queries are statements that thousands of sessions need.
	queries prepared
}

// Open opens the store in the file path and creates it if it is missing: the
// folder with mode 0700, the file with mode 0600. It restricts wider permissions
// of a file. It fails with ErrDamaged, ErrForeign or ErrNewer on a file that it must not
// change.
func Open(ctx context.Context, path string) (*Store, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("trace store %q: %w", path, err)
	}
	if err := makeFile(abs); err != nil {
		return nil, err
	}
	connector, err := sqlite.NewConnector(dsn(abs))
	if err != nil {
		return nil, fmt.Errorf("trace store %q: %w", abs, err)
	}
	s := &Store{path: abs, db: sql.OpenDB(connector)}
	s.db.SetMaxOpenConns(4)
	s.queries.on = s.db
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

// Start does nothing. With Stop and UploadTraces it makes a Store an
// otlptrace.Client.
func (s *Store) Start(context.Context) error { return nil }

// Stop closes the store.
func (s *Store) Stop(context.Context) error { return s.Close() }

// Close closes the file. Every upload was complete when it returned.
func (s *Store) Close() error {
	return s.wrap("close", s.db.Close())
}

// Stats counts what is stored.
type Stats struct {
	Traces int64 `json:"traces"`
	Spans  int64 `json:"spans"`
	// Newest is the start of the newest trace. It is zero in an empty store.
	Newest time.Time `json:"newest,omitzero"`
	// Bytes is the size on the disk.
	Bytes int64 `json:"bytes"`
	// Partial counts the traces to which something is missing.
	Partial int64 `json:"partial,omitempty"`
	// Limited is what Limit has removed.
	Limited Removals `json:"removed_by_limit,omitzero"`
}

// Stats counts what is stored.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	var st Stats
	var newest sql.NullInt64
	err := s.db.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(spans), 0), max(started), count(*) FILTER (WHERE evidence = 'partial') FROM traces`).
		Scan(&st.Traces, &st.Spans, &newest, &st.Partial)
	st.Newest = fromColumn(newest.Int64)
	if err != nil {
		return st, s.wrap("count traces", err)
	}
	if st.Bytes, err = s.Size(ctx); err == nil {
		st.Limited, err = s.Removals(ctx)
	}
	return st, err
}

// makeFile creates the file before SQLite does, because SQLite would give it
// the mode that the umask leaves. The -wal and -shm files inherit the mode. A
// file that is there is not opened: closing it would end the locks that other
// connections of this process have on it.
func makeFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make folder of trace store %q: %w", path, err)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		// It gets the name when it is closed.
		if err = atomicfile.Create(path, nil, atomicfile.Options{Sync: atomicfile.SyncNone}); err == nil || errors.Is(err, fs.ErrExist) {
			info, err = os.Stat(path)
		}
	}
	if err == nil {
		err = regular.Check(path, info)
	}
	// Windows shows every writable file as 0666 and keeps access elsewhere.
	if err == nil && info.Mode().Perm()&0o077 != 0 && filepath.Separator != '\\' {
		err = os.Chmod(path, info.Mode().Perm()&0o700)
	}
	if err != nil {
		return fmt.Errorf("open trace store %q: %w", path, err)
	}
	return nil
}

// dsn is the SQLite URI of the file with what every connection needs.
//
// synchronous is FULL although write-ahead logging is consistent with NORMAL
// too: an acknowledged upload lets the spool drop its events, so a power cut must
// not undo it. An upload is one transaction, hence one fsync, in a background
// process. fullfsync makes that fsync reach the disk on macOS and has no effect
// elsewhere. secure_delete overwrites the prompts and results that are removed.
func dsn(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	q := url.Values{
		"_txlock": {"immediate"},
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
			"synchronous(FULL)",
			"fullfsync(1)",
			"secure_delete(1)",
			"journal_size_limit(16777216)",
		},
		"_defensive": {"1"},
		"_dqs":       {"0"},
		"_error_rc":  {"1"},
	}
	return (&url.URL{Scheme: "file", Path: p, RawQuery: q.Encode()}).String()
}

// prepare checks the file before it changes anything: the journal mode is in the
// file's header.
func (s *Store) prepare(ctx context.Context) error {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return s.wrap("open", err)
	}
	defer func() { _ = c.Close() }()

	var h header
	err = retryBusy(ctx, func() error {
		tx, err := c.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer rollback(tx)
		h, err = readHeader(ctx, tx)
		return err
	})
	if err != nil {
		return s.wrap("read header", err)
	}
	if err := h.check(); err != nil {
		return s.wrap("open", err)
	}
	if h.fresh() {
		// SQLite syncs no more than the folder that the file is in.
		if err := spool.SyncAbove(s.path); err != nil {
			return s.wrap("sync folders of", err)
		}
		// Both need a database without tables. Prune can shrink the file, and most spans
		// fill more than half of a page of the usual 4 KiB: the rest would be empty.
		if _, err := c.ExecContext(ctx, `PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL`); err != nil {
			return s.wrap("set up", err)
		}
	}
	// Write-ahead logging lets readers and a writer work at once. On a file
	// system without it SQLite keeps the rollback journal, which is slower and as
	// safe. The switch needs exclusive access and does not wait for it.
	err = retryBusy(ctx, func() error {
		var mode string
		return c.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode)
	})
	if err != nil {
		return s.wrap("set journal mode", err)
	}
	if !h.fresh() {
		s.hadSums = h.sums
		return nil
	}
	return s.create(ctx)
}

// retryBusy runs f until it returns an error other than "locked", for at most
// busyTimeout.
func retryBusy(ctx context.Context, f func() error) error {
	for tries := int(busyTimeout / busyPause); ; tries-- {
		err := f()
		if !busy(err) || tries <= 0 {
			return err
		}
		t := time.NewTimer(busyPause)
		select {
		case <-ctx.Done():
			t.Stop()
			return errors.Join(ctx.Err(), err)
		case <-t.C:
		}
	}
}

// write runs f in a transaction that can write.
func (s *Store) write(ctx context.Context, doing string, f func(*sql.Tx) error) error {
	tx, err := s.begin(ctx, nil)
	if err == nil {
		defer rollback(tx)
		err = f(tx)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = tx.Commit()
	}
	return s.wrap(doing, err)
}

// turn is how long a long work holds the lock at once, about, and pause how long it
// leaves it to others: long enough for all that SQLite has wait, which look again after
// 25 ms at first.
const (
	turn  = 40 * time.Millisecond
	pause = 30 * time.Millisecond
)

// inTurns runs f in one transaction after the other until it reports that nothing is
// left, and returns the sum of its counts. f ends when enough reports that its turn is
// over.
func (s *Store) inTurns(ctx context.Context, doing string, f func(tx *prepared, enough func() bool) (n int, left bool, err error)) (total int, err error) {
	for left := true; left; {
		n := 0
		err := s.write(ctx, doing, func(tx *sql.Tx) (err error) {
			begin := time.Now()
			n, left, err = f(&prepared{on: tx}, func() bool { return time.Since(begin) > turn })
			return err
		})
		if err != nil {
			return total, err
		}
		if total += n; left {
			select {
			case <-ctx.Done():
				return total, s.wrap(doing, ctx.Err())
			case <-time.After(pause):
			}
		}
	}
	return total, nil
}

// begin begins a transaction. The context ends the wait for the lock, and not the
// transaction: database/sql would wait for open rows then, and a statement that runs
// for each row would wait for database/sql.
func (s *Store) begin(ctx context.Context, o *sql.TxOptions) (*sql.Tx, error) {
	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	began := context.AfterFunc(ctx, cancel)
	tx, err := s.db.BeginTx(waiting, o)
	if !began() && err == nil {
		rollback(tx)
		err = ctx.Err()
	}
	return tx, err
}

// rollback ends a transaction that was not committed. After a commit it does
// nothing.
func rollback(tx *sql.Tx) { _ = tx.Rollback() }

func (s *Store) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// prepared executes the statements of a transaction or of all connections, each
// prepared once.
type prepared struct {
	on interface {
		PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	}
	mu sync.Mutex
	// byText has the statements by their text. They are closed with on.
	byText map[string]*sql.Stmt
}

func (p *prepared) statement(ctx context.Context, query string) (stmt *sql.Stmt, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if stmt = p.byText[query]; stmt != nil {
		return stmt, nil
	}
	if stmt, err = p.on.PrepareContext(ctx, query); err != nil {
		return nil, err
	}
	if p.byText == nil {
		p.byText = make(map[string]*sql.Stmt)
	}
	p.byText[query] = stmt
	return stmt, nil
}

func (p *prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := p.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

func (p *prepared) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := p.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

// eachRow calls f for each row of a query, with a function that scans the row.
func eachRow(ctx context.Context, q querier, f func(scan func(...any) error) error, query string, args ...any) (err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

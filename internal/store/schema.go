package store

import (
	"context"
	"database/sql"
	"fmt"
)

// applicationID is in the header of every trace store ("hksp"), so that a
// database of another program is not mistaken for one.
const applicationID = 0x686b7370

// migrations are the steps from each version of the schema to the next; the
// version is in the header (PRAGMA user_version). The first step creates the
// newest version in an empty file. A released step is never edited.
var migrations = []migration{
	{sql: createTraces + createRemoved + createSpans},
	{sql: `ALTER TABLE traces ADD COLUMN stored INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE traces ADD COLUMN tools_unknown INTEGER NOT NULL DEFAULT 0;
	DROP INDEX traces_ended;
	CREATE INDEX traces_kept ON traces (max(ended, stored));` + createRemoved},
	{sql: `DROP INDEX spans_roots;
	DROP INDEX spans_origin;
	ALTER TABLE origins RENAME TO origins_json;
	ALTER TABLE spans RENAME TO spans_json;` + createSpans, convert: convertJSON},
}

// migration is a step to the next version of the schema.
type migration struct {
	sql string
	// convert, if set, runs after sql.
	convert func(context.Context, *sql.Tx) error
}

// All times are nanoseconds since 1970, 0 if unknown.
const (
	// traces holds a summary of each trace, updated in the transaction that stores
	// its spans. stored is when a span was last stored or changed; version 1 did
	// not have it.
	createTraces = `
	CREATE TABLE traces (
		id            INTEGER PRIMARY KEY,
		trace_id      TEXT NOT NULL UNIQUE,
		host          TEXT NOT NULL DEFAULT '',
		session       TEXT NOT NULL DEFAULT '',
		title         TEXT NOT NULL DEFAULT '',
		model         TEXT NOT NULL DEFAULT '',
		directory     TEXT NOT NULL DEFAULT '',
		outcome       TEXT NOT NULL DEFAULT '',
		runs          INTEGER NOT NULL DEFAULT 0,
		started       INTEGER NOT NULL DEFAULT 0,
		ended         INTEGER NOT NULL DEFAULT 0,
		stored        INTEGER NOT NULL DEFAULT 0,
		spans         INTEGER NOT NULL DEFAULT 0,
		tools         INTEGER NOT NULL DEFAULT 0,
		tool_failures INTEGER NOT NULL DEFAULT 0,
		tools_unknown INTEGER NOT NULL DEFAULT 0,
		input         INTEGER,
		output        INTEGER,
		cache_read    INTEGER,
		cache_write   INTEGER,
		cost          REAL
	) STRICT;
	CREATE INDEX traces_started ON traces (started, trace_id);
	CREATE INDEX traces_session ON traces (session, started, trace_id);
	CREATE INDEX traces_outcome ON traces (outcome, started, trace_id);
	CREATE INDEX traces_kept    ON traces (max(ended, stored));`

	// removed holds the runs that Prune has removed, without any text.
	createRemoved = `
	CREATE TABLE removed (
		span_id   TEXT PRIMARY KEY,
		trace_id  TEXT NOT NULL,
		host      TEXT NOT NULL,
		session   TEXT NOT NULL,
		directory TEXT NOT NULL,
		started   INTEGER NOT NULL,
		ended     INTEGER NOT NULL,
		removed   INTEGER NOT NULL
	) STRICT, WITHOUT ROWID;
	CREATE INDEX removed_session ON removed (session);
	CREATE INDEX removed_place   ON removed (directory, started);
	CREATE INDEX removed_removed ON removed (removed);`

	// origins holds each distinct resource with its instrumentation scope: a
	// ResourceSpans message without spans. spans holds each span's message, with
	// the columns that a summary needs. Until version 2 both held JSON, in a column
	// called body.
	createSpans = `
	CREATE TABLE origins (
		id      INTEGER PRIMARY KEY,
		message BLOB NOT NULL UNIQUE
	) STRICT;
	CREATE TABLE spans (
		trace       INTEGER NOT NULL REFERENCES traces (id),
		span_id     TEXT NOT NULL,
		parent_id   TEXT NOT NULL,
		origin      INTEGER NOT NULL REFERENCES origins (id),
		started     INTEGER NOT NULL,
		ended       INTEGER NOT NULL,
		role        INTEGER NOT NULL,
		failed      INTEGER NOT NULL,
		model       TEXT NOT NULL,
		input       INTEGER,
		output      INTEGER,
		cache_read  INTEGER,
		cache_write INTEGER,
		cost        REAL,
		message     BLOB NOT NULL,
		PRIMARY KEY (trace, span_id)
	) STRICT;
	CREATE INDEX spans_roots  ON spans (trace, started) WHERE role = 1;
	CREATE INDEX spans_origin ON spans (origin);`
)

// header identifies a database file.
type header struct {
	application int64
	version     int
	tables      int
}

// readHeader needs a transaction: between two separate statements another
// process could create the tables of a new file, which would then look like
// another program's database.
func readHeader(ctx context.Context, tx *sql.Tx) (header, error) {
	var h header
	if err := tx.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&h.application); err != nil {
		return h, err
	}
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&h.version); err != nil {
		return h, err
	}
	err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&h.tables)
	return h, err
}

// fresh reports whether the file is new and empty.
func (h header) fresh() bool { return h.application == 0 && h.version == 0 && h.tables == 0 }

// check rejects files that this program must not change. known is the newest
// version of the schema that it understands.
func (h header) check(path string, known int) error {
	switch {
	case h.fresh():
		return nil
	case h.application != applicationID:
		return fmt.Errorf("trace store %q: %w: it is a SQLite database of another program "+
			"(application id %d, want %d): give another path", path, ErrForeign, h.application, applicationID)
	case h.version > known:
		return fmt.Errorf("trace store %q: %w: the file has schema version %d, this hookspan reads up to %d: "+
			"update hookspan, or give another path", path, ErrNewer, h.version, known)
	}
	return nil
}

// migrate brings the schema up to date, in one transaction. If several processes
// open a file at once, one migrates it and the others find it done.
func (s *Store) migrate(ctx context.Context, steps []migration) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.wrap("begin migration", err)
	}
	defer rollback(tx)
	h, err := readHeader(ctx, tx)
	if err != nil {
		return s.wrap("read header", err)
	}
	newest := len(steps)
	if err := h.check(s.path, newest); err != nil || h.version == newest {
		return err
	}
	steps, first := steps[h.version:], h.version
	if h.fresh() {
		steps = steps[:1]
	}
	for i, step := range steps {
		_, err := tx.ExecContext(ctx, step.sql)
		if err == nil && step.convert != nil {
			err = step.convert(ctx, tx)
		}
		if err != nil {
			return s.wrap(fmt.Sprintf("migrate the schema to version %d", first+i+1), err)
		}
	}
	// PRAGMA takes no parameters.
	for _, p := range []string{
		fmt.Sprintf(`PRAGMA application_id = %d`, applicationID),
		fmt.Sprintf(`PRAGMA user_version = %d`, newest),
	} {
		if _, err := tx.ExecContext(ctx, p); err != nil {
			return s.wrap("write header", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return s.wrap("commit migration", err)
	}
	return nil
}

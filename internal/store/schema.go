package store

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
)

// applicationID is in the header of every trace store ("hksp"), so that a
// database of another program is not mistaken for one.
const applicationID = 0x686b7370

// migrations are the steps from each version of the schema to the next; the
// version is in the header (PRAGMA user_version). The first step creates the
// newest version in an empty file. A released step is never edited.
var migrations = []migration{
	{sql: createTraces + createRemoved + createSpans + createImports + createHooks + createWords + createRemovals + createGone},
	{sql: `ALTER TABLE traces ADD COLUMN stored INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE traces ADD COLUMN tools_unknown INTEGER NOT NULL DEFAULT 0;
	DROP INDEX traces_ended;
	CREATE INDEX traces_kept ON traces (max(ended, stored));
	` + createRemoved},
	{sql: `DROP INDEX spans_roots;
	DROP INDEX spans_origin;
	ALTER TABLE origins RENAME TO origins_json;
	ALTER TABLE spans RENAME TO spans_json;
	` + createSpans3, convert: convertJSON},
	{sql: createImports},
	{sql: `DROP INDEX spans_roots;
	DROP INDEX spans_origin;
	ALTER TABLE spans RENAME TO spans_old;
	ALTER TABLE origins RENAME TO origins_old;
	` + createSpans + createHooks + `
	ALTER TABLE traces ADD COLUMN facts BLOB NOT NULL DEFAULT x'';
	ALTER TABLE traces ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE traces ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0;
	UPDATE traces SET waiting = 1;
	` + createWords + createRemovals + `
	INSERT INTO origins SELECT id, message FROM origins_old;
	INSERT INTO spans SELECT trace << 24 | row_number() OVER (PARTITION BY trace ORDER BY rowid),
		trace, span_id, parent_id, origin, started, ended, role, message FROM spans_old;
	DROP TABLE spans_old;
	DROP TABLE origins_old;`, convert: digestAll},
	{sql: `ALTER TABLE traces ADD COLUMN tool_denials INTEGER NOT NULL DEFAULT 0`, convert: countDenials},
	{sql: createGone},
	{sql: `ALTER TABLE traces ADD COLUMN evidence TEXT NOT NULL DEFAULT '';
	ALTER TABLE traces ADD COLUMN missing TEXT NOT NULL DEFAULT ''`},
}

// migration is a step to the next version of the schema.
type migration struct {
	sql string
	// convert, if set, runs after sql.
	convert func(context.Context, *sql.Tx) error
}

var (
	//go:embed schema/traces.sql
	createTraces string
	//go:embed schema/removed.sql
	createRemoved string
	//go:embed schema/spans.sql
	createSpans string
	//go:embed schema/spans3.sql
	createSpans3 string
	//go:embed schema/removals.sql
	createRemovals string
	//go:embed schema/words.sql
	createWords string
	//go:embed schema/hooks.sql
	createHooks string
	//go:embed schema/gone.sql
	createGone string
	//go:embed schema/imports.sql
	createImports string
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
func (h header) check(known int) error {
	switch {
	case h.fresh():
		return nil
	case h.application != applicationID:
		return fmt.Errorf("%w: it is a SQLite database of another program "+
			"(application id %d, want %d): give another path", ErrForeign, h.application, applicationID)
	case h.version > known:
		return fmt.Errorf("%w: the file has schema version %d, this hookspan reads up to %d: "+
			"update hookspan, or give another path", ErrNewer, h.version, known)
	}
	return nil
}

// migrate brings the schema up to date, in one transaction. If several processes
// open a file at once, one migrates it and the others find it done.
func (s *Store) migrate(ctx context.Context, steps []migration) error {
	return s.write(ctx, "open", func(tx *sql.Tx) error {
		newest := len(steps)
		h, err := readHeader(ctx, tx)
		if err == nil {
			err = h.check(newest)
		}
		if err != nil || h.version == newest {
			return err
		}
		due := steps[h.version:]
		if h.fresh() {
			due = steps[:1]
		}
		for i, step := range due {
			_, err := tx.ExecContext(ctx, step.sql)
			if err == nil && step.convert != nil {
				err = step.convert(ctx, tx)
			}
			if err != nil {
				return fmt.Errorf("migrate the schema to version %d: %w", h.version+i+1, err)
			}
		}
		// PRAGMA takes no parameters.
		_, err = tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d`, applicationID, newest))
		return err
	})
}

package store

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
)

// applicationID is in the header of every trace store ("hks1"), so that a
// database of another program is not mistaken for one.
const applicationID = 0x686b7331

// schemaVersion is the version of the tables, in the header (PRAGMA user_version).
const schemaVersion = 1

// createTables makes the tables in an empty file.
var createTables = createTraces + createRemoved + createSpans + createImports + createHooks + createCommits + createWords + createRemovals + createGone + createOwed + createReadings //nolint:gosec // All are this package's.

var (
	//go:embed schema/traces.sql
	createTraces string
	//go:embed schema/removed.sql
	createRemoved string
	//go:embed schema/spans.sql
	createSpans string
	//go:embed schema/removals.sql
	createRemovals string
	//go:embed schema/words.sql
	createWords string
	//go:embed schema/hooks.sql
	createHooks string
	//go:embed schema/commits.sql
	createCommits string
	//go:embed schema/gone.sql
	createGone string
	//go:embed schema/imports.sql
	createImports string
	//go:embed schema/owed.sql
	createOwed string
	//go:embed schema/readings.sql
	createReadings string
	// createMetrics is for a store that counts.
	//go:embed schema/metrics.sql
	createMetrics string
)

// header identifies a database file.
type header struct {
	application int64
	version     int
	tables      int
	// sums reports that the store has counted for metrics.
	sums bool
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
	err := tx.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE name = 'metrics') > 0 FROM sqlite_schema`).Scan(&h.tables, &h.sums)
	return h, err
}

// fresh reports whether the file is new and empty.
func (h header) fresh() bool { return h.application == 0 && h.version == 0 && h.tables == 0 }

// check rejects files that this program must not change.
func (h header) check() error {
	switch {
	case h.fresh():
		return nil
	case h.application != applicationID:
		return fmt.Errorf("%w: it is a SQLite database of another program "+
			"(application id %d, want %d): give another path", ErrForeign, h.application, applicationID)
	case h.version > schemaVersion:
		return fmt.Errorf("%w: the file has schema version %d, this hookspan reads up to %d: "+
			"update hookspan, or give another path", ErrNewer, h.version, schemaVersion)
	}
	return nil
}

// create makes the tables of a new file, in one transaction. If several processes open
// a file at once, one makes them and the others find them.
func (s *Store) create(ctx context.Context) error {
	return s.write(ctx, "open", func(tx *sql.Tx) error {
		h, err := readHeader(ctx, tx)
		if err == nil {
			err = h.check()
		}
		if err != nil || !h.fresh() {
			return err
		}
		if _, err := tx.ExecContext(ctx, createTables+wordsAnew); err != nil {
			return fmt.Errorf("make the tables: %w", err)
		}
		// PRAGMA takes no parameters.
		_, err = tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d`, applicationID, schemaVersion))
		return err
	})
}

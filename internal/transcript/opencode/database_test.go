package opencode

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/opencodetest"
	"github.com/hookspan/hookspan/internal/transcript"
)

var reader = Agent(hook.AgentOf(hook.HostOpencode))

// tables are those of opencode that are read, with one session.
const tables = `
	CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, version TEXT, agent TEXT, time_created INTEGER, time_updated INTEGER);
	CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
	CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
	INSERT INTO session VALUES ('ses_1', NULL, '/a', '1', NULL, 1, 1);
	INSERT INTO message VALUES ('m', 'ses_1', 1, 1, '{"role":"user"}');`

// endless counts for ever.
const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) `

// TestDatabaseThatComputesItsRowsIsRefused puts what has no end in the place of each table.
func TestDatabaseThatComputesItsRowsIsRefused(t *testing.T) {
	for name, statements := range map[string]string{
		"an endless session":    `DROP TABLE session; CREATE VIEW session AS ` + endless + `SELECT 'ses_' || i AS id, NULL AS parent_id, '' AS directory, '' AS version, '' AS agent, i AS time_created, i AS time_updated FROM n`,
		"an endless message":    `DROP TABLE message; CREATE VIEW message AS ` + endless + `SELECT i AS id, 'ses_1' AS session_id, i AS time_created, i AS time_updated, '{}' AS data FROM n`,
		"an endless part":       `DROP TABLE part; CREATE VIEW Part AS ` + endless + `SELECT i AS id, i AS message_id, 'ses_1' AS session_id, i AS time_created, i AS time_updated, '{}' AS data FROM n`,
		"a virtual table":       `DROP TABLE message; CREATE VIRTUAL TABLE message USING fts5 (id, session_id, time_created, time_updated, data)`,
		"a generated column":    `DROP TABLE message; CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT AS (hex(zeroblob(1000000))))`,
		"a generated directory": `ALTER TABLE session DROP COLUMN directory; ALTER TABLE session ADD COLUMN directory TEXT AS (hex(zeroblob(1000000)))`,
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, "opencode.db")
			opencodetest.Exec(t, path, tables+statements)
			f := &transcript.Files{Home: home, Getenv: func(key string) string { return map[string]string{"OPENCODE_DB": path}[key] }, Now: time.Now}
			if tr, err := reader.Read(t.Context(), f, transcript.Query{Session: "ses_1"}); tr != nil || err == nil || !strings.Contains(err.Error(), "not a plain table") {
				t.Errorf("read %+v, %v, want an error", tr, err)
			}
			if found, err := reader.Sessions(t.Context(), f); len(found) != 0 || err != nil {
				t.Errorf("found %+v, %v", found, err)
			}
		})
	}
}

// TestDatabaseIsReadWithinLimits reads more rows, bytes and seconds than allowed.
func TestDatabaseIsReadWithinLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	opencodetest.Exec(t, path, tables+`
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500)
		INSERT INTO part SELECT i, 'm', 'ses_1', i, i, '{"type":"text","text":"' || hex(zeroblob(5000)) || '"}' FROM n`)
	for name, c := range map[string]struct {
		left limits
		want string
	}{
		"enough":        {standard, ""},
		"too many rows": {limits{time: time.Minute, bytes: 1 << 30, rows: 400}, "more than"},
		"too large":     {limits{time: time.Minute, bytes: 4 << 20, rows: 1000}, "more than"},
		"too long":      {limits{time: time.Nanosecond, bytes: 1 << 30, rows: 1000}, "longer than"},
	} {
		f := &transcript.Files{Getenv: func(string) string { return "" }, Now: time.Now}
		db, err := open(t.Context(), path, c.left)
		if err == nil {
			_, err = readSession(t.Context(), f, db, transcript.Query{Session: "ses_1"})
			_ = db.Close()
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	// A session may take all that is left, and no more.
	read := func(left limits) (limits, error) {
		f := &transcript.Files{Getenv: func(string) string { return "" }, Now: time.Now}
		db, err := open(t.Context(), path, left)
		if err != nil {
			return left, err
		}
		defer db.Close() //nolint:errcheck // The test has ended.
		_, err = readSession(t.Context(), f, db, transcript.Query{Session: "ses_1"})
		return db.left, err
	}
	left, err := read(standard)
	if err != nil {
		t.Fatal(err)
	}
	rows, bytes := standard.rows-left.rows, standard.bytes-left.bytes
	for _, less := range []int{0, 1} {
		if _, err := read(limits{time: time.Minute, bytes: standard.bytes, rows: rows - less}); (err == nil) != (less == 0) {
			t.Errorf("%d rows fewer than needed: %v", less, err)
		}
		if _, err := read(limits{time: time.Minute, bytes: bytes - int64(less), rows: standard.rows}); (err == nil) != (less == 0) {
			t.Errorf("%d bytes fewer than needed: %v", less, err)
		}
	}
	// A query without an end, as if a table could be one.
	db, err := open(t.Context(), path, limits{time: 200 * time.Millisecond, bytes: 1 << 30, rows: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // The test has ended.
	var n int64
	if err := db.each(t.Context(), endless+`SELECT count(*) FROM n`, nil, []any{&n}, func() bool { return true }); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("endless: %v", err)
	}
}

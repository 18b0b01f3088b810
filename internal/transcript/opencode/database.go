package opencode

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/transcript"
)

// maxRow bounds a row of the database, in bytes. Longer ones are skipped.
const maxRow = transcript.MaxLine

// limits is what may still be read of a database, which another program has written.
type limits struct {
	time  time.Duration
	bytes int64
	rows  int
}

// standard are the limits of one reading.
var standard = limits{time: 30 * time.Second, bytes: 1 << 30, rows: 1_000_000}

// database is an open database.
type database struct {
	*sql.DB
	path string
	left limits
	// began is when reading began.
	began time.Time
	// has are the tables that are there, and TABLE.COLUMN for their columns.
	has map[string]bool
	// since are the size and the time of a file that no log was beside, zero for another.
	since os.FileInfo
	// most is how many rows there may be, zero while that is not known.
	most float64
}

// changed reports that opencode has begun to write to a database that was read as if no
// program did.
func (d *database) changed() bool {
	if d.since == nil {
		return false
	}
	info, err := os.Stat(d.path)
	return err != nil || info.Size() != d.since.Size() || !info.ModTime().Equal(d.since.ModTime()) || written(logOf(d.path))
}

// databases lists the files that may be the agent's database: a version from a channel
// has a separate one, which in a fork can have opencode's name.
func (a agent) databases(f *transcript.Files) (files []string, places transcript.Folders) {
	places.Add(f.Getenv("XDG_DATA_HOME"), a.Word)
	places.Add(f.Home, ".local", "share", a.Word)
	named := f.Getenv(a.Folders[0])
	if filepath.IsAbs(named) {
		files = append(files, named)
	}
	for _, dir := range places {
		if named != "" && !filepath.IsAbs(named) {
			files = append(files, filepath.Join(dir, named)) // to which it is relative
		}
		entries, _ := os.ReadDir(dir) // a folder that cannot be listed has none
		for _, e := range entries {
			name := e.Name()
			if filepath.Ext(name) == ".db" && (strings.HasPrefix(name, a.Word) || strings.HasPrefix(name, "opencode")) {
				files = append(files, filepath.Join(dir, name))
			}
		}
	}
	return files, places
}

// open opens a database for reading. While opencode runs, and after it was killed, there
// is a write-ahead log beside the file, and SQLite takes its shared lock, which keeps
// no writer from writing. Without a log nothing is locked or created. The file is only
// opened by SQLite: closing it would end the locks of another connection of this process.
func open(ctx context.Context, path string, l limits) (*database, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = regular.Check(path, info)
	}
	if err != nil {
		return nil, transcript.ReadError(path, err)
	}
	options := url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)", "trusted_schema(0)", "busy_timeout(2000)"}}
	if !written(logOf(path)) {
		options.Set("immutable", "1")
	} else {
		info = nil
	}
	place := filepath.ToSlash(path)
	if !strings.HasPrefix(place, "/") {
		place = "/" + place // a drive of Windows
	}
	name := url.URL{Scheme: "file", Path: place, RawQuery: options.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, transcript.ReadError(path, err)
	}
	db.SetMaxOpenConns(1)
	d := &database{DB: db, path: path, left: l, began: time.Now(), since: info}
	if err := d.check(ctx); err != nil {
		_ = db.Close() // read only
		return nil, err
	}
	return d, nil
}

// logOf is the place of a database's write-ahead log: SQLite keeps it beside the file that a link
// leads to.
func logOf(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return path + "-wal"
}

// written reports that a database's log has something, or cannot be looked at.
func written(log string) bool {
	info, err := os.Stat(log)
	return !errors.Is(err, fs.ErrNotExist) && (err != nil || info.Size() > 0)
}

// check refuses what computes rows instead of storing them: a view, a virtual table or a
// generated column can be endless.
func (d *database) check(ctx context.Context) error {
	var name string
	var found error
	const ours = `('session', 'message', 'part', 'session_v2', 'session_message')`
	err := d.each(ctx, `SELECT name FROM sqlite_schema s WHERE name COLLATE NOCASE IN `+ours+` AND (type <> 'table' OR rootpage = 0
		OR EXISTS (SELECT 1 FROM pragma_table_xinfo(s.name) WHERE hidden <> 0))`, nil, []any{&name}, func() bool {
		found = transcript.ReadError(d.path, fmt.Errorf("%q is not a plain table: want opencode's database", name))
		return false
	})
	if err = cmp.Or(err, found); err != nil {
		return err
	}
	d.has = make(map[string]bool)
	return d.each(ctx, `SELECT s.name || '.' || c.name FROM sqlite_schema s JOIN pragma_table_info(s.name) c WHERE s.name IN `+ours, nil, []any{&name}, func() bool {
		table, _, _ := strings.Cut(name, ".")
		d.has[table], d.has[name] = true, true
		return true
	})
}

// each calls row for every row of a query until it returns false. scan are the columns.
// It ends with an error at the limits of the database.
func (d *database) each(ctx context.Context, query string, args, scan []any, row func() bool) error {
	within, cancel := context.WithDeadline(ctx, d.began.Add(d.left.time))
	defer cancel()
	failed := func(err error) error {
		if within.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("it takes longer than %v", d.left.time)
		}
		return transcript.ReadError(d.path, err)
	}
	rows, err := d.QueryContext(within, query, args...)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = rows.Close() }() // read only
	for rows.Next() {
		if err := rows.Scan(scan...); err != nil {
			return failed(fmt.Errorf("a row is not opencode's: %w", err))
		}
		size := 0
		for _, column := range scan {
			if text, ok := column.(*string); ok {
				size += len(*text)
			}
		}
		if err := d.take(1, int64(size)); err != nil {
			return err
		}
		if !row() {
			break
		}
	}
	if err := rows.Err(); err != nil {
		return failed(err)
	}
	return nil
}

// small reports a file that cannot have more than may still be read: the numbers of its rows, which
// SQLite finds without reading them, bound how many there are.
func (d *database) small(ctx context.Context) bool {
	if d.since == nil || d.since.Size() > d.left.bytes {
		return false
	}
	if d.most == 0 {
		d.most = 1
		for _, table := range [...]string{"message", "part", "session_message"} {
			var most float64
			query := `SELECT 1.0 + coalesce((SELECT max(rowid) FROM ` + table + `) - (SELECT min(rowid) FROM ` + table + `), 0)`
			if d.has[table] && d.QueryRowContext(ctx, query).Scan(&most) != nil {
				most = math.Inf(1) // a table without such numbers
			}
			d.most += most
		}
	}
	return d.most <= float64(d.left.rows)
}

// take counts what is read.
func (d *database) take(rows int, bytes int64) error {
	d.left.rows -= rows
	d.left.bytes -= bytes
	if d.left.rows < 0 || d.left.bytes < 0 {
		return transcript.ReadError(d.path, fmt.Errorf("it has more than %d rows or %d MiB to read", standard.rows, standard.bytes>>20))
	}
	return nil
}

package opencode

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

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/hookspan/hookspan/internal/transcript"
)

// maxRow bounds a row of the database, in bytes. Longer ones are skipped.
const maxRow = transcript.MaxLine

// databases lists the files that may be opencode's database: a version from a channel
// has one of its own.
func databases(f *transcript.Files) (files []string, places transcript.Folders) {
	places.Add(f.Getenv("XDG_DATA_HOME"), "opencode")
	places.Add(f.Home, ".local", "share", "opencode")
	if named := f.Getenv("OPENCODE_DB"); filepath.IsAbs(named) {
		files = append(files, named)
	}
	for _, dir := range places {
		entries, _ := os.ReadDir(dir) // a folder that cannot be listed has none
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "opencode") && strings.HasSuffix(e.Name(), ".db") {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	return files, places
}

// open opens a database for reading. While opencode runs, and after it was killed, there
// is a write-ahead log beside the file, and SQLite takes its shared lock, which keeps
// no writer from writing. Without a log nothing is locked or created.
func open(ctx context.Context, f *transcript.Files, path string) (*sql.DB, error) {
	file, err := f.Open(ctx, path, 0) // refuses what is not a regular file
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, transcript.ReadError(path, err)
	}
	options := url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)", "trusted_schema(0)", "busy_timeout(2000)"}}
	if log, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) || err == nil && log.Size() == 0 {
		options.Set("immutable", "1")
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
	return db, nil
}

// each calls row for every row of a query until it returns false. scan are the columns.
func each(ctx context.Context, db *sql.DB, path, query string, args, scan []any, row func() bool) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return transcript.ReadError(path, err)
	}
	defer func() { _ = rows.Close() }() // read only
	for rows.Next() {
		if err := rows.Scan(scan...); err != nil {
			return transcript.ReadError(path, fmt.Errorf("a row is not opencode's: %w", err))
		}
		if !row() {
			break
		}
	}
	if err := rows.Err(); err != nil {
		return transcript.ReadError(path, err)
	}
	return nil
}

package store

import (
	"context"
	"database/sql"
)

// Import is what an import found in the files of a session whose runs are all
// known: it need not read them again until Stamp changes.
type Import struct {
	// Session, Host and Dialect identify the files.
	Session, Host, Dialect string
	// Stamp is the state of the files.
	Stamp string
	// Directory is the session's working directory.
	Directory string
	// There, Captured and Removed count the runs that are stored, that hooks
	// reported, and that Prune has removed.
	There, Captured, Removed int
}

// Imports returns what NoteImports recorded for an agent. What concerns a session
// is dropped when Prune or Remove removes one of its traces, or forgets a run.
func (s *Store) Imports(ctx context.Context, host string) (out []Import, err error) {
	err = eachRow(ctx, s.db, func(scan func(...any) error) error {
		i := Import{Host: host}
		err := scan(&i.Session, &i.Dialect, &i.Stamp, &i.Directory, &i.There, &i.Captured, &i.Removed)
		out = append(out, i)
		return err
	}, `SELECT session, dialect, stamp, directory, there, captured, removed FROM imports WHERE host = ?`, host)
	return out, s.wrap("read imports", err)
}

// NoteImports records imports in the place of earlier ones of the same files.
func (s *Store) NoteImports(ctx context.Context, imports []Import) error {
	return s.write(ctx, "note imports", func(tx *sql.Tx) error {
		p := &prepared{on: tx}
		for _, i := range imports {
			_, err := p.ExecContext(ctx, `INSERT OR REPLACE INTO imports
				(session, host, dialect, stamp, directory, there, captured, removed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
				i.Session, i.Host, i.Dialect, i.Stamp, i.Directory, i.There, i.Captured, i.Removed)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

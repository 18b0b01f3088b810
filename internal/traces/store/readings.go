package store

import (
	"context"
	"database/sql"
)

// Reading returns what NoteReading recorded of an agent's files for a reader, in the same version
// of the program; empty if there is nothing.
func (s *Store) Reading(ctx context.Context, host, reader, version string) (notes string, err error) {
	err = eachRow(ctx, s.db, func(scan func(...any) error) error { return scan(&notes) },
		`SELECT notes FROM readings WHERE host = ? AND reader = ? AND version = ?`, host, reader, version)
	return notes, s.wrap("read notes about files", err)
}

// NoteReading records what a reader noted of an agent's files, in the place of what it noted before.
func (s *Store) NoteReading(ctx context.Context, host, reader, version, notes string) error {
	return s.write(ctx, "note a reading", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO readings (host, reader, version, notes) VALUES (?, ?, ?, ?)`, host, reader, version, notes)
		return err
	})
}

// Written returns the state of an agent's traces by their sessions: one that is stored, changed
// or deleted changes that of each session with a run in it.
func (s *Store) Written(ctx context.Context, host string) (states map[string]string, err error) {
	states = make(map[string]string)
	err = eachRow(ctx, s.db, func(scan func(...any) error) error {
		var session, state string
		err := scan(&session, &state)
		states[session] = state
		return err
	}, `SELECT session, count(*) || '/' || sum(writes) FROM traces WHERE host = ? GROUP BY session`, host)
	return states, s.wrap("read the state of traces", err)
}

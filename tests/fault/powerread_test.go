package fault_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// decoders read the two hosts' records as the programs do.
var decoders = map[string]func(*spool.Record) ([]hook.Event, error){
	cline.Host:  func(r *spool.Record) ([]hook.Event, error) { return cline.Decode(raw(r)) },
	claude.Host: func(r *spool.Record) ([]hook.Event, error) { return claude.Decode(raw(r)) },
}

func raw(r *spool.Record) hook.Raw {
	return hook.Raw{
		Payload: r.Payload, Event: r.Event, StoredAt: r.At, Offset: r.Offset,
		Cwd: r.Cwd, TraceParent: r.TraceParent,
	}
}

// logRead is what a session's log holds.
type logRead struct {
	records []*spool.Record
	damage  []spool.Damage
	tail    spool.Damage
	torn    bool
	unknown int
}

// openSession opens a session of the spool in dir. What is closed by the second
// value is both.
func openSession(dir string, k spool.Key) (*spool.Session, func() error, error) {
	sp, err := spool.Open(dir, spool.Options{})
	if err != nil {
		return nil, nil, err
	}
	s, err := sp.Session(k)
	if err != nil {
		return nil, nil, errors.Join(err, sp.Close())
	}
	return s, func() error { return errors.Join(s.Close(), sp.Close()) }, nil
}

// readLog reads a session's log from its beginning.
func readLog(s *spool.Session) (l logRead, err error) {
	r, err := s.Reader(0)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for r.Next() {
		l.records = append(l.records, r.Record())
	}
	l.damage, l.unknown = r.Damage(), r.Unknown()
	l.tail, l.torn = r.Tail()
	return l, r.Err()
}

// runsOf maps the records of one session to runs, each with its spans.
func runsOf(host string, records []*spool.Record, now time.Time) map[string]tracetest.SpanStubs {
	out := make(map[string]tracetest.SpanStubs)
	if len(records) == 0 {
		return out
	}
	b := otelmap.NewBuilder(host, records[0].Session, otelmap.Options{}, otelmap.Carry{})
	for _, rec := range records {
		events, _ := decoders[host](rec) // what cannot be decoded makes no span
		for _, e := range events {
			if e.Session != "" {
				b.Add(e)
			}
		}
	}
	for _, r := range b.Runs(now) {
		if r.Ended && !r.Repeated {
			out[r.ID.String()] = b.Spans(r, nil)
		}
	}
	return out
}

// spanID names a span.
func spanID(s tracetest.SpanStub) string {
	return s.SpanContext.TraceID().String() + "/" + s.SpanContext.SpanID().String()
}

// delivered is what came of deliverAll.
type delivered struct {
	// lines are what the Deliverer logged.
	lines []string
}

// deliverAll delivers the spool below a state folder to its store and to a file,
// as `hookspan flush` does by hand, at a moment of its own.
func deliverAll(ctx context.Context, state, file string, now time.Time) (d delivered, err error) {
	sp, err := spool.Open(filepath.Join(state, "spool"), spool.Options{})
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, sp.Close()) }()
	st, err := store.Open(ctx, filepath.Join(state, "traces.db"))
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	lines, err := deliver.NewFile(ctx, file)
	if err != nil {
		return d, err
	}
	sources := make(map[string]deliver.Source)
	for host, decode := range decoders {
		sources[host] = deliver.Source{Decode: decode}
	}
	all := &deliver.Deliverer{
		Spool: sp, Sources: sources, SyncLog: true,
		Destinations: []deliver.Destination{{Name: "store", Exporter: st, Local: true}, {Name: "file", Exporter: lines}},
		Now:          func() time.Time { return now },
		Sleep:        func(context.Context, time.Duration) error { return errors.New("a delivery at leisure waits for nothing") },
		Log:          func(line string) { d.lines = append(d.lines, line) },
	}
	results, err := all.Run(ctx, deliver.Pass{Force: true, Wait: true, Elsewhere: true})
	for _, r := range results {
		if r.Waiting > 0 || r.Parked > 0 || len(r.Errors) > 0 {
			err = errors.Join(err, fmt.Errorf("%s: %d waiting, %d refused: %v", r.Destination, r.Waiting, r.Parked, r.Errors))
		}
	}
	return d, err
}

// storedSpans looks into a trace store without the program that made it: the
// spans of a session, or of all where the session is empty, and what SQLite
// says of the file.
func storedSpans(ctx context.Context, path, session string) (ids map[string]bool, integrity string, err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check`).Scan(&integrity); err != nil {
		return nil, "", err
	}
	rows, err := db.QueryContext(ctx, `SELECT t.trace_id, s.span_id FROM spans s JOIN traces t ON s.trace = t.id
		WHERE ? = '' OR t.session = ?`, session, session)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	ids = make(map[string]bool)
	for rows.Next() {
		var trace, span string
		if err := rows.Scan(&trace, &span); err != nil {
			return nil, "", err
		}
		ids[trace+"/"+span] = true
	}
	return ids, integrity, rows.Err()
}

package store

import (
	"context"
	"database/sql"
	"errors"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// Owed is an imported trace that a destination has not answered for.
type Owed struct {
	// Destination is its name, Trace the id of the task, Session as in Summary.
	Destination, Trace, Session string
	// Place is that of Owing.
	Place string
}

// Owing stores spans as UploadTraces does, and in the same transaction that the
// destinations are owed their traces: until Settle, or until the trace is removed.
type Owing struct {
	Store        *Store
	Destinations []string
	// Place identifies the settings by which the destinations are found.
	Place string
}

// UploadTraces stores spans.
func (o Owing) UploadTraces(ctx context.Context, messages []*tracepb.ResourceSpans) error {
	if len(o.Destinations) == 0 {
		return o.Store.UploadTraces(ctx, messages)
	}
	return o.Store.upload(ctx, messages, func(tx *prepared) error {
		traces := make(map[string]bool)
		var ids []string
		for span := range otlp.Spans(messages) {
			if id := TaskID(span); step.Of(span).Kind() == step.KindRun && !traces[id] {
				traces[id] = true
				ids = append(ids, id)
			}
		}
		_, err := tx.ExecContext(context.WithoutCancel(ctx), `INSERT OR REPLACE INTO owed (trace, destination, place)
			SELECT t.id, d.value, ?3 FROM traces t JOIN json_each(?2) d WHERE t.trace_id IN (SELECT value FROM json_each(?1))`,
			rawjson.Encode(ids), rawjson.Encode(o.Destinations), o.Place)
		return err
	})
}

// Owed returns what a destination, or if the name is empty each, is owed, by session and
// time.
func (s *Store) Owed(ctx context.Context, destination string) (out []Owed, err error) {
	err = eachRow(ctx, s.db, func(scan func(...any) error) error {
		var o Owed
		err := scan(&o.Destination, &o.Trace, &o.Session, &o.Place)
		out = append(out, o)
		return err
	}, `SELECT o.destination, t.trace_id, t.session, o.place FROM owed o CROSS JOIN traces t
		WHERE t.id = o.trace AND ?1 IN ('', o.destination) ORDER BY t.session, t.started, t.trace_id`, destination)
	return out, s.wrap("read what is owed", err)
}

// Settle notes that a destination has answered for traces.
func (s *Store) Settle(ctx context.Context, destination string, traces []string) error {
	if len(traces) == 0 {
		return nil
	}
	return s.write(ctx, "note answers", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM owed WHERE destination = ?1
			AND trace IN (SELECT id FROM traces WHERE trace_id IN (SELECT value FROM json_each(?2)))`, destination, rawjson.Encode(traces))
		return err
	})
}

// NoteLess notes how much of a trace's texts destinations get at most. The strictest counts.
func (s *Store) NoteLess(ctx context.Context, trace string, less map[string]otelmap.Capture) error {
	return s.write(ctx, "note captures", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO less SELECT ?1, key, value FROM json_each(?2) WHERE true
			ON CONFLICT DO UPDATE SET capture = excluded.capture WHERE excluded.capture = 'none'`, trace, rawjson.Encode(less))
		return err
	})
}

// Less returns how much of a trace's texts a destination gets at most, "" for all.
func (s *Store) Less(ctx context.Context, trace, destination string) (c otelmap.Capture, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT capture FROM less WHERE trace_id = substr(?1, 1, 32) AND destination = ?2`, trace, destination).Scan(&c)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return c, s.wrap("read captures", err)
}

package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"io"
	"math"
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/traces/sums"
)

// Measure makes this Store count what it stores from now on, before its first upload: each upload
// adds to the sums of the metrics, in its transaction, what its traces have grown by. Each trace has
// what it has added so far, so that spans that come again add nothing, and those that come late or
// corrected add the difference. What was counted stays counted when the trace is removed; what
// comes of a trace after that is not counted. Nor is a trace that is imported, or of which a part was
// stored without being counted. With repository that of the request or call, or else the trace's, is an attribute of each series.
func (s *Store) Measure(ctx context.Context, repository bool) error {
	s.repository.Store(repository)
	if !s.hadSums {
		err := s.write(ctx, "make the metrics' tables", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, createMetrics, column(otlp.UnixNano(s.now())))
			return err
		})
		if err != nil {
			return err
		}
	}
	s.counts.Store(true)
	return nil
}

// hasSums reports whether the store has ever counted.
func (s *Store) hasSums(ctx context.Context) (bool, error) {
	n, err := number(ctx, s.db, `SELECT count(*) FROM sqlite_schema WHERE name = 'metrics'`)
	return n > 0, s.wrap("look for the metrics' tables", err)
}

// maxSeries is how many series an instrument has at most, besides the one that takes the rest.
const maxSeries = 1000

// storedSeries is a series during an upload.
type storedSeries struct {
	series sums.Series
	id     int64
	total  []int64
	grown  bool
}

// count counts what the upload has changed of the trace.
func (t *openTrace) count(ctx context.Context, repository bool) error {
	added, agree, counts, err := t.added(ctx)
	if err != nil || !counts {
		return err
	}
	origin, agreed := t.changed[0].origin, agree
	add := func(to sums.Counts, s *tracepb.Span) {
		var more []string
		if repository {
			more = sums.Repository(origin, s, t.root.Span)
		}
		to.Add(sums.Service(origin), s, more...)
	}
	grown := make(sums.Counts)
	if agree && !t.replaced {
		for _, r := range t.changed {
			add(grown, r.Span)
		}
		grown, err = t.bounded(ctx, grown)
	} else {
		want := make(sums.Counts)
		err = eachSpan(ctx, t.tx, func(_ int64, s *tracepb.Span) error { add(want, s); return nil }, ofTrace, t.id)
		if err == nil {
			want, err = t.bounded(ctx, want)
		}
		grown, agree = sums.Growth(added, want)
	}
	if err != nil {
		return err
	}
	for s, n := range grown {
		added.Put(s, n...)
		one := t.series[s]
		one.total, one.grown = sums.Sum(one.total, n), true
	}
	var blob []byte
	for s, n := range added {
		blob = appendCounts(binary.AppendVarint(blob, t.series[s].id), n)
	}
	if agreed && !agree {
		t.shrunk++
	}
	_, err = t.tx.ExecContext(ctx, `INSERT OR REPLACE INTO counted (trace, counts, agree) VALUES (?, ?, ?)`, t.id, blob, agree)
	return err
}

// added returns what the trace has added so far, whether its spans say the same, and whether it
// counts at all.
func (t *openTrace) added(ctx context.Context) (added sums.Counts, agree, counts bool, err error) {
	added = make(sums.Counts)
	if t.spans == 0 {
		for _, r := range t.changed {
			if !sums.Counted(r.Span) {
				return nil, false, false, nil
			}
		}
		some, known := t.removed[t.session]
		if !known {
			some, err = number(ctx, t.tx, `SELECT EXISTS (SELECT 1 FROM removed WHERE session = ?)`, t.session)
			t.removed[t.session] = some
		}
		if some > 0 && err == nil { // removed has the task's id.
			some, err = number(ctx, t.tx, `SELECT count(*) FROM removed WHERE session = ? AND substr(trace_id, 1, 32) = ?`,
				t.session, otlp.TraceID(t.changed[0].Span))
		}
		return added, true, some == 0, err
	}
	var blob []byte
	err = eachRow(ctx, t.tx, func(scan func(...any) error) error { counts = true; return scan(&blob, &agree) },
		`SELECT counts, agree FROM counted WHERE trace = ?`, t.id)
	for err == nil && len(blob) > 0 {
		id, size := binary.Varint(blob)
		var n []int64
		n, blob = readCounts(blob[max(size, 0):])
		var s sums.Series
		err = eachRow(ctx, t.tx, func(scan func(...any) error) error { return scan(&s.Instrument, &s.Service, &s.Attributes) },
			`SELECT instrument, service, attributes FROM series WHERE id = ?`, id)
		if err == nil {
			_, err = t.find(ctx, s)
		}
		added.Put(s, n...)
	}
	return added, agree, counts, err
}

// bounded finds or makes the series of counts, and moves to those that take the rest what is
// too much.
func (u *uploading) bounded(ctx context.Context, counts sums.Counts) (sums.Counts, error) {
	out := make(sums.Counts)
	if err := u.load(ctx, counts); err != nil {
		return nil, err
	}
	for s, n := range counts {
		one, err := u.find(ctx, s)
		if err != nil {
			return nil, err
		}
		out.Put(one.series, n...)
	}
	return out, nil
}

// load reads series at once: one by one takes longer than to store a trace.
func (u *uploading) load(ctx context.Context, counts sums.Counts) error {
	var asked []byte
	for s := range counts {
		if u.series[s] == nil {
			asked = strconv.AppendInt(append(asked, ','), key(s), 10)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return eachRow(ctx, u.tx, func(scan func(...any) error) error {
		one := &storedSeries{}
		var blob []byte
		err := scan(&one.id, &blob, &one.series.Instrument, &one.series.Service, &one.series.Attributes)
		one.total, _ = readCounts(blob)
		u.series[one.series] = one
		return err
	}, `SELECT series.id, counts, instrument, service, attributes FROM json_each(?) j CROSS JOIN series WHERE series.key = j.value`,
		"["+string(asked[1:])+"]")
}

// key is a hash of a series, which others may have.
func key(s sums.Series) int64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, s.Instrument+"\x00"+s.Service+"\x00"+s.Attributes)
	return int64(h.Sum64()) //nolint:gosec // Any number does.
}

// find returns a series, or makes it. If there are too many, it returns that which takes the rest.
func (u *uploading) find(ctx context.Context, s sums.Series) (*storedSeries, error) {
	if one := u.series[s]; one != nil {
		return one, nil
	}
	one := &storedSeries{series: s}
	var blob []byte
	err := eachRow(ctx, u.tx, func(scan func(...any) error) error { return scan(&one.id, &blob) },
		`SELECT id, counts FROM series WHERE instrument = ? AND service = ? AND attributes = ?`, s.Instrument, s.Service, s.Attributes)
	one.total, _ = readCounts(blob)
	if err == nil && one.id == 0 {
		var n int64
		n, err = number(ctx, u.tx, `SELECT count(*) FROM series WHERE instrument = ?`, s.Instrument)
		if rest := s.Overflowing(); err == nil && n >= maxSeries && s != rest {
			one, err = u.find(ctx, rest)
		} else if err == nil {
			var res sql.Result
			res, err = u.tx.ExecContext(ctx, `INSERT INTO series (key, instrument, service, attributes, counts) VALUES (?, ?, ?, ?, x'00')`, key(s), s.Instrument, s.Service, s.Attributes)
			if err == nil {
				one.id, err = res.LastInsertId()
			}
		}
	}
	u.series[s] = one
	return one, err
}

// writeSeries writes the series that have grown.
func (u *uploading) writeSeries(ctx context.Context) (err error) {
	var grown [][2]any
	for _, one := range u.series {
		if one.grown {
			grown = append(grown, [2]any{one.id, hex.EncodeToString(appendCounts(nil, one.total))})
			one.grown = false
		}
	}
	if len(grown) > 0 {
		_, err = u.tx.ExecContext(ctx, `UPDATE series SET counts = unhex(value ->> 1) FROM json_each(?) j WHERE series.id = j.value ->> 0`, rawjson.Encode(grown))
	}
	if err == nil && len(grown)+u.shrunk > 0 {
		_, err = u.tx.ExecContext(ctx, `UPDATE metrics SET version = version + ?, shrunk = shrunk + ?`, min(1, len(grown)), u.shrunk)
	}
	return err
}

// appendCounts encodes numbers: how many are not zero, and of each its place and itself.
func appendCounts(b []byte, n []int64) []byte {
	some := 0
	for _, v := range n {
		if v != 0 {
			some++
		}
	}
	b = binary.AppendVarint(b, int64(some))
	for i, v := range n {
		if v != 0 {
			b = binary.AppendVarint(binary.AppendVarint(b, int64(i)), v)
		}
	}
	return b
}

// readCounts decodes numbers, and returns what follows them.
func readCounts(b []byte) (n []int64, rest []byte) {
	read := func() int64 {
		v, size := binary.Varint(b)
		b = b[max(size, 0):]
		return v
	}
	for left := read(); left > 0 && len(b) > 0; left-- {
		if i, v := read(), read(); i >= 0 && i <= math.MaxUint8 {
			one := make([]int64, i+1)
			one[i] = v
			n = sums.Sum(n, one)
		}
	}
	return n, b
}

// Sums is what was counted, for one destination.
type Sums struct {
	// Instance identifies this store, Started is when it began to count. Both are empty before that.
	Instance string
	Started  time.Time
	// Reported is the time of the newest report that the destination has acknowledged, zero if none.
	Reported time.Time
	// Version is that of all series together. It rises with each upload that adds to them.
	Version int64
	// Shrunk counts the uploads that said less of a trace than was counted, which stays counted.
	Shrunk int64
	// Points are in the order that sums.Form.Encode wants.
	Points []sums.Point
}

// Unreported reports whether something was counted that the destination at a place has not acknowledged, and
// the time of its newest report, zero if there is none. It is for a Store that counts.
func (s *Store) Unreported(ctx context.Context, place string) (some bool, reported time.Time, err error) {
	var at int64
	err = eachRow(ctx, &s.queries, func(scan func(...any) error) error { return scan(&some, &at) },
		`SELECT m.version > coalesce(r.version, 0), coalesce(r.at, 0) FROM metrics m LEFT JOIN reports r ON r.place = ?`, place)
	return some, fromColumn(at), s.wrap("look for new sums", err)
}

// Sums returns what was counted, and what of it the destination at a place has acknowledged.
func (s *Store) Sums(ctx context.Context, place string) (out Sums, err error) {
	there := s.counts.Load()
	if !there {
		there, err = s.hasSums(ctx)
	}
	if !there || err != nil {
		return out, err
	}
	var started, reported int64
	err = eachRow(ctx, s.db, func(scan func(...any) error) error { return scan(&out.Instance, &started, &out.Shrunk, &reported) },
		`SELECT instance, started, shrunk, coalesce((SELECT at FROM reports WHERE place = ?), 0) FROM metrics`, place)
	out.Started, out.Reported = fromColumn(started), fromColumn(reported)
	if err == nil {
		err = eachRow(ctx, s.db, func(scan func(...any) error) error {
			var p sums.Point
			var total, acknowledged []byte
			err := scan(&out.Version, &p.ID, &p.Series.Service, &p.Series.Instrument, &p.Series.Attributes, &total, &acknowledged)
			p.Total, _ = readCounts(total)
			p.Acknowledged, _ = readCounts(acknowledged)
			out.Points = append(out.Points, p)
			return err
		}, `SELECT (SELECT version FROM metrics), s.id, s.service, s.instrument, s.attributes, s.counts, coalesce(a.counts, x'')
			FROM series s LEFT JOIN acknowledged a ON a.place = ? AND a.series = s.id ORDER BY s.service, s.instrument, s.attributes`, place)
	}
	return out, s.wrap("read the metrics' sums", err)
}

// Form returns how the points are sent at a time. No report is of an earlier time than the one
// before, which a destination would refuse: the clock may have been set back.
func (s *Sums) Form(now time.Time, delta bool) sums.Form {
	f := sums.Form{Instance: s.Instance, Delta: delta, At: now, Since: s.Started}
	if earliest := s.Reported.Add(time.Millisecond); !s.Reported.IsZero() && now.Before(earliest) {
		f.At = earliest
	}
	if delta && !s.Reported.IsZero() {
		f.Since = s.Reported
	}
	if latest := f.At.Add(-time.Millisecond); f.Since.After(latest) {
		f.Since = latest
	}
	return f
}

// Acknowledge notes that the destination at a place has the totals of points, which were sent in a
// form, and with them those of all series in a version, 0 if more are to be sent. What waits for the full text
// is added in the same transaction: each takes as long as the disk needs.
func (s *Store) Acknowledge(ctx context.Context, place string, f sums.Form, points []sums.Point, version int64) error {
	var taken [][2]any
	for i := range points {
		if points[i].Grown() {
			taken = append(taken, [2]any{points[i].ID, hex.EncodeToString(appendCounts(nil, points[i].Total))})
		}
	}
	note := func(tx *sql.Tx) (*prepared, error) {
		p := &prepared{on: tx}
		_, err := p.ExecContext(ctx, `INSERT INTO reports (place, at, version) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET at = excluded.at, version = max(version, excluded.version)`, place, column(otlp.UnixNano(f.At)), version)
		if err == nil && len(taken) > 0 {
			_, err = p.ExecContext(ctx, `INSERT OR REPLACE INTO acknowledged SELECT ?, value ->> 0, unhex(value ->> 1) FROM json_each(?)`, place, rawjson.Encode(taken))
		}
		if err == nil {
			_, err = p.ExecContext(ctx, `UPDATE metrics SET started = ?1 WHERE started > ?1`, column(otlp.UnixNano(f.Since)))
		}
		return p, err
	}
	const doing = "note which metrics were taken"
	err := s.write(ctx, doing, func(tx *sql.Tx) error {
		p, err := note(tx)
		if begin := time.Now(); err == nil {
			_, err = indexSome(ctx, p, func() bool { return time.Since(begin) > turn })
		}
		return err
	})
	if err != nil {
		err = s.write(ctx, doing, func(tx *sql.Tx) error { _, err := note(tx); return err })
	}
	return err
}

package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/otlp"
)

// where returns the conditions on the columns of traces. The planner finds an
// index for them, because only restricted columns are named.
func (f Filter) where() (string, []any) {
	var where []string
	var args []any
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	// No text comes after the greatest character.
	const end = "\U0010ffff"
	if f.Session != "" {
		add(`t.session >= ? AND t.session < ?`, f.Session, f.Session+end)
	}
	if trace := strings.ToLower(f.Trace); trace != "" {
		add(`t.trace_id >= ? AND t.trace_id < ?`, trace, trace+end)
	}
	if f.Host != "" {
		add(`t.host = ?`, f.Host)
	}
	if f.Outcome != "" {
		add(`t.outcome = ?`, f.Outcome)
	}
	if dir := f.Directory; dir == "/" {
		add(`t.directory >= '/' AND t.directory < '0'`) // '0' comes after '/'
	} else if dir != "" {
		if len(dir) > 1 {
			dir = strings.TrimRight(dir, `/\`)
		}
		add(`(t.directory = ? OR t.directory >= ? AND t.directory < ? OR t.directory >= ? AND t.directory < ?)`,
			dir, dir+"/", dir+"0", dir+`\`, dir+"]")
	}
	if !f.Since.IsZero() {
		add(`t.started >= ?`, column(otlp.UnixNano(f.Since)))
	}
	if !f.Until.IsZero() {
		add(`t.started < ?`, column(otlp.UnixNano(f.Until)))
	}
	if len(where) == 0 {
		return "", nil
	}
	return ` WHERE ` + strings.Join(where, ` AND `), args
}

// found is a trace that a filter selects.
type found struct {
	id int64
	Summary
	// digest is set if the filter or the caller needs it. It is used again for the
	// next trace.
	digest *digest
}

// enough ends a scan.
var enough = errors.New("enough")

// scan calls visit with the traces that a filter selects, the newest first,
// whatever its limit.
func (s *Store) scan(ctx context.Context, q querier, f Filter, needDigest bool, visit func(*found) error) error {
	inText := func(int64) (bool, error) { return true, nil }
	if f.Text != "" {
		want, err := phrases(f.Text)
		if err != nil {
			return err
		}
		if inText, err = tracesWith(ctx, q, want); err != nil {
			return err
		}
	}
	byDigest := f.Model != "" || f.Tool != "" || f.Failed || f.Denied
	where, args := f.where()
	var t found
	var d digest
	var reader digestReader
	var facts []byte
	if byDigest || needDigest {
		t.digest = &d
	}
	same := make(map[string]bool) // models and tools that the filter selects
	err := eachRow(ctx, q, func(scan func(...any) error) error {
		err := scanSummary(func(targets ...any) error { return scan(append(targets, &t.id, &facts)...) }, &t.Summary)
		if err == nil && t.digest != nil {
			err = reader.decode(facts, &d)
		}
		if err != nil || byDigest && !f.selects(&t, same) {
			return err
		}
		if ok, err := inText(t.id); err != nil || !ok {
			return err
		}
		return visit(&t)
	}, `SELECT `+summaryColumns+`, id, facts FROM traces t`+where+` ORDER BY started DESC, trace_id DESC`, args...)
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

// selects reports whether a trace meets the conditions on its digest. same caches
// which names the filter means.
func (f Filter) selects(t *found, same map[string]bool) bool {
	means := func(key, name string, test func() bool) bool {
		is, ok := same[key+name]
		if !ok {
			is = test()
			same[key+name] = is
		}
		return is
	}
	if f.Model != "" {
		isModel := func(name string) bool {
			return means("model ", name, func() bool { return sameModel(name, f.Model) })
		}
		if !isModel(t.Model) && !slices.ContainsFunc(t.digest.models, func(m modelDigest) bool { return isModel(m.name) }) {
			return false
		}
	}
	if f.Tool != "" && !slices.ContainsFunc(t.digest.tools, func(c callsDigest) bool {
		return means("tool ", c.name, func() bool { return strings.EqualFold(c.name, f.Tool) })
	}) {
		return false
	}
	if f.Failed || f.Denied {
		calls := t.digest.calls()
		return (!f.Failed || calls.failed > 0 || t.digest.badRun) && (!f.Denied || calls.denied > 0)
	}
	return true
}

// Count returns how many traces the filter selects without its limit.
func (s *Store) Count(ctx context.Context, f Filter) (n int, err error) {
	err = s.scan(ctx, s.db, f, false, func(*found) error { n++; return nil })
	return n, s.wrap("count traces", err)
}

// List returns the summaries of the selected traces, the newest first.
func (s *Store) List(ctx context.Context, f Filter) (out []Summary, err error) {
	limit := f.limited()
	err = s.scan(ctx, s.db, f, false, func(t *found) error {
		if out = append(out, t.Summary); len(out) == limit {
			return enough
		}
		return nil
	})
	return out, s.wrap("list traces", err)
}

// ids returns the selected traces, up to the limit.
func (s *Store) ids(ctx context.Context, f Filter, limit int) (out []int64, err error) {
	err = s.scan(ctx, s.db, f, false, func(t *found) error {
		if out = append(out, t.id); len(out) == limit {
			return enough
		}
		return nil
	})
	return out, s.wrap("find traces", err)
}

// Each calls visit with the selected traces, the newest first, until it returns an
// error. Traces that are removed meanwhile are left out.
func (s *Store) Each(ctx context.Context, f Filter, visit func(*Trace) error) error {
	ids, err := s.ids(ctx, f, f.limited())
	for _, id := range ids {
		if err != nil {
			return err
		}
		var t *Trace
		if t, err = s.traceByID(ctx, id); t != nil && err == nil {
			err = visit(t)
		}
	}
	return err
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
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
	switch {
	case f.Session == "" && !f.Whole:
	case f.Whole:
		add(`t.session = ?`, f.Session)
	default:
		add(`t.session >= ? AND t.session < ?`, f.Session, f.Session+end)
	}
	if f.Trace != "" {
		condition, of := ofTask(f.Trace)
		add(condition, of...)
	}
	if f.Host != "" {
		add(`t.host = ?`, f.Host)
	}
	if f.Branch != "" {
		add(`t.branch = ?`, f.Branch)
	}
	if commit := strings.ToLower(f.Commit); commit != "" {
		add(`t.id IN (SELECT s.trace FROM commits c CROSS JOIN spans s ON s.id = c.span WHERE c.id >= ? AND c.id < ?)`, commit, commit+end)
	}
	if f.Among != "" {
		add(`t.trace_id IN `+inList, f.Among)
	}
	if f.Outcome != "" {
		add(`t.outcome = ?`, f.Outcome)
	}
	var folders []string
	var names []any
	for _, dir := range f.directories() {
		if dir == "/" {
			folders = append(folders, `d.value >= '/' AND d.value < '0'`) // '0' comes after '/'
		} else {
			if len(dir) > 1 {
				dir = strings.TrimRight(dir, `/\`)
			}
			column := `d.value`
			if dir = otelmap.Folder(dir); otelmap.OnDrive(dir) {
				column += ` COLLATE NOCASE`
				dir = strings.TrimRight(dir, `\`)
			}
			folders = append(folders, column+` = ? OR `+column+` >= ? AND `+column+` < ? OR `+column+` >= ? AND `+column+` < ?`)
			names = append(names, dir, dir+"/", dir+"0", dir+`\`, dir+"]")
		}
	}
	if f.Directory != "" {
		in := strings.Join(folders, ` OR `)
		add(`(`+strings.ReplaceAll(in, `d.value`, `t.directory`)+` OR t.folders <> '' AND EXISTS (SELECT 1 FROM json_each(t.folders) d WHERE `+in+`))`,
			slices.Concat(names, names)...)
	}
	if !f.Since.IsZero() {
		add(`t.started >= ?`, column(otlp.UnixNano(f.Since)))
	}
	if !f.Ended.IsZero() {
		add(`t.ended >= ?`, column(otlp.UnixNano(f.Ended)))
	}
	if !f.Until.IsZero() {
		add(`t.started < ?`, column(otlp.UnixNano(f.Until)))
	}
	if len(where) == 0 {
		return "", nil
	}
	return ` WHERE ` + strings.Join(where, ` AND `), args
}

// found is a trace that a filter selects. Its Summary has the members of digest.sum
// and the times.
type found struct {
	id int64
	Summary
	// spans are those that have the filter's Text.
	spans []int64
	// digest is used again for the next trace.
	digest *digest
}

// ErrEnough is what a visit returns to end a scan.
var ErrEnough = errors.New("enough")

// fewTraces is the number of traces up to which finding each is quicker than
// reading all.
const fewTraces = 10_000

// within restricts a query to a set of traces, if it is small.
func within(set traceSet, where string, args []any) (string, []any) {
	if set == nil || len(set) > fewTraces {
		return where, args
	}
	condition := ` AND t.id IN `
	if where == "" {
		condition = ` WHERE t.id IN `
	}
	return where + condition + inList, append(args, list(slices.Collect(maps.Keys(set))))
}

// inList is a list of ids in a query, list its parameter.
const inList = `(SELECT value FROM json_each(?))`

func list(ids []int64) string {
	out := []byte("[")
	for i, id := range ids {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, id, 10)
	}
	return string(append(out, ']'))
}

// read calls f with one state of the store, in which the full text is complete if the
// filter has a Text.
func (s *Store) read(ctx context.Context, f Filter, do func(q querier) error) error {
	if f.Text != "" {
		_, err := phrases(f.Text)
		if err == nil {
			err = s.complete(ctx)
		}
		if err != nil {
			return err
		}
	}
	tx, err := s.begin(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer rollback(tx)
	return do(&prepared{on: tx})
}

// withText returns the traces that have the filter's Text, nil if it has none.
func (f Filter) withText(ctx context.Context, q querier) (traceSet, error) {
	if f.Text == "" {
		return nil, nil
	}
	want, err := phrases(f.Text)
	if err != nil {
		return nil, err
	}
	return tracesWith(ctx, q, want)
}

// scan calls visit with the traces that a filter selects, in no order and whatever
// its limit. calls reports whether it needs each call in the digest.
func (f Filter) scan(ctx context.Context, q querier, calls bool, visit func(*found) error) error {
	set, err := f.withText(ctx, q)
	if err != nil {
		return err
	}
	d := digest{deep: calls || f.Tool != ""}
	t := found{digest: &d}
	var reader digestReader
	var facts sql.RawBytes
	var id, started, ended any    // database/sql copies these, and converts numbers by reflection
	same := make(map[string]bool) // models and tools that the filter selects
	where, args := f.where()
	where, args = within(set, where, args)
	targets := []any{&id, &started, &ended, &facts}
	return eachRow(ctx, q, func(scan func(...any) error) error {
		if err := scan(targets...); err != nil {
			return err
		}
		t.id = id.(int64)
		spans, ok := set[t.id]
		if set != nil && !ok {
			return nil
		}
		t.spans = spans
		if err := reader.decode(facts, &d); err != nil {
			return err
		}
		t.Summary = d.sum
		t.Started, t.Ended = fromColumn(started.(int64)), fromColumn(ended.(int64))
		if !f.selects(&t, same) {
			return nil
		}
		return visit(&t)
	}, `SELECT id, started, ended, facts FROM traces t`+where, args...)
}

// byDigest reports whether the filter has conditions on more than columns and texts.
func (f Filter) byDigest() bool {
	return f.Model != "" || f.Tool != "" || f.Failed || f.Denied || f.MinCost > 0
}

// inOrder calls visit with the traces that a filter selects, without their digest,
// the newest first, up to a limit if it is not negative.
func (f Filter) inOrder(ctx context.Context, q querier, limit int, visit func(found) error) error {
	var set traceSet
	var err error
	f.Sort = ""
	if f.byDigest() {
		set = make(traceSet)
		err = f.scan(ctx, q, false, func(t *found) error { set[t.id] = t.spans; return nil })
	} else {
		set, err = f.withText(ctx, q)
	}
	if err != nil {
		return err
	}
	return f.ordered(ctx, q, set, limit, visit)
}

// ordered is inOrder, or by the filter's Sort, for the traces of the set, for all that the conditions on columns
// select if it is nil.
func (f Filter) ordered(ctx context.Context, q querier, set traceSet, limit int, visit func(found) error) error {
	if set != nil && len(set) == 0 || limit == 0 {
		return nil
	}
	where, args := f.where()
	where, args = within(set, where, args)
	err := eachRow(ctx, q, func(scan func(...any) error) error {
		var t found
		err := scanSummary(func(targets ...any) error { return scan(append(targets, &t.id)...) }, &t.Summary)
		spans, ok := set[t.id]
		if err != nil || set != nil && !ok {
			return err
		}
		t.spans = spans
		if err := visit(t); err != nil {
			return err
		}
		if limit--; limit == 0 {
			return ErrEnough
		}
		return nil
	}, `SELECT `+summaryColumns+`, id FROM traces t`+where+f.order(), args...)
	if errors.Is(err, ErrEnough) {
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
		return means("tool ", c.name, func() bool { return SameTool(c.name, f.Tool) })
	}) {
		return false
	}
	if f.MinCost > 0 && (t.Usage == nil || t.Usage.CostUSD == nil || *t.Usage.CostUSD < f.MinCost) {
		return false
	}
	if f.Failed || f.Denied {
		calls := &t.digest.counted
		return (!f.Failed || calls.failed > 0 || t.digest.badRun) && (!f.Denied || calls.denied > 0)
	}
	return true
}

// Count returns how many traces the filter selects without its limit.
func (s *Store) Count(ctx context.Context, f Filter) (n int, err error) {
	err = s.read(ctx, f, func(q querier) error {
		return f.scan(ctx, q, false, func(*found) error { n++; return nil })
	})
	return n, s.wrap("count traces", err)
}

// List returns the summaries of the selected traces, the newest first.
func (s *Store) List(ctx context.Context, f Filter) (out []Summary, err error) {
	err = s.read(ctx, f, func(q querier) error {
		return f.inOrder(ctx, q, f.limited(), func(t found) error {
			out = append(out, t.Summary)
			return nil
		})
	})
	return out, s.wrap("list traces", err)
}

// Page is what List, Totals and Search return for one filter, of one state of the store.
type Page struct {
	// Running are those of the running tasks that the filter selects and that are not
	// stored.
	Running []Summary
	Traces  []Summary
	// Hits are those in Running and in Traces, of each of these in a few of its spans, if the
	// filter has a Text.
	Hits   []Hit
	Totals Totals
}

// maxPageHits is in how many spans of a trace Page looks for the place of the words.
const maxPageHits = 64

// Page returns the selected traces with the sums over all of them, in about the time of
// one of the calls that it stands for. running are the tasks that ran before: one that
// has ended since is in one of the two lists, and in one only.
func (s *Store) Page(ctx context.Context, f Filter, running ...*Trace) (p Page, err error) {
	err = s.read(ctx, f, func(q querier) error {
		p, err = f.page(ctx, q, running)
		return err
	})
	return p, s.wrap("list traces", err)
}

// notStored returns the running tasks that the filter selects and that are not stored.
func (f Filter) notStored(ctx context.Context, q querier, running []*Trace) (out []*Trace, err error) {
	for _, t := range running {
		stored, err := number(ctx, q, `SELECT count(*) FROM traces WHERE trace_id = ?`, t.TraceID)
		if err != nil {
			return nil, err
		}
		if ok, err := f.Selects(t); err != nil {
			return nil, err
		} else if ok && stored == 0 {
			out = append(out, t)
		}
	}
	return out, nil
}

func (f Filter) page(ctx context.Context, q querier, running []*Trace) (p Page, err error) {
	if running, err = f.notStored(ctx, q, running); err != nil {
		return p, err
	}
	for _, t := range running {
		p.Running = append(p.Running, t.Summary)
		p.Hits = append(p.Hits, f.Hits(t)...)
	}
	var want []phrase
	var set traceSet
	if f.Text != "" || f.byDigest() {
		set = make(traceSet)
	}
	if f.Text != "" {
		if want, err = phrases(f.Text); err != nil {
			return p, err
		}
	}
	sum := tally{model: f.Model}
	err = f.scan(ctx, q, false, func(t *found) error {
		sum.addTrace(t)
		t.eachModel(func(m *modelDigest) { sum.addModel(t, m) })
		if set != nil {
			set[t.id] = t.spans
		}
		return nil
	})
	if err == nil {
		err = f.ordered(ctx, q, set, f.limited(), func(t found) error {
			p.Traces = append(p.Traces, t.Summary)
			if want == nil {
				return nil
			}
			hits, err := hitsIn(ctx, q, t.TraceID, t.spans[:min(len(t.spans), maxPageHits)], want)
			p.Hits = append(p.Hits, hits...)
			return err
		})
	}
	p.Totals = sum.totals()
	return p, err
}

// ids returns the selected traces, the newest first, up to a limit.
func (f Filter) ids(ctx context.Context, q querier, limit int) (out []int64, err error) {
	err = f.inOrder(ctx, q, limit, func(t found) error {
		out = append(out, t.id)
		return nil
	})
	return out, err
}

// Each calls visit with the selected traces, the newest first, until it returns an
// error. Traces that are removed meanwhile are left out.
func (s *Store) Each(ctx context.Context, f Filter, visit func(*Trace) error) error {
	var ids []int64
	err := s.read(ctx, f, func(q querier) (err error) {
		ids, err = f.ids(ctx, q, f.limited())
		return err
	})
	if err != nil {
		return s.wrap("find traces", err)
	}
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

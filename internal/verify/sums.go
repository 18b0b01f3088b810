package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/verify/second"
	"github.com/hookspan/hookspan/otelmap"
)

// Session is what the second reading found of a session.
type Session struct {
	Session string `json:"session"`
	// NoTrace reports that the store has no trace of it.
	NoTrace     bool         `json:"noTrace,omitempty"`
	Differences []Difference `json:"differences"`
}

// Brief is what traces of a session say in sum.
type Brief struct {
	// usage is that of the roots, listed that of the requests and of the sums of requests.
	usage, listed store.Usage
	summed        bool // there are sums of requests
	models        []modelSum
	// The numbers of calls, of those that failed, have no end and of which neither is known,
	// of prompts, and of turns that were interrupted.
	calls, failed, unanswered, unknown, prompts, interrupted int
	first, last                                              time.Time
}

type modelSum struct {
	name string
	store.Usage
}

// Sums also have the ids of requests, with their models, and of calls, with their statuses.
type Sums struct {
	Brief
	requests, ended map[string][]string
	asked           []time.Time
}

// NewSums returns empty sums.
func NewSums() *Sums {
	return &Sums{requests: make(map[string][]string), ended: make(map[string][]string)}
}

// Add adds spans of the session.
func (s *Sums) Add(spans ...*tracepb.ResourceSpans) {
	s.Brief.Add(spans...)
	for span := range otlp.Spans(spans) {
		a := span.GetAttributes()
		switch store.RoleOf(a) {
		case store.RoleRoot:
			for _, e := range span.GetEvents() {
				if isPrompt(e) {
					s.asked = append(s.asked, otlp.Time(e.GetTimeUnixNano()))
				}
			}
		case store.RoleTool:
			id := otlp.Text(a, otelmap.KeyToolCallID)
			s.ended[id] = append(s.ended[id], statusOf(span))
		case store.RoleChat:
			id := otlp.Text(a, otelmap.KeyResponseID)
			s.requests[id] = append(s.requests[id], otlp.Text(a, otelmap.KeyRequestModel))
		}
	}
}

// Add adds spans of the session.
func (s *Brief) Add(spans ...*tracepb.ResourceSpans) {
	for span := range otlp.Spans(spans) {
		a := span.GetAttributes()
		switch store.RoleOf(a) {
		case store.RoleRoot:
			if u := store.UsageOf(a); u != nil {
				s.usage = sum(s.usage, u)
			}
			if otlp.Text(a, otelmap.KeyOutcome) == otelmap.OutcomeInterrupted {
				s.interrupted++
			}
			if at := otlp.Start(span); s.first.IsZero() || at.Before(s.first) {
				s.first = at
			}
			if at := otlp.End(span); at.After(s.last) {
				s.last = at
			}
			for _, e := range span.GetEvents() {
				if u := store.UsageOf(e.GetAttributes()); e.GetName() == otelmap.EventUsage && u != nil {
					s.listed, s.summed = sum(s.listed, u), true
				}
				if isPrompt(e) {
					s.prompts++
				}
			}
		case store.RoleTool:
			s.calls++
			switch statusOf(span) {
			case failed, denied:
				s.failed++
			case unfinished:
				s.unanswered++
			case "":
				s.unknown++
			}
		case store.RoleChat:
			if u := store.UsageOf(a); u != nil {
				s.listed = sum(s.listed, u)
				m := s.model(otlp.Text(a, otelmap.KeyRequestModel))
				m.Usage = sum(m.Usage, u)
			}
		}
	}
}

// isPrompt reports the event of a prompt that a person typed.
func isPrompt(e *tracepb.Span_Event) bool {
	return e.GetName() == otelmap.EventPrompt && otlp.Find(e.GetAttributes(), otelmap.KeyPromptInjected) == nil
}

// model returns the sum of the requests to a model.
func (s *Brief) model(name string) *modelSum {
	for i := range s.models {
		if s.models[i].name == name {
			return &s.models[i]
		}
	}
	s.models = append(s.models, modelSum{name: strings.Clone(name)})
	return &s.models[len(s.models)-1]
}

func sum(x store.Usage, y *store.Usage) store.Usage {
	return store.Usage{Input: x.Input + y.Input, Output: x.Output + y.Output, CacheRead: x.CacheRead + y.CacheRead, CacheWrite: x.CacheWrite + y.CacheWrite}
}

// Check holds an agent's traces against a second reading of its files.
type Check struct {
	Host  string
	Files *second.Reading
	Store *store.Store
	// Briefs are those of sessions that need not be read from the store unless they differ.
	Briefs map[string]*Brief
	// Sums are those that were read from the store.
	Sums map[string]*Sums
	// Cut reports that the store has lost the beginning of a session, so that only what is
	// not before its first trace counts.
	Cut func(ctx context.Context, session string) (bool, error)
	Now time.Time
}

// openAge is how long after its last row a session may have a turn that has not ended,
// whose rows then do not count.
const openAge = time.Hour

// Sessions compares sessions. Those without a difference are left out.
func (c *Check) Sessions(ctx context.Context, ids []string) (differ []Session, err error) {
	var suspects []string
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		brief := c.Briefs[id]
		if brief == nil {
			sums, err := c.sums(ctx, id)
			if err != nil {
				return nil, err
			}
			brief = &sums.Brief
		}
		files, err := c.part(ctx, id, brief)
		if err != nil {
			return nil, err
		}
		if files != nil && !brief.equal(files) {
			suspects = append(suspects, id)
			if _, err := c.sums(ctx, id); err != nil {
				return nil, err
			}
		}
	}
	for _, id := range suspects {
		if err := c.settle(ctx, id); err != nil {
			return nil, err
		}
	}
	for _, id := range suspects {
		sums := c.Sums[id]
		files, err := c.part(ctx, id, &sums.Brief)
		if err != nil {
			return nil, err
		}
		if sums.equal(files) {
			continue
		}
		if d := sums.differences(c.Files.Lacks, files); len(d) > 0 {
			differ = append(differ, Session{id, sums.first.IsZero(), d})
		}
	}
	return differ, nil
}

// Untold lists the sessions with requests, calls or prompts in the files that are not
// among ids, and of which the store has no trace.
func (c *Check) Untold(ctx context.Context, ids map[string]bool) (untold []Session, err error) {
	for _, id := range slices.Sorted(maps.Keys(c.Files.Sessions)) {
		s := c.Files.Sessions[id]
		if ids[id] || len(s.Requests)+len(s.Calls)+len(s.Prompts) == 0 {
			continue
		}
		sums, err := c.sums(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := c.settle(ctx, id); err != nil {
			return nil, err
		}
		if len(sums.requests)+sums.calls+sums.prompts == 0 && len(s.Requests)+len(s.Calls)+len(s.Prompts) > 0 {
			if d := sums.differences(c.Files.Lacks, s); len(d) > 0 {
				untold = append(untold, Session{id, true, d})
			}
		}
	}
	return untold, nil
}

// sums returns what the store has of a session.
func (c *Check) sums(ctx context.Context, id string) (*Sums, error) {
	if s := c.Sums[id]; s != nil {
		return s, nil
	}
	s := NewSums()
	err := c.Store.Each(ctx, store.Filter{Session: id, Host: c.Host, Limit: -1}, func(t *store.Trace) error {
		if t.Session == id { // the filter takes a prefix
			s.Add(t.ResourceSpans...)
		}
		return nil
	})
	if c.Sums == nil {
		c.Sums = make(map[string]*Sums)
	}
	c.Sums[id] = s
	return s, err
}

// settle gives what several sessions' files have to the one in which the store has it.
func (c *Check) settle(ctx context.Context, id string) error {
	mine := c.Files.Sessions[id]
	if mine == nil {
		return nil
	}
	copied := false
	move := func(held []string, has func(*Sums) bool, to func(*second.Session)) error {
		if has(c.Sums[id]) {
			return nil
		}
		for _, other := range held {
			sums, err := c.sums(ctx, other)
			if err != nil {
				return err
			}
			if has(sums) {
				if c.Files.Sessions[other] == nil {
					c.Files.Sessions[other] = &second.Session{Requests: make(map[string]*second.Request), Calls: make(map[string]*second.Call)}
				}
				to(c.Files.Sessions[other])
				copied = true
				return nil
			}
		}
		return nil
	}
	var errs error
	for key, q := range mine.Requests {
		errs = errors.Join(errs, move(q.Held, func(s *Sums) bool { return len(s.requests[key]) > 0 }, func(s *second.Session) {
			s.Requests[key] = q
			delete(mine.Requests, key)
		}))
	}
	for key, q := range mine.Calls {
		errs = errors.Join(errs, move(q.Held, func(s *Sums) bool { return len(s.ended[key]) > 0 }, func(s *second.Session) {
			s.Calls[key] = q
			delete(mine.Calls, key)
		}))
	}
	for _, p := range slices.Clone(mine.Prompts) {
		errs = errors.Join(errs, move(p.Held, func(s *Sums) bool { return s.askedAt(p.At) }, func(s *second.Session) {
			s.Prompts = append(s.Prompts, p)
			mine.Prompts = slices.DeleteFunc(mine.Prompts, func(q second.Prompt) bool { return q.Line == p.Line && q.File == p.File })
		}))
	}
	if copied && len(mine.Requests)+len(mine.Calls) == 0 && c.Sums[id].prompts == 0 {
		mine.Prompts = nil // nothing but copies
	}
	return errs
}

// askedAt reports a prompt of about a time.
func (s *Sums) askedAt(at time.Time) bool {
	return slices.ContainsFunc(s.asked, func(t time.Time) bool { return t.Sub(at).Abs() < 2*time.Second })
}

// part returns what the files say of the session, as far as the store should have it; nil
// if they say nothing.
func (c *Check) part(ctx context.Context, id string, sums *Brief) (*second.Session, error) {
	s := c.Files.Sessions[id]
	if s == nil {
		return nil, nil
	}
	var from, to time.Time
	if c.Cut != nil {
		cut, err := c.Cut(ctx, id)
		if err != nil {
			return nil, err
		}
		if cut && sums.first.IsZero() {
			return nil, nil
		}
		if cut {
			from = sums.first.Add(-early)
		}
	}
	if c.Now.Sub(s.Ended) < openAge && !sums.last.IsZero() {
		to = sums.last
	}
	if from.IsZero() && to.IsZero() {
		return s, nil
	}
	out := func(f second.Fact) bool { return f.At.Before(from) || !to.IsZero() && f.At.After(to) }
	part := *s
	part.Requests, part.Calls = maps.Clone(s.Requests), maps.Clone(s.Calls)
	maps.DeleteFunc(part.Requests, func(_ string, q *second.Request) bool { return out(q.Fact) })
	maps.DeleteFunc(part.Calls, func(_ string, q *second.Call) bool { return out(q.Fact) })
	part.Prompts = slices.DeleteFunc(slices.Clone(s.Prompts), func(p second.Prompt) bool { return out(p.Fact) })
	return &part, nil
}

// total sums up the requests of the files, of one model if it is not empty.
func total(files *second.Session, model string) (u store.Usage, bare int64) {
	for _, q := range files.Requests {
		if model == "" || q.Model == model {
			u = sum(u, &store.Usage{Input: q.Input, Output: q.Output, CacheRead: q.CacheRead, CacheWrite: q.CacheWrite})
			bare += q.Bare
		}
	}
	return u, bare
}

// same reports equal sums. The input may be counted with the cache or without it where the
// files do not say which.
func same(inTrace, inFiles store.Usage, bare int64) bool {
	low, high := min(bare, inFiles.Input), max(bare, inFiles.Input)
	return inTrace.Output == inFiles.Output && inTrace.CacheRead == inFiles.CacheRead && inTrace.CacheWrite == inFiles.CacheWrite &&
		low <= inTrace.Input && inTrace.Input <= high
}

// equal reports that the sums are those of the files.
func (s *Brief) equal(files *second.Session) bool {
	if files == nil {
		return true
	}
	u, bare := total(files, "")
	var bad, unanswered int
	for _, c := range files.Calls {
		switch {
		case !c.Answered:
			unanswered++
		case c.Failed:
			bad++
		}
	}
	return same(s.usage, u, bare) && same(s.listed, u, bare) && s.unanswered <= unanswered && s.calls >= callsOf(files) && s.calls <= callsOf(files)+len(files.Results) && s.failed+s.unknown >= bad && s.unanswered+s.failed+s.unknown >= unanswered &&
		s.prompts >= len(files.Prompts) && s.interrupted <= files.Broken && s.sameModels(files)
}

func callsOf(files *second.Session) (n int) {
	for _, c := range files.Calls {
		n += c.Times
	}
	return n
}

// sameModels compares the sums by model where both sides name the models of all requests.
func (s *Brief) sameModels(files *second.Session) bool {
	if s.summed {
		return true
	}
	models := make(map[string]bool)
	for _, q := range files.Requests {
		if q.Model == "" {
			return true
		}
		models[q.Model] = true
	}
	for _, m := range s.models {
		if m.name == "" {
			return true
		}
		models[m.name] = true
	}
	for model := range models {
		if u, bare := total(files, model); len(s.models) > 0 && !same(s.model(model).Usage, u, bare) {
			return false
		}
	}
	return true
}

// maxNamed bounds the ids that a difference names.
const maxNamed = 5

// differences names what differs.
func (s *Sums) differences(lacks second.Lacks, files *second.Session) (out []Difference) {
	add := func(kind Kind, what, inTrace, inFiles, file string, ids []string) {
		slices.Sort(ids)
		out = append(out, Difference{Kind: kind, What: what, InTrace: inTrace, InFiles: inFiles, File: file, IDs: ids})
	}
	// Ids are compared where the traces have those of the files.
	var lost, changed []string
	file, common := "", 0

	for id, q := range files.Requests {
		if len(s.requests[id]) > 0 {
			common++
		} else {
			lost, file = append(lost, id), q.File
		}
	}
	for id, models := range s.requests {
		q := files.Requests[id]
		if len(models) > 1 && q != nil {
			add(Double, "request "+id, strconv.Itoa(len(models))+" times", "once", q.File, []string{id})
		}
		if q != nil && q.Model != "" && models[0] != "" && q.Model != models[0] {
			changed = append(changed, id)
		}
	}
	if len(changed) > 0 {
		add(Model, termtext.Plural(len(changed), "request"), "another model", "", files.Requests[changed[0]].File, changed)
	}
	if common == 0 && len(s.requests) > 0 {
		lost = nil // the ids are not the same
	}
	if len(lost) > 0 {
		add(Missing, termtext.Plural(len(lost), "request"), "", "there", file, lost)
	}
	names := []string{"", ""} // the session, and its requests
	if !s.summed {
		names = append(names, modelsOf(s, files)...)
	}
	for _, m := range names {
		u, bare := total(files, m)
		mine, what := s.usage, "sum of the session"
		if m == "" && same(mine, u, bare) {
			mine, what = s.listed, "sum of the requests"
		} else if m != "" {
			mine, what = s.model(m).Usage, "sum of the requests to "+m
		}
		if same(mine, u, bare) {
			continue
		}
		for _, x := range []struct {
			kind Kind
			x, y int64
		}{{Input, mine.Input, u.Input}, {Output, mine.Output, u.Output}, {CacheRead, mine.CacheRead, u.CacheRead}, {CacheWrite, mine.CacheWrite, u.CacheWrite}} {
			if x.x != x.y {
				add(x.kind, what, strconv.FormatInt(x.x, 10), strconv.FormatInt(x.y, 10), firstOf(files.Files), lost)
			}
		}
		break // the models' sums say no more
	}
	s.callDifferences(lacks, files, add)
	if n := len(files.Prompts) - s.prompts; n > 0 {
		var lines []string
		for _, p := range files.Prompts {
			if !s.askedAt(p.At) || len(files.Prompts) <= n {
				lines, file = append(lines, "line "+strconv.Itoa(p.Line)), p.File
			}
		}
		add(Missing, termtext.Plural(n, "prompt"), strconv.Itoa(s.prompts), strconv.Itoa(len(files.Prompts)), cmp.Or(file, firstOf(files.Files)), lines)
	}
	broken := files.Broken
	if lacks.CutTurns {
		broken += max(0, s.prompts-len(files.Prompts))
	}
	if s.interrupted > broken {
		add(Outcome, "turns without an answer", strconv.Itoa(s.interrupted), strconv.Itoa(broken), firstOf(files.Files), nil)
	}
	return out
}

func modelsOf(s *Sums, files *second.Session) []string {
	models := make(map[string]bool)
	for _, q := range files.Requests {
		models[q.Model] = true
	}
	for _, m := range s.models {
		models[m.name] = true
	}
	delete(models, "")
	return slices.Sorted(maps.Keys(models))
}

func firstOf(files []string) string {
	if len(files) == 0 {
		return ""
	}
	return files[0]
}

// callDifferences names calls.
func (s *Sums) callDifferences(lacks second.Lacks, files *second.Session, add func(kind Kind, what, inTrace, inFiles, file string, ids []string)) {
	ids := make(map[[3]string][]string)
	file := ""
	note := func(what, inTrace, inFiles, id string) {
		k := [3]string{what, inTrace, inFiles}
		ids[k] = append(ids[k], id)
	}
	for id, c := range files.Calls {
		statuses := s.ended[id]
		if len(statuses) == 0 {
			if short := s.calls < callsOf(files); short || !c.Unnamed && len(s.ended[""]) == 0 {
				note("missing", "", "there", id)
				file = c.File
			}
			continue
		}
		for _, status := range statuses {
			switch {
			case status == unfinished && c.Answered:
				note("status", unfinished, "ended", id)
			case status == ok && !c.Answered:
				note("status", ok, unfinished, id)
			case status == ok && c.Failed:
				note("status", ok, failed, id)
			default:
				continue
			}
			file = c.File
		}
	}
	for id, statuses := range s.ended {
		c := files.Calls[id]
		switch {
		case id == "":
			if n := s.calls - callsOf(files) - len(files.Results); n > 0 && !lacks.UnnamedCalls && !lacks.ScriptCalls {
				note("double", strconv.Itoa(s.calls), strconv.Itoa(callsOf(files)), "without an id")
			}
		case c != nil && len(statuses) > c.Times:
			note("double", strconv.Itoa(len(statuses))+" times", "once", id)
			file = c.File
		case c == nil && !files.Results[id] && !lacks.ScriptCalls:
			note("extra", "there", "", id)
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(ids), func(x, y [3]string) int { return slices.Compare(x[:], y[:]) }) {
		add(Kind(k[0]), termtext.Plural(len(ids[k]), "call"), k[1], k[2], cmp.Or(file, firstOf(files.Files)), ids[k])
	}
}

// place names the file and the ids of a difference.
func (d *Difference) place() string {
	var parts []string
	if n := len(d.IDs); n > 0 {
		parts = append(parts, strings.Join(d.IDs[:min(n, maxNamed)], ", "))
		if n > maxNamed {
			parts = append(parts, fmt.Sprintf("and %d more", n-maxNamed))
		}
	}
	if d.File != "" {
		parts = append(parts, "in "+filepath.Base(d.File))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, " ") + ")"
}

package ui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
	_ "time/tzdata" // The browser's zone may be unknown to this machine.

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

// listed is a trace in a list.
type listed struct {
	Summary store.Summary `json:"summary"`
	Status  otelmap.End   `json:"status"`
	Bad     bool          `json:"bad,omitempty"`
	// Reason is why something failed, Match where the text that was asked for is.
	Reason string     `json:"reason,omitempty"`
	Match  *store.Hit `json:"match,omitempty"`
	exactNames
}

// exactNames are what links to a trace's project and session have.
type exactNames struct {
	Project exact `json:"project,omitempty"`
	Session exact `json:"session,omitempty"`
	// Others are the further folders of a workspace that has several.
	Others []exact `json:"otherProjects,omitempty"`
}

func namesOf(t *store.Summary) exactNames {
	names := exactNames{Project: exact(t.Directory), Session: exact(t.Session)}
	for _, dir := range t.Folders {
		if dir != t.Directory {
			names.Others = append(names.Others, exact(dir))
		}
	}
	return names
}

// reasonCache keeps the reasons of traces, each of one state of the trace.
type reasonCache struct {
	mu sync.Mutex
	by map[reasonKey]string
}

type reasonKey struct {
	trace  string
	writes int64
}

// Limits of what is read for a list: the spans of a trace, and the reasons kept.
const (
	maxReasonSpans = 2000
	maxReasons     = 10_000
)

// listed adds to the traces of a list why they failed.
func (s *Server) listed(ctx context.Context, traces []store.Summary) []listed {
	out := make([]listed, len(traces))
	var failed []int
	var ids []string
	for i, t := range traces {
		out[i] = listed{Summary: t, Status: otelmap.OutcomeEnd(t.Outcome), exactNames: namesOf(&t)}
		out[i].Bad = out[i].Status.Bad()
		if (out[i].Status == otelmap.EndFailed || t.ToolFailures > 0) && t.Spans <= maxReasonSpans {
			failed, ids = append(failed, i), append(ids, t.TraceID)
		}
	}
	writes, _ := s.opts.Store.Writes(ctx, ids...) // An error comes again below.
	for _, i := range failed {
		id := traces[i].TraceID
		out[i].Reason = s.reason(ctx, reasonKey{id, writes[id]})
	}
	return out
}

func (s *Server) reason(ctx context.Context, key reasonKey) string {
	c := &s.reasons
	c.mu.Lock()
	reason, ok := c.by[key]
	c.mu.Unlock()
	if ok {
		return reason
	}
	l, err := s.load(ctx, key.trace)
	if err == nil {
		reason, err = l.reason(ctx)
	}
	if err == nil && reason == "" {
		var all []problem
		all, err = l.problems(ctx)
		if i := slices.IndexFunc(all, func(p problem) bool { return p.Status == otelmap.EndFailed }); i >= 0 {
			reason = cmp.Or(all[i].Message, all[i].Kind, all[i].Label)
		}
	}
	if err != nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil || len(c.by) >= maxReasons {
		c.by = make(map[reasonKey]string)
	}
	c.by[key] = reason
	return reason
}

func (s *Server) about(r *http.Request) (any, error) {
	var out struct {
		Version  string      `json:"version"`
		Stored   store.Stats `json:"stored"`
		NoTraces string      `json:"noTraces"`
		Past     []string    `json:"past,omitempty"`
		Hooked   []string    `json:"hooked,omitzero"`
	}
	out.Version, out.NoTraces = s.opts.Version, s.opts.NoTraces
	var err error
	if out.Stored, err = s.opts.Store.Stats(r.Context()); err == nil && out.Stored.Traces == 0 && s.opts.Past != nil {
		out.Past = s.opts.Past(r.Context())
	}
	if s.opts.Hooked != nil {
		out.Hooked = append([]string{}, s.opts.Hooked(r.Context())...)
	}
	return out, err
}

func (s *Server) sessions(r *http.Request, f store.Filter) (any, error) {
	if f.Sort = r.URL.Query().Get("sort"); f.Sort != "" && !slices.Contains(store.Orders, f.Sort) {
		return nil, wrong("sort %q: want one of %v", f.Sort, store.Orders)
	}
	// A task that ends between the two is in both.
	tasks := s.running(r.Context())
	page, err := keep(s, "sessions?"+r.URL.RawQuery, 0, func() (store.Page, error) { return s.opts.Store.Page(r.Context(), f) })
	if err != nil {
		return nil, err
	}
	running := []listed{}
	for _, t := range tasks {
		if ok, err := f.Selects(t); err != nil {
			return nil, err
		} else if ok && !slices.ContainsFunc(page.Traces, func(have store.Summary) bool { return have.TraceID == t.TraceID }) {
			one := s.listed(r.Context(), []store.Summary{t.Summary})[0]
			if hits := f.Hits(t); len(hits) > 0 {
				one.Match = &hits[0]
			}
			if f.Denied {
				one.Reason = view.Relative(view.Denials(view.DeniedOf(t)), t.Directory)
			}
			running = append(running, one)
		}
	}
	traces := s.listed(r.Context(), page.Traces)
	matches := make(map[string]*store.Hit)
	for i := range slices.Backward(page.Hits) {
		matches[page.Hits[i].Trace] = &page.Hits[i]
	}
	for i := range traces {
		traces[i].Match = matches[page.Traces[i].TraceID]
	}
	if f.Denied {
		calls, err := s.opts.Store.DeniedCalls(r.Context(), f, page.Traces)
		if err != nil {
			return nil, err
		}
		for i := range traces {
			t := &traces[i]
			t.Reason = view.Relative(view.Denials(calls[t.Summary.TraceID]), t.Summary.Directory)
		}
	}
	return struct {
		Running []listed     `json:"running"`
		Traces  []listed     `json:"traces"`
		Totals  store.Totals `json:"totals"`
	}{running, traces, page.Totals}, nil
}

// kept is an answer of the store, and what the store's files were like before it.
type kept struct {
	stamp string
	at    time.Time
	took  time.Duration
	value any
}

// maxKept is how many answers are kept.
const maxKept = 16

// stampAge is how old the last change of a file must be, so that a later one has another
// time.
const stampAge = 50 * time.Millisecond

// quickAnswer is up to how long an answer may take that is read after each change.
const quickAnswer = 10 * time.Millisecond

// keep returns an answer again as long as the store has not changed, and with a share above
// zero for about share times as long as it took to compute.
func keep[T any](s *Server, key string, share int, compute func() (T, error)) (T, error) {
	var b bytes.Buffer
	stampOf(&b, s.opts.StoreFiles)
	s.answers.Lock()
	have, ok := s.answers.by[key]
	s.answers.Unlock()
	begin := time.Now()
	if ok && b.Len() > 0 && (have.stamp == b.String() || begin.Sub(have.at) < time.Duration(share)*(have.took-quickAnswer)) {
		return have.value.(T), nil
	}
	v, err := compute()
	if err != nil {
		return v, err
	}
	for _, path := range s.opts.StoreFiles {
		if info, err := os.Stat(path); err == nil && begin.Sub(info.ModTime()) < stampAge {
			b.WriteString("too new")
		}
	}
	s.answers.Lock()
	defer s.answers.Unlock()
	if s.answers.by == nil || len(s.answers.by) >= maxKept {
		s.answers.by = make(map[string]kept)
	}
	s.answers.by[key] = kept{b.String(), begin, time.Since(begin), v}
	return v, nil
}

// OlderHeader has in how many milliseconds to ask again for an answer that is of an earlier state
// of the store.
const OlderHeader = "X-Hookspan-Older"

// older is such an answer.
type older struct {
	value any
	wait  time.Duration
}

// dated is an answer that was kept by keys, and when to ask for it again if one is of an earlier state.
func (s *Server) dated(v any, err error, share int, keys ...string) (any, error) {
	var b bytes.Buffer
	stampOf(&b, s.opts.StoreFiles)
	s.answers.Lock()
	defer s.answers.Unlock()
	var wait time.Duration
	for _, key := range keys {
		if have := s.answers.by[key]; have.stamp != b.String() {
			wait = max(wait, time.Duration(share)*(have.took-quickAnswer)-time.Since(have.at))
		}
	}
	if wait == 0 || err != nil {
		return v, err
	}
	return older{v, wait}, nil
}

// facetShare is how many times as long as they took to find the facets count.
const facetShare = 200

// facet is a value that a filter can have, as the page sends it back and as it shows it.
type facet struct {
	Value exact  `json:"value"`
	Shown string `json:"shown"`
}

// exact is a text that the page sends back: nothing in it is made visible.
type exact string

// MarshalJSON implements json.Marshaler.
func (e exact) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(string(e))
	return rawjson.ASCII(b), err
}

// facets are the values that the filters can have.
func (s *Server) facets(r *http.Request) (any, error) {
	v, err := keep(s, "facets", facetShare, func() (map[store.By][]facet, error) {
		keys := []store.By{store.ByAgent, store.ByModel, store.ByTool}
		_, groups, err := s.opts.Store.Groups(r.Context(), store.Filter{}, time.UTC, keys...)
		folders, unread := s.opts.Store.Folders(r.Context())
		out := map[store.By][]facet{store.ByProject: {}}
		for _, dir := range folders {
			if dir != "" {
				out[store.ByProject] = append(out[store.ByProject], facet{exact(dir), dir})
			}
		}
		for _, by := range keys {
			out[by] = []facet{}
			for _, g := range groups[by] {
				if g.Key != "" {
					out[by] = append(out[by], facet{exact(g.Key), g.Key})
				}
			}
		}
		return out, cmp.Or(err, unread)
	})
	return s.dated(v, err, facetShare, "facets")
}

// zone is that of the browser, in which its days begin. One that is not known here is
// taken for this machine's.
func zone(r *http.Request) *time.Location {
	if loc, err := time.LoadLocation(r.URL.Query().Get("zone")); err == nil && r.URL.Query().Has("zone") {
		return loc
	}
	return time.Local
}

// grouped is a group with its key as the page sends it back.
type grouped struct {
	store.Group
	Value exact `json:"value"`
}

func groupsOf(groups []store.Group) []grouped {
	out := make([]grouped, len(groups))
	for i, g := range groups {
		out[i] = grouped{g, exact(g.Key)}
	}
	return out
}

// usage is the answer about costs.
type usage struct {
	Totals store.Totals           `json:"totals"`
	Groups map[store.By][]grouped `json:"groups"`
	// Budgets are those of all tasks, whatever the filter.
	Budgets any `json:"budgets,omitempty"`
}

func (s *Server) usage(r *http.Request, f store.Filter) (any, error) {
	v, err := keep(s, "usage?"+r.URL.RawQuery, 0, func() (out usage, err error) {
		keys := []store.By{store.ByDay, store.ByModel, store.ByProject, store.ByAgent, store.ByTool, store.ByHook}
		var groups map[store.By][]store.Group
		out.Totals, groups, err = s.opts.Store.Groups(r.Context(), f, zone(r), keys...)
		out.Groups = make(map[store.By][]grouped)
		for _, by := range keys {
			out.Groups[by] = groupsOf(groups[by])
		}
		return out, err
	})
	if err == nil && s.opts.Budgets != nil {
		v.Budgets, err = s.opts.Budgets(r.Context())
	}
	return v, err
}

// found is a hit of a search with the title of its trace.
type found struct {
	store.Hit
	Title   string `json:"title"`
	Project string `json:"project,omitempty"`
	Where   string `json:"where"`
	Failed  bool   `json:"failed"`
}

func (s *Server) search(r *http.Request, f store.Filter) (any, error) {
	if f.Text == "" {
		return nil, wrong("text: want what to search for")
	}
	type answer struct {
		Hits   []found      `json:"hits"`
		Totals store.Totals `json:"totals"`
	}
	out, err := keep(s, "search?"+r.URL.RawQuery, 0, func() (out answer, err error) {
		hits, err := s.opts.Store.Search(r.Context(), f)
		if err != nil {
			return out, err
		}
		tasks := make(map[string]*store.Summary)
		for _, h := range hits {
			tasks[h.Trace] = &store.Summary{}
		}
		// The newest task is first in both.
		f.Limit = max(1, len(tasks))
		page, err := s.opts.Store.Page(r.Context(), f)
		for i := range page.Traces {
			tasks[page.Traces[i].TraceID] = &page.Traces[i]
		}
		out.Hits, out.Totals = []found{}, page.Totals
		for _, h := range hits {
			out.Hits = append(out.Hits, found{h, tasks[h.Trace].Title, tasks[h.Trace].Directory, view.Where(&h), h.Status == otelmap.EndFailed})
		}
		return out, err
	})
	now := []found{}
	for _, t := range s.running(r.Context()) {
		if ok, _ := f.Selects(t); ok && !slices.ContainsFunc(out.Hits, func(h found) bool { return h.Trace == t.TraceID }) {
			for _, h := range f.Hits(t) {
				now = append(now, found{h, t.Title, t.Directory, view.Where(&h), h.Status == otelmap.EndFailed})
			}
		}
	}
	out.Hits = append(now, out.Hits...)
	return out, err
}

func (s *Server) status(r *http.Request) (any, error) {
	var out struct {
		Status   any         `json:"status"`
		Findings any         `json:"findings"`
		Stored   store.Stats `json:"stored"`
		Version  string      `json:"version"`
	}
	out.Version = s.opts.Version
	var err error
	if s.opts.Status != nil {
		if out.Status, err = s.opts.Status(r.Context()); err != nil {
			return nil, err
		}
	}
	if s.opts.Findings != nil {
		if out.Findings, err = s.opts.Findings(r.Context()); err != nil {
			return nil, err
		}
	}
	out.Stored, err = s.opts.Store.Stats(r.Context())
	return out, err
}

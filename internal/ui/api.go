package ui

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/view"
)

// listed is a trace in a list.
type listed struct {
	Summary store.Summary `json:"summary"`
	Status  view.Status   `json:"status"`
	// Reason is why something failed.
	Reason string `json:"reason,omitempty"`
}

// reasonCache keeps the reasons of traces, which do not change once a trace has
// ended.
type reasonCache struct {
	mu sync.Mutex
	by map[reasonKey]string
}

type reasonKey struct {
	trace string
	spans int
	ended time.Time
}

// Limits of what is read for a list: the spans of a trace, and the reasons kept.
const (
	maxReasonSpans = 2000
	maxReasons     = 10_000
)

// listed adds to the traces of a list why they failed.
func (s *Server) listed(ctx context.Context, traces []store.Summary) []listed {
	out := make([]listed, len(traces))
	for i, t := range traces {
		out[i] = listed{Summary: t, Status: view.OutcomeStatus(t.Outcome)}
		if (out[i].Status == view.StatusFailed || t.ToolFailures > 0) && t.Spans <= maxReasonSpans {
			out[i].Reason = s.reason(ctx, t)
		}
	}
	return out
}

func (s *Server) reason(ctx context.Context, t store.Summary) string {
	c, key := &s.reasons, reasonKey{t.TraceID, t.Spans, t.Ended}
	c.mu.Lock()
	reason, ok := c.by[key]
	c.mu.Unlock()
	if ok {
		return reason
	}
	l, err := s.load(ctx, t.TraceID)
	if err == nil {
		reason, err = l.reason(ctx)
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
	stats, err := s.opts.Store.Stats(r.Context())
	return struct {
		Version  string      `json:"version"`
		Stored   store.Stats `json:"stored"`
		NoTraces string      `json:"noTraces"`
	}{s.opts.Version, stats, s.opts.NoTraces}, err
}

func (s *Server) sessions(r *http.Request) (any, error) {
	f, err := filterOf(r.URL.Query())
	if err != nil {
		return nil, err
	}
	page, err := s.opts.Store.Page(r.Context(), f, s.running(r.Context())...)
	if err != nil {
		return nil, err
	}
	return struct {
		Running []listed     `json:"running"`
		Traces  []listed     `json:"traces"`
		Totals  store.Totals `json:"totals"`
	}{s.listed(r.Context(), page.Running), s.listed(r.Context(), page.Traces), page.Totals}, err
}

// facets are the values that the filters can have.
func (s *Server) facets(r *http.Request) (any, error) {
	out := make(map[store.By][]string)
	for _, by := range []store.By{store.ByProject, store.ByAgent, store.ByModel, store.ByTool} {
		groups, err := s.opts.Store.Group(r.Context(), store.Filter{}, by, time.Local)
		if err != nil {
			return nil, err
		}
		out[by] = []string{}
		for _, g := range groups {
			if g.Key != "" {
				out[by] = append(out[by], g.Key)
			}
		}
	}
	return out, nil
}

func (s *Server) usage(r *http.Request) (any, error) {
	f, err := filterOf(r.URL.Query())
	if err != nil {
		return nil, err
	}
	totals, err := s.opts.Store.Totals(r.Context(), f)
	if err != nil {
		return nil, err
	}
	groups := make(map[store.By][]store.Group)
	for _, by := range []store.By{store.ByDay, store.ByModel, store.ByProject, store.ByTool} {
		if groups[by], err = s.opts.Store.Group(r.Context(), f, by, time.Local); err != nil {
			return nil, err
		}
		if groups[by] == nil {
			groups[by] = []store.Group{}
		}
	}
	return struct {
		Totals store.Totals               `json:"totals"`
		Groups map[store.By][]store.Group `json:"groups"`
	}{totals, groups}, nil
}

// found is a hit of a search with the title of its trace.
type found struct {
	store.Hit
	Title  string `json:"title"`
	Failed bool   `json:"failed"`
}

func (s *Server) search(r *http.Request) (any, error) {
	f, err := filterOf(r.URL.Query())
	if err != nil {
		return nil, err
	}
	if f.Text == "" {
		return nil, wrong("text: want what to search for")
	}
	hits, err := s.opts.Store.Search(r.Context(), f)
	if err != nil {
		return nil, err
	}
	titles := make(map[string]string)
	out := []found{}
	for _, h := range hits {
		if _, ok := titles[h.Trace]; !ok {
			titles[h.Trace] = ""
			if t, err := s.opts.Store.List(r.Context(), store.Filter{Trace: h.Trace, Limit: 1}); err == nil && len(t) == 1 {
				titles[h.Trace] = t[0].Title
			}
		}
		out = append(out, found{h, titles[h.Trace], h.Status == store.StatusFailed})
	}
	return out, nil
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

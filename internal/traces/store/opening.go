package store

import (
	"context"
	"time"

	"github.com/hookspan/hookspan/internal/otlp"
)

// Opening is the first request of a session: what the agent and its settings send before any work
// was done, with the first prompt.
type Opening struct {
	Session string    `json:"session"`
	Started time.Time `json:"started,omitzero"`
	Model   string    `json:"model,omitempty"`
	// Input are the request's input tokens, and Cached those of them that were in the cache,
	// nil if the agent reports nothing about one.
	Input  int64  `json:"inputTokens"`
	Cached *int64 `json:"cacheReadTokens,omitempty"`
	// Previous is that of the agent's session before in the same folder, nil if it is not known.
	Previous *Opening `json:"previous,omitempty"`
}

// Opening returns that of the session of a task, of which the work is given. It is nil if it is
// not known: the session's beginning was not recorded, or was removed, or nothing says what its
// first request had.
func (s *Store) Opening(ctx context.Context, w *Work) (*Opening, error) {
	t := &w.Summary
	if t.Session == "" {
		return nil, nil
	}
	o, err := s.opening(ctx, t.Host, t.Session, w)
	if o == nil || err != nil {
		return nil, err
	}
	before := ""
	err = s.find(ctx, &before, `SELECT session FROM traces WHERE host = ? AND directory = ? AND session NOT IN ('', ?) AND started > 0 AND started < ?
		GROUP BY session ORDER BY min(started) DESC LIMIT 1`, t.Host, t.Directory, t.Session, column(otlp.UnixNano(o.Started)))
	if before != "" && err == nil {
		o.Previous, err = s.opening(ctx, t.Host, before, nil)
	}
	return o, s.wrap("read the session before", err)
}

// opening is Opening of a session without the one before. The task is not stored if it is running.
func (s *Store) opening(ctx context.Context, host, session string, w *Work) (*Opening, error) {
	first := ""
	err := s.find(ctx, &first, `SELECT CASE WHEN EXISTS (SELECT 1 FROM removed WHERE session = ?1 AND host = ?2) THEN '-' ELSE
		coalesce((SELECT trace_id FROM traces WHERE session = ?1 AND host = ?2 ORDER BY started, trace_id LIMIT 1), '') END`, session, host)
	if err != nil || first == "-" {
		return nil, s.wrap("find the first task", err)
	}
	if first != "" && (w == nil || first != w.Summary.TraceID) {
		err = s.EachRequest(ctx, Filter{Trace: first}, func(stored *Work) error { w = stored; return nil })
	}
	if w == nil || err != nil {
		return nil, err
	}
	return w.opening(), nil
}

// opening returns the task's first request, nil if it continues what was not recorded.
func (w *Work) opening() *Opening {
	if w.Source == "resume" || len(w.Requests) == 0 || w.Requests[0].Usage == nil {
		return nil
	}
	r := &w.Requests[0]
	o := &Opening{Session: w.Summary.Session, Started: w.Summary.Started, Model: r.Model, Input: r.Usage.Input}
	for i := range w.Requests {
		if u := w.Requests[i].Usage; u != nil && u.CacheRead+u.CacheWrite > 0 {
			o.Cached = &r.Usage.CacheRead
		}
	}
	return o
}

// find reads one text, which stays as it is if nothing is found.
func (s *Store) find(ctx context.Context, to *string, query string, args ...any) error {
	return s.read(ctx, Filter{}, func(q querier) error {
		return eachRow(ctx, q, func(scan func(...any) error) error { return scan(to) }, query, args...)
	})
}

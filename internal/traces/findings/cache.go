package findings

import (
	"fmt"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

// The lifetimes of a cache: Anthropic's, each from the last use on.
const (
	shortLife = 5 * time.Minute
	longLife  = time.Hour
)

// pair is a request and the agent's request before, both with usage.
type pair struct {
	before, r *store.Request
	work      *store.Work
}

// pause is the time from the end of the request before.
func (p pair) pause() time.Duration { return p.r.Started.Sub(p.before.Started.Add(p.before.Took)) }

// pairs are the requests of a session that continue what the request before had.
func (s *session) pairs() (out []pair) {
	before := make(map[string]*store.Request)
	for _, it := range s.items {
		r := it.request
		if it.mark == restart || it.mark == otelmap.EventCompaction {
			clear(before)
		}
		if r == nil {
			continue
		}
		p := before[r.AgentSpan]
		before[r.AgentSpan] = r
		if p != nil && p.Usage != nil && r.Usage != nil && p.Model == r.Model && r.Usage.Input >= p.Usage.Input {
			out = append(out, pair{p, r, it.work})
		}
	}
	return out
}

// cacheExpired finds requests that missed the cache after a pause that was longer than it lasts.
func (s *session) cacheExpired() (out []view.Finding) {
	pairs, life := s.pairs(), make(map[string]time.Duration)
	for _, p := range pairs {
		if p.before.Hour || p.r.Hour || p.pause() > shortLife && p.r.Usage.CacheRead > p.before.Usage.Input/2 {
			life[p.r.AgentSpan] = longLife
		}
	}
	for _, p := range pairs {
		lasts := max(shortLife, life[p.r.AgentSpan])
		was, is := p.before.Usage, p.r.Usage
		anew, missed := view.Missed(p.before, p.r)
		cached := was.CacheRead+was.CacheWrite >= was.Input/2 && is.CacheRead+is.CacheWrite > 0
		if !missed || !cached || p.pause() <= lasts || !strings.Contains(strings.ToLower(p.r.Model), "claude") {
			continue
		}
		t := &p.work.Summary
		out = append(out, view.Finding{
			Kind: Kinds[cacheExpired].Name, Do: Kinds[cacheExpired].Do, Trace: t.TraceID, Session: t.Session, Host: t.Host, Directory: t.Directory,
			Started: p.r.Started, Spans: []string{p.r.Span, p.before.Span}, Subject: p.r.Model, Usage: is,
			What: fmt.Sprintf("%s tokens were sent anew after a pause of %s: the cache lasts %d min", view.Tokens(anew), view.Duration(p.pause()), int(lasts.Minutes())),
		})
	}
	return out
}

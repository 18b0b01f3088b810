package verify

import (
	"context"
	"errors"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// eachOwn calls f with the session's traces. One whose id came from outside may have runs of
// several sessions and is in the list of one of them: f gets it with this session's spans
// alone.
func eachOwn(ctx context.Context, st *store.Store, host, session string, f func(*store.Trace) error) error {
	listed := make(map[string]bool)
	err := st.Each(ctx, store.Filter{Session: session, Whole: true, Host: host, Limit: -1}, func(t *store.Trace) error {
		listed[t.TraceID] = true
		return f(own(t, session))
	})
	if err != nil {
		return err
	}
	roots, err := st.Conversations(ctx, session)
	for _, r := range roots {
		if r.Removed || listed[r.Trace] || err != nil {
			continue
		}
		listed[r.Trace] = true
		var t *store.Trace
		switch t, err = st.Trace(ctx, r.Trace); {
		case errors.Is(err, store.ErrNotFound):
			err = nil // it was removed meanwhile
		case err == nil && t.Host == host:
			err = f(own(t, session))
		}
	}
	return err
}

// own returns a trace with the spans of a session.
func own(t *store.Trace, session string) *store.Trace {
	if t.Runs <= 1 {
		return t
	}
	out := *t
	out.Session, out.ResourceSpans = session, nil
	for _, rs := range t.ResourceSpans {
		kept := &tracepb.ResourceSpans{Resource: rs.GetResource(), SchemaUrl: rs.GetSchemaUrl()}
		for _, ss := range rs.GetScopeSpans() {
			scope := &tracepb.ScopeSpans{Scope: ss.GetScope(), SchemaUrl: ss.GetSchemaUrl()}
			for _, s := range ss.GetSpans() {
				id := otlp.Text(s.GetAttributes(), otelmap.KeyConversationID)
				if id == session || id == "" {
					scope.Spans = append(scope.Spans, s)
				}
				if dir := otlp.Text(s.GetAttributes(), otelmap.KeyWorkingDirectory); id == session && dir != "" {
					out.Directory, out.Folders = dir, nil
				}
			}
			if len(scope.GetSpans()) > 0 {
				kept.ScopeSpans = append(kept.ScopeSpans, scope)
			}
		}
		if len(kept.GetScopeSpans()) > 0 {
			out.ResourceSpans = append(out.ResourceSpans, kept)
		}
	}
	return &out
}

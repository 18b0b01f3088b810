package importer

import (
	"context"
	"errors"
	"os"
	"slices"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// Sessions lists an agent's sessions on this machine, the oldest first.
func Sessions(ctx context.Context, files *transcript.Files, a transcript.Reader) ([]Session, error) {
	files = files.Remember()
	found, err := files.Sessions(ctx, a)
	out := make([]Session, len(found))
	for i, s := range found {
		q := transcript.Query{Session: s.ID, Dialect: s.Dialect, Path: s.Path, Full: true}
		out[i] = Session{
			Session: s,
			Read:    func(ctx context.Context) (*hook.Transcript, error) { return files.Read(ctx, a, q) },
		}
	}
	return out, err
}

// Select returns the sessions with the given ids, or all if there are none. If a
// session is not among them, missing is its id.
func Select(all []Session, ids []string) (selected []Session, missing string) {
	if len(ids) == 0 {
		return all, ""
	}
	for _, id := range ids {
		i := slices.IndexFunc(all, func(s Session) bool { return s.ID == id })
		if i < 0 {
			return nil, id
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s Session) bool { return !slices.Contains(ids, s.ID) }), ""
}

// Order returns the destinations with the given names, or all if there are none,
// in the order that Importer needs: the local store last.
func Order(all []deliver.Destination, names []string) []deliver.Destination {
	out := slices.DeleteFunc(slices.Clone(all), func(d deliver.Destination) bool {
		return len(names) > 0 && !slices.Contains(names, d.Name)
	})
	slices.SortStableFunc(out, func(x, y deliver.Destination) int {
		switch {
		case x.Name == storeName && y.Name != storeName:
			return 1
		case y.Name == storeName && x.Name != storeName:
			return -1
		}
		return 0
	})
	return out
}

// Memory is the limit of the heap for an import, in bytes: most of what it allocates
// is soon free, but for the session that is read, and what is kept of each for the second
// reading. With less than that needs, the collector would run all the time.
func Memory(sessions []Session) int64 {
	const others, times, each = 96 << 20, 3, 5 << 10
	largest := int64(0)
	for i := range sessions {
		if info, err := os.Stat(sessions[i].Path); err == nil {
			largest = max(largest, info.Size())
		}
	}
	return others + times*largest + each*int64(len(sessions))
}

// Stored reads traces of the store for a destination that does not have them, with each
// span marked as imported.
type Stored struct {
	Store *store.Store
	// Resource are the attributes of resources to set anew.
	Resource []*commonpb.KeyValue
	// Gone are the traces that were deleted meanwhile.
	Gone map[string]bool
}

// Trace returns the runs of a trace, none if it was deleted.
func (s *Stored) Trace(ctx context.Context, id string) ([]*tracepb.ResourceSpans, error) {
	t, err := s.Store.Trace(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		if s.Gone == nil {
			s.Gone = make(map[string]bool)
		}
		s.Gone[id] = true
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, run := range t.ResourceSpans {
		markImported(run)
		for _, attr := range s.Resource {
			setResource(run, attr)
		}
	}
	return t.ResourceSpans, nil
}

// markImported marks spans that are sent from history, so that they can be kept out of
// what counts as of today.
func markImported(run *tracepb.ResourceSpans) {
	for _, scope := range run.GetScopeSpans() {
		for _, s := range scope.GetSpans() {
			if otlp.Find(s.GetAttributes(), otelmap.KeyImported) == nil {
				s.Attributes = append(s.Attributes, otlp.Bool(otelmap.KeyImported, true))
			}
		}
	}
}

// setResource sets an attribute of a run's resource, and the user that the run has from it.
func setResource(run *tracepb.ResourceSpans, attr *commonpb.KeyValue) {
	if r := run.GetResource(); r != nil {
		r.Attributes = otlp.Set(r.Attributes, attr)
	}
	for s := range otlp.Spans([]*tracepb.ResourceSpans{run}) {
		if attr.GetKey() == otelmap.KeyUser && step.Of(s).Kind() == step.KindRun {
			s.Attributes = otlp.Set(s.Attributes, attr)
		}
	}
}

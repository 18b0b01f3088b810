package store

import (
	"encoding/hex"
	"path/filepath"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/ramdir"
	"github.com/hookspan/hookspan/internal/testkit/tracetest"
)

type build = tracetest.Build

var (
	newBuild, at, nano, spanID, t0 = tracetest.New, tracetest.At, tracetest.Nano, tracetest.SpanID, tracetest.T0
	clineTrace, usageAttrs         = tracetest.Cline, tracetest.Usage
	str, num, float                = otlp.String, otlp.Int, otlp.Float
)

func traceID(b *build) string { return hex.EncodeToString(b.ID[:]) }

// openAt opens a store whose clock stands at t0.
func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s.Now = func() time.Time { return t0 }
	return s
}

func open(t testing.TB) *Store {
	t.Helper()
	return openAt(t, filepath.Join(ramdir.New(t), "traces.db"))
}

func upload(t testing.TB, s *Store, messages []*tracepb.ResourceSpans) {
	t.Helper()
	if err := s.UploadTraces(t.Context(), messages); err != nil {
		t.Fatal(err)
	}
}

// selected returns the ids of the traces that a filter selects, whatever its limit.
func selected(t testing.TB, s *Store, f Filter) (ids []string) {
	t.Helper()
	f.Limit = -1
	list, err := s.List(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range list {
		ids = append(ids, sum.TraceID)
	}
	return ids
}

// stored uploads the spans of one trace and reads it back.
func stored(t testing.TB, messages []*tracepb.ResourceSpans) *Trace {
	t.Helper()
	s := open(t)
	upload(t, s, messages)
	tr, err := s.Trace(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

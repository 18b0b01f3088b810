package deliver

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/traces/sums"
)

func TestTracesAndMetricsShareAConnection(t *testing.T) {
	var from []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { from = append(from, r.RemoteAddr) }))
	defer s.Close()
	for name, tt := range map[string]struct {
		shared  *sync.Map
		anyUser bool
		want    int
	}{"shared": {new(sync.Map), false, 1}, "not shared": {nil, false, 2}, "another kind": {new(sync.Map), true, 2}} {
		from = nil
		traces, err := NewOTLP(t.Context(), OTLP{Endpoint: s.URL + "/v1/traces", Shared: tt.shared, Headers: map[string]string{"a": "b"}})
		if err != nil {
			t.Fatal(err)
		}
		metrics, err := NewMetrics(OTLP{Endpoint: s.URL + "/v1/metrics", Shared: tt.shared, AnyUser: tt.anyUser, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if err := traces.UploadTraces(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if err := metrics.Upload(t.Context(), sums.Test(time.Now())); err != nil {
			t.Fatal(err)
		}
		slices.Sort(from)
		if len(from) != 2 || len(slices.Compact(from)) != tt.want {
			t.Errorf("%s: connections %q, want %d", name, from, tt.want)
		}
	}
}

package ui

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/loopback"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// TestRunningTaskDoesNotGrowInMemory asks for a task of 5 MB after each of 1,000 events.
func TestRunningTaskDoesNotGrowInMemory(t *testing.T) {
	s, _ := emptyStore(t)
	watched, events := filepath.Join(t.TempDir(), "log"), 0
	server := New(Options{Store: s, Token: testToken, Watch: []string{watched}, Running: func(context.Context) ([]*store.Trace, error) {
		spans := someTrace()
		last := spans[0].ScopeSpans[0].Spans[5]
		last.Attributes = append(last.Attributes, otlp.String(otelmap.KeyText, strings.Repeat(fmt.Sprintf("%9d ", events), 500_000)))
		return []*store.Trace{store.NewTrace(spans)}, nil
	}})
	server.policy = loopback.Page([]string{"example.com"}, opening)
	held := make(map[int]uint64) // bytes after an event
	for events = 1; events <= 1000; events++ {
		if err := os.WriteFile(watched, make([]byte, events), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"sessions", "traces/" + fmt.Sprintf("%x", "0123456789abcdef"), "traces/" + fmt.Sprintf("%x", "0123456789abcdef") + "/rows"} {
			w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/"+path, nil)
			r.Header.Set(TokenHeader, testToken)
			if server.ServeHTTP(w, r); w.Code != 200 {
				t.Fatalf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		if events%100 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			if held[events] = m.HeapAlloc; held[events] > held[100]*13/10 {
				t.Fatalf("after %d events %d bytes are held, after 100 %d", events, held[events], held[100])
			}
		}
	}
	t.Logf("bytes after 100 events %d, after 1,000 %d", held[100], held[1000])
}

package bridge

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestBodiesWithoutAPlaceAreRefused(t *testing.T) {
	event := func(n, levels int) string {
		return `{"session_id":"s","x":"` + strings.Repeat("x", n) + `","y":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}`
	}
	for _, tt := range []struct {
		name   string
		size   int
		levels int
		known  bool
		full   func(*budget) chan struct{}
		status int
	}{
		{"an ordinary event needs none", freeBody / 2, 1, true, func(b *budget) chan struct{} { return b.medium }, 200},
		{"an ordinary event of unknown length needs none", freeBody / 2, 1, false, func(b *budget) chan struct{} { return b.decode }, 200},
		{"a larger one", freeBody * 2, 1, true, func(b *budget) chan struct{} { return b.medium }, 503},
		{"a larger one of unknown length", freeBody * 2, 1, false, func(b *budget) chan struct{} { return b.medium }, 503},
		{"one that is read and not yet decoded", freeBody * 2, 1, true, func(b *budget) chan struct{} { return b.decode }, 503},
		{"a small one that nests as deep as events do", 0, freeLevels - 1, true, func(b *budget) chan struct{} { return b.decode }, 200},
		{"a small one that nests deeper", 0, freeLevels, true, func(b *budget) chan struct{} { return b.decode }, 503},
		{"a large one", mediumBody * 2, 1, true, func(b *budget) chan struct{} { return b.large }, 503},
		{"a large one of unknown length", mediumBody * 2, 1, false, func(b *budget) chan struct{} { return b.large }, 503},
		{"a larger one beside a large one", freeBody * 2, 1, true, func(b *budget) chan struct{} { return b.large }, 200},
		{"a large one beside larger ones", mediumBody * 2, 1, true, func(b *budget) chan struct{} { return b.medium }, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{})
			s.budget.wait = time.Nanosecond // ends at once
			places := tt.full(&s.budget)
			for range cap(places) {
				places <- struct{}{}
			}
			post := func() *httptest.ResponseRecorder {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/claude-hook", strings.NewReader(event(tt.size, tt.levels)))
				if !tt.known {
					r.ContentLength = -1
				}
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				return w
			}
			w := post()
			if w.Code != tt.status {
				t.Fatalf("status %d, want %d", w.Code, tt.status)
			}
			if got := w.Header().Get("Retry-After"); (got != "") != (tt.status == 503) {
				t.Errorf("Retry-After %q with status %d", got, w.Code)
			}
			if len(places) != cap(places) {
				t.Errorf("%d places held, want %d", len(places), cap(places))
			}
			for range cap(places) {
				<-places
			}
			if w := post(); w.Code != http.StatusOK {
				t.Errorf("status %d once there are places", w.Code)
			}
		})
	}
}

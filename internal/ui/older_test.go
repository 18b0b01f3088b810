package ui

import (
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/loopback"
	"github.com/hookspan/hookspan/otelmap"
)

// TestAnAnswerOfAnEarlierStateSaysSo asks for sums that are slow to add up, before and after a task
// ends.
func TestAnAnswerOfAnEarlierStateSaysSo(t *testing.T) {
	s, path := emptyStore(t)
	opts := Options{Store: s, Token: testToken, StoreFiles: []string{path, path + "-wal"}, Watch: []string{path, path + "-wal"}}
	server, first := New(opts), New(opts)
	for _, s := range []*Server{server, first} {
		s.policy = loopback.Page([]string{"example.com"}, opening)
	}
	from := func(server *Server, path string) (body string, again int) {
		t.Helper()
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/"+path, nil)
		r.Header.Set(TokenHeader, testToken)
		if server.ServeHTTP(w, r); w.Code != 200 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		if v := w.Header().Get(OlderHeader); v != "" {
			n, err := strconv.Atoi(v)
			if err != nil || n <= 0 {
				t.Errorf("%s: %s: %q", path, OlderHeader, v)
			}
			again = n
		}
		return w.Body.String(), again
	}
	get := func(path string) (body string, again int) { return from(server, path) }
	paths := []string{"facets", "work", "sides?a=agent%3Dclaude-code&b=model%3Dm1", "calls", "usage"}
	ends := func(id byte, dir string) {
		t.Helper()
		k := &task{id: id}
		run := k.run("claude-code", "s", dir, otelmap.OutcomeCompleted, float64(id), float64(id)+60)
		k.tool(run, "mcp__db__query", `{}`, "1", float64(id)+1, float64(id)+2)
		k.chat(run, "m1", float64(id)+2, float64(id)+3, 10, 10, 1)
		if err := s.UploadTraces(t.Context(), messagesOf(k)); err != nil {
			t.Fatal(err)
		}
		// The first reader of a task stores what its calls are, which is a change of the store.
		clear(first.answers.by)
		for _, path := range paths {
			from(first, path)
		}
		for _, file := range []string{path, path + "-wal"} { // long enough ago
			if err := os.Chtimes(file, time.Time{}, time.Unix(int64(id), 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	took := func(share, age time.Duration) { // what is kept took so long, so long ago
		for key, have := range server.answers.by {
			have.took, have.at = share, time.Now().Add(-age)
			server.answers.by[key] = have
		}
	}
	ends(1, "/one")
	for _, path := range paths {
		clear(server.answers.by)
		first, again := get(path)
		if again != 0 {
			t.Errorf("%s: the first answer is of an earlier state", path)
		}
		took(time.Second, 0)
		ends(byte(len(path)+10), "/"+strings.Trim(path, "?=&%"))
		second, again := get(path)
		if (second == first) != (again > 0) {
			t.Errorf("%s: the same answer: %v, to be asked again in %d ms", path, second == first, again)
		}
		took(time.Second, time.Hour)
		if third, again := get(path); third == first || again != 0 {
			t.Errorf("%s: later the same answer: %v, again in %d ms", path, third == first, again)
		}
	}
}

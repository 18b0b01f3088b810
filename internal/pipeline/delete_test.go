package pipeline

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/spool"
)

// TestDeletedTaskOfASharedTraceIsNotSent deletes one of the tasks that sessions of two agents have in
// a trace that was begun outside: it is not sent, and the other is.
func TestDeletedTaskOfASharedTraceIsNotSent(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	var down atomic.Bool
	var taken atomic.Int32
	down.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		taken.Add(1)
	}))
	t.Cleanup(server.Close)
	s := newSetup(t, "HOOKSPAN_EXPORTERS=store,otlp", "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL)
	p, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	for _, session := range []struct{ host, id, prompt, end string }{
		{"claude-code", "s1", `"prompt":"do it","prompt_id":"p1"`, `"prompt_id":"p1"`},
		{"codex", "s2", `"prompt":"do it","turn_id":"p2"`, `"turn_id":"p2"`},
	} {
		for i, event := range []string{"UserPromptSubmit", "Stop"} {
			more := []string{session.prompt, session.end}[i]
			r := spool.Record{
				Host: session.host, Session: session.id, Event: event, TraceParent: parent, At: time.Now().Add(-time.Hour),
				Payload: fmt.Appendf(nil, `{"session_id":%q,"cwd":"/w","hook_event_name":%q,%s}`, session.id, event, more),
			}
			if err := p.Deliverer.Spool.Append(&r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := p.Flush(t.Context(), deliver.Pass{Force: true, OtherSettings: true}); err != nil {
		t.Fatal(err)
	}
	s.Store = p.Store
	traces, err := s.Store.List(t.Context(), store.Filter{Limit: -1})
	if err != nil || len(traces) != 2 || traces[0].Session == traces[1].Session || traces[0].Spans != 1 {
		t.Fatalf("%+v, %v; want the tasks of both sessions", traces, err)
	}
	if _, _, err := s.Delete(t.Context(), traces[:1], func(string, string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	down.Store(false)
	if _, err := p.Flush(t.Context(), deliver.Pass{Force: true, OtherSettings: true}); err != nil {
		t.Fatal(err)
	}
	if n := taken.Load(); n != 1 {
		t.Errorf("%d requests, want that with the task that is left", n)
	}
	left, err := s.Store.List(t.Context(), store.Filter{Limit: -1})
	if err != nil || len(left) != 1 || left[0].TraceID != traces[1].TraceID {
		t.Errorf("stored are %+v, %v; want %s", left, err, traces[1].TraceID)
	}
}

// TestDeleteTakesTheLogOfItsSession deletes the only task of a session while another session's id
// begins with this one's: the log with its prompts goes all the same.
func TestDeleteTakesTheLogOfItsSession(t *testing.T) {
	s := newSetup(t, "HOOKSPAN_EXPORTERS=store")
	p, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	for _, session := range []string{"s1", "s12"} {
		for i, more := range []string{`"prompt":"do it","prompt_id":"p1"`, `"prompt_id":"p1"`, `"reason":"exit"`} {
			event := []string{"UserPromptSubmit", "Stop", "SessionEnd"}[i]
			r := spool.Record{
				Host: "claude-code", Session: session, Event: event, At: time.Now().Add(-time.Hour),
				Payload: fmt.Appendf(nil, `{"session_id":%q,"cwd":"/w","hook_event_name":%q,%s}`, session, event, more),
			}
			if err := p.Deliverer.Spool.Append(&r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := p.Flush(t.Context(), deliver.Pass{Force: true}); err != nil {
		t.Fatal(err)
	}
	s.Store = p.Store
	traces, err := s.Store.List(t.Context(), store.Filter{Session: "s1", Whole: true, Limit: -1})
	if err != nil || len(traces) != 1 {
		t.Fatalf("%+v, %v; want the task of s1", traces, err)
	}
	var ended []string
	_, out, err := s.Delete(t.Context(), traces, func(_, session string) error { ended = append(ended, session); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if out.Kept != 0 || !slices.Equal(ended, []string{"s1"}) {
		t.Errorf("%d logs are kept, %q ended, want none and s1", out.Kept, ended)
	}
	keys, err := p.Deliverer.Spool.Sessions()
	if err != nil || slices.Contains(keys, spool.SessionKey("claude-code", "s1")) {
		t.Errorf("logs of %v, %v: want none of s1", keys, err)
	}
}

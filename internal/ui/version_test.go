package ui

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/loopback"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// asks is a server that answers without a listener.
func asks(o Options) (*Server, func(t *testing.T, path string, v any)) {
	o.Token = testToken
	server := New(o)
	server.policy = loopback.Page([]string{"example.com"}, opening)
	return server, func(t *testing.T, path string, v any) {
		t.Helper()
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/"+path, nil)
		r.Header.Set(TokenHeader, testToken)
		if server.ServeHTTP(w, r); w.Code != 200 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

func messagesOf(k *task) []*tracepb.ResourceSpans {
	return []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: k.spans}}}}
}

// lateTask is a task whose call has not ended, or with late has: what is sent again changes
// neither the spans nor the end nor the outcome.
func lateTask(late bool) *task {
	k := &task{id: 0xf6}
	run := k.run("claude-code", "s1", "/w", otelmap.OutcomeCompleted, 0, 60)
	call := k.tool(run, "Bash", `{"command":"make"}`, "built", 1, 2)
	if !late {
		failed(call, otelmap.ErrorToolUnfinished, "it never ended")
	}
	return k
}

func TestACorrectedTaskHasAnotherVersion(t *testing.T) {
	s, _ := emptyStore(t)
	_, get := asks(Options{Store: s})
	upload := func(k *task) {
		t.Helper()
		if err := s.UploadTraces(t.Context(), messagesOf(k)); err != nil {
			t.Fatal(err)
		}
	}
	upload(lateTask(false))
	type answer struct {
		Version  int64
		Problems []struct{ Row int }
		Summary  store.Summary
	}
	var before, same, after answer
	var listing struct {
		Traces []struct {
			Summary store.Summary
			Reason  string
		}
	}
	get(t, "sessions", &listing)
	id := listing.Traces[0].Summary.TraceID
	if listing.Traces[0].Reason == "" {
		t.Error("the list has no reason for the call that never ended")
	}
	get(t, "traces/"+id, &before)
	if len(before.Problems) != 1 {
		t.Fatalf("problems %+v, want one", before.Problems)
	}
	upload(lateTask(false)) // Nothing new.
	if get(t, "traces/"+id, &same); same.Version != before.Version {
		t.Errorf("version %d after nothing new, want %d", same.Version, before.Version)
	}
	upload(lateTask(true))
	if get(t, "traces/"+id, &after); len(after.Problems) != 0 || after.Version == before.Version || after.Summary.Spans != before.Summary.Spans || !after.Summary.Ended.Equal(before.Summary.Ended) {
		t.Errorf("version %d with %d problems, before %d", after.Version, len(after.Problems), before.Version)
	}
	var rows answer
	if get(t, "traces/"+id+"/rows", &rows); rows.Version != after.Version {
		t.Errorf("rows of version %d, want %d", rows.Version, after.Version)
	}
	if n, err := s.Delete(t.Context(), []string{id}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	upload(lateTask(false))
	if get(t, "traces/"+id, &same); same.Version == before.Version || len(same.Problems) != 1 {
		t.Errorf("removed and stored again it has version %d with %d problems, as before", same.Version, len(same.Problems))
	}
	// The list had kept why it failed.
	failing := lateTask(false)
	failed(failing.spans[1], "x", "another reason")
	upload(failing)
	if get(t, "sessions", &listing); !strings.Contains(listing.Traces[0].Reason, "another reason") {
		t.Errorf("the list says %q", listing.Traces[0].Reason)
	}
}

func TestARunningTaskHasAnotherVersionWhenItChanges(t *testing.T) {
	s, _ := emptyStore(t)
	now, status, calls := 3.0, otelmap.OutcomeRunning, 0
	server, _ := asks(Options{Store: s, Running: func(context.Context) ([]*store.Trace, error) {
		k := &task{id: 0xf7}
		run := k.run("claude-code", "s1", "/w", status, 0, now)
		for range calls {
			k.tool(run, "Bash", `{"command":"make"}`, "built", 1, 2)
		}
		return []*store.Trace{store.NewTrace(messagesOf(k))}, nil
	}})
	version := func() int64 {
		t.Helper()
		server.live.stamp = "read again"
		traces := server.running(t.Context())
		l, err := server.traces.get(t.Context(), server, traces[0].TraceID)
		if err != nil {
			t.Fatal(err)
		}
		return l.version
	}
	first := version()
	if now++; version() != first {
		t.Error("time alone gives another version")
	}
	calls++
	second := version()
	if second == first {
		t.Error("a call gives no other version")
	}
	if status = otelmap.OutcomeInterrupted; version() == second {
		t.Error("an end that only the agent's files have gives no other version")
	}
}

package ui

import (
	"context"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// TestASessionHasItsRunningTask asks for a session of which nothing is stored, and for one with a
// stored task.
func TestASessionHasItsRunningTask(t *testing.T) {
	s, _ := emptyStore(t)
	_, get := asks(Options{Store: s, Watch: []string{t.TempDir()}, Running: func(context.Context) ([]*store.Trace, error) {
		var out []*store.Trace
		for i, session := range []string{"new", "old"} {
			k := &task{id: byte(0x10 + i)}
			run := k.run("codex", session, "/w", otelmap.OutcomeRunning, 100, 160)
			k.chat(run, "m1", 101, 102, 100, 10, 0.5)
			k.tool(run, "Bash", `{"command":"make"}`, "", 103, 104)
			out = append(out, store.NewTrace(messagesOf(k)))
		}
		return out, nil
	}})
	tasksIn(t, s, [2]string{"old", "codex"}, [2]string{"other", "codex"})
	for session, want := range map[string]int{"new": 1, "old": 2, "other": 1} {
		var got struct {
			Traces []struct{ Summary store.Summary }
			Totals store.Totals
			Points []point
		}
		get(t, "session/"+session, &got)
		runs := 0
		for _, task := range got.Traces {
			if task.Summary.Outcome == otelmap.OutcomeRunning {
				runs++
			}
		}
		last := got.Traces[len(got.Traces)-1].Summary.Outcome
		if len(got.Traces) != want || got.Totals.Traces != want || session != "other" && (runs != 1 || last != otelmap.OutcomeRunning || got.Totals.Calls != 1 || len(got.Points) != 1) {
			t.Errorf("%s: %+v", session, got)
		}
	}
}

// TestARunningTaskHasItsMatch looks for a word and for denied calls with nothing stored.
func TestARunningTaskHasItsMatch(t *testing.T) {
	s, _ := emptyStore(t)
	_, get := asks(Options{Store: s, Watch: []string{t.TempDir()}, Running: func(context.Context) ([]*store.Trace, error) {
		k := &task{id: 0x10}
		failed(k.tool(k.run("codex", "new", "/w", otelmap.OutcomeRunning, 100, 160), "Bash", `{"command":"git push"}`, "", 103, 104), otelmap.ErrorToolDenied, "not today")
		return []*store.Trace{store.NewTrace(messagesOf(k))}, nil
	}})
	var list struct {
		Running []struct {
			Match  *struct{ Tool string }
			Reason string
		}
	}
	if get(t, "sessions?text=push", &list); len(list.Running) != 1 || list.Running[0].Match == nil || list.Running[0].Match.Tool != "Bash" {
		t.Errorf("%+v", list)
	}
	if get(t, "sessions?denied", &list); len(list.Running) != 1 || list.Running[0].Reason != "Bash git push (denied by you: not today)" {
		t.Errorf("%+v", list)
	}
	var hits struct{ Hits []struct{ Where string } }
	if get(t, "search?text=push", &hits); len(hits.Hits) != 1 || hits.Hits[0].Where != "Bash" {
		t.Errorf("%+v", hits)
	}
}

// TestSessionsOfASharedTraceAreTwoTasks has two sessions in a trace that was begun outside, one of
// which still runs.
func TestSessionsOfASharedTraceAreTwoTasks(t *testing.T) {
	of := func(session, outcome string) []*tracepb.ResourceSpans {
		k := &task{id: 0x10}
		run := k.run("codex", session, "/w", outcome, 100, 160)
		failed(k.tool(run, "Bash", `{"command":"`+session+`"}`, "", 103, 104), otelmap.ErrorToolDenied, "not today")
		root, call := k.spans[0], k.spans[1]
		root.SpanId[0], call.SpanId[0] = session[0], session[0]
		root.ParentSpanId, call.ParentSpanId = []byte("outside."), root.SpanId
		return messagesOf(k)
	}
	s, _ := emptyStore(t)
	if err := s.UploadTraces(t.Context(), of("one", otelmap.OutcomeCompleted)); err != nil {
		t.Fatal(err)
	}
	_, get := asks(Options{Store: s, Watch: []string{t.TempDir()}, Running: func(context.Context) ([]*store.Trace, error) {
		return []*store.Trace{store.NewTrace(of("two", otelmap.OutcomeRunning))}, nil
	}})
	type listed struct{ Summary store.Summary }
	var list struct{ Running, Traces []listed }
	get(t, "sessions?denied", &list)
	if len(list.Running) != 1 || len(list.Traces) != 1 || list.Running[0].Summary.TraceID == list.Traces[0].Summary.TraceID {
		t.Fatalf("%+v, want both sessions", list)
	}
	for _, l := range append(list.Running, list.Traces...) {
		var head listed
		get(t, "traces/"+l.Summary.TraceID, &head)
		if head.Summary.Session != l.Summary.Session || head.Summary.Tools != 1 {
			t.Errorf("the page of %s shows %+v", l.Summary.TraceID, head.Summary)
		}
		var found struct{ Hits []store.Hit }
		get(t, "search?text="+l.Summary.Session, &found)
		if len(found.Hits) != 1 || found.Hits[0].Trace != l.Summary.TraceID {
			t.Errorf("%s is found in %+v", l.Summary.Session, found.Hits)
		}
	}
}

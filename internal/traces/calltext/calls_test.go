package calltext

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/internal/transcript/claude"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// TestWholeCallsAreReadOncePerTraceAndSession counts reads: the calls of several tasks of several
// sessions come in a list that mixes them, and so do the workspace's two folders.
func TestWholeCallsAreReadOncePerTraceAndSession(t *testing.T) {
	const sessions, tasks, edits = 3, 4, 25
	f := finder(t, claude.Agent, nil)
	files, traces := 0, 0
	f.Agent = func(string) (transcript.Reader, func(*spool.Record) ([]hook.Event, error)) {
		files++
		return claude.Agent, nil
	}
	stored := make(map[string]*store.Trace)
	var calls []store.Call
	for e := range edits {
		for n := range sessions * tasks {
			id, session := fmt.Sprintf("%032x", n+1), fmt.Sprintf("%08d-1111-4111-8111-111111111111", n%sessions)
			if stored[id] == nil {
				stored[id] = trace("claude-code", session, "claude")
				stored[id].TraceID, stored[id].Directory, stored[id].Folders = id, "/w/p", []string{"/w/p", "/w/q"}
			}
			span := &tracepb.Span{
				SpanId: []byte{1, 0, 0, 0, 0, 0, byte(n), byte(e)}, StartTimeUnixNano: otlp.UnixNano(at(e)), EndTimeUnixNano: otlp.UnixNano(at(e + 1)),
				Attributes: otlpTexts(otelmap.KeyOperation, otelmap.OpExecuteTool, otelmap.KeyToolName, "Write", otelmap.KeyToolCallID, fmt.Sprintf("toolu_%d_%d", n, e)),
			}
			scope := stored[id].ResourceSpans[0].ScopeSpans[0]
			scope.Spans = append(scope.Spans, span)
			calls = append(calls, store.Call{Trace: id, Span: otlp.SpanID(span), Host: "claude-code", Session: session, Directory: []string{"/w/p", "/w/q"}[e%2], Arguments: `{"cut":"…`})
		}
	}
	for s := range sessions {
		session := fmt.Sprintf("%08d-1111-4111-8111-111111111111", s)
		var rows []string
		for n := s; n < sessions*tasks; n += sessions {
			for e := range edits {
				rows = append(rows, rawjson.Encode(map[string]any{
					"type": "assistant", "sessionId": session, "cwd": "/w/p", "uuid": fmt.Sprintf("u%d-%d", n, e), "timestamp": at(e).Format(time.RFC3339),
					"message": map[string]any{"id": fmt.Sprintf("msg_%d_%d", n, e), "role": "assistant", "content": []any{map[string]any{
						"type": "tool_use", "id": fmt.Sprintf("toolu_%d_%d", n, e), "name": "Write", "input": map[string]any{"file_path": "/w/p/a", "content": fmt.Sprintf("%d of %d", e, n)},
					}}},
				}))
			}
		}
		write(t, filepath.Join(f.Home, ".claude", "projects", "-w-p", session+".jsonl"), strings.Join(rows, "\n")+"\n")
	}
	err := f.Calls(t.Context(), func(id string) (*store.Trace, error) {
		traces++
		return stored[id], nil
	}, calls)
	if err != nil {
		t.Fatal(err)
	}
	if traces != sessions*tasks || files != sessions {
		t.Errorf("%d reads of traces and %d of files, want %d and %d", traces, files, sessions*tasks, sessions)
	}
	for i, c := range calls {
		if want := fmt.Sprintf("%d of %d", i/(sessions*tasks), i%(sessions*tasks)); !strings.Contains(c.Arguments, want) {
			t.Fatalf("call %d has %s, want %s", i, c.Arguments, want)
		}
	}
}

// TestCallsOfSeveralTasksLoseWhatTheirTasksRemoved has a value that only the prompt of its task
// shows to be a secret. The last of the session's tasks is long after it.
func TestCallsOfSeveralTasksLoseWhatTheirTasksRemoved(t *testing.T) {
	const secret, folder = "Xk29vQ7wLp3z", "Rt81mN4bVc6y"
	f := finder(t, claude.Agent, nil)
	f.Agent = func(string) (transcript.Reader, func(*spool.Record) ([]hook.Event, error)) {
		return transcript.Reader{Read: func(context.Context, *transcript.Files, transcript.Query) (*hook.Transcript, error) {
			tr := &hook.Transcript{Prompts: []hook.Prompt{{At: at(0), Text: "deploy with password=" + secret + " and password=" + folder}}}
			for n, when := range []time.Time{at(1), at(9000)} {
				tr.ToolResults = append(tr.ToolResults, hook.ToolResult{ID: fmt.Sprint(n), Name: "Write", At: when, Input: `{"content":"` + secret + " " + folder + `"}`})
			}
			return tr, nil
		}}, nil
	}
	tasks := make(map[string]*store.Trace)
	var calls []store.Call
	for n, start := range []int{0, 8999} {
		id, task := fmt.Sprintf("%032x", n+1), trace("claude-code", "s", "claude")
		task.TraceID, task.Started, task.Ended = id, at(start), at(start+2)
		span := &tracepb.Span{
			SpanId: []byte{1, 0, 0, 0, 0, 0, 0, byte(n)}, StartTimeUnixNano: otlp.UnixNano(at(start)), EndTimeUnixNano: otlp.UnixNano(at(start + 1)),
			Attributes: otlpTexts(otelmap.KeyOperation, otelmap.OpExecuteTool, otelmap.KeyToolName, "Write", otelmap.KeyToolCallID, fmt.Sprint(n)),
		}
		scope := task.ResourceSpans[0].ScopeSpans[0]
		if scope.Spans = append(scope.Spans, span); n == 0 {
			scope.Spans[0].Attributes = append(scope.Spans[0].Attributes, otlpTexts(otelmap.KeyWorkingDirectory, "/src/"+folder)...)
		}
		tasks[id] = task
		calls = append(calls, store.Call{Trace: id, Span: otlp.SpanID(span), Host: "claude-code", Session: "s"})
	}
	if err := f.Calls(t.Context(), func(id string) (*store.Trace, error) { return tasks[id], nil }, calls); err != nil {
		t.Fatal(err)
	}
	if want := `{"content":"[REDACTED:assigned-secret] ` + folder + `"}`; calls[0].Arguments != want {
		t.Errorf("got %s, want %s", calls[0].Arguments, want)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCallsAreRedactedAsTheirTasksAre has a value that a later task of the session has as a folder's
// name: in the task whose prompt shows it to be a secret it is removed all the same.
func TestCallsAreRedactedAsTheirTasksAre(t *testing.T) {
	const secret = "Xk29vQ7wLp3z"
	f := finder(t, claude.Agent, nil)
	f.Agent = func(string) (transcript.Reader, func(*spool.Record) ([]hook.Event, error)) {
		return transcript.Reader{Read: func(context.Context, *transcript.Files, transcript.Query) (*hook.Transcript, error) {
			return &hook.Transcript{
				Prompts: []hook.Prompt{{At: at(0), Text: "deploy with password=" + secret}},
				ToolResults: []hook.ToolResult{
					{ID: "0", Name: "Write", At: at(1), Input: `{"content":"` + secret + `"}`},
					{ID: "1", Name: "Write", At: at(9000), Input: `{"file_path":"/src/` + secret + `/a"}`},
				},
			}, nil
		}}, nil
	}
	tasks := make(map[string]*store.Trace)
	var calls []store.Call
	for n, start := range []int{0, 8999} {
		id, task := fmt.Sprintf("%032x", n+1), trace("claude-code", "s", "claude")
		task.TraceID, task.Started, task.Ended = id, at(start), at(start+2)
		span := &tracepb.Span{
			SpanId: []byte{1, 0, 0, 0, 0, 0, 0, byte(n)}, StartTimeUnixNano: otlp.UnixNano(at(start)), EndTimeUnixNano: otlp.UnixNano(at(start + 1)),
			Attributes: otlpTexts(otelmap.KeyOperation, otelmap.OpExecuteTool, otelmap.KeyToolName, "Write", otelmap.KeyToolCallID, fmt.Sprint(n)),
		}
		scope := task.ResourceSpans[0].ScopeSpans[0]
		scope.Spans = append(scope.Spans, span)
		if n == 1 {
			scope.Spans[0].Attributes = append(scope.Spans[0].Attributes, otlpTexts(otelmap.KeyWorkingDirectory, "/src/"+secret)...)
		}
		tasks[id] = task
		calls = append(calls, store.Call{Trace: id, Span: otlp.SpanID(span), Host: "claude-code", Session: "s"})
	}
	for i := range calls {
		alone := []store.Call{calls[i]}
		if err := f.Calls(t.Context(), func(id string) (*store.Trace, error) { return tasks[id], nil }, alone); err != nil {
			t.Fatal(err)
		}
		if hidden := !strings.Contains(alone[0].Arguments, secret); hidden != (i == 0) {
			t.Errorf("call %d alone has %s", i, alone[0].Arguments)
		}
		calls[i].Arguments = alone[0].Arguments
	}
	together := slices.Clone(calls)
	for i := range together {
		together[i].Arguments = ""
	}
	if err := f.Calls(t.Context(), func(id string) (*store.Trace, error) { return tasks[id], nil }, together); err != nil {
		t.Fatal(err)
	}
	for i := range calls {
		if together[i].Arguments != calls[i].Arguments {
			t.Errorf("call %d has %s together with another task's, alone %s", i, together[i].Arguments, calls[i].Arguments)
		}
	}
}

package cline

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

func TestGolden(t *testing.T) { tested.GoldenOf(t, fixtures(t)) }

// TestDecodeCallsLeavesOutHowCallsEnded has everything else as Decode has it.
func TestDecodeCallsLeavesOutHowCallsEnded(t *testing.T) {
	ends := 0
	for _, f := range fixtures(t) {
		want, _ := Decode(f.Raw)
		got, err := DecodeCalls(f.Raw)
		if err != nil {
			t.Fatalf("%s/%s: %v", f.Folder, f.Name, err)
		}
		for i := range want {
			if call := want[i].Tool; call != nil && want[i].Kind == hook.KindToolEnd {
				call.Output, call.Status, call.Error = "", hook.ToolUnknown, ""
				ends++
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s/%s (-want +got):\n%s", f.Folder, f.Name, diff)
		}
	}
	if ends == 0 {
		t.Error("no call's end was recorded")
	}
}

func TestDecodeKeepsStoredContext(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	events, err := Decode(Raw{
		Payload: []byte(`{"taskId":"1"}`), Event: "TaskStart", StoredAt: storedAt, Offset: 4711, Cwd: "/w", TraceParent: parent,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []hook.Event{{
		Host: "cline", Dialect: "classic", Kind: hook.KindRunStart, Name: "TaskStart", Session: "1",
		StoredAt: storedAt, Offset: 4711, Cwd: "/w", TraceParent: parent,
	}}
	want[0].Hash = hook.Hash([]byte(`{"taskId":"1"}`))
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// The payload of Cline connectors that went by the documentation. No version of
// Cline sends it, but tools that imitate Cline may.
func TestDocumentedForm(t *testing.T) {
	ev := decodeOne(t, `{
		"hookName": "PostToolUse", "taskId": "cline-t-abc123", "timestamp": "2026-04-18T10:00:05Z",
		"clineVersion": "3.36", "workspaceRoots": ["/home/user/project"], "userId": "u-1",
		"model": {"provider": "anthropic", "slug": "claude-sonnet-4"},
		"postToolUse": {"tool": "execute_command", "parameters": {"command": "npm test"},
			"result": "All 42 tests passed", "success": true, "durationMs": 3200}}`, "")
	want := hook.Event{
		Host: "cline", Dialect: "classic", Kind: hook.KindToolEnd, Name: "PostToolUse", Session: "cline-t-abc123",
		Time: time.Date(2026, 4, 18, 10, 0, 5, 0, time.UTC), StoredAt: storedAt, Hash: ev.Hash,
		HostVersion: "3.36", Provider: "anthropic", Model: "claude-sonnet-4", Cwd: "/home/user/project", User: "u-1",
		Tool: &hook.Tool{Name: "execute_command", Input: `{"command":"npm test"}`, Output: "All 42 tests passed", Duration: 3200 * time.Millisecond},
	}
	if diff := cmp.Diff(want, ev); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

func TestCommonMembers(t *testing.T) {
	type facts struct{ Version, User, Provider, Model, Cwd string }
	tests := []struct {
		name, payload string
		want          facts
	}{
		{
			"all of them", `{"clineVersion":"4.0.12","userId":"u-1","model":{"provider":"anthropic","slug":"claude"},"workspaceRoots":["/a","/b"]}`,
			facts{"4.0.12", "u-1", "anthropic", "claude", "/a"},
		},
		{"the SDK's user is the login", `{"agent_id":"a","userId":"jane"}`, facts{Cwd: "/started/here"}},
		{"none of them", `{}`, facts{Cwd: "/started/here"}},
		{"unknown is not a name", `{"userId":"unknown","model":{"provider":"unknown","slug":"unknown"}}`, facts{Cwd: "/started/here"}},
		{"workspace info where there are no roots", `{"workspaceRoots":[],"workspaceInfo":{"rootPath":"/i"}}`, facts{Cwd: "/i"}},
		{"roots win over workspace info", `{"workspaceRoots":["/r"],"workspaceInfo":{"rootPath":"/i"}}`, facts{Cwd: "/r"}},
		{"first root that says something", `{"workspaceRoots":[null,"","/b"]}`, facts{Cwd: "/b"}},
		{"model as a text", `{"model":"claude"}`, facts{Model: "claude", Cwd: "/started/here"}},
		{"wrong types", `{"clineVersion":{},"userId":[],"model":7,"workspaceRoots":"/a","workspaceInfo":[1]}`, facts{Cwd: "/started/here"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ev := decodeOne(t, tt.payload, "TaskStart")
			got := facts{ev.HostVersion, ev.User, ev.Provider, ev.Model, ev.Cwd}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhoActs(t *testing.T) {
	type who struct{ Session, Agent, Parent, Type string }
	tests := []struct {
		name, payload string
		want          who
	}{
		{"classic", `{"hookName":"TaskStart","taskId":"1"}`, who{Session: "1"}},
		{"next", `{"hookName":"TaskStart","taskId":"conv_1"}`, who{Session: "conv_1"}},
		{
			"sdk lead", `{"hookName":"agent_start","taskId":"conv_1","sessionContext":{"rootSessionId":"s"},"agent_id":"a","parent_agent_id":null}`,
			who{"s", "a", "", ""},
		},
		{
			"sdk subagent", `{"hookName":"agent_start","taskId":"conv_2","sessionContext":{"rootSessionId":"s"},"agent_id":"b","parent_agent_id":"a"}`,
			who{"s", "b", "a", "subagent"},
		},
		{
			"sdk subagent with a type", `{"hookName":"agent_start","agent_id":"b","parent_agent_id":"a","agent_type":"teammate"}`,
			who{"", "b", "a", "teammate"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ev := decodeOne(t, tt.payload, "")
			got := who{ev.Session, ev.Agent, ev.ParentAgent, ev.AgentType}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBodies(t *testing.T) {
	type facts struct {
		Kind                               hook.Kind
		Prompt, Result, Message, ErrorType string
		Attrs                              []hook.Attr
	}
	tests := []struct {
		name, payload string
		want          facts
	}{
		{
			"task start", `{"hookName":"TaskStart","taskStart":{"taskMetadata":{"initialTask":"fix it"}}}`,
			facts{Kind: hook.KindRunStart, Prompt: "fix it"},
		},
		{
			"prompt", `{"hookName":"UserPromptSubmit","userPromptSubmit":{"prompt":"go on"}}`,
			facts{Kind: hook.KindPrompt, Prompt: "go on"},
		},
		{
			"prompt the SDK put in", `{"hookName":"prompt_submit","userPromptSubmit":{"prompt":"[SYSTEM] go on"}}`,
			facts{Kind: hook.KindPrompt, Prompt: "[SYSTEM] go on", Attrs: []hook.Attr{{Key: "hookspan.prompt.injected", Value: true}}},
		},
		{
			"completion with metadata", `{"hookName":"TaskComplete","taskComplete":{"taskMetadata":{"result":"done"}}}`,
			facts{Kind: hook.KindRunComplete, Result: "done"},
		},
		{
			"completion with a command", `{"hookName":"TaskComplete","taskComplete":{"taskMetadata":{"result":"done","command":"open x"}}}`,
			facts{Kind: hook.KindRunComplete, Result: "done", Attrs: []hook.Attr{{Key: "hookspan.completion.command", Value: "open x"}}},
		},
		{
			"completion of a turn", `{"hookName":"agent_end","turn":{"outputText":"done","status":"completed"},"taskComplete":{"taskMetadata":{}}}`,
			facts{Kind: hook.KindRunComplete, Result: "done"},
		},
		{"turn of unknown status", `{"hookName":"agent_end","turn":{"status":"paused"}}`, facts{Kind: hook.KindRunComplete}},
		{
			"turn cancelled", `{"hookName":"agent_end","turn":{"outputText":"so far","status":"cancelled"}}`,
			facts{Kind: hook.KindRunCancel, Result: "so far", Attrs: []hook.Attr{{Key: "hookspan.cancel.status", Value: "cancelled"}}},
		},
		{
			"turn failed", `{"hookName":"agent_end","turn":{"status":"failed"},"error":{"name":"E","message":"m"}}`,
			facts{Kind: hook.KindRunError, ErrorType: "E", Message: "m"},
		},
		{
			"cancel", `{"hookName":"TaskCancel","taskCancel":{"taskMetadata":{"completionStatus":"abandoned"}}}`,
			facts{Kind: hook.KindRunCancel, Attrs: []hook.Attr{{Key: "hookspan.cancel.status", Value: "abandoned"}}},
		},
		{
			"abort with a reason", `{"hookName":"agent_abort","reason":"user interrupt","taskCancel":{"taskMetadata":{}}}`,
			facts{Kind: hook.KindRunCancel, Message: "user interrupt"},
		},
		{
			"error", `{"hookName":"agent_error","error":{"name":"Error","message":"529 overloaded","stack":"..."}}`,
			facts{Kind: hook.KindRunError, ErrorType: "Error", Message: "529 overloaded"},
		},
		{
			"error as a text", `{"hookName":"TaskError","error":"out of quota"}`,
			facts{Kind: hook.KindRunError, Message: "out of quota"},
		},
		{
			"error in a body", `{"hookName":"TaskError","taskError":{"error":{"name":"E","message":"m"}}}`,
			facts{Kind: hook.KindRunError, ErrorType: "E", Message: "m"},
		},
		{"error that was hidden", `{"hookName":"TaskError","error":{"message":"[object Object]"}}`, facts{Kind: hook.KindRunError}},
		{
			"shutdown", `{"hookName":"session_shutdown","reason":"exit"}`,
			facts{Kind: hook.KindSessionEnd, Attrs: []hook.Attr{{Key: "hookspan.session_end.reason", Value: "exit"}}},
		},
		{
			"notification with defaults left out", `{"hookName":"Notification","notification":{"event":"task_complete","source":"attempt_completion","message":"done","sourceType":"tool","severity":"info"}}`,
			facts{Kind: hook.KindNotification, Message: "done", Attrs: []hook.Attr{
				{Key: "hookspan.notification.event", Value: "task_complete"},
				{Key: "hookspan.notification.source", Value: "attempt_completion"},
				{Key: "hookspan.notification.source_type", Value: "tool"},
				{Key: "hookspan.notification.requires_user_action", Value: false},
				{Key: "hookspan.notification.waiting_for_user_input", Value: false},
				{Key: "hookspan.notification.severity", Value: "info"},
			}},
		},
		{
			"compaction after an error knows no tokens", `{"hookName":"PreCompact","preCompact":{"contextSize":"5","compactionStrategy":"lastquarter","deletedRangeStart":2,"contextJsonPath":"/x"}}`,
			facts{Kind: hook.KindCompact, Attrs: []hook.Attr{
				{Key: "hookspan.compaction.strategy", Value: "lastquarter"},
				{Key: "hookspan.compaction.context_size", Value: int64(5)},
				{Key: "hookspan.compaction.deleted_range_start", Value: int64(2)},
			}},
		},
		{
			"compaction's cache counts", `{"hookName":"PreCompact","preCompact":{"tokensIn":1,"tokensOut":2,"tokensInCache":3,"tokensOutCache":4}}`,
			facts{Kind: hook.KindCompact, Attrs: []hook.Attr{
				{Key: "hookspan.compaction.tokens_in", Value: int64(1)},
				{Key: "hookspan.compaction.tokens_out", Value: int64(2)},
				{Key: "hookspan.compaction.cache_write_tokens", Value: int64(3)},
				{Key: "hookspan.compaction.cache_read_tokens", Value: int64(4)},
			}},
		},
		{"unknown hook", `{"hookName":"PreDream","preDream":{}}`, facts{}},
		{"bodies of wrong types", `{"hookName":"TaskComplete","taskComplete":[],"turn":"x"}`, facts{Kind: hook.KindRunComplete}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ev := decodeOne(t, tt.payload, "")
			got := facts{ev.Kind, ev.Prompt, ev.Result, ev.Message, ev.ErrorType, ev.Attrs}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRejectsInvalidPayloads(t *testing.T) {
	tests := []struct{ name, payload, fault string }{
		{"text", "hello", `byte 0: found "h", want a JSON object`},
		{"a number", "42", `byte 0: found "4", want a JSON object`},
		{"torn", `{"clineVersion":"4.0.12","taskId":"1","workspaceRoots":["/a"],"taskStart":{`, `byte 75: the JSON text ends too early`},
		{"two payloads", `{"clineVersion":"4.0.12","workspaceRoots":["/a"]}{}`, `byte 49: found "{" after the value, want nothing`},
		{"zero bytes", "\x00\x00", `byte 0: found "\x00", want a JSON object`},
		{"a million levels", `{"clineVersion":"4.0.12","workspaceRoots":["/a"],"x":` + nested(1_000_000) + `}`, "nested too deeply"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events, err := Decode(Raw{Payload: []byte(tt.payload), Event: "TaskStart", StoredAt: storedAt, Cwd: "/w", Offset: 9})
			if err == nil || !strings.Contains(err.Error(), tt.fault) || !strings.Contains(err.Error(), `hook "TaskStart"`) {
				t.Errorf("error %v\nwant one that says %s", err, tt.fault)
			}
			var fault *rawjson.SyntaxError
			if !errors.As(err, &fault) {
				t.Errorf("%v wraps no SyntaxError", err)
			}
			want := []hook.Event{{Host: "cline", Name: "TaskStart", StoredAt: storedAt, Offset: 9, Hash: hook.Hash([]byte(tt.payload)), Cwd: "/w"}}
			if strings.Contains(tt.payload, "4.0.12") {
				want[0].HostVersion, want[0].Cwd = "4.0.12", "/a"
			}
			if diff := cmp.Diff(want, events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// The deepest values a payload can hold pass through every reader of values.
func TestDecodeOfTheDeepestPayload(t *testing.T) {
	deep := nested(rawjson.MaxDepth - 2)
	for _, payload := range []string{
		`{"hookName":"tool_result","tool_result":{"input":` + deep + `,"output":` + deep + `,"error":` + deep + `}}`,
		`{"hookName":"PostToolUse","postToolUse":{"toolName":` + deep + `,"parameters":` + deep + `,"result":` + deep + `}}`,
		`{"hookName":"PostToolUse","postToolUse":{"parameters":{"a":"` + deep + `"},"result":"` + deep + `"}}`,
		`{"timestamp":` + nested(rawjson.MaxDepth-1) + `,"model":` + nested(rawjson.MaxDepth-1) + `,"workspaceRoots":` + nested(rawjson.MaxDepth-1) + `}`,
	} {
		r := Raw{Payload: []byte(payload), StoredAt: storedAt}
		events, err := Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		tested.Check(t, r, events, err)
	}
}

func TestDecodeOfAnEmptyPayload(t *testing.T) {
	for _, payload := range []string{"", " \r\n", "\ufeff", "\ufeff\n"} {
		for event, want := range map[string]hook.Kind{
			"SessionShutdown": hook.KindSessionEnd, "agent_end": hook.KindRunComplete, "PostToolUse": hook.KindToolEnd, "Other": hook.KindUnknown,
		} {
			ev := decodeOne(t, payload, event)
			if ev.Kind != want || ev.Session != "" || ev.Dialect != "" {
				t.Errorf("%q as %s: kind %v, session %q, dialect %q; want %v and nothing", payload, event, ev.Kind, ev.Session, ev.Dialect, want)
			}
			if (ev.Tool != nil) != (want == hook.KindToolEnd) {
				t.Errorf("%q as %s: tool %v", payload, event, ev.Tool)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	tested.FuzzOf(f, fixtures(f),
		[2]string{"\ufeff{}", "tool_call"},
		[2]string{"0", "PostToolUse"},
		[2]string{`{"hookName":"PostToolUse","postToolUse":{"result":"[{\"type\":\"text\",\"text\":1}]"}}`, ""},
	)
}

func BenchmarkDecode(b *testing.B) {
	for name, size := range map[string]int{"600B": 0, "4KiB": 4 << 10, "1MiB": 1 << 20} {
		r := sized(b, size)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(r.Payload)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestKnown(t *testing.T) {
	for in, want := range map[string]string{``: "", `"unknown"`: "", `"claude"`: "claude", `"Unknown"`: "Unknown"} {
		if got := known([]byte(in)); got != want {
			t.Errorf("known(%s) = %q, want %q", in, got, want)
		}
	}
}

package claude

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

func TestGolden(t *testing.T) { tested.GoldenOf(t, fixtures(t)) }

func TestDecodeKeepsStoredContext(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	payload := []byte(`{"session_id":"s"}`)
	events, err := Decode(Raw{Payload: payload, Event: "SessionStart", StoredAt: storedAt, Offset: 4711, Cwd: "/w", TraceParent: parent})
	if err != nil {
		t.Fatal(err)
	}
	want := []hook.Event{{
		Host: "claude-code", Dialect: "claude", Kind: hook.KindSessionStart, Name: "SessionStart", Session: "s",
		StoredAt: storedAt, Offset: 4711, Hash: hook.Hash(payload), Cwd: "/w", TraceParent: parent,
	}}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// The payload is one of the hooks reference's own examples.
func TestDocumentedForm(t *testing.T) {
	payload := `{
		"session_id": "abc123", "transcript_path": "/Users/dev/.claude/projects/p/abc123.jsonl", "cwd": "/Users/dev/p",
		"permission_mode": "default", "hook_event_name": "PostToolUse", "tool_name": "Write",
		"tool_input": {"file_path": "/path/to/file.txt", "content": "file content"},
		"tool_response": {"filePath": "/path/to/file.txt", "success": true},
		"tool_use_id": "toolu_01ABC123", "duration_ms": 12}`
	want := hook.Event{
		Host: "claude-code", Dialect: "claude", Kind: hook.KindToolEnd, Name: "PostToolUse", Session: "abc123",
		Key:       "PostToolUse/toolu_01ABC123/" + strconv.FormatUint(hook.Hash([]byte(payload)), 16),
		KeyWithin: time.Second, StoredAt: storedAt, Hash: hook.Hash([]byte(payload)), Cwd: "/Users/dev/p",
		PermissionMode: "default", Transcript: "/Users/dev/.claude/projects/p/abc123.jsonl",
		Tool: &hook.Tool{
			ID: "toolu_01ABC123", Name: "Write", Input: `{"content":"file content","file_path":"/path/to/file.txt"}`,
			Output: "/path/to/file.txt", Duration: 12 * time.Millisecond,
		},
	}
	if diff := cmp.Diff(want, decodeOne(t, payload, "")); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

// The order of a payload's members is not fixed, and members of future versions
// may stand between them.
func TestDecodeIgnoresMemberOrder(t *testing.T) {
	for _, f := range fixtures(t) {
		events, err := Decode(f.Raw)
		if err != nil {
			t.Fatal(err)
		}
		var turned []string
		isObject := rawjson.EachMember(f.Raw.Payload, func(key, value []byte) {
			turned = append(turned, `"of_the_future":{"session_id":"x"}`, `"`+string(key)+`":`+string(value))
		})
		if !isObject {
			t.Fatal("the payload is not an object")
		}
		slices.Reverse(turned)
		r := f.Raw
		r.Payload = []byte("{" + strings.Join(turned, ",") + "}")
		again, err := Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []*hook.Event{&events[0], &again[0]} {
			e.Key = strings.TrimSuffix(e.Key, "/"+strconv.FormatUint(e.Hash, 16))
		}
		again[0].Hash = events[0].Hash
		if diff := cmp.Diff(events, again); diff != "" {
			t.Errorf("%s/%s turned round (-as sent +turned):\n%s", f.Folder, f.Name, diff)
		}
		checkHead(t, r, again, nil)
	}
}

func TestWhoActs(t *testing.T) {
	type who struct{ Session, Turn, Agent, Parent, Type, Cwd, Mode string }
	tests := []struct {
		name, payload string
		want          who
	}{
		{
			"lead", `{"hook_event_name":"Stop","session_id":"s","prompt_id":"p","cwd":"/c","permission_mode":"plan"}`,
			who{Session: "s", Turn: "p", Cwd: "/c", Mode: "plan"},
		},
		{"lead of a chosen type", `{"hook_event_name":"Stop","session_id":"s","agent_type":"reviewer"}`, who{Session: "s", Type: "reviewer", Cwd: "/started/here"}},
		{
			"subagent", `{"hook_event_name":"PreToolUse","session_id":"s","prompt_id":"p","agent_id":"a","agent_type":"Explore"}`,
			who{Session: "s", Turn: "p", Agent: "a", Parent: "?", Type: "Explore", Cwd: "/started/here"},
		},
		{"subagent of no type", `{"hook_event_name":"SubagentStop","session_id":"s","agent_id":"a","agent_type":""}`, who{Session: "s", Agent: "a", Parent: "?", Cwd: "/started/here"}},
		{"no agent", `{"hook_event_name":"Stop"}`, who{Cwd: "/started/here"}},
		{"wrong types", `{"session_id":[],"prompt_id":{},"agent_id":{},"agent_type":[],"cwd":{},"permission_mode":[1],"transcript_path":{}}`, who{Cwd: "/started/here"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ev := decodeOne(t, tt.payload, "")
			got := who{ev.Session, ev.Turn, ev.Agent, ev.ParentAgent, ev.AgentType, ev.Cwd, ev.PermissionMode}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBodies(t *testing.T) {
	type facts struct {
		Kind                                           hook.Kind
		Key, Model, Prompt, Result, Message, ErrorType string
		Attrs                                          []hook.Attr
	}
	tests := []struct {
		name, payload string
		want          facts
	}{
		{
			"session start", `{"hook_event_name":"SessionStart","source":"startup","model":"claude-sonnet-5"}`,
			facts{Kind: hook.KindSessionStart, Model: "claude-sonnet-5", Attrs: []hook.Attr{{Key: "hookspan.session.source", Value: "startup"}}},
		},
		{
			"session resumed", `{"hook_event_name":"SessionStart","source":"resume","session_title":"T","seconds_since_last_response":2.5,"context_tokens":466,"prompt_cache_likely_expired":false,"estimated_cache_write_usd":1}`,
			facts{Kind: hook.KindSessionStart, Attrs: []hook.Attr{
				{Key: "hookspan.session.source", Value: "resume"},
				{Key: "hookspan.session.title", Value: "T"},
				{Key: "hookspan.session.seconds_since_last_response", Value: int64(2)},
				{Key: "hookspan.session.context_tokens", Value: int64(466)},
				{Key: "hookspan.session.prompt_cache_likely_expired", Value: false},
				{Key: "hookspan.session.estimated_cache_write_usd", Value: 1.0},
			}},
		},
		{
			"figures of no meaning are left out", `{"hook_event_name":"SessionStart","context_tokens":null,"seconds_since_last_response":"soon","prompt_cache_likely_expired":1,"estimated_cache_write_usd":{}}`,
			facts{Kind: hook.KindSessionStart},
		},
		{
			"prompt", `{"hook_event_name":"UserPromptSubmit","prompt_id":"p","prompt":"go on"}`,
			facts{Kind: hook.KindPrompt, Prompt: "go on", Key: "UserPromptSubmit/p/b5013eb1c1b2db1f"},
		},
		{"prompt of an old version", `{"hook_event_name":"UserPromptSubmit","prompt":"go on"}`, facts{Kind: hook.KindPrompt, Prompt: "go on"}},
		{
			"prompt that a background task gave", `{"hook_event_name":"UserPromptSubmit","prompt":"<task-notification>\n<result>x</result>\n</task-notification>\n"}`,
			facts{
				Kind: hook.KindPrompt, Prompt: "<task-notification>\n<result>x</result>\n</task-notification>\n",
				Attrs: []hook.Attr{{Key: "hookspan.prompt.injected", Value: true}},
			},
		},
		{
			"prompt of a teammate", `{"hook_event_name":"UserPromptSubmit","prompt":"<teammate-message teammate_id=\"r\" summary=\"Review done\">{}</teammate-message>"}`,
			facts{
				Kind: hook.KindPrompt, Prompt: `<teammate-message teammate_id="r" summary="Review done">{}</teammate-message>`, Message: "Review done",
				Attrs: []hook.Attr{{Key: "hookspan.prompt.injected", Value: true}},
			},
		},
		{
			"prompt with the file that is open", `{"hook_event_name":"UserPromptSubmit","prompt":"<ide_opened_file>a.go</ide_opened_file>\nfix it"}`,
			facts{Kind: hook.KindPrompt, Prompt: "fix it"},
		},
		{
			"prompt about such a prompt", `{"hook_event_name":"UserPromptSubmit","prompt":"<task-notification> is what?"}`,
			facts{Kind: hook.KindPrompt, Prompt: "<task-notification> is what?"},
		},
		{
			"command", `{"hook_event_name":"UserPromptExpansion","prompt_id":"p","expansion_type":"mcp_prompt","command_name":"c","command_args":"","prompt":"/c"}`,
			facts{Kind: hook.KindNote, Attrs: []hook.Attr{{Key: "hookspan.command.name", Value: "c"}, {Key: "hookspan.command.type", Value: "mcp_prompt"}}},
		},
		{
			"stop", `{"hook_event_name":"Stop","prompt_id":"p","stop_hook_active":false,"last_assistant_message":"done","background_tasks":[],"session_crons":[{}],"effort":{"level":"high"}}`,
			facts{Kind: hook.KindRunComplete, Key: "Stop/p", Result: "done", Attrs: []hook.Attr{{Key: "hookspan.effort", Value: "high"}}},
		},
		{
			"stop with work in the background", `{"hook_event_name":"Stop","prompt_id":"p","stop_hook_active":false,"background_tasks":[{"id":"1"},{"id":"2"}]}`,
			facts{Kind: hook.KindRunComplete, Key: "Stop/p", Attrs: []hook.Attr{{Key: "hookspan.background_tasks", Value: int64(2)}, {Key: "hookspan.background_task_ids", Value: "1,2"}}},
		},
		{
			"stop once more", `{"hook_event_name":"Stop","prompt_id":"p","stop_hook_active":true}`,
			facts{Kind: hook.KindRunComplete, Attrs: []hook.Attr{{Key: "hookspan.stop_hook_active", Value: true}}},
		},
		{"stop that does not say whether once more", `{"hook_event_name":"Stop","prompt_id":"p"}`, facts{Kind: hook.KindRunComplete}},
		{"stop without a prompt", `{"hook_event_name":"Stop","stop_hook_active":false}`, facts{Kind: hook.KindRunComplete}},
		{
			"a subagent's own stop", `{"hook_event_name":"Stop","prompt_id":"p","agent_id":"a","stop_hook_active":false,"last_assistant_message":"done","effort":{"level":"high"}}`,
			facts{Kind: hook.KindRunComplete, Result: "done"},
		},
		{"subagent start", `{"hook_event_name":"SubagentStart","agent_id":"a"}`, facts{Kind: hook.KindRunStart}},
		{
			"subagent start in a turn", `{"hook_event_name":"SubagentStart","agent_id":"a","prompt_id":"p"}`,
			facts{Kind: hook.KindRunStart},
		},
		{"subagent start without its name", `{"hook_event_name":"SubagentStart"}`, facts{Kind: hook.KindNote}},
		{
			"subagent stop", `{"hook_event_name":"SubagentStop","agent_id":"a","stop_hook_active":false,"agent_transcript_path":"/t","last_assistant_message":"done"}`,
			facts{Kind: hook.KindRunComplete, Result: "done", Attrs: []hook.Attr{{Key: "hookspan.agent.transcript", Value: "/t"}}},
		},
		{"subagent stop that does not say whether once more", `{"hook_event_name":"SubagentStop","agent_id":"a"}`, facts{Kind: hook.KindRunComplete}},
		{"subagent stop once more", `{"hook_event_name":"SubagentStop","agent_id":"a","stop_hook_active":true}`, facts{Kind: hook.KindRunComplete}},
		{"subagent stop of an old version", `{"hook_event_name":"SubagentStop","stop_hook_active":false}`, facts{Kind: hook.KindNote}},
		{
			"stop failure", `{"hook_event_name":"StopFailure","error":"rate_limit","error_details":"429","last_assistant_message":"API Error"}`,
			facts{Kind: hook.KindRunError, ErrorType: "rate_limit", Message: "API Error", Attrs: []hook.Attr{{Key: "hookspan.error.details", Value: "429"}}},
		},
		{
			"stop failure without a message", `{"hook_event_name":"StopFailure","prompt_id":"p","error":"unknown","error_details":"429"}`,
			facts{Kind: hook.KindRunError, ErrorType: "unknown", Message: "429", Attrs: []hook.Attr{{Key: "hookspan.error.details", Value: "429"}}},
		},
		{
			"session end", `{"hook_event_name":"SessionEnd","prompt_id":"p","reason":"clear"}`,
			facts{Kind: hook.KindSessionEnd, Attrs: []hook.Attr{{Key: "hookspan.session_end.reason", Value: "clear"}}},
		},
		{
			"notification", `{"hook_event_name":"Notification","message":"m","title":"t","notification_type":"idle_prompt"}`,
			facts{Kind: hook.KindNotification, Message: "m", Attrs: []hook.Attr{
				{Key: "hookspan.notification.event", Value: "idle_prompt"}, {Key: "hookspan.notification.title", Value: "t"},
			}},
		},
		{
			"compaction", `{"hook_event_name":"PreCompact","trigger":"manual","custom_instructions":"keep"}`,
			facts{Kind: hook.KindCompact, Attrs: []hook.Attr{
				{Key: "hookspan.compaction.trigger", Value: "manual"}, {Key: "hookspan.compaction.custom_instructions", Value: "keep"},
			}},
		},
		{
			"compaction done", `{"hook_event_name":"PostCompact","trigger":"auto","compact_summary":"sum"}`,
			facts{Kind: hook.KindNote, Message: "sum", Attrs: []hook.Attr{{Key: "hookspan.compaction.trigger", Value: "auto"}}},
		},
		{
			"model switch", `{"hook_event_name":"PostModelSwitch","from_model":"a","to_model":"b","source":"auto"}`,
			facts{Kind: hook.KindNote, Attrs: []hook.Attr{
				{Key: "hookspan.model_switch.from", Value: "a"}, {Key: "hookspan.model_switch.to", Value: "b"}, {Key: "hookspan.model_switch.source", Value: "auto"},
			}},
		},
		{
			"task", `{"hook_event_name":"TaskCompleted","task_id":7,"task_subject":"s"}`,
			facts{Kind: hook.KindNote, Attrs: []hook.Attr{{Key: "hookspan.task.id", Value: "7"}, {Key: "hookspan.task.subject", Value: "s"}}},
		},
		{
			"elicitation", `{"hook_event_name":"Elicitation","mcp_server_name":"gh","mode":"form","message":"Which?"}`,
			facts{Kind: hook.KindNote, Message: "Which?", Attrs: []hook.Attr{
				{Key: "hookspan.elicitation.server", Value: "gh"}, {Key: "hookspan.elicitation.mode", Value: "form"},
			}},
		},
		{
			"elicitation's result", `{"hook_event_name":"ElicitationResult","mcp_server_name":"gh","action":"accept","content":{"token":"x"}}`,
			facts{Kind: hook.KindNote, Attrs: []hook.Attr{
				{Key: "hookspan.elicitation.server", Value: "gh"}, {Key: "hookspan.elicitation.action", Value: "accept"},
			}},
		},
		{"aside", `{"hook_event_name":"MessageDisplay","delta":"x","message_id":"1"}`, facts{Kind: hook.KindAside}},
		{"unknown hook", `{"hook_event_name":"PreDream","prompt":"x","message":"y"}`, facts{}},
		{
			"wrong types", `{"hook_event_name":"Stop","stop_hook_active":"perhaps","background_tasks":{},"effort":"high","last_assistant_message":[]}`,
			facts{Kind: hook.KindRunComplete},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ev := decodeOne(t, tt.payload, "")
			got := facts{Kind: ev.Kind, Key: ev.Key, Model: ev.Model, Prompt: ev.Prompt, Result: ev.Result, Message: ev.Message, ErrorType: ev.ErrorType, Attrs: ev.Attrs}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRejectsInvalidPayloads(t *testing.T) {
	const known = `{"session_id":"s","transcript_path":"/t","cwd":"/a","permission_mode":"plan","agent_id":"a","prompt_id":"p"`
	tests := []struct{ name, payload, fault string }{
		{"text", "hello", `byte 0: found "h", want a JSON object`},
		{"a number", "42", `byte 0: found "4", want a JSON object`},
		{"torn", known + `,"tool_input":{`, "the JSON text ends too early"},
		{"two payloads", known + `}{}`, `found "{" after the value, want nothing`},
		{"zero bytes", "\x00\x00", `byte 0: found "\x00", want a JSON object`},
		{"a million levels", known + `,"x":` + nested(1_000_000) + `}`, "nested too deeply"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Raw{Payload: []byte(tt.payload), Event: "Stop", StoredAt: storedAt, Cwd: "/w", Offset: 9}
			events, err := Decode(r)
			if err == nil || !strings.Contains(err.Error(), tt.fault) || !strings.HasPrefix(err.Error(), `decode Claude Code payload of hook "Stop"`) {
				t.Errorf("error %v\nwant one that says %s", err, tt.fault)
			}
			var fault *rawjson.SyntaxError
			if !errors.As(err, &fault) {
				t.Errorf("%v wraps no SyntaxError", err)
			}
			want := []hook.Event{{Host: "claude-code", Name: "Stop", StoredAt: storedAt, Offset: 9, Hash: hook.Hash(r.Payload), Cwd: "/w"}}
			if strings.HasPrefix(tt.payload, known) {
				want[0].Cwd, want[0].PermissionMode, want[0].Transcript = "/a", "plan", "/t"
				want[0].Session, want[0].Turn, want[0].Agent, want[0].ParentAgent = "s", "p", "a", hook.ParentUnknown
				want[0].Kind, want[0].Dialect = hook.KindRunComplete, "claude"
			}
			if diff := cmp.Diff(want, events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			tested.Check(t, r, events, err)
		})
	}
}

// What an agent leaves unescaped is read as if it were escaped.
func TestDecodeReadsRawControlCharacters(t *testing.T) {
	const payload = "{\"session_id\":\"s\",\n\t\"prompt\":\"one\n\ttwo\\n\x1b[0m\x00\"}"
	events, err := Decode(Raw{Payload: []byte(payload), Event: "UserPromptSubmit"})
	if err != nil || events[0].Prompt != "one\n\ttwo\n\x1b[0m\x00" {
		t.Errorf("prompt %q, %v", events[0].Prompt, err)
	}
	if head := peek([]byte(payload), "UserPromptSubmit"); head.Session != "s" || head.Kind != hook.KindPrompt {
		t.Errorf("head %+v", head)
	}
}

// The deepest values a payload can hold pass through every reader of values.
func TestDecodeOfTheDeepestPayload(t *testing.T) {
	deep := nested(rawjson.MaxDepth - 2)
	for _, tool := range []string{"Bash", "Read", "Grep", "Edit", "WebFetch", "Agent", "mcp__x__y"} {
		for _, response := range []string{
			deep, `{"content":` + nested(rawjson.MaxDepth-3) + `,"structuredPatch":` + nested(rawjson.MaxDepth-3) + `,"filenames":` + nested(rawjson.MaxDepth-3) + `}`,
		} {
			r := Raw{Payload: []byte(`{"hook_event_name":"PostToolUse","tool_name":"` + tool + `","tool_input":` + deep + `,"tool_response":` + response + `}`)}
			events, err := Decode(r)
			if err != nil {
				t.Fatal(err)
			}
			tested.Check(t, r, events, err)
			if events[0].Tool.Input != deep {
				t.Errorf("the input of %s is not what was sent", tool)
			}
		}
	}
	for _, name := range EventNames() {
		r := Raw{Payload: []byte(`{"hook_event_name":"` + name + `","agent_id":` + deep + `,"effort":` + deep + `,"background_tasks":` + deep + `,"mcp_server":` + deep + `,"error":` + deep + `}`)}
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
			"SessionEnd": hook.KindSessionEnd, "Stop": hook.KindRunComplete, "PostToolUse": hook.KindToolEnd,
			"PermissionRequest": hook.KindPermission, "SubagentStart": hook.KindNote, "Other": hook.KindUnknown,
		} {
			ev := decodeOne(t, payload, event)
			if ev.Kind != want || ev.Session != "" || ev.Dialect != "" || ev.Key != "" {
				t.Errorf("%q as %s: kind %v, session %q, dialect %q, key %q; want %v and nothing", payload, event, ev.Kind, ev.Session, ev.Dialect, ev.Key, want)
			}
			r := Raw{Payload: []byte(payload), Event: event}
			tested.Check(t, r, []hook.Event{ev}, nil)
		}
	}
}

// checkEvent holds what every decoded event must be beyond those of all agents, whatever the payload.
func checkEvent(t *testing.T, ev *hook.Event, err error) {
	t.Helper()
	for _, a := range ev.Attrs {
		if text, ok := a.Value.(string); a.Key == "" || a.Value == nil || ok && (text == "" || !utf8.ValidString(text)) {
			t.Fatalf("attribute %q = %v", a.Key, a.Value)
		}
	}
	if ev.Kind == hook.KindRunStart && ev.ParentAgent == "" {
		t.Fatal("a run opens that is no subagent's")
	}
	if strings.HasSuffix(ev.Key, "/") {
		t.Fatalf("key %q does not contain the id", ev.Key)
	}
	if !ev.Time.IsZero() {
		t.Fatalf("time %v, and the host sends none", ev.Time)
	}
	if err != nil && ev.Session == "" && ev.Kind != hook.KindUnknown {
		t.Fatalf("kind %v with error %v", ev.Kind, err)
	}
}

func FuzzDecode(f *testing.F) {
	tested.FuzzOf(f, fixtures(f),
		[2]string{"\ufeff{}", "Stop"},
		[2]string{`{"hook_event_name":"PostToolUse","tool_name":"mcp__a__b","tool_response":[{"type":"text","text":1}]}`, ""},
		[2]string{`{"hook_event_name":"PostToolUse","tool_name":"Write","tool_response":{"structuredPatch":[{"lines":[1,null,{}]}]}}`, ""},
	)
}

func BenchmarkDecode(b *testing.B) {
	for name, size := range map[string]int{"1KiB": 0, "4KiB": 4 << 10, "1MiB": 1 << 20} {
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

package cursor

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/hooktest"
)

var tested = hooktest.Agent{Decode: Decode, Peek: Protocol.PeekIn(hooktest.NoEnviron)}

func FuzzDecode(f *testing.F) {
	tested.Fuzz(f,
		[2]string{`{"cursor_version":1,"conversation_id":1,"hook_event_name":"stop","input_tokens":-1}`, "Stop"},
		[2]string{`{"hook_event_name":"postToolUse","workspace_roots":[1],"error":{"message":1}}`, "PostToolUse"},
	)
}

func decode(t *testing.T, members string) []hook.Event {
	t.Helper()
	r := hook.Raw{Payload: []byte(`{"conversation_id":"c","generation_id":"g","model":"m","cursor_version":"3.1","workspace_roots":["/w"],"cwd":"",` + members + `}`)}
	events, err := Decode(r)
	tested.Check(t, r, events, err)
	if dirs := tested.Peek(r.Payload, "").Dirs; len(dirs) != 1 || dirs[0] != "/w" {
		t.Errorf("folders %q", dirs)
	}
	if ev := events[0]; ev.Session != "c" || ev.Turn != "g" || ev.Model != "m" || ev.HostVersion != "3.1" || ev.Cwd != "/w" {
		t.Errorf("%+v", ev)
	}
	return events
}

func TestAFolderOfWindowsHasNoSlashBeforeItsDrive(t *testing.T) {
	payload := []byte(`{"conversation_id":"c","cursor_version":"3.1","workspace_roots":["/d:/My Repos/shop"],"hook_event_name":"preToolUse"}`)
	events, err := Decode(hook.Raw{Payload: payload})
	if dirs := tested.Peek(payload, "").Dirs; err != nil || len(dirs) != 1 || dirs[0] != "d:/My Repos/shop" || events[0].Cwd != dirs[0] {
		t.Errorf("%v: %q, %+v", err, dirs, events)
	}
}

func TestCalls(t *testing.T) {
	const call = `,"tool_name":"Shell","tool_input":{"command":"x"},"tool_use_id":"t"`
	for members, want := range map[string]hook.Tool{
		`"hook_event_name":"preToolUse"` + call:                                                    {Duration: hook.UnknownDuration},
		`"hook_event_name":"postToolUse","tool_output":"{\"exitCode\":0}","duration":280.5` + call: {Output: `{"exitCode":0}`, Duration: 280 * time.Millisecond},
		`"hook_event_name":"postToolUseFailure","error_message":"timed out","failure_type":"timeout"` + call: {
			Status: hook.ToolFailed, Error: "timed out", Duration: hook.UnknownDuration,
		},
		`"hook_event_name":"postToolUseFailure","error":{"message":"no"},"failure_type":"permission_denied"` + call: {
			Status: hook.ToolDenied, Error: "no", Duration: hook.UnknownDuration,
		},
	} {
		want.ID, want.Name, want.Input = "t", "Shell", `{"command":"x"}`
		if diff := cmp.Diff(&want, decode(t, members)[0].Tool); diff != "" {
			t.Errorf("%s (-want +got):\n%s", members, diff)
		}
	}
}

func TestEndsOfTurns(t *testing.T) {
	for status, want := range map[string]hook.Kind{"completed": hook.KindRunComplete, "aborted": hook.KindRunCancel, "error": hook.KindRunError} {
		events := decode(t, `"hook_event_name":"stop","status":"`+status+`","error":"bad"`)
		if len(events) != 1 || events[0].Kind != want || (events[0].Message == "bad") != (want == hook.KindRunError) {
			t.Errorf("%s: %+v", status, events)
		}
	}
	events := decode(t, `"hook_event_name":"stop","status":"completed","input_tokens":100,"output_tokens":7,"cache_read_tokens":60,"cache_write_tokens":30`)
	want := &hook.Usage{Input: 100, Output: 7, CacheRead: 60, CacheWrite: 30, InputIncludesCache: true}
	if len(events) != 2 || events[1].Kind != hook.KindAside || events[1].Request.ID != "g" || cmp.Diff(want, events[1].Request.Usage) != "" {
		t.Errorf("%+v", events)
	}
}

func TestOtherEvents(t *testing.T) {
	for event, want := range map[string]hook.Kind{
		"beforeSubmitPrompt": hook.KindPrompt, "sessionStart": hook.KindSessionStart, "sessionEnd": hook.KindSessionEnd, "preCompact": hook.KindCompact,
		"subagentStop": hook.KindNote, "afterFileEdit": hook.KindUnknown,
	} {
		if got := decode(t, `"hook_event_name":"`+event+`","prompt":"go"`)[0]; got.Kind != want || want == hook.KindPrompt && (got.Prompt != "go" || got.Key == "") {
			t.Errorf("%s: %+v", event, got)
		}
	}
}

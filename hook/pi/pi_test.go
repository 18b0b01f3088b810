package pi

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/hooktest"
)

var tested = hooktest.Agent{Decode: Protocol.Decode, Peek: Protocol.Peek, Recordings: 8}

func TestGolden(t *testing.T) { tested.Golden(t) }

func FuzzDecode(f *testing.F) {
	tested.Fuzz(f,
		[2]string{`{"session":"s","type":"agent_settled","outcome":"error"}`, ""},
		[2]string{`{"type":"turn_end","message":{"timestamp":1e300,"durationMs":1e300,"responseId":"r","usage":{"input":-1,"cost":{"total":"x"}}}}`, ""},
		[2]string{"", ""},
	)
}

// TestWhatAnEventMeans has each kind of event, and the ends of calls and tasks.
func TestWhatAnEventMeans(t *testing.T) {
	at := time.UnixMilli(9000).UTC()
	const call = `"toolCallId":"c1","toolName":"bash"`
	called := func(text, more string) string {
		return `"type":"tool_execution_end",` + call + `,"isError":true,"text":"` + text + `"` + more
	}
	failed := func(status hook.ToolStatus, text string) hook.Event {
		return hook.Event{
			Kind: hook.KindToolEnd, Key: "tool_execution_end/c1/", KeyWithin: repeatWithin,
			Tool: &hook.Tool{ID: "c1", Name: "bash", Error: text, Status: status, Duration: hook.UnknownDuration},
		}
	}
	ran := failed(hook.ToolFailed, "Command exited with code 3")
	ran.Tool.Duration, ran.Tool.Started, ran.Tool.Ended = 250*time.Millisecond, at.Add(-250*time.Millisecond), at
	cost := 0.5
	mark := func(name string, value any) []hook.Attr { return []hook.Attr{{Key: name, Value: value}} }
	for payload, want := range map[string]hook.Event{
		`"type":"session_start","reason":"fork","version":"1.6.0"`: {
			Kind: hook.KindSessionStart, HostVersion: "1.6.0", Attrs: mark("hookspan.session.source", "fork"),
		},
		`"type":"message_end","turn":"r1","role":"user","text":"go","messageId":"r1","model":{"provider":"p","id":"m"}`: {
			Kind: hook.KindPrompt, Turn: "r1", Prompt: "go", Key: "prompt/r1", Provider: "p", Model: "m",
		},
		`"type":"message_end","turn":"r1","role":"user","text":"wait","queued":true`: {
			Kind: hook.KindPrompt, Turn: "r1", Prompt: "wait", Attrs: mark(hook.AttrPromptQueued, true),
		},
		`"type":"message_end","turn":"r2","role":"custom","text":"build failed"`: {
			Kind: hook.KindPrompt, Turn: "r2", Prompt: "build failed", Attrs: mark(hook.AttrPromptInjected, true),
		},
		`"type":"turn_end","messageEntryId":"r3","message":{"provider":"p","model":"m","stopReason":"toolUse","timestamp":5000,"durationMs":40,"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"reasoning":1,"cost":{"total":0.5}}}`: {
			Kind: hook.KindAside, Time: time.UnixMilli(5040).UTC(), Request: &hook.Request{
				ID: "r3", Provider: "p", Model: "m", FinishReason: "tool_use", Start: time.UnixMilli(5000).UTC(), End: time.UnixMilli(5040).UTC(),
				Usage: &hook.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 1, CostUSD: &cost},
			},
		},
		`"type":"turn_end","messageEntryId":"r3","message":{"stopReason":"error","timestamp":5000,"usage":{"input":0}}`: {Kind: hook.KindAside},
		`"type":"tool_execution_start","args":{"b":1,"a":2},` + call: {
			Kind: hook.KindToolStart, Key: `tool_execution_start/c1/{"a":2,"b":1}`, KeyWithin: repeatWithin,
			Tool: &hook.Tool{ID: "c1", Name: "bash", Input: `{"a":2,"b":1}`, Duration: hook.UnknownDuration},
		},
		`"type":"tool_execution_start","args":{"a":2},"asked":5000,` + call: {
			Kind: hook.KindToolStart, Key: `tool_execution_start/c1/{"a":2}5000`, KeyWithin: repeatWithin,
			Tool: &hook.Tool{ID: "c1", Name: "bash", Input: `{"a":2}`, Duration: hook.UnknownDuration},
		},
		`"type":"tool_execution_end","isError":false,"durationMs":0,"text":"fine",` + call: {
			Kind: hook.KindToolEnd, Key: "tool_execution_end/c1/", KeyWithin: repeatWithin,
			Tool: &hook.Tool{ID: "c1", Name: "bash", Output: "fine", Started: at, Ended: at},
		},
		called("Command exited with code 3", `,"durationMs":250`):           ran,
		called("an extension says no", ""):                                  failed(hook.ToolDenied, "an extension says no"),
		called("Tool bash not found", ""):                                   failed(hook.ToolFailed, "Tool bash not found"),
		called("Operation aborted", ""):                                     failed(hook.ToolCancelled, "Operation aborted"),
		`"type":"session_compact","reason":"threshold","messageId":"p1"`:    {Kind: hook.KindCompact, Key: "compact/p1"},
		`"type":"model_select","model":{"provider":"p","id":"m"}`:           {Kind: hook.KindNote, Provider: "p", Model: "m", Message: "model: m", Key: "model_select/m", KeyWithin: repeatWithin},
		`"type":"session_tree","messageId":"b1"`:                            {Kind: hook.KindNote, Key: "session_tree/b1"},
		`"type":"ui_prompt_end","messageId":"r1/1"`:                         {Kind: hook.KindNote, Key: "ui_prompt_end/r1/1"},
		`"type":"agent_settled","turn":"r1","outcome":"stop","text":"done"`: {Kind: hook.KindRunComplete, Turn: "r1", Result: "done", Key: "end/r1"},
		`"type":"agent_settled","outcome":"aborted","text":"so far","errorMessage":"This operation was aborted"`: {
			Kind: hook.KindRunCancel, ErrorType: "aborted", Message: "This operation was aborted",
		},
		`"type":"agent_settled","outcome":"error","errorMessage":"400: no"`: {Kind: hook.KindRunError, ErrorType: "error", Message: "400: no"},
		`"type":"ui_prompt_start","kind":"confirm","title":"Sure?","messageId":"r1/1"`: {
			Kind: hook.KindNotification, Message: "Sure?", Key: "ui_prompt_start/r1/1", Attrs: mark("hookspan.notification.waiting_for_user_input", true),
		},
		`"type":"session_shutdown","reason":"quit"`: {Kind: hook.KindSessionEnd},
		`"type":"hookspan.stream_ended"`:            {Kind: hook.KindSessionEnd},
		`"type":"agent_end"`:                        {Kind: hook.KindUnknown},
	} {
		events, err := Protocol.Decode(hook.Raw{Payload: []byte(`{"session":"s1","at":9000,` + payload + `}`)})
		if err != nil || len(events) != 1 {
			t.Errorf("%s: %+v, %v", payload, events, err)
			continue
		}
		got := events[0]
		want.Host, want.Dialect, want.Session = hook.HostPi, Dialect, "s1"
		want.Name, want.Hash = got.Name, got.Hash
		if want.Time.IsZero() {
			want.Time = at
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", payload, diff)
		}
	}
}

// TestStatus has the texts of calls that did not run. All others are an extension's.
func TestStatus(t *testing.T) {
	for text, want := range map[string]hook.ToolStatus{
		"Validation failed for tool \"read\":\n  - path: missing": hook.ToolFailed,
		`Tool call "x" was not executed: cut off`:                 hook.ToolFailed,
		"Tool execution was blocked":                              hook.ToolDenied,
		"":                                                        hook.ToolDenied,
		"so far\n\nCommand aborted":                               hook.ToolCancelled,
	} {
		if got := Status(true, false, text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if Status(false, true, "Operation aborted") != hook.ToolOK {
		t.Error("the text of a success counts")
	}
}

package opencode

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/hooktest"
)

var tested = hooktest.Agent{
	Decode: Decoder(hook.HostOpencode), Peek: Peek, Recordings: 5,
	Ends: func(ev *hook.Event) bool { return ev.Kind.Terminal() && ev.Agent == "" },
}

func TestGolden(t *testing.T) { tested.Golden(t) }

func FuzzDecode(f *testing.F) {
	tested.Fuzz(f,
		[2]string{`{"session":"s","type":"session.idle","error":{"name":"APIError"}}`, ""},
		[2]string{"", ""},
	)
}

// TestWhatAnEventMeans has each kind of event, and the ends of tools and turns.
func TestWhatAnEventMeans(t *testing.T) {
	tool := func(tool, state string) string {
		return `"type":"message.part.updated","part":{"type":"tool","id":"prt_1","callID":"c1","tool":"` + tool + `","state":{` + state + `}}`
	}
	ended := `"time":{"start":1000,"end":1250}`
	for payload, want := range map[string]hook.Event{
		`"type":"session.created","version":"1.18.33"`: {Kind: hook.KindSessionStart, HostVersion: "1.18.33"},
		`"type":"message.part.updated","part":{"type":"text","text":"go"},"message":{"id":"msg_1","model":{"providerID":"p","modelID":"m"}}`: {
			Kind: hook.KindPrompt, Prompt: "go", Key: "prompt/msg_1", Provider: "p", Model: "m",
		},
		`"agent":"ses_2","agent_type":"general","type":"message.part.updated","part":{"type":"text","text":"go"}`: {
			Kind: hook.KindRunStart, Prompt: "go", Agent: "ses_2", AgentType: "general", ParentAgent: hook.ParentUnknown,
		},
		`"agent":"ses_3","parent":"ses_2","type":"session.idle","text":"done"`: {
			Kind: hook.KindRunComplete, Result: "done", Agent: "ses_3", ParentAgent: "ses_2",
		},
		`"type":"message.part.updated","part":{"type":"file"}`: {Kind: hook.KindAside},
		`"type":"session.idle","turn":"msg_1","text":"done"`:   {Kind: hook.KindRunComplete, Result: "done", Key: "end/msg_1", Turn: "msg_1"},
		`"type":"session.idle","text":"so far","error":{"name":"MessageAbortedError","data":{"message":"Aborted"}}`: {
			Kind: hook.KindRunCancel, ErrorType: "MessageAbortedError", Message: "Aborted",
		},
		`"type":"session.idle","error":{"name":"APIError","data":{"message":"no","statusCode":400}}`: {
			Kind: hook.KindRunError, ErrorType: "APIError", Message: "no",
		},
		`"type":"session.compacted","turn":"msg_1"`: {Kind: hook.KindCompact, Turn: "msg_1", Key: "compact/msg_1", KeyWithin: repeatWithin},
		`"type":"permission.replied","reply":"once","id":"per_1","permission":"edit","patterns":["new.txt"],"tool":{"callID":"c1"}`: {
			Kind: hook.KindNote, Message: "permission: once", Key: "reply/per_1", Tool: &hook.Tool{ID: "c1", Name: "edit", Input: `["new.txt"]`, Duration: hook.UnknownDuration},
		},
		`"type":"permission.replied","reply":"reject","id":"per_2","permission":"edit","tool":{"callID":"c1"}`: {Kind: hook.KindNote, Message: "permission: reject", Key: "reply/per_2"},
		`"type":"permission.replied","reply":"reject","id":"per_1"`:                                            {Kind: hook.KindNote, Message: "permission: reject", Key: "reply/per_1"},
		`"type":"hookspan.stream_ended"`:                                                                       {Kind: hook.KindSessionEnd},
		`"type":"todo.updated"`:                                                                                {Kind: hook.KindUnknown},
		tool("bash", `"status":"running","input":{"b":1,"a":2},"time":{"start":1000}`): {
			Kind: hook.KindToolStart, Key: "tool_start/prt_1", Tool: &hook.Tool{ID: "c1", Name: "bash", Input: `{"a":2,"b":1}`, Started: second(1), Duration: hook.UnknownDuration},
		},
		tool("bash", `"status":"completed","output":"oops","metadata":{"exit":3},`+ended): {
			Kind: hook.KindToolEnd, Key: "tool_end/prt_1", Tool: &hook.Tool{ID: "c1", Name: "bash", Output: "oops", Error: "oops", Status: hook.ToolFailed, Started: second(1), Ended: second(1.25), Duration: 250 * time.Millisecond},
		},
		tool("bash", `"status":"completed","output":"fine","metadata":{"exit":0},`+ended): {
			Kind: hook.KindToolEnd, Key: "tool_end/prt_1", Tool: &hook.Tool{ID: "c1", Name: "bash", Output: "fine", Started: second(1), Ended: second(1.25), Duration: 250 * time.Millisecond},
		},
		tool("task", `"status":"completed","metadata":{"sessionId":"ses_2"}`): {
			Kind: hook.KindToolEnd, Key: "tool_end/prt_1", Tool: &hook.Tool{ID: "c1", Name: "task", Agent: "ses_2", Duration: hook.UnknownDuration},
		},
		tool("invalid", `"status":"completed","input":{"tool":"no_such"},"output":"unknown"`): {
			Kind: hook.KindToolEnd, Key: "tool_end/prt_1", Tool: &hook.Tool{ID: "c1", Name: "no_such", Input: `{"tool":"no_such"}`, Output: "unknown", Error: "unknown", Status: hook.ToolFailed, Duration: hook.UnknownDuration},
		},
		tool("write", `"status":"error","error":"The user rejected permission to use this specific tool call."`): {
			Kind: hook.KindToolEnd, Key: "tool_end/prt_1", Tool: &hook.Tool{ID: "c1", Name: "write", Error: "The user rejected permission to use this specific tool call.", Status: hook.ToolDenied, Duration: hook.UnknownDuration},
		},
		tool("bash", `"status":"error","error":"Tool execution aborted"`): {
			Kind: hook.KindToolEnd, Key: "tool_end/prt_1", Tool: &hook.Tool{ID: "c1", Name: "bash", Error: "Tool execution aborted", Status: hook.ToolCancelled, Duration: hook.UnknownDuration},
		},
	} {
		events, err := tested.Decode(hook.Raw{Payload: []byte(`{"session":"ses_1",` + payload + `}`)})
		if err != nil || len(events) != 1 {
			t.Errorf("%s: %+v, %v", payload, events, err)
			continue
		}
		got := events[0]
		want.Host, want.Dialect, want.Session = hook.HostOpencode, Dialect, "ses_1"
		want.Name, want.Hash, want.Time = got.Name, got.Hash, got.Time
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", payload, diff)
		}
	}
}

func second(s float64) time.Time { return time.UnixMilli(int64(s * 1000)).UTC() }

func TestStreamEndedIsAnEvent(t *testing.T) {
	events, err := tested.Decode(hook.Raw{Payload: StreamEnded("ses_\"1")})
	if err != nil || events[0].Session != "ses_\"1" || events[0].Kind != hook.KindSessionEnd {
		t.Errorf("events %+v, %v", events, err)
	}
}

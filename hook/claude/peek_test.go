package claude

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/hook"
)

// peek is PeekIn where the environment names no sender.
var peek = PeekIn(func(string) string { return "" })

func TestPeek(t *testing.T) {
	tests := []struct {
		name, payload, event string
		want                 hook.Head
	}{
		{
			name: "start of a session", event: "SessionStart",
			payload: `{"session_id":"s","hook_event_name":"SessionStart","source":"startup"}`,
			want:    hook.Head{Session: "s", Name: "SessionStart", Kind: hook.KindSessionStart},
		},
		{
			name: "a tool ends no run", event: "PostToolUse",
			payload: `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash"}`,
			want:    hook.Head{Session: "s", Name: "PostToolUse", Kind: hook.KindToolEnd},
		},
		{
			name: "the end of a turn", event: "Stop", payload: `{"session_id":"s","hook_event_name":"Stop"}`,
			want: hook.Head{Session: "s", Name: "Stop", Kind: hook.KindRunComplete, RunEnds: true},
		},
		{
			name: "the end of a turn that a hook has made go on", event: "Stop",
			payload: `{"session_id":"s","hook_event_name":"Stop","stop_hook_active":true}`,
			want:    hook.Head{Session: "s", Name: "Stop", Kind: hook.KindRunComplete, RunEnds: true},
		},
		{
			name: "the failure of a turn", event: "StopFailure", payload: `{"session_id":"s","hook_event_name":"StopFailure"}`,
			want: hook.Head{Session: "s", Name: "StopFailure", Kind: hook.KindRunError, RunEnds: true},
		},
		{
			name: "the end of the session", event: "SessionEnd", payload: `{"session_id":"s","hook_event_name":"SessionEnd"}`,
			want: hook.Head{Session: "s", Name: "SessionEnd", Kind: hook.KindSessionEnd, RunEnds: true},
		},
		{
			name: "the start of a subagent", event: "SubagentStart",
			payload: `{"session_id":"s","hook_event_name":"SubagentStart","agent_id":"a"}`,
			want:    hook.Head{Session: "s", Name: "SubagentStart", Kind: hook.KindRunStart},
		},
		{
			name: "the end of a subagent may complete a turn", event: "SubagentStop",
			payload: `{"session_id":"s","hook_event_name":"SubagentStop","agent_id":"a"}`,
			want:    hook.Head{Session: "s", Name: "SubagentStop", Kind: hook.KindRunComplete, RunEnds: true},
		},
		{
			name: "the end of a subagent without a name", event: "SubagentStop",
			payload: `{"session_id":"s","hook_event_name":"SubagentStop","agent_id":""}`,
			want:    hook.Head{Session: "s", Name: "SubagentStop", Kind: hook.KindNote},
		},
		{
			name: "a subagent's own stop", event: "Stop", payload: `{"session_id":"s","hook_event_name":"Stop","agent_id":"a"}`,
			want: hook.Head{Session: "s", Name: "Stop", Kind: hook.KindRunComplete, RunEnds: true},
		},
		{
			name: "payload's name wins over the started one", event: "PreToolUse",
			payload: `{"session_id":"s","hook_event_name":"PostToolUse"}`,
			want:    hook.Head{Session: "s", Name: "PostToolUse", Kind: hook.KindToolEnd},
		},
		{
			name: "started name where the payload has none", event: "Stop", payload: `{"session_id":"s","hook_event_name":null}`,
			want: hook.Head{Session: "s", Name: "Stop", Kind: hook.KindRunComplete, RunEnds: true},
		},
		{
			name: "unknown hook", event: "PreToolUse", payload: `{"session_id":"s","hook_event_name":"PreDream"}`,
			want: hook.Head{Session: "s", Name: "PreDream"},
		},
		{
			name: "byte order mark", event: "Stop", payload: "\ufeff{\"session_id\":\"s\"}\r\n",
			want: hook.Head{Session: "s", Name: "Stop", Kind: hook.KindRunComplete, RunEnds: true},
		},
		{
			name: "last of equal keys, exact case", event: "PreToolUse",
			payload: `{"session_id":"1","session_id":"2","Session_ID":"3","sessionId":"4"}`,
			want:    hook.Head{Session: "2", Name: "PreToolUse", Kind: hook.KindToolStart},
		},
		{
			name: "empty payload at the session's end", event: "SessionEnd", payload: "",
			want: hook.Head{Name: "SessionEnd", Kind: hook.KindSessionEnd, RunEnds: true},
		},
		{name: "empty payload of a subagent", event: "SubagentStop", payload: " \n", want: hook.Head{Name: "SubagentStop", Kind: hook.KindNote}},
		{name: "not JSON", event: "Stop", payload: "hello", want: hook.Head{Name: "Stop"}},
		{name: "torn", event: "Stop", payload: `{"session_id":"s","hook_event_name":"Stop","last_assis`, want: hook.Head{Name: "Stop", Session: "s", Kind: hook.KindRunComplete, RunEnds: true}},
		{name: "an array", event: "Stop", payload: `[{"session_id":"s"}]`, want: hook.Head{Name: "Stop"}},
		{name: "too deep", event: "Stop", payload: `{"session_id":"s","x":` + nested(1_000_000) + `}`, want: hook.Head{Name: "Stop", Session: "s", Kind: hook.KindRunComplete, RunEnds: true}},
		{
			name: "wrong types", event: "SubagentStop", payload: `{"session_id":{},"hook_event_name":["Stop"],"agent_id":[1]}`,
			want: hook.Head{Name: "SubagentStop", Kind: hook.KindNote},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, peek([]byte(tt.payload), tt.event)); diff != "" {
				t.Errorf("Peek (-want +got):\n%s", diff)
			}
		})
	}
}

// checkHead compares what Peek says with the event of the same payload.
func checkHead(t *testing.T, r Raw, events []hook.Event, _ error) {
	t.Helper()
	if len(events) != 1 {
		t.Fatalf("Decode gave %d events, want 1", len(events))
	}
	ev := &events[0]
	want := hook.Head{Session: ev.Session, Name: ev.Name, Kind: ev.Kind, RunEnds: ev.Kind.Terminal()}
	if diff := cmp.Diff(want, peek(r.Payload, r.Event)); diff != "" {
		t.Fatalf("Peek differs from Decode (-decode +peek):\n%s", diff)
	}
}

// sized returns a payload whose response is padded with lines of text to the
// given size.
func sized(b *testing.B, size int) Raw {
	r := load(b, "events/PostToolUse.Bash.json")
	const mark = `ok  \tshop-api\t0.005s`
	line := `--- PASS: TestLogin (0.00s)\n`
	if !strings.Contains(string(r.Payload), mark) {
		b.Fatalf("%q is not in the payload", mark)
	}
	if padding := strings.Repeat(line, max(0, size-len(r.Payload))/len(line)); padding != "" {
		r.Payload = []byte(strings.Replace(string(r.Payload), mark, padding, 1))
	}
	return r
}

func BenchmarkPeek(b *testing.B) {
	for name, size := range map[string]int{"1KiB": 0, "4KiB": 4 << 10, "1MiB": 1 << 20} {
		r := sized(b, size)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(r.Payload)))
			b.ReportAllocs()
			for b.Loop() {
				if peek(r.Payload, r.Event).Session == "" {
					b.Fatal("no session")
				}
			}
		})
	}
}

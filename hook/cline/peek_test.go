package cline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/hook"
)

func TestPeek(t *testing.T) {
	tests := []struct {
		name, payload, event string
		want                 hook.Head
	}{
		{
			name: "classic task start", event: "TaskStart",
			payload: `{"hookName":"TaskStart","taskId":"17","taskStart":{}}`,
			want:    hook.Head{Session: "17", Name: "TaskStart", Kind: hook.KindRunStart},
		},
		{
			name: "classic completion ends the run", event: "TaskComplete",
			payload: `{"hookName":"TaskComplete","taskId":"17"}`,
			want:    hook.Head{Session: "17", Name: "TaskComplete", Kind: hook.KindRunComplete, RunEnds: true},
		},
		{
			name: "sdk session is the root session", event: "TaskComplete",
			payload: `{"hookName":"agent_end","taskId":"conv_1","sessionContext":{"rootSessionId":"s1"},"agent_id":"a","parent_agent_id":null}`,
			want:    hook.Head{Session: "s1", Name: "TaskComplete", Kind: hook.KindRunComplete, RunEnds: true, Patience: sdkPatience},
		},
		{
			name: "sdk without a root session", event: "TaskStart",
			payload: `{"hookName":"agent_start","taskId":"conv_1","sessionContext":{}}`,
			want:    hook.Head{Session: "conv_1", Name: "TaskStart", Kind: hook.KindRunStart, Patience: sdkPatience},
		},
		{
			name: "the end of a subagent ends no run", event: "TaskComplete",
			payload: `{"hookName":"agent_end","taskId":"conv_2","sessionContext":{"rootSessionId":"s1"},"agent_id":"b","parent_agent_id":"a"}`,
			want:    hook.Head{Session: "s1", Name: "TaskComplete", Kind: hook.KindRunComplete, Patience: sdkPatience},
		},
		{
			name: "a turn that was aborted", event: "TaskComplete",
			payload: `{"hookName":"agent_end","sessionContext":{"rootSessionId":"s1"},"turn":{"status":"aborted"}}`,
			want:    hook.Head{Session: "s1", Name: "TaskComplete", Kind: hook.KindRunCancel, RunEnds: true, Patience: sdkPatience},
		},
		{
			name: "payload's name wins over the started one", event: "PreToolUse",
			payload: `{"hookName":"PostToolUse","taskId":"1"}`,
			want:    hook.Head{Session: "1", Name: "PostToolUse", Kind: hook.KindToolEnd},
		},
		{
			name: "started name where the payload has none", event: "TaskCancel", payload: `{"taskId":"1"}`,
			want: hook.Head{Session: "1", Name: "TaskCancel", Kind: hook.KindRunCancel, RunEnds: true},
		},
		{
			name: "unknown hook", event: "PreToolUse", payload: `{"hookName":"PreDream","taskId":"1"}`,
			want: hook.Head{Session: "1", Name: "PreDream"},
		},
		{
			name: "byte order mark", event: "TaskStart", payload: "\ufeff{\"taskId\":\"1\"}\r\n",
			want: hook.Head{Session: "1", Name: "TaskStart", Kind: hook.KindRunStart},
		},
		{
			name: "number for a task", event: "TaskStart", payload: `{"taskId":1776506405123}`,
			want: hook.Head{Session: "1776506405123", Name: "TaskStart", Kind: hook.KindRunStart},
		},
		{
			name: "last of equal keys, exact case", event: "TaskStart", payload: `{"taskId":"1","taskId":"2","TaskID":"3","taskid":"4"}`,
			want: hook.Head{Session: "2", Name: "TaskStart", Kind: hook.KindRunStart},
		},
		{
			name: "empty payload at shutdown", event: "SessionShutdown", payload: "",
			want: hook.Head{Name: "SessionShutdown", Kind: hook.KindSessionEnd, RunEnds: true},
		},
		{
			name: "folders, the main one first", event: "TaskStart", payload: `{"taskId":"1","workspaceRoots":["/a","",7,"/b"]}`,
			want: hook.Head{Session: "1", Name: "TaskStart", Kind: hook.KindRunStart, Dirs: []string{"/a", "7", "/b"}},
		},
		{
			name: "folder of the SDK", event: "TaskStart", payload: `{"taskId":"1","workspaceRoots":[],"workspaceInfo":{"rootPath":"/a"}}`,
			want: hook.Head{Session: "1", Name: "TaskStart", Kind: hook.KindRunStart, Dirs: []string{"/a"}},
		},
		{name: "not JSON", event: "TaskComplete", payload: "hello", want: hook.Head{Name: "TaskComplete", Kind: hook.KindRunComplete}},
		{name: "torn", event: "TaskComplete", payload: `{"taskId":"1","x":"`, want: hook.Head{Name: "TaskComplete", Kind: hook.KindRunComplete}},
		{name: "an array", event: "TaskComplete", payload: `[{"taskId":"1"}]`, want: hook.Head{Name: "TaskComplete", Kind: hook.KindRunComplete}},
		{name: "too deep", event: "TaskStart", payload: `{"taskId":"1","x":` + nested(1_000_000) + `}`, want: hook.Head{Name: "TaskStart", Kind: hook.KindRunStart}},
		{
			name: "wrong types", event: "TaskStart", payload: `{"taskId":{},"sessionContext":[],"hookName":[1],"turn":"x"}`,
			want: hook.Head{Name: "TaskStart", Kind: hook.KindRunStart, Patience: sdkPatience},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Peek([]byte(tt.payload), tt.event)); diff != "" {
				t.Errorf("Peek (-want +got):\n%s", diff)
			}
		})
	}
}

// checkHead compares what Peek says with the first event of the same payload.
func checkHead(t *testing.T, r Raw, events []hook.Event, err error) {
	t.Helper()
	ev := &events[0]
	want := hook.Head{
		Session: ev.Session, Name: ev.Name, Kind: ev.Kind,
		RunEnds: ev.Kind.Terminal() && ev.ParentAgent == "",
	}
	if ev.Dialect == dialectSDK {
		want.Patience = sdkPatience
	}
	got := Peek(r.Payload, r.Event)
	if len(got.Dirs) > 0 && got.Dirs[0] != ev.Cwd {
		t.Errorf("Peek's first folder is %q, Decode's working directory %q", got.Dirs[0], ev.Cwd)
	}
	got.Dirs = nil
	if err != nil { // the name says what the hook was for, although there is no such event
		want.Kind, want.Patience = kindOf(ev.Name, nil), got.Patience
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("Peek differs from Decode (-decode +peek):\n%s", diff)
	}
}

// sized returns a recorded payload whose result is padded with lines of text
// to the given size.
func sized(b *testing.B, size int) Raw {
	r := load(b, "classic-session/018-PostToolUse.json")
	const mark = `All 42 tests passed`
	line := `export const login = (u?: string, p?: string) => Boolean(u && p)\n`
	padding := strings.Repeat(line, max(0, size-len(r.Payload))/len(line))
	r.Payload = []byte(strings.Replace(string(r.Payload), mark, padding, 1))
	return r
}

func BenchmarkPeek(b *testing.B) {
	for name, size := range map[string]int{"4KiB": 4 << 10, "1MiB": 1 << 20} {
		r := sized(b, size)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(r.Payload)))
			b.ReportAllocs()
			for b.Loop() {
				if Peek(r.Payload, r.Event).Session == "" {
					b.Fatal("no session")
				}
			}
		})
	}
}

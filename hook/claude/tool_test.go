package claude

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/hook"
)

func TestTool(t *testing.T) {
	type facts struct {
		Kind  hook.Kind
		Key   string
		Tool  hook.Tool
		Attrs []hook.Attr
	}
	const unknown = hook.UnknownDuration
	tests := []struct {
		name, payload string
		want          facts
	}{
		{
			"start", `{"hook_event_name":"PreToolUse","tool_use_id":"t","tool_name":"Bash","tool_input":{"command":"ls","b":1.0,"a":"<"}}`,
			facts{Kind: hook.KindToolStart, Key: "PreToolUse/t", Tool: hook.Tool{ID: "t", Name: "Bash", Input: `{"a":"<","b":1.0,"command":"ls"}`, Duration: unknown}},
		},
		{
			"start in an old version", `{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{}}`,
			facts{Kind: hook.KindToolStart, Tool: hook.Tool{Name: "Write", Input: "{}", Duration: unknown}},
		},
		{"start of nothing", `{"hook_event_name":"PreToolUse"}`, facts{Kind: hook.KindToolStart, Tool: hook.Tool{Duration: unknown}}},
		{
			"an MCP server that is named", `{"hook_event_name":"PreToolUse","tool_name":"mcp__plugin_x_gh__y","mcp_server":{"name":"plugin:x:gh","source":"plugin"}}`,
			facts{
				Kind: hook.KindToolStart, Tool: hook.Tool{Name: "mcp__plugin_x_gh__y", Duration: unknown},
				Attrs: []hook.Attr{{Key: "hookspan.mcp.server", Value: "plugin:x:gh"}},
			},
		},
		{
			"an MCP server in the tool's name", `{"hook_event_name":"PreToolUse","tool_name":"mcp__github__create__issue"}`,
			facts{
				Kind: hook.KindToolStart, Tool: hook.Tool{Name: "mcp__github__create__issue", Duration: unknown},
				Attrs: []hook.Attr{{Key: "hookspan.mcp.server", Value: "github"}},
			},
		},
		{
			"a name with a server and no tool", `{"hook_event_name":"PreToolUse","tool_name":"mcp__github"}`,
			facts{Kind: hook.KindToolStart, Tool: hook.Tool{Name: "mcp__github", Duration: unknown}},
		},
		{
			"end", `{"hook_event_name":"PostToolUse","tool_use_id":"t","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":{"stdout":"a","stderr":"","interrupted":false},"duration_ms":0}`,
			facts{Kind: hook.KindToolEnd, Key: "PostToolUse/t", Tool: hook.Tool{ID: "t", Name: "Bash", Input: `{"command":"ls"}`, Output: "a"}},
		},
		{
			"end of a command that was interrupted", `{"hook_event_name":"PostToolUse","tool_use_id":"t","tool_name":"Bash","tool_response":{"stdout":"a","interrupted":true},"duration_ms":1500}`,
			facts{Kind: hook.KindToolEnd, Key: "PostToolUse/t", Tool: hook.Tool{ID: "t", Name: "Bash", Output: "a", Status: hook.ToolCancelled, Duration: 1500 * time.Millisecond}},
		},
		{
			"a foreign tool's word for something else", `{"hook_event_name":"PostToolUse","tool_name":"mcp__x__y","tool_response":{"interrupted":true}}`,
			facts{Kind: hook.KindToolEnd, Tool: hook.Tool{Name: "mcp__x__y", Output: `{"interrupted":true}`, Duration: unknown}},
		},
		{
			"end of an agent", `{"hook_event_name":"PostToolUse","tool_name":"Agent","tool_response":{"status":"completed","agentId":"a","content":[{"type":"text","text":"done"}]}}`,
			facts{
				Kind: hook.KindToolEnd, Tool: hook.Tool{Name: "Agent", Agent: "a", Output: "done", Duration: unknown},
				Attrs: []hook.Attr{{Key: "hookspan.agent.status", Value: "completed"}},
			},
		},
		{
			"an agent sent into the background", `{"hook_event_name":"PostToolUse","tool_name":"Task","tool_response":{"status":"async_launched","agentId":"a"}}`,
			facts{
				Kind: hook.KindToolEnd, Tool: hook.Tool{Name: "Task", Agent: "a", Output: `{"agentId":"a","status":"async_launched"}`, Duration: unknown},
				Attrs: []hook.Attr{{Key: "hookspan.agent.status", Value: "async_launched"}},
			},
		},
		{
			"another tool's agent", `{"hook_event_name":"PostToolUse","tool_name":"SendMessage","tool_response":{"agentId":"a","status":"x"}}`,
			facts{Kind: hook.KindToolEnd, Tool: hook.Tool{Name: "SendMessage", Output: `{"agentId":"a","status":"x"}`, Duration: unknown}},
		},
		{
			"failure", `{"hook_event_name":"PostToolUseFailure","tool_use_id":"t","tool_name":"Bash","error":"Exit code 3\nbad","is_interrupt":false,"duration_ms":7}`,
			facts{Kind: hook.KindToolEnd, Key: "PostToolUseFailure/t", Tool: hook.Tool{ID: "t", Name: "Bash", Status: hook.ToolFailed, Error: "Exit code 3\nbad", Duration: 7 * time.Millisecond}},
		},
		{
			"failure by the user", `{"hook_event_name":"PostToolUseFailure","tool_use_id":"t","tool_name":"Bash","error":"aborted","is_interrupt":true}`,
			facts{Kind: hook.KindToolEnd, Key: "PostToolUseFailure/t", Tool: hook.Tool{ID: "t", Name: "Bash", Status: hook.ToolCancelled, Error: "aborted", Duration: unknown}},
		},
		{
			"denied", `{"hook_event_name":"PermissionDenied","tool_use_id":"t","tool_name":"Bash","tool_input":{},"reason":"no"}`,
			facts{Kind: hook.KindToolEnd, Key: "PermissionDenied/t", Tool: hook.Tool{ID: "t", Name: "Bash", Input: "{}", Status: hook.ToolDenied, Error: "no", Duration: unknown}},
		},
		{
			"permission asked for", `{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls"}}`,
			facts{Kind: hook.KindPermission, Tool: hook.Tool{Name: "Bash", Input: `{"command":"ls"}`, Duration: unknown}},
		},
		{
			"permission asked for with an id", `{"hook_event_name":"PermissionRequest","tool_use_id":"t","tool_name":"Bash"}`,
			facts{Kind: hook.KindPermission, Tool: hook.Tool{ID: "t", Name: "Bash", Duration: unknown}},
		},
		{
			"wrong types", `{"hook_event_name":"PostToolUse","tool_use_id":[],"tool_name":{},"tool_input":"x","duration_ms":"soon"}`,
			facts{Kind: hook.KindToolEnd, Tool: hook.Tool{Input: `"x"`, Duration: unknown}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ev := decodeOne(t, tt.payload, "")
			// A model may use an id again: the key ends in the hash of the body.
			base, ok := strings.CutSuffix(ev.Key, "/"+strconv.FormatUint(hook.Hash([]byte(tt.payload)), 16))
			if ok != (ev.KeyWithin > 0) || ok != (ev.Key != "") {
				t.Errorf("key %q within %v", ev.Key, ev.KeyWithin)
			}
			got := facts{ev.Kind, base, *ev.Tool, ev.Attrs}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Both ends of each call, and the question for permission between them, carry
// the same input.
func TestEndsOfACallHaveEqualInputs(t *testing.T) {
	inputs := map[string]string{}
	var pairs int
	for _, f := range fixtures(t) {
		// The collection of single events has several starts of one call.
		if f.Folder == "events" || f.Folder == "legacy" {
			continue
		}
		events, err := Decode(f.Raw)
		if err != nil {
			t.Fatal(err)
		}
		tool := events[0].Tool
		if tool == nil || tool.ID == "" {
			continue
		}
		id := f.Folder + "/" + tool.ID
		switch events[0].Kind {
		case hook.KindToolStart:
			inputs[id] = tool.Input
		case hook.KindToolEnd:
			start, ok := inputs[id]
			if !ok || start != tool.Input || start == "" {
				t.Errorf("%s/%s: input %s, the start has %s", f.Folder, f.Name, tool.Input, start)
			}
			pairs++
		}
	}
	if pairs < 15 {
		t.Errorf("%d calls with both ends, want at least 15", pairs)
	}
}

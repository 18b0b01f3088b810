package translate

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
)

// storedAt is the receive time the tests give to all payloads.
var storedAt = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

// here is where the tests' calls happen.
var here = Context{GOOS: "linux", TranscriptPath: "/t/s.jsonl"}

// payload wraps a body in the members that all of Cline's payloads have.
func payload(t testing.TB, dialect, hookName string, body map[string]any) hook.Raw {
	t.Helper()
	all := map[string]any{"hookName": hookName, "timestamp": "1795175957341", "workspaceRoots": []any{"/w"}}
	switch dialect {
	case "classic":
		all["clineVersion"], all["taskId"] = "4.0.12", "17951"
		all["model"] = map[string]any{"provider": "anthropic", "slug": "claude-x"}
	case "next":
		all["clineVersion"], all["taskId"] = "4.1.13", "conv_1"
		all["model"] = map[string]any{"provider": "unknown", "slug": "unknown"}
	case "sdk":
		all["clineVersion"], all["taskId"], all["agent_id"] = "", "conv_1", "agent_1"
		all["timestamp"] = "2026-11-20T11:59:36.980Z"
		all["sessionContext"] = map[string]any{"rootSessionId": "root"}
	}
	for k, v := range body {
		all[k] = v
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return hook.Raw{Payload: raw, Event: hookName, StoredAt: storedAt, Cwd: "/started/here"}
}

// pre is a call before it runs; the input is JSON. In the classic dialects its
// members that are no texts become JSON texts, as Cline does.
func pre(t testing.TB, dialect, tool, input string) hook.Raw {
	t.Helper()
	if dialect == "sdk" {
		return payload(t, dialect, "tool_call", map[string]any{
			"tool_call": map[string]any{"id": "call_1", "name": tool, "input": json.RawMessage(input)},
		})
	}
	return payload(t, dialect, "PreToolUse", map[string]any{
		"preToolUse": map[string]any{"toolName": tool, "parameters": params(t, input)},
	})
}

func params(t testing.TB, input string) map[string]string {
	t.Helper()
	var in map[string]json.RawMessage
	if err := json.Unmarshal([]byte(input), &in); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for k, v := range in {
		var s string
		if json.Unmarshal(v, &s) != nil {
			s = string(v)
		}
		out[k] = s
	}
	return out
}

// call translates a valid payload.
func call(t testing.TB, raw hook.Raw, c Context) *Call {
	t.Helper()
	out, err := FromCline(raw, c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// lines are the events of a call: subjects and input.
func lines(c *Call) []string {
	var out []string
	for _, e := range c.Events {
		out = append(out, strings.Join(e.Subjects, ",")+" "+string(e.Input))
	}
	return out
}

func diffLines(t *testing.T, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package translate

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
)

// rows are the rows of a call, each without its uuid.
func rows(t *testing.T, c *Call) []string {
	t.Helper()
	uuid := regexp.MustCompile(`"uuid":"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",`)
	var all []string
	for _, row := range c.Rows() {
		s := string(row)
		if !uuid.MatchString(s) {
			t.Errorf("a row without a uuid: %s", s)
		}
		all = append(all, uuid.ReplaceAllString(s, ""))
	}
	return all
}

func TestRows(t *testing.T) {
	const classicEnd = `"timestamp":"2026-11-20T11:59:17.341Z","sessionId":"17951","cwd":"/w"`
	const sdkEnd = `"timestamp":"2026-11-20T11:59:36.980Z","sessionId":"root","cwd":"/w"`
	user := func(content, end string) string {
		return `{"type":"user","isSidechain":false,"message":{"role":"user","content":` + content + `},` + end
	}
	use := func(id, command string) string {
		return `{"type":"assistant","isSidechain":false,"message":{"role":"assistant","content":[{"type":"tool_use","id":"` + id + `","name":"Bash","input":{"command":"` + command + `","run_in_background":false}}]},` + sdkEnd + `}`
	}
	result := func(id, content, isError string) string {
		return user(`[{"type":"tool_result","tool_use_id":"`+id+`","content":`+content+`,"is_error":`+isError+`}]`, sdkEnd)
	}
	tests := []struct {
		name string
		raw  hook.Raw
		want []string
	}{
		{"prompt", payload(t, "classic", "UserPromptSubmit", map[string]any{"userPromptSubmit": map[string]any{"prompt": "a <b>\n\"c\""}}), []string{user(`"a <b>\n\"c\""`, classicEnd) + `}`}},
		{"empty prompt", payload(t, "classic", "UserPromptSubmit", map[string]any{"userPromptSubmit": map[string]any{}}), nil},
		{"calls of one event", pre(t, "sdk", "run_commands", `["a","b"]`), []string{use("call_1", "a"), use("call_1#1", "b")}},
		{
			"their results", payload(t, "sdk", "tool_result", map[string]any{"tool_result": map[string]any{
				"id": "call_1", "name": "run_commands", "input": []string{"a", "b"},
				"output": []any{
					map[string]any{"query": "a", "result": "x\n", "success": true},
					map[string]any{"query": "b", "result": "", "error": "Command exited with code 3", "success": false},
				},
			}}), []string{
				result("call_1", `"x\n"`, "false") + `,"toolUseResult":{"stdout":"x\n","stderr":"","interrupted":false,"isImage":false}}`,
				result("call_1#1", `"Exit code 3"`, "true") + `,"toolUseResult":"Error: Exit code 3"}`,
			},
		},
		{
			"a call that the user denied", payload(t, "sdk", "tool_result", map[string]any{"tool_result": map[string]any{
				"id": "call_1", "name": "run_commands", "input": "a", "output": map[string]any{"error": "User rejected the tool call"}, "error": "x",
			}}), []string{result("call_1", `"User rejected the tool call"`, "true") + `,"toolUseResult":"Error: User rejected the tool call"}`},
		},
		{"final text", payload(t, "classic", "TaskComplete", map[string]any{"taskComplete": map[string]any{"taskMetadata": map[string]any{"result": "done"}}}), []string{
			`{"type":"assistant","isSidechain":false,"message":{"model":"claude-x","role":"assistant","content":[{"type":"text","text":"done"}]},` + classicEnd + `}`,
		}},
		{"no final text", payload(t, "sdk", "agent_end", map[string]any{"turn": map[string]any{"status": "completed"}}), nil},
		{"final text of a subagent", payload(t, "sdk", "agent_end", map[string]any{"parent_agent_id": "agent_0", "turn": map[string]any{"outputText": "sub", "status": "completed"}}), []string{
			`{"type":"assistant","isSidechain":true,"agentId":"agent_1","message":{"role":"assistant","content":[{"type":"text","text":"sub"}]},` + sdkEnd + `}`,
		}},
		{"start", payload(t, "sdk", "agent_start", nil), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { diffLines(t, rows(t, call(t, tt.raw, here)), tt.want) })
	}
}

// The same event gives the same ids, another event different ones.
func TestRowIDsAreUniqueAndStable(t *testing.T) {
	ids := func(raw hook.Raw) []string {
		var all []string
		for _, row := range call(t, raw, here).Rows() {
			var in struct{ UUID string }
			if err := json.Unmarshal(row, &in); err != nil {
				t.Fatal(err)
			}
			all = append(all, in.UUID)
		}
		return all
	}
	raw := pre(t, "sdk", "run_commands", `["a","b"]`)
	first := ids(raw)
	diffLines(t, ids(raw), first)
	later := raw
	later.StoredAt = raw.StoredAt.Add(1)
	seen := map[string]bool{}
	for _, id := range append(first, ids(later)...) {
		if seen[id] {
			t.Errorf("%s twice", id)
		}
		seen[id] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d identities, want 4: %s", len(seen), strings.Join(first, " "))
	}
}

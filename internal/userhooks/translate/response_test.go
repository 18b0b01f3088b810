package translate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every tool whose response is an object in Claude Code.
func TestResponsesHaveClaudeShape(t *testing.T) {
	const hidden = "[object Object]"
	tests := []struct {
		name, dialect, tool, in, result, want string
	}{
		{
			"a file", "classic", "read_file", `{"path":"a.ts"}`, "1 | one\n2 |   two\n3 | \n\n(File has 3 lines total.)",
			`{"type":"text","file":{"filePath":"/w/a.ts","content":"one\n  two\n","numLines":3,"startLine":1,"totalLines":3}}`,
		},
		{
			"some lines of a file", "classic", "read_file", `{"path":"a.ts","start_line":"9","end_line":"10"}`, " 9 | nine\n10 | ten\n\n(File has 40 lines total.)",
			`{"type":"text","file":{"filePath":"/w/a.ts","content":"nine\nten","numLines":2,"startLine":9,"totalLines":40}}`,
		},
		{
			"some lines of a file of unknown length", "classic", "read_file", `{"path":"a.ts","start_line":"9","end_line":"9"}`, "9 | nine",
			`{"type":"text","file":{"filePath":"/w/a.ts","content":"nine","numLines":1,"startLine":9}}`,
		},
		{
			"a file whose text looks like a note", "classic", "read_file", `{"path":"a.ts"}`, "1 | (File has 7 lines total.)\n\n(File has 1 lines total.)",
			`{"type":"text","file":{"filePath":"/w/a.ts","content":"(File has 7 lines total.)","numLines":1,"startLine":1,"totalLines":1}}`,
		},
		{
			"a document without numbers", "classic", "read_file", `{"path":"a.pdf"}`, "Title\n7 | not a number",
			`{"type":"text","file":{"filePath":"/w/a.pdf","content":"Title\n7 | not a number","numLines":2,"startLine":1}}`,
		},
		{
			"a document without numbers, some lines", "classic", "read_file", `{"path":"a.pdf","start_line":"5","end_line":"6"}`, "x\ny",
			`{"type":"text","file":{"filePath":"/w/a.pdf","content":"x\ny","numLines":2,"startLine":5}}`,
		},
		{
			"numbers that are not in order", "classic", "read_file", `{"path":"a"}`, "1 | x\n3 | y",
			`{"type":"text","file":{"filePath":"/w/a","content":"1 | x\n3 | y","numLines":2,"startLine":1}}`,
		},
		{"a hidden file", "next", "read_files", `{"files":[{"path":"a.ts"}]}`, hidden, `{"type":"text","file":{"filePath":"/w/a.ts"}}`},
		{
			"a search", "classic", "search_files", `{"path":".","regex":"x"}`, "Found 1 result.\n\na.ts\n│----\n│x = 1\n│----",
			`{"mode":"content","numFiles":0,"filenames":[],"content":"Found 1 result.\n\na.ts\n│----\n│x = 1\n│----","numLines":6}`,
		},
		{"a search without results", "sdk", "search_codebase", `{"queries":["x"]}`, "No results found for pattern: x\nSearched 1 files.", `{"mode":"content","numFiles":0,"filenames":[],"content":"","numLines":0}`},
		{"a hidden search", "next", "search_codebase", `{"queries":["x"]}`, hidden, `{"mode":"content","numFiles":0,"filenames":[]}`},
		{
			"a folder", "classic", "list_files", `{"path":"src"}`, "a.ts\n\U0001f512 .env\nlib/\n\n(File list truncated. Use list_files on specific subdirectories if you need to explore further.)",
			`{"numFiles":3,"filenames":["/w/src/a.ts","/w/src/.env","/w/src/lib/"],"truncated":true,"durationMs":5}`,
		},
		{"an empty folder", "classic", "list_files", `{"path":"src"}`, "No files found.", `{"numFiles":0,"filenames":[],"truncated":false,"durationMs":5}`},
		{"a page", "classic", "web_fetch", `{"url":"https://x.example/","prompt":"p"}`, "text", `{"result":"text","url":"https://x.example/","durationMs":5}`},
		{"a hidden page", "next", "fetch_web_content", `{"requests":[{"url":"https://x.example/"}]}`, hidden, `{"url":"https://x.example/","durationMs":5}`},
		{"a search of the web", "classic", "web_search", `{"query":"q"}`, "text", `{"query":"q","results":["text"],"durationSeconds":0.005}`},
		{"a tool of an MCP server", "classic", "use_mcp_tool", `{"server_name":"s","tool_name":"t","arguments":"{}"}`, "12", `[{"type":"text","text":"12"}]`},
		{"a hidden one", "next", "s__t", `{}`, hidden, `{}`},
		{"a resource of an MCP server", "classic", "access_mcp_resource", `{"server_name":"s","uri":"u:1"}`, "12", `{"contents":[{"uri":"u:1","text":"12"}],"server":"s"}`},
		{
			"an agent", "classic", "use_subagents", `{"prompt_1":"look"}`, "done",
			`{"status":"completed","prompt":"look","agentType":"general-purpose","content":[{"type":"text","text":"done"}],"totalDurationMs":5}`,
		},
		{"an edit", "classic", "replace_in_file", `{"path":"a","diff":"------- SEARCH\nx\n=======\ny\n+++++++ REPLACE\n"}`, "saved", `{"filePath":"/w/a","oldString":"x","newString":"y","replaceAll":false,"success":true}`},
		{"a new file", "classic", "write_to_file", `{"path":"a","content":"x"}`, "saved", `{"filePath":"/w/a","content":"x","success":true}`},
		{"a question", "classic", "ask_followup_question", `{"question":"q"}`, "yes", `"yes"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := payload(t, tt.dialect, "PostToolUse", map[string]any{"postToolUse": map[string]any{
				"toolName": tt.tool, "parameters": params(t, tt.in), "result": tt.result, "executionTimeMs": 5, "success": true,
			}})
			if tt.dialect == "sdk" {
				raw = payload(t, tt.dialect, "tool_result", map[string]any{"tool_result": map[string]any{
					"id": "c", "name": tt.tool, "input": json.RawMessage(tt.in), "output": []any{map[string]any{"query": "x", "result": tt.result, "success": true}},
				}})
			}
			c := call(t, raw, here)
			if len(c.Events) != 1 {
				t.Fatalf("%d events, want one", len(c.Events))
			}
			var in struct {
				Response json.RawMessage `json:"tool_response"`
			}
			if err := json.Unmarshal(c.Events[0].Payload, &in); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(in.Response)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var row struct {
				Result json.RawMessage `json:"toolUseResult"`
			}
			if err := json.Unmarshal(c.Rows()[0], &row); err != nil || string(row.Result) != tt.want {
				t.Errorf("the transcript has %s, %v", row.Result, err)
			}
		})
	}
}

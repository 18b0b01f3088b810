package translate

import (
	"encoding/json"
	"testing"
)

func TestEditor(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"creates", `{"path":"a","new_text":"x"}`, `Write,editor,write_to_file {"file_path":"/w/a","content":"x"}`},
		{"nulls", `{"path":"a","old_text":null,"new_text":"x","insert_line":null}`, `Write,editor,write_to_file {"file_path":"/w/a","content":"x"}`},
		{"another name for the text", `{"path":"a","content":"x"}`, `Write,editor,write_to_file {"file_path":"/w/a","content":"x"}`},
		{"replaces", `{"path":"a","old_text":"o","new_text":"n"}`, `Edit,editor,replace_in_file {"file_path":"/w/a","old_string":"o","new_string":"n","replace_all":false}`},
		{"replaces all", `{"path":"a","old_text":"o","new_text":"n","replace_all":true}`, `Edit,editor,replace_in_file {"file_path":"/w/a","old_string":"o","new_string":"n","replace_all":true}`},
		{"inserts", `{"path":"a","new_text":"n","insert_line":3}`, `Edit,editor,replace_in_file {"file_path":"/w/a","old_string":"","new_string":"n","insert_line":3,"replace_all":false}`},
		{"replaces lines", `{"path":"a","new_text":"n","start_line":3,"end_line":4}`, `Edit,editor,replace_in_file {"file_path":"/w/a","old_string":"","new_string":"n","start_line":3,"end_line":4,"replace_all":false}`},
		{"no path", `{"new_text":"n"}`, `Edit,editor,replace_in_file {"new_text":"n"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			diffLines(t, lines(call(t, pre(t, "sdk", "editor", tt.in), here)), []string{tt.want})
		})
	}
}

func TestReplaceInFile(t *testing.T) {
	const alone, among = "Edit,replace_in_file,editor ", "Edit,MultiEdit,replace_in_file,editor "
	edit := func(from, to string) string {
		return `{"file_path":"/w/a","old_string":"` + from + `","new_string":"` + to + `","replace_all":false}`
	}
	tests := []struct {
		name, diff string
		want       []string
	}{
		{"one block", "------- SEARCH\nold\n=======\nnew\n+++++++ REPLACE", []string{alone + edit("old", "new")}},
		{"older marks", "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n", []string{alone + edit("old", "new")}},
		{"marks with an angle", "------- SEARCH>\nold\n=======\nnew\n+++++++ REPLACE>\n", []string{alone + edit("old", "new")}},
		{"short marks and CRLF", "--- SEARCH\r\nold\r\n===\r\nnew\r\n+++ REPLACE\r\n", []string{alone + edit("old", "new")}},
		{"two blocks", "------- SEARCH\na\nb\n=======\nc\n+++++++ REPLACE\n\n------- SEARCH\nd\n=======\n+++++++ REPLACE\n", []string{among + edit(`a\nb`, "c"), among + edit("d", "")}},
		{"toolCall file", "------- SEARCH\n=======\nnew\n+++++++ REPLACE", []string{alone + edit("", "new")}},
		{"mark inside a text", "------- SEARCH\n------- x\n=======\na == b\n+++++++ REPLACE", []string{alone + edit("------- x", "a == b")}},
		{"no end", "------- SEARCH\nold\n=======\nnew\n", []string{alone + edit("", `------- SEARCH\nold\n=======\nnew\n`)}},
		{"something outside", "x\n------- SEARCH\nold\n=======\nnew\n+++++++ REPLACE", []string{alone + edit("", `x\n------- SEARCH\nold\n=======\nnew\n+++++++ REPLACE`)}},
		{"no diff", "hello", []string{alone + edit("", "hello")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in, err := json.Marshal(map[string]string{"path": "a", "diff": tt.diff})
			if err != nil {
				t.Fatal(err)
			}
			diffLines(t, lines(call(t, pre(t, "classic", "replace_in_file", string(in)), here)), tt.want)
		})
	}
}

func TestEndOfEditIsOneEventPerFile(t *testing.T) {
	diff := "------- SEARCH\na\n=======\nb\n+++++++ REPLACE\n------- SEARCH\nc\n=======\nd\n+++++++ REPLACE\n"
	raw := payload(t, "classic", "PostToolUse", map[string]any{"postToolUse": map[string]any{
		"toolName": "replace_in_file", "parameters": map[string]string{"path": "a", "diff": diff}, "success": true, "result": "saved",
	}})
	c := call(t, raw, here)
	diffLines(t, lines(c), []string{
		`Edit,MultiEdit,replace_in_file,editor {"file_path":"/w/a","old_string":"a\nc","new_string":"b\nd","replace_all":false,` +
			`"edits":[{"old_string":"a","new_string":"b","replace_all":false},{"old_string":"c","new_string":"d","replace_all":false}]}`,
	})
}

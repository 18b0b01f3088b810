package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		name, tool, arguments string
		want                  []Edit
	}{
		{"Claude Code's Edit", "Edit", `{"file_path":"/p/auth.go","old_string":"\tif bad {\n\t\treturn nil\n\t}","new_string":"\tif bad {\n\t\treturn ErrMissing\n\t}","replace_all":false}`, []Edit{
			{Path: "/p/auth.go", Lines: []string{"     if bad {", "-        return nil", "+        return ErrMissing", "     }"}},
		}},
		{"MultiEdit", "MultiEdit", `{"file_path":"a.go","edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":""}]}`, []Edit{
			{Path: "a.go", Lines: []string{"-a", "+b"}}, {Path: "a.go", Lines: []string{"-c"}},
		}},
		{"camel case", "edit", `{"filePath":"a.txt","oldString":"a","newString":"b"}`, []Edit{{Path: "a.txt", Lines: []string{"-a", "+b"}}}},
		{"Write", "Write", `{"content":"one\ntwo\n","file_path":"a.txt"}`, []Edit{{Path: "a.txt", Lines: []string{"+one", "+two"}}}},
		{"a preview of a write that was cut", "write_to_file", `{"content":"one\ntwo…","path":"a.txt"}`, []Edit{{Path: "a.txt", Lines: []string{"+one", "+two…"}}}},
		{"Cline's editor", "editor", `{"new_text":"Boolean(u && p)","old_text":"true","path":"src/login.ts"}`, []Edit{
			{Path: "src/login.ts", Lines: []string{"-true", "+Boolean(u && p)"}},
		}},
		{"Cline's editor that creates a file", "editor", `{"new_text":"x","path":"new.ts"}`, []Edit{{Path: "new.ts", Lines: []string{"+x"}}}},
		{"replace_in_file", "replace_in_file", `{"diff":"------- SEARCH\nold\nsame\n=======\nnew\nsame\n+++++++ REPLACE\n------- SEARCH\nb\n=======\n+++++++ REPLACE","path":"a"}`, []Edit{
			{Path: "a", Lines: []string{"-old", "+new", " same"}}, {Path: "a", Lines: []string{"-b"}},
		}},
		{"replace_in_file of older versions", "replace_in_file", `{"diff":"<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE","path":"a"}`, []Edit{{Path: "a", Lines: []string{"-old", "+new"}}}},
		{"replace_in_file that was cut", "replace_in_file", `{"diff":"------- SEARCH\nold\n=======\nne…"}`, []Edit{{Path: "", Lines: []string{"-old", "+ne…"}}}},
		{"Copilot's create", "create", `{"file_text":"one\ntwo\n","path":"/p/new.txt"}`, []Edit{{Path: "/p/new.txt", Lines: []string{"+one", "+two"}}}},
		{"opencode's write", "write", `{"content":"one\n","filePath":"/p/new.txt"}`, []Edit{{Path: "/p/new.txt", Lines: []string{"+one"}}}},
		{"Codex's apply_patch", "apply_patch", `{"command":"*** Begin Patch\n*** Add File: new.txt\n+one\n+two\n*** Update File: a.go\n*** Move to: b.go\n@@ func f()\n a\n-b\n+c\n*** Delete File: old.txt\n*** End Patch\n"}`, []Edit{
			{Path: "new.txt", Lines: []string{"+one", "+two"}},
			{Path: "a.go", To: "b.go", Lines: []string{" *** Move to: b.go", " @@ func f()", " a", "-b", "+c"}},
			{Path: "old.txt", Lines: []string{" *** Delete File: old.txt"}},
		}},
		{"opencode's apply_patch that was cut", "apply_patch", `{"patchText":"*** Begin Patch\n*** Update File: a.go\n@@\n-b\n+c…"}`, []Edit{{Path: "a.go", Lines: []string{"-b", "+c…"}}}},
		{"the Cline SDK's apply_patch", "apply_patch", `{"input":"*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"}`, []Edit{{Path: "a", Lines: []string{"+x"}}}},
		{"spaces for a tab", "Edit", `{"file_path":"a","old_string":"\tx\n y","new_string":"    x\n y"}`, []Edit{{Path: "a", Lines: []string{"-→x", "+····x", "  y"}}}},
		{"white space at the end", "Edit", `{"file_path":"a","old_string":"x ","new_string":"x"}`, []Edit{{Path: "a", Lines: []string{"-x·", "+x"}}}},
		{"another end of the line", "Edit", `{"file_path":"a","old_string":"x\r\ny\r\n","new_string":"x\ny\r\n"}`, []Edit{{Path: "a", Lines: []string{"-x␍", "+x", " y"}}}},
		{"a line end at the end", "Edit", `{"file_path":"a","old_string":"x","new_string":"x\n"}`, []Edit{{Path: "a", Lines: []string{" x", "+"}}}},
		{"a blank line between others", "MultiEdit", `{"file_path":"a","edits":[{"old_string":"x\ny","new_string":"x\n\ny"},{"old_string":"\n\n","new_string":"\n"}]}`, []Edit{
			{Path: "a", Lines: []string{" x", "+", " y"}}, {Path: "a", Lines: []string{"", "-"}},
		}},
		{"white space beside another change", "Edit", `{"file_path":"a","old_string":"\tx\ny","new_string":"    x\nz"}`, []Edit{{Path: "a", Lines: []string{"-→x", "-y", "+····x", "+z"}}}},
		{"characters that are not seen", "Edit", `{"file_path":"a","old_string":"x\u200b","new_string":"x\u202e"}`, []Edit{{Path: "a", Lines: []string{"-x\ufffd", "+x\ufffd"}}}},
		{"white space in a patch", "apply_patch", `{"input":"*** Begin Patch\n*** Update File: a\n@@\n-\tx\n+    x\n*** End Patch"}`, []Edit{{Path: "a", Lines: []string{"-→x", "+····x"}}}},
		{"an emptied file", "Write", `{"file_path":"a","content":""}`, []Edit{{Path: "a", Lines: []string{emptied}}}},
		{"a file of one line end", "write_file", `{"file_path":"a","content":"\n"}`, []Edit{{Path: "a", Lines: []string{"+"}}}},
		{"an empty file of Cline's editor", "editor", `{"path":"a","new_text":""}`, []Edit{{Path: "a", Lines: []string{emptied}}}},
		{"a notebook's cell", "NotebookEdit", `{"notebook_path":"a.ipynb","cell_id":"c1","new_source":"x = 1\ny"}`, []Edit{{Path: "a.ipynb", Lines: []string{"+x = 1", "+y"}}}},
		{"a notebook's cell that goes", "NotebookEdit", `{"notebook_path":"a.ipynb","cell_id":"c1","new_source":"","edit_mode":"delete"}`, []Edit{{Path: "a.ipynb", Lines: []string{" *** Delete Cell: c1"}}}},
		{"a write without its content", "Write", `{"file_path":"a"}`, nil},
		{"an edit that changes nothing", "Edit", `{"file_path":"a","old_string":"x","new_string":"x"}`, nil},
		{"a command that is no patch", "Bash", `{"command":"echo '*** Begin Patch'"}`, nil},
		{"hostile lines", "Edit", `{"file_path":"a","old_string":"\u001b[2J","new_string":"\u202ex"}`, []Edit{{Path: "a", Lines: []string{"-\ufffd[2J", "+\ufffdx"}}}},
		{"another tool with a content", "mcp__notes__add", `{"content":"x"}`, nil},
		{"a call that edits nothing", "Bash", `{"command":"ls"}`, nil},
		{"no JSON", "Edit", `old`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, NewArguments(c.tool, c.arguments).Edits()); d != "" {
				t.Error(d)
			}
		})
	}
}

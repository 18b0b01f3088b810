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
			{"/p/auth.go", []string{"     if bad {", "-        return nil", "+        return ErrMissing", "     }"}},
		}},
		{"MultiEdit", "MultiEdit", `{"file_path":"a.go","edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":""}]}`, []Edit{
			{"a.go", []string{"-a", "+b"}}, {"a.go", []string{"-c"}},
		}},
		{"camel case", "edit", `{"filePath":"a.txt","oldString":"a","newString":"b"}`, []Edit{{"a.txt", []string{"-a", "+b"}}}},
		{"Write", "Write", `{"content":"one\ntwo\n","file_path":"a.txt"}`, []Edit{{"a.txt", []string{"+one", "+two"}}}},
		{"a preview of a write that was cut", "write_to_file", `{"content":"one\ntwo…","path":"a.txt"}`, []Edit{{"a.txt", []string{"+one", "+two…"}}}},
		{"Cline's editor", "editor", `{"new_text":"Boolean(u && p)","old_text":"true","path":"src/login.ts"}`, []Edit{
			{"src/login.ts", []string{"-true", "+Boolean(u && p)"}},
		}},
		{"Cline's editor that creates a file", "editor", `{"new_text":"x","path":"new.ts"}`, []Edit{{"new.ts", []string{"+x"}}}},
		{"replace_in_file", "replace_in_file", `{"diff":"------- SEARCH\nold\nsame\n=======\nnew\nsame\n+++++++ REPLACE\n------- SEARCH\nb\n=======\n+++++++ REPLACE","path":"a"}`, []Edit{
			{"a", []string{"-old", "+new", " same"}}, {"a", []string{"-b"}},
		}},
		{"replace_in_file of older versions", "replace_in_file", `{"diff":"<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE","path":"a"}`, []Edit{{"a", []string{"-old", "+new"}}}},
		{"replace_in_file that was cut", "replace_in_file", `{"diff":"------- SEARCH\nold\n=======\nne…`, []Edit{{"", []string{"-old", "+ne…"}}}},
		{"Copilot's create", "create", `{"file_text":"one\ntwo\n","path":"/p/new.txt"}`, []Edit{{"/p/new.txt", []string{"+one", "+two"}}}},
		{"opencode's write", "write", `{"content":"one\n","filePath":"/p/new.txt"}`, []Edit{{"/p/new.txt", []string{"+one"}}}},
		{"Codex's apply_patch", "apply_patch", `{"command":"*** Begin Patch\n*** Add File: new.txt\n+one\n+two\n*** Update File: a.go\n*** Move to: b.go\n@@ func f()\n a\n-b\n+c\n*** Delete File: old.txt\n*** End Patch\n"}`, []Edit{
			{"new.txt", []string{"+one", "+two"}},
			{"a.go", []string{" *** Move to: b.go", " @@ func f()", " a", "-b", "+c"}},
			{"old.txt", []string{" *** Delete File: old.txt"}},
		}},
		{"opencode's apply_patch that was cut", "apply_patch", `{"patchText":"*** Begin Patch\n*** Update File: a.go\n@@\n-b\n+c…`, []Edit{{"a.go", []string{"-b", "+c…"}}}},
		{"the Cline SDK's apply_patch", "apply_patch", `{"input":"*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"}`, []Edit{{"a", []string{"+x"}}}},
		{"a command that is no patch", "Bash", `{"command":"echo '*** Begin Patch'"}`, nil},
		{"hostile lines", "Edit", `{"file_path":"a","old_string":"\u001b[2J","new_string":"\u202ex"}`, []Edit{{"a", []string{"-\ufffd[2J", "+\ufffdx"}}}},
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

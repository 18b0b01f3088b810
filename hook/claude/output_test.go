package claude

import (
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/rawjson"
)

func TestOutputText(t *testing.T) {
	tests := []struct{ name, tool, in, want string }{
		{"nothing", "Bash", ``, ""},
		{"a string", "LS", `"a\nb"`, "a\nb"},
		{"a string that is not UTF-8", "LS", "\"a\xffb\"", "a\ufffdb"},
		{"a string that looks like JSON", "mcp__x__y", `"{\"b\":1}"`, `{"b":1}`},
		{"a number", "x", `3.50`, "3.50"},
		{"true", "x", `true`, "true"},

		{"a command's output", "Bash", `{"stdout":"ok\n","stderr":"","interrupted":false}`, "ok\n"},
		{"a command's output with a notice", "Bash", `{"stdout":"ok","stderr":"Shell cwd was reset to /w"}`, "ok\nShell cwd was reset to /w"},
		{"a notice alone", "PowerShell", `{"stderr":"no"}`, "no"},
		{"a silent command", "Bash", `{"stdout":"","stderr":"","interrupted":false}`, ""},
		{"a command that printed a picture", "Bash", `{"stdout":"data:image/png;base64,AAAA","stderr":"","isImage":true}`, "[image]"},
		{"a command of another shape", "Bash", `{"out":"x","code":0}`, `{"code":0,"out":"x"}`},
		{"a foreign tool with a command's members", "mcp__x__y", `{"stdout":"x","stderr":""}`, `{"stderr":"","stdout":"x"}`},

		{"a file's text", "Read", `{"type":"text","file":{"filePath":"/a","content":"one\n","numLines":1}}`, "one\n"},
		{"an empty file", "Read", `{"type":"text","file":{"filePath":"/a","content":""}}`, ""},
		{"a picture", "Read", `{"type":"image","file":{"base64":"AAAA","type":"image/png"}}`, "[image]"},
		{"a PDF", "Read", `{"type":"pdf","file":{"filePath":"/a.pdf","base64":"AAAA"}}`, "[pdf]"},
		{"a file that has not changed", "Read", `{"type":"file_unchanged","file":{"filePath":"/a"}}`, `{"file":{"filePath":"/a"},"type":"file_unchanged"}`},
		{"a text without a file", "Read", `{"type":"text"}`, `{"type":"text"}`},

		{"files found", "Glob", `{"filenames":["/a","/b"],"durationMs":3,"numFiles":2,"truncated":false}`, "/a\n/b"},
		{"no files found", "Glob", `{"filenames":[],"numFiles":0}`, ""},
		{"lines found", "Grep", `{"mode":"content","numFiles":0,"filenames":[],"content":"a.go:1:x","numLines":1}`, "a.go:1:x"},
		{"files with matches", "Grep", `{"mode":"files_with_matches","filenames":["a.go",null],"content":""}`, "a.go"},

		{
			"a change", "Edit", `{"filePath":"/a","originalFile":"SECRET","structuredPatch":[{"oldStart":3,"oldLines":2,"newStart":3,"newLines":1,"lines":[" x","-y",""]}]}`,
			"@@ -3,2 +3,1 @@\n x\n-y\n",
		},
		{
			"two changes and an empty one", "MultiEdit", `{"filePath":"/a","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a","+b"]},{"lines":[]},{"oldStart":9,"oldLines":0,"newStart":9,"newLines":1,"lines":["+c"]}]}`,
			"@@ -1,1 +1,1 @@\n-a\n+b\n@@ -9,0 +9,1 @@\n+c",
		},
		{"a new file", "Write", `{"type":"create","filePath":"/a","content":"SECRET","structuredPatch":[],"originalFile":null}`, "/a"},
		{"a file written over without a patch", "Write", `{"type":"update","filePath":"/a","content":"x","originalFile":"SECRET"}`, "/a"},
		{"a notebook's cell", "NotebookEdit", `{"notebook_path":"/a.ipynb","original_file":"SECRET","updated_file":"SECRET"}`, "/a.ipynb"},
		{"a change of no file", "Edit", `{"originalFile":"SECRET"}`, ""},
		{"a change of another shape", "Edit", `{"done":true}`, `{"done":true}`},

		{"a page", "WebFetch", `{"bytes":10,"code":200,"codeText":"OK","result":"# Title","durationMs":5,"url":"https://example.com"}`, "# Title"},
		{"a page without a result", "WebFetch", `{"code":404}`, `{"code":404}`},

		{"an agent's report", "Agent", `{"status":"completed","agentId":"a","prompt":"p","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}`, "one\ntwo"},
		{"an old agent's report", "Task", `{"content":[{"type":"text","text":"done"}],"totalTokens":5}`, "done"},
		{"an agent in the background", "Agent", `{"isAsync":true,"status":"async_launched","agentId":"a"}`, `{"agentId":"a","isAsync":true,"status":"async_launched"}`},

		{"content blocks", "mcp__x__y", `[{"type":"text","text":"one"},{"type":"image","data":"AAAA"},{"type":"audio","data":"AAAA"},{"type":"text","text":"two"}]`, "one\n[image]\n[audio]\ntwo"},
		{
			"resources", "mcp__x__y", `[{"type":"resource","resource":{"uri":"x://1","text":"one"}},{"type":"resource","resource":{"uri":"x://2","blob":"AAAA"}},{"type":"resource_link","uri":"x://3"}]`,
			"one\nx://2\nx://3",
		},
		{"wrapped blocks", "mcp__x__y", `{"content":[{"type":"text","text":"one"}],"isError":false}`, "one"},
		{"a tool's own list with a type", "mcp__x__y", `[{"type":"file","name":"a"}]`, `[{"name":"a","type":"file"}]`},
		{"a block without its text", "mcp__x__y", `[{"type":"text","text":"one"},{"type":"text"}]`, `[{"text":"one","type":"text"},{"type":"text"}]`},
		{"a resource of nothing", "mcp__x__y", `[{"type":"resource"}]`, `[{"type":"resource"}]`},
		{"an empty list", "mcp__x__y", `[]`, "[]"},
		{"a structure", "TodoWrite", `{"newTodos":[],"oldTodos":[]}`, `{"newTodos":[],"oldTodos":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := output(tt.tool, []byte(tt.in), rawjson.Members([]byte(tt.in)))
			if got != tt.want {
				t.Errorf("output of %s\n got %q\nwant %q", tt.in, got, tt.want)
			}
			if strings.Contains(got, "SECRET") || strings.Contains(got, "AAAA") {
				t.Errorf("%q holds text that no person would read", got)
			}
		})
	}
}

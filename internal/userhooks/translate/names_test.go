package translate

import (
	"slices"
	"strings"
	"testing"
)

// Each listed name is a subject of some call, and all subjects of the calls of a
// listed tool are listed.
func TestToolNamesAgreeWithSubjects(t *testing.T) {
	in := `{"path":"a","command":"a","regex":"a","query":"a","url":"a","question":"a","prompt_1":"a","task":"a","skill":"a","skill_name":"a","content":"a","response":"a","context":"a","server_name":"s","uri":"u","action":"a",
		"diff":"------- SEARCH\na\n=======\nb\n+++++++ REPLACE\n------- SEARCH\nc\n=======\nd\n+++++++ REPLACE"}`
	in = strings.ReplaceAll(in, "\n\t\t", "")
	in = strings.ReplaceAll(in, "\n", `\n`)
	met := map[string]bool{}
	for _, tool := range ToolNames() {
		if !strings.Contains(tool, "_") && strings.ToLower(tool) != tool {
			continue // Claude's
		}
		for _, dialect := range []string{"classic", "sdk"} {
			for _, e := range call(t, pre(t, dialect, tool, in), here).Events {
				for _, s := range e.Subjects {
					met[s] = true
					if !slices.Contains(ToolNames(), s) && !strings.Contains(s, "__") {
						t.Errorf("%s: %q is not listed", tool, s)
					}
				}
			}
		}
	}
	for _, name := range ToolNames() {
		if !met[name] {
			t.Errorf("no call meets %q", name)
		}
	}
}

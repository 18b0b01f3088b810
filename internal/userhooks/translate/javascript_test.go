package translate

import (
	"encoding/json"
	"testing"
)

// TestCallsAreReadAsJavaScriptReadsThem has what Cline trims and parses otherwise than
// Go's library would.
func TestCallsAreReadAsJavaScriptReadsThem(t *testing.T) {
	patch := func(lines string) string { return patchInput(t, "*** Begin Patch\n"+lines+"\n*** End Patch") }
	for name, tc := range map[string]struct {
		dialect, tool, input string
		want                 map[string]string
	}{
		"U+FEFF behind a file's name":      {"sdk", "apply_patch", patch("*** Delete File: .env\ufeff"), map[string]string{"file_path": "/w/.env"}},
		"U+FEFF before it":                 {"classic", "apply_patch", patch("*** Update File: \ufeff.env\n-a\n+b"), map[string]string{"file_path": "/w/.env"}},
		"between blanks":                   {"sdk", "apply_patch", patch("*** Add File: \u00a0\ufeff.env\u2028\ufeff \n+a"), map[string]string{"file_path": "/w/.env"}},
		"U+0085 belongs to the name":       {"sdk", "apply_patch", patch("*** Delete File: .env\u0085"), map[string]string{"file_path": "/w/.env\u0085"}},
		"digits, and more behind them":     {"classic", "read_file", `{"path":"a","start_line":"\ufeff5abc","end_line":"7.9"}`, map[string]string{"offset": "5", "limit": "3"}},
		"an exponent is no part of a line": {"classic", "read_file", `{"path":"a","start_line":"1e3"}`, map[string]string{"offset": "1"}},
		"no number":                        {"classic", "read_file", `{"path":"a","start_line":"x5"}`, map[string]string{"offset": ""}},
		"TRUE":                             {"classic", "list_files", `{"path":"a","recursive":"TRUE"}`, map[string]string{"pattern": "**/*"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := call(t, pre(t, tc.dialect, tc.tool, tc.input), here)
			if len(c.Events) != 1 {
				t.Fatalf("%d events", len(c.Events))
			}
			var got map[string]any
			if err := json.Unmarshal(c.Events[0].Input, &got); err != nil {
				t.Fatal(err)
			}
			for member, want := range tc.want {
				if s := text(got[member]); s != want {
					t.Errorf("%s is %q, want %q", member, s, want)
				}
			}
		})
	}
	t.Run("a command that names its root", func(t *testing.T) {
		for command, want := range map[string]string{
			"@web: rm -rf x\ufeff": "rm -rf x", "@w_1:ls": "ls", "@we-b:ls": "@we-b:ls", "@web:ls\nrm x": "@web:ls\nrm x", "@web:": "@web:", "ls": "ls",
		} {
			for _, roots := range [][]string{{"/w", "/web"}, {"/w"}} {
				raw := payload(t, "classic", "PreToolUse", map[string]any{
					"workspaceRoots": roots, "preToolUse": map[string]any{"toolName": "execute_command", "parameters": map[string]string{"command": command}},
				})
				c := call(t, raw, here)
				if len(roots) < 2 {
					want = command
				}
				if got := text(mustParse(t, c.Events[0].Input)["command"]); got != want {
					t.Errorf("%q in %v: %q, want %q", command, roots, got, want)
				}
			}
		}
		op := place{roots: []string{"/w", "/web"}, hints: true}.operations("execute_command", map[string]any{"command": "@web: ls"}).operations[0]
		out, _, err := op.back(op.input, map[string]any{"command": "ls -l", "run_in_background": false})
		if err != nil || text(out.(map[string]any)["command"]) != "@web:ls -l" {
			t.Errorf("%v, %v", out, err)
		}
	})
	t.Run("where a file moves to", func(t *testing.T) {
		c := call(t, pre(t, "sdk", "apply_patch", patch("*** Update File: a\n*** Move to: .env\ufeff\n-x\n+y")), here)
		if last := c.Events[len(c.Events)-1]; last.Input == nil || !json.Valid(last.Input) || text(mustParse(t, last.Input)["file_path"]) != "/w/.env" {
			t.Errorf("%s", last.Input)
		}
	})
	t.Run("a character of two units in a name", func(t *testing.T) {
		c := call(t, pre(t, "classic", "use_mcp_tool", `{"server_name":"a😀","tool_name":"b","arguments":"{}"}`), here)
		if got := c.Events[0].Tool; got != "mcp__a____b" {
			t.Errorf("%s", got)
		}
	})
}

func mustParse(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

package translate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

const wholePatch = `*** Begin Patch
*** Add File: new.txt
+one
+two
*** Update File: a.go
@@ func f
 keep
-old
+new
@@
+more
*** Update File: from.go
*** Move to: sub/to.go
-x
+y
*** Delete File: gone.txt
*** End Patch`

func patchInput(t testing.TB, patch string) string {
	t.Helper()
	in, err := json.Marshal(map[string]string{"input": patch})
	if err != nil {
		t.Fatal(err)
	}
	return string(in)
}

func TestApplyPatch(t *testing.T) {
	edit := func(file, from, to string) string {
		return `{"file_path":"` + file + `","old_string":"` + from + `","new_string":"` + to + `","replace_all":false}`
	}
	tests := []struct {
		name, patch string
		want        []string
	}{
		{"all kinds", wholePatch, []string{
			`Write,apply_patch {"file_path":"/w/new.txt","content":"one\ntwo"}`,
			`Edit,MultiEdit,apply_patch ` + edit("/w/a.go", `keep\nold`, `keep\nnew`),
			`Edit,MultiEdit,apply_patch ` + edit("/w/a.go", "", "more"),
			`Edit,apply_patch ` + edit("/w/from.go", "x", "y"),
			`Edit,apply_patch ` + edit("/w/sub/to.go", "", "y"),
			`Edit,apply_patch ` + edit("/w/gone.txt", "", ""),
		}},
		{"wrapped in a shell's text, CRLF", "apply_patch <<'EOF'\r\n*** Begin Patch\r\n*** Update File: /a\r\n-x\r\n+y\r\n*** End of File\r\n*** End Patch\r\nEOF\r\n", []string{
			`Edit,apply_patch ` + edit("/a", "x", "y"),
		}},
		{"moved only", "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch\n", []string{
			`Edit,apply_patch ` + edit("/w/a", "", ""), `Edit,apply_patch ` + edit("/w/b", "", ""),
		}},
		{"a context line that looks like a head", "*** Update File: a\n *** Delete File: b\n-x\n", []string{
			`Edit,apply_patch ` + edit("/w/a", `*** Delete File: b\nx`, `*** Delete File: b`),
		}},
		{"no patch", "hello", []string{`Edit,apply_patch {"old_string":"","new_string":"hello","replace_all":false}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			diffLines(t, lines(call(t, pre(t, "sdk", "apply_patch", patchInput(t, tt.patch)), here)), tt.want)
			bare, err := json.Marshal(tt.patch)
			if err != nil {
				t.Fatal(err)
			}
			diffLines(t, lines(call(t, pre(t, "sdk", "apply_patch", string(bare)), here)), tt.want)
		})
	}
}

func TestEndOfPatchIsOneEventPerFile(t *testing.T) {
	raw := payload(t, "sdk", "tool_result", map[string]any{"tool_result": map[string]any{
		"id": "call_1", "name": "apply_patch", "input": map[string]string{"input": wholePatch}, "output": "ok",
	}})
	var got []string
	for _, e := range call(t, raw, here).Events {
		var in struct {
			ID    string `json:"tool_use_id"`
			Input struct {
				Path string `json:"file_path"`
			} `json:"tool_input"`
		}
		if err := json.Unmarshal(e.Payload, &in); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{e.Name, e.Tool, in.Input.Path, in.ID}, " "))
	}
	diffLines(t, got, []string{
		"PostToolUse Write /w/new.txt call_1", "PostToolUse Edit /w/a.go call_1#1", "PostToolUse Edit /w/from.go call_1#3",
		"PostToolUse Edit /w/sub/to.go call_1#4", "PostToolUse Edit /w/gone.txt call_1#5",
	})
}

// Parts that a hook makes longer or shorter do not move other parts.
func TestHooksChangeSeveralPartsOfPatch(t *testing.T) {
	c := call(t, pre(t, "sdk", "apply_patch", patchInput(t, wholePatch)), here)
	vs := make([]verdict.Verdict, 3)
	for i, updated := range []string{
		`{"file_path":"/w/new.txt","content":"1\n2\n3"}`,
		`{"file_path":"/w/a.go","old_string":"old","new_string":""}`,
		`{"file_path":"/w/a.go","old_string":"","new_string":"x\ny"}`,
	} {
		vs[i].UpdatedInput = json.RawMessage(updated)
	}
	want := patchInput(t, `*** Begin Patch
*** Add File: new.txt
+1
+2
+3
*** Update File: a.go
@@ func f
-old
@@
+x
+y
*** Update File: from.go
*** Move to: sub/to.go
-x
+y
*** Delete File: gone.txt
*** End Patch`)
	if got := c.Answer(vs, Options{}).Reply.OverrideInput; got != want {
		t.Errorf("input\n%s\nwant\n%s", got, want)
	}
}

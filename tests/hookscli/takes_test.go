package hookscli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// drawnInput is an input of one of the SDK's tools. An ordinary one has the form that the
// tool's description asks for.
type drawnInput struct {
	Tool     string `json:"tool"`
	Input    any    `json:"input"`
	ordinary bool
}

// drawInputs draws inputs in the spellings of the schemas, with values of every type.
func drawInputs(r *rand.Rand, n int) []drawnInput {
	pick := func(from ...any) any { return from[r.IntN(len(from))] }
	word := func() any {
		return pick("a.go", ".env", "rm -rf x", "", "src/b c", "~/../.env", `["a"]`, `{"command":"ls"}`, "@x:y", "cat <<E", "E", "$(rm x)", "5", "null")
	}
	var value func(depth int) any
	members := map[string][]string{
		"run_commands": {"commands", "command", "cmd", "args", "shell_command"}, "read_files": {"files", "paths", "file_paths", "path", "file_path", "filePath", "start_line", "end_line"},
		"search_codebase": {"queries", "query"}, "editor": {"path", "file_path", "old_text", "new_text", "insert_line", "content"},
	}
	tool := ""
	object := func(depth int) any {
		out := map[string]any{}
		for range 1 + r.IntN(3) {
			name := members[tool][r.IntN(len(members[tool]))]
			out[name] = value(depth + 1)
			if strings.HasSuffix(name, "_line") && r.IntN(8) > 0 {
				out[name] = pick(1, "3", nil, "x", 0, 2.5, "")
			}
		}
		return out
	}
	value = func(depth int) any {
		switch k := r.IntN(10); {
		case k < 5 || depth > 3:
			return word()
		case k == 5:
			return pick(5, nil, true, 1.5)
		case k == 6:
			return object(depth)
		}
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = value(depth + 1)
		}
		return list
	}
	out := make([]drawnInput, n)
	for i := range out {
		tool = []string{"run_commands", "read_files", "search_codebase", "editor"}[r.IntN(4)]
		out[i] = drawnInput{Tool: tool, Input: value(0)}
		if r.IntN(3) > 0 {
			out[i].Input = object(0)
		}
		if r.IntN(4) == 0 {
			out[i].ordinary = true
			texts := []any{pick("ls", "git status && make"), pick("a.go", "/etc/hosts")}
			out[i].Input = map[string]any{
				"run_commands": map[string]any{"commands": texts}, "search_codebase": map[string]any{"queries": texts},
				"read_files": map[string]any{"files": []any{map[string]any{"path": "a.go", "start_line": pick(1, nil), "end_line": 9}, map[string]any{"path": pick("/b", "c d")}}},
				"editor":     map[string]any{"path": "a.go", "old_text": "x", "new_text": pick("y", "")},
			}[tool]
		}
	}
	return out
}

// shown reports whether a guard was shown what Cline does of an operation.
func shown(asked []translate.Event, tool string, op any) bool {
	m, _ := op.(map[string]any)
	text := func(name string) string { s, _ := m[name].(string); return s }
	resolved := func(name string) string {
		if path.IsAbs(name) {
			return path.Clean(name)
		}
		return path.Join("/w", name)
	}
	if tool == "read_files" && text("path") == "" {
		return true // the working directory, which is no file
	}
	return slices.ContainsFunc(asked, func(e translate.Event) bool {
		var in map[string]any
		if json.Unmarshal(e.Input, &in) != nil {
			return false
		}
		has := func(name, want string) bool { s, _ := in[name].(string); return s == want }
		switch tool {
		case "run_commands":
			if m == nil {
				return has("command", op.(string))
			}
			command, _ := in["command"].(string)
			args, _ := m["args"].([]any)
			for _, a := range args {
				if !strings.Contains(command, a.(string)) {
					return false
				}
			}
			return strings.Contains(command, text("command"))
		case "search_codebase":
			return has("pattern", op.(string))
		case "read_files":
			return has("file_path", resolved(text("path")))
		}
		added := has("content", text("new_text")) || has("new_string", text("new_text"))
		return has("file_path", resolved(text("path"))) && added && (m["insert_line"] != nil || m["old_text"] == nil || has("old_string", text("old_text")))
	})
}

// TestDrawnInputsAgreeWithTheSDK holds what guards are shown against the schemas and handlers
// in the program of CLI 3.
func TestDrawnInputsAgreeWithTheSDK(t *testing.T) {
	if testing.Short() {
		skip.Elsewhere(t, "needs the real agents; left out by -short")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		skip.Missing(t, "no node: %v", err)
	}
	cache, err := rig.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	program, err := clinecli.Programs[clinecli.CLI3].Command(t.Context(), cache)
	rig.Check(t, "Cline CLI 3", err)
	classic, err := clinecli.Programs[clinecli.CLI2].Command(t.Context(), cache)
	rig.Check(t, "Cline CLI 2", err)
	zod := classic[len(classic)-1]
	for zod != "/" && filepath.Base(zod) != "node_modules" {
		zod = filepath.Dir(zod)
	}
	if zod = filepath.Join(zod, "zod"); zod == "/zod" {
		skip.Missing(t, "no zod beside %q", classic)
	}
	inputs := drawInputs(rand.New(rand.NewPCG(45, 1)), 10_000) //nolint:gosec // The same inputs each time.
	var lines bytes.Buffer
	for _, in := range inputs {
		line, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	cmd := exec.CommandContext(t.Context(), node, "testdata/takes.js", program[len(program)-1], zod) //nolint:gosec // The programs under test.
	cmd.Stdin, cmd.Stderr = &lines, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	scan := bufio.NewScanner(bytes.NewReader(out))
	refused, wrong := 0, 0
	for i := 0; scan.Scan(); i++ {
		var ops []any
		if err := json.Unmarshal(scan.Bytes(), &ops); err != nil {
			t.Fatalf("%s: %v", scan.Bytes(), err)
		}
		in := inputs[i]
		body, _ := json.Marshal(map[string]any{
			"hookName": "tool_call", "taskId": "conv_1", "timestamp": "2026-11-20T11:59:36Z", "workspaceRoots": []string{"/w"},
			"sessionContext": map[string]string{"rootSessionId": "r"}, "tool_call": map[string]any{"id": "1", "name": in.Tool, "input": in.Input},
		})
		call, err := translate.FromCline(hook.Raw{Payload: body, Event: "PreToolUse"}, translate.Context{GOOS: "linux"})
		if err != nil {
			t.Fatal(err)
		}
		if ops == nil {
			refused++
		}
		asked := call.Asked()
		for _, op := range ops {
			if op != "" && call.Unclear == "" && !shown(asked, in.Tool, op) {
				wrong++
				t.Errorf("%s: Cline does %v, guards are shown %s", body, op, asked[0].Input)
			}
		}
		if in.ordinary && (call.Unclear != "" || len(asked) != len(ops)) {
			t.Errorf("%s: an ordinary call is asked about %d times for %d operations, unclear %q", body, len(asked), len(ops), call.Unclear)
		}
		if wrong > 10 {
			t.Fatal("and more")
		}
	}
	if refused > 9000 || refused == 0 {
		t.Errorf("%d of %d inputs were refused: they say little", refused, len(inputs))
	}
	t.Logf("%d inputs, %d refused by Cline", len(inputs), refused)
}

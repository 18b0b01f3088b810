package sample

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/jsonedit"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
)

// made is what Cline would send for an event.
func made(t *testing.T, event string, p Payload) hook.Raw {
	t.Helper()
	var err error
	if p.Event, err = FindEvent(event); err != nil {
		t.Fatal(err)
	}
	p.Root, p.Now = t.TempDir(), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	if err := p.Complete(); err != nil {
		t.Fatal(err)
	}
	payload, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return hook.Raw{Payload: payload, Event: p.Event.HookFile(), StoredAt: p.Now, Cwd: p.Root}
}

func translated(t *testing.T, raw hook.Raw) *translate.Call {
	t.Helper()
	call, err := translate.FromCline(raw, translate.Context{GOOS: "linux"})
	if err != nil {
		t.Fatalf("%v: %s", err, raw.Payload)
	}
	return call
}

// shape are the names of a payload's members and the kinds of their values. What
// is in a tool's input and output is the tool's.
func shape(t *testing.T, data []byte) []string {
	t.Helper()
	var root any
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if strings.HasSuffix(path, ".parameters") || strings.HasSuffix(path, ".input") {
				paths[path+" object"] = true
				return
			}
			for key, value := range v {
				walk(path+"."+key, value)
			}
		case []any:
			paths[path+" list"] = true
		case string:
			paths[path+" text"] = true
		case float64:
			paths[path+" number"] = true
		case bool:
			paths[path+" bool"] = true
		case nil:
			paths[path+" null"] = true
		}
	}
	walk("", root)
	return slices.Sorted(maps.Keys(paths))
}

func TestPayloadsHaveTheShapeOfRecordedOnes(t *testing.T) {
	for _, tt := range []struct {
		event, dialect, tool, recorded string
		// without are members that not every payload of the kind has.
		without []string
	}{
		{event: "TaskStart", dialect: "classic", recorded: "internal/demo/session/001-TaskStart"},
		{event: "TaskResume", dialect: "classic", recorded: "internal/demo/session/031-TaskResume"},
		{event: "UserPromptSubmit", dialect: "classic", recorded: "internal/demo/session/002-UserPromptSubmit"},
		{event: "PreToolUse", dialect: "classic", tool: "execute_command", recorded: "internal/demo/session/005-PreToolUse"},
		{event: "PostToolUse", dialect: "classic", tool: "read_file", recorded: "internal/demo/session/018-PostToolUse"},
		{event: "PostToolUseFailure", dialect: "classic", tool: "read_file", recorded: "internal/demo/session/014-PostToolUse"},
		{event: "PreCompact", dialect: "classic", recorded: "internal/demo/session/015-PreCompact", without: []string{".contextJsonPath", ".contextRawPath"}},
		{event: "Notification", dialect: "classic", recorded: "internal/demo/session/007-Notification"},
		{event: "TaskComplete", dialect: "classic", recorded: "internal/demo/session/019-TaskComplete"},
		{event: "TaskCancel", dialect: "classic", recorded: "internal/demo/session/029-TaskCancel"},
		{event: "TaskStart", dialect: "next", recorded: "hook/cline/testdata/next-session/001-TaskStart"},
		{event: "UserPromptSubmit", dialect: "next", recorded: "hook/cline/testdata/next-session/002-UserPromptSubmit"},
		{event: "PreToolUse", dialect: "next", tool: "read_files", recorded: "hook/cline/testdata/next-session/003-PreToolUse"},
		{event: "PostToolUse", dialect: "next", tool: "read_files", recorded: "hook/cline/testdata/next-session/004-PostToolUse"},
		{event: "PostToolUseFailure", dialect: "next", tool: "run_commands", recorded: "hook/cline/testdata/next-session/014-PostToolUse"},
		{event: "TaskComplete", dialect: "next", recorded: "hook/cline/testdata/next-session/015-TaskComplete"},
		{event: "TaskCancel", dialect: "next", recorded: "hook/cline/testdata/next-session/021-TaskCancel"},
		{event: "TaskStart", dialect: "sdk", recorded: "hook/cline/testdata/sdk-session/001-TaskStart"},
		{event: "PreToolUse", dialect: "sdk", tool: "read_files", recorded: "hook/cline/testdata/sdk-session/002-PreToolUse"},
		{event: "PostToolUse", dialect: "sdk", tool: "read_files", recorded: "hook/cline/testdata/sdk-session/003-PostToolUse"},
		{event: "PostToolUseFailure", dialect: "sdk", tool: "run_commands", recorded: "hook/cline/testdata/sdk-session/013-PostToolUse"},
		{event: "Stop", dialect: "sdk", recorded: "hook/cline/testdata/sdk-session/015-TaskComplete"},
		{event: "StopFailure", dialect: "sdk", recorded: "hook/cline/testdata/sdk-session/026-TaskError", without: []string{".error.stack"}},
		{event: "session_shutdown", dialect: "sdk", recorded: "hook/cline/testdata/sdk-session/025-SessionShutdown"},
	} {
		t.Run(tt.recorded, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(tt.recorded)+".json"))
			if err != nil {
				t.Fatal(err)
			}
			want := slices.DeleteFunc(shape(t, data), func(path string) bool {
				name, _, _ := strings.Cut(path, " ")
				return slices.ContainsFunc(tt.without, func(s string) bool { return strings.HasSuffix(name, s) })
			})
			raw := made(t, tt.event, Payload{Dialect: tt.dialect, Tool: tt.tool, Text: "some text"})
			if diff := cmp.Diff(want, shape(t, raw.Payload)); diff != "" {
				t.Errorf("(-recorded +made):\n%s", diff)
			}
		})
	}
}

func TestEveryEventTranslatesToItsClaudeEvent(t *testing.T) {
	n := 0
	for _, m := range Events() {
		for _, dialect := range []string{Classic, Next, SDK} {
			p := Payload{Event: m, Dialect: dialect, Text: "x"}
			if m.Tool() {
				p.Tool = map[bool]string{true: "execute_command", false: "run_commands"}[dialect == Classic]
			}
			if p.Complete() != nil {
				continue // this Cline has no such event
			}
			name := m.Hook
			if name == "" {
				name = m.SDK
			}
			call := translated(t, made(t, name, Payload{Dialect: dialect, Tool: p.Tool, Text: "x"}))
			if m.Claude == "PostToolUseFailure" || strings.HasPrefix(m.Claude, "Subagent") {
				call = translated(t, made(t, m.Claude, Payload{Dialect: dialect, Tool: p.Tool, Text: "x"}))
			}
			if call.Dialect != dialect || len(call.Events) != 1 || call.Events[0].Name != m.Claude {
				t.Errorf("%s as %s: got dialect %s and %+v, want one event %s", name, dialect, call.Dialect, call.Events, m.Claude)
			}
			n++
		}
	}
	if n < 20 {
		t.Errorf("%d kinds were tried, want all", n)
	}
}

func TestEveryToolTranslatesToItsClaudeTool(t *testing.T) {
	for _, tool := range Tools() {
		for _, dialect := range []string{Classic, Next, SDK} {
			if tool.Dialect != "" && (tool.Dialect == Classic) != (dialect == Classic) {
				continue
			}
			p := Payload{Dialect: dialect, Tool: tool.Name, Input: json.RawMessage(tool.Example)}
			call := translated(t, made(t, "PreToolUse", p))
			switch {
			case len(call.Events) == 0:
				t.Errorf("%s of %s: no event", tool.Name, dialect)
			case tool.Claude != "" && call.Events[0].Tool != tool.Claude:
				t.Errorf("%s of %s: got %s, want %s", tool.Name, dialect, call.Events[0].Tool, tool.Claude)
			}
		}
	}
}

func TestMCPToolTakesTheFormOfTheDialect(t *testing.T) {
	for dialect, want := range map[string]string{Classic: "use_mcp_tool", Next: "github__get_issue", SDK: "github__get_issue"} {
		input := `{"number":1}`
		if dialect == Next {
			input = `{"number":"1"}` // its form has nothing but texts
		}
		call := translated(t, made(t, "PreToolUse", Payload{Dialect: dialect, Tool: "mcp__github__get_issue", Input: json.RawMessage(`{"number":1}`)}))
		if call.Tool != want || call.Events[0].Tool != "mcp__github__get_issue" || string(call.Events[0].Input) != input {
			t.Errorf("%s: got %s, %s %s", dialect, call.Tool, call.Events[0].Tool, call.Events[0].Input)
		}
	}
}

func TestCompleteRejectsContradictions(t *testing.T) {
	for _, tt := range []struct{ event, dialect, tool, want string }{
		{"PreToolUse", "vscode", "", `--dialect "vscode": want classic`},
		{"PreCompact", "sdk", "", "--dialect sdk: it has no PreCompact; classic has"},
		{"Notification", "next", "", "--dialect next: it has no Notification; classic has"},
		{"SubagentStop", "classic", "", "--dialect classic: it has no SubagentStop; sdk has"},
		{"PreToolUse", "classic", "run_commands", "--tool run_commands: with --dialect classic it is execute_command"},
		{"PreToolUse", "sdk", "list_files", "--tool list_files: with --dialect sdk there is none"},
		{"PreToolUse", "sdk", "Bash", "--tool Bash: that is Claude Code's name; Cline's is run_commands"},
		{"PreToolUse", "classic", "BrowserAction", "--tool BrowserAction: that is its name in hooks; Cline's is browser_action"},
		{"PreToolUse", "classic", "ListCodeDefinitionNames", "--tool ListCodeDefinitionNames: that is its name in hooks; Cline's is list_code_definition_names"},
		{"PreToolUse", "", "", "--tool: want a Cline tool"},
	} {
		m, err := FindEvent(tt.event)
		if err != nil {
			t.Fatal(err)
		}
		p := Payload{Event: m, Dialect: tt.dialect, Tool: tt.tool}
		if err := p.Complete(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s of %s, %s: got %v, want %s", tt.event, tt.dialect, tt.tool, err, tt.want)
		}
	}
}

func TestParametersAreTextsInInputOrder(t *testing.T) {
	p := Payload{Input: json.RawMessage(`{"z":"a < b","n":1.50,"list":["x", "y"],"a":null,"on":true}`)}
	o, err := p.parameters()
	if err != nil {
		t.Fatal(err)
	}
	got := jsonedit.Style{Colon: ":", Comma: ","}.Render(o, "")
	if want := `{"z":"a < b","n":"1.50","list":"[\"x\",\"y\"]","a":"null","on":"true"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Classic Cline says success of a failed tool, and the next core says no result.
func TestResultTakesTheFormOfTheDialect(t *testing.T) {
	for _, tt := range []struct{ event, dialect, tool, want string }{
		{"PostToolUse", Classic, "read_file", `"result":"text","success":true`},
		{"PostToolUseFailure", Classic, "read_file", `<error>\ntext\n</error>","success":true`},
		{"PostToolUse", Next, "read_files", `"result":"[object Object]","success":true`},
		{"PostToolUseFailure", Next, "read_files", `"result":"[object Object]","executionTimeMs"`},
		{"PostToolUse", SDK, "read_files", `"output":[{"query":"README.md","result":"text","success":true}]`},
		{"PostToolUseFailure", SDK, "read_files", `"error":"text"`},
	} {
		raw := made(t, tt.event, Payload{Dialect: tt.dialect, Tool: tt.tool, Text: "text"})
		if !strings.Contains(string(raw.Payload), tt.want) {
			t.Errorf("%s of %s: got %s, want it to have %s", tt.event, tt.dialect, raw.Payload, tt.want)
		}
	}
}

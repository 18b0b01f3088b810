package verdict

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hookspan/hookspan/hook/claude"
)

// table reads a table of cases.
func table[T any](t testing.TB, name string) []T {
	t.Helper()
	data, err := os.ReadFile("testdata/tables/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var rows []T
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no rows", name)
	}
	return rows
}

// outputRow is a run of a hook and what Claude Code makes of it.
type outputRow struct {
	Name           string
	Event          string
	ExitCode       *int `json:"exit_code"`
	Stdout, Stderr string
	TimedOut       bool `json:"timed_out"`
	OnFailure      string
	Want           struct {
		Decision *Decision
		Reason   *string
		Stop     bool
		// Context and Feedback are absent where there is none.
		Context, Feedback string
		UpdatedInput      json.RawMessage
		NonBlockingError  bool `json:"non_blocking_error"`
		Timeout           bool
	}
}

func TestJudgeTable(t *testing.T) {
	for _, row := range table[outputRow](t, "outputs.json") {
		t.Run(row.Name, func(t *testing.T) {
			o := Output{
				Event: row.Event, Stdout: row.Stdout, Stderr: row.Stderr,
				TimedOut: row.TimedOut, BlockOnFailure: row.OnFailure == "block",
			}
			if row.ExitCode != nil {
				o.Exit = *row.ExitCode
			}
			v := Judge(o)
			var want Decision
			if row.Want.Decision != nil {
				want = *row.Want.Decision
			}
			if v.Decision != want {
				t.Errorf("decision %q, want %q", v.Decision, want)
			}
			if row.Want.Reason != nil {
				got := v.Reason
				if row.Want.Stop {
					got = v.StopReason
				}
				if got != *row.Want.Reason {
					t.Errorf("reason %q, want %q", got, *row.Want.Reason)
				}
			}
			if v.Stop != row.Want.Stop {
				t.Errorf("stop %v, want %v", v.Stop, row.Want.Stop)
			}
			if got := strings.Join(v.Context, "|"); got != row.Want.Context {
				t.Errorf("context %q, want %q", got, row.Want.Context)
			}
			if got := strings.Join(v.Feedback, "|"); got != row.Want.Feedback {
				t.Errorf("feedback %q, want %q", got, row.Want.Feedback)
			}
			if row.Want.UpdatedInput != nil || v.UpdatedInput != nil {
				var got, want any
				if err := json.Unmarshal(v.UpdatedInput, &got); err != nil {
					t.Fatalf("updated input %q: %v", v.UpdatedInput, err)
				}
				if err := json.Unmarshal(row.Want.UpdatedInput, &want); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("updated input (-want +got):\n%s", diff)
				}
			}
			if wrong := row.Want.NonBlockingError || row.Want.Timeout; wrong && len(v.Errors) == 0 {
				t.Error("no error")
			} else if !wrong && row.OnFailure == "" && len(v.Errors) > 0 {
				t.Errorf("errors %q", v.Errors)
			}
			if row.Want.Timeout && !strings.HasPrefix(v.Errors[0], "timed out") {
				t.Errorf("error %q, want a timeout", v.Errors[0])
			}
		})
	}
}

const specificPre = `"hookSpecificOutput":{"hookEventName":"PreToolUse",`

func TestJudge(t *testing.T) {
	tests := map[string]struct {
		o    Output
		want Verdict
	}{
		"all members of a call's answer": {
			Output{Event: "PreToolUse", Stdout: `{"continue":true,"suppressOutput":true,"systemMessage":"hi",` + specificPre +
				`"permissionDecision":"ask","permissionDecisionReason":"why","updatedInput":{"command":"ls","n":1.0},"additionalContext":"ctx"}}`},
			Verdict{
				Decision: Ask, Reason: "why", UpdatedInput: json.RawMessage(`{"command":"ls","n":1.0}`),
				Context: []string{"ctx"}, SystemMessages: []string{"hi"},
			},
		},
		"a new input needs no decision": {
			Output{Event: "PreToolUse", Stdout: `{` + specificPre + `"updatedInput":{}}}`},
			Verdict{UpdatedInput: json.RawMessage(`{}`)},
		},
		"a denied call has no new input": {
			Output{Event: "PreToolUse", Stdout: `{` + specificPre + `"permissionDecision":"deny","updatedInput":{"a":1}}}`},
			Verdict{Decision: Deny},
		},
		"the new form beats the old one": {
			Output{Event: "PreToolUse", Stdout: `{"decision":"approve","reason":"old",` + specificPre + `"permissionDecision":"deny"}}`},
			Verdict{Decision: Deny, Reason: "old"},
		},
		"of equal keys the last counts": {
			Output{Event: "PreToolUse", Stdout: `{"decision":"approve","decision":"block"}`},
			Verdict{Decision: Deny},
		},
		"exit 2: the printed reason for a denial comes first": {
			Output{Event: "PreToolUse", Exit: 2, Stderr: "x", Stdout: `{` + specificPre + `"permissionDecision":"deny","permissionDecisionReason":"policy"}}`},
			Verdict{Decision: Deny, Reason: "policy"},
		},
		"exit 2: the reason of an allow is not one": {
			Output{Event: "PreToolUse", Exit: 2, Stdout: `{` + specificPre + `"permissionDecision":"allow","permissionDecisionReason":"fine","updatedInput":{}}}`},
			Verdict{Decision: Deny},
		},
		"exit 2: an allow after an old block leaves no reason": {
			Output{Event: "PreToolUse", Exit: 2, Stderr: "e", Stdout: `{"decision":"block","reason":"r",` + specificPre + `"permissionDecision":"allow"}}`},
			Verdict{Decision: Deny, Reason: "e"},
		},
		"exit 2: other members of the answer still count": {
			Output{Event: "PreToolUse", Exit: 2, Stderr: "no\n", Stdout: `{"systemMessage":"m",` + specificPre + `"additionalContext":"c"}}`},
			Verdict{Decision: Deny, Reason: "no", Context: []string{"c"}, SystemMessages: []string{"m"}},
		},
		"exit 2 with an error in the answer": {
			Output{Event: "UserPromptSubmit", Exit: 2, Stderr: "no", Stdout: `{"decision":"deny","systemMessage":"m"}`},
			Verdict{Decision: Block, Reason: "no"},
		},
		"exit 2 prints no context": {
			Output{Event: "UserPromptSubmit", Exit: 2, Stderr: "no", Stdout: `text`},
			Verdict{Decision: Block, Reason: "no"},
		},
		"exit 1 prints no context": {
			Output{Event: "SessionStart", Exit: 1, Stdout: `text`},
			Verdict{Errors: []string{"exit code 1"}},
		},
		"the first line of the error stream is reported": {
			Output{Event: "PreToolUse", Exit: 127, Stderr: "\nsh: x: not found\nmore\n"},
			Verdict{Errors: []string{"exit code 127: sh: x: not found"}},
		},
		"a valid object at another exit code is no error": {
			Output{Event: "PreToolUse", Exit: 3, Stdout: `{}`, Stderr: "x"},
			Verdict{},
		},
		"another event's name": {
			Output{Event: "PostToolUse", Stdout: `{"continue":false,` + specificPre + `"additionalContext":"c"}}`},
			Verdict{Errors: []string{`output not usable: hookSpecificOutput is for the event "PreToolUse", want "PostToolUse"`}},
		},
		"no event's name": {
			Output{Event: "PreToolUse", Stdout: `{"hookSpecificOutput":{"permissionDecision":"deny"}}`},
			Verdict{Errors: []string{`output not usable: hookSpecificOutput has no hookEventName, want "PreToolUse"`}},
		},
		"a decision that is none": {
			Output{Event: "PreToolUse", Stdout: `{` + specificPre + `"permissionDecision":"block"}}`},
			Verdict{Errors: []string{`output not usable: permissionDecision is "block", want one of allow, deny, ask, defer`}},
		},
		"null is not absent": {
			Output{Event: "PreToolUse", Stdout: `{"decision":"block","reason":null}`},
			Verdict{Errors: []string{`output not usable: reason is null, want a string`}},
		},
		"unknown members": {
			Output{Event: "PreToolUse", Stdout: `{"decision":"block","x":[1],` + specificPre + `"y":{}}}`},
			Verdict{Decision: Deny},
		},
		"a decision on an event without one": {
			Output{Event: "SessionStart", Stdout: `{"decision":"block","hookSpecificOutput":{"hookEventName":"SessionStart","permissionDecision":"deny","additionalContext":"c"}}`},
			Verdict{Context: []string{"c"}, Ignored: []string{"decision", "permissionDecision"}},
		},
		"another prompt, which no agent takes": {
			Output{Event: "UserPromptSubmit", Stdout: `{"modifiedPrompt":"p","hookSpecificOutput":{"hookEventName":"UserPromptSubmit","updatedPrompt":"p","additionalContext":"c"}}`},
			Verdict{Context: []string{"c"}, Ignored: []string{"modifiedPrompt", "updatedPrompt"}},
		},
		"context in the wrong place": {
			Output{Event: "PreToolUse", Stdout: `{"additionalContext":"c"}`},
			Verdict{Ignored: []string{"additionalContext outside of hookSpecificOutput"}},
		},
		"context where there is none": {
			Output{Event: "PreCompact", Stdout: `{"decision":"block","reason":"r","hookSpecificOutput":{"hookEventName":"PreCompact","additionalContext":"c"}}`},
			Verdict{Decision: Block, Reason: "r", Ignored: []string{"additionalContext"}},
		},
		"a notification gets no answer": {
			Output{Event: "Notification", Exit: 2, Stdout: `{"continue":false,"systemMessage":"m","decision":"block"}`, Stderr: "x"},
			Verdict{Ignored: []string{"continue", "systemMessage", "decision", "exit code 2"}},
		},
		"a session start cannot be blocked": {
			Output{Event: "SessionStart", Exit: 2, Stderr: "x"},
			Verdict{Errors: []string{"exit code 2: x"}},
		},
		"an unknown event": {
			Output{Event: "Party", Exit: 2, Stdout: "text", Stderr: "x"},
			Verdict{Ignored: []string{"exit code 2"}},
		},
		"feedback after a tool": {
			Output{Event: "PostToolUse", Stdout: `{"decision":"block","reason":"lint","hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"c","updatedToolOutput":{"stdout":"x"}}}`},
			Verdict{Feedback: []string{"lint"}, Context: []string{"c"}, UpdatedOutput: json.RawMessage(`{"stdout":"x"}`)},
		},
		"feedback is given once": {
			Output{Event: "PostToolUseFailure", Exit: 2, Stderr: "x", Stdout: `{"decision":"block","reason":"lint"}`},
			Verdict{Feedback: []string{"lint"}},
		},
		"feedback without a reason": {
			Output{Event: "PostToolUse", Exit: 2, Stderr: "x", Stdout: `{"decision":"block"}`},
			Verdict{Feedback: []string{"x"}},
		},
		"feedback without a word": {
			Output{Event: "PostToolUse", Exit: 2},
			Verdict{Feedback: []string{"a hook objects and gives no reason"}},
		},
		"the old name of a new output": {
			Output{Event: "PostToolUse", Stdout: `{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedMCPToolOutput":"x"}}`},
			Verdict{UpdatedOutput: json.RawMessage(`"x"`)},
		},
		"a subagent is kept at work": {
			Output{Event: "SubagentStop", Exit: 2, Stderr: "go on"},
			Verdict{Decision: Block, Reason: "go on"},
		},
		"a stop needs no permission to go on": {
			Output{Event: "Stop", Stdout: `{"decision":"approve","reason":"done"}`},
			Verdict{},
		},
		"a permission request is denied by its own member": {
			Output{Event: "PermissionRequest", Exit: 2, Stdout: `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"m","interrupt":true}}}`},
			Verdict{Decision: Deny, Reason: "m", Stop: true, Ignored: []string{"exit code 2"}},
		},
		"an async answer": {
			Output{Event: "PreToolUse", Exit: 2, Stdout: "{\"async\":true,\"asyncTimeout\":5}\nlater\n", Stderr: "x"},
			Verdict{},
		},
		"async false is an answer": {
			Output{Event: "PreToolUse", Stdout: `{"async":false,"decision":"block"}`},
			Verdict{Decision: Deny},
		},
		"a mark before the answer": {
			Output{Event: "PreToolUse", Stdout: "\ufeff \r\n{\"decision\":\"block\"}\r\n"},
			Verdict{Decision: Deny},
		},
		"braces that are no object": {
			Output{Event: "UserPromptSubmit", Stdout: `{a}`},
			Verdict{Errors: []string{`output not usable: it begins and ends like a JSON object and is not one: byte 1: invalid character 'a' at start of value`}},
		},
		"lines of log are text": {
			Output{Event: "UserPromptSubmit", Stdout: "{\"level\":1}\n\n{\"level\":2}"},
			Verdict{Context: []string{"{\"level\":1}\n\n{\"level\":2}"}},
		},
		"an answer among lines of log is an error": {
			Output{Event: "UserPromptSubmit", Stdout: "{\"level\":1}\n{\"decision\":\"block\"}"},
			Verdict{Errors: []string{`output not usable: it begins and ends like a JSON object and is not one: byte 12: found "{" after the value, want nothing`}},
		},
		"a hook that did not start": {
			Output{Event: "PreToolUse", Failed: true, Stderr: "no such file"},
			Verdict{Errors: []string{"failed: no such file"}},
		},
		"a hook that did not start and must": {
			Output{Event: "PreToolUse", Failed: true, Stderr: "no such file", BlockOnFailure: true},
			Verdict{Decision: Deny, Reason: "failed; blocking because onFailure is \"block\"\nno such file", Errors: []string{"failed: no such file"}},
		},
		"a permission request denies on failure": {
			Output{Event: "PermissionRequest", Exit: 1, BlockOnFailure: true},
			Verdict{Decision: Deny, Reason: "failed; blocking because onFailure is \"block\"\nexit code 1"},
		},
		"unreadable output of a hook that must not fail": {
			Output{Event: "PreToolUse", Stdout: `{"continue":1}`, BlockOnFailure: true},
			Verdict{Decision: Deny, Reason: "failed; blocking because onFailure is \"block\"\noutput not usable: continue is 1, want true or false"},
		},
		"an allow at exit 1 of a hook that must not fail": {
			Output{Event: "PreToolUse", Exit: 1, Stdout: `{"decision":"approve"}`, BlockOnFailure: true},
			Verdict{Decision: Deny, Reason: "failed; blocking because onFailure is \"block\"\nexit code 1"},
		},
		"text of a hook that must not fail": {
			Output{Event: "PreToolUse", Stdout: "fine", BlockOnFailure: true},
			Verdict{},
		},
		"a stop does not heed onFailure": {
			Output{Event: "Stop", Exit: 1, Stderr: "x", BlockOnFailure: true},
			Verdict{Errors: []string{"exit code 1: x"}},
		},
		"a session start heeds nothing": {
			Output{Event: "SessionStart", TimedOut: true, BlockOnFailure: true},
			Verdict{Errors: []string{"timed out"}},
		},
		"strict: exit 1": {
			Output{Event: "PreToolUse", Exit: 1, Stderr: "x", StrictExit: true},
			Verdict{Decision: Deny, Reason: "x"},
		},
		"strict: exit 1 with an allow": {
			Output{Event: "PreToolUse", Exit: 1, Stderr: "x", Stdout: `{"decision":"approve"}`, StrictExit: true},
			Verdict{Decision: Deny, Reason: "x"},
		},
		"strict: no start": {
			Output{Event: "PreToolUse", Failed: true, Stderr: "x", StrictExit: true},
			Verdict{Decision: Deny, Reason: "failed: x", Errors: []string{"failed: x"}},
		},
		"strict: a timeout is no exit code": {
			Output{Event: "PreToolUse", TimedOut: true, StrictExit: true},
			Verdict{Errors: []string{"timed out"}},
		},
		"strict: a permission request has no exit code": {
			Output{Event: "PermissionRequest", Exit: 1, StrictExit: true, BlockOnFailure: true},
			Verdict{Decision: Deny, Reason: "failed; blocking because onFailure is \"block\"\nexit code 1"},
		},
		"a model switch is blocked by a timeout": {
			Output{Event: "PreModelSwitch", TimedOut: true},
			Verdict{Decision: Block, Reason: "timed out", Errors: []string{"timed out"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Judge(tt.o), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJudgeOfAnHTTPAnswer(t *testing.T) {
	tests := map[string]struct {
		event  string
		status int
		body   string
		want   Verdict
	}{
		"nothing to say":         {"PreToolUse", 204, "", Verdict{}},
		"white space":            {"UserPromptSubmit", 200, " \n", Verdict{}},
		"an object":              {"PreToolUse", 201, `{"decision":"block","reason":"r"}`, Verdict{Decision: Deny, Reason: "r"}},
		"text is no context":     {"UserPromptSubmit", 200, "hi", Verdict{Errors: []string{"failed: answered with something other than a JSON object"}}},
		"a list":                 {"PreToolUse", 200, "[]", Verdict{Errors: []string{"failed: answered with something other than a JSON object"}}},
		"broken":                 {"PreToolUse", 200, `{"a":`, Verdict{Errors: []string{"failed: answered with something other than a JSON object"}}},
		"a bad status":           {"PreToolUse", 403, `{"decision":"block"}`, Verdict{Errors: []string{"failed: answered with status 403"}}},
		"a redirect":             {"PreToolUse", 302, ``, Verdict{Errors: []string{"failed: answered with status 302"}}},
		"a member of wrong type": {"PreToolUse", 200, `{"decision":1}`, Verdict{Errors: []string{"output not usable: decision is 1, want one of approve, block"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Judge(OutputHTTP(tt.event, tt.status, []byte(tt.body))), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
	o := OutputHTTP("PreToolUse", 500, nil)
	o.BlockOnFailure = true
	if v := Judge(o); v.Decision != Deny {
		t.Errorf("under onFailure block status 500 gives %q, want %q", v.Decision, Deny)
	}
}

func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("ä", maxText+1)
	want := strings.Repeat("ä", maxText) + "\n[cut here; the whole text has 10001 characters]"
	quoted := `"` + long + `"`
	v := Judge(Output{Event: "PostToolUse", Exit: 0, Stdout: `{"continue":false,"stopReason":` + quoted + `,"systemMessage":` + quoted + `,"decision":"block","reason":` + quoted +
		`,"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":` + quoted + `}}`})
	if diff := cmp.Diff(Verdict{Stop: true, StopReason: want, SystemMessages: []string{want}, Feedback: []string{want}, Context: []string{want}}, v); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
	if v := Judge(Output{Event: "PreToolUse", Exit: 2, Stderr: long}); v.Reason != want {
		t.Errorf("reason of %d characters", utf8.RuneCountInString(v.Reason))
	}
	if v := Judge(Output{Event: "SessionStart", Stdout: long}); v.Context[0] != want {
		t.Errorf("context of %d characters", utf8.RuneCountInString(v.Context[0]))
	}
	exact := long[2:]
	if v := Judge(Output{Event: "SessionStart", Stdout: exact}); v.Context[0] != exact {
		t.Error("a text of the greatest length is cut")
	}
	// What a tool gets is no text for a model.
	v = Judge(Output{Event: "PreToolUse", Stdout: `{` + specificPre + `"updatedInput":{"content":` + quoted + `}}}`})
	if want := `{"content":` + quoted + `}`; string(v.UpdatedInput) != want {
		t.Errorf("new input of %d bytes, want %d", len(v.UpdatedInput), len(want))
	}
}

// TestExitCodeTwo holds every event to what the hooks reference says of it.
func TestExitCodeTwo(t *testing.T) {
	blocked := map[string]Decision{"PreToolUse": Deny, "PreSkillShellCommand": Deny}
	for _, event := range []string{
		"UserPromptSubmit", "UserPromptExpansion", "Stop", "SubagentStop", "TeammateIdle", "TaskCreated", "TaskCompleted",
		"ConfigChange", "PostToolBatch", "PreCompact", "PreModelSwitch", "Elicitation", "ElicitationResult", "WorktreeCreate",
	} {
		blocked[event] = Block
	}
	for _, event := range claude.EventNames() {
		v := Judge(Output{Event: event, Exit: 2, Stderr: "why"})
		if v.Decision != blocked[event] {
			t.Errorf("%s: decision %q, want %q", event, v.Decision, blocked[event])
		}
		feedback := event == "PostToolUse" || event == "PostToolUseFailure"
		if got := len(v.Feedback) > 0; got != feedback {
			t.Errorf("%s: feedback %v, want %v", event, got, feedback)
		}
		if v.Decision == NoDecision && !feedback && len(v.Errors)+len(v.Ignored) == 0 {
			t.Errorf("%s: the exit code is lost without a word", event)
		}
	}
	if v := Judge(Output{Event: "WorktreeCreate", Exit: 1}); v.Decision != Block {
		t.Errorf("WorktreeCreate with exit code 1: %q, want %q", v.Decision, Block)
	}
}

// FuzzJudge holds verdicts to what Judge promises whatever a hook prints.
func FuzzJudge(f *testing.F) {
	for _, row := range table[outputRow](f, "outputs.json") {
		exit := 0
		if row.ExitCode != nil {
			exit = *row.ExitCode
		}
		f.Add(row.Event, exit, row.Stdout, row.Stderr, row.OnFailure == "block")
	}
	f.Add("PreToolUse", 0, strings.Repeat(`{"a":`, 20_000)+strings.Repeat("}", 20_000), "", false)
	f.Add("PreToolUse", 0, "{\"reason\":\"\xff\\ud800\",\"decision\":\"block\"}", "\xff", false)
	f.Fuzz(func(t *testing.T, event string, exit int, stdout, stderr string, block bool) {
		o := Output{Event: event, Exit: exit, Stdout: stdout, Stderr: stderr, BlockOnFailure: block}
		v := Judge(o)
		if diff := cmp.Diff(v, Judge(o)); diff != "" {
			t.Errorf("a second time (-first +second):\n%s", diff)
		}
		r := rulesOf(event)
		switch v.Decision {
		case NoDecision, Allow, Ask, Defer:
			if exit == 2 && (r.exit == blocksDeny || r.exit == blocksEvent) && !isAsync(trimOutput(strings.ToValidUTF8(stdout, "\ufffd"))) {
				t.Errorf("exit code 2 gives %q", v.Decision)
			}
		case r.word():
			if v.UpdatedInput != nil {
				t.Error("a denied call has a new input")
			}
		default:
			t.Errorf("decision %q, want none or %q", v.Decision, r.word())
		}
		for _, raw := range []json.RawMessage{v.UpdatedInput, v.UpdatedOutput} {
			if raw != nil && (!json.Valid(raw) || !utf8.Valid(raw)) {
				t.Errorf("%q is not JSON", raw)
			}
		}
		texts := []string{v.Reason, v.StopReason}
		for _, list := range [][]string{v.Context, v.Feedback, v.SystemMessages, v.Errors, v.Ignored} {
			texts = append(texts, list...)
		}
		for _, s := range texts {
			if !utf8.ValidString(s) {
				t.Errorf("%q is not UTF-8", s)
			}
			if n := utf8.RuneCountInString(s); n > maxText+100 {
				t.Errorf("a text of %d characters", n)
			}
		}
		strict := o
		strict.StrictExit = true
		if s := Judge(strict); s.Decision.rank() < v.Decision.rank() {
			t.Errorf("strict gives %q, else %q", s.Decision, v.Decision)
		}
	})
}

package translate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

// event is a payload of one of Cline's hooks without a tool.
func event(t testing.TB, dialect, name string) hook.Raw {
	t.Helper()
	return payload(t, dialect, name, map[string]any{
		"userPromptSubmit": map[string]any{"prompt": "p"}, "turn": map[string]any{"status": "completed"},
		"notification": map[string]any{"event": "user_attention", "message": "m"},
	})
}

func post(t testing.TB, dialect string) hook.Raw {
	t.Helper()
	if dialect == "sdk" {
		return payload(t, dialect, "tool_result", map[string]any{"tool_result": map[string]any{"id": "c", "name": "run_commands", "input": "x", "output": "y"}})
	}
	return payload(t, dialect, "PostToolUse", map[string]any{"postToolUse": map[string]any{
		"toolName": "execute_command", "parameters": map[string]string{"command": "x"}, "success": true, "result": "y",
	}})
}

func version(raw hook.Raw, v string) hook.Raw {
	raw.Payload = []byte(strings.Replace(string(raw.Payload), `"4.1.13"`, `"`+v+`"`, 1))
	return raw
}

// Every row of the table, in both columns.
func TestAnswers(t *testing.T) {
	type v = verdict.Verdict
	cancel := func(s string) hook.Reply { return hook.Reply{Cancel: true, ErrorMessage: s} }
	context := func(s string) hook.Reply { return hook.Reply{Context: s} }
	override := func(s string) hook.Reply { return hook.Reply{OverrideInput: s} }
	classic, sdk := pre(t, "classic", "execute_command", `{"command":"rm x"}`), pre(t, "sdk", "run_commands", `{"commands":["ls","rm x"]}`)
	noPlace := "a hook changed the input of Bash, which this Cline cannot take (only the SDK's Cline takes one); use this input instead: "
	tests := []struct {
		name string
		raw  hook.Raw
		o    Options
		vs   []v
		want Answer
	}{
		{"nothing", classic, Options{}, []v{{}}, Answer{}},
		{"no verdicts", sdk, Options{}, nil, Answer{}},
		{"allow", classic, Options{}, []v{{Decision: verdict.Allow, Reason: "ok"}}, Answer{}},
		{"deny", classic, Options{}, []v{{Decision: verdict.Deny, Reason: "no rm"}}, Answer{Reply: cancel("no rm")}},
		{"deny, sdk", sdk, Options{}, []v{{}, {Decision: verdict.Deny, Reason: "no rm"}}, Answer{Reply: cancel("no rm")}},
		{"block", classic, Options{}, []v{{Decision: verdict.Block, Reason: "no rm"}}, Answer{Reply: cancel("no rm")}},
		{"deny that speaks to the user alone", classic, Options{}, []v{{Decision: verdict.Deny, SystemMessages: []string{"no\nrm"}}}, Answer{
			Reply: cancel("no\nrm"), Notes: []string{"PreToolUse: a hook has a message for the user, which Cline cannot show: no rm"},
		}},
		{"deny without a word", classic, Options{}, []v{{Decision: verdict.Deny}}, Answer{Reply: cancel("a hook refused and gave no reason")}},
		{"any deny wins, reasons in order and once", sdk, Options{}, []v{{Decision: verdict.Deny, Reason: "b"}, {Decision: verdict.Deny, Reason: "a", Context: []string{"c"}}}, Answer{Reply: cancel("b\na"), Pending: []string{"c"}}},
		{"the same reason twice", sdk, Options{}, []v{{Decision: verdict.Deny, Reason: "b"}, {Decision: verdict.Deny, Reason: "b"}}, Answer{Reply: cancel("b")}},
		{"deny beside another input", sdk, Options{}, []v{{UpdatedInput: json.RawMessage(`{"command":"ls -a"}`)}, {Decision: verdict.Deny, Reason: "b"}}, Answer{Reply: cancel("b")}},
		{"ask", classic, Options{}, []v{{Decision: verdict.Ask}}, Answer{Notes: []string{"PreToolUse: a hook wants the user to be asked about Bash; Cline's own approval decides"}}},
		{"defer", sdk, Options{}, []v{{Decision: verdict.Defer}}, Answer{Notes: []string{"PreToolUse: a hook wants the user to be asked about Bash; Cline's own approval decides"}}},
		{"ask denies", classic, Options{AskDenies: true}, []v{{Decision: verdict.Ask, Reason: "sure?"}}, Answer{Reply: cancel("sure?")}},
		{"defer denies", sdk, Options{AskDenies: true}, []v{{Decision: verdict.Defer}}, Answer{Reply: cancel("a hook wants the user to be asked, which Cline's hooks cannot")}},
		{"another input", classic, Options{}, []v{{UpdatedInput: json.RawMessage(`{"command":"ls"}`)}}, Answer{Reply: cancel(noPlace + `{"command":"ls"}`)}},
		{"another input, next", pre(t, "next", "run_commands", `{"commands":["x"]}`), Options{}, []v{{UpdatedInput: json.RawMessage(`{"command":"ls"}`)}}, Answer{Reply: cancel(noPlace + `{"command":"ls"}`)}},
		{"another input, sdk", sdk, Options{}, []v{{}, {Decision: verdict.Allow, UpdatedInput: json.RawMessage(`{"command":"ls && <b>"}`)}}, Answer{Reply: override(`{"commands":["ls","ls && <b>"]}`)}},
		{"several other inputs, sdk", sdk, Options{}, []v{{UpdatedInput: json.RawMessage(`{"command":"a"}`)}, {UpdatedInput: json.RawMessage(`{"command":"b"}`), Context: []string{"c"}}}, Answer{Reply: hook.Reply{Context: "c", OverrideInput: `{"commands":["a","b"]}`}}},
		{"the same input", classic, Options{}, []v{{UpdatedInput: json.RawMessage(`{"run_in_background":false, "command":"rm x"}`)}}, Answer{}},
		{"the same input, sdk", sdk, Options{}, []v{{UpdatedInput: json.RawMessage(`{"run_in_background":false, "command":"ls"}`)}}, Answer{}},
		{"another input that is no object", sdk, Options{}, []v{{UpdatedInput: json.RawMessage(`"ls"`)}}, Answer{Reply: cancel(`a hook changed the input of Bash to what is no JSON object: "ls"`)}},
		{"another input that Cline cannot take", sdk, Options{}, []v{{UpdatedInput: json.RawMessage(`{"command":"ls","run_in_background":true}`)}}, Answer{Reply: cancel(`a hook changed the input of Bash, which this Cline cannot take ("run_in_background": cline has no parameter for it); use this input instead: {"command":"ls","run_in_background":true}`)}},
		{"another input with a description", sdk, Options{}, []v{{UpdatedInput: json.RawMessage(`{"command":"la","description":"d"}`)}}, Answer{
			Reply: override(`{"commands":["la","rm x"]}`), Notes: []string{`a hook changed "description" of Bash, for which Cline has no parameter`},
		}},
		{"context", classic, Options{}, []v{{Context: []string{"a", " ", "b"}}}, Answer{Reply: context("a\n\nb")}},
		{"context, sdk, once for all operations", sdk, Options{}, []v{{Context: []string{"a"}}, {Context: []string{"a", "b"}}}, Answer{Reply: context("a\n\nb")}},
		{"stop", classic, Options{}, []v{{Stop: true, StopReason: "enough"}}, Answer{Reply: cancel("enough")}},
		{"stop, sdk, even softly", sdk, Options{SoftDeny: true}, []v{{Stop: true, StopReason: "enough"}, {Decision: verdict.Deny, Reason: "no"}}, Answer{Reply: cancel("enough\nno")}},
		{"block after the tool", post(t, "classic"), Options{}, []v{{Decision: verdict.Block, Reason: "lint"}}, Answer{Reply: context("lint")}},
		{"block after the tool, sdk", post(t, "sdk"), Options{}, []v{{Decision: verdict.Block, Reason: "lint", Feedback: []string{"lint"}}}, Answer{Reply: context("lint")}},
		{"context after the tool, lost", version(post(t, "next"), "4.1.10"), Options{}, []v{{Context: []string{"c"}, Feedback: []string{"f"}}}, Answer{Pending: []string{"c", "f"}}},
		{"context after the tool, lost no more", version(post(t, "next"), "4.1.11"), Options{}, []v{{Context: []string{"c"}}}, Answer{Reply: context("c")}},
		{"stop after the tool, not heard", version(post(t, "next"), "4.1.10"), Options{}, []v{{Stop: true, StopReason: "no"}}, Answer{Notes: []string{"PostToolUse: a hook stops the agent, which Cline does not let it do here: no"}}},
		{"stop after the tool", post(t, "sdk"), Options{}, []v{{Stop: true}}, Answer{Reply: cancel("a hook stopped the agent")}},
		{"another output", post(t, "sdk"), Options{}, []v{{UpdatedOutput: json.RawMessage(`"z"`)}}, Answer{
			Reply: context("A hook gives this output of Bash in place of the one above:\nz"),
			Notes: []string{"PostToolUse: a hook replaces the output of Bash, which Cline cannot; the model gets it as a text"},
		}},
		{"prompt refused", event(t, "classic", "UserPromptSubmit"), Options{}, []v{{Decision: verdict.Block, Reason: "secret"}}, Answer{Reply: cancel("secret")}},
		{"prompt refused, sdk", event(t, "sdk", "prompt_submit"), Options{}, []v{{Decision: verdict.Block, Reason: "secret"}}, Answer{Notes: []string{"UserPromptSubmit: a hook refuses the prompt, which Cline has taken already: secret"}}},
		{"prompt context", event(t, "classic", "UserPromptSubmit"), Options{}, []v{{Context: []string{"c"}}}, Answer{Reply: context("c")}},
		{"prompt context, lost", event(t, "next", "UserPromptSubmit"), Options{}, []v{{Context: []string{"c"}}}, Answer{Pending: []string{"c"}}},
		{"prompt context, lost no more", version(event(t, "next", "UserPromptSubmit"), "4.1.18"), Options{}, []v{{Context: []string{"c"}}}, Answer{Reply: context("c")}},
		{"prompt context, sdk", event(t, "sdk", "prompt_submit"), Options{}, []v{{Context: []string{"c"}}}, Answer{Pending: []string{"c"}}},
		{"start context", event(t, "classic", "TaskStart"), Options{}, []v{{Context: []string{"c"}}}, Answer{Reply: context("c")}},
		{"start context, lost", event(t, "next", "TaskStart"), Options{}, []v{{Context: []string{"c"}}}, Answer{Pending: []string{"c"}}},
		{"start context, sdk", event(t, "sdk", "agent_start"), Options{}, []v{{Context: []string{"c"}}}, Answer{Pending: []string{"c"}}},
		{"stop at the start", event(t, "next", "TaskStart"), Options{}, []v{{Stop: true, StopReason: "no"}}, Answer{Reply: cancel("no")}},
		{"stop at the start, sdk", event(t, "sdk", "agent_start"), Options{}, []v{{Stop: true, StopReason: "no"}}, Answer{Notes: []string{"SessionStart: a hook stops the agent, which Cline does not let it do here: no"}}},
		{"go on", event(t, "classic", "TaskComplete"), Options{}, []v{{Decision: verdict.Block, Reason: "run the tests"}}, Answer{
			Pending: []string{"run the tests"},
			Notes:   []string{"Stop: a hook wants the agent to continue, which Cline cannot; the model gets the reason with the next event that carries text: run the tests"},
		}},
		{"go on, sdk", event(t, "sdk", "agent_end"), Options{}, []v{{Decision: verdict.Block, Reason: "r", Stop: true}}, Answer{
			Pending: []string{"r"},
			Notes:   []string{"Stop: a hook wants the agent to continue, which Cline cannot; the model gets the reason with the next event that carries text: r"},
		}},
		{"stop at a compaction", event(t, "classic", "PreCompact"), Options{}, []v{{Stop: true, StopReason: "no"}}, Answer{Reply: cancel("no")}},
		{"compaction refused", event(t, "classic", "PreCompact"), Options{}, []v{{Decision: verdict.Block, Reason: "r"}}, Answer{Notes: []string{"PreCompact: a hook refuses the compaction; Cline could only stop the task, so it continues: r"}}},
		{"notification", event(t, "classic", "Notification"), Options{}, []v{{Decision: verdict.Block, Reason: "r", Stop: true}}, Answer{}},
		{"message for the user", event(t, "classic", "UserPromptSubmit"), Options{}, []v{{SystemMessages: []string{"hi"}}}, Answer{Notes: []string{"UserPromptSubmit: a hook has a message for the user, which Cline cannot show: hi"}}},
		{"errors of hooks", classic, Options{}, []v{{Errors: []string{"exit 1"}, Ignored: []string{"x"}}}, Answer{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, call(t, tt.raw, here).Answer(tt.vs, tt.o)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestInputChangeWithoutEffectOnClassic(t *testing.T) {
	diff := strings.Join([]string{"------- SEARCH", "a", "=======", "b", "+++++++ REPLACE", ""}, "\n")
	for name, tt := range map[string]struct {
		tool, in, updated string
		runs              bool
		notes             string
	}{
		"a time limit":                  {"execute_command", `{"command":"rm x"}`, `{"command":"rm x","run_in_background":false,"timeout":5000}`, true, "timeout of Bash"},
		"another time limit":            {"execute_command", `{"command":"rm x","timeout":"30"}`, `{"command":"rm x","timeout":5000}`, true, "timeout of Bash"},
		"no time limit":                 {"execute_command", `{"command":"rm x","timeout":"30"}`, `{"command":"rm x"}`, true, "timeout of Bash"},
		"a description":                 {"execute_command", `{"command":"rm x"}`, `{"command":"rm x","description":"removes x"}`, true, "description of Bash"},
		"in the background":             {"execute_command", `{"command":"rm x"}`, `{"command":"rm x","run_in_background":true}`, true, "run_in_background of Bash"},
		"without what hookspan added":   {"execute_command", `{"command":"rm x","requires_approval":"true"}`, `{"command":"rm x"}`, true, ""},
		"another command":               {"execute_command", `{"command":"rm x"}`, `{"command":"rm -i x","timeout":5000}`, false, ""},
		"no command":                    {"execute_command", `{"command":"rm x"}`, `{"timeout":5000}`, false, ""},
		"a member that Cline lacks":     {"execute_command", `{"command":"rm x"}`, `{"command":"rm x","sandbox":true}`, false, ""},
		"an edit, once":                 {"replace_in_file", `{"path":"a","diff":` + quoted(diff) + `}`, `{"file_path":"/w/a","old_string":"a","new_string":"b"}`, true, ""},
		"an edit of all occurrences":    {"replace_in_file", `{"path":"a","diff":` + quoted(diff) + `}`, `{"file_path":"/w/a","old_string":"a","new_string":"b","replace_all":true}`, true, "replace_all of Edit"},
		"another edit":                  {"replace_in_file", `{"path":"a","diff":` + quoted(diff) + `}`, `{"file_path":"/w/a","old_string":"a","new_string":"c"}`, false, ""},
		"a search, in another form":     {"search_files", `{"path":".","regex":"x"}`, `{"pattern":"x","path":"/w","output_mode":"files_with_matches"}`, true, "output_mode of Grep"},
		"a search elsewhere":            {"search_files", `{"path":".","regex":"x"}`, `{"pattern":"x","path":"/w/src","output_mode":"content"}`, false, ""},
		"a tool's own description":      {"use_mcp_tool", `{"server_name":"s","tool_name":"t","arguments":"{\"description\":\"a\"}"}`, `{"description":"b"}`, false, ""},
		"the same with other blanks":    {"use_mcp_tool", `{"server_name":"s","tool_name":"t","arguments":"{\"a\": 1}"}`, `{"a":1}`, true, ""},
		"a file of the same name":       {"write_to_file", `{"path":"./a","content":"x"}`, `{"content":"x","file_path":"/w/a"}`, true, ""},
		"a file with another content":   {"write_to_file", `{"path":"a","content":"x"}`, `{"file_path":"/w/a","content":"y"}`, false, ""},
		"a Read of fewer lines":         {"read_file", `{"path":"a"}`, `{"file_path":"/w/a","limit":10}`, false, ""},
		"a list in place of what it is": {"list_files", `{"path":"a"}`, `{"path":"/w/a"}`, true, ""},
		"a list of everything below it": {"list_files", `{"path":"a"}`, `{"path":"/w/a","pattern":"**/*"}`, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := call(t, pre(t, "classic", tt.tool, tt.in), here).Answer([]verdict.Verdict{{UpdatedInput: json.RawMessage(tt.updated)}}, Options{})
			if a.Reply.Cancel == tt.runs || a.Reply.OverrideInput != "" {
				t.Errorf("reply %+v, want it to run: %v", a.Reply, tt.runs)
			}
			if notes := strings.Join(a.Notes, "\n"); !strings.Contains(notes, tt.notes) || tt.notes == "" && notes != "" {
				t.Errorf("notes %q, want %q", notes, tt.notes)
			}
		})
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// Waiting texts go with the events that certainly carry them.
func TestEventsThatCarryWaitingTexts(t *testing.T) {
	tests := []struct {
		name string
		raw  hook.Raw
		want bool
	}{
		{"before a tool", pre(t, "next", "run_commands", `{"commands":["x"]}`), true},
		{"after a tool", post(t, "sdk"), true},
		{"after a tool, not heard", version(post(t, "next"), "4.1.10"), false},
		{"after a tool, heard", post(t, "next"), true},
		{"prompt", event(t, "classic", "UserPromptSubmit"), false},
		{"completion", event(t, "sdk", "agent_end"), false},
	}
	for _, tt := range tests {
		if got := call(t, tt.raw, here).Carries(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestTextsForTheModelAreCut(t *testing.T) {
	c := call(t, pre(t, "sdk", "run_commands", `["a"]`), here)
	long := strings.Repeat("\U0001f600", 6000) // 12,000 units of JavaScript
	var texts []string
	for i := range 6 {
		texts = append(texts, string(rune('a'+i))+long)
	}
	got := c.Answer([]verdict.Verdict{{Context: texts}}, Options{})
	// The limit falls between the two units of a character, which is not split.
	if n := units(got.Reply.Context); n != maxContext-1 {
		t.Errorf("%d units, want all that fit into %d", n, maxContext)
	}
	if first, _, _ := strings.Cut(got.Reply.Context, "\n\n"); units(first) != maxText-1 {
		t.Errorf("the first text has %d units, want all that fit into %d", units(first), maxText)
	}
	if len(got.Notes) != 2 {
		t.Errorf("notes %q, want one for each kind of cut", got.Notes)
	}
}

func units(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

func TestVersionsCompare(t *testing.T) {
	for v, want := range map[string]bool{"4.1.17": true, "4.1.18": false, "4.1.9": true, "4.2.0": false, "3.99.99": true, "4.1": false, "": false, "4.1.x": false, "5.0.0": false} {
		if got := before(v, 4, 1, 18); got != want {
			t.Errorf("before(%q) = %v, want %v", v, got, want)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(pre(f, "sdk", "run_commands", `["a","b"]`).Payload, `{"command":"x"}`, "deny", true)
	f.Add(pre(f, "sdk", "apply_patch", patchInput(f, wholePatch)).Payload, `{"file_path":"/w/new.txt","content":"x\ny"}`, "", false)
	f.Add(pre(f, "classic", "write_to_file", `{"path":"a"}`).Payload, `{"file_path":1}`, "ask", true)
	for _, tt := range reversible {
		f.Add(pre(f, "sdk", tt.tool, tt.in).Payload, `{"file_path":"x","command":"y","prompt":"z"}`, "", false)
	}
	f.Fuzz(func(t *testing.T, data []byte, updated, decision string, soft bool) {
		c, err := FromCline(hook.Raw{Payload: data, Event: "PreToolUse"}, here)
		if err != nil {
			return
		}
		v := verdict.Verdict{Decision: verdict.Decision(decision), Reason: updated, UpdatedInput: json.RawMessage(updated), Context: []string{decision}}
		vs := make([]verdict.Verdict, len(c.Events))
		for i := range vs {
			vs[i] = v
		}
		a := c.Answer(vs, Options{SoftDeny: soft})
		if diff := cmp.Diff(a, c.Answer(vs, Options{SoftDeny: soft})); diff != "" {
			t.Fatalf("asked again: %s", diff)
		}
		if a.Reply.OverrideInput != "" && (a.Reply.Cancel || c.Dialect != "sdk" || !json.Valid([]byte(a.Reply.OverrideInput))) {
			t.Fatalf("reply %+v", a.Reply)
		}
		// A denied tool never runs with its own input.
		if len(vs) > 0 && c.Kind == hook.KindToolStart && v.Decision == verdict.Deny && !a.Reply.Cancel && !a.Soft {
			t.Fatalf("a denial gives %+v", a.Reply)
		}
		if a.Soft && (!soft || !strings.Contains(a.Reply.OverrideInput, deniedBy)) {
			t.Fatalf("not a soft denial: %+v", a.Reply)
		}
		for _, n := range a.Notes {
			if strings.ContainsAny(n, "\n\r") {
				t.Fatalf("note %q", n)
			}
		}
	})
}

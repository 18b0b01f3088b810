package otelmap

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// talk is a turn of two requests: the first asks for two calls, of which one fails. A
// prompt of the host comes between.
func talk() ([]hook.Event, *hook.Transcript) {
	at := func(sec float64) time.Time { return epoch.Add(time.Duration(sec * float64(time.Second))) }
	good, bad := turnTool(2, hook.KindToolStart, "t1", "mcp__web__get", "c1"), turnTool(2.5, hook.KindToolStart, "t1", "Bash", "c2")
	good.Tool.Input, bad.Tool.Input = `{"url":"x"}`, `{"command":"`+strings.Repeat("a", 600)+`"}`
	end, failure := again(good), again(bad)
	end.Kind, end.StoredAt = hook.KindToolEnd, at(3)
	failure.Kind, failure.StoredAt = hook.KindToolEnd, at(3.5)
	endTool, failTool := *good.Tool, *bad.Tool
	end.Tool, failure.Tool = &endTool, &failTool
	end.Tool.Output = "<p>"
	failure.Tool.Status, failure.Tool.Error, failure.Tool.Output = hook.ToolFailed, "exit 1", "no such file"
	notice := turnPrompt(4, "t1")
	notice.Key, notice.Prompt, notice.Attrs = "", "a notice", []hook.Attr{{Key: KeyPromptInjected, Value: true}}
	stop := turnStop(7, "t1")
	stop.Result = "done"
	request := func(id string, from, to float64, c hook.Request) hook.Request {
		c.Kind, c.ID, c.Turn, c.Start, c.End, c.Model, c.Usage = hook.RequestSingle, id, "t1", at(from), at(to), "m", &hook.Usage{Input: 1, Output: 9, Reasoning: 4}
		return c
	}
	return []hook.Event{turnPrompt(0, "t1"), good, bad, end, failure, notice, stop}, &hook.Transcript{System: "be brief", Requests: []hook.Request{
		request("r1", 0.1, 1.9, hook.Request{Text: "I look", Reasoning: "hm", ToolCallIDs: []string{"c1", "c2"}, ResponseModel: "m-1"}),
		request("r2", 5, 6, hook.Request{Text: "done", FinishReason: "end_turn"}),
		request("r3", 6.1, 6.2, hook.Request{Error: "overloaded"}),
	}}
}

func chatsOf(capture Capture) (root, first, second, broken, ok, bad map[string]string) {
	events, tr := talk()
	o := Options{Agent: turnAgent, Capture: capture}
	b := build(o, Carry{}, events)
	list := make(map[string]map[string]string)
	for _, s := range spansOf(b, b.Runs(far)[0], tr) {
		a := make(map[string]string)
		for _, kv := range s.Attributes {
			a[kv.Key] = otlp.Format(kv.Value)
		}
		for _, e := range s.Events {
			if e.Name == EventException {
				a[KeyExceptionMessage] = otlp.Text(e.Attributes, KeyExceptionMessage)
			}
		}
		id := a[KeyResponseID] + a[KeyToolCallID]
		if a[KeyErrorType] == "overloaded" {
			id = "r3"
		}
		list[id] = a
	}
	return list[""], list["r1"], list["r2"], list["r3"], list["c1"], list["c2"]
}

func TestMessagesSayWhatWasAdded(t *testing.T) {
	root, first, second, broken, good, bad := chatsOf(CapturePreview)
	long := bad[KeyToolArguments]
	for name, c := range map[string]struct{ got, want string }{
		"prompts of the run":    {root[KeyInputMessages], `[{"role":"user","parts":[{"type":"text","content":"do t1"}]},{"role":"system","parts":[{"type":"text","content":"a notice"}]}]`},
		"the prompt as text":    {root[KeyInputValue], "do t1"},
		"the answer":            {root[KeyOutputMessages], `[{"role":"assistant","parts":[{"type":"text","content":"done"}],"finish_reason":"stop"}]`},
		"the answer as text":    {root[KeyOutputValue], "done"},
		"the first request":     {first[KeyInputMessages], `[{"role":"user","parts":[{"type":"text","content":"do t1"}]}]`},
		"what it asked for":     {first[KeyOutputMessages], `[{"role":"assistant","parts":[{"type":"text","content":"I look"},{"type":"tool_call","id":"c1","name":"mcp__web__get","arguments":{"url":"x"}},{"type":"tool_call","id":"c2","name":"Bash","arguments":` + long + `}],"finish_reason":"tool_call"}]`},
		"results and a notice":  {second[KeyInputMessages], `[{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":"<p>"}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"c2","response":"no such file"}]},{"role":"system","parts":[{"type":"text","content":"a notice"}]}]`},
		"the last reply":        {second[KeyOutputMessages], `[{"role":"assistant","parts":[{"type":"text","content":"done"}],"finish_reason":"stop"}]`},
		"nothing was added":     {broken[KeyInputMessages] + broken[KeyOutputMessages], ""},
		"a request that failed": {broken[KeyFinishReasons], `["error"]`},
		"the model that spoke":  {first[KeyResponseModel], "m-1"},
		"what it thought":       {first[KeyReasoningTokens], "4"},
		"a result":              {good[KeyToolResult], "<p>"},
		"no result of a failed": {bad[KeyToolResult], ""},
		"what it returned":      {bad[KeyExceptionMessage], "no such file"},
		"a method":              {good[KeyMCPMethod] + " " + good[KeyMCPServer], "tools/call web"},
		"none of a shell":       {bad[KeyMCPMethod] + bad[KeyMCPServer], ""},
		"who called":            {good[KeyAgentName] + " " + first[KeyAgentName], root[KeyAgentName] + " " + root[KeyAgentName]},
		"who ran it":            {good[KeyToolType], "function"},
		"tokens of the run":     {root[KeyInputTokens] + root[KeyRequestModel] + root[KeyRunOutputTokens], "27"},
		"the run's model":       {root[KeyModel], "m"},
	} {
		if c.got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, c.got, c.want)
		}
	}
}

func TestCaptureDecidesAboutMessages(t *testing.T) {
	root, first, second, _, good, _ := chatsOf(CaptureNone)
	for _, a := range []map[string]string{root, first, second} {
		for _, key := range []string{KeyInputMessages, KeyOutputMessages, KeyInputValue, KeyOutputValue, KeySystemInstructions} {
			if a[key] != "" {
				t.Errorf("%s is there: %s", key, a[key])
			}
		}
	}
	if good[KeyMCPServer] != "web" {
		t.Errorf("a server's name is no text: %q", good[KeyMCPServer])
	}
	_, first, _, _, _, _ = chatsOf(CaptureFull)
	if want := `[{"type":"text","content":"be brief"}]`; first[KeySystemInstructions] != want {
		t.Errorf("instructions %s, want %s", first[KeySystemInstructions], want)
	}
	if !strings.Contains(first[KeyOutputMessages], `{"type":"reasoning","content":"hm"}`) || !strings.Contains(first[KeyOutputMessages], strings.Repeat("a", 600)) {
		t.Errorf("not everything is there: %s", first[KeyOutputMessages])
	}
	if _, first, _, _, _, _ = chatsOf(CapturePreview); strings.Contains(first[KeyOutputMessages], "hm") {
		t.Error("a preview has what the model thought")
	}
}

// TestMessagesAreJSON has texts with what JSON, UTF-8 and databases do not take as it is.
func TestMessagesAreJSON(t *testing.T) {
	for _, text := range []string{`"}]`, "a\x00b", "\xff\xfe", "</script>&", "\u2028", `\`, "line\nend", strings.Repeat("é", 9)} {
		for _, value := range []string{TextMessages(RoleUser, text), AnswerMessages(text, "stop")} {
			got := Messages(value)
			if !json.Valid([]byte(value)) || len(got) != 1 || got[0].Parts[0].Content != otlp.ValidText(text) || strings.Contains(value, `\u0000`) {
				t.Errorf("%q became %s", text, value)
			}
		}
	}
	if Messages(`[{"role":`) != nil || TextMessages(RoleUser, "") != "" {
		t.Error("messages of nothing")
	}
}

// TestCallsWithoutAnIDAreInOrder has calls that only the time assigns to requests.
func TestCallsWithoutAnIDAreInOrder(t *testing.T) {
	at := func(sec int) time.Time { return epoch.Add(time.Duration(sec) * time.Second) }
	events := []hook.Event{ev(0, hook.KindRunStart)}
	for i, name := range []string{"a", "b", "c"} {
		call := tool(float64(2+2*i), hook.KindToolEnd, name, "")
		call.Tool.Output, call.Tool.Started, call.Tool.Ended = name+" out", at(2+2*i), at(2+2*i)
		events = append(events, call)
	}
	events = append(events, ev(9, hook.KindRunComplete))
	b := build(Options{}, Carry{}, logged(events...))
	tr := &hook.Transcript{Requests: []hook.Request{
		{Kind: hook.RequestSingle, ID: "r1", Start: at(1), End: at(2)},
		{Kind: hook.RequestSingle, ID: "r2", Start: at(5), End: at(6)},
	}}
	var got []string
	for _, s := range spansOf(b, b.Runs(far)[0], tr) {
		if value(s, KeyOperation) == OpChat {
			for _, key := range []string{KeyInputMessages, KeyOutputMessages} {
				for _, m := range Messages(value(s, key)) {
					for _, p := range m.Parts {
						got = append(got, value(s, KeyResponseID)+" "+p.Type+" "+p.ID+p.Name+p.Response)
					}
				}
			}
		}
	}
	want := []string{
		"r1 tool_call a", "r1 tool_call b",
		"r2 tool_call_response a out", "r2 tool_call_response b out", "r2 tool_call c",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestRunWithoutARequestKeepsItsTokens has usage that no span of a request carries.
func TestRunWithoutARequestKeepsItsTokens(t *testing.T) {
	b := build(Options{}, Carry{}, logged(ev(0, hook.KindRunStart), ev(9, hook.KindRunComplete)))
	tr := &hook.Transcript{Requests: []hook.Request{{Kind: hook.RequestsOfSubagents, ID: "s", Start: epoch.Add(time.Second), Usage: &hook.Usage{Input: 5, Output: 3}}}}
	root := spansOf(b, b.Runs(far)[0], tr)[0]
	if n, ok := otlp.Integer(root.Attributes, KeyInputTokens); n != 5 || !ok || otlp.Find(root.Attributes, KeyRunInputTokens) != nil {
		t.Errorf("%d tokens, %t: %v", n, ok, root.Attributes)
	}
	if n, ok := otlp.Integer(root.Attributes, KeyOutputTokens); n != 3 || !ok {
		t.Errorf("%d, %t", n, ok)
	}
}

func TestMessagesAreEncodedAsTheirTagsSay(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "a", "say \"hi\"\n…", "\u2028<&>\x01"})
	part := rapid.Custom(func(t *rapid.T) Part {
		arguments := rapid.SampledFrom([]string{"", `{"a":1}`, "{ \"a\" :\n[1, \"b c\"] }", `"x"`}).Draw(t, "arguments")
		return Part{
			Type: text.Draw(t, "type"), Content: text.Draw(t, "content"), ID: text.Draw(t, "id"), Name: text.Draw(t, "name"),
			Arguments: []byte(arguments), Response: text.Draw(t, "response"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		m := Message{Role: text.Draw(t, "role"), Parts: rapid.SliceOfN(part, 1, 3).Draw(t, "parts")}
		if rapid.Bool().Draw(t, "finished") {
			m.FinishReason = new(text.Draw(t, "finish"))
		}
		if got, want := encode(m, m), rawjson.Encode([]Message{m, m}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

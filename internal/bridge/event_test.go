package bridge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseEvent(t *testing.T) {
	for name, tc := range map[string]struct {
		body string
		want *Event // nil: refused
	}{
		"Claude's form": {
			`{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"ls"},"cwd":"/w"}`,
			&Event{Session: "s", Name: "PreToolUse", Tool: "Bash", ToolUseID: "t", Cwd: "/w"},
		},
		"sessionId instead":         {`{"sessionId":"s"}`, &Event{Session: "s"}},
		"Cline's classic form":      {`{"taskId":"17","hookName":"TaskStart","clineVersion":"3"}`, &Event{Native: true, Session: "17", Name: "TaskStart"}},
		"Cline's SDK form":          {`{"taskId":"a","hookName":"tool_call","sessionContext":{"rootSessionId":"root"},"tool_call":{}}`, &Event{Native: true, Session: "root", Name: "PreToolUse"}},
		"a byte order mark":         {"\ufeff {\"session_id\":\"s\"}\r\n", &Event{Session: "s"}},
		"other members of any type": {`{"session_id":"s","hook_event_name":7,"tool_name":null,"cwd":[],"tool_input":"x"}`, &Event{Session: "s"}},
		"no session":                {`{"hook_event_name":"Stop"}`, nil},
		"a blank session":           {`{"session_id":" \t"}`, nil},
		"a session that is no text": {`{"session_id":12}`, nil},
		"a task without an id":      {`{"hookName":"TaskStart"}`, nil},
		"an array":                  {`[{"session_id":"s"}]`, nil},
		"null":                      {`null`, nil},
		"nothing":                   {``, nil},
		"cut short":                 {`{"session_id":"s"`, nil},
		"two objects":               {`{"session_id":"s"}{}`, nil},
		"nested too deep":           {`{"session_id":"s","x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseEvent(Cline, []byte(tc.body))
			if (err != nil) != (tc.want == nil) {
				t.Fatalf("error %v", err)
			}
			if tc.want == nil {
				return
			}
			tc.want.Provider = Cline
			if d := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(Event{}, "Body"), cmpopts.IgnoreUnexported(Event{})); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	base := `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"ls","n":1}}`
	for name, tc := range map[string]struct {
		body string
		same bool
	}{
		"more members, other order": {`{"tool_input":{"n":1,"command":"ls"},"tool_use_id":"t","x":1,"tool_name":"Bash","hook_event_name":"PreToolUse","session_id":"s"}`, true},
		"another element of a call": {strings.Replace(base, `"ls"`, `"pwd"`, 1), false},
		"another event":             {strings.Replace(base, "PreToolUse", "PostToolUse", 1), false},
		"another session":           {strings.Replace(base, `"s"`, `"r"`, 1), false},
		"another call":              {strings.Replace(base, `"t"`, `"u"`, 1), false},
		"another response":          {strings.Replace(base, "{", `{"tool_response":{"stdout":"2"},`, 1), false},
		"another error":             {strings.Replace(base, "{", `{"error":"exit 2",`, 1), false},
		"another prompt":            {strings.Replace(base, "{", `{"prompt_id":"2",`, 1), false},
		"no call":                   {strings.Replace(base, "tool_use_id", "x", 1), false},
	} {
		a, errA := ParseEvent(Claude, []byte(base))
		b, errB := ParseEvent(Cline, []byte(tc.body))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if (a.key == b.key) != tc.same {
			t.Errorf("%s: same is %v", name, !tc.same)
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(`{"session_id":"s","tool_use_id":"t","tool_input":{"a":[1e400]}}`))
	f.Add([]byte(`{"taskId":"1","hookName":"PreToolUse"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := ParseEvent(Cline, body)
		if err != nil {
			return
		}
		if strings.TrimSpace(e.Session) == "" {
			t.Error("an event without a session")
		}
		if again, err := ParseEvent(Claude, e.Body); err != nil || again.key != e.key {
			t.Errorf("read again: %v", err)
		}
		line, err := Line(e)
		if err != nil {
			t.Fatal(err)
		}
		checkLine(t, line)
	})
}

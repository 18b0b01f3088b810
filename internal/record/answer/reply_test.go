package answer

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
)

// neutral is the answer of a hook that has nothing to say.
const neutral = `{"cancel":false,"contextModification":" ","errorMessage":""}`

func TestMerge(t *testing.T) {
	for name, tc := range map[string]struct{ user, want string }{
		"nothing":                         {"", ""},
		"blanks":                          {" \n\n", ""},
		"a cancellation":                  {`{"cancel":true,"errorMessage":"no"}`, `{"cancel":true,"errorMessage":"no"}`},
		"a cancellation with context":     {`{"cancel":true,"contextModification":"c"}`, `{"cancel":true,"contextModification":"c","errorMessage":""}`},
		"context":                         {`{"contextModification":"careful"}`, `{"cancel":false,"contextModification":"careful","errorMessage":""}`},
		"the SDK's name for context":      {`{"context":"careful"}`, `{"cancel":false,"context":"careful","contextModification":" ","errorMessage":""}`},
		"null members":                    {`{"cancel":true,"contextModification":null,"errorMessage":null}`, `{"cancel":true,"errorMessage":""}`},
		"all null":                        {`{"cancel":null,"contextModification":null,"errorMessage":null}`, neutral},
		"an empty context":                {`{"cancel":false,"contextModification":"","errorMessage":""}`, neutral},
		"members of the wrong type":       {`{"cancel":"yes","contextModification":7,"errorMessage":["x"]}`, neutral},
		"members of the SDK":              {`{"review":true,"overrideInput":{"n":12345678901234567890}}`, `{"cancel":false,"contextModification":" ","errorMessage":"","overrideInput":{"n":12345678901234567890},"review":true}`},
		"debug lines before":              {"looking\n{not it\ndone\n{\"cancel\":true}\n", `{"cancel":true,"errorMessage":""}`},
		"debug lines behind":              {"{\"cancel\":true}\nbye\n", `{"cancel":true,"errorMessage":""}`},
		"the last of two objects":         {"{\"cancel\":true}\n{\"cancel\":false}\n", neutral},
		"printed over several lines":      {"{\n  \"cancel\": true\n}\n", `{"cancel":true,"errorMessage":""}`},
		"several lines behind debug text": {"debug {\n{\n  \"cancel\": true\n}\n", `{"cancel":true,"errorMessage":""}`},
		"objects inside on lines of their own": {
			"debug\n{\n\"overrideInput\": [\n  {\n  \"a\": 1\n  },\n  {\"b\": 2}\n],\n\"x\":\n{\"c\":3}\n}\n",
			`{"cancel":false,"contextModification":" ","errorMessage":"","overrideInput":[{"a":1},{"b":2}],"x":{"c":3}}`,
		},
		"the line marked for the SDK": {"HOOK_CONTROL\t{\"cancel\":true}\n{\"cancel\":false}\n", `{"cancel":true,"errorMessage":""}`},
		"the last marked line":        {"HOOK_CONTROL\t{\"cancel\":true}\nHOOK_CONTROL\t{\"cancel\":false}", neutral},
		"a marked line that is broken": {
			"HOOK_CONTROL\t{\"cancel\":tr\n{\"cancel\":true}\n", `{"cancel":true,"errorMessage":""}`,
		},
		"line ends of Windows": {"debug\r\n{\"cancel\":true}\r\n", `{"cancel":true,"errorMessage":""}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := merge(cline.EncodeReply(hook.Reply{}), []byte(tc.user))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestMergeRefuses(t *testing.T) {
	for name, user := range map[string]string{
		"text":             "ok\n",
		"a list":           `[{"cancel":true}]`,
		"a broken object":  `{"cancel":true`,
		"a marked list":    "HOOK_CONTROL\t[1]",
		"a number":         "1",
		"objects in lists": "[\n{\"cancel\":true},\n{\"cancel\":true}\n]\n",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := merge([]byte(neutral), []byte(user)); err == nil {
				t.Errorf("accepted as %s", got)
			}
		})
	}
}

// FuzzMerge holds every answer to what Cline accepts: one object whose three
// known members, where they are, have their types.
func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"cancel":true,"contextModification":null}`))
	f.Add([]byte("debug\n{\n \"cancel\": [\n {}\n]\n}\n"))
	f.Add([]byte("HOOK_CONTROL\t{\"errorMessage\":\"x\"}\n"))
	f.Fuzz(func(t *testing.T, user []byte) {
		got, err := merge([]byte(neutral), user)
		if err != nil || got == nil {
			return
		}
		var answer struct {
			Cancel              *bool
			ContextModification *string
			ErrorMessage        *string
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(got, &members); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		for k, v := range members {
			if string(v) == "null" {
				t.Fatalf("%q: member %q is null", got, k)
			}
		}
		for k, into := range map[string]any{"cancel": &answer.Cancel, "contextModification": &answer.ContextModification, "errorMessage": &answer.ErrorMessage} {
			if v, ok := members[k]; ok {
				if err := json.Unmarshal(v, into); err != nil {
					t.Fatalf("%q: %v", got, err)
				}
			}
		}
		if answer.Cancel == nil || answer.ErrorMessage == nil || answer.ContextModification == nil && !*answer.Cancel {
			t.Fatalf("%q: a member is missing", got)
		}
	})
}

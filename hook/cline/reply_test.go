package cline

import (
	"encoding/json"
	"testing"

	"github.com/hookspan/hookspan/hook"
)

func TestEncodeReply(t *testing.T) {
	tests := []struct {
		name string
		in   hook.Reply
		want string
	}{
		{"neutral", hook.Reply{}, `{"cancel":false,"contextModification":" ","errorMessage":""}`},
		{"blank context", hook.Reply{Context: " \n"}, `{"cancel":false,"contextModification":" ","errorMessage":""}`},
		{"context", hook.Reply{Context: "use <T> & \"x\"\n"}, `{"cancel":false,"contextModification":"use <T> & \"x\"\n","errorMessage":""}`},
		{"cancel", hook.Reply{Cancel: true, ErrorMessage: "no"}, `{"cancel":true,"errorMessage":"no"}`},
		{"cancel without a reason", hook.Reply{Cancel: true}, `{"cancel":true,"errorMessage":""}`},
		{"cancel with context", hook.Reply{Cancel: true, Context: "c", ErrorMessage: "e"}, `{"cancel":true,"contextModification":"c","errorMessage":"e"}`},
		{"error message without cancel", hook.Reply{ErrorMessage: "e"}, `{"cancel":false,"contextModification":" ","errorMessage":""}`},
		{
			"another input",
			hook.Reply{OverrideInput: `{"commands":["a && <b>"]}`, ErrorMessage: "e"},
			`{"cancel":false,"contextModification":" ","errorMessage":"","overrideInput":{"commands":["a && <b>"]}}`,
		},
		{
			"another input and context",
			hook.Reply{Context: "c", OverrideInput: `["ls"]`},
			`{"cancel":false,"contextModification":"c","errorMessage":"","overrideInput":["ls"]}`,
		},
		{"another input for a call that is stopped", hook.Reply{Cancel: true, ErrorMessage: "no", OverrideInput: `{}`}, `{"cancel":true,"errorMessage":"no"}`},
		{
			"another input that is not JSON",
			hook.Reply{Context: "c", OverrideInput: `{"a"`},
			`{"cancel":true,"errorMessage":"hookspan: the tool input that a hook gave is not JSON"}`,
		},
		{"bytes that are not UTF-8", hook.Reply{Context: "a\xff"}, `{"cancel":false,"contextModification":"a\ufffd","errorMessage":""}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := EncodeReply(tt.in)
			if string(got) != tt.want {
				t.Errorf("EncodeReply = %s\nwant          %s", got, tt.want)
			}
			if !json.Valid(got) {
				t.Errorf("%s is not JSON", got)
			}
		})
	}
}

func TestEncodeReplyReturnsCopy(t *testing.T) {
	EncodeReply(hook.Reply{})[0] = 'x'
	if got := string(EncodeReply(hook.Reply{})); got != neutralReply {
		t.Errorf("EncodeReply after a caller wrote to its bytes = %s", got)
	}
}

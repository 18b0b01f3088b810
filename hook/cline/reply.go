package cline

import (
	"encoding/json"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/jstext"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// neutralReply lets Cline continue and adds nothing.
//
// The single space is needed: after an answer with default values only, the hook's
// row in the chat stays at "Running", and a null member makes Cline drop the whole
// answer. Cline trims the space.
const neutralReply = `{"cancel":false,"contextModification":" ","errorMessage":""}`

// blank is the context of an answer that has none.
const blank = " "

// EncodeReply returns what a hook writes to its standard output: one JSON
// object without a line end, in which no member is null.
//
// The error message is written only with a cancellation. No dialect shows it
// otherwise, and some versions of the SDK would give it to the model as context.
// An input that replaces the call's is written only without a cancellation. If it is
// not JSON, the call is cancelled, since it must not run with its old input.
func EncodeReply(r hook.Reply) []byte {
	context := r.Context
	if jstext.Trim(context) == "" {
		context = blank
	}
	if r.OverrideInput != "" && !json.Valid([]byte(r.OverrideInput)) {
		r = hook.Reply{Cancel: true, ErrorMessage: "hookspan: the tool input that a hook gave is not JSON"}
		context = blank
	}
	if r.Cancel {
		r.OverrideInput = ""
	}
	switch {
	case !r.Cancel && context == blank && r.OverrideInput == "":
		return []byte(neutralReply)
	case !r.Cancel:
		r.ErrorMessage = ""
	case context == blank:
		// The SDK takes the first of context and error message that is there
		// for its reason: a space would hide the real one.
		context = ""
	}
	out, err := rawjson.Marshal(struct {
		Cancel              bool   `json:"cancel"`
		ContextModification string `json:"contextModification,omitempty"`
		ErrorMessage        string `json:"errorMessage"`
		// A raw message that is nil counts as empty.
		OverrideInput json.RawMessage `json:"overrideInput,omitempty"`
	}{r.Cancel, context, r.ErrorMessage, json.RawMessage(r.OverrideInput)})
	if err != nil {
		// A struct of a bool, strings and valid JSON always encodes; if that ever
		// fails, letting Cline continue is the answer that does no harm.
		return []byte(neutralReply)
	}
	return out
}

package cline

import (
	"encoding/json"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// neutralReply lets Cline go on and adds nothing.
//
// The single space is not decoration. An answer made of defaults leaves the row
// of the hook in the chat at "Running" for ever, and a null member makes Cline
// drop the answer as a whole. A space takes the ordinary way and is trimmed.
const neutralReply = `{"cancel":false,"contextModification":" ","errorMessage":""}`

// blank is the context of an answer that has none.
const blank = " "

// EncodeReply returns what a hook writes to its standard output: one JSON
// object without a line end, in which no member is null.
//
// The error message goes out only with a cancellation. No dialect shows it
// otherwise, and some versions of the SDK would hand it to the model as context.
// An input that replaces the call's goes out only without a cancellation; one
// that is not JSON becomes a cancellation, for the call must not run as it was.
func EncodeReply(r hook.Reply) []byte {
	context := r.Context
	if strings.TrimSpace(context) == "" {
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

package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// merge lays the script's answer over the neutral one. A member that is null, as
// scripts print it, or not of the right type keeps the neutral value: Cline drops
// a whole answer that holds one. If nothing is printed there is no answer.
func merge(neutral, script []byte) ([]byte, error) {
	var out, answer map[string]any
	if err := json.Unmarshal(neutral, &out); err != nil {
		return nil, err
	}
	obj := lastObject(script)
	if obj == nil {
		if len(bytes.TrimSpace(script)) == 0 {
			return nil, nil
		}
		return nil, fmt.Errorf("its output holds no JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(obj))
	dec.UseNumber()
	if err := dec.Decode(&answer); err != nil {
		return nil, err
	}
	for k, v := range answer {
		if def, known := out[k]; v == nil || v == "" || known && reflect.TypeOf(v) != reflect.TypeOf(def) {
			continue
		}
		out[k] = v
	}
	return encode(out)
}

// join makes one answer of two, as Cline does with those of two hook files: one
// that cancels is enough, and both texts are kept. Any other member is taken from
// the second, if it is there.
func join(first, second []byte) ([]byte, error) {
	var out, b map[string]any
	if err := errors.Join(json.Unmarshal(first, &out), json.Unmarshal(second, &b)); err != nil {
		return nil, err
	}
	for k, v := range b {
		switch k {
		case "cancel":
			v = out[k] == true || v == true
		case "contextModification":
			v = texts("\n\n", out[k], v)
		case "errorMessage":
			v = texts("\n", out[k], v)
		}
		out[k] = v
	}
	return encode(out)
}

// texts joins the texts that are not blank.
func texts(sep string, values ...any) string {
	var parts []string
	for _, v := range values {
		if s, _ := v.(string); strings.TrimSpace(s) != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, sep)
}

// encode encodes an answer for Cline. A blank context keeps the row in the chat
// from staying at "Running"; but Cline's SDK reads the reason of a cancellation
// from the error message only if there is no context.
func encode(out map[string]any) ([]byte, error) {
	if context, _ := out["contextModification"].(string); strings.TrimSpace(context) == "" {
		delete(out, "contextModification")
		if out["cancel"] != true {
			out["contextModification"] = " "
		}
	}
	return rawjson.Marshal(out)
}

// controlPrefix begins the line with the answer to Cline's SDK.
const controlPrefix = "HOOK_CONTROL\t"

// lastObject finds the answer in a script's output as Cline does: the last line
// with the prefix, the whole output, or the last JSON object that begins a line.
// It is nil if there is none.
func lastObject(out []byte) []byte {
	var marked []byte
	for line := range bytes.Lines(out) {
		if obj, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte(controlPrefix)); ok && json.Valid(obj) {
			marked = obj
		}
	}
	if marked != nil {
		return marked
	}
	for end := len(out); end > 0; {
		i := bytes.LastIndexByte(out[:end], '\n') + 1
		if obj := firstObject(bytes.TrimSpace(out[i:])); obj != nil {
			return obj
		}
		end = i - 1
	}
	return nil
}

// firstObject returns the JSON object that text begins with, unless the text after
// it shows that it is a part of a larger value.
func firstObject(text []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(text))
	var obj json.RawMessage
	if !bytes.HasPrefix(text, []byte("{")) || dec.Decode(&obj) != nil {
		return nil
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 && bytes.IndexByte([]byte(",]}"), rest[0]) >= 0 {
		return nil
	}
	return obj
}

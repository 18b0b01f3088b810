package verdict

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/jstext"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// shape is what the output of a hook is taken for.
type shape uint8

const (
	shapeEmpty shape = iota
	shapePlain
	shapeObject
	// shapeBroken is text that looks like an object and is not one.
	shapeBroken
)

// trimOutput takes white space off, and the mark that programs on Windows put
// before UTF-8, as JavaScript's trim does.
func trimOutput(s string) string { return jstext.Trim(s) }

// openOutput distinguishes JSON from text by its first and last character, and returns
// the members of an object. Several JSON values on separate lines are text, unless
// one of them is an answer. text must be trimmed.
func openOutput(text string) (shape, rawjson.Object, error) {
	switch {
	case text == "":
		return shapeEmpty, nil, nil
	case text[0] != '{' || text[len(text)-1] != '}':
		return shapePlain, nil, nil
	}
	o, err := rawjson.Open([]byte(text))
	if err == nil {
		return shapeObject, o, nil
	}
	lines := 0
	for line := range strings.Lines(text) {
		line = jstext.Trim(line)
		if line == "" {
			continue
		}
		lines++
		if rawjson.Check([]byte(line)) != nil || answers(rawjson.Members([]byte(line))) {
			return shapeBroken, nil, err
		}
	}
	if lines < 2 {
		return shapeBroken, nil, err
	}
	return shapePlain, nil, nil
}

const hookSpecificOutput = "hookSpecificOutput"

// answers reports that a member is there that Claude Code acts on.
func answers(o rawjson.Object) bool {
	keys := []string{"continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", hookSpecificOutput, "async"}
	return slices.ContainsFunc(keys, func(key string) bool { return o.Lookup(key) != nil })
}

// isAsync reports whether a hook continues by itself. It may say so in the first of
// several lines.
func isAsync(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	for _, s := range []string{text, jstext.Trim(line)} {
		if o, err := rawjson.Open([]byte(s)); err == nil && string(o.Get("async")) == "true" {
			return true
		}
	}
	return false
}

// reader takes members out of an answer and keeps the first that has a value
// which Claude Code does not allow.
type reader struct{ err error }

func (r *reader) fail(name string, raw []byte, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s is %s, want %s", name, describe(raw), want)
	}
}

// describe names a value for people, short.
func describe(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	const most = 40
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + "..."
	}
	return string(raw)
}

func (r *reader) text(o rawjson.Object, name string) string {
	raw := o.Lookup(name)
	if raw != nil && !rawjson.IsString(raw) {
		r.fail(name, raw, "a string")
	}
	return rawjson.Unquote(raw)
}

func (r *reader) truth(o rawjson.Object, name string) (value, ok bool) {
	raw := string(o.Lookup(name))
	ok = raw == "true" || raw == "false"
	if !ok && raw != "" {
		r.fail(name, []byte(raw), "true or false")
	}
	return raw == "true", ok
}

func (r *reader) object(o rawjson.Object, name string) rawjson.Object {
	raw := o.Lookup(name)
	inner := rawjson.Members(raw)
	if raw != nil && inner == nil {
		r.fail(name, raw, "an object")
	}
	return inner
}

// oneOf reads a string that must be in a list.
func (r *reader) oneOf(o rawjson.Object, name string, allowed []Decision) Decision {
	raw := o.Lookup(name)
	if raw == nil {
		return NoDecision
	}
	if said := Decision(rawjson.Unquote(raw)); slices.Contains(allowed, said) {
		return said
	}
	r.fail(name, raw, "one of "+joinDecisions(allowed))
	return NoDecision
}

func joinDecisions(all []Decision) string {
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = string(d)
	}
	return strings.Join(names, ", ")
}

// value is a JSON value that the hook gave, the caller's to keep, with U+FFFD for bytes
// that are not UTF-8.
func value(o rawjson.Object, name string) []byte {
	return bytes.ToValidUTF8(bytes.Clone(o.Lookup(name)), []byte("\ufffd"))
}

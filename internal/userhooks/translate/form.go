package translate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/jstext"
)

// operation is one thing that a tool call does, in Claude's form.
type operation struct {
	index   int // in the call
	tool    string
	aliases []string
	// twin is the tool's name in Cline's other dialects where twinOf does not
	// know it.
	twin  string
	input object
	// value is the operation as Cline has it. back returns the value for another
	// input; it is nil if Cline has no form for one.
	value any
	back  func(forward object, updated map[string]any) (value any, notes []string, err error)
	// added are members of the input that Cline's call does not have, indifferent
	// those that do not change what the call does.
	added       object
	indifferent []string
}

// unchanged reports whether another input makes the same call for Cline, and which
// indifferent members differ.
func (op operation) unchanged(updated map[string]any) (differ []string, ok bool) {
	rest := maps.Clone(updated)
	for _, f := range op.added {
		if _, given := rest[f.Name]; !given {
			rest[f.Name] = f.Value
		}
	}
	for _, key := range op.indifferent {
		before, had := op.input.get(key)
		now, given := rest[key]
		if had != given || had && !equal(before, now) {
			differ = append(differ, key)
		}
		if delete(rest, key); had {
			rest[key] = before
		}
	}
	if equal(op.input, rest) {
		return differ, true
	}
	if op.back == nil {
		return nil, false
	}
	value, _, err := op.back(op.input, rest)
	return differ, err == nil && equal(value, op.value)
}

// kind says how a parameter's value differs between Cline and Claude Code.
type kind uint8

const (
	asText   kind = iota // a text
	asPath               // a path, absolute for Claude
	asLine               // a shell command, which may name the root that it runs in
	asIs                 // any value
	seconds              // seconds for Cline, milliseconds for Claude
	asList               // a list that Cline may write as JSON text
	constant             // a value that hooks cannot change
)

// param is one parameter that has a name on either side.
type param struct {
	claude string
	cline  []string // the name Cline documents, then others it takes; if nil, the same as claude
	kind   kind
	// required parameters must be in a hook's input.
	required bool
	// sticky parameters stay if a hook's input leaves them out: Claude's tool has
	// none of that name.
	sticky bool
}

// names are Cline's names of the parameter.
func (pa param) names() []string {
	if pa.cline == nil {
		return []string{pa.claude}
	}
	return pa.cline
}

// form describes one of Cline's tools as one of Claude's.
type form struct {
	tool    string
	aliases []string
	params  []param
	// fixed are members of Claude's input that Cline has no parameter for.
	fixed object
	// harmless are members that a hook may change without an effect on the call.
	harmless []string
	// indifferent are as in operation.
	indifferent []string
}

// errNoPlace says that Cline has no parameter for a hook's change.
var errNoPlace = errors.New("cline has no parameter for it")

// operation reads a tool's parameters by its form.
func (p place) operation(f form, raw map[string]any) operation {
	op := operation{tool: f.tool, aliases: f.aliases, value: raw, added: f.fixed, indifferent: f.indifferent}
	for _, pa := range f.params {
		v, _ := pick(raw, pa.names()...)
		if v == nil {
			continue
		}
		op.input = append(op.input, field{pa.claude, p.forward(pa.kind, v)})
	}
	op.input = append(op.input, f.fixed...)
	op.back = func(forward object, updated map[string]any) (any, []string, error) {
		out, notes, err := f.back(raw, forward, updated)
		return out, notes, err
	}
	return op
}

func (p place) forward(k kind, v any) any {
	switch k {
	case asPath:
		return p.abs(text(v))
	case asLine:
		return p.line(text(v))
	case seconds:
		if n, ok := number(v); ok && n >= 0 && n < 1e12 {
			return n * 1000
		}
		return v
	case asList:
		return parsed(v)
	case asIs:
		return v
	case asText, constant:
	}
	return text(v)
}

// back returns Cline's parameters for an input in Claude's form. Unchanged ones
// stay as Cline wrote them, to the letter.
func (f form) back(raw map[string]any, forward object, updated map[string]any) (out map[string]any, notes []string, err error) {
	out = without(raw)
	known := slices.Clone(f.harmless)
	for _, pa := range f.params {
		known = append(known, pa.claude)
		now, given := updated[pa.claude]
		before, had := forward.get(pa.claude)
		switch {
		case !given && pa.required:
			return nil, nil, fmt.Errorf("%q is missing", pa.claude)
		case !given && had && !pa.sticky:
			for _, name := range pa.names() {
				delete(out, name)
			}
			continue
		case !given || had && equal(before, now):
			continue
		}
		v, err := pa.reverse(now)
		if err != nil {
			return nil, nil, err
		}
		was, name := pick(raw, pa.names()...)
		if root, _, _ := strings.Cut(text(was), ":"); pa.kind == asLine && text(was) != text(before) {
			v = root + ":" + text(v)
		}
		out[cmp.Or(name, pa.names()[0])] = v
	}
	for _, key := range slices.Sorted(maps.Keys(updated)) {
		before, had := forward.get(key)
		switch {
		case had && equal(before, updated[key]):
		case slices.Contains(f.harmless, key):
			notes = append(notes, fmt.Sprintf("a hook changed %q of %s, for which Cline has no parameter", key, f.tool))
		case !slices.Contains(known, key):
			return nil, nil, fmt.Errorf("%q: %w", key, errNoPlace)
		}
	}
	return out, notes, nil
}

func (pa param) reverse(v any) (any, error) {
	switch pa.kind {
	case asText, asPath, asLine:
		s, ok := v.(string)
		if !ok || pa.required && pa.kind == asPath && jstext.Trim(s) == "" {
			return nil, fmt.Errorf("%q is %.40s, want a text", pa.claude, text(v))
		}
		return s, nil
	case seconds:
		n, ok := number(v)
		if !ok || n < 0 {
			return nil, fmt.Errorf("%q is %.40s, want milliseconds", pa.claude, text(v))
		}
		// Rounded up: a hook that shortens a limit does not mean none at all.
		return (n + 999) / 1000, nil
	case constant:
		return nil, fmt.Errorf("%q: %w", pa.claude, errNoPlace)
	case asIs, asList:
	}
	return v, nil
}

// toolCall is the operations of a call.
type toolCall struct {
	operations []operation
	// build makes Cline's input of the operations' values; nil if no operation has
	// a back.
	build func(values []any) any
	// perFile reports that the end of the call is one event for each file.
	perFile bool
}

// one is a call of one operation.
func one(op operation) toolCall {
	return toolCall{operations: []operation{op}, build: func(values []any) any { return values[0] }}
}

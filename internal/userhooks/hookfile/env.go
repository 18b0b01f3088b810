package hookfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/jsonedit"
)

// envKey is the member with the variables that hooks get.
const envKey = "env"

// Variable is an environment variable that a file gives to hooks.
type Variable struct{ Name, Value string }

// env reads the variables. As in Claude Code, the value of a number or boolean is
// its spelling.
func (r *reading) env(n *jsonedit.Node) {
	if n == nil {
		return
	}
	if !n.Is(r.text, '{') {
		r.wrong(name(envKey), n, "an object of strings; no variable is set", false)
		return
	}
	values := r.lasts(n)
	for _, m := range n.Items {
		value := values[m.Key]
		if value == nil {
			continue
		}
		delete(values, m.Key)
		text := string(value.Raw(r.text))
		if value.Is(r.text, '"') {
			text = r.str(value)
		}
		switch why := reserved(m.Key); {
		case m.Key == "" || strings.ContainsAny(m.Key, "=\x00"):
			r.problem(m.Start, false, "env: %s is not the name of a variable; it is not set", name(m.Key))
		case why != "":
			r.problem(m.Start, false, "env: %s is not set: %s", name(m.Key), why)
		case value.Is(r.text, '{') || value.Is(r.text, '[') || text == "null":
			r.wrong("env: "+name(m.Key), value, "a string; it is not set", false)
		case strings.ContainsRune(text, 0):
			r.problem(value.Start, false, "env: %s contains a zero character, which no variable may; it is not set", name(m.Key))
		default:
			r.file.Env = append(r.file.Env, Variable{m.Key, text})
		}
	}
}

// reserved returns why a file may not set a variable, empty if it may. On some
// systems the case of names counts, on others it does not.
func reserved(variable string) string {
	upper := strings.ToUpper(variable)
	for _, prefix := range [...]string{"HOOKSPAN_", "INFINIUM_", "OTEL_"} {
		if strings.HasPrefix(upper, prefix) {
			return "hooks get no " + prefix + "* variables; settings of hookspan belong in its own environment or hookspan.env"
		}
	}
	switch upper {
	case "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE", "CLAUDE_CODE_SESSION_ID", "PWD":
		return "each event sets it"
	}
	return ""
}

// AddEnv adds variables to the "env" of the text of a hooks file. An existing
// variable is not changed, and is in kept if it has another value. The names are in
// the order of vars. An absent file is an empty text.
func AddEnv(text []byte, vars []Variable) (out []byte, added, kept []string, err error) {
	out = text
	if blank(text) {
		out = []byte("{}\n")
	}
	for _, v := range vars {
		r, err := read("", out, nil)
		if err != nil {
			return nil, nil, nil, err
		}
		style := jsonedit.DetectStyle(r.text, r.root)
		field := jsonedit.Field{Key: v.Name, Value: v.Value}
		block := r.root.Get(envKey)
		switch {
		case block == nil:
			block, field = r.root, jsonedit.Field{Key: envKey, Value: jsonedit.Object{field}}
		case !block.Is(r.text, '{'):
			return nil, nil, nil, r.refuse(name(envKey), block, "an object of strings")
		case block.Get(v.Name) != nil:
			if !slices.Contains(r.file.Env, v) {
				kept = append(kept, v.Name)
			}
			continue
		}
		out = style.AddMember(r.text, block, field)
		added = append(added, v.Name)
	}
	if len(added) == 0 {
		return text, nil, kept, nil
	}
	if _, err := read("", out, nil); err != nil {
		return nil, nil, nil, fmt.Errorf("add variables: %w", err)
	}
	return out, added, kept, nil
}

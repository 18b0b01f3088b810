package hookfile

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseReadsVariables(t *testing.T) {
	f, err := Parse("f", []byte(`{"env":{"B":"1","A":"x=\n","N":1.50,"T":true,"L":[1],"Z":null,"":"1","A=B":"1",
		"OTEL_X":"1","hookspan_hooks":"1","Infinium_Agent_Id":"1","CLAUDE_ENV_FILE":"/x","O":"\u0000","B":"2"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Variable{{"B", "2"}, {"A", "x=\n"}, {"N", "1.50"}, {"T", "true"}}, f.Env); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	var all []string
	for _, p := range f.Problems {
		all = append(all, p.Text)
	}
	for _, want := range []string{
		`"B" appears again further down`, `env: "L" is an array, want a string`, `env: "Z" is null, want a string`, `env: "" is not the name`, `env: "A=B" is not the name`,
		`env: "OTEL_X" is not set: hooks get no OTEL_*`, `env: "hookspan_hooks" is not set`, `env: "Infinium_Agent_Id" is not set`,
		`env: "CLAUDE_ENV_FILE" is not set: each event sets it`, `env: "O" contains a zero character`,
	} {
		if !slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("no problem %q in\n%s", want, strings.Join(all, "\n"))
		}
	}
	if f, _ := Parse("f", []byte(`{"env":"A=1"}`)); len(f.Env) != 0 || len(f.Problems) != 1 {
		t.Errorf("a text for the variables: %+v", f)
	}
}

func TestAddEnv(t *testing.T) {
	for name, tc := range map[string]struct {
		text        string
		want        string
		added, kept []string
	}{
		"no file":                     {"", "{\n  \"env\": {\n    \"A\": \"1\",\n    \"B\": \"x\\\"y\"\n  }\n}\n", []string{"A", "B"}, nil},
		"one variable exists":         {`{"env": {"A": "1"}, "x": 1}`, `{"env": {"A": "1", "B": "x\"y"}, "x": 1}`, []string{"B"}, nil},
		"variables with other values": {`{"env":{"A":"2","B":3}}`, `{"env":{"A":"2","B":3}}`, nil, []string{"A", "B"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, added, kept, err := AddEnv([]byte(tc.text), []Variable{{"A", "1"}, {"B", `x"y`}})
			if err != nil || string(out) != tc.want || !slices.Equal(added, tc.added) || !slices.Equal(kept, tc.kept) {
				t.Errorf("added %q, kept %q, %v:\n%s", added, kept, err, out)
			}
		})
	}
	if _, _, _, err := AddEnv([]byte(`{"env":[]}`), []Variable{{"A", "1"}}); err == nil || !strings.Contains(err.Error(), `"env" is an array, want an object of strings`) {
		t.Errorf("a list: %v", err)
	}
}

package hooks_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// awks are the programs on this machine that may be behind awk somewhere.
func awks(t *testing.T) map[string]*world {
	t.Helper()
	list := map[string]*world{"awk": newWorld(t)}
	for _, line := range []string{"mawk", "gawk", "gawk --posix", "original-awk", "busybox awk"} {
		name, rest, _ := strings.Cut(line, " ")
		if path, err := exec.LookPath(name); err == nil {
			w := newWorld(t)
			w.program(t, "awk", "exec '"+path+"' "+rest+` "$@"`)
			list[line] = w
		}
	}
	return list
}

func TestJSONGet(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stdin, want string
		exit        int
		paths       []string
	}{
		"a string":                        {stdin: `{"a":"x"}`, want: "x"},
		"an empty string":                 {stdin: `{"a":""}`},
		"a number":                        {stdin: `{"a":-1.5e3}`, want: "-1.5e3"},
		"a boolean":                       {stdin: `{ "a" : true }`, want: "true"},
		"null":                            {stdin: `{"a":null}`, exit: 1},
		"an object":                       {stdin: `{"a":{"a":"x"}}`, exit: 1},
		"a list":                          {stdin: `{"a":["x"]}`, exit: 1},
		"nothing there":                   {stdin: `{"b":"x"}`, exit: 1},
		"the same name further down":      {stdin: `{"b":{"a":"x"},"c":[{"a":"y"}]}`, exit: 1},
		"the same name in a text":         {stdin: `{"b":"\"a\":\"x\"","a":"y"}`, want: "y"},
		"a path":                          {stdin: `{"b":"x","a":{"b":"y"}}`, want: "y", paths: []string{"a.b"}},
		"a name that looks like a path":   {stdin: `{"a.b":"x"}`, exit: 1, paths: []string{"a.b"}},
		"the first there is":              {stdin: `{"b":"x"}`, want: "x", paths: []string{"a", "b"}},
		"the first of two":                {stdin: `{"b":"x","a":"y"}`, want: "y", paths: []string{"a", "b"}},
		"twice":                           {stdin: `{"a":"x","a":"y"}`, want: "y"},
		"twice, the parent":               {stdin: `{"a":{"b":"x"},"a":{"b":"y"}}`, want: "y", paths: []string{"a.b"}},
		"a name with an escape":           {stdin: `{"\u0061":"x"}`, want: "x"},
		"escapes":                         {stdin: `{"a":"\"\\\/\b\f\n\r\t"}`, want: "\"\\/\b\f\n\r\t"},
		"a backslash at the end":          {stdin: `{"a":"x\\","b":"y"}`, want: `x\`},
		"a backslash and a mark":          {stdin: `{"a":"x\\\"y"}`, want: `x\"y`},
		"a mark at the end":               {stdin: `{"a":"x\""}`, want: `x"`},
		"a line end that is kept":         {stdin: `{"a":"x\n\n"}`, want: "x\n\n"},
		"letters beyond ASCII":            {stdin: `{"a":"é\u00e9€\u20ac"}`, want: "éé€€"},
		"a pair of surrogates":            {stdin: `{"a":"\ud83d\ude00!"}`, want: "😀!"},
		"a NUL":                           {stdin: `{"a":"x\u0000y"}`, want: "xy"},
		"percent signs and ampersands":    {stdin: `{"a":"%s %d & \\& $1"}`, want: `%s %d & \& $1`},
		"text that is like awk's":         {stdin: `{"a":"a=b"}`, want: "a=b"},
		"spaces all over":                 {stdin: "\n{ \"b\" : [ 1 , {\"a\":2} ] ,\n\t\"a\" : \"x\" }\n", want: "x"},
		"no JSON":                         {stdin: "a", exit: 3},
		"nothing":                         {exit: 3},
		"a list at the top":               {stdin: `["a"]`, exit: 3},
		"a string at the top":             {stdin: `"a"`, exit: 3},
		"an end that is missing":          {stdin: `{"a":"x"`, exit: 3},
		"a string without an end":         {stdin: `{"a":"x`, exit: 3},
		"a bracket of the wrong kind":     {stdin: `{"a":"x"]`, exit: 3},
		"a second object behind":          {stdin: `{"a":"x"}{"a":"y"}`, exit: 3},
		"something behind":                {stdin: `{"a":"x"} true`, exit: 3},
		"a shell's special characters":    {stdin: `{"a":"$(touch x) ; ` + "`touch x`" + ` 'q'"}`, want: "$(touch x) ; `touch x` 'q'"},
		"a path with an option's name":    {stdin: `{"a":"-n"}`, want: "-n"},
		"a name with a quotation mark":    {stdin: `{"x\"a":"y","a":"z"}`, want: "z"},
		"a string in a list before":       {stdin: `{"b":["a","x"],"a":"y"}`, want: "y"},
		"a value like the name before it": {stdin: `{"b":"a","c":"x","a":"y"}`, want: "y"},
	}
	for awk, w := range awks(t) {
		t.Run(awk, func(t *testing.T) {
			for name, tt := range tests {
				t.Run(name, func(t *testing.T) {
					paths := tt.paths
					if paths == nil {
						paths = []string{"a"}
					}
					s := w.run(t, nil, []byte(tt.stdin), "jsonget", paths...)
					if s.exit != tt.exit || s.stdout != tt.want || s.stderr != "" {
						t.Errorf("got %+v, want %q and exit code %d", s, tt.want, tt.exit)
					}
				})
			}
			if left, err := os.ReadDir(w.project); err != nil || len(left) > 0 {
				t.Errorf("left behind in %s: %v %v", filepath.Base(w.project), left, err)
			}
		})
	}
}

// TestJSONGetReadsWhatGoWrites takes all bytes there are through an encoder.
func TestJSONGetReadsWhatGoWrites(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for r := rune(1); r < 0x3000; r += 1 + r/64 {
		text.WriteRune(r)
	}
	text.WriteString(strings.Repeat(`"\`, 50_000))
	in, err := json.Marshal(map[string]any{"tool_input": map[string]any{"content": text.String(), "command": text.String()}})
	if err != nil {
		t.Fatal(err)
	}
	for awk, w := range awks(t) {
		t.Run(awk, func(t *testing.T) {
			if s := w.run(t, nil, in, "jsonget", "tool_input.command"); s.exit != 0 || s.stdout != text.String() {
				t.Errorf("exit code %d and %d bytes, want the %d bytes that went in: %s", s.exit, len(s.stdout), text.Len(), s.stderr)
			}
		})
	}
}

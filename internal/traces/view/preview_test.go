package view

import (
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/termtext"
)

func TestPreview(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"a command":                     {`{"command":"npm test","requires_approval":false}`, "npm test"},
		"commands":                      {`{"commands":["go vet ./...","go test ./..."]}`, "go vet ./..., go test ./..."},
		"a path":                        {`{"absolutePath":"/home/x/src/a.ts","content":"x","path":"src/a.ts"}`, "/home/x/src/a.ts"},
		"files":                         {`{"files":[{"path":"a.go"},{"path":"b.go","start_line":3}]}`, "a.go, b.go"},
		"a pattern before its folder":   {`{"path":"src","regex":"app\\.get"}`, `app\.get`},
		"an unknown parameter":          {`{"zebra":"z","alpha":"a"}`, "a"},
		"numbers alone":                 {`{"x":1}`, ""},
		"no parameters":                 {`{}`, ""},
		"nothing":                       {"", ""},
		"no JSON":                       {"ls -la", "ls -la"},
		"JSON that is a string":         {`"ls"`, `"ls"`},
		"more lines than one":           {`{"command":"cat <<EOF\nhello\nEOF"}`, "cat <<EOF hello EOF"},
		"a patch":                       {`{"command":"*** Begin Patch\n*** Add File: new.txt\n+x\n*** Delete File: old.txt\n*** End Patch"}`, "new.txt, old.txt"},
		"a patch without a file":        {`{"command":"*** Begin Patch…"}`, "*** Begin Patch…"},
		"a string cut short":            {`{"command":"cat > a.txt <<EOF\nhello wor…"}`, "cat > a.txt <<EOF hello wor…"},
		"a list cut short":              {`{"commands":["go vet","go te…",{"…":3}]}`, "go vet, go te…, …"},
		"members left out":              {`{"…":3}`, "…"},
		"an escaped backslash at end":   {`{"command":"one\\…"}`, `one\…`},
		"cut in a text before the path": {`{"diff":"------- SEARCH\nfoo…"}`, "------- SEARCH foo…"},
		"JSON without its end":          {`{"command":"one`, `{"command":"one`},
		"broken beyond repair":          {`{"a" "b"`, `{"a" "b"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := preview(c.in); got != c.want {
				t.Errorf("preview(%q): got %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestPreviewOfHugeArguments(t *testing.T) {
	for _, in := range []string{
		`{"command":"` + strings.Repeat("x", 10<<20) + `"}`,
		strings.Repeat(`{"a":[`, 1<<20),
		strings.Repeat("\\", 1<<20),
	} {
		if got := preview(in); len(got) > maxLine {
			t.Errorf("preview of %.20q... has %d bytes", in, len(got))
		}
	}
}

func FuzzPreview(f *testing.F) {
	for _, s := range []string{
		`{"command":"npm test"}`, `{"command":"one","…":2}`, `{"files":[{"path":"a`, `["\\`, `{"a":"\`, "{", "[", `{"a":tru`, "\x1b", `{"command":"\u001b[2J"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := preview(s)
		if got != termtext.Line(got) {
			t.Errorf("preview(%q) gives %q, which is not safe", s, got)
		}
	})
}

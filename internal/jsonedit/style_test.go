package jsonedit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDetectStyle(t *testing.T) {
	tests := map[string]struct {
		text string
		want Style
	}{
		"two spaces":      {"{\n  \"a\": 1\n}\n", Style{"\n", "  ", ": ", ", "}},
		"four spaces":     {"{\n    \"a\": 1\n}", Style{"\n", "    ", ": ", ", "}},
		"tabs":            {"{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}", Style{"\n", "\t", ": ", ", "}},
		"not indented":    {"{\n\"a\":1\n}", Style{"\n", "", ":", ","}},
		"CRLF":            {"{\r\n  \"a\" : 1\r\n}\r\n", Style{"\r\n", "  ", " : ", ", "}},
		"one line":        {`{"a":1,"b":2}` + "\n", Style{"", "  ", ":", ","}},
		"one line, loose": {`{ "a": 1, "b": 2 }`, Style{"", "  ", ": ", ", "}},
		"empty":           {"{}", Style{"\n", "  ", ": ", ", "}},
		"opened late":     {"{\"a\": {\n   \"b\": 1}}", Style{"\n", "   ", ": ", ", "}},
		"value on a separate line": {
			"{\n  \"a\":\n    1\n}", Style{"\n", "  ", ": ", ", "},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root, err := Parse([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, DetectStyle([]byte(tt.text), root)); diff != "" {
				t.Errorf("style (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRender(t *testing.T) {
	v := Object{
		{"text", "<a> & \"b\"\n\u2028\x01"},
		{"list", Array{1, -2, true, false, Raw("1.50"), nil, 1.5}},
		{"empty", Array{Object{}, Array{}}},
	}
	tests := map[string]struct {
		st     Style
		indent string
		want   string
	}{
		"one line": {
			Style{Colon: ":", Comma: ","},
			"",
			`{"text":"<a> & \"b\"\n\u2028\u0001","list":[1,-2,true,false,1.50,null,null],"empty":[{},[]]}`,
		},
		"lines, inside of something": {
			Style{Newline: "\r\n", Indent: "\t", Colon: " : ", Comma: ","},
			"\t",
			"{\r\n\t\t\"text\" : \"<a> & \\\"b\\\"\\n\\u2028\\u0001\",\r\n\t\t\"list\" : [\r\n\t\t\t1,\r\n\t\t\t-2,\r\n\t\t\ttrue,\r\n\t\t\tfalse,\r\n\t\t\t1.50," +
				"\r\n\t\t\tnull,\r\n\t\t\tnull\r\n\t\t],\r\n\t\t\"empty\" : [\r\n\t\t\t{},\r\n\t\t\t[]\r\n\t\t]\r\n\t}",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.st.Render(v, tt.indent)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

package transcript

import "testing"

func TestCanonicalJSON(t *testing.T) {
	for in, want := range map[string]string{
		``:                                ``,
		`{"b": 1.50, "a": [ "<&>", {} ]}`: `{"a":["<&>",{}],"b":1.50}`,
		`12345678901234567890`:            `12345678901234567890`,
		`{"cut`:                           `{"cut`,
		`null`:                            `null`,
	} {
		if got := CanonicalJSON([]byte(in)); got != want {
			t.Errorf("CanonicalJSON(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestMessageContentMayBeAString(t *testing.T) {
	if got := DecodeContent([]byte(`"hi"`)).Text(); got != "hi" {
		t.Errorf("text of a string = %q", got)
	}
	c := DecodeContent([]byte(`[{"type":"text","text":"a"},7,{"type":"image"},{"type":"tool_use","id":"t"},{"type":"text","text":"b"}]`))
	if c.Text() != "a\nb" || len(c.ToolIDs()) != 1 {
		t.Errorf("text = %q, tool ids = %q", c.Text(), c.ToolIDs())
	}
}

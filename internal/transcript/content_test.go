package transcript

import "testing"

func TestMessageContentMayBeAString(t *testing.T) {
	if got := DecodeContent([]byte(`"hi"`)).Text(); got != "hi" {
		t.Errorf("text of a string = %q", got)
	}
	c := DecodeContent([]byte(`[{"type":"text","text":"a"},7,{"type":"image"},{"type":"tool_use","id":"t"},{"type":"text","text":"b"}]`))
	if c.Text() != "a\nb" || len(c.ToolIDs()) != 1 {
		t.Errorf("text = %q, tool ids = %q", c.Text(), c.ToolIDs())
	}
}

package cline

import "testing"

func TestMCPServerOfEachDialect(t *testing.T) {
	for _, c := range []struct{ tool, input, want string }{
		{"use_mcp_tool", `{"server_name":"github","tool_name":"get_issue"}`, "github"},
		{"use_mcp_tool", `{"tool_name":"get_issue"}`, ""},
		{"github__get_issue", `{}`, "github"},
		{"read_file", `{"server_name":"github"}`, ""},
	} {
		if got := MCPServer(c.tool, c.input); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.input, got, c.want)
		}
	}
}

package translate

import (
	"crypto/sha1" //nolint:gosec // Cline's SDK names tools by it; it protects nothing.
	"encoding/hex"
	"strings"

	"github.com/hookspan/hookspan/internal/jstext"
)

const (
	// mcpByName is the one classic tool for all tools of MCP servers. The SDK has
	// one tool for each, with the server's name before "__".
	mcpByName = "use_mcp_tool"
	// mcpPrefix begins Claude's names of tools of MCP servers.
	mcpPrefix = "mcp__"
	// maxSDKName is the length of the SDK's longest names of tools, sdkHash the
	// length of the hash at the end of some.
	maxSDKName, sdkHash = 64, 8
)

// mcpTool reads a call of mcpByName. The name that the SDK gives the tool is an
// alias, since a matcher may have been written for it.
func mcpTool(_ place, _ any, params map[string]any) toolCall {
	if params["server_name"] == nil {
		return toolCall{}
	}
	server, name := text(params["server_name"]), text(params["tool_name"])
	op := operation{tool: mcpPrefix + mcpPart(server) + "__" + mcpPart(name), twin: sdkName(server, name), value: params}
	if mcpPrefix+op.twin != op.tool {
		op.aliases = []string{mcpPrefix + op.twin}
	}
	args := parsed(params["arguments"])
	if given, ok := args.(map[string]any); ok {
		op.input = sorted(given)
	} else if text(args) != "" {
		op.input = object{{"arguments", args}}
	}
	op.back = func(_ object, updated map[string]any) (any, []string, error) {
		if _, isText := params["arguments"].(string); isText {
			return with(params, "arguments", text(updated)), nil, nil
		}
		return with(params, "arguments", updated), nil, nil
	}
	return one(op)
}

// mcpPart is a server's or a tool's name as Claude Code writes it in the name of
// an MCP tool.
func mcpPart(name string) string { return jstext.Replace(name, allowedInName, '_') }

// allowedInName reports whether names of tools may have a character.
func allowedInName(r rune) bool {
	return r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// sdkName is the name that Cline's SDK gives a tool of an MCP server. Where the
// plain name is too long or has other characters, each run of these becomes "_",
// and the beginning of the plain name's hash follows.
func sdkName(server, tool string) string {
	raw := server + "__" + tool
	var b strings.Builder
	replaced := false
	for _, r := range raw {
		if allowedInName(r) {
			b.WriteRune(r)
		} else if !replaced {
			b.WriteByte('_')
		}
		replaced = !allowedInName(r)
	}
	name := b.String()
	if name == raw && len(raw) <= maxSDKName {
		return raw
	}
	sum := sha1.Sum([]byte(raw)) //nolint:gosec // As above.
	return name[:min(len(name), maxSDKName-1-sdkHash)] + "_" + hex.EncodeToString(sum[:])[:sdkHash]
}

// withoutHash removes what looks like the hash of sdkName from a name.
func withoutHash(name string) (string, bool) {
	at := len(name) - sdkHash - 1
	if at <= 0 || name[at] != '_' || strings.Trim(name[at+1:], "0123456789abcdef") != "" {
		return name, false
	}
	return name[:at], true
}

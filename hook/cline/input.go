package cline

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// maxEmbeddedDepth bounds how deeply nested a text may be that is unfolded into
// an input, so that the input itself stays far from the limit of JSON readers.
const maxEmbeddedDepth = 100

// mcpTool is the one classic tool with a parameter that is JSON by contract.
const (
	mcpTool      = "use_mcp_tool"
	mcpArguments = "arguments"
)

// MCPServer returns the MCP server of a tool: a parameter of the one tool for all servers
// in the classic and the next dialect, the beginning of the name, server__tool, in the SDK's.
func MCPServer(tool, input string) string {
	if tool == mcpTool {
		return rawjson.Members([]byte(input)).Text("server_name")
	}
	if server, _, ok := strings.Cut(strings.TrimPrefix(tool, "mcp__"), "__"); ok {
		return server
	}
	return ""
}

// parameters is rawjson.Canonical for the tool parameters of the classic and the
// next dialect, whose values are always strings: the host turns anything else
// into JSON text. Such texts are unfolded again, so that an input reads, and
// compares, like the one the model wrote.
//
// A parameter may also be a text that merely looks like JSON, the content of a
// file for one. Three things keep it whole: parameters that hold text by their
// tool's contract are never unfolded; others only if the text is exactly what
// the host's JSON.stringify writes, so that at most the order of keys, which
// has no meaning in JSON, is lost; and the rule looks at nothing but the value,
// so the two ends of a call cannot differ.
func parameters(tool string, raw []byte) string {
	if !unfolds(raw) {
		return rawjson.Canonical(raw)
	}
	v, ok := rawjson.Parse(raw)
	if !ok {
		return ""
	}
	params, ok := v.(map[string]any)
	if !ok {
		return rawjson.Encode(v)
	}
	for key, value := range params {
		s, isText := value.(string)
		if !isText || holdsText(key) {
			continue
		}
		if embedded, ok := unfold(s, tool == mcpTool && key == mcpArguments); ok {
			params[key] = embedded
		}
	}
	return rawjson.Encode(params)
}

// unfolds reports that one of the parameters may be a text to unfold.
func unfolds(raw []byte) (may bool) {
	isObject := rawjson.EachMember(raw, func(key, value []byte) {
		if may || value[0] != '"' || holdsText(string(key)) {
			return
		}
		first := bytes.TrimLeft(value[1:], " \t\r\n")[0]
		may = first == '{' || first == '[' || first == '\\'
	})
	return may || !isObject
}

// holdsText reports whether a parameter of this name is text in all of Cline's tools:
// contents and edits of files, commands, messages.
func holdsText(key string) bool {
	switch key {
	case "content", "diff", "patch", "old_text", "new_text", "old_str", "new_str", "insert_text",
		"command", "text", "input", "prompt", "task", "systemPrompt", "summary", "question", "response", "result":
		return true
	}
	return false
}

// unfold parses a text that holds a JSON object or array. Unless anyForm is
// set, the text must be in the form JSON.stringify writes.
func unfold(s string, anyForm bool) (any, bool) {
	trimmed := strings.TrimLeft(s, " \t\r\n")
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return nil, false
	}
	raw := []byte(s)
	if !rawjson.ValidWithin(raw, maxEmbeddedDepth) {
		return nil, false
	}
	v, ok := rawjson.Parse(raw)
	if !ok || anyForm {
		return v, ok
	}
	// White space, doubled keys, half surrogates and needless escapes do not
	// survive parsing and encoding. Each changes the length; the order of keys
	// does not.
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil || compact.Len() != len(raw) {
		return nil, false
	}
	return v, len(rawjson.Encode(v)) == len(raw)
}

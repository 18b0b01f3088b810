package record

import (
	"bytes"
	"slices"
	"strings"
)

// noText replaces a text. It is not empty, so that an event still has a prompt, a result
// or an error, as before.
const noText = `"-"`

// The names, in lower case without _ and -, whose strings are no texts: words and ids
// that the mapping needs, and folders and files of the agent itself. So are names that
// end in "id".
var (
	wordNames = []string{
		"agent", "agenttype", "at", "clineversion", "compactionstrategy", "completionstatus", "conversationhistorydeleted", "created", "decision", "dialect",
		"end", "endedat", "error", "errortype", "event", "executionmode", "executionstatus", "frommodel", "hookeventname", "hookname", "lastmessagets", "level",
		"mcpservername", "messagecount", "mode", "model", "name", "notificationtype", "originkind", "originname", "outcome", "parent", "permission", "permissionmode", "provider", "reason", "resulttype",
		"role", "servername", "session", "severity", "slug", "source", "sourcetype", "start", "startedat", "state", "status", "subagentname", "terminatereason",
		"time", "timestamp", "tomodel", "tool", "toolname", "trigger", "turn", "type", "version",
	}
	pathNames = []string{"agenttranscriptpath", "contextjsonpath", "contextrawpath", "cwd", "rootpath", "transcriptpath", "workspaceroots"}
	// inputNames hold what a tool is called with, where any name can have a text.
	inputNames = []string{"args", "arguments", "input", "parameters", "toolargs", "toolinput"}
)

const (
	longestWord = 200
	longestPath = 4 << 10
)

// withoutTexts returns a JSON payload with the same members and without texts, for the
// spool of a machine that keeps none.
func withoutTexts(data []byte) []byte {
	type level struct {
		name         string
		object, text bool
	}
	out := make([]byte, 0, len(data))
	stack := []level{{}}
	for i := 0; i < len(data); i++ {
		top := &stack[len(stack)-1]
		switch b := data[i]; b {
		case '{', '[':
			stack = append(stack, level{name: top.name, object: b == '{', text: top.text || slices.Contains(inputNames, top.name)})
			out = append(out, b)
		case '}', ']':
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
			out = append(out, b)
		case '"':
			end := textEnd(data, i)
			value := data[i:end]
			switch isName := top.object && bytes.HasPrefix(bytes.TrimLeft(data[end:], " \t\r\n"), []byte(":")); {
			case isName && isWord(value) && len(value) < longestWord:
				top.name = strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(string(value[1 : len(value)-1])))
				out = append(out, value...)
			case isName:
				top.name = ""
				out = append(out, noText...)
			case len(value) == len(`""`) || !top.text && plainText(top.name, value):
				out = append(out, value...)
			default:
				out = append(out, noText...)
			}
			i = end - 1
		default:
			out = append(out, b)
		}
	}
	return out
}

// textEnd is the index behind the string that begins at start.
func textEnd(data []byte, start int) int {
	for i := start + 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// plainText reports a string that is no text, by the name of its member and its form.
func plainText(name string, quoted []byte) bool {
	switch {
	case slices.Contains(pathNames, name):
		return len(quoted) < longestPath
	case name == "error":
		return len(bytes.Trim(quoted, `"abcdefghijklmnopqrstuvwxyz_`)) == 0
	}
	return len(quoted) < longestWord && isWord(quoted) && (strings.HasSuffix(name, "id") || slices.Contains(wordNames, name))
}

// isWord reports a quoted string of letters, digits and the marks of ids and names.
func isWord(quoted []byte) bool {
	return !slices.ContainsFunc(quoted[1:max(1, len(quoted)-1)], func(b byte) bool {
		return (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && (b < '0' || b > '9') && !bytes.Contains([]byte("_-.:/@+[]#"), []byte{b})
	})
}

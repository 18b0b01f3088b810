package hook

import "strings"

// KeyRun is the attribute of a resource that has the id of a `hookspan run`.
const KeyRun = "hookspan.run.id"

// A `hookspan run` within another has that one's id, a dot and these hexadecimal digits. Deeper
// ones have none of those around them.
const runDigits, runDepth = 16, 16

// RunID returns an id of a `hookspan run`, and nothing for what no run has made.
func RunID(text string) string {
	for part := range strings.SplitSeq(text, ".") {
		if len(part) != runDigits || strings.Trim(part, "0123456789abcdef") != "" {
			return ""
		}
	}
	if len(text) > runDepth*(runDigits+1) {
		return ""
	}
	return text
}

// RunWithin returns the id of a run with these digits within the run outer, if that is one.
func RunWithin(outer, digits string) string {
	if id := RunID(outer + "." + digits); id != "" {
		return id
	}
	return digits
}

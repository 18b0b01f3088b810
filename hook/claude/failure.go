package claude

import (
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/jstext"
)

// FailureText returns what a call or a request failed with as people read it: without the
// element that marks it for the model, and with a date for the seconds behind a limit.
func FailureText(text string) string {
	const begin, end = "<tool_use_error>", "</tool_use_error>"
	if rest, found := strings.CutPrefix(jstext.Trim(text), begin); found {
		return jstext.Trim(strings.TrimSuffix(rest, end))
	}
	if i := strings.LastIndexByte(text, '|'); i >= 0 && strings.HasSuffix(text[:i], "reached") {
		if sec, err := strconv.ParseInt(strings.TrimSpace(text[i+1:]), 10, 64); err == nil && sec > 0 && sec < 1<<33 {
			return text[:i] + ", until " + time.Unix(sec, 0).UTC().Format("2006-01-02 15:04 UTC")
		}
	}
	return text
}

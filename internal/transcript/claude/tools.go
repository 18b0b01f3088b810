package claude

import (
	"bytes"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// toolUse is a tool call without its result.
type toolUse struct {
	id    string
	name  string
	input string
	turn  string
	agent string
	at    time.Time
	line  int
}

// denials are the beginnings of results of calls that were not allowed to run.
// Since 2.1.205 the row has a member for it; these are for older rows.
var denials = [...]string{
	"Permission to use ",
	"Claude requested permissions to ",
	"PreToolUse:",
	"Cannot write to ", // in plan mode
	"Permission for this action was denied by the Claude Code auto mode classifier",
	"No tools needed for suggestion",            // what the user may type next
	"Tool use is not allowed during compaction", // which begins with the conversation's tools
}

// refusal begins the result of a call that the user refused, or that was
// running when the user interrupted.
const refusal = "The user doesn't want to "

// toolStatus returns how a call ended by its row. asked reports that a rule or
// the user denied it: Claude Code has the same words for a running tool that the
// user stops.
func toolStatus(r *row, failed bool, text string) (status hook.ToolStatus, asked bool) {
	switch kind := r.text("toolDenialKind"); kind {
	case "":
	case "interrupted", "cancelled":
		return hook.ToolCancelled, false
	default:
		return hook.ToolDenied, kind != "user-rejected" || r.decided()
	}
	result := r.Get("toolUseResult")
	if bytes.Contains(result, []byte(`"interrupted"`)) && string(rawjson.Member(result, "interrupted")) == "true" {
		return hook.ToolCancelled, false
	}
	if !failed {
		return hook.ToolOK, false
	}
	if r.decided() && r.in("permissionDecision", "decision") == "reject" {
		return hook.ToolDenied, true
	}
	if r.text("toolUseResult") == "User rejected tool use" || strings.HasPrefix(text, refusal) {
		return hook.ToolDenied, false
	}
	for _, words := range denials {
		if strings.HasPrefix(text, words) {
			return hook.ToolDenied, true
		}
	}
	return hook.ToolFailed, false
}

// decided reports that the row has a decision, or the user's words when making
// it.
func (r *row) decided() bool {
	return rawjson.Members(r.Get("permissionDecision")) != nil || r.text("userFeedback") != ""
}

// neverAsks are the permission modes in which the user is not asked, and can
// refuse a call only by interrupting.
var neverAsks = map[string]bool{"bypassPermissions": true, "dontAsk": true}

// wasRunning reports whether a call that its result calls refused, just before
// the turn was interrupted, was running. A call that the user decided on has the
// decision in its row, at least since 2.1.329; in some modes the user never
// decides.
func wasRunning(version, mode string) bool {
	return neverAsks[mode] || !olderThan(version, 2, 1, 329)
}

// olderThan compares a version of three numbers; any other text counts as older.
func olderThan(version string, want ...int) bool {
	for _, w := range want {
		var digits string
		digits, version, _ = strings.Cut(version, ".")
		n := 0
		for i := 0; i < len(digits); i++ {
			if digits[i] < '0' || digits[i] > '9' || n > 1e6 {
				return true
			}
			n = 10*n + int(digits[i]-'0')
		}
		if digits == "" || n < w {
			return true
		}
		if n > w {
			return false
		}
	}
	return false
}

// resultText reads the content of a tool's result: a text, or blocks.
func resultText(raw []byte) string {
	c := transcript.DecodeContent(raw)
	if c == nil && len(raw) > 0 && raw[0] != '[' && raw[0] != '"' {
		return transcript.ScalarText(raw)
	}
	parts := make([]string, 0, len(c))
	for _, b := range c {
		switch {
		case b.Type == "text":
			parts = append(parts, b.Text)
		case b.Type != "":
			parts = append(parts, "["+b.Type+"]")
		}
	}
	return strings.Join(parts, "\n")
}

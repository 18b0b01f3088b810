package cline

import (
	"strings"

	"github.com/hookspan/hookspan/internal/jstext"
)

// PromptText is what the user typed of a message in the form of Cline's SDK,
// which is also that of the next dialect: without the element and the notices
// that Cline puts around it. The text is empty where the user asked Cline to
// continue and typed nothing, for which Cline sends a fixed text.
//
// asked is false for a message that Cline wrote to steer the model, which comes
// back as it is.
//
// Only the outer form that Cline writes is removed, so that tags within a
// prompt stay. Cline removes such tags itself where they would be ambiguous
// (sdk/packages/shared/src/prompt/format.ts).
func PromptText(message string) (text string, asked bool) {
	text = jstext.Trim(message)
	inner, wrapped := userInput(withoutNotices(text))
	if !wrapped {
		for _, mark := range [...]string{"[SYSTEM]", "<hook_context"} {
			if strings.HasPrefix(text, mark) {
				return message, false
			}
		}
		inner = text
	}
	text = userCommand(withoutNotices(inner))
	// The texts for a task that is resumed, and for a plan that is approved
	// (sdk-followup-coordinator.ts, sdk-user-message-mapping.ts). A prompt that
	// merely begins like one was typed, and a guard must see it.
	switch text {
	case "[TASK RESUMPTION] Please continue where you left off.",
		"The user approved switching to act mode. Continue with the approved plan now.":
		return "", true
	}
	return text, true
}

// userInput is the content of the element that Cline puts around a prompt,
// <user_input mode="act">. Attached files may follow it.
func userInput(text string) (string, bool) {
	const end = "</user_input>"
	mode, rest, ok := cutPast(text, `<user_input mode="`, `">`)
	if !ok || mode == "" || strings.Trim(mode, "abcdefghijklmnopqrstuvwxyz") != "" {
		return "", false
	}
	for at := 0; ; at += len(end) {
		i := strings.Index(rest[at:], end)
		if i < 0 {
			return "", false
		}
		at += i
		// The text may quote the end tag.
		behind := strings.TrimLeft(rest[at+len(end):], " \t\r\n")
		if behind == "" || strings.HasPrefix(behind, `<file_content path="`) {
			return jstext.Trim(rest[:at]), true
		}
	}
}

// userCommand is the content of the element around a slash command's text.
func userCommand(text string) string {
	if _, rest, ok := cutPast(text, `<user_command slash="`, `">`); ok {
		if inner, ok := strings.CutSuffix(rest, "</user_command>"); ok {
			return jstext.Trim(inner)
		}
	}
	return text
}

// withoutNotices is a text without the notices of a switch between planning and
// acting that precede it.
func withoutNotices(text string) string {
	for {
		_, rest, ok := cutPast(text, "<mode_notice>", "</mode_notice>")
		if !ok {
			return text
		}
		text = jstext.Trim(rest)
	}
}

// cutPast splits a text that begins with open at the first close behind it.
func cutPast(text, open, close string) (within, rest string, ok bool) {
	if rest, ok = strings.CutPrefix(text, open); !ok {
		return "", text, false
	}
	return strings.Cut(rest, close)
}

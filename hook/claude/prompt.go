package claude

import (
	"strings"

	"github.com/hookspan/hookspan/internal/jstext"
)

// besides are the elements that Claude Code puts before or behind what the user typed.
var besides = [...]string{"ide_opened_file", "ide_selection", "ide_diagnostics", "system-reminder"}

// notices are the elements of prompts that Claude Code writes: the report of a background
// task, under three names, and the words of another agent of the team. Other prompts that it
// writes look like typed ones.
var notices = [...]string{"task-notification", "agent-notification", "bash-notification", "teammate-message"}

// Typed returns what the user typed of a prompt, without what Claude Code put beside it.
func Typed(prompt string) string {
	for again := true; again; {
		again = false
		trimmed := jstext.Trim(prompt)
		for _, name := range besides {
			begin, end := "<"+name+">", "</"+name+">"
			if strings.HasPrefix(trimmed, begin) {
				if _, rest, closed := strings.Cut(trimmed, end); closed {
					prompt, again = jstext.Trim(rest), true
					break
				}
			}
			if i := strings.LastIndex(trimmed, begin); i > 0 && strings.HasSuffix(trimmed, end) {
				prompt, again = jstext.Trim(trimmed[:i]), true
				break
			}
		}
	}
	return prompt
}

// Injected reports whether Claude Code wrote the prompt and not the user.
func Injected(prompt string) bool {
	prompt = jstext.Trim(prompt)
	for _, name := range notices {
		if rest, found := strings.CutPrefix(prompt, "<"+name); found && rest != "" && (rest[0] == '>' || rest[0] == ' ') && strings.Contains(rest, "</"+name+">") {
			return true
		}
	}
	// Around 2.1.45 a report that waits is not yet put into words.
	return strings.HasPrefix(prompt, `{"task_id":"`) && strings.HasSuffix(prompt, "}")
}

// Summary returns the summary in a prompt that Claude Code wrote, such as the report
// that a background task has ended; empty if there is none.
func Summary(prompt string) string {
	if text := element(prompt, "summary"); text != "" {
		return text
	}
	_, rest, found := strings.Cut(prompt, "<teammate-message")
	if !found {
		return ""
	}
	head, body, _ := strings.Cut(rest, ">")
	if text := attribute(head, "summary"); text != "" {
		return text
	}
	body, _, _ = strings.Cut(body, "</teammate-message>")
	if body = jstext.Trim(body); body != "" && body[0] != '{' {
		return body
	}
	return jstext.Trim("Message from " + attribute(head, "teammate_id"))
}

// attribute returns the value of an attribute in the head of an element.
func attribute(head, name string) string {
	_, rest, _ := strings.Cut(head, " "+name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return jstext.Trim(value)
}

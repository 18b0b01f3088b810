package claude

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/transcript"
)

// maxQueued bounds the prompts that wait.
const maxQueued = 32

// addQueued adds what the user typed while the agent was at work: the model gets it within
// the turn, as an attachment. Versions around 2.1.50 only note that it was queued, and that
// it was taken from there; what is taken for a turn of its own has a row then.
func (l *fileLog) addQueued(r *row) {
	if !l.lead(r) || r.at.IsZero() || l.elsewhere(r) {
		return
	}
	text := ""
	switch r.text("operation") {
	case "enqueue":
		l.queue = append(l.queue[max(0, len(l.queue)-maxQueued+1):], r.text("content"))
	case "popAll":
		l.queue = nil
	case "dequeue", "remove":
		if len(l.queue) > 0 {
			text, l.queue = l.queue[0], l.queue[1:]
		}
		if r.text("operation") == "dequeue" {
			return
		}
		text, l.removed, l.attached = other(text, l.attached)
	default:
		mode := r.in("attachment", "commandMode")
		if r.in("attachment", "type") != "queued_command" || mode != "" && mode != "prompt" {
			return
		}
		text = r.in("attachment", "prompt")
		text, l.attached, l.removed = other(text, l.removed)
	}
	if text == "" || claude.Injected(text) {
		return
	}
	l.b.prompts = append(l.b.prompts, hook.Prompt{At: r.at, Text: l.b.texts.Keep(text), Turn: l.turn, Queued: true})
}

// other returns a queued prompt, unless it is the one that was noted the other way: later
// versions note both. Then come the newest prompts that were noted one way only.
func other(text, noted string) (fresh, own, left string) {
	if text != "" && text == noted {
		return "", "", ""
	}
	return text, text, noted
}

// addUser adds a row that the model reads: tools' results, a prompt, or a text
// of Claude Code's.
func (l *fileLog) addUser(r *row) {
	l.turn = cmp.Or(r.text("promptId"), l.turn)
	c := r.content()
	text, kind := r.userText(c)
	l.asked, l.done = r.at, false
	lead := l.lead(r)
	switch kind {
	case textNone:
		l.addResults(r, c)
	case textPrompt, textCommand:
		l.begun = true
		l.follow(r)
		l.mode = cmp.Or(r.text("permissionMode"), l.mode)
		if l.opened == "" && l.task == "" {
			l.opened, l.task = l.turn, text
		}
		if !lead {
			return
		}
		l.dropCommand()
		l.wasOpen = l.b.ends.open
		if kind == textPrompt {
			l.turn = r.text("promptId") // none in a version that does not name it: it is not the turn before
			l.b.ends.prompt(l.turn)
			l.refused = l.refused[:0]
		}
		l.b.prompts = append(l.b.prompts, hook.Prompt{
			At: r.at, Text: l.b.texts.Keep(text), Turn: r.text("promptId"), Injected: r.injected(text),
		})
		if kind == textCommand {
			l.command = len(l.b.prompts)
		}
	case textPrinted:
		if lead {
			l.dropCommand()
		}
	case textHost:
		if lead && r.host && !strings.HasPrefix(text, "<local-command-") {
			l.command = 0 // the command's text for the model
		}
	case textInterrupt:
		l.interrupt()
		l.command, l.broke = 0, r.at
		if lead && l.begun {
			l.b.ends.interrupted(l.turn, text, r.at)
		}
	case textFeedback:
		if lead {
			l.b.ends.blocked(l.turn, text, r.at)
		}
	}
}

// follow has a prompt come after the interruption that it follows. The order of the file
// counts: a plan that is accepted with a cleared context is dated a little earlier.
func (l *fileLog) follow(r *row) {
	if late := l.broke.Sub(r.at); late > 0 && late <= transcript.LineSlack &&
		!slices.ContainsFunc(l.b.prompts, func(p hook.Prompt) bool { return p.At.Equal(r.at) }) { // else it stands there again
		r.at, l.asked = l.broke, l.broke
	}
	l.broke = time.Time{}
}

// dropCommand drops the newest prompt if it is a command that Claude Code carried out
// itself: nothing was for the model.
func (l *fileLog) dropCommand() {
	if l.command > 0 && l.command == len(l.b.prompts) {
		l.b.prompts = l.b.prompts[:l.command-1]
		l.b.ends.open = l.wasOpen
	}
	l.command = 0
}

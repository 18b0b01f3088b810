package claude

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/rawjson"
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
		// What the user typed goes first, so that the notices that wait need no place.
		if text = r.text("content"); !claude.Injected(text) {
			l.queue = append(l.queue[max(0, len(l.queue)-maxQueued+1):], text)
		}
		return
	case "popAll":
		l.queue = nil
	case "dequeue":
		if len(l.queue) > 0 {
			l.due, l.queue = strings.TrimSpace(l.queue[0]), l.queue[1:]
		}
	case "remove": // a command waits for the turn's end
		i := slices.IndexFunc(l.queue, func(text string) bool { return !strings.HasPrefix(text, "/") })
		if i < 0 {
			return
		}
		text = l.queue[i]
		l.queue = slices.Delete(l.queue, i, i+1)
		if text == "" || l.noted(text, 1) {
			return
		}
	default:
		mode := r.in("attachment", "commandMode")
		if l.agent == "" {
			l.b.addFolders(r)
		}
		if r.in("attachment", "type") != "queued_command" || mode != "" && mode != "prompt" {
			return
		}
		text = transcript.DecodeContent(rawjson.Member(r.Get("attachment"), "prompt")).Text()
		if text == "" || claude.Injected(text) || l.noted(text, -1) {
			return
		}
	}
	if text == "" {
		return
	}
	l.b.prompts = append(l.b.prompts, hook.Prompt{At: r.at, Text: l.b.texts.Keep(text), Turn: l.turn, Queued: true})
}

// noted reports that a prompt that waited was noted the other way before: later versions note
// both that it was taken from the queue, which is 1, and what the model got, which is -1.
func (l *fileLog) noted(text string, way int) bool {
	if l.given == nil {
		l.given = make(map[string]int)
	}
	before := l.given[text]
	l.given[text] += way
	return before*way < 0
}

// addUser adds a row that the model reads: tools' results, a prompt, or a text
// of Claude Code's.
func (l *fileLog) addUser(r *row) {
	c := r.content()
	l.b.kinds.MeetParts(l.path, knownParts, c, r.at, r.Object)
	text, kind := r.userText(c)
	if turn := r.text("promptId"); turn != "" && !l.continues(kind, turn, c) {
		l.turn = turn
	}
	if kind == textHost && l.due != "" && r.is("isMeta") && strings.TrimSpace(text) == l.due {
		kind = textPrompt
	}
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
			l.b.ends.prompt(l.turn, r.injected(text))
			l.refused, l.due = l.refused[:0], ""
		}
		l.begin(r.text("promptId"))
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
		if lead && l.command > 0 && r.host && !strings.HasPrefix(text, "<local-command-") {
			l.b.ends.prompt(l.turn, false)
			l.command = 0 // the command's text for the model
		}
	case textInterrupt:
		l.interrupt(r.at, strings.HasPrefix(text, interruptMark+" for tool use"))
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

// begin notes the id of a turn that has a prompt.
func (l *fileLog) begin(turn string) {
	if l.prompted == nil {
		l.prompted = make(map[string]bool)
	}
	l.prompted[turn] = true
}

// continues reports that a row belongs to the current turn, whose name is in memory once for all
// rows, or, although it names another, that a result belongs to the turn of its call: there is no
// prompt of the other. A report that the model gets meanwhile has an id.
func (l *fileLog) continues(kind textKind, turn string, c transcript.Content) bool {
	return turn == l.turn || kind == textNone && !l.prompted[turn] && slices.ContainsFunc(c, func(b transcript.Block) bool {
		use, ok := l.tools[b.ToolUseID]
		return ok && l.prompted[use.turn]
	})
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

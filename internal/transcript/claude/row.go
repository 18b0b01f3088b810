package claude

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// row is one line of a transcript: its members, which alias the line, and the
// ones that most rows are asked for.
type row struct {
	rawjson.Object
	kind string
	// at is its time in the file's order, dated what it says.
	at, dated time.Time
	sidechain bool
	// host reports that Claude Code wrote the text, not the user.
	host    bool
	message []byte
	// line is the number of the line, from where the reading began.
	line int
}

// parse reads a line and reports whether it is a row. Everything else in a
// transcript (torn lines, null, lists) is none.
func (r *row) parse(line []byte) bool {
	*r = row{Object: r.Read(line)}
	if r.Object == nil {
		return false
	}
	r.kind = r.text("type")
	r.dated = transcript.ISOTime(r.text("timestamp"))
	r.at = r.dated
	r.sidechain = r.is("isSidechain")
	r.host = r.is("isMeta") || r.is("isCompactSummary")
	r.message = r.Get("message")
	return true
}

// whole reports that the row has what all rows have, and not only a part of them.
func (r *row) whole() bool {
	return r.kind != "" && (!r.at.IsZero() || r.text("sessionId") != "")
}

// text returns the text of a member that is a string.
func (r *row) text(name string) string { return rawjson.Unquote(r.Get(name)) }

// in returns the text of a member, if it is a string, of a member.
func (r *row) in(outer, inner string) string {
	return rawjson.Unquote(rawjson.Member(r.Get(outer), inner))
}

// is reports that a member is true.
func (r *row) is(name string) bool { return string(r.Get(name)) == "true" }

// copied reports that a fork has copied the row from another session. Until some
// version before 2.1.329 every such row has forkedFrom; since then only answers
// have a sign, requestSessionId.
func (r *row) copied(session string) bool {
	asker := r.text("requestSessionId")
	return r.Get("forkedFrom") != nil || asker != "" && asker != session
}

// copiedFrom is the session the row was copied from, as far as the row says.
func (r *row) copiedFrom(session string) string {
	if asker := r.text("requestSessionId"); asker != "" && asker != session {
		return asker
	}
	return r.in("forkedFrom", "sessionId")
}

func (r *row) content() transcript.Content {
	return transcript.DecodeContent(rawjson.Member(r.message, "content"))
}

// textKind distinguishes the rows of the type "user" that hold text.
type textKind uint8

const (
	// textNone is a row that holds tools' results, or nothing.
	textNone textKind = iota
	// textPrompt opens a turn.
	textPrompt
	// textCommand is a command that Claude Code carried out itself.
	textCommand
	// textInterrupt says that the user interrupted the turn.
	textInterrupt
	// textFeedback is why one of the user's hooks would not let the turn end.
	textFeedback
	// textPrinted is what a command printed that Claude Code carried out itself.
	textPrinted
	// textHost is anything else that Claude Code wrote for the model, such as
	// what a command printed.
	textHost
)

const (
	// A text that goes on after the bracket is the user's, who quotes the mark.
	interruptMark = "[Request interrupted by user"
	feedbackMark  = "Stop hook feedback:"
)

// userText reads a user row's text and what it is.
func (r *row) userText(c transcript.Content) (string, textKind) {
	for i := range c {
		if c[i].Type == "tool_result" {
			return "", textNone
		}
	}
	whole := c.Text()
	if whole == "" && slices.ContainsFunc(c, func(b transcript.Block) bool { return b.Type == "image" || b.Type == "document" }) {
		whole = "[image]"
	}
	text := claude.Typed(whole)
	switch {
	case strings.TrimSpace(whole) == "":
		return "", textNone
	case strings.TrimSpace(text) == "":
		return whole, textHost
	case strings.HasPrefix(text, interruptMark) && strings.TrimSpace(text[strings.IndexByte(text, ']')+1:]) == "":
		return text, textInterrupt
	case r.is("isMeta") && strings.HasPrefix(text, feedbackMark):
		return strings.TrimSpace(strings.TrimPrefix(text, feedbackMark)), textFeedback
	case strings.HasPrefix(text, "<local-command-std"):
		return text, textPrinted
	case r.host, strings.HasPrefix(text, "<local-command-"), strings.HasPrefix(text, "<bash-"):
		return text, textHost
	case strings.HasPrefix(text, "<command-name>"):
		return commandText(text), textCommand
	case unknownCommand(text):
		return text, textCommand
	case strings.HasPrefix(text, "<command-message>"):
		// One of the user's own commands: the model gets its expansion in
		// another row.
		return commandText(text), textPrompt
	}
	return text, textPrompt
}

// unknownCommand reports that a text is what Claude Code says of a command that it does not
// have. Nothing marks the row.
func unknownCommand(text string) bool {
	name, ok := strings.CutPrefix(text, "Unknown skill: ")
	if !ok {
		name, ok = strings.CutPrefix(text, "Unknown slash command: ")
	}
	return ok && name != "" && !strings.ContainsAny(name, " \n")
}

// commandText is a slash command as it was typed.
func commandText(text string) string {
	name, ok := unwrap(text, "command-name")
	if !ok {
		return text
	}
	args, _ := unwrap(text, "command-args")
	return strings.TrimSpace(name + " " + args)
}

// opensTurn reports whether the row is the prompt that begins a turn.
func (r *row) opensTurn() bool {
	// A cheap look first: most user rows are tools' results, and those are the
	// large ones.
	if r.kind != "user" || r.host || bytes.Contains(r.message, []byte(`"tool_result"`)) {
		return false
	}
	_, kind := r.userText(r.content())
	return kind == textPrompt
}

// injected reports that Claude Code wrote the prompt itself, such as the report
// that a subagent in the background has ended. origin, which is newer, is who
// wrote the text, promptSource where it was entered; before, only the text shows it.
func (r *row) injected(text string) bool {
	if kind := r.in("origin", "kind"); kind != "" {
		return kind != "human"
	}
	switch r.text("promptSource") {
	case "":
		return claude.Injected(text)
	case "typed", "sdk", "queued":
		return false
	}
	return true
}

// unwrap returns the content of the first element of that name. The last end
// tag counts, as the text inside may quote one.
func unwrap(text, tag string) (string, bool) {
	_, rest, ok := strings.Cut(text, "<"+tag)
	attrs, rest, closed := strings.Cut(rest, ">")
	end := strings.LastIndex(rest, "</"+tag+">")
	if !ok || !closed || attrs != "" && attrs[0] != ' ' || end < 0 {
		return "", false
	}
	return rest[:end], true
}

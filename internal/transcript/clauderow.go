package transcript

import (
	"bytes"
	"strings"
	"time"
)

// claudeRow is one line of a transcript: the members that mean something here,
// as they stand in the line, which the slices alias.
type claudeRow struct {
	kind      []byte
	subtype   []byte
	at        time.Time
	sidechain bool
	meta      bool
	compact   bool

	session, agent, prompt, uuid []byte
	version, cwd, mode           []byte
	source, origin               []byte
	message, attachment          []byte

	// Of a model's answer. requestSession names the session that asked for it,
	// where this one is a fork and has copied the row.
	request, ref, requestSession, cost []byte
	apiError                           bool
	errorName, errorType               []byte
	agentType                          []byte
	// forkedFrom is set on a row copied from another session.
	forkedFrom []byte

	// Of a tool's result.
	result, denial, decision, feedback []byte

	// Of a request.
	id, params []byte
}

// parse reads a line and reports whether it is a row. Everything else in a
// transcript (torn lines, null, lists) is none.
func (r *claudeRow) parse(line []byte) bool {
	*r = claudeRow{}
	ok := eachMember(line, func(key, value []byte) {
		switch string(key) {
		case "type":
			r.kind = value
		case "subtype":
			r.subtype = value
		case "timestamp":
			r.at = isoTime(rawString(value)).time()
		case "isSidechain":
			r.sidechain = rawTrue(value)
		case "isMeta":
			r.meta = rawTrue(value)
		case "isCompactSummary":
			r.compact = rawTrue(value)
		case "sessionId":
			r.session = value
		case "agentId":
			r.agent = value
		case "promptId":
			r.prompt = value
		case "uuid":
			r.uuid = value
		case "version":
			r.version = value
		case "cwd":
			r.cwd = value
		case "permissionMode":
			r.mode = value
		case "promptSource":
			r.source = value
		case "origin":
			r.origin = value
		case "message":
			r.message = value
		case "attachment":
			r.attachment = value
		case "requestId":
			r.request = value
		case "requestRef":
			r.ref = value
		case "requestSessionId":
			r.requestSession = value
		case "costUSD":
			r.cost = value
		case "isApiErrorMessage":
			r.apiError = rawTrue(value)
		case "error":
			r.errorName = value
		case "apiErrorType":
			r.errorType = value
		case "attributionAgent":
			r.agentType = value
		case "forkedFrom":
			r.forkedFrom = value
		case "toolUseResult":
			r.result = value
		case "toolDenialKind":
			r.denial = value
		case "permissionDecision":
			r.decision = value
		case "userFeedback":
			r.feedback = value
		case "id":
			r.id = value
		case "params":
			r.params = value
		}
	})
	return ok
}

func (r *claudeRow) is(kind string) bool {
	return len(r.kind) == len(kind)+2 && string(r.kind[1:len(r.kind)-1]) == kind
}

// copied reports that a fork has taken the row over from another session. Until
// some version before 2.1.329 forkedFrom says so on every row; since then
// requestSessionId does, on answers alone.
func (r *claudeRow) copied(session string) bool {
	asker := rawString(r.requestSession)
	return len(r.forkedFrom) > 0 && r.forkedFrom[0] != 'n' || asker != "" && asker != session
}

// copiedFrom is the session the row was copied from, as far as the row says.
func (r *claudeRow) copiedFrom(session string) string {
	if asker := rawString(r.requestSession); asker != "" && asker != session {
		return asker
	}
	return rawString(member(r.forkedFrom, "sessionId"))
}

// messageContent is what stands in a row's message.
func (r *claudeRow) messageContent() content {
	return decodeContent(member(r.message, "content"))
}

// userText tells the rows of the type "user" apart that hold text.
type userText uint8

const (
	// textNone is a row that holds tools' results, or nothing.
	textNone userText = iota
	// textPrompt opens a turn.
	textPrompt
	// textCommand is a command that Claude Code carried out itself.
	textCommand
	// textOutput is what such a command printed.
	textOutput
	// textInterrupt says that the user broke the turn off.
	textInterrupt
	// textFeedback is why one of the user's hooks would not let the turn end.
	textFeedback
	// textHost is anything else that Claude Code wrote for the model.
	textHost
)

const (
	interruptMark = "[Request interrupted by user"
	feedbackMark  = "Stop hook feedback:"
)

// userText reads a user row's text and what it is.
func (r *claudeRow) userText(c content) (string, userText) {
	for _, b := range c {
		if b.Type == "tool_result" {
			return "", textNone
		}
	}
	text := c.text()
	switch {
	case strings.TrimSpace(text) == "":
		return "", textNone
	case strings.HasPrefix(text, interruptMark):
		return text, textInterrupt
	case r.meta && strings.HasPrefix(text, feedbackMark):
		return strings.TrimSpace(strings.TrimPrefix(text, feedbackMark)), textFeedback
	case r.meta || r.compact:
		return text, textHost
	case strings.HasPrefix(text, "<local-command-"), strings.HasPrefix(text, "<bash-"):
		return text, textOutput
	case strings.HasPrefix(text, "<command-name>"):
		return commandText(text), textCommand
	case strings.HasPrefix(text, "<command-message>"):
		// One of the user's own commands: the model gets what it stands for in
		// a row of its own.
		return commandText(text), textPrompt
	}
	return text, textPrompt
}

// commandText is a slash command as it was typed.
func commandText(text string) string {
	name, ok := unwrap(text, "command-name")
	if !ok {
		return text
	}
	args := ""
	if inner, ok := unwrap(text, "command-args"); ok {
		args = inner
	}
	return strings.TrimSpace(name + " " + args)
}

// opensTurn reports whether the row is the prompt that begins a turn.
func (r *claudeRow) opensTurn() bool {
	// A cheap look first: most user rows are tools' results, and those are the
	// large ones.
	if !r.is("user") || r.meta || r.compact || bytes.Contains(r.message, []byte(`"tool_result"`)) {
		return false
	}
	_, kind := r.userText(r.messageContent())
	return kind == textPrompt
}

// injected reports that Claude Code wrote the prompt itself, such as the news
// that a subagent in the background has ended. An origin says who wrote it; the
// source says where a text came in, and is the older of the two.
func (r *claudeRow) injected() bool {
	if kind := rawString(member(r.origin, "kind")); kind != "" {
		return kind != "human"
	}
	switch rawString(r.source) {
	case "", "typed", "sdk", "queued":
		return false
	}
	return true
}

// unwrap returns the content of the first element of that name. The last
// end tag counts, as the text inside may quote one.
func unwrap(text, tag string) (string, bool) {
	start := strings.Index(text, "<"+tag)
	if start < 0 {
		return text, false
	}
	attrs, rest, ok := strings.Cut(text[start+1+len(tag):], ">")
	if !ok || (attrs != "" && attrs[0] != ' ') {
		return text, false
	}
	end := strings.LastIndex(rest, "</"+tag+">")
	if end < 0 {
		return text, false
	}
	return rest[:end], true
}

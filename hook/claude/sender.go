package claude

import (
	"strings"

	"github.com/hookspan/hookspan/hook/internal/wire"
)

// The other agents that run hooks which were installed for Claude Code: Copilot
// reads a project's .claude/settings.json, the others take copies of its entries.
const (
	Codex   = "codex"
	Copilot = "copilot"
	Droid   = "droid"
	Gemini  = "gemini"
	Qwen    = "qwen"
)

// sender holds the members of a payload that show which agent sent it. A payload decides where
// it can: a Claude Code that was started from another agent's terminal has that
// agent's variables in its environment.
type sender struct {
	event, transcript, prompt, mode []byte
	// session is the identity in Claude's spelling, camel reports that there is one
	// in the camel case of Copilot.
	session []byte
	camel   bool
	// These report members that only some agents send.
	turn, timestamp, effort, callID bool
}

// note takes one member of a payload.
func (s *sender) note(key, value []byte) {
	value = wire.Present(value)
	switch string(key) {
	case "hook_event_name":
		s.event = value
	case "session_id":
		s.session = value
	case "transcript_path":
		s.transcript = value
	case "prompt_id":
		s.prompt = value
	case "permission_mode":
		s.mode = value
	case "sessionId":
		s.camel = value != nil
	case "turn_id":
		s.turn = value != nil
	case "timestamp":
		s.timestamp = value != nil
	case "effort":
		s.effort = value != nil
	case "tool_call_id":
		s.callID = value != nil
	}
}

// agent is the agent that sent the payload: Host, one of the constants, or empty
// where the payload leaves it open.
func (s *sender) agent() string {
	path, prompt := wire.Text(s.transcript), wire.Text(s.prompt)
	// Before the path: Claude Code's own folder can be anywhere, below another
	// agent's too.
	switch {
	case strings.Contains(prompt, "########") || s.callID:
		return Qwen
	case prompt != "" || s.effort:
		return Host
	}
	if agent := keeperOf(path); agent != "" {
		return agent
	}
	switch wire.Text(s.event) {
	case "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel", "BeforeTool", "AfterTool", "BeforeToolSelection", "PreCompress":
		return Gemini
	case "PreModelRequest", "PostModelRequest":
		return Codex
	case "MessageDisplay": // Claude Code's, too, has a turn_id.
		return ""
	}
	mode := wire.Text(s.mode)
	switch {
	case s.turn:
		return Codex
	case mode == "off" || strings.HasPrefix(mode, "auto-"):
		return Droid
	case path == "" && (s.timestamp && s.event != nil || s.camel && s.session == nil):
		// Claude Code always names its transcript and sends no time.
		return Copilot
	}
	return ""
}

// keeperOf is the agent whose transcript lies under a path, empty where the path
// does not say. Folders are told by their form, since each agent has a variable
// that moves its home: ~/.claude/projects/PROJECT/SESSION.jsonl,
// ~/.codex/sessions/YYYY/MM/DD/rollout-TIME-SESSION.jsonl,
// ~/.qwen/projects/PROJECT/chats/SESSION.jsonl,
// ~/.gemini/tmp/PROJECT/chats/session-TIME-ID.jsonl,
// ~/.copilot/session-state/SESSION/events.jsonl,
// ~/.factory/sessions/PROJECT/SESSION.jsonl.
func keeperOf(path string) string {
	// The last parts of the path: file in folder in above in top.
	rest, file := cutLast(path)
	rest, folder := cutLast(rest)
	rest, above := cutLast(rest)
	_, top := cutLast(rest)
	switch {
	case above == "projects" && strings.HasSuffix(file, ".jsonl"):
		return Host
	case folder == "chats" && top == "projects":
		return Qwen
	case folder == "chats" && strings.HasPrefix(file, "session-"):
		return Gemini
	case above == "session-state":
		return Copilot
	case strings.HasPrefix(file, "rollout-"):
		return Codex
	}
	for path != "" {
		var part string
		path, part = cutLast(path)
		if agent := ownerOf(part); agent != "" {
			return agent
		}
	}
	return ""
}

// ownerOf is the agent, other than Claude Code, that has a folder of this name in
// the user's home.
func ownerOf(folder string) string {
	switch folder {
	case ".codex":
		return Codex
	case ".copilot":
		return Copilot
	case ".factory":
		return Droid
	case ".gemini":
		return Gemini
	case ".qwen":
		return Qwen
	}
	return ""
}

// cutLast cuts the last part off a path of any system.
func cutLast(path string) (rest, last string) {
	i := strings.LastIndexAny(path, `/\`)
	return path[:max(i, 0)], path[i+1:]
}

// startedBy is the agent that the environment names as the one that runs the
// hook, empty where it names none: an identity of the session counts where it is
// this session's. Copilot gives none; it leaves out the transcript, which Claude
// Code always names.
func (s *sender) startedBy(getenv func(string) string) string {
	session := wire.Text(s.session)
	of := func(name string) bool { return session != "" && getenv(name) == session }
	switch {
	case of("QWEN_CODE_SESSION_ID"):
		return Qwen
	case of("GEMINI_SESSION_ID"):
		return Gemini
	case of("session_id") && getenv("FACTORY_PROJECT_DIR") != "":
		return Droid
	case s.transcript == nil && getenv("COPILOT_CLI") == "1":
		return Copilot
	}
	return ""
}

// Silence is the answer to another agent that runs a hook of Claude Code: none.
// Qwen Code's telemetry counts a hook as failed that prints no object.
func Silence(agent string) []byte {
	if agent == Qwen {
		return []byte("{}\n")
	}
	return nil
}

package claude

import (
	"strings"
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

// sender returns the agent that sent the payload: Host, one of the constants, or
// empty if the payload does not show it. The payload counts before the environment:
// a Claude Code that was started from another agent's terminal has that agent's
// variables.
func (p members) sender() string {
	path, prompt := p.Text("transcript_path"), p.Text("prompt_id")
	has := func(name string) bool { return p.Get(name) != nil }
	// Before the path: Claude Code's own folder can be anywhere, below another
	// agent's too.
	switch {
	case strings.Contains(prompt, "########") || has("tool_call_id"):
		return Qwen
	case prompt != "" || has("effort"):
		return Host
	}
	if agent := keeperOf(path); agent != "" {
		return agent
	}
	switch p.Text("hook_event_name") {
	case "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel", "BeforeTool", "AfterTool", "BeforeToolSelection", "PreCompress":
		return Gemini
	case "PreModelRequest", "PostModelRequest":
		return Codex
	case "MessageDisplay": // Claude Code's, too, has a turn_id.
		return ""
	}
	mode := p.Text("permission_mode")
	switch {
	case has("turn_id"):
		return Codex
	case mode == "off" || strings.HasPrefix(mode, "auto-"):
		return Droid
	case path == "" && (has("timestamp") && has("hook_event_name") || has("sessionId") && !has("session_id")):
		// Claude Code always names its transcript and sends no time. Copilot's own
		// spelling is in camel case.
		return Copilot
	}
	return ""
}

// keeperOf returns the agent whose transcript is at a path, or empty if the path does
// not show it. Folders are recognised by their form, since each agent has a variable
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
		path, file = cutLast(path)
		switch file {
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
	}
	return ""
}

// cutLast cuts the last part off a path of any system.
func cutLast(path string) (rest, last string) {
	i := strings.LastIndexAny(path, `/\`)
	return path[:max(i, 0)], path[i+1:]
}

// startedBy returns the agent that runs the hook according to the environment, or
// empty: a variable with a session's id counts if it is this session's. Copilot sets
// no such id; it leaves out the transcript, which Claude Code always names.
func (p members) startedBy(getenv func(string) string) string {
	session := p.Text("session_id")
	of := func(name string) bool { return session != "" && getenv(name) == session }
	switch {
	case of("QWEN_CODE_SESSION_ID"):
		return Qwen
	case of("GEMINI_SESSION_ID"):
		return Gemini
	case of("session_id") && getenv("FACTORY_PROJECT_DIR") != "":
		return Droid
	case p.Get("transcript_path") == nil && getenv("COPILOT_CLI") == "1":
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

package claude

import (
	"strings"

	"github.com/hookspan/hookspan/hook"
)

// droid is Factory Droid, which is not supported.
const droid = "droid"

// sender returns the host that sent the payload, or empty if the payload does not show
// it. Other agents run hooks that were installed for Claude Code: Copilot reads a
// project's .claude/settings.json, the others take copies of its entries. The payload
// counts before the environment: a Claude Code that was started from another agent's
// terminal has that agent's variables.
func (p members) sender() string {
	path, prompt := p.Text("transcript_path"), p.Text("prompt_id")
	has := func(name string) bool { return p.Get(name) != nil }
	// Before the path: Claude Code's own folder can be anywhere, below another
	// agent's too.
	switch {
	case strings.Contains(prompt, "########") || has("tool_call_id"):
		return hook.HostQwen
	case prompt != "" || has("effort"):
		return hook.HostClaude
	}
	if agent := keeperOf(path); agent != "" {
		return agent
	}
	switch p.Text("hook_event_name") {
	case "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel", "BeforeTool", "AfterTool", "BeforeToolSelection", "PreCompress":
		return hook.HostGemini
	case "PreModelRequest", "PostModelRequest":
		return hook.HostCodex
	case "MessageDisplay": // Claude Code's, too, has a turn_id.
		return ""
	}
	mode := p.Text("permission_mode")
	switch {
	case has("turn_id"):
		return hook.HostCodex
	case mode == "off" || strings.HasPrefix(mode, "auto-"):
		return droid
	case path == "" && (has("timestamp") && has("hook_event_name") || has("sessionId") && !has("session_id")):
		// Claude Code always names its transcript and sends no time. Copilot's own
		// spelling is in camel case.
		return hook.HostCopilot
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
		return hook.HostClaude
	case folder == "chats" && top == "projects":
		return hook.HostQwen
	case folder == "chats" && strings.HasPrefix(file, "session-"):
		return hook.HostGemini
	case above == "session-state":
		return hook.HostCopilot
	case strings.HasPrefix(file, "rollout-"):
		return hook.HostCodex
	}
	for path != "" {
		path, file = cutLast(path)
		switch file {
		case ".codex":
			return hook.HostCodex
		case ".copilot":
			return hook.HostCopilot
		case ".factory":
			return droid
		case ".gemini":
			return hook.HostGemini
		case ".qwen":
			return hook.HostQwen
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
		return hook.HostQwen
	case of("GEMINI_SESSION_ID"):
		return hook.HostGemini
	case of("session_id") && getenv("FACTORY_PROJECT_DIR") != "":
		return droid
	case p.Get("transcript_path") == nil && getenv("COPILOT_CLI") == "1":
		return hook.HostCopilot
	}
	return ""
}

// Silence is the answer to another agent that runs a hook of Claude Code: none.
// Qwen Code's telemetry counts a hook as failed that prints no object.
func Silence(agent string) []byte {
	if agent == hook.AgentOf(hook.HostQwen).Word {
		return []byte("{}\n")
	}
	return nil
}

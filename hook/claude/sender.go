package claude

import (
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Programs that are not supported: Factory Droid, Grok Build.
const droid, grok = "droid", "grok"

// atPath is the host of the row for transcripts in a place that shows their host.
const atPath = "PATH"

// environ reads a variable of the environment.
type environ = func(string) string

// senders is the rule that names the host that sent a payload: that of the first row that
// holds. Other programs run hooks that were installed for Claude Code, VS Code also those of
// Copilot. Members come before the path, since Claude Code's own folder can be anywhere,
// below another agent's too, and the payload before the environment: a Claude Code that was
// started from another agent's terminal has that agent's variables.
var senders = [...]struct {
	host string
	sent func(p members, env environ) bool
}{
	{hook.HostCursor, func(p members, _ environ) bool {
		return p.has("cursor_version") || p.has("conversation_id") && p.has("workspace_roots")
	}},
	{hook.HostKimi, func(p members, _ environ) bool { return strings.HasPrefix(p.Text("client_type"), "kimi") }},
	{grok, func(p members, _ environ) bool { return p.has("workspaceRoot") && p.has("hookEventName") }},
	// A plugin of opencode's that runs Claude Code's hooks.
	{hook.HostOpencode, func(p members, _ environ) bool { return strings.HasPrefix(p.Text("hook_source"), "opencode") }},
	{hook.HostQwen, func(p members, _ environ) bool {
		return p.has("tool_call_id") || strings.Contains(p.Text("prompt_id"), "########")
	}},
	{hook.HostClaude, func(p members, _ environ) bool { return p.Text("prompt_id") != "" || p.has("effort") }},
	{atPath, func(p members, _ environ) bool { return keeperOf(p.Text("transcript_path")) != "" }},
	{hook.HostVSCode, func(p members, _ environ) bool { return p.has("hookEventName") }}, // its older form
	{hook.HostGemini, func(p members, _ environ) bool {
		return p.named("BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel", "BeforeTool", "AfterTool", "BeforeToolSelection", "PreCompress")
	}},
	{hook.HostCodex, func(p members, _ environ) bool { return p.named("PreModelRequest", "PostModelRequest") }},
	{hook.HostClaude, func(p members, _ environ) bool { return p.named("MessageDisplay") }}, // which has a turn_id, too
	{hook.HostCodex, func(p members, _ environ) bool { return p.has("turn_id") }},
	{droid, func(p members, _ environ) bool {
		return p.Text("permission_mode") == "off" || strings.HasPrefix(p.Text("permission_mode"), "auto-")
	}},
	// Copilot's own spelling is in camel case.
	{hook.HostCopilot, func(p members, _ environ) bool { return p.noTranscript() && p.has("sessionId") && !p.has("session_id") }},
	{hook.HostVSCode, func(p members, _ environ) bool { return p.timed() && p.ofVSCode() }},
	{hook.HostCopilot, func(p members, env environ) bool { return p.noTranscript() && env("COPILOT_CLI") == "1" }},
	{hook.CopilotOrVSCode, func(p members, _ environ) bool {
		return p.noTranscript() && p.timed() && p.named(sessionStart, userPromptSubmit, preCompact) && !p.has("initial_prompt")
	}},
	{hook.HostCopilot, func(p members, _ environ) bool { return p.noTranscript() && p.timed() }},
	// A variable with a session's id counts if it is this session's.
	{hook.HostQwen, func(p members, env environ) bool { return p.ofSession(env("QWEN_CODE_SESSION_ID")) }},
	{hook.HostGemini, func(p members, env environ) bool { return p.ofSession(env("GEMINI_SESSION_ID")) }},
	{droid, func(p members, env environ) bool {
		return p.ofSession(env("session_id")) && env("FACTORY_PROJECT_DIR") != ""
	}},
}

// Sender returns the host that sent a payload to a hook, or empty if nothing shows it. It is
// a constant of the package hook or the name of a program that is not recorded.
func Sender(payload rawjson.Object, getenv func(string) string) string {
	p := members{payload}
	for i := range senders {
		switch {
		case !senders[i].sent(p, getenv):
		case senders[i].host == atPath:
			return keeperOf(p.Text("transcript_path"))
		default:
			return senders[i].host
		}
	}
	return ""
}

func (p members) has(name string) bool { return p.Get(name) != nil }

func (p members) named(events ...string) bool {
	return slices.Contains(events, p.Text("hook_event_name"))
}

func (p members) ofSession(id string) bool { return id != "" && id == p.Text("session_id") }

// noTranscript reports that no transcript is named, as Claude Code always does.
func (p members) noTranscript() bool { return p.Text("transcript_path") == "" }

// timed reports a payload in Claude Code's form with a time, which that does not send, and
// without its permission mode. VS Code's are so, and Copilot's and Gemini's in that form.
func (p members) timed() bool {
	return p.has("timestamp") && p.has("hook_event_name") && !p.has("permission_mode")
}

// ofVSCode reports what VS Code alone writes in a payload with a time: the transcript at
// every event, the model, the id of a call or of a subagent, no working directory.
func (p members) ofVSCode() bool {
	switch {
	case p.named(stop):
		return p.has("stop_hook_active") && !p.has("stop_reason")
	case p.named(userPromptSubmit, preToolUse, postToolUse, preCompact, subagentStart, subagentStop), p.named(sessionStart) && p.Text("source") == "new":
		return !p.noTranscript() || p.has("model") || p.has("tool_use_id") || p.has("agent_id") || !p.has("cwd")
	}
	return false
}

// keeperOf returns the agent whose transcript is at a path, or empty if the path does
// not show it. Folders are recognised by their form, since each agent has a variable
// that moves its home: ~/.claude/projects/PROJECT/SESSION.jsonl,
// ~/.codex/sessions/YYYY/MM/DD/rollout-TIME-SESSION.jsonl,
// ~/.qwen/projects/PROJECT/chats/SESSION.jsonl,
// ~/.gemini/tmp/PROJECT/chats/session-TIME-ID.jsonl,
// ~/.copilot/session-state/SESSION/events.jsonl,
// ~/.factory/sessions/PROJECT/SESSION.jsonl,
// hooks/cline/ID/transcript.jsonl, which hookspan writes for hooks that it runs on Cline,
// workspaceStorage/WINDOW/GitHub.copilot-chat/transcripts/SESSION.jsonl in VS Code's.
func keeperOf(path string) string {
	// The last parts of the path: file in folder in above in top.
	rest, file := cutLast(path)
	rest, folder := cutLast(rest)
	rest, above := cutLast(rest)
	_, top := cutLast(rest)
	switch {
	case file == "transcript.jsonl" && above == hook.HostCline:
		return hook.HostCline
	case folder == "transcripts" && strings.EqualFold(above, "github.copilot-chat"):
		return hook.HostVSCode
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

// Silence is the answer to another agent that runs a hook of Claude Code: none.
// Qwen Code's telemetry counts a hook as failed that prints no object.
func Silence(agent string) []byte {
	if agent == hook.AgentOf(hook.HostQwen).Word {
		return []byte("{}\n")
	}
	return nil
}

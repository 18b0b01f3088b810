package histories

import (
	"fmt"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
)

const claudeSession = "764ec3b4-c2f4-4826-ac4c-af76d495ab41"

// claudeTurn is a turn of Claude Code.
func (s *story) claudeTurn() {
	if s.turn == 0 || s.one("session starts", 4) {
		s.claude("SessionStart", "", fmt.Sprintf(`"source":%q`, s.pick("source", "startup", "resume", "clear", "compact")))
	}
	s.turn++
	s.claude("UserPromptSubmit", "", fmt.Sprintf(`"prompt":"turn %d","submitted_prompt":"turn %[1]d"`, s.turn))
	s.think(500 * time.Millisecond)
	for range s.int("steps", 0, 6) {
		switch s.pick("step", "tools", "tools", "tools", "compact", "note", "agent", "background") {
		case "tools":
			s.claudeTools("")
		case "compact":
			s.claude("PreCompact", "", `"trigger":"auto","custom_instructions":""`)
		case "note":
			s.claude("Notification", "", `"message":"Claude needs your permission","notification_type":"permission_prompt"`)
		case "agent":
			s.claudeAgent(false)
		case "background":
			s.claudeAgent(true)
		}
	}
	switch s.pick("end", "stop", "stop", "stop", "failure", "again", "none") {
	case "stop":
		s.claude("Stop", "", `"stop_hook_active":false,"last_assistant_message":"done","background_tasks":[]`)
	case "again":
		s.claude("Stop", "", `"stop_hook_active":false,"last_assistant_message":"done","background_tasks":[]`)
		s.claudeTools("")
		s.claude("Stop", "", `"stop_hook_active":true,"last_assistant_message":"now done","background_tasks":[]`)
	case "failure":
		s.claude("StopFailure", "", `"error":"rate_limit","last_assistant_message":"API Error: 429"`)
	}
	s.think(500 * time.Millisecond)
	if s.one("session ends", 4) {
		s.claude("SessionEnd", "", fmt.Sprintf(`"reason":%q`, s.pick("reason", "other", "clear", "logout")))
	}
}

// claudeTools are the calls of an answer to the lead or to an agent. Before them may be an answer with a
// call of which no hook is told, as its input is invalid.
func (s *story) claudeTools(agent string) {
	if s.one("invalid", 5) {
		r := s.result(agent, 0)
		s.think(5 * time.Millisecond)
		s.told(r, hook.ToolFailed)
		s.think(5 * time.Millisecond)
	}
	var calls [3]string
	var results [3]*hook.ToolResult
	for i := range calls {
		results[i] = s.result(agent, i)
		calls[i] = s.called(results[i].Name, results[i].Input, results[i].ID)
	}
	n := s.batch(func(i int) {
		s.claude("PreToolUse", agent, calls[i])
		if s.one("asked", 6) {
			s.claude("PermissionRequest", agent, calls[i])
		}
	}, func(i int) {
		if s.one("failed", 4) {
			s.told(results[i], hook.ToolFailed)
			s.claude("PostToolUseFailure", agent, calls[i]+fmt.Sprintf(`,"error":%q,"is_interrupt":false,"duration_ms":17`, results[i].Text))
			return
		}
		s.told(results[i], hook.ToolOK)
		s.claude("PostToolUse", agent, calls[i]+fmt.Sprintf(`,"tool_response":{"llmContent":%q,"stdout":%[1]q},"duration_ms":53`, results[i].Text))
	})
	for _, r := range results[:n] {
		if r.At.IsZero() && s.one("denied", 2) { // else it was interrupted
			s.told(r, hook.ToolDenied)
		}
	}
	s.think(5 * time.Millisecond)
}

// result is what the agent's files will have of a call, by its place in its answer.
func (s *story) result(agent string, place int) *hook.ToolResult {
	s.calls++
	name, _ := s.tool()
	mark := fmt.Sprintf("mark%d", s.calls)
	return &hook.ToolResult{
		ID: s.id(place, s.calls), Agent: agent, Turn: s.prompt(), Name: name, Input: fmt.Sprintf(`{"path":%q}`, mark),
		Text: mark, Asked: began.Add(s.now),
	}
}

func (s *story) told(r *hook.ToolResult, status hook.ToolStatus) {
	r.Status, r.At = status, began.Add(s.now)
	s.results = append(s.results, *r)
}

// called are the members of a call.
func (s *story) called(name, input, id string) string {
	members := fmt.Sprintf(`"tool_name":%q,"tool_input":%s`, name, input)
	switch s.dialect {
	case Gemini:
		return members
	case Qwen:
		return members + fmt.Sprintf(`,"tool_use_id":"toolu_%d","tool_call_id":%q`, s.calls, id)
	}
	return members + fmt.Sprintf(`,"tool_use_id":%q`, id)
}

// claudeAgent is a subagent, in the background or waited for. One in the
// background may continue in the next turn: its events then come after that turn's
// beginning, with its own prompt's id.
func (s *story) claudeAgent(background bool) {
	s.agents++
	id := fmt.Sprintf("a65db812f4b83f2%02d", s.agents)
	s.calls++
	call := s.called("Agent", fmt.Sprintf(`{"description":"look","prompt":"look","subagent_type":"Explore","run_in_background":%t}`, background), s.id(0, s.calls))
	s.claude("PreToolUse", "", call)
	s.claude("SubagentStart", id, `"x":0`)
	launched := func() {
		s.claude("PostToolUse", "", call+fmt.Sprintf(`,"tool_response":{"isAsync":%t,"status":"done","agentId":%q}`, background, id))
	}
	if background {
		launched()
	}
	own := s.turn
	if background && s.one("outlives its turn", 2) {
		s.claude("Stop", "", fmt.Sprintf(`"stop_hook_active":false,"background_tasks":[{"id":%q,"type":"subagent","status":"running"}]`, id))
		if s.one("and the next begins", 2) {
			s.turn++
			s.think(500 * time.Millisecond)
			s.claude("UserPromptSubmit", "", fmt.Sprintf(`"prompt":"turn %d","submitted_prompt":"turn %[1]d"`, s.turn))
			s.think(500 * time.Millisecond)
		}
	}
	next := s.turn
	s.turn = own
	for range s.int("agent's steps", 0, 2) {
		s.claudeTools(id)
	}
	if !s.one("never stops", 6) {
		s.claude("SubagentStop", id, `"stop_hook_active":false,"last_assistant_message":"looked"`)
	}
	s.turn = next
	if !background && !s.one("call goes on", 6) {
		launched()
	}
}

// prompt is the id of the turn, which the Gemini CLI does not tell.
func (s *story) prompt() string {
	if s.dialect == Gemini {
		return ""
	}
	return fmt.Sprintf("22593cc4-9293-4319-a735-%012d", s.turn)
}

// geminiNames are the Gemini CLI's names of the hooks that it has.
var geminiNames = map[string]string{
	"SessionStart": "SessionStart", "SessionEnd": "SessionEnd", "Notification": "Notification", "UserPromptSubmit": "BeforeAgent", "Stop": "AfterAgent",
	"PreToolUse": "BeforeTool", "PostToolUse": "AfterTool", "PostToolUseFailure": "AfterTool",
}

// claude sends a payload with the members that all have, if the agent has such a hook.
func (s *story) claude(event, agent, rest string) {
	head := ""
	if event != "SessionStart" && s.dialect != Gemini {
		head = fmt.Sprintf(`"prompt_id":%q,`, s.prompt())
	}
	if agent != "" && s.dialect != Gemini {
		head += fmt.Sprintf(`"agent_id":%q,"agent_type":"Explore",`, agent)
	}
	if s.dialect != Claude {
		head += fmt.Sprintf(`"timestamp":%q,`, iso(began.Add(s.now+s.shift)))
	}
	if s.dialect == Gemini {
		event = geminiNames[event]
		if rest, failed := strings.CutSuffix(rest, `,"is_interrupt":false,"duration_ms":17`); failed {
			call, failure, _ := strings.Cut(rest, `,"error":`)
			s.claude("PostToolUse", agent, call+`,"tool_response":{"llmContent":`+failure+`,"error":{"message":`+failure+`}}`)
			return
		}
	}
	if event == "" {
		s.pause()
		return
	}
	s.send(event, fmt.Sprintf(`{"session_id":%q,"cwd":"/home/dev/project","hook_event_name":%q,%s%s}`, claudeSession, event, head, rest))
}

package histories

import (
	"fmt"
	"time"
)

const claudeSession = "764ec3b4-c2f4-4826-ac4c-af76d495ab41"

// claudeTurn is a turn of Claude Code.
func (s *story) claudeTurn() {
	if s.turn == 0 || s.one("session starts", 4) {
		s.claude("SessionStart", "", fmt.Sprintf(`"source":%q`, s.pick("source", "startup", "resume", "clear", "compact")))
	}
	s.turn++
	s.claude("UserPromptSubmit", "", fmt.Sprintf(`"prompt":"turn %d"`, s.turn))
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

// claudeTools are calls of the lead's or of an agent's.
func (s *story) claudeTools(agent string) {
	var calls [3]string
	for i := range calls {
		name, input := s.tool()
		s.calls++
		calls[i] = fmt.Sprintf(`"tool_name":%q,"tool_input":%s,"tool_use_id":"toolu_%d"`, name, input, s.calls)
	}
	s.batch(func(i int) {
		s.claude("PreToolUse", agent, calls[i])
		if s.one("asked", 6) {
			s.claude("PermissionRequest", agent, calls[i])
		}
	}, func(i int) {
		if s.one("failed", 4) {
			s.claude("PostToolUseFailure", agent, calls[i]+`,"error":"no such file","is_interrupt":false,"duration_ms":17`)
			return
		}
		s.claude("PostToolUse", agent, calls[i]+`,"tool_response":{"stdout":"ok"},"duration_ms":53`)
	})
}

// claudeAgent is a subagent, in the background or waited for. One in the
// background may continue in the next turn: its events then come after that turn's
// beginning, with its own prompt's id.
func (s *story) claudeAgent(background bool) {
	s.agents++
	id := fmt.Sprintf("a65db812f4b83f2%02d", s.agents)
	s.calls++
	call := fmt.Sprintf(`"tool_name":"Agent","tool_input":{"description":"look","prompt":"look","subagent_type":"Explore","run_in_background":%t},"tool_use_id":"toolu_%d"`, background, s.calls)
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
			s.claude("UserPromptSubmit", "", fmt.Sprintf(`"prompt":"turn %d"`, s.turn))
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

// claude sends a payload with the members that all have.
func (s *story) claude(event, agent, rest string) {
	head := ""
	if event != "SessionStart" {
		head = fmt.Sprintf(`"prompt_id":"22593cc4-9293-4319-a735-%012d",`, s.turn)
	}
	if agent != "" {
		head += fmt.Sprintf(`"agent_id":%q,"agent_type":"Explore",`, agent)
	}
	s.send(event, fmt.Sprintf(`{"session_id":%q,"cwd":"/home/dev/project","hook_event_name":%q,%s%s}`, claudeSession, event, head, rest))
}

package histories

import (
	"fmt"
	"time"
)

const (
	clineTask   = "1795175957341"
	nextTask    = "conv_1795175967104_3b3h3lm"
	sdkSession  = "1795175660887_ibxt7"
	sdkLead     = "agent_1795175660947_lead"
	toolNumbers = 4
)

// clineTurn is a turn of one of Cline's dialects: a beginning, work, an end, and
// what comes after it.
func (s *story) clineTurn() {
	s.turn++
	s.clineBegin()
	s.think(100 * time.Millisecond)
	for range s.int("steps", 0, 6) {
		switch s.pick("step", "tools", "tools", "tools", "compact", "note", "agent") {
		case "tools":
			s.clineTools("", "")
		case "compact":
			s.cline("PreCompact", "", "", `"preCompact":{"contextSize":8,"tokensIn":20,"tokensOut":401}`)
		case "note":
			s.cline("Notification", "", "", `"notification":{"event":"user_attention","message":"look"}`)
		case "agent":
			if s.dialect == SDK {
				s.sdkAgent(sdkLead, 0)
			}
		}
	}
	s.clineEnd()
}

func (s *story) clineBegin() {
	meta := `{"taskMetadata":{"taskId":"x","ulid":"","initialTask":"do it"}}`
	switch {
	case s.dialect != Classic || s.turn == 1:
		s.cline("TaskStart", "", "", `"taskStart":`+meta)
	case s.one("resumed", 2):
		s.cline("TaskResume", "", "", `"taskResume":`+meta)
	}
	if !s.one("no prompt", 3) {
		s.cline("UserPromptSubmit", "", "", fmt.Sprintf(`"userPromptSubmit":{"prompt":"turn %d"}`, s.turn))
	}
}

func (s *story) clineEnd() {
	done := `{"taskMetadata":{"taskId":"x","ulid":"","result":"done"}}`
	switch s.pick("end", "complete", "complete", "cancel", "error", "shutdown", "none") {
	case "complete":
		s.cline("TaskComplete", "", "", `"taskComplete":`+done)
		if s.one("late cancel", 3) {
			s.cline("TaskCancel", "", "", `"taskCancel":`+done)
		}
		if s.one("note of the end", 2) {
			s.cline("Notification", "", "", `"notification":{"event":"task_complete","message":"done"}`)
		}
	case "cancel":
		s.cline("TaskCancel", "", "", `"taskCancel":`+done)
	case "error":
		s.cline("TaskError", "", "", `"error":{"name":"Error","message":"529 overloaded"}`)
	case "shutdown":
		if s.one("no words left", 3) {
			s.send("SessionShutdown", "")
		} else {
			s.cline("SessionShutdown", "", "", `"taskCancel":`+done)
		}
	}
}

// clineTools are calls of the lead's, or of an agent of the SDK.
func (s *story) clineTools(agent, parent string) {
	var names, inputs, ids [3]string
	for i := range names {
		names[i], inputs[i] = s.tool()
		// The SDK's ids come again in later turns, as some providers number calls.
		s.calls++
		ids[i] = s.id(i, s.calls%toolNumbers)
	}
	s.batch(func(i int) {
		rest := fmt.Sprintf(`"preToolUse":{"toolName":%q,"parameters":%s}`, names[i], inputs[i])
		if s.dialect == SDK {
			rest += fmt.Sprintf(`,"tool_call":{"id":%q,"name":%q,"input":%s}`, ids[i], names[i], inputs[i])
		}
		s.cline("PreToolUse", agent, parent, rest)
	}, func(i int) {
		ms := s.int("took", 0, 5000)
		rest := fmt.Sprintf(`"postToolUse":{"toolName":%q,"parameters":%s,"result":"ok","success":%t,"executionTimeMs":%d}`,
			names[i], inputs[i], s.one("success", 2), ms)
		if s.dialect == SDK {
			ended := began.Add(s.now + s.shift)
			rest += fmt.Sprintf(`,"tool_result":{"id":%q,"name":%q,"input":%s,"output":"ok","durationMs":%d,"startedAt":%q,"endedAt":%q}`,
				ids[i], names[i], inputs[i], ms, iso(ended.Add(-time.Duration(ms)*time.Millisecond)), iso(ended))
		}
		s.cline("PostToolUse", agent, parent, rest)
	})
}

// sdkAgent is a subagent, which may start others.
func (s *story) sdkAgent(parent string, depth int) {
	s.agents++
	id := fmt.Sprintf("agent_%d", s.agents)
	caller := parent
	if caller == sdkLead {
		caller = ""
	}
	call := fmt.Sprintf(`{"id":"spawn_%d","name":"spawn_agent","input":{"task":"help"}}`, s.agents)
	spawned := !s.one("unseen call", 5)
	if spawned {
		s.cline("PreToolUse", caller, "", `"tool_call":`+call+`,"preToolUse":{"toolName":"spawn_agent","parameters":{"task":"help"}}`)
	}
	s.cline("TaskStart", id, parent, `"taskStart":{"taskMetadata":{}}`)
	for range s.int("agent's steps", 0, 2) {
		if depth < 2 && s.one("nested", 4) {
			s.sdkAgent(id, depth+1)
		} else {
			s.clineTools(id, parent)
		}
	}
	switch s.pick("agent's end", "end", "end", "error", "none") {
	case "end":
		s.cline("TaskComplete", id, parent, `"turn":{"outputText":"helped","status":"completed"},"taskComplete":{"taskMetadata":{}}`)
	case "error":
		s.cline("TaskError", id, parent, `"error":{"name":"Error","message":"no"}`)
	}
	if spawned && !s.one("call goes on", 4) {
		s.cline("PostToolUse", caller, "", `"tool_result":`+call+`,"postToolUse":{"toolName":"spawn_agent","parameters":{"task":"help"},"result":"{}","success":true,"executionTimeMs":9}`)
	}
}

// cline sends a payload with the members that all of a dialect's have.
func (s *story) cline(event, agent, parent, rest string) {
	at := began.Add(s.now + s.shift)
	if s.dialect != SDK {
		version, task := "4.0.12", clineTask
		if s.dialect == Next {
			version, task = "4.1.13", nextTask
		}
		s.send(event, fmt.Sprintf(`{"clineVersion":%q,"hookName":%q,"timestamp":"%d","taskId":%q,"workspaceRoots":["/home/dev/project"],`+
			`"userId":"u","model":{"provider":"anthropic","slug":"m"},%s}`, version, event, at.UnixMilli(), task, rest))
		return
	}
	above := "null"
	if agent == "" {
		agent = sdkLead
	} else if parent != "" {
		above = fmt.Sprintf("%q", parent)
	}
	s.send(event, fmt.Sprintf(`{"clineVersion":"","timestamp":%q,"taskId":"conv_%s","sessionContext":{"rootSessionId":%q},`+
		`"workspaceRoots":["/home/dev/project"],"userId":"unknown","agent_id":%q,"parent_agent_id":%s,"hookName":%q,"iteration":1,%s}`,
		iso(at), agent, sdkSession, agent, above, sdkNames[event], rest))
}

func iso(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z") }

// sdkNames are the SDK's own names of the hooks.
var sdkNames = map[string]string{
	"TaskStart": "agent_start", "TaskComplete": "agent_end", "TaskError": "agent_error", "TaskCancel": "agent_abort",
	"PreToolUse": "tool_call", "PostToolUse": "tool_result", "UserPromptSubmit": "prompt_submit",
	"SessionShutdown": "session_shutdown", "PreCompact": "pre_compact", "Notification": "notification", "TaskResume": "agent_resume",
}

package cline

import (
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/internal/wire"
)

// Host is the name of Cline in every event.
const Host = "cline"

// The wire forms, as in Event.Dialect.
const (
	dialectClassic = "classic"
	dialectNext    = "next"
	dialectSDK     = "sdk"
)

// The hooks by the names Cline documents, which are also the hook files' names.
const (
	taskStart        = "TaskStart"
	taskResume       = "TaskResume"
	userPromptSubmit = "UserPromptSubmit"
	preToolUse       = "PreToolUse"
	postToolUse      = "PostToolUse"
	preCompact       = "PreCompact"
	notification     = "Notification"
	taskComplete     = "TaskComplete"
	taskError        = "TaskError"
	taskCancel       = "TaskCancel"
	sessionShutdown  = "SessionShutdown"
)

// EventNames returns the names of the hook files that some version of Cline
// runs, in the order of a task's life. The slice is the caller's.
func EventNames() []string {
	return []string{
		taskStart, taskResume, userPromptSubmit, preToolUse, postToolUse, preCompact,
		notification, taskComplete, taskError, taskCancel, sessionShutdown,
	}
}

// documentedName maps the name that was sent to the documented one. Names it
// does not know stay as they are.
func documentedName(sent string) string {
	switch sent {
	case "agent_start":
		return taskStart
	case "agent_resume":
		return taskResume
	case "prompt_submit":
		return userPromptSubmit
	case "tool_call":
		return preToolUse
	case "tool_result":
		return postToolUse
	case "agent_end":
		return taskComplete
	case "agent_error":
		return taskError
	case "agent_abort":
		return taskCancel
	case "session_shutdown":
		return sessionShutdown
	}
	return sent
}

// kindOf says what the hook of a documented name means. turn is the payload's
// member of that name: the SDK reports a turn that did not complete by the same
// hook as one that did.
func kindOf(name string, turn wire.Object) hook.Kind {
	switch name {
	case taskStart:
		return hook.KindRunStart
	case taskResume:
		return hook.KindRunResume
	case userPromptSubmit:
		return hook.KindPrompt
	case preToolUse:
		return hook.KindToolStart
	case postToolUse:
		return hook.KindToolEnd
	case preCompact:
		return hook.KindCompact
	case notification:
		return hook.KindNotification
	case taskComplete:
		switch wire.Text(turn.Get("status")) {
		case "aborted", "cancelled", "canceled":
			return hook.KindRunCancel
		case "failed", "error":
			return hook.KindRunError
		}
		return hook.KindRunComplete
	case taskError:
		return hook.KindRunError
	case taskCancel:
		return hook.KindRunCancel
	case sessionShutdown:
		return hook.KindSessionEnd
	}
	return hook.KindUnknown
}

// envelope holds the members of a payload that mean something to us, unread.
type envelope struct {
	hookName, taskID, timestamp, clineVersion, userID, model []byte
	workspaceRoots, workspaceInfo                            []byte
	// The SDK's own members.
	sessionContext, agentID, parentAgentID, agentType []byte
	toolCall, toolResult, turn, failure, reason       []byte
	// One body per hook.
	taskStart, taskResume, taskComplete, taskCancel, taskError []byte
	prompt, preToolUse, postToolUse, preCompact, notification  []byte
}

// open reads the outermost object of a payload. After an error the envelope
// holds what came before the fault.
func (e *envelope) open(payload []byte) error {
	return wire.EachMember(payload, func(key, value []byte) {
		if at := e.slot(key); at != nil {
			*at = wire.Present(value)
		}
	})
}

func (e *envelope) slot(key []byte) *[]byte {
	switch string(key) {
	case "hookName":
		return &e.hookName
	case "taskId":
		return &e.taskID
	case "timestamp":
		return &e.timestamp
	case "clineVersion":
		return &e.clineVersion
	case "userId":
		return &e.userID
	case "model":
		return &e.model
	case "workspaceRoots":
		return &e.workspaceRoots
	case "workspaceInfo":
		return &e.workspaceInfo
	case "sessionContext":
		return &e.sessionContext
	case "agent_id":
		return &e.agentID
	case "parent_agent_id":
		return &e.parentAgentID
	case "agent_type":
		return &e.agentType
	case "tool_call":
		return &e.toolCall
	case "tool_result":
		return &e.toolResult
	case "turn":
		return &e.turn
	case "error":
		return &e.failure
	case "reason":
		return &e.reason
	case "taskStart":
		return &e.taskStart
	case "taskResume":
		return &e.taskResume
	case "taskComplete":
		return &e.taskComplete
	case "taskCancel":
		return &e.taskCancel
	case "taskError":
		return &e.taskError
	case "userPromptSubmit":
		return &e.prompt
	case "preToolUse":
		return &e.preToolUse
	case "postToolUse":
		return &e.postToolUse
	case "preCompact":
		return &e.preCompact
	case "notification":
		return &e.notification
	}
	return nil
}

// name is the hook's documented name: the payload's, else the one the hook was
// started with.
func (e *envelope) name(started string) string {
	if sent := wire.Text(e.hookName); sent != "" {
		return documentedName(sent)
	}
	return documentedName(started)
}

// sdk reports whether the payload has a shape that only the SDK dialect has.
func (e *envelope) sdk() bool {
	if e.sessionContext != nil || e.agentID != nil {
		return true
	}
	sent := wire.Text(e.hookName)
	return strings.Contains(sent, "_") && strings.ToLower(sent) == sent
}

// dialect tells the wire form by shape alone: one installation of the extension
// holds two of them under one version.
func (e *envelope) dialect() string {
	if e.sdk() {
		return dialectSDK
	}
	if strings.HasPrefix(wire.Text(e.taskID), "conv_") {
		return dialectNext
	}
	model := wire.Members(e.model)
	if wire.Text(model.Get("provider")) == "unknown" && wire.Text(model.Get("slug")) == "unknown" {
		return dialectNext
	}
	return dialectClassic
}

// session is the identity all events of a session share. In the SDK dialect
// the task is only one agent's conversation.
func (e *envelope) session() string {
	if e.sdk() {
		if root := wire.Text(wire.Members(e.sessionContext).Get("rootSessionId")); root != "" {
			return root
		}
	}
	return wire.Text(e.taskID)
}

// roots are the folders the session works in, the main one first.
func (e *envelope) roots() []string {
	list, _ := wire.Elements(e.workspaceRoots)
	var dirs []string
	for _, root := range list {
		if dir := wire.Text(wire.Present(root)); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	if dirs != nil {
		return dirs
	}
	if dir := wire.Text(wire.Members(e.workspaceInfo).Get("rootPath")); dir != "" {
		return []string{dir}
	}
	return nil
}

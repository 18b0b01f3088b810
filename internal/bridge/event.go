package bridge

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Provider is the agent that a route belongs to.
type Provider string

// The providers.
const (
	Claude Provider = "claude"
	Cline  Provider = "cline"
)

// Route is the path to which the provider's events are posted.
func (p Provider) Route() string { return "/" + string(p) + "-hook" }

// Event is one received event.
type Event struct {
	// Provider is the agent whose route it came by.
	Provider Provider
	// Native reports a payload in Cline's own form; any other is in Claude's.
	Native bool
	// Session, Name, Tool, ToolUseID and Cwd are as the payload has them; all
	// but Session may be empty.
	Session, Name, Tool, ToolUseID, Cwd string
	// Body is the JSON object as it came. Sinks must not change it.
	Body []byte
	// Received is when its last byte arrived.
	Received time.Time
	// Recorded reports that the recorder took it.
	Recorded bool

	key memoryKey
}

// maxName is the size in bytes of the longest name, path or id of an event.
const maxName = 4 << 20

var errNoSession = errors.New("Missing or invalid session_id: want a string that is not blank") //nolint:staticcheck // The answer's text, as other bridges word it.

// ParseEvent reads a payload that was posted to the provider's path. The error
// is the answer to the sender.
func ParseEvent(p Provider, body []byte) (*Event, error) {
	body = rawjson.Trim(body)
	if len(body) == 0 || body[0] != '{' {
		return nil, errors.New("the body is not a JSON object, want one event")
	}
	if err := rawjson.Check(body); err != nil {
		return nil, fmt.Errorf("the body is not a JSON object: %w", err)
	}
	e := &Event{Provider: p, Body: body}
	var otherSession, hookName, taskID string
	values := make(map[string][]byte, len(ownMembers))
	texts := map[string]*string{
		"session_id": &e.Session, "hook_event_name": &e.Name, "tool_name": &e.Tool, "tool_use_id": &e.ToolUseID,
		"cwd": &e.Cwd, "sessionId": &otherSession, "hookName": &hookName, "taskId": &taskID,
	}
	longest := 0
	rawjson.EachMember(body, func(name, value []byte) {
		if slices.Contains(ownMembers, string(name)) {
			values[string(name)] = value
		} else if text := texts[string(name)]; text != nil {
			longest = max(longest, len(value))
			if longest <= maxName {
				*text = rawjson.Unquote(value)
			}
		}
	})
	if longest > maxName {
		return nil, fmt.Errorf("a name of %d bytes, want at most %d", longest, maxName)
	}
	e.Session = cmp.Or(e.Session, otherSession)
	if e.Name == "" && e.Session == "" && (hookName != "" || taskID != "") {
		head := cline.Peek(body, "")
		e.Native, e.Session, e.Name = true, head.Session, head.Name
	}
	if strings.TrimSpace(e.Session) == "" {
		return nil, errNoSession
	}
	e.key = e.identity(values)
	return e, nil
}

// ownMembers distinguish a tool call's event from that of another call with its id.
var ownMembers = []string{"tool_input", "tool_response", "error", "prompt_id", "prompt"}

// identity distinguishes the event from others, whichever way it came. A tool
// call's id alone is not enough: one call of Cline's may be several of Claude's,
// which then share it, and some models use an id again.
func (e *Event) identity(values map[string][]byte) memoryKey {
	if e.ToolUseID == "" {
		return sha256.Sum256(e.Body)
	}
	parts := []any{e.Session, e.Name, e.ToolUseID, e.Tool}
	for _, name := range ownMembers {
		sum := hashJSON(values[name])
		parts = append(parts, sum[:])
	}
	return sha256.Sum256([]byte(rawjson.Encode(parts)))
}

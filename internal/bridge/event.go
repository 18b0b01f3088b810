package bridge

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook/cline"
)

// Provider is the agent that a route belongs to.
type Provider string

// The providers, each with a route of its own.
const (
	Claude Provider = "claude"
	Cline  Provider = "cline"
)

// Route is the path that takes the provider's events.
func (p Provider) Route() string { return "/" + string(p) + "-hook" }

// Event is one event that came in.
type Event struct {
	// Provider is whose route it came by.
	Provider Provider
	// Native reports a payload in Cline's own form; any other is in Claude's.
	Native bool
	// Session, Name, Tool, ToolUseID and Cwd are as the payload has them; all
	// but Session may be empty.
	Session, Name, Tool, ToolUseID, Cwd string
	// Body is the JSON object as it came. Sinks must not change it.
	Body []byte
	// Received is when it had come in.
	Received time.Time
	// Recorded reports that the recorder has taken it.
	Recorded bool

	key memoryKey
}

// maxName is the size in bytes of the longest name, path or id of an event.
const maxName = 4 << 20

// text is a string of a payload; anything but a string counts as none.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	*t = ""
	if len(b) == 0 || b[0] != '"' {
		return nil
	}
	if len(b) > maxName {
		return fmt.Errorf("a name of %d bytes, want at most %d", len(b), maxName)
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*t = text(s)
	return nil
}

var errNoSession = errors.New("Missing or invalid session_id: want a string that is not blank") //nolint:staticcheck // The answer's text, as other bridges word it.

// ParseEvent reads a payload that came by the provider's route. The error says
// what is wrong with it, for the one who sent it.
func ParseEvent(p Provider, body []byte) (*Event, error) {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	if len(body) == 0 || body[0] != '{' {
		return nil, fmt.Errorf("the body is no JSON object, want one event")
	}
	var in struct {
		SessionID  text      `json:"session_id"`
		SessionAka text      `json:"sessionId"`
		Name       text      `json:"hook_event_name"`
		Tool       text      `json:"tool_name"`
		ToolUseID  text      `json:"tool_use_id"`
		Input      canonical `json:"tool_input"`
		Cwd        text      `json:"cwd"`
		HookName   text      `json:"hookName"`
		TaskID     text      `json:"taskId"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("the body is no JSON object: %w", err)
	}
	e := &Event{
		Provider: p, Session: string(in.SessionID), Name: string(in.Name), Tool: string(in.Tool),
		ToolUseID: string(in.ToolUseID), Cwd: string(in.Cwd), Body: body,
	}
	if e.Session == "" {
		e.Session = string(in.SessionAka)
	}
	if e.Name == "" && e.Session == "" && (in.HookName != "" || in.TaskID != "") {
		head := cline.Peek(body, "")
		e.Native, e.Session, e.Name = true, head.Session, head.Name
	}
	if strings.TrimSpace(e.Session) == "" {
		return nil, errNoSession
	}
	e.key = e.identity(in.Input)
	return e, nil
}

// identity is what tells the event from others, whichever way it came. A tool
// call's id alone is not enough: one call of Cline's may stand for several of
// Claude's, which then share it.
func (e *Event) identity(input canonical) memoryKey {
	if e.ToolUseID == "" {
		return memoryKey{sum: sha256.Sum256(e.Body)}
	}
	b, err := json.Marshal([]any{e.Session, e.Name, e.ToolUseID, e.Tool, input[:]})
	if err != nil {
		return memoryKey{sum: sha256.Sum256(e.Body)}
	}
	return memoryKey{sum: sha256.Sum256(b), named: true}
}

package plantedkeys

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// identity are the members that say what an event is and to what it belongs.
// They go out as they are; everything else that is text gets something planted
// into it. A session's id is among them: it is how the host names the session.
var identity = []string{
	"taskId", "hookName", "timestamp", "clineVersion", "id", "startedAt", "endedAt", "rootSessionId",
	"agent_id", "parent_agent_id", "toolName", "name", "status", "completionStatus", "event", "eventId",
	"eventVersion", "severity", "ulid", "type", "say", "ask", "role", "tool_use_id", "sessionId", "session_id",
	"started_at", "ended_at", "messages_path", "parent_session_id", "agentId", "parentAgentId", "source",
	"sourceType", "success", "ts", "finishReason", "subagentId", "kind", "category",
	// Of Claude Code.
	"hook_event_name", "prompt_id", "promptId", "uuid", "parentUuid", "requestId", "requestRef", "tool_name", "stop_reason",
	"subtype", "timestamp", "version", "toolUseID", "sourceToolAssistantUUID", "hash", "notification_type",
}

// Planter appends texts to the texts of JSON documents.
type Planter struct {
	// Next is the text for one place; field is the member's name.
	Next func(field string) string
	// Fields, if not nil, counts the different members that were planted.
	Fields map[string]int
	// Names plants a member of that name into every object, too.
	Names bool
	// All plants into the members that say what an event is, too: it may then be
	// taken for another, or for none.
	All bool
}

// Document plants into one JSON document. What is none stays as it is.
func (p *Planter) Document(b []byte) []byte {
	v, ok := decode(b)
	if !ok {
		return b
	}
	return encode(p.value("", v))
}

func decode(b []byte) (any, bool) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return v, dec.Decode(&v) == nil && !dec.More()
}

// encode writes as the hosts do. What was decoded can be encoded.
func encode(v any) []byte {
	return []byte(rawjson.Encode(v))
}

func (p *Planter) value(field string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			v[name] = p.value(name, v[name])
		}
		if p.Names {
			v[p.Next("a member's name")] = 1
		}
	case []any:
		for i := range v {
			v[i] = p.value(field, v[i])
		}
	case string:
		return p.text(field, v)
	}
	return v
}

func (p *Planter) text(field, s string) string {
	if s == "" || !p.All && slices.Contains(identity, field) {
		return s
	}
	// JSON within a text, as tools' parameters have it, stays JSON.
	if strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
		if inner, ok := decode([]byte(s)); ok {
			return string(encode(p.value(field, inner)))
		}
	}
	if p.Fields != nil {
		p.Fields[field]++
	}
	return s + " " + p.Next(field)
}

package claude

import (
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Names of the facts in Event.Attrs that are not plainly taken from a member.
const (
	attrPromptInjected  = "hookspan.prompt.injected"
	attrStopHookActive  = "hookspan.stop_hook_active"
	attrBackgroundTasks = "hookspan.background_tasks"
	attrEffort          = "hookspan.effort"
	attrAgentTranscript = "hookspan.agent.transcript"
	attrAgentStatus     = "hookspan.agent.status"
	attrMCPServer       = "hookspan.mcp.server"
)

// form is how a member's value is given on.
type form uint8

const (
	asText form = iota
	asInt
	asFloat
	asBool
)

// fact is a member that becomes an attribute.
type fact struct {
	member, key string
	form        form
}

// facts lists the members of a hook that become attributes, in the attributes'
// order.
func facts(name string) []fact {
	switch name {
	case sessionStart:
		return []fact{
			{"source", "hookspan.session.source", asText},
			{"session_title", "hookspan.session.title", asText},
			// From version 2.1.251 on, where a session is resumed or forked.
			{"seconds_since_last_response", "hookspan.session.seconds_since_last_response", asInt},
			{"context_tokens", "hookspan.session.context_tokens", asInt},
			{"prompt_cache_likely_expired", "hookspan.session.prompt_cache_likely_expired", asBool},
			{"estimated_cache_write_usd", "hookspan.session.estimated_cache_write_usd", asFloat},
		}
	case userPromptExpansion:
		return []fact{
			{"command_name", "hookspan.command.name", asText},
			{"command_args", "hookspan.command.args", asText},
			{"command_source", "hookspan.command.source", asText},
			{"expansion_type", "hookspan.command.type", asText},
		}
	case postModelSwitch:
		return []fact{
			{"from_model", "hookspan.model.from", asText},
			{"to_model", "hookspan.model.to", asText},
			{"source", "hookspan.model.source", asText},
		}
	case taskCreated, taskCompleted:
		return []fact{
			{"task_id", "hookspan.task.id", asText},
			{"task_subject", "hookspan.task.subject", asText},
		}
	case elicitation, elicitationResult:
		return []fact{
			{"mcp_server_name", "hookspan.elicitation.server", asText},
			{"mode", "hookspan.elicitation.mode", asText},
			{"action", "hookspan.elicitation.action", asText},
		}
	case preCompact:
		return []fact{
			{"trigger", "hookspan.compaction.trigger", asText},
			{"custom_instructions", "hookspan.compaction.custom_instructions", asText},
		}
	case postCompact:
		return []fact{{"trigger", "hookspan.compaction.trigger", asText}}
	case notification:
		return []fact{
			{"notification_type", "hookspan.notification.event", asText},
			{"title", "hookspan.notification.title", asText},
		}
	case stopFailure:
		return []fact{{"error_details", "hookspan.error.details", asText}}
	case sessionEnd:
		return []fact{{"reason", "hookspan.session_end.reason", asText}}
	}
	return nil
}

// attrs appends the facts of a hook to to, leaving out what the payload does
// not say or says in a form that has no meaning.
func (p members) attrs(name string, to []hook.Attr) []hook.Attr {
	for _, f := range facts(name) {
		raw := p.Get(f.member)
		var value any
		var ok bool
		switch f.form {
		case asText:
			s := rawjson.Text(raw)
			value, ok = s, s != ""
		case asInt:
			value, ok = rawjson.Int(raw)
		case asFloat:
			value, ok = rawjson.Float(raw)
		case asBool:
			value, ok = rawjson.Bool(raw)
		}
		if ok {
			to = append(to, hook.Attr{Key: f.key, Value: value})
		}
	}
	return to
}

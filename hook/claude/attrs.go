package claude

import (
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Names of the attributes that are not in the table of facts.
const (
	AttrStopHookActive  = "hookspan.stop_hook_active"
	attrBackgroundTasks = "hookspan.background_tasks"
	// attrBackgroundTaskIDs are separated by commas.
	attrBackgroundTaskIDs = "hookspan.background_task_ids"
	attrEffort            = "hookspan.effort"
	attrAgentTranscript   = "hookspan.agent.transcript"
	attrAgentStatus       = "hookspan.agent.status"
	attrMCPServer         = "hookspan.mcp.server"
)

// fact is a member of a hook that becomes an attribute.
type fact struct {
	hook, member, key string
	read              func(raw []byte) (any, bool)
}

// facts are in the order of a hook's attributes.
var facts = [...]fact{
	{sessionStart, "source", "hookspan.session.source", asText},
	{sessionStart, "session_title", "hookspan.session.title", asText},
	// From version 2.1.251 on, if a session is resumed or forked.
	{sessionStart, "seconds_since_last_response", "hookspan.session.seconds_since_last_response", asInt},
	{sessionStart, "context_tokens", "hookspan.session.context_tokens", asInt},
	{sessionStart, "prompt_cache_likely_expired", "hookspan.session.prompt_cache_likely_expired", asBool},
	{sessionStart, "estimated_cache_write_usd", "hookspan.session.estimated_cache_write_usd", asFloat},
	{userPromptExpansion, "command_name", "hookspan.command.name", asText},
	{userPromptExpansion, "command_args", "hookspan.command.args", asText},
	{userPromptExpansion, "command_source", "hookspan.command.source", asText},
	{userPromptExpansion, "expansion_type", "hookspan.command.type", asText},
	{preSkillShellCommand, "command_name", "hookspan.command.name", asText},
	{preSkillShellCommand, "command_source", "hookspan.command.source", asText},
	{preSkillShellCommand, "invoked_by", "hookspan.command.invoked_by", asText},
	{permissionRequest, "tool_kind", "hookspan.tool.kind", asText},
	{permissionRequest, "mcp_skill", "hookspan.skill.name", skillName},
	{permissionRequest, "mcp_skill", "hookspan.skill.version", skillVersion},
	{permissionRequest, "mcp_skill", "hookspan.skill.uri", skillURI},
	{permissionRequest, "mcp_server", "hookspan.mcp.server", serverName},
	{postModelSwitch, "from_model", "hookspan.model_switch.from", asText},
	{postModelSwitch, "to_model", "hookspan.model_switch.to", asText},
	{postModelSwitch, "source", "hookspan.model_switch.source", asText},
	{taskCreated, "task_id", "hookspan.task.id", asText},
	{taskCreated, "task_subject", "hookspan.task.subject", asText},
	{taskCompleted, "task_id", "hookspan.task.id", asText},
	{taskCompleted, "task_subject", "hookspan.task.subject", asText},
	{elicitation, "mcp_server_name", "hookspan.elicitation.server", asText},
	{elicitation, "mode", "hookspan.elicitation.mode", asText},
	{elicitation, "action", "hookspan.elicitation.action", asText},
	{elicitationResult, "mcp_server_name", "hookspan.elicitation.server", asText},
	{elicitationResult, "mode", "hookspan.elicitation.mode", asText},
	{elicitationResult, "action", "hookspan.elicitation.action", asText},
	{preCompact, "trigger", "hookspan.compaction.trigger", asText},
	{preCompact, "custom_instructions", "hookspan.compaction.custom_instructions", asText},
	{postCompact, "trigger", "hookspan.compaction.trigger", asText},
	{notification, "notification_type", "hookspan.notification.event", asText},
	{notification, "title", "hookspan.notification.title", asText},
	{stopFailure, "error_details", "hookspan.error.details", asText},
	{sessionEnd, "reason", "hookspan.session_end.reason", asText},
}

func asText(raw []byte) (any, bool) { s := rawjson.Text(raw); return s, s != "" }

// The members of the objects that describe a skill that an MCP server serves.
func skillName(raw []byte) (any, bool)    { return member(raw, "name") }
func skillVersion(raw []byte) (any, bool) { return member(raw, "version") }
func skillURI(raw []byte) (any, bool)     { return member(raw, "uri") }
func serverName(raw []byte) (any, bool)   { return member(raw, "name") }

func member(raw []byte, name string) (any, bool) {
	s := rawjson.Members(raw).Text(name)
	return s, s != ""
}

func asInt(raw []byte) (any, bool) { n, ok := rawjson.Int(raw); return n, ok }

func asFloat(raw []byte) (any, bool) { f, ok := rawjson.Float(raw); return f, ok }

func asBool(raw []byte) (any, bool) { b, ok := rawjson.Bool(raw); return b, ok }

// attrs appends the facts of a hook to to. A missing or invalid member is left out.
func (p members) attrs(name string, to []hook.Attr) []hook.Attr {
	for _, f := range facts {
		if f.hook != name {
			continue
		}
		if value, ok := f.read(p.Get(f.member)); ok {
			to = append(to, hook.Attr{Key: f.key, Value: value})
		}
	}
	return to
}

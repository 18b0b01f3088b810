package cline

import (
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// The kinds of what Cline shows and asks, of those who speak, and of the parts of what they say.
const (
	knownRows = " text reasoning task error error_retry api_req_started api_req_finished api_req_retried deleted_api_reqs user_feedback" +
		" user_feedback_diff command_output shell_integration_warning shell_integration_warning_with_suggestion tool command" +
		" completion_result browser_action_launch browser_action browser_action_result mcp_server_request_started" +
		" mcp_server_response mcp_notification use_mcp_server use_subagents subagent subagent_usage diff_error clineignore_error" +
		" checkpoint_created load_mcp_documentation generate_explanation info task_progress hook_status hook_output_stream" +
		" command_permission_denied conditional_rules_applied followup plan_mode_respond act_mode_respond resume_task" +
		" resume_completed_task mistake_limit_reached api_req_failed new_task condense summarize_task report_bug "
	knownRoles = " user assistant "
	knownParts = " text image document file thinking redacted_thinking reasoning tool_use tool_result "
)

// meetMessage counts a message, and its parts, of unknown kinds.
func meetMessage(k *transcript.Kinds, path string, m rawjson.Object, c transcript.Content, at time.Time) {
	if role := rawjson.Unquote(m.Get("role")); !strings.Contains(knownRoles, " "+role+" ") {
		k.Meet(path, "messages/"+role, at, m)
	}
	k.MeetParts(path, knownParts, c, at, m)
}

package codex

import (
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// Kinds that say nothing of the work, or what other rows say.
const (
	idleRows  = " world_state state inter_agent_communication inter_agent_communication_metadata "
	idleItems = " reasoning additional_tools compaction compaction_summary context_compaction ghost_snapshot other "
	idleEvent = " agent_message agent_reasoning agent_reasoning_raw_content context_compacted entered_review_mode exited_review_mode" +
		" thread_rolled_back thread_name_updated thread_goal_updated undo_completed error stream_error warning guardian_warning guardian_assessment" +
		" image_generation_end view_image_tool_call web_search_begin model_reroute collab_agent_interaction_end collab_waiting_end collab_close_end" +
		" collab_resume_end dynamic_tool_call_request dynamic_tool_call_response plan_update turn_diff shutdown_complete deprecation_notice "
	idleDone = " AgentMessage Reasoning Plan ContextCompaction EnteredReviewMode ExitedReviewMode ImageGeneration Sleep "
)

// meet counts a row, an item or an event of a kind that is not among the idle ones.
func (l *log) meet(idle, kind, what string, p rawjson.Object, at time.Time) {
	if !strings.Contains(idle, " "+what+" ") {
		l.Meet(kind+what, at, p)
	}
}

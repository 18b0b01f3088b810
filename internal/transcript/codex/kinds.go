package codex

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
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

// strange is what a file has of an unknown kind.
type strange struct {
	at    time.Time
	count int
}

// meet counts a row, an item or an event of a kind that is not among the idle ones, if its
// members show that it may be work.
func (l *log) meet(idle, kind, what string, p rawjson.Object, at time.Time) {
	weight := p.Get("usage", "role", "call_id", "tool_call_id", "tokens", "exit_code", "arguments")
	if weight == nil || strings.Contains(idle, " "+what+" ") {
		return
	}
	s := l.strange[kind+what]
	if s == nil {
		s = &strange{at: at}
		l.strange[kind+what] = s
	}
	s.count++
}

// unknown are the kinds that may be work and were not read.
func (l *log) unknown(path string) (out []hook.Unread) {
	for _, kind := range slices.Sorted(maps.Keys(l.strange)) {
		s := l.strange[kind]
		out = append(out, hook.Unread{File: path, At: s.at, Reason: fmt.Sprintf("%d of the unknown kind %s", s.count, kind)})
	}
	return out
}

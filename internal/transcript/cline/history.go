package cline

import (
	"context"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// apiHistory is api_conversation_history.json: the conversation as the model
// sees it. Of user messages only the place and the tools' results are kept.
type apiHistory struct {
	messages []apiMessage
	// full asks for the tool calls.
	full  bool
	tools classicTools
	path  string
	kinds transcript.Kinds
}

// apiMessage is one message; only an assistant's has more than its role.
type apiMessage struct {
	assistant bool
	at        time.Time
	// next is when the next request began, of a message that itself does not say when it came.
	next    time.Time
	model   model
	text    string
	toolIDs []string
	used    bool
}

func (h *apiHistory) decode(ctx context.Context, r io.Reader) error {
	return transcript.StreamList(ctx, r, nil, func(m rawjson.Object) {
		at := timeOf(m.Get("ts"))
		h.tools.row++
		msg := apiMessage{assistant: rawjson.Unquote(m.Get("role")) == "assistant"}
		var content transcript.Content
		if msg.assistant || h.full {
			content = transcript.DecodeContent(m.Get("content"))
			meetMessage(&h.kinds, h.path, m, content, at)
		}
		if msg.assistant {
			msg.at, msg.model = at, modelOf(m.Get("modelInfo"), "providerId", "modelId")
			msg.text, msg.toolIDs = cutToolXML(content.Text(), nil), content.ToolIDs()
			if h.full {
				h.tools.reply(content, at)
			}
		} else if h.full {
			h.tools.answer(content, at)
		}
		h.messages = append(h.messages, msg)
	})
}

// replyMatcher gives each request its reply, each reply at most once.
type replyMatcher struct {
	messages []apiMessage
	// byTime are the indexes of the assistant messages that say when.
	byTime []int
}

func newReplyMatcher(h *apiHistory) *replyMatcher {
	m := &replyMatcher{messages: h.messages}
	for i := range h.messages {
		if h.messages[i].assistant && !h.messages[i].at.IsZero() {
			m.byTime = append(m.byTime, i)
		}
	}
	slices.SortStableFunc(m.byTime, func(a, b int) int { return h.messages[a].at.Compare(h.messages[b].at) })
	return m
}

// reply finds the assistant message that answers a request; next is the start of
// the request after it, zero for the newest.
//
// conversationHistoryIndex is the index of the history's last message when the
// row was written, so the request's own message comes at +1 and the reply at
// +2. A restored checkpoint or a request that broke off shifts that, therefore
// role and time must agree, else the first reply between the two requests is
// taken.
func (m *replyMatcher) reply(req *uiRequest, next time.Time) *apiMessage {
	if req.index != nil && *req.index >= -1 && *req.index < float64(len(m.messages)) {
		if i := int(*req.index) + 2; i < len(m.messages) {
			msg := &m.messages[i]
			// Histories of old versions say no time; the place has to do.
			inTime := msg.at.IsZero() || within(msg.at, req.start, next)
			if msg.assistant && !msg.used && inTime {
				msg.used = true
				return msg
			}
		}
	}
	from := sort.Search(len(m.byTime), func(k int) bool { return !m.messages[m.byTime[k]].at.Before(req.start) })
	for _, i := range m.byTime[from:] {
		msg := &m.messages[i]
		if !within(msg.at, req.start, next) {
			return nil
		}
		if !msg.used {
			msg.used = true
			return msg
		}
	}
	return nil
}

// within reports start <= at <= next; a zero next is no bound.
func within(at, start, next time.Time) bool {
	return !at.Before(start) && (next.IsZero() || !at.After(next))
}

// taskMetadata is task_metadata.json.
type taskMetadata struct {
	Models []struct {
		TS         transcript.Millis `json:"ts"`
		ModelID    string            `json:"model_id"`
		ProviderID string            `json:"model_provider_id"`
	} `json:"model_usage"`
	Environments []struct {
		TS           transcript.Millis `json:"ts"`
		HostName     string            `json:"host_name"`
		ClineVersion string            `json:"cline_version"`
	} `json:"environment_history"`
}

// describe fills in what holds for the whole task: the newest of each.
func (m *taskMetadata) describe(t *hook.Transcript) {
	var newest transcript.Millis = -1
	for _, e := range m.Environments {
		if e.TS >= newest {
			newest = e.TS
			t.HostApp, t.HostVersion = e.HostName, e.ClineVersion
		}
	}
	last := m.modelAt(time.UnixMilli(transcript.MaxMillis))
	t.Provider, t.Model = last.provider, last.id
}

// modelAt is the model in use at a time: Cline adds an entry whenever it
// changes. Before the first entry, it is the first.
func (m *taskMetadata) modelAt(at time.Time) model {
	var found model
	var foundAt transcript.Millis = -1
	for i, u := range m.Models {
		if i == 0 || (u.TS >= foundAt && !u.TS.Time().After(at)) {
			found, foundAt = model{u.ProviderID, u.ModelID}, u.TS
		}
	}
	return found
}

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

// timeOf reads a time in milliseconds.
func timeOf(raw []byte) time.Time {
	ms, _ := rawjson.Float(raw)
	return transcript.Millis(ms).Time()
}

// model names a model as Cline spells it.
type model struct{ provider, id string }

// modelOf reads a model, given the names of the two members.
func modelOf(raw []byte, provider, id string) model {
	o := rawjson.Members(raw)
	return model{rawjson.Unquote(o.Get(provider)), rawjson.Unquote(o.Get(id))}
}

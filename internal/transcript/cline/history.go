package cline

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// apiHistory is api_conversation_history.json: the conversation as the model
// sees it. User messages keep their place and nothing else.
type apiHistory struct {
	messages []apiMessage
	// tools gathers the tool calls; if nil, nobody asked for them.
	tools *classicTools
}

// apiMessage is one message; only an assistant's has more than its role.
type apiMessage struct {
	assistant bool
	at        time.Time
	model     modelInfo
	text      string
	toolIDs   []string
	used      bool
}

func (h *apiHistory) decode(ctx context.Context, r io.Reader) error {
	dec := json.NewDecoder(r)
	return decodeArray(ctx, dec, func() error {
		var m struct {
			Role      string            `json:"role"`
			TS        transcript.Millis `json:"ts"`
			Content   json.RawMessage   `json:"content"`
			ModelInfo *modelInfo        `json:"modelInfo"`
		}
		if err := transcript.DecodeValue(dec, &m); err != nil {
			return err
		}
		msg := apiMessage{assistant: m.Role == "assistant"}
		if msg.assistant {
			msg.at = m.TS.Time()
			if m.ModelInfo != nil {
				msg.model = *m.ModelInfo
			}
			content := transcript.DecodeContent(m.Content)
			msg.text = stripToolXML(content.Text())
			msg.toolIDs = content.ToolIDs()
			if h.tools != nil {
				h.tools.reply(content, msg.at)
			}
		} else if h.tools != nil {
			h.tools.answer(transcript.DecodeContent(m.Content), m.TS.Time())
		}
		h.messages = append(h.messages, msg)
		return nil
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
	newest = -1
	for _, u := range m.Models {
		if u.TS >= newest {
			newest = u.TS
			t.Provider, t.Model = u.ProviderID, u.ModelID
		}
	}
}

// modelAt is the model in use at a moment: Cline adds an entry whenever it
// changes. Before the first entry, the first.
func (m *taskMetadata) modelAt(at time.Time) modelInfo {
	var found modelInfo
	var foundAt transcript.Millis = -1
	for i, u := range m.Models {
		if i == 0 || (u.TS >= foundAt && !u.TS.Time().After(at)) {
			found, foundAt = modelInfo{ProviderID: u.ProviderID, ModelID: u.ModelID}, u.TS
		}
	}
	return found
}

// toolTags are the tools a model calls by writing XML into its text, where its
// provider has no tool calls of its own.
var toolTags = [...]string{
	"access_mcp_resource", "apply_patch", "ask_followup_question", "attempt_completion", "browser_action",
	"condense", "execute_command", "focus_chain", "generate_explanation", "list_code_definition_names",
	"list_files", "load_mcp_documentation", "new_rule", "new_task", "plan_mode_respond", "act_mode_respond",
	"read_file", "replace_in_file", "report_bug", "search_files", "summarize_task", "use_mcp_tool",
	"use_skill", "use_subagents", "web_fetch", "web_search", "write_to_file",
}

// stripToolXML cuts the tool calls out of a reply's text. A call begins on a
// line of its own and is cut up to its end tag, or to the end where the reply
// broke off inside it.
func stripToolXML(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	var kept strings.Builder
	rest, cut := text, false
	for {
		start, tag := firstToolTag(rest)
		if start < 0 {
			break
		}
		kept.WriteString(rest[:start])
		cut = true
		_, after, found := strings.Cut(rest[start:], "</"+tag+">")
		if !found {
			rest = ""
			break
		}
		rest = after
	}
	if !cut {
		return text
	}
	kept.WriteString(rest)
	return strings.TrimSpace(kept.String())
}

// firstToolTag finds the first start tag of a tool at a line's beginning.
func firstToolTag(text string) (int, string) {
	for at := 0; at < len(text); {
		open := strings.IndexByte(text[at:], '<')
		if open < 0 {
			break
		}
		at += open
		name, _, found := strings.Cut(text[at+1:min(len(text), at+1+maxTagLen)], ">")
		if found && (at == 0 || text[at-1] == '\n') && slices.Contains(toolTags[:], name) {
			return at, name
		}
		at++
	}
	return -1, ""
}

// maxTagLen exceeds the longest name in toolTags and its bracket.
const maxTagLen = 32

package agentfiles

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

type qwenRow struct {
	UUID, SessionID, Timestamp, CWD, Type, Subtype, Provenance, Model, AgentID string
	IsSidechain                                                                bool
	Message                                                                    struct {
		Parts []struct {
			Text             string
			InlineData       jsontext.Value
			Thought          bool
			FunctionCall     *struct{ ID, Name string }
			FunctionResponse *struct {
				ID       string
				Response struct{ Error jsontext.Value }
			}
		}
	}
	UsageMetadata *struct {
		PromptTokenCount, CandidatesTokenCount, ThoughtsTokenCount, TotalTokenCount, CachedContentTokenCount float64
	}
	ToolCallResult struct{ Status, ErrorType string }
	SystemPayload  struct {
		UIEvent struct {
			Name                                                                           string `json:"event.name"`
			ResponseID, Model, SubagentID, PromptID, FunctionName, CallID                  string
			Success                                                                        bool
			InputTokenCount                                                                *float64
			OutputTokenCount, ThoughtsTokenCount, TotalTokenCount, CachedContentTokenCount float64
		}
	}
}

// qwenFile is what is known of a session's file while it is read.
type qwenFile struct {
	*file
	name string
	// lead reports a row of the main agent, reported that telemetry has the answer that comes
	// next, unreported are the requests of those that it lacks.
	lead, reported bool
	unreported     []*Request
}

func openQwen(r *file) func([]byte) {
	c := &qwenFile{file: r, name: strings.TrimSuffix(filepath.Base(r.path), ".jsonl")}
	older := openGemini(r)
	if filepath.Ext(r.path) == ".json" {
		return older
	}
	r.sub = false
	return rows(r, func(row *qwenRow, line []byte) {
		if r.repeats(row.UUID, row.Timestamp) {
			return
		}
		r.session, r.at, r.agent = cmp.Or(row.SessionID, r.session), timeOf(row.Timestamp), row.AgentID
		if name, sub := strings.CutPrefix(c.name, "agent-"); sub {
			r.agent = cmp.Or(row.AgentID, name)
		}
		if row.IsSidechain {
			r.agent = cmp.Or(r.agent, "?")
		}
		r.in(row.CWD)
		c.lead = r.agent == ""
		kind := row.Type
		if row.Subtype != "" {
			kind += "/" + row.Subtype
		}
		r.kind("qwen-code", kind, line)
		r.kind("qwen-code events", row.SystemPayload.UIEvent.Name, line)
		c.take(row)
	})
}

func (c *qwenFile) take(row *qwenRow) {
	text, called := c.parts(row)
	switch row.Type {
	case "user":
		if c.lead && known("real_user", row.Provenance) && !hostText(text) {
			c.prompt(1, row.UUID, text)
		} else if c.lead {
			c.begin("")
		}
	case "assistant":
		if c.lead {
			c.within()
			c.says(!called && text != "" && text != "[image]", false)
		}
		c.used(row)
	case "tool_result":
		if c.lead && row.ToolCallResult.Status == "cancelled" {
			c.interrupt()
		}
	case "system":
		c.telemetry(row)
	}
}

// parts adds the calls and results of a message, and returns its text.
func (c *qwenFile) parts(row *qwenRow) (text string, called bool) {
	shown := ""
	for _, p := range row.Message.Parts {
		switch {
		case p.FunctionCall != nil:
			called = true
			c.call(p.FunctionCall.ID, p.FunctionCall.Name)
		case p.FunctionResponse != nil:
			c.result(p.FunctionResponse.ID, qwenStatus(row, len(p.FunctionResponse.Response.Error) > 0))
		case p.InlineData != nil:
			shown = "[image]"
		case !p.Thought:
			text += p.Text
		}
	}
	return cmp.Or(text, shown), called
}

func qwenStatus(row *qwenRow, failed bool) Status {
	switch {
	case row.ToolCallResult.ErrorType == "execution_denied" || row.ToolCallResult.Status == "cancelled":
		return Denied
	case failed || row.ToolCallResult.Status == "error":
		return Bad
	}
	return OK
}

// used adds the tokens of an answer of which telemetry did not tell.
func (c *qwenFile) used(row *qwenRow) {
	if u := row.UsageMetadata; u != nil && !(c.lead && c.reported) {
		rank := 1
		if c.lead {
			rank = max(1, c.of().rank[0])
		}
		q := c.request(rank, row.UUID, row.Model, qwenCounts(u.PromptTokenCount, u.CandidatesTokenCount, u.ThoughtsTokenCount, u.TotalTokenCount, u.CachedContentTokenCount))
		if c.lead {
			c.unreported = append(c.unreported, q)
		}
	}
	c.reported = c.reported && !c.lead
}

// telemetry adds what an event tells. Of a subagent of version 0.14 only the prompt's id says
// that it is one: SESSION#NAME-RANDOM#N, where that of the main agent is SESSION########N.
func (c *qwenFile) telemetry(row *qwenRow) {
	e := &row.SystemPayload.UIEvent
	if row.Subtype != "ui_telemetry" || strings.HasPrefix(e.SubagentID, "managed-") { // the host's own work
		return
	}
	older := false
	if parts := strings.Split(strings.TrimPrefix(e.PromptID, c.session), "#"); len(parts) == 3 && parts[1] != "" {
		c.agent, older = parts[1], true
	}
	c.agent = cmp.Or(e.SubagentID, c.agent)
	switch {
	case e.Name == "qwen-code.api_error":
		c.failure(row.UUID)
		if c.agent == "" {
			c.finish(true)
		}
	case e.Name == "qwen-code.tool_call" && older && !is(filepath.Join(filepath.Dir(filepath.Dir(c.path)), "subagents", c.session, "agent-"+filepath.Base(c.agent)+".jsonl"), false):
		// Newer versions write a file for a subagent, which has its calls.
		id := cmp.Or(e.CallID, fmt.Sprintf("%s:%d", c.name, c.line))
		c.call(id, e.FunctionName).Unnamed = e.CallID == ""
		c.result(id, statusIf(!e.Success))
	case e.Name == "qwen-code.api_response" && e.InputTokenCount != nil:
		q := qwenCounts(*e.InputTokenCount, e.OutputTokenCount, e.ThoughtsTokenCount, e.TotalTokenCount, e.CachedContentTokenCount)
		c.reported = c.reported || c.agent == ""
		if n := len(c.unreported); c.agent == "" && n > 0 && c.unreported[n-1].Input == q.Input && c.unreported[n-1].Output == q.Output {
			delete(c.of().Requests, c.unreported[n-1].ID) // it came before its telemetry
			c.unreported, c.reported = c.unreported[:n-1], false
		}
		c.request(2, cmp.Or(e.ResponseID, row.UUID), e.Model, q)
		for _, a := range c.unreported {
			c.of().addRequest(2, a)
		}
	}
}

// qwenCounts is a request. Some versions count the thoughts beside the output.
func qwenCounts(input, output, thoughts, total, cached float64) Request {
	if total == input+output+thoughts {
		output += thoughts
	}
	return counted(input, output, cached, 0)
}

package second

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

type qwenRow struct {
	UUID       string `json:"uuid"`
	Session    string `json:"sessionId"`
	Time       string `json:"timestamp"`
	Dir        string `json:"cwd"`
	Type       string `json:"type"`
	Subtype    string `json:"subtype"`
	Provenance string `json:"provenance"`
	Model      string `json:"model"`
	Agent      string `json:"agentId"`
	Side       bool   `json:"isSidechain"`
	Message    struct {
		Parts []struct {
			Text    string         `json:"text"`
			Inline  jsontext.Value `json:"inlineData"`
			Thought bool           `json:"thought"`
			Call    *struct {
				ID   string `json:"id"`
				Name string `json:"name"`
			} `json:"functionCall"`
			Result *struct {
				ID       string `json:"id"`
				Response struct {
					Error jsontext.Value `json:"error"`
				} `json:"response"`
			} `json:"functionResponse"`
		} `json:"parts"`
	} `json:"message"`
	Usage *struct {
		Input    float64 `json:"promptTokenCount"`
		Output   float64 `json:"candidatesTokenCount"`
		Thoughts float64 `json:"thoughtsTokenCount"`
		Total    float64 `json:"totalTokenCount"`
		Cached   float64 `json:"cachedContentTokenCount"`
	} `json:"usageMetadata"`
	Result struct {
		Status string `json:"status"`
		Error  string `json:"errorType"`
	} `json:"toolCallResult"`
	System struct {
		Event struct {
			Name     string   `json:"event.name"`
			Response string   `json:"response_id"`
			Model    string   `json:"model"`
			Agent    string   `json:"subagent_id"`
			Prompt   string   `json:"prompt_id"`
			Tool     string   `json:"function_name"`
			Call     string   `json:"call_id"`
			Success  bool     `json:"success"`
			Input    *float64 `json:"input_token_count"`
			Output   float64  `json:"output_token_count"`
			Thoughts float64  `json:"thoughts_token_count"`
			Total    float64  `json:"total_token_count"`
			Cached   float64  `json:"cached_content_token_count"`
		} `json:"uiEvent"`
	} `json:"systemPayload"`
	// Messages are all rows of an older file, which is in the form of the Gemini CLI.
	Messages []geminiRow `json:"messages"`
}

// qwenAnswer is a request that no telemetry has reported yet.
type qwenAnswer struct {
	id string
	*Request
}

// qwenFile is what is known of a session's file while it is read.
type qwenFile struct {
	*file
	name string
	// lead reports a row of the main agent, reported that telemetry has the answer that comes
	// next, unreported are those that it lacks.
	lead, reported bool
	unreported     []qwenAnswer
}

func openQwen(r *file) func([]byte) {
	c := &qwenFile{file: r, name: strings.TrimSuffix(filepath.Base(r.path), ".jsonl")}
	older := openGemini(r)
	return func(line []byte) {
		if filepath.Ext(r.path) == ".json" {
			older(line)
			return
		}
		var row qwenRow
		if !r.parse(line, &row) {
			return
		}
		r.sub = false
		r.session, r.at, r.agent = cmp.Or(row.Session, r.session), timeOf(row.Time), row.Agent
		if name, sub := strings.CutPrefix(c.name, "agent-"); sub {
			r.agent = cmp.Or(row.Agent, name)
		}
		if row.Side {
			r.agent = cmp.Or(r.agent, "?")
		}
		r.in(row.Dir)
		c.lead = r.agent == ""
		kind := row.Type
		if row.Subtype != "" {
			kind += "/" + row.Subtype
		}
		r.kind("qwen-code", kind, line)
		r.kind("qwen-code events", row.System.Event.Name, line)
		c.take(&row)
	}
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
			if c.turn == nil {
				c.begin("") // the file begins within a turn
			}
			c.answered, c.failed = !called && text != "" && text != "[image]", false
			c.lasts()
		}
		c.used(row)
	case "tool_result":
		if c.lead && row.Result.Status == "cancelled" {
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
		case p.Call != nil:
			called = true
			c.call(p.Call.ID, p.Call.Name)
		case p.Result != nil:
			c.result(p.Result.ID, qwenStatus(row, len(p.Result.Response.Error) > 0))
		case p.Inline != nil:
			shown = "[image]"
		case !p.Thought:
			text += p.Text
		}
	}
	return cmp.Or(text, shown), called
}

func qwenStatus(row *qwenRow, failed bool) Status {
	switch {
	case row.Result.Error == "execution_denied" || row.Result.Status == "cancelled":
		return Denied
	case failed || row.Result.Status == "error":
		return Bad
	}
	return OK
}

// used adds the tokens of an answer of which telemetry did not tell.
func (c *qwenFile) used(row *qwenRow) {
	if u := row.Usage; u != nil && !(c.lead && c.reported) {
		c.works()
		q := counted(u.Input, withThoughts(u.Input, u.Output, u.Thoughts, u.Total), u.Cached, 0)
		q.Fact, q.Model = c.fact(), row.Model
		rank := 1
		if c.lead {
			rank = max(1, c.of().rank[0])
			c.unreported = append(c.unreported, qwenAnswer{row.UUID, &q})
		}
		c.of().addRequest(rank, row.UUID, &q)
	}
	c.reported = c.reported && !c.lead
}

// telemetry adds what an event tells. Of a subagent of version 0.14 only the prompt's id says
// that it is one: SESSION#NAME-RANDOM#N, where that of the main agent is SESSION########N.
func (c *qwenFile) telemetry(row *qwenRow) {
	e := &row.System.Event
	if row.Subtype != "ui_telemetry" || strings.HasPrefix(e.Agent, "managed-") { // the host's own work
		return
	}
	older := false
	if parts := strings.Split(strings.TrimPrefix(e.Prompt, c.session), "#"); len(parts) == 3 && parts[1] != "" {
		c.agent, older = parts[1], true
	}
	c.agent = cmp.Or(e.Agent, c.agent)
	switch {
	case e.Name == "qwen-code.api_error":
		c.failure(row.UUID)
		if c.agent == "" {
			c.finish(true)
		}
	case e.Name == "qwen-code.tool_call" && older && !c.hasFile(c.agent):
		id := cmp.Or(e.Call, fmt.Sprintf("%s:%d", c.name, c.line))
		c.call(id, e.Tool).Unnamed = e.Call == ""
		c.result(id, statusIf(!e.Success))
	case e.Name == "qwen-code.api_response" && e.Input != nil:
		q := counted(*e.Input, withThoughts(*e.Input, e.Output, e.Thoughts, e.Total), e.Cached, 0)
		c.reported = c.reported || c.agent == ""
		if n := len(c.unreported); c.agent == "" && n > 0 && c.unreported[n-1].Input == q.Input && c.unreported[n-1].Output == q.Output {
			delete(c.of().Requests, c.unreported[n-1].id) // it came before its telemetry
			c.unreported, c.reported = c.unreported[:n-1], false
		}
		c.request(2, cmp.Or(e.Response, row.UUID), e.Model, q)
		for _, a := range c.unreported {
			c.of().addRequest(2, a.id, a.Request)
		}
	}
}

// hasFile reports that a subagent has a file, which has its calls: newer versions write one.
func (c *qwenFile) hasFile(agent string) bool {
	_, err := os.Lstat(filepath.Join(filepath.Dir(filepath.Dir(c.path)), "subagents", c.session, "agent-"+filepath.Base(agent)+".jsonl"))
	return err == nil
}

// withThoughts is the output with the thoughts, which some versions count beside it.
func withThoughts(input, output, thoughts, total float64) float64 {
	if total == input+output+thoughts {
		return output + thoughts
	}
	return output
}

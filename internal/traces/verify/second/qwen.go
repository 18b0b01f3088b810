package second

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

func qwenFolders(e Env) []string {
	homes := append([]string{e.Getenv("QWEN_RUNTIME_DIR"), e.Getenv("QWEN_HOME")}, below([]string{e.Home}, ".qwen")...)
	return append(below(homes, "projects"), below(homes, "tmp")...)
}

type qwenRow struct {
	UUID       string `json:"uuid"`
	Session    string `json:"sessionId"`
	Time       string `json:"timestamp"`
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
				ID string `json:"id"`
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
	} `json:"toolCallResult"`
	System struct {
		Event struct {
			Name     string   `json:"event.name"`
			Response string   `json:"response_id"`
			Model    string   `json:"model"`
			Agent    string   `json:"subagent_id"`
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

func openQwen(r *file) func([]byte) {
	sub := strings.HasPrefix(filepath.Base(r.path), "agent-")
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
		r.session, r.at = cmp.Or(row.Session, r.session), timeOf(row.Time)
		lead := !sub && !row.Side && row.Agent == ""
		text, shown, called := "", "", false
		for _, p := range row.Message.Parts {
			switch {
			case p.Call != nil:
				called = true
				r.call(p.Call.ID)
			case p.Result != nil:
				r.result(p.Result.ID, len(p.Result.Response.Error) > 0)
			case p.Inline != nil:
				shown = "[image]"
			case !p.Thought:
				text += p.Text
			}
		}
		switch row.Type {
		case "user":
			if lead && slices.Contains([]string{"", "real_user"}, row.Provenance) && !hostText(cmp.Or(text, shown)) {
				r.prompt(1, row.UUID)
			} else if lead {
				r.begin("")
			}
		case "assistant":
			if lead {
				r.answered = !called && text != ""
			}
			if u := row.Usage; u != nil {
				r.request(1, row.UUID, row.Model, counted(u.Input, withThoughts(u.Input, u.Output, u.Thoughts, u.Total), u.Cached, 0))
			}
		case "tool_result":
			if lead && row.Result.Status == "cancelled" {
				r.interrupt()
			}
		case "system":
			switch e := &row.System.Event; {
			case row.Subtype != "ui_telemetry", strings.HasPrefix(e.Agent, "managed-"): // the host's own work
			case e.Name == "qwen-code.api_error":
				r.answered = true
			case e.Name == "qwen-code.api_response" && e.Input != nil:
				r.request(2, cmp.Or(e.Response, row.UUID), e.Model, counted(*e.Input, withThoughts(*e.Input, e.Output, e.Thoughts, e.Total), e.Cached, 0))
			}
		}
	}
}

// withThoughts is the output with the thoughts, which some versions count beside it.
func withThoughts(input, output, thoughts, total float64) float64 {
	if total == input+output+thoughts {
		return output + thoughts
	}
	return output
}

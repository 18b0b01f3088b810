package second

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

func geminiFolders(e Env) []string {
	return append(below([]string{e.Getenv("GEMINI_CLI_HOME")}, ".gemini", "tmp"), below([]string{e.Home}, ".gemini", "tmp")...)
}

type geminiRow struct {
	Session string         `json:"sessionId"`
	Kind    string         `json:"kind"`
	ID      string         `json:"id"`
	Time    string         `json:"timestamp"`
	Type    string         `json:"type"`
	Model   string         `json:"model"`
	Content jsontext.Value `json:"content"`
	Tokens  *struct {
		Input    float64 `json:"input"`
		Output   float64 `json:"output"`
		Cached   float64 `json:"cached"`
		Thoughts float64 `json:"thoughts"`
		Tool     float64 `json:"tool"`
	} `json:"tokens"`
	Calls []struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	} `json:"toolCalls"`
	// Messages are all rows of an older file.
	Messages []geminiRow `json:"messages"`
}

func openGemini(r *file) func([]byte) {
	sub := filepath.Base(filepath.Dir(r.path)) != "chats"
	inChats := !sub || filepath.Base(filepath.Dir(filepath.Dir(r.path))) == "chats"
	var take func(row *geminiRow)
	take = func(row *geminiRow) {
		r.at = timeOf(row.Time)
		switch row.Type {
		case "user":
			text := ""
			for _, part := range blocks(row.Content) {
				text += part.Text
				if part.Inline != nil && text == "" {
					text = "[image]"
				}
			}
			if !sub && !hostText(text) && !strings.HasPrefix(text, "System: Potential loop detected.") {
				r.prompt(1, row.ID)
			}
		case "gemini", "qwen":
			if t := row.Tokens; t != nil {
				r.request(1, row.ID, row.Model, counted(t.Input+t.Tool, t.Output+t.Thoughts, t.Cached, 0))
			}
			for _, c := range row.Calls {
				r.call(c.ID)
				if slices.Contains([]string{"success", "error", "cancelled"}, c.Status) {
					r.result(c.ID, c.Status != "success")
				}
			}
			r.answered = !sub && len(row.Calls) == 0
		case "error":
			r.answered = true
		case "info":
			if unquoted(row.Content) == "Request cancelled." {
				r.interrupt()
			}
		}
		for i := range row.Messages {
			take(&row.Messages[i])
		}
	}
	return func(line []byte) {
		if filepath.Base(r.path) == "logs.json" || !inChats {
			return
		}
		var row geminiRow
		if !r.parse(line, &row) {
			return
		}
		if r.session == "" || row.Session != "" {
			if sub = sub || row.Kind == "subagent"; sub {
				row.Session = filepath.Base(filepath.Dir(r.path))
			}
			r.session = cmp.Or(row.Session, r.session)
		}
		take(&row)
	}
}

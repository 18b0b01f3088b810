package agentfiles

import (
	"cmp"
	"path/filepath"
	"strings"
)

type geminiRow struct {
	SessionID, Kind, ID, Timestamp, Type, Model string
	Content                                     blockList
	Tokens                                      *struct{ Input, Output, Cached, Thoughts, Tool float64 }
	ToolCalls                                   []struct {
		ID, Name, Status string
		ResultDisplay    ends
		Result           []struct {
			FunctionResponse struct{ Response struct{ Output, Error ends } }
		}
	}
	// Messages are all rows of an older file.
	Messages []geminiRow
}

func openGemini(r *file) func([]byte) {
	folder := filepath.Base(filepath.Dir(r.path))
	r.sub = folder != "chats"
	inChats := !r.sub || filepath.Base(filepath.Dir(filepath.Dir(r.path))) == "chats"
	if r.sub {
		r.agent = fileName(r.path)
	}
	if filepath.Base(r.path) == "logs.json" || !inChats {
		return func([]byte) {}
	}
	return rows(r, func(row *geminiRow, line []byte) {
		if r.session == "" || row.SessionID != "" {
			if row.Kind == "subagent" || geminiTask(row) {
				r.sub, r.agent = true, fileName(r.path)
			}
			if r.sub && folder != "chats" {
				row.SessionID = folder
			}
			r.session = cmp.Or(row.SessionID, r.session)
		}
		r.gemini(row, line)
	})
}

// geminiTask reports a file of an agent of the older versions, which begins with what this is to do.
func geminiTask(row *geminiRow) bool {
	return len(row.Messages) > 0 && begins(joined(row.Messages[0].Content), geminiTasks)
}

// geminiTasks are the beginnings of the tasks of agents that have no kind, and geminiWords of
// what the program itself writes as a user.
var (
	geminiTasks = []string{"Your task is to do a deep investigation of the codebase", "Your task is to answer the following question about Gemini CLI"}
	geminiWords = []string{"You have exceeded the time limit"}
)

// gemini takes a row, and those in it.
func (r *file) gemini(row *geminiRow, line []byte) {
	r.at = timeOf(row.Timestamp)
	r.kind("gemini-cli", row.Type, line)
	switch row.Type {
	case "user":
		r.of() // may be older than the first request
		r.unauthorized(row.Content)
		text := joined(row.Content)
		switch {
		case r.sub || hostText(text):
		case strings.HasPrefix(text, "System: Potential loop detected."):
			r.turn.Unclear = true // the program may end the turn
		case strings.HasPrefix(text, "User steering update"):
			r.typed(1, row.ID, typedIn(text))
		case !begins(text, geminiWords):
			r.prompt(1, row.ID, text)
		}
	case "gemini", "qwen":
		if t := row.Tokens; t != nil {
			r.request(1, row.ID, row.Model, counted(t.Input+t.Tool, t.Output+t.Thoughts, t.Cached, 0))
		}
		for i := range row.ToolCalls {
			q := &row.ToolCalls[i]
			r.call(q.ID, q.Name)
			r.delegated = r.delegated || q.Name == "complete_task" && !r.sub
			if known("success error cancelled", q.Status) && q.Status != "" {
				text := ""
				if len(q.Result) > 0 {
					text = strings.TrimPrefix(string(cmp.Or(q.Result[0].FunctionResponse.Response.Error, q.Result[0].FunctionResponse.Response.Output)), `"`)
				}
				r.result(q.ID, geminiStatus(q.Status, text, string(q.ResultDisplay)))
			}
		}
		if !r.sub {
			r.says(len(row.ToolCalls) == 0, false)
		}
	case "error":
		r.turn.Answered, r.turn.Unclear = false, true
		r.lasts()
	case "info":
		if joined(row.Content) == "Request cancelled." {
			r.interrupt()
		}
	}
	for i := range row.Messages {
		r.gemini(&row.Messages[i], line)
	}
}

// unauthorized adds the calls of tools that a subagent does not have: only their answer names them.
func (r *file) unauthorized(content []block) {
	for i := range content {
		if q := &content[i].FunctionResponse; strings.HasPrefix(q.Response.Error, "Unauthorized tool call: ") {
			r.call(q.ID, q.Name)
			r.result(q.ID, Bad)
		}
	}
}

// geminiStatus is what the status of a call says. The exit code of a command is in the words
// of its output, below what it printed itself, which is shown.
func geminiStatus(status, text, shown string) Status {
	switch {
	case status == "cancelled" || status == "error" && strings.HasPrefix(text, "Tool execution blocked"):
		return Denied
	case status == "error":
		return Bad
	}
	_, code, _ := strings.Cut(text[max(0, strings.LastIndex(text, `\nExit Code: `)):], `\nExit Code: `)
	code, _, more := strings.Cut(code, `\n`)
	if code != "" && !more {
		return Unstated // the command's own words
	}
	return statusIf(code != "" && code != "0" && !strings.Contains(shown, "Exit Code: "+code))
}

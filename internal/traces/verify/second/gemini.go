package second

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

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
		ID      string `json:"id"`
		Name    string `json:"name"`
		Status  string `json:"status"`
		Display ends   `json:"resultDisplay"`
		Results []struct {
			Response struct {
				Response struct {
					Output ends `json:"output"`
					Error  ends `json:"error"`
				} `json:"response"`
			} `json:"functionResponse"`
		} `json:"result"`
	} `json:"toolCalls"`
	// Messages are all rows of an older file.
	Messages []geminiRow `json:"messages"`
}

// geminiFile is a session's file while it is read.
type geminiFile struct{ *file }

func openGemini(r *file) func([]byte) {
	c := &geminiFile{file: r}
	folder := filepath.Base(filepath.Dir(r.path))
	r.sub = folder != "chats"
	inChats := !r.sub || filepath.Base(filepath.Dir(filepath.Dir(r.path))) == "chats"
	if r.sub {
		r.agent = fileName(r.path)
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
			if row.Kind == "subagent" || geminiTask(&row) {
				r.sub, r.agent = true, fileName(r.path)
			}
			if r.sub && folder != "chats" {
				row.Session = folder
			}
			r.session = cmp.Or(row.Session, r.session)
		}
		c.take(&row, line)
	}
}

// geminiTask reports a file of an agent of the older versions: it has the session's id, and
// begins with what the agent is to do.
func geminiTask(row *geminiRow) bool {
	if len(row.Messages) == 0 {
		return false
	}
	text := joinedParts(row.Messages[0].Content)
	return slices.ContainsFunc(geminiTasks, func(start string) bool { return strings.HasPrefix(text, start) })
}

// geminiTasks are the beginnings of the tasks of agents that have no kind, and geminiWords of
// what the program itself writes as a user.
var (
	geminiTasks = []string{"Your task is to do a deep investigation of the codebase", "Your task is to answer the following question about Gemini CLI"}
	geminiWords = []string{"System: Potential loop detected.", "You have exceeded the time limit"}
)

func joinedParts(raw jsontext.Value) (text string) {
	for _, part := range blocks(raw) {
		text += part.Text
		if part.Inline != nil && text == "" {
			text = "[image]"
		}
	}
	return text
}

func (c *geminiFile) take(row *geminiRow, line []byte) {
	c.at = timeOf(row.Time)
	c.kind("gemini-cli", row.Type, line)
	switch row.Type {
	case "user":
		c.of() // may be older than the first request
		c.unauthorized(row.Content)
		text := joinedParts(row.Content)
		begins := func(start string) bool { return strings.HasPrefix(text, start) }
		switch {
		case c.sub || hostText(text):
		case begins("System: Potential loop detected."):
			c.unclear = true // the program may end the turn
		case begins("User steering update"):
			c.typed(1, row.ID, typedIn(text))
		case !slices.ContainsFunc(geminiWords, begins):
			c.prompt(1, row.ID, text)
		}
	case "gemini", "qwen":
		if t := row.Tokens; t != nil {
			c.request(1, row.ID, row.Model, counted(t.Input+t.Tool, t.Output+t.Thoughts, t.Cached, 0))
		}
		for i := range row.Calls {
			q := &row.Calls[i]
			c.call(q.ID, q.Name)
			c.delegated = c.delegated || q.Name == "complete_task" && !c.sub
			if known("success error cancelled", q.Status) && q.Status != "" {
				text := ""
				if len(q.Results) > 0 {
					text = strings.TrimPrefix(string(cmp.Or(q.Results[0].Response.Response.Error, q.Results[0].Response.Response.Output)), `"`)
				}
				c.result(q.ID, geminiStatus(q.Status, text, string(q.Display)))
			}
		}
		if !c.sub {
			c.answered, c.failed = len(row.Calls) == 0, false
			c.lasts()
		}
	case "error":
		c.answered, c.unclear = false, true
		c.lasts()
	case "info":
		if unquoted(row.Content) == "Request cancelled." {
			c.interrupt()
		}
	}
	for i := range row.Messages {
		c.take(&row.Messages[i], line)
	}
}

// unauthorized adds the calls of tools that a subagent does not have, which only the answer to
// them names.
func (c *geminiFile) unauthorized(content jsontext.Value) {
	for _, p := range value[[]struct {
		Answer struct {
			ID       string `json:"id"`
			Name     string `json:"name"`
			Response struct {
				Error string `json:"error"`
			} `json:"response"`
		} `json:"functionResponse"`
	}](content) {
		if strings.HasPrefix(p.Answer.Response.Error, "Unauthorized tool call: ") {
			c.call(p.Answer.ID, p.Answer.Name)
			c.result(p.Answer.ID, Bad)
		}
	}
}

// geminiStatus is what the status of a call says. The exit code of a command is in the words
// of its output, below what it printed itself, which is shown.
func geminiStatus(status, text, shown string) Status {
	switch {
	case status == "error" && strings.HasPrefix(text, "Tool execution blocked"):
		return Denied
	case status == "error":
		return Bad
	case status == "cancelled":
		return Denied
	}
	_, code, _ := strings.Cut(text[max(0, strings.LastIndex(text, `\nExit Code: `)):], `\nExit Code: `)
	code, _, more := strings.Cut(code, `\n`)
	if code != "" && !more {
		return Unstated // the command's own words
	}
	return statusIf(code != "" && code != "0" && !strings.Contains(shown, "Exit Code: "+code))
}

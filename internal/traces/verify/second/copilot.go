package second

import (
	"cmp"
	"path/filepath"
	"slices"
)

func copilotFolders(e Env) []string {
	return below(append([]string{e.Getenv("COPILOT_HOME")}, below([]string{e.Home}, ".copilot")...), "session-state")
}

type copilotUsage struct {
	Model  string  `json:"model"`
	APIID  string  `json:"apiCallId"`
	Input  float64 `json:"inputTokens"`
	Output float64 `json:"outputTokens"`
	Read   float64 `json:"cacheReadTokens"`
	Write  float64 `json:"cacheWriteTokens"`
}

func (u *copilotUsage) request() Request { return counted(u.Input, u.Output, u.Read, u.Write) }

type copilotRow struct {
	Type  string `json:"type"`
	ID    string `json:"id"`
	Time  string `json:"timestamp"`
	Agent string `json:"agentId"`
	Data  struct {
		Session string   `json:"sessionId"`
		Call    string   `json:"toolCallId"`
		Source  string   `json:"source"`
		Error   string   `json:"errorType"`
		Message string   `json:"messageId"`
		Model   string   `json:"model"`
		Output  *float64 `json:"outputTokens"`
		Success bool     `json:"success"`
		Content string   `json:"content"`
		Shell   struct {
			Exit int `json:"exitCode"`
		} `json:"shellExecution"`
		Usage copilotUsage `json:"usage"`
		Hook  struct {
			Decision string `json:"decision"`
			Reason   string `json:"reason"`
		} `json:"output"`
		Requests []struct {
			ID string `json:"toolCallId"`
		} `json:"toolRequests"`
		Metrics map[string]struct {
			Usage copilotUsage `json:"usage"`
		} `json:"modelMetrics"`
	} `json:"data"`
}

func openCopilot(r *file) func([]byte) {
	r.session = filepath.Base(filepath.Dir(r.path))
	model, refused := "", "" // why a hook refused the end, which Copilot then asks as a prompt
	return func(line []byte) {
		var row copilotRow
		if filepath.Base(r.path) != "events.jsonl" || !r.parse(line, &row) {
			return
		}
		d := &row.Data
		r.at = timeOf(row.Time)
		switch row.Type {
		case "session.start":
			r.session = cmp.Or(d.Session, r.session)
		case "hook.end":
			if d.Hook.Decision == "block" {
				refused = d.Hook.Reason
			}
		case "user.message":
			if row.Agent == "" && d.Content != refused && slices.Contains([]string{"", "user"}, d.Source) && !hostText(d.Content) {
				r.prompt(1, row.ID)
			} else if row.Agent == "" {
				r.begin("")
			}
		case "session.usage_record":
			r.request(3, cmp.Or(d.Usage.APIID, row.ID), d.Usage.Model, d.Usage.request())
		case "session.shutdown":
			for name, m := range d.Metrics {
				r.request(2, row.ID+"/"+name, name, m.Usage.request())
			}
		case "assistant.message":
			model = cmp.Or(d.Model, model)
			if d.Output != nil {
				r.request(1, cmp.Or(d.Message, row.ID), model, counted(0, *d.Output, 0, 0))
			}
			for _, q := range d.Requests {
				r.call(q.ID)
			}
			if row.Agent == "" {
				r.answered = len(d.Requests) == 0
			}
		case "tool.execution_start":
			r.call(d.Call)
		case "tool.execution_complete":
			r.result(d.Call, !d.Success || d.Shell.Exit != 0)
		case "session.error":
			// Others are of the program.
			r.answered = r.answered || row.Agent == "" && d.Error != "mcp" && d.Error != "model"
		case "abort":
			r.interrupt()
		}
	}
}

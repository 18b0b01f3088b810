package second

import (
	"cmp"
	"path/filepath"
	"strings"
)

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
		Context struct {
			Dir string `json:"cwd"`
		} `json:"context"`
		Session     string   `json:"sessionId"`
		Call        string   `json:"toolCallId"`
		Parent      string   `json:"parentToolCallId"`
		Tool        string   `json:"toolName"`
		Interaction string   `json:"interactionId"`
		Source      string   `json:"source"`
		Error       string   `json:"errorType"`
		Message     string   `json:"messageId"`
		APIID       string   `json:"apiCallId"`
		Model       string   `json:"model"`
		Output      *float64 `json:"outputTokens"`
		Success     bool     `json:"success"`
		Content     string   `json:"content"`
		Failure     struct {
			Code string `json:"code"`
		} `json:"error"`
		Shell struct {
			Exit int `json:"exitCode"`
		} `json:"shellExecution"`
		Usage copilotUsage `json:"usage"`
		Hook  struct {
			Decision string `json:"decision"`
			Reason   string `json:"reason"`
		} `json:"output"`
		Requests []struct {
			ID   string `json:"toolCallId"`
			Name string `json:"name"`
		} `json:"toolRequests"`
		Metrics map[string]struct {
			Usage copilotUsage `json:"usage"`
		} `json:"modelMetrics"`
	} `json:"data"`
}

// copilotFile is what is known of a session's file while it is read.
type copilotFile struct {
	*file
	// refused is why a hook refused the end, which Copilot then asks as a prompt.
	model, refused string
	// output is the sum of the answers since the last shutdown, answers are those of which one
	// may be in several rows.
	output  float64
	answers map[string]float64
	// interaction is that of the newest prompt.
	interaction string
}

// openCopilot prepares for a file: the events of a session's folder, or a session's file of 2025.
func openCopilot(r *file) func([]byte) {
	c := &copilotFile{file: r, answers: make(map[string]float64)}
	r.session = filepath.Base(filepath.Dir(r.path))
	flat := r.session == "session-state" && filepath.Ext(r.path) == ".jsonl"
	if flat {
		r.session = strings.TrimSuffix(filepath.Base(r.path), ".jsonl")
	}
	return func(line []byte) {
		var row copilotRow
		if !flat && filepath.Base(r.path) != "events.jsonl" || !r.parse(line, &row) {
			return
		}
		r.at, r.agent = timeOf(row.Time), cmp.Or(row.Agent, row.Data.Parent)
		r.kind("copilot-cli", row.Type, line)
		c.take(&row)
	}
}

func (c *copilotFile) take(row *copilotRow) {
	d := &row.Data
	switch row.Type {
	case "session.start", "session.resume":
		c.session = cmp.Or(d.Session, c.session)
		c.in(d.Context.Dir)
	case "hook.end":
		if d.Hook.Decision == "block" {
			c.refused = d.Hook.Reason
		}
	case "user.message":
		c.asked(row)
	case "session.usage_record":
		c.request(3, cmp.Or(d.Usage.APIID, row.ID), d.Usage.Model, d.Usage.request())
	case "session.shutdown":
		said := 0.0
		for _, m := range d.Metrics {
			said += m.Usage.Output
		}
		s := c.of()
		s.Unsummed = s.Unsummed || said < c.output && s.rank[0] < 3
		c.output = 0
		for name, m := range d.Metrics {
			c.request(2, row.ID+"/"+name, name, m.Usage.request())
		}
	case "assistant.message":
		c.model = cmp.Or(d.Model, c.model)
		if d.Output != nil {
			c.output += *d.Output
			id := cmp.Or(d.APIID, d.Message, row.ID)
			c.answers[id] += *d.Output
			c.request(1, id, c.model, counted(0, c.answers[id], 0, 0))
		}
		for _, q := range d.Requests {
			c.call(q.ID, q.Name)
		}
		if c.agent == "" {
			c.answered, c.failed = len(d.Requests) == 0, false
			c.lasts()
		}
	case "tool.execution_start":
		c.call(d.Call, d.Tool)
	case "tool.execution_complete":
		c.result(d.Call, copilotStatus(row))
	case "session.task_complete":
		if c.agent == "" {
			c.finish(false)
		}
	case "session.error":
		// Others are of the program.
		if c.agent == "" && d.Error != "mcp" && d.Error != "model" {
			c.finish(!c.answered)
		}
	case "abort":
		c.interrupt()
	}
}

func copilotStatus(row *copilotRow) Status {
	switch d := &row.Data; {
	case d.Failure.Code == "denied" || d.Failure.Code == "rejected":
		return Denied
	case !d.Success || d.Shell.Exit != 0:
		return Failed
	}
	return OK
}

// asked notes a prompt. The host's own messages, some of which are empty, begin no turn within
// an interaction.
func (c *copilotFile) asked(row *copilotRow) {
	d := &row.Data
	switch {
	case c.agent != "":
	case known("user", d.Source) && d.Content != c.refused && !hostText(d.Content):
		c.interaction = d.Interaction
		c.prompt(1, row.ID, d.Content)
	case d.Interaction == "" || d.Interaction != c.interaction:
		c.begin("")
	}
}

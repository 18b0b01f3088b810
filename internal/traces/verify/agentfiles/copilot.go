package agentfiles

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/hookspan/hookspan/internal/pattern"
)

type copilotRow struct {
	Type, ID, Timestamp, AgentID string
	Data                         struct {
		SessionID, ToolCallID, ParentToolCallID, ToolName, InteractionID, Source, ErrorType, MessageID, APICallID, Model, Content string

		Context        struct{ CWD string }
		OutputTokens   *float64
		Success        *bool
		Error          struct{ Code string }
		ShellExecution struct{ ExitCode int }
		Result         struct{ Content ends }
		Usage          usage
		Output         struct{ Decision, Reason string }
		ToolRequests   []struct{ ToolCallID, Name string }
		ModelMetrics   map[string]struct{ Usage usage }
	}
}

// copilotFile is what is known of a session's file while it is read.
type copilotFile struct {
	*file
	// refused is why a hook refused the end, which Copilot then asks as a prompt.
	model, refused string
	// output is the sum of the answers since the last shutdown, answers are those of which one
	// may be in several rows. shut says that there was a shutdown, less that one said less than
	// the answers before it.
	output     float64
	shut, less bool
	answers    map[string]float64
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
	if !flat && filepath.Base(r.path) != "events.jsonl" {
		return func([]byte) {}
	}
	return rows(r, func(row *copilotRow, line []byte) {
		if r.repeats(row.ID, row.Timestamp) {
			return
		}
		r.at, r.agent = timeOf(row.Timestamp), cmp.Or(row.AgentID, row.Data.ParentToolCallID)
		r.kind("copilot-cli", row.Type, line)
		c.take(row)
	})
}

func (c *copilotFile) take(row *copilotRow) {
	d := &row.Data
	switch row.Type {
	case "session.start", "session.resume":
		c.session = cmp.Or(d.SessionID, c.session)
		c.in(d.Context.CWD)
	case "hook.end":
		if d.Output.Decision == "block" {
			c.refused = d.Output.Reason
		}
	case "user.message":
		c.asked(row)
	case "session.usage_record":
		c.request(3, cmp.Or(d.Usage.APICallID, row.ID), d.Usage.Model, d.Usage.request())
	case "session.shutdown":
		c.shutdown(row)
	case "assistant.message":
		c.model = cmp.Or(d.Model, c.model)
		if d.OutputTokens != nil {
			c.output += *d.OutputTokens
			s := c.of() // a shutdown may not follow
			s.Unsummed = c.less || c.shut && c.output > 0 && s.rank[0] < 3
			id := cmp.Or(d.APICallID, d.MessageID, row.ID)
			c.answers[id] += *d.OutputTokens
			c.request(1, id, c.model, counted(0, c.answers[id], 0, 0))
		}
		for _, q := range d.ToolRequests {
			c.call(q.ToolCallID, q.Name)
		}
		if c.agent == "" {
			c.says(len(d.ToolRequests) == 0, false)
		}
	case "tool.execution_start":
		c.call(d.ToolCallID, d.ToolName)
	case "tool.execution_complete":
		c.result(d.ToolCallID, copilotStatus(row))
	case "session.task_complete":
		if c.agent == "" {
			c.finish(false)
		}
	case "session.error":
		// Others are of the program.
		if c.agent == "" && d.ErrorType != "mcp" && d.ErrorType != "model" {
			c.finish(c.turn.Failed || !c.turn.Answered)
		}
	case "abort":
		c.interrupt()
	}
}

// shutdown adds the sums of what was done since the last one.
func (c *copilotFile) shutdown(row *copilotRow) {
	said := 0.0
	for _, m := range row.Data.ModelMetrics {
		said += m.Usage.OutputTokens
	}
	s := c.of()
	c.less = c.less || said < c.output && s.rank[0] < 3
	s.Unsummed, c.output, c.shut = c.less, 0, true
	for name, m := range row.Data.ModelMetrics {
		c.request(2, row.ID+"/"+name, name, m.Usage.request())
	}
}

// copilotExit is behind the output of a command that failed, in the words of several versions.
var copilotExit = pattern.Of(`<(?:exited|shellId: [^<>]* completed|command with id: [^<>]* exited) with exit code -?[1-9]\d*>"$`)

func copilotStatus(row *copilotRow) Status {
	switch d := &row.Data; {
	case d.Error.Code == "denied" || d.Error.Code == "rejected":
		return Denied
	case d.Success != nil && !*d.Success || d.ShellExecution.ExitCode != 0 || copilotExit().MatchString(string(d.Result.Content)):
		return Failed
	}
	return OK
}

// asked notes a prompt. The host's own messages begin no turn within an interaction.
func (c *copilotFile) asked(row *copilotRow) {
	d := &row.Data
	switch {
	case c.agent != "":
	case known("user", d.Source) && d.Content != c.refused && !hostText(d.Content):
		c.interaction = d.InteractionID
		c.prompt(1, row.ID, d.Content)
	case d.InteractionID == "" || d.InteractionID != c.interaction:
		c.begin("")
	}
}

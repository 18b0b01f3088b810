package otelmap

import (
	"cmp"
	"slices"
	"strings"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
)

func (j *joined) toolMessage(c *call) *tracepb.Span {
	t := c.tool()
	input, result, message := j.callTexts(c)
	op, workflow := OpExecuteTool, ""
	if c.script() {
		op, workflow = OpInvokeWorkflow, t.Name
	}
	server, method := cmp.Or(c.pre.text(KeyMCPServer), c.post.text(KeyMCPServer)), ""
	if server != "" {
		method = mcpCall
	}
	a := texts(
		KeyOperation, op,
		KeyWorkflowName, workflow,
		KeyConversationID, j.session,
		KeyAgentName, j.byID[c.agent()].name,
		KeyToolName, t.Name,
		KeyToolType, j.toolType(c),
		KeyToolCallID, c.id(),
		KeyToolArguments, input,
		KeyMCPMethod, method,
		KeyMCPServer, server,
		KeyFolder, j.folder(c),
	)
	failure, shown := j.failure(c), result
	if failure != "" {
		shown = "" // what a failed call returned is no result
	}
	a.texts(KeyToolResult, shown, KeyToolOutcome, fates[c.fate].outcome)
	if c.post != nil && c.post.end.Duration >= 0 {
		a.num(KeyHostDuration, c.post.end.Duration.Milliseconds())
	}
	if c.post != nil && len(j.commits[c.post.Hash]) > 0 {
		a = append(a, otlp.Strings(KeyCommits, j.commits[c.post.Hash]))
	}
	a.facts(&j.opts, c.pre, c.post)
	switch rec := j.ran[c.pre]; {
	case c.fate == fateHook:
		a.texts(KeyHookDeniedBy, rec.Answer.By)
	case rec != nil:
		a.flag(KeyHookInputChanged, rec.Answer.InputChanged)
	}
	s := newSpan(op, t.Name, a)
	if c.asked != nil {
		asked := j.event(EventPermission, c.asked, "", 0)
		if answer := j.allowed[c.asked]; answer != nil {
			asked.Attributes = append(asked.Attributes, waited(c.asked, answer))
		}
		s.Events = append(s.Events, asked)
	}
	s.Events = append(s.Events, j.callHooks(c)...)
	if failure != "" {
		failWith(s, failure, message, cmp.Or(result, message), max(c.start, c.end).Time())
	}
	return s
}

// mcpCall is the method of the protocol that calls a tool.
const mcpCall = "tools/call"

// mcpServer returns the server in the name of a tool, mcp__server__tool, which most agents
// use.
func mcpServer(tool, _ string) string {
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		if server, _, ok := strings.Cut(rest, "__"); ok {
			return server
		}
	}
	return ""
}

// toolType says who ran a call's tool: the provider or, as its hooks ran for the call, the
// client. It is empty if that is not known.
func (j *joined) toolType(c *call) string {
	switch {
	case slices.Contains(j.opts.Agent.Extensions, c.tool().Name):
		return "extension"
	case c.unreported && c.tool().Name != j.opts.Agent.Script:
		return ""
	}
	return "function"
}

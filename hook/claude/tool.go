package claude

import (
	"cmp"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// The names of tools that are treated specially.
const (
	toolAgent = "Agent"
	// toolTask is the name of Agent until version 2.1.63.
	toolTask       = "Task"
	toolBash       = "Bash"
	toolPowerShell = "PowerShell"
)

// hasTool reports whether events of the kind have a Tool.
func hasTool(k hook.Kind) bool {
	return k == hook.KindToolStart || k == hook.KindToolEnd || k == hook.KindPermission
}

// tool reads the start or end of a tool call, or the request for permission.
func (p members) tool(ev *hook.Event) {
	t := &hook.Tool{
		ID:       p.Text("tool_use_id", "tool_call_id"), // the second is Kimi Code's
		Name:     p.Text("tool_name"),
		Input:    rawjson.Canonical(p.Get("tool_input")),
		Duration: hook.UnknownDuration,
	}
	if d, ok := rawjson.Millis(p.Get("duration_ms")); ok {
		t.Duration = d
	}
	ev.Tool = t
	switch ev.Name {
	case preToolUse:
		if server := p.mcpServer(t.Name); server != "" {
			ev.Attrs = append(ev.Attrs, hook.Attr{Key: attrMCPServer, Value: server})
		}
	case postToolUse:
		p.response(ev, t)
	case postToolUseFailure:
		t.Status, t.Error = hook.ToolFailed, FailureText(p.Text("error"))
		if p.Is("is_interrupt") {
			t.Status = hook.ToolCancelled
		}
	case permissionDenied:
		t.Status, t.Error = hook.ToolDenied, p.Text("reason")
	}
}

// response reads the result of a call that returned.
func (p members) response(ev *hook.Event, t *hook.Tool) {
	raw := p.Get("tool_response")
	o := rawjson.Members(raw)
	t.Output = output(t.Name, raw, o)
	switch t.Name {
	case toolBash, toolPowerShell:
		if o.Is("interrupted") {
			t.Status = hook.ToolCancelled
		}
	case taskStop:
		if id := cmp.Or(o.Text("task_id"), p.Members("tool_input").Text("task_id")); id != "" {
			ev.Background = &hook.Background{Ended: []hook.AgentEnd{{ID: id, Stopped: true}}}
		}
	case toolAgent, toolTask:
		t.Agent = o.Text("agentId")
		if status := o.Text("status"); status != "" {
			ev.Attrs = append(ev.Attrs, hook.Attr{Key: attrAgentStatus, Value: status})
		}
	}
}

// mcpServer returns the MCP server of a tool: the payload's member (from version
// 2.1.274 on), else the middle of the tool's name, mcp__server__tool.
func (p members) mcpServer(tool string) string {
	if name := p.Members("mcp_server").Text("name"); name != "" {
		return name
	}
	rest, isMCP := strings.CutPrefix(tool, "mcp__")
	if server, _, ok := strings.Cut(rest, "__"); ok && isMCP {
		return server
	}
	return ""
}

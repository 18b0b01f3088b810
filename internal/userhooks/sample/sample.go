package sample

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/jsonedit"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
)

// Event is an event by its names: Claude Code's, that of Cline's hook and that
// in the payloads of Cline's SDK. A name is empty where there is no such event.
type Event struct{ Claude, Hook, SDK string }

// Events returns the events that a payload can be made for, those of one name side
// by side.
func Events() []Event {
	return []Event{
		{"SessionStart", "TaskStart", "agent_start"},
		{"SessionStart", "TaskResume", "agent_resume"},
		{"UserPromptSubmit", "UserPromptSubmit", "prompt_submit"},
		{"PreToolUse", "PreToolUse", "tool_call"},
		{"PostToolUse", "PostToolUse", "tool_result"},
		{"PostToolUseFailure", "PostToolUse", "tool_result"},
		{"PreCompact", "PreCompact", ""},
		{"Notification", "Notification", ""},
		{"Stop", "TaskComplete", "agent_end"},
		{"SubagentStart", "", "agent_start"},
		{"SubagentStop", "", "agent_end"},
		{"StopFailure", "", "agent_error"},
		{"SessionEnd", "TaskCancel", "agent_abort"},
		{"SessionEnd", "", "session_shutdown"},
	}
}

// EventNames returns Claude Code's names of the events.
func EventNames() []string {
	var names []string
	for _, e := range Events() {
		names = append(names, e.Claude)
	}
	return slices.Compact(names)
}

// FindEvent finds an event by any of its names.
func FindEvent(name string) (Event, error) {
	for _, e := range Events() {
		if name != "" && (e.Claude == name || e.Hook == name || e.SDK == name || e.HookFile() == name) {
			return e, nil
		}
	}
	return Event{}, wrong("%s %q: want one of %s, or Cline's name for it", FieldEvent, name, strings.Join(EventNames(), ", "))
}

// HookFile is the name of the hook file that Cline starts.
func (e Event) HookFile() string {
	sdk := map[string]string{"agent_start": "TaskStart", "agent_end": "TaskComplete", "agent_error": "TaskError"}
	return cmp.Or(e.Hook, sdk[e.SDK], "SessionShutdown")
}

// Tool reports whether the event belongs to a tool call.
func (e Event) Tool() bool { return e.SDK == "tool_call" || e.SDK == "tool_result" }

// Payload is what Cline would send.
type Payload struct {
	Event Event
	// Dialect is Classic, Next or SDK. If empty, Complete chooses it.
	Dialect string
	// Tool and Input are Cline's name and parameters. Complete turns a tool in the
	// form mcp__server__tool into what Cline makes of it.
	Tool  string
	Input json.RawMessage
	// Text is the tool's result, the prompt, or what else the event is about.
	Text string
	// Root is the workspace folder.
	Root string
	Now  time.Time
}

// Request describes an event by the flags of hookspan hooks test.
type Request struct {
	Event, Tool, Input, Result, Prompt, Dialect string
	// Given reports whether a flag was given.
	Given func(flag string) bool
}

// Payload is the payload for the request. The error is a *FieldError if members do not go
// together.
func (q Request) Payload(root string, now time.Time) (*Payload, error) {
	e, err := FindEvent(q.Event)
	if err != nil {
		return nil, err
	}
	var o map[string]json.RawMessage
	switch {
	case q.Given("dialect") && q.Dialect == "":
		return nil, wrong("%s: want classic, next or sdk", FieldDialect)
	case !e.Tool() && (q.Given("tool") || q.Given("json")):
		return nil, wrong("%s and %s: %s belongs to no tool call", FieldTool, FieldInput, e.Claude)
	case e.Tool() && q.Given("prompt"):
		return nil, wrong("%s: %s belongs to a tool call: %s has its parameters", FieldPrompt, e.Claude, FieldInput)
	case q.Given("result") && (e.SDK == "tool_call" || e.SDK == "prompt_submit"):
		return nil, wrong("%s: there is none yet at %s", FieldResult, e.Claude)
	case q.Given("json") && (json.Unmarshal([]byte(q.Input), &o) != nil || o == nil):
		return nil, wrong("%s %q: want a JSON object with the tool's parameters, such as '{\"command\":\"ls\"}'", FieldInput, q.Input)
	}
	p := &Payload{Event: e, Dialect: q.Dialect, Tool: q.Tool, Root: root, Now: now, Text: q.Prompt}
	if q.Given("json") {
		p.Input = json.RawMessage(q.Input)
	}
	switch {
	case q.Given("result"):
		p.Text = q.Result
	case e.SDK == "tool_result":
		p.Text = "a result that hookspan hooks test made up"
	}
	if e.Tool() && p.Tool == "" {
		p.Tool = "execute_command"
		if q.Dialect != "" && q.Dialect != Classic {
			p.Tool = "run_commands"
		}
	}
	return p, p.Complete()
}

// Complete fills in what was not given. Its error names the flags of hookspan
// hooks test that do not go together.
func (p *Payload) Complete() error {
	at := slices.IndexFunc(Tools(), func(t translate.Sample) bool { return p.Tool != "" && t.Name == p.Tool })
	var known translate.Sample
	if at >= 0 {
		known = Tools()[at]
	}
	if p.Dialect == "" {
		p.Dialect = Classic
		if p.Event.Hook == "" || known.Dialect == SDK {
			p.Dialect = SDK
		}
	}
	switch {
	case !slices.Contains([]string{Classic, Next, SDK}, p.Dialect):
		return wrong("%s %q: want classic (VS Code to 3.x, CLI 2), next (VS Code 4.1) or sdk (CLI 3)", FieldDialect, p.Dialect)
	case p.recorded() == nil:
		other := Classic
		if p.Event.Hook == "" {
			other = SDK
		}
		return wrong("%s %s: it has no %s; %s has", FieldDialect, p.Dialect, cmp.Or(p.Event.Hook, p.Event.Claude), other)
	case !p.Event.Tool():
		return nil
	}
	if rest, ok := strings.CutPrefix(p.Tool, "mcp__"); ok {
		if server, tool, ok := strings.Cut(rest, "__"); ok {
			return p.mcp(server, tool)
		}
	}
	if at < 0 {
		return p.unknownTool()
	}
	if !in(known, p.Dialect) {
		for _, t := range Tools() {
			if t.Claude == known.Claude && t.Claude != "" && t.Dialect != known.Dialect {
				return wrong("%s %s: with %s %s it is %s, such as %s '%s'", FieldTool, p.Tool, FieldDialect, p.Dialect, t.Name, FieldInput, t.Example)
			}
		}
		return wrong("%s %s: with %s %s there is none", FieldTool, p.Tool, FieldDialect, p.Dialect)
	}
	if p.Input == nil {
		p.Input = json.RawMessage(known.Example)
	}
	return nil
}

// mcp puts the call of an MCP server's tool into Cline's form.
func (p *Payload) mcp(server, tool string) error {
	if p.Input == nil {
		p.Input = json.RawMessage("{}")
	}
	if p.Dialect != Classic {
		p.Tool = server + "__" + tool
		return nil
	}
	p.Tool = "use_mcp_tool"
	var err error
	p.Input, err = json.Marshal(map[string]any{"server_name": server, "tool_name": tool, "arguments": p.Input})
	return err
}

// unknownTool accepts a tool that is in no table. It refuses Claude Code's name of a
// tool that has another name in Cline, since the input would differ, too.
func (p *Payload) unknownTool() error {
	if p.Tool == "" {
		return wrong("%s: want a Cline tool, such as execute_command", FieldTool)
	}
	for _, t := range Tools() {
		if t.Claude == p.Tool && in(t, p.Dialect) {
			whose := "Claude Code's name"
			if p.Tool == "BrowserAction" || p.Tool == "ListCodeDefinitionNames" { // Claude Code has none like these
				whose = "its name in hooks"
			}
			return wrong("%s %s: that is %s; Cline's is %s, such as %s '%s'", FieldTool, p.Tool, whose, t.Name, FieldInput, t.Example)
		}
	}
	if p.Input == nil {
		p.Input = json.RawMessage("{}")
	}
	return nil
}

// Encode returns the payload. Complete comes first.
func (p *Payload) Encode() ([]byte, error) {
	parameters := jsonedit.Object{}
	if p.Event.Tool() {
		var err error
		if parameters, err = p.parameters(); err != nil {
			return nil, err
		}
	}
	text := p.recorded()
	root, err := jsonedit.Parse(text)
	if err != nil {
		return nil, err
	}
	payload := replaced(text, root, "", p.values(parameters))
	return []byte(jsonedit.Style{Colon: ":", Comma: ","}.Render(payload, "")), nil
}

// replaced returns a value with the values of some members replaced: those named by
// their whole path, such as "error.message", or by their last name.
func replaced(text []byte, n *jsonedit.Node, path string, values map[string]any) any {
	if !n.Is(text, '{') {
		return jsonedit.Raw(n.Raw(text))
	}
	o := jsonedit.Object{}
	for _, m := range n.Items {
		at := path + m.Key
		v, ok := values[at]
		if !ok {
			v, ok = values[m.Key]
		}
		if !ok {
			v = replaced(text, m.Value, at+".", values)
		}
		o = append(o, jsonedit.Field{Key: m.Key, Value: v})
	}
	return o
}

//go:embed classic.json next.json sdk.json
var files embed.FS

// recorded is the recorded payload of the event, nil if the dialect has none.
func (p *Payload) recorded() []byte {
	name := p.Event.Hook
	if p.Dialect == SDK {
		name = p.Event.SDK
	}
	switch {
	case name == "agent_resume":
		name = "agent_start"
	case name == "agent_abort":
		name = "session_shutdown"
	case p.failed():
		name = map[string]string{SDK: "tool_result_failed"}[p.Dialect]
		name = cmp.Or(name, p.Event.Claude)
	}
	all, err := files.ReadFile(p.Dialect + ".json")
	if err != nil {
		return nil
	}
	var payloads map[string]json.RawMessage
	if err := json.Unmarshal(all, &payloads); err != nil {
		return nil
	}
	return payloads[name]
}

// values replace recorded ones, as in replaced.
func (p *Payload) values(parameters jsonedit.Object) map[string]any {
	stamp := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
	millis := strconv.FormatInt(p.Now.UnixMilli(), 10)
	out := map[string]any{
		"timestamp":                          millis,
		"taskId":                             "conv_" + millis + "_test",
		"rootSessionId":                      millis + "_test",
		"workspaceRoots":                     jsonedit.Array{p.Root},
		"rootPath":                           p.Root,
		"taskStart.taskMetadata.initialTask": p.Text,
		"lastMessageTs":                      millis,
		"prompt":                             p.Text,
		"message":                            p.Text,
		"result":                             p.Text,
		"outputText":                         p.Text,
		"toolName":                           p.Tool,
		"parameters":                         parameters,
		"input":                              jsonedit.Raw(p.Input),
		"tool_call.name":                     p.Tool,
		"tool_result.name":                   p.Tool,
		"output":                             p.output(),
		"tool_result.error":                  p.Text,
		"startedAt":                          stamp(p.Now.Add(-120 * time.Millisecond)),
		"endedAt":                            stamp(p.Now),
	}
	switch p.Dialect {
	case Classic:
		out["taskId"] = millis
		if p.failed() {
			out["postToolUse.result"] = "The tool execution failed with the following error:\n<error>\n" + p.Text + "\n</error>"
		}
	case Next:
		// It writes this for each result that is no text.
		out["postToolUse.result"] = "[object Object]"
	case SDK:
		out["timestamp"], out["hookName"] = stamp(p.Now), p.Event.SDK
		if strings.HasPrefix(p.Event.Claude, "Subagent") {
			out["agent_id"], out["parent_agent_id"] = "agent_2", "agent_1"
		}
	}
	return out
}

func (p *Payload) failed() bool { return p.Event.Claude == "PostToolUseFailure" }

// parameters are the members of the input as texts, in their order.
func (p *Payload) parameters() (jsonedit.Object, error) {
	root, err := jsonedit.Parse(p.Input)
	if err != nil || !root.Is(p.Input, '{') {
		return nil, wrong("%s %q: want a JSON object with the tool's parameters", FieldInput, p.Input)
	}
	var out jsonedit.Object
	for _, m := range root.Items {
		raw := m.Value.Raw(p.Input)
		var text string
		if raw[0] == '"' {
			err = json.Unmarshal(raw, &text)
		} else {
			var b bytes.Buffer
			err = json.Compact(&b, raw)
			text = b.String()
		}
		if err != nil {
			return nil, wrong("%s: %v", FieldInput, err)
		}
		out = append(out, jsonedit.Field{Key: m.Key, Value: text})
	}
	return out, nil
}

// output is a tool's result as the SDK reports it: one for each element of the
// input where the tool takes several.
func (p *Payload) output() any {
	if p.failed() {
		return jsonedit.Object{{Key: "error", Value: p.Text}}
	}
	var list jsonedit.Array
	for _, key := range []string{"commands", "files", "queries", "requests"} {
		var in map[string]json.RawMessage
		var elements []json.RawMessage
		if json.Unmarshal(p.Input, &in) != nil || json.Unmarshal(in[key], &elements) != nil {
			continue
		}
		for _, e := range elements {
			var query string
			var fields struct{ Path, URL string }
			if json.Unmarshal(e, &query) != nil {
				_ = json.Unmarshal(e, &fields)
				query = cmp.Or(fields.Path+fields.URL, string(e))
			}
			list = append(list, jsonedit.Object{{Key: "query", Value: query}, {Key: "result", Value: p.Text}, {Key: "success", Value: true}})
		}
	}
	if list == nil {
		return p.Text
	}
	return list
}

// Field is a member of a Request, by its flag.
type Field string

// The members.
const (
	FieldEvent   Field = "event"
	FieldTool    Field = "tool"
	FieldInput   Field = "json"
	FieldResult  Field = "result"
	FieldPrompt  Field = "prompt"
	FieldDialect Field = "dialect"
)

// FieldError is about members of a Request, which it names by their flags.
type FieldError struct {
	format string
	args   []any
}

func wrong(format string, args ...any) error { return &FieldError{format, args} }

func (e *FieldError) Error() string { return e.With(func(f Field) string { return "--" + string(f) }) }

// With is the text of the error with other names of the members.
func (e *FieldError) With(name func(Field) string) string {
	args := slices.Clone(e.args)
	for i, a := range args {
		if f, ok := a.(Field); ok {
			args[i] = name(f)
		}
	}
	return fmt.Sprintf(e.format, args...)
}

// Cline's wire forms, as --dialect spells them. The next core has the SDK's tools.
const (
	Classic = "classic"
	Next    = "next"
	SDK     = "sdk"
)

// Tools returns the tools that hookspan knows, those of one name side by side.
func Tools() []translate.Sample { return translate.Samples() }

// in reports whether a dialect has the tool.
func in(t translate.Sample, dialect string) bool {
	return t.Dialect == "" || (t.Dialect == Classic) == (dialect == Classic)
}

// ToolNames returns Cline's names of the tools.
func ToolNames() []string {
	var names []string
	for _, t := range Tools() {
		names = append(names, t.Name)
	}
	return slices.Compact(names)
}

// KnownTool reports whether a tool has the name, Cline's or Claude Code's. A name of
// the form server__tool may be an MCP server's.
func KnownTool(name string) bool {
	return strings.Contains(name, "__") || slices.ContainsFunc(Tools(), func(t translate.Sample) bool { return t.Name == name || t.Claude == name })
}

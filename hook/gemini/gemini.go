// Package gemini reads what the Gemini CLI writes to its hooks.
//
// The payloads have the frame of Claude Code's, so that package hook/claude reads it;
// the events have names and members of their own. They name neither calls nor turns
// nor subagents: the session's files do (package transcript/gemini). A call that a
// hook denied, and one of a tool that does not exist, reports no end.
//
// The package promises what hook/claude promises. The members are those of payloads
// recorded from version 0.61.0.
package gemini

import (
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Dialect is the form of its hooks and files.
const Dialect = "gemini"

// The hooks that Claude Code does not have. The others have its names and meanings.
const (
	beforeAgent = "BeforeAgent"
	beforeTool  = "BeforeTool"
	afterTool   = "AfterTool"
	afterAgent  = "AfterAgent"
)

var kinds = map[string]hook.Kind{
	beforeAgent: hook.KindPrompt,
	beforeTool:  hook.KindToolStart,
	afterTool:   hook.KindToolEnd,
	afterAgent:  hook.KindRunComplete,
	// These come for each request, some for each piece of an answer, PreCompress even
	// where nothing is compressed.
	"BeforeModel": hook.KindAside, "AfterModel": hook.KindAside, "BeforeToolSelection": hook.KindAside, "PreCompress": hook.KindAside,
}

// Protocol reads the payloads of the Gemini CLI.
var Protocol = claude.Protocol{Host: hook.HostGemini, Kind: kind, Adapt: adapt}

// Decode turns a payload into events, at present always one. Its errors are those of
// hook/claude.
func Decode(r hook.Raw) ([]hook.Event, error) { return Protocol.Decode(r) }

func kind(_ rawjson.Object, name string, kind hook.Kind) hook.Kind {
	if own, ok := kinds[name]; ok {
		return own
	}
	return kind
}

func adapt(p rawjson.Object, ev hook.Event) []hook.Event {
	ev.Time = rawjson.Instant(p.Get("timestamp"))
	switch ev.Name {
	case beforeAgent:
		ev.Prompt = p.Text("prompt")
	case beforeTool, afterTool:
		ev.Tool = tool(p)
	case afterAgent:
		// prompt_response has the texts of all steps, those of streamed answers twice.
		// The last answer is in the session's file.
		if p.Is("stop_hook_active") {
			ev.Attrs = append(ev.Attrs, hook.Attr{Key: claude.AttrStopHookActive, Value: true})
		}
	}
	return []hook.Event{ev}
}

// tool reads a call. An end has a response.
func tool(p rawjson.Object) *hook.Tool {
	t := &hook.Tool{Name: p.Text("tool_name"), Input: rawjson.Canonical(p.Get("tool_input")), Duration: hook.UnknownDuration}
	response := p.Members("tool_response")
	if response == nil {
		return t
	}
	forModel, displayed := response.Get("llmContent"), response.Get("returnDisplay")
	t.Output = Output(t.Name, forModel, displayed)
	t.Status = Status(t.Name, "", forModel, displayed)
	if failure := response.Get("error"); failure != nil {
		t.Status = hook.ToolFailed
		t.Error = rawjson.Text(failure)
		if o := rawjson.Members(failure); o != nil {
			t.Error = o.Text("message", "type")
		}
	}
	if t.Status.Failed() && t.Error == "" {
		t.Error = t.Output
	}
	return t
}

const toolShell = "run_shell_command"

// What the model is told of a call that a hook denied, of one that the user did not
// allow, and of any that was cancelled.
const (
	blocked   = "Tool execution blocked: "
	denied    = "User denied execution"
	cancelled = "[Operation Cancelled] Reason: "
)

// Status reads how a call of a tool ended from the status in the session's file, empty
// if only the hook is known, and from what the model was told and the user was shown. A
// command that fails has the status success.
func Status(tool, status string, forModel, displayed []byte) hook.ToolStatus {
	text := rawText(forModel)
	switch {
	case strings.HasPrefix(text, blocked):
		return hook.ToolDenied
	case status == "cancelled" && strings.Contains(text, denied):
		return hook.ToolDenied
	case status == "cancelled":
		return hook.ToolCancelled
	case status == "error":
		return hook.ToolFailed
	case status != "" && status != "success":
		return hook.ToolUnknown
	}
	if tool == toolShell {
		if _, code := shell(text, displayed); code != "" && code != "0" {
			return hook.ToolFailed
		}
	}
	return hook.ToolOK
}

// Output returns the text that a tool gave the model, without what the Gemini CLI puts
// around the output of commands. displayed is what it showed the user.
func Output(tool string, forModel, displayed []byte) string {
	text := strings.TrimPrefix(rawText(forModel), cancelled)
	if tool == toolShell {
		text, _ = shell(text, displayed)
	}
	return text
}

// rawText returns what the model was told: a text, or the texts of parts.
func rawText(forModel []byte) string {
	forModel = rawjson.Present(forModel)
	parts, list := rawjson.Elements(forModel)
	switch {
	case rawjson.IsString(forModel):
		return rawjson.Unquote(forModel)
	case !list && rawjson.Members(forModel) != nil:
		parts = [][]byte{forModel}
	case !list && forModel != nil:
		return rawjson.Canonical(forModel)
	}
	var texts []string
	for _, raw := range parts {
		part := rawjson.Members(raw)
		switch text := part.Text("text"); {
		case rawjson.IsString(raw):
			texts = append(texts, rawjson.Unquote(raw))
		case text != "":
			texts = append(texts, text)
		case part.Get("inlineData") != nil:
			texts = append(texts, "[image]")
		}
	}
	return hook.Lines(texts...)
}

// reported are the lines of a report behind a command's output, in their order.
var reported = [...]string{"Error", "Exit Code", "Signal", "Background PIDs", "Process Group PGID"}

// shell separates a command's output from the report that the Gemini CLI makes of it;
// code is its exit code, empty if there is none. A report has lines "Name: value" behind
// the output, whose lines may look like these: displayed, which the user was shown, is
// the output alone, or the end of it.
func shell(report string, displayed []byte) (output, code string) {
	const tail = "\n</untrusted_context>"
	text, note, large := report, "", ""
	if strings.HasPrefix(report, "Output too large. ") { // a line before the whole report
		large, text, _ = strings.Cut(report, "\n")
	}
	text, wrapped := strings.CutPrefix(text, "<untrusted_context>\n")
	if end := strings.LastIndex(text, tail); wrapped && end >= 0 {
		// What follows is a note, such as that a hook changed the command.
		text, note = text[:end], strings.TrimLeft(text[end+len(tail):], "\n")
	}
	// Versions until 2025 name the command and its folder first.
	before, text, found := strings.Cut("\n"+text, "\nOutput: ")
	if !found || before != "" && !strings.HasPrefix(before, "\nCommand: ") {
		return report, ""
	}
	from := outputEnd(text, strings.TrimSpace(screen(displayed)))
	kept := []string{text[:from]}
	if kept[0] == "(empty)" {
		kept[0] = ""
	}
	for line := range strings.Lines(strings.TrimPrefix(text[from:], "\n")) {
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		if name == "Exit Code" {
			code = value
		}
		if value != "(none)" && name != "Process Group PGID" && line != "Exit Code: 0" {
			kept = append(kept, line)
		}
	}
	return hook.Lines(append(kept, note, large)...), code
}

// outputEnd returns where a command's output ends in a text that the report's lines
// follow: where it is what was displayed, else where it ends with that, else before all
// lines that can be the report's.
func outputEnd(text, displayed string) int {
	at, ending := len(text), -1
	for next := len(reported) - 1; ; next-- {
		switch output := strings.TrimSpace(text[:at]); {
		case displayed == "":
		case output == displayed:
			return at
		case ending < 0 && strings.HasSuffix(output, displayed):
			ending = at
		}
		line := strings.LastIndexByte(text[:at], '\n')
		if line < 0 {
			break
		}
		name, _, _ := strings.Cut(text[line+1:at], ": ")
		for next >= 0 && reported[next] != name {
			next--
		}
		if next < 0 {
			break
		}
		at = line
	}
	if ending >= 0 {
		return ending
	}
	return at
}

// screen returns what the user was shown of a command: a text, or lines of pieces with
// colours.
func screen(displayed []byte) string {
	lines, list := rawjson.Elements(displayed)
	if !list {
		return rawjson.Text(displayed)
	}
	texts := make([]string, len(lines))
	for i, line := range lines {
		pieces, _ := rawjson.Elements(line)
		for _, piece := range pieces {
			texts[i] += rawjson.Members(piece).Text("text")
		}
		texts[i] = strings.TrimRight(texts[i], " ")
	}
	return strings.Join(texts, "\n")
}

// MCPServer returns the MCP server in the name of a tool, mcp_server_tool. The name does
// not say where a server's name with an underscore ends.
func MCPServer(tool, _ string) string {
	if rest, ok := strings.CutPrefix(tool, "mcp_"); ok {
		if server, _, ok := strings.Cut(strings.TrimLeft(rest, "_"), "_"); ok {
			return server
		}
	}
	return ""
}

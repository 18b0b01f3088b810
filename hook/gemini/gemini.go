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

// Host is the name of the Gemini CLI in every event.
const Host = "gemini-cli"

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
var Protocol = claude.Protocol{
	Host: Host, Dialect: Dialect, Name: "Gemini CLI", Sender: claude.Gemini, Kind: kind, Adapt: adapt,
}

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
	t.Output = Output(t.Name, response.Get("llmContent"))
	t.Status = Status(t.Name, "", response.Get("llmContent"))
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
// if only the hook is known, and from what the model was told. A command that fails has
// the status success.
func Status(tool, status string, told []byte) hook.ToolStatus {
	text := rawText(told)
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
		if _, code := shell(text); code != "" && code != "0" {
			return hook.ToolFailed
		}
	}
	return hook.ToolOK
}

// Output returns the text that a tool gave the model, without what the Gemini CLI puts
// around the output of commands.
func Output(tool string, told []byte) string {
	text := strings.TrimPrefix(rawText(told), cancelled)
	if tool == toolShell {
		text, _ = shell(text)
	}
	return text
}

// rawText returns what the model was told: a text, or the texts of parts.
func rawText(told []byte) string {
	told = rawjson.Present(told)
	parts, list := rawjson.Elements(told)
	switch {
	case rawjson.IsString(told):
		return rawjson.Unquote(told)
	case !list && rawjson.Members(told) != nil:
		parts = [][]byte{told}
	case !list && told != nil:
		return rawjson.Canonical(told)
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

// shell separates a command's output from the report that the Gemini CLI makes of it;
// code is its exit code, empty if there is none. A report has lines "Name: value" behind
// the output, whose lines may look like these.
func shell(report string) (output, code string) {
	const head, tail = "<untrusted_context>\nOutput: ", "\n</untrusted_context>"
	end := strings.LastIndex(report, tail)
	if !strings.HasPrefix(report, head) || end < len(head) {
		return report, ""
	}
	// What follows is a note, such as that a hook changed the command.
	text, note := report[len(head):end], strings.TrimLeft(report[end+len(tail):], "\n")
	lines := strings.Split(text, "\n")
	var kept []string
	for len(lines) > 1 {
		last := lines[len(lines)-1]
		name, value, ok := strings.Cut(last, ": ")
		if !ok {
			break
		}
		switch name {
		case "Exit Code":
			if code = value; code != "0" {
				kept = append(kept, last)
			}
		case "Error", "Signal", "Background PIDs":
			if value != "(none)" {
				kept = append(kept, last)
			}
		case "Process Group PGID":
		default:
			ok = false
		}
		if !ok {
			break
		}
		if lines = lines[:len(lines)-1]; name == "Error" {
			break // the first of the lines behind the output
		}
	}
	for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
		kept[i], kept[j] = kept[j], kept[i]
	}
	output = strings.Join(lines, "\n")
	if output == "(empty)" {
		output = ""
	}
	return hook.Lines(append(append([]string{output}, kept...), note)...), code
}

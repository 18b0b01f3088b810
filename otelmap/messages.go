package otelmap

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Message is an element of KeyInputMessages and KeyOutputMessages. The attribute is one
// text, as backends drop structured values.
type Message struct {
	// Role is one of the Role values.
	Role  string `json:"role"`
	Parts []Part `json:"parts"`
	// FinishReason is set, maybe to "", on every output message: a backend drops a list
	// that lacks one.
	FinishReason *string `json:"finish_reason,omitempty"`
}

// Part is a part of a message.
type Part struct {
	// Type is one of the Part values.
	Type string `json:"type"`
	// Content is that of a text and of reasoning.
	Content string `json:"content,omitempty"`
	// ID is that of a call, absent if the agent gives none.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// Arguments are an object or, if they were cut to what is no JSON, a text.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  string          `json:"response,omitempty"`
}

// The roles of messages. RoleSystem is that of a prompt that the agent program wrote.
const (
	RoleUser      = "user"
	RoleSystem    = "system"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// The types of parts.
const (
	PartText      = "text"
	PartReasoning = "reasoning"
	PartCall      = "tool_call"
	PartResponse  = "tool_call_response"
)

// Messages returns the messages in an attribute's value, those before a fault if it has one.
func Messages(value string) (out []Message) {
	if json.Unmarshal([]byte(value), &out) != nil {
		return nil
	}
	return out
}

// Returned returns what a call returned, of a failed one its exception's message.
func Returned(s *tracepb.Span) string {
	result := otlp.Text(s.GetAttributes(), KeyToolResult)
	if result != "" || s.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		return result
	}
	for _, e := range s.GetEvents() {
		if e.GetName() == EventException {
			result = otlp.Text(e.GetAttributes(), KeyExceptionMessage)
		}
	}
	return result
}

// TextMessages returns the value of an attribute with one message, "" without a text.
func TextMessages(role, text string) string {
	if text == "" {
		return ""
	}
	return encode(message(role, text))
}

// AnswerMessages is TextMessages for an output message.
func AnswerMessages(text, finish string) string {
	if text == "" {
		return ""
	}
	m := message(RoleAssistant, text)
	m.FinishReason = &finish
	return encode(m)
}

func message(role, text string) Message {
	return Message{Role: role, Parts: []Part{{Type: PartText, Content: otlp.ValidText(text)}}}
}

func encode(messages ...Message) string {
	if len(messages) == 0 {
		return ""
	}
	// By hand, without reflection: a trace has two for each request.
	size := 2
	for _, m := range messages {
		for _, p := range m.Parts {
			size += 128 + len(p.Content) + len(p.ID) + len(p.Name) + len(p.Arguments) + len(p.Response)
		}
	}
	out := append(make([]byte, 0, size+size/16), '[')
	for i, m := range messages {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(rawjson.AppendString(append(out, `{"role":`...), m.Role), `,"parts":[`...)
		for i, p := range m.Parts {
			if i > 0 {
				out = append(out, ',')
			}
			out = p.append(out)
		}
		out = append(out, ']')
		if m.FinishReason != nil {
			out = rawjson.AppendString(append(out, `,"finish_reason":`...), *m.FinishReason)
		}
		out = append(out, '}')
	}
	return string(append(out, ']'))
}

// append appends a part as its tags say.
func (p *Part) append(out []byte) []byte {
	member := func(name, value string) {
		if value != "" {
			out = rawjson.AppendString(append(append(append(out, `,"`...), name...), `":`...), value)
		}
	}
	out = rawjson.AppendString(append(out, `{"type":`...), p.Type)
	member("content", p.Content)
	member("id", p.ID)
	member("name", p.Name)
	if arguments := p.Arguments; len(arguments) > 0 {
		if bytes.ContainsAny(arguments, " \t\r\n") {
			arguments = json.RawMessage(rawjson.Encode(arguments)) // which leaves space out
		}
		out = append(append(out, `,"arguments":`...), arguments...)
	}
	member("response", p.Response)
	return append(out, '}')
}

// said is a prompt with when it was given.
type said struct {
	at         time.Time
	role, text string
}

// prompts returns the prompts among a root's events. The first one is the whole task.
func prompts(events []*tracepb.Span_Event, task string) (out []said) {
	for _, e := range events {
		text := otlp.Text(e.GetAttributes(), KeyText)
		if e.GetName() != EventPrompt || text == "" {
			continue
		}
		p := said{otlp.Time(e.GetTimeUnixNano()), RoleUser, text}
		if otlp.Find(e.GetAttributes(), KeyPromptInjected).GetBoolValue() {
			p.role = RoleSystem
		}
		out = append(out, p)
	}
	if task == "" {
		return out
	}
	first := said{role: RoleUser, text: task}
	begins := func(p said) bool {
		preview, _, _ := strings.Cut(p.text, "…")
		return strings.HasPrefix(strings.TrimSpace(task), strings.TrimSpace(preview))
	}
	if i := slices.IndexFunc(out, begins); i >= 0 {
		first.at, first.role = out[i].at, out[i].role
		out = slices.Delete(out, i, i+1)
	}
	return slices.Insert(out, 0, first)
}

// prompted returns what an agent was asked to do.
func (j *joined) prompted(agent string) []said {
	if agent == "" {
		return prompts(j.rootEvents())
	}
	if t := j.files.agents[agent]; t != nil && t.Task != "" {
		return []said{{role: RoleUser, text: j.opts.text(t.Task, j.opts.MaxInput)}}
	}
	return nil
}

// system returns the lead's instructions, with a run's first request.
func (j *joined) system(x *exchange) string {
	if j.opts.Capture != CaptureFull || x.Agent != "" || x.before != nil || j.tr.System == "" {
		return ""
	}
	return rawjson.Encode([]Part{{Type: PartText, Content: otlp.ValidText(j.opts.text(j.tr.System, 0))}})
}

// input returns what was added to the conversation before the request.
func (j *joined) input(x *exchange) string {
	if j.opts.Capture == CaptureNone {
		return ""
	}
	var out []Message
	if x.before != nil {
		for _, c := range x.before.asked {
			// Of two results in one message a backend shows the last one.
			_, response, message := j.callTexts(c)
			if c.fate != fateUnfinished {
				response = cmp.Or(response, message)
			}
			if response != "" {
				out = append(out, Message{Role: RoleTool, Parts: []Part{{Type: PartResponse, ID: c.id(), Response: otlp.ValidText(response)}}})
			}
		}
	}
	for _, p := range x.prompts {
		if p.text != "" {
			out = append(out, message(p.role, p.text))
		}
	}
	return encode(out...)
}

// output returns what the model answered.
func (j *joined) output(x *exchange, finish string) string {
	if j.opts.Capture == CaptureNone {
		return ""
	}
	answer := Message{Role: RoleAssistant}
	if text := j.opts.text(x.Reasoning, j.opts.MaxOutput); text != "" && j.opts.Capture == CaptureFull {
		answer.Parts = append(answer.Parts, Part{Type: PartReasoning, Content: otlp.ValidText(text)})
	}
	if text := j.opts.text(x.Text, j.opts.MaxOutput); text != "" {
		answer.Parts = append(answer.Parts, message("", text).Parts...)
	}
	for _, c := range x.asked {
		arguments, _, _ := j.callTexts(c)
		answer.Parts = append(answer.Parts, Part{Type: PartCall, ID: c.id(), Name: otlp.ValidText(c.tool().Name), Arguments: json.RawMessage(arguments)})
	}
	if len(answer.Parts) == 0 {
		return ""
	}
	if len(x.asked) > 0 {
		finish = cmp.Or(finish, "tool_call")
	}
	answer.FinishReason = &finish
	return encode(answer)
}

// callTexts returns the previews of a call: its arguments, what it returned, and how it failed.
func (j *joined) callTexts(c *call) (arguments, result, message string) {
	arguments = c.tool().Input
	if c.post != nil {
		result, message = c.post.end.Output, c.post.end.Error
	}
	own := fates[c.fate].message
	if c.fate == fateHook {
		answer := j.ran[c.pre].Answer
		arguments, own = c.pre.Tool.Input, deniedBy(answer.By, answer.Reason) // the other end may have a replacement
	} else if r := c.result; c.used && result == "" {
		cut := j.opts.text
		if r.Status.Failed() {
			cut = j.opts.failure
		}
		result = cut(r.Text, j.opts.MaxOutput)
	}
	switch {
	case own != "" && result != "":
		return arguments, own + "\n" + result, own
	case own != "":
		message = own
	case j.failure(c) != "":
		message = cmp.Or(message, result)
	}
	return arguments, result, message
}

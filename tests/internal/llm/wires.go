package llm

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// wire is what an API has its way.
type wire struct {
	// path is that of the requests which take a turn, other the answer to every other one.
	path  *regexp.Regexp
	other any
	// id and call are the forms of ids of answers and calls, aside answers a request that
	// takes no turn.
	id, call, aside string

	read    func(path []string, body []byte) (asked, error)
	refusal func(status int, message, code string) object
	answer  func(a *answer)
}

var wires = map[API]wire{
	Messages: {
		path: regexp.MustCompile(`^/v1/messages$`), other: object{"input_tokens": 10}, id: "msg_mock_%d", call: "toolu_mock_%d_%d", aside: "A title",
		read: readMessages, answer: answerMessages,
		refusal: func(status int, message, _ string) object {
			return object{"type": "error", "error": object{"type": kind(status), "message": message}}
		},
	},
	Chat: {
		path: regexp.MustCompile(``), other: object{"object": "list", "data": []any{object{"id": Name, "object": "model"}}},
		id: "chatcmpl-%d", call: "call_%d_%d", aside: "ok", read: readMessages, answer: answerChat, refusal: refusal,
	},
	Responses: {
		path: regexp.MustCompile(`/responses$`), id: "resp_%d", call: "call_%d_%d", read: readResponses, answer: answerResponses, refusal: refusal,
	},
	Gemini: {
		path: regexp.MustCompile(`/models/([^:/]+):(stream)?[gG]enerateContent$`), other: object{"totalTokens": 100}, id: "resp_%d", call: "call_%d_%d",
		aside: "{}", read: readGemini, answer: answerGemini,
		refusal: func(status int, message, _ string) object {
			return object{"error": object{"code": status, "message": message, "status": "INVALID_ARGUMENT"}}
		},
	},
}

// kind is the type of an error.
func kind(status int) string {
	if status < http.StatusInternalServerError {
		return "invalid_request_error"
	}
	return "server_error"
}

func refusal(status int, message, code string) object {
	e := object{"message": message, "type": kind(status)}
	if code != "" {
		e["code"] = code
	}
	return object{"error": e}
}

// block is a part of a message. A message of the chat form that is a result is like one.
type block struct {
	Text string `json:"text"`
	// Result is the id of the call of which Content, a string or blocks, is the result.
	Result  string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	Failed  *bool           `json:"is_error"`
}

// blocks reads content in either of its forms, and its text.
func blocks(content json.RawMessage) (list []block, all string) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []block{{Text: text}}, text
	}
	_ = json.Unmarshal(content, &list) // There may be none.
	for _, b := range list {
		all += b.Text
	}
	return list, all
}

// readMessages reads a request of the forms messages and chat: the text of its first user
// message, and what is new since the model's last answer.
func readMessages(_ []string, body []byte) (asked, error) {
	var b struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Call    string          `json:"tool_call_id"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name     string `json:"name"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	err := json.Unmarshal(body, &b)
	q := asked{model: b.Model, stream: b.Stream, results: make(map[string]Result)}
	for _, t := range b.Tools {
		q.tools = append(q.tools, t.Name+t.Function.Name)
	}
	for _, m := range b.Messages {
		list, text := blocks(m.Content)
		if m.Role == "assistant" {
			q.heard, q.results = nil, make(map[string]Result)
			continue
		}
		if q.text == "" && m.Role == "user" {
			q.text = text
		}
		if m.Call != "" {
			q.results[m.Call] = Result{Text: text}
		}
		for _, x := range list {
			_, content := blocks(x.Content)
			if x.Result != "" {
				failed := x.Failed != nil && *x.Failed
				q.results[x.Result] = Result{Text: content, Failed: &failed}
			}
			for _, t := range []string{x.Text, content} {
				if t != "" {
					q.heard = append(q.heard, t)
				}
			}
		}
	}
	return q, err
}

func answerMessages(a *answer) {
	if a.turn.Breaks { // before the answer says anything
		a.breakOff()
		return
	}
	content := []object{}
	if a.req.Text != "" {
		content = append(content, object{"type": "text", "text": a.req.Text})
	}
	for _, c := range a.req.Calls {
		content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Args})
	}
	message := object{
		"id": a.req.ID, "type": "message", "role": "assistant", "model": a.req.Model, "content": content,
		"stop_reason": a.req.Finish, "stop_sequence": nil, "usage": a.req.Usage,
	}
	if !a.asked.stream {
		a.whole(http.StatusOK, message)
		return
	}
	event := func(send func(string, object), kind string, members object) {
		members["type"] = kind
		send(kind, members)
	}
	usage := *a.req.Usage
	usage.Output = 1 // As the real server has it: the true count comes last.
	message["content"], message["stop_reason"], message["usage"] = []any{}, nil, usage
	event(a.send, "message_start", object{"message": message})
	for i, c := range content {
		text, kind, key := a.req.Text, "text_delta", "text"
		if c["type"] == "text" {
			c["text"] = ""
		} else {
			input, _ := json.Marshal(c["input"]) // It comes from JSON.
			text, kind, key, c["input"] = string(input), "input_json_delta", "partial_json", object{}
		}
		event(a.send, "content_block_start", object{"index": i, "content_block": c})
		for _, piece := range pieces(text) {
			event(a.send, "content_block_delta", object{"index": i, "delta": object{"type": kind, key: piece}})
		}
		event(a.send, "content_block_stop", object{"index": i})
	}
	event(a.sendUsage, "message_delta", object{
		"delta": object{"stop_reason": a.req.Finish, "stop_sequence": nil}, "usage": object{"output_tokens": a.req.Usage.Output},
	})
	event(a.send, "message_stop", object{})
}

func answerChat(a *answer) {
	text, finish, calls := a.turn.Text, "stop", []any(nil)
	if native := len(a.asked.tools) > 0; native && len(a.turn.Calls) > 0 {
		finish = "tool_calls"
		for i, c := range a.turn.Calls {
			calls = append(calls, object{"index": i, "id": a.ids[i], "type": "function", "function": object{"name": c.Name, "arguments": c.args()}})
		}
	} else if len(a.turn.Calls) > 0 {
		text = strings.TrimPrefix(text+"\n"+xml(a.turn.Calls), "\n")
	}
	u := a.req.Usage
	in := u.Input + u.CacheRead
	usage := object{
		"prompt_tokens": in, "completion_tokens": u.Output, "total_tokens": in + u.Output, "prompt_tokens_details": object{"cached_tokens": u.CacheRead},
	}
	body := func(kind string, choices ...any) object {
		return object{"id": a.req.ID, "object": kind, "created": 1, "model": a.req.Model, "choices": choices}
	}
	delta := func(d object, finish any) {
		a.send("", body("chat.completion.chunk", object{"index": 0, "delta": d, "finish_reason": finish}))
	}
	switch {
	case a.turn.Breaks:
		delta(object{"role": "assistant", "content": text}, nil)
		a.breakOff()
		return
	case !a.asked.stream:
		message := object{"role": "assistant", "content": text}
		if calls != nil {
			message["tool_calls"] = calls
		}
		b := body("chat.completion", object{"index": 0, "message": message, "finish_reason": finish})
		b["usage"] = usage
		a.whole(http.StatusOK, b)
		return
	}
	delta(object{"role": "assistant", "content": ""}, nil)
	for _, piece := range pieces(text) {
		delta(object{"content": piece}, nil)
	}
	for _, c := range calls {
		delta(object{"tool_calls": []any{c}}, nil)
	}
	a.pause(a.turn.Tail)
	delta(object{}, finish)
	b := body("chat.completion.chunk")
	b["choices"], b["usage"] = []any{}, usage
	a.sendUsage("", b)
	_, _ = fmt.Fprint(a.w, "data: [DONE]\n\n")
}

// xml writes tool calls the way models without native tools do: an element per call, an
// element per argument, arguments in the order of their names.
func xml(calls []Call) string {
	var lines []string
	for _, c := range calls {
		lines = append(lines, "<"+c.Name+">")
		for _, k := range slices.Sorted(maps.Keys(c.Args)) {
			text, ok := c.Args[k].(string)
			if !ok {
				data, _ := json.Marshal(c.Args[k]) // It comes from JSON.
				text = string(data)
			}
			lines = append(lines, fmt.Sprintf("<%s>%s</%s>", k, text, k))
		}
		lines = append(lines, "</"+c.Name+">")
	}
	return strings.Join(lines, "\n")
}

func readResponses(_ []string, body []byte) (asked, error) {
	var b struct {
		Model string          `json:"model"`
		Input json.RawMessage `json:"input"`
	}
	err := json.Unmarshal(body, &b)
	return asked{model: b.Model, text: string(b.Input)}, err
}

func answerResponses(a *answer) {
	seq := 0
	event := func(send func(string, object), kind string, members object) {
		members["type"], members["sequence_number"] = kind, seq
		seq++
		send(kind, members)
	}
	response := func(status string, more object) object {
		r := object{"id": a.req.ID, "object": "response", "created_at": a.req.Start.Unix(), "model": a.req.Model, "status": status, "output": []any{}}
		maps.Copy(r, more)
		return object{"response": r}
	}
	event(a.send, "response.created", response("in_progress", nil))
	switch {
	case a.turn.Breaks:
		a.breakOff()
		return
	case a.turn.Failed != "":
		event(a.sendUsage, "response.failed", response("failed", object{"error": object{"code": "server_error", "message": a.turn.Failed}}))
		return
	}
	var items []object
	if a.turn.Text != "" {
		items = append(items, object{
			"type": "message", "id": fmt.Sprintf("msg_%d", a.req.N), "role": "assistant", "status": "completed",
			"content": []any{object{"type": "output_text", "text": a.turn.Text, "annotations": []any{}}},
		})
	}
	for i, c := range a.turn.Calls {
		item := object{"type": "function_call", "call_id": a.ids[i], "id": fmt.Sprintf("fc_%d_%d", a.req.N, i), "name": c.Name, "status": "completed"}
		if c.Text != "" {
			item["type"], item["input"] = "custom_tool_call", c.Text
		} else {
			item["arguments"] = c.args()
		}
		if c.Namespace != "" {
			item["namespace"] = c.Namespace
		}
		items = append(items, item)
	}
	for i, item := range items {
		event(a.send, "response.output_item.added", object{"output_index": i, "item": item})
		event(a.send, "response.output_item.done", object{"output_index": i, "item": item})
	}
	u := a.req.Usage
	in := u.Input + u.CacheRead
	event(a.sendUsage, "response.completed", response("completed", object{"output": items, "usage": object{
		"input_tokens": in, "input_tokens_details": object{"cached_tokens": u.CacheRead},
		"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": 5}, "total_tokens": in + u.Output,
	}}))
}

// readGemini reads a request, whose path has the model and whether it streams.
func readGemini(path []string, body []byte) (asked, error) {
	var b struct {
		Tools []struct {
			Functions []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	err := json.Unmarshal(body, &b)
	q := asked{model: path[1], stream: path[2] != ""}
	for _, t := range b.Tools {
		for _, f := range t.Functions {
			q.tools = append(q.tools, f.Name)
		}
	}
	return q, err
}

func answerGemini(a *answer) {
	if a.turn.Breaks {
		a.breakOff()
		return
	}
	piece := func(finish any, parts ...object) object {
		candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
		if finish != nil {
			candidate["finishReason"] = finish
		}
		return object{"candidates": []any{candidate}, "modelVersion": a.req.Model, "responseId": a.req.ID}
	}
	var parts []object
	text := a.turn.Text
	if half := len(text) / 2; a.asked.stream && half > 0 { // a text in two pieces
		a.send("", piece(nil, object{"text": text[:half]}))
		text = text[half:]
	}
	if text != "" {
		parts = append(parts, object{"text": text})
	}
	for i, c := range a.turn.Calls {
		parts = append(parts, object{"functionCall": object{"name": c.Name, "args": c.Args, "id": a.ids[i]}})
	}
	last := piece("STOP", parts...)
	if u := a.req.Usage; a.req.Part != "" {
		const thoughts = 7 // which the API counts apart
		last["usageMetadata"] = object{
			"promptTokenCount": u.Input + u.CacheRead, "cachedContentTokenCount": u.CacheRead, "candidatesTokenCount": u.Output - thoughts,
			"thoughtsTokenCount": thoughts, "totalTokenCount": u.Input + u.CacheRead + u.Output,
		}
	}
	if a.asked.stream {
		a.sendUsage("", last)
		return
	}
	a.whole(http.StatusOK, last)
}

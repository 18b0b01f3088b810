package codex

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// addItem adds what went to the model or came from it.
func (l *log) addItem(p rawjson.Object, at time.Time) {
	switch p.Text("type") {
	case "message":
		if p.Text("role") != "assistant" {
			l.given(at)
			return
		}
		parts, _ := p.Elements("content")
		for _, raw := range parts {
			if text := rawjson.Members(raw).Text("text"); text != "" {
				l.answered(text, "", at)
				l.result = text
			}
		}
		// Also of a process that was stopped before it recorded the end of the turn.
		if !l.numbered || p.Text("phase") == "final_answer" {
			l.final = &hook.TurnEnd{Turn: l.turn, At: at, Kind: hook.KindRunComplete, Result: l.result}
		}
	case "reasoning":
		l.came = true
	case "function_call", "custom_tool_call", "local_shell_call":
		l.addMade(p, at)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		l.given(at)
		if id := p.Text("call_id"); l.made[id].Name == "spawn_agent" { // older versions name the subagent nowhere else
			l.addSpawn(rawjson.Members([]byte(outputText(p.Get("output")))).Text("agent_id"), id, at)
		}
		l.addOutput(p.Text("call_id"), outputText(p.Get("output")), at)
	case "web_search_call":
		l.addSearch(p, at)
	case "agent_message":
		l.given(at)
	}
}

// addSearch adds a search that the provider made for the model while it answered.
func (l *log) addSearch(p rawjson.Object, at time.Time) {
	id := cmp.Or(p.Text("id"), l.timeID("search-", at))
	l.answered("", id, at)
	r := hook.ToolResult{
		ID: id, Agent: l.agent, Turn: l.turn, Name: "web_search", Input: l.Texts.KeepJSON(rawjson.Canonical(p.Get("action"))), Asked: at, At: at,
	}
	if status := p.Text("status"); status == "failed" {
		r.Status = hook.ToolFailed
	} else if status == "in_progress" {
		r.Status = hook.ToolUnknown
	}
	l.addResult(r)
}

// codeMode is the tool that runs a script of the model's, poll the one that asks for the
// output of a command that was left running.
const (
	codeMode = "exec"
	poll     = "write_stdin"
	// bash is what the hooks call each tool that runs a command.
	bash = "Bash"
)

func (l *log) addMade(p rawjson.Object, at time.Time) {
	id, name := p.Text("call_id"), p.Text("name")
	if id == "" {
		return
	}
	l.answered("", id, at)
	l.final = nil
	delete(l.done, callKey{l.agent, id}) // a model may number its calls anew in each reply
	call := hook.ToolResult{ID: id, Agent: l.agent, Turn: l.turn, Asked: at}
	arguments := p.Text("arguments")
	call.Name = hookName(p.Text("namespace"), name)
	var line []byte
	switch given := rawjson.Members([]byte(arguments)); name {
	case "exec_command":
		call.Name, line = bash, given.Get("cmd")
	case "shell", "shell_command", "container.exec":
		call.Name, line = bash, given.Get("command")
	case "": // a local_shell_call
		call.Name, line = bash, p.Members("action").Get("command")
	}
	text, isCommand := commandLine(line)
	switch {
	case isCommand:
		call.Input = command(text)
	case arguments != "":
		// Arguments that no tool understands are what the model wrote.
		if call.Input = rawjson.Encode(arguments); rawjson.Check([]byte(arguments)) == nil {
			call.Input = rawjson.Canonical([]byte(arguments))
		}
	default:
		call.Input = command(p.Text("input"))
	}
	call.Input, call.File, call.Row = l.Texts.KeepJSON(call.Input), l.File, l.Line
	l.made[id] = call
}

// hookName returns the name that the hooks give to a tool of a namespace, which they put
// before the tool's own name, except of the first form of spawn_agent.
func hookName(namespace, name string) string {
	if namespace == "multi_agent_v1" && name == "spawn_agent" {
		return name
	}
	if strings.HasPrefix(namespace, "mcp__") {
		namespace = strings.TrimSuffix(namespace, "__") + "__"
	}
	return namespace + name
}

// commandLine is a command as a person types it: a text, or the words of one, of which a
// shell's last is the command itself.
func commandLine(raw []byte) (line string, ok bool) {
	if rawjson.IsString(raw) {
		return rawjson.Unquote(raw), true
	}
	words, ok := rawjson.Elements(raw)
	if !ok || len(words) == 0 {
		return "", false
	}
	parts := make([]string, len(words))
	for i, word := range words {
		parts[i] = rawjson.Text(word)
	}
	shell := strings.TrimSuffix(strings.ToLower(parts[0][strings.LastIndexAny(parts[0], `/\\`)+1:]), ".exe")
	if n := len(parts); n > 2 && slices.Contains(shells[:], shell) {
		switch option := strings.ToLower(parts[n-2]); option {
		case "-c", "-lc", "-command", "/c":
			return parts[n-1], true
		}
	}
	for i, part := range parts {
		if part == "" || strings.ContainsAny(part, " \t\n\"'\\\\$&|;<>()*?`") {
			parts[i] = "'" + strings.ReplaceAll(part, "'", `'\''`) + "'"
		}
	}
	return strings.Join(parts, " "), true
}

var shells = [...]string{"bash", "sh", "zsh", "dash", "fish", "ksh", "pwsh", "powershell", "cmd"}

func command(text string) string { return rawjson.Encode(map[string]any{"command": text}) }

// addOutput adds what the model was told of a call.
func (l *log) addOutput(id, text string, at time.Time) {
	call, known := l.made[id]
	text, status, took, isJSON := jsonOutput(text)
	whole := text
	if _, output, found := strings.Cut(text, "\nOutput:\n"); found && call.Name == bash {
		text = output // what precedes it is about the process
	}
	delete(l.made, id)
	if i, ok := l.done[callKey{l.agent, id}]; ok {
		if r := &l.Results[i]; r.Text == "" {
			r.Text, r.Row = l.Texts.Keep(text), l.Line
		}
		return
	}
	if !known || call.Name == codeMode && !strings.HasPrefix(whole, "Script failed") {
		return // its nested calls count
	}
	if call.Status, call.At = status, at; !isJSON {
		call.Status = statusOf(whole)
	}
	if began := at.Add(-took); took > 0 && began.After(call.Asked) {
		call.Asked = began
	}
	if head, _, _ := strings.Cut(whole, "\nOutput:"); call.Name == poll && strings.Contains(head, "Process exited with code ") {
		call.Status = hook.ToolOK // how the command ended is said where it was started
	}
	call.Text = l.Texts.Keep(strings.TrimSpace(text))
	l.addResult(call)
}

func (l *log) addResult(r hook.ToolResult) {
	l.done[callKey{r.Agent, r.ID}] = len(l.Results)
	r.File, r.Row = l.File, l.Line
	l.Results = append(l.Results, r)
}

// outputText reads an output: a text, or parts with texts. Before 0.99 the parts that a
// server returned are a text.
func outputText(raw []byte) string {
	if rawjson.IsString(raw) {
		text := rawjson.Unquote(raw)
		if !strings.HasPrefix(text, `[{"`) || !strings.Contains(text, `"type":"text"`) {
			return text
		}
		if parts := outputText([]byte(text)); parts != "" {
			return parts
		}
		return text
	}
	var texts []string
	parts, _ := rawjson.Elements(raw)
	for _, part := range parts {
		texts = append(texts, rawjson.Members(part).Text("text"))
	}
	return hook.Lines(texts...)
}

// addDone adds an item that was completed: a prompt, a call or a subagent's start.
func (l *log) addDone(item rawjson.Object, started, ended time.Time) {
	id := item.Text("id")
	r := hook.ToolResult{ID: id, Agent: l.agent, Turn: l.turn, Asked: started, At: ended, Name: l.made[id].Name, Input: l.made[id].Input}
	switch item.Text("type") {
	case "UserMessage":
		parts, _ := item.Elements("content")
		var texts []string
		for _, raw := range parts {
			texts = append(texts, rawjson.Members(raw).Text("text"))
		}
		l.addPrompt(hook.Lines(texts...), ended)
		return
	case "HookPrompt":
		// One of the user's hooks refused the end of the turn.
		l.replied = false
		l.end(hook.TurnEnd{Turn: l.turn, At: ended, Kind: hook.KindRunResume})
		return
	case "SubAgentActivity":
		if item.Text("kind") != "started" {
			return
		}
		l.addSpawn(item.Text("agent_thread_id"), id, started)
	case "CollabAgentToolCall":
		if threads, _ := item.Elements("receiver_thread_ids"); item.Text("tool") == "spawn_agent" && len(threads) == 1 {
			l.addSpawn(rawjson.Text(threads[0]), id, started)
		}
	case "CommandExecution":
		if line, ok := commandLine(item.Get("command")); ok && r.Name == "" {
			r.Name, r.Input = bash, l.Texts.KeepJSON(command(line))
		}
		r.Text = item.Text("aggregated_output")
	case "FileChange":
		r.Name = cmp.Or(r.Name, "apply_patch")
		if changes := item.Get("changes"); r.Input == "" && changes != nil {
			r.Input = l.Texts.KeepJSON(command(patch(changes, l.cwd)))
		}
		r.Text = hook.Lines(item.Text("stdout"), item.Text("stderr"))
	case "McpToolCall":
		r.Name = "mcp__" + item.Text("server") + "__" + item.Text("tool")
		r.Input = l.Texts.KeepJSON(rawjson.Canonical(item.Get("arguments")))
		r.Text = outputText(item.Members("result").Get("content"))
	default:
		return
	}
	r.Status = l.itemStatus(item)
	r.Text = l.Texts.Keep(r.Text)
	if i, ok := l.done[callKey{r.Agent, id}]; ok {
		l.Results[i].Status, l.Results[i].Asked, l.Results[i].At = r.Status, r.Asked, r.At
		return
	}
	l.addResult(r)
}

func (l *log) addSpawn(thread, call string, at time.Time) {
	if transcript.CheckID("thread", thread) != nil || slices.ContainsFunc(l.spawned, func(s spawn) bool { return s.thread == thread }) {
		return
	}
	task := rawjson.Members([]byte(l.made[call].Input)).Text("message")
	l.spawned = append(l.spawned, spawn{thread: thread, call: call, caller: l.agent, turn: l.turn, task: task, at: at})
}

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
func (l *log) addItem(kind string, p rawjson.Object, at time.Time) {
	switch kind {
	case "message":
		if p.Text("role") != "assistant" {
			l.given(at)
			return
		}
		for _, raw := range contents(p) {
			if text := rawjson.Members(raw).Text("text"); text != "" {
				l.answered(text, "")
				l.result = text
			}
		}
	case "agent_message":
		l.given(at)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		l.given(at)
		id, text := p.Text("call_id"), outputText(p.Get("output"))
		if l.openCalls[id].Name == "spawn_agent" { // older versions name the subagent nowhere else
			l.addSpawn(rawjson.Members([]byte(text)).Text("agent_id"), id, at)
		}
		l.addOutput(id, text, at)
	case "tool_search_output":
		l.given(at)
		l.addOutput(p.Text("call_id"), rawjson.Canonical(p.Get("tools")), at)
	case "web_search_call", "image_generation_call":
		l.addProvided(p, strings.TrimSuffix(kind, "_call"), at)
	default:
		if kind == toolSearch+"_call" && p.Text("call_id") == "" {
			l.addProvided(p, toolSearch, at)
			return
		}
		if isCall(kind) {
			l.addMade(p, at)
			return
		}
		l.meet(idleItems, responseItem+"/", kind, p, at)
	}
}

// isCall reports an item in which the model calls a tool.
func isCall(kind string) bool { return strings.HasSuffix(kind, "_call") }

// contents are the parts of an item.
func contents(p rawjson.Object) [][]byte {
	list, _ := p.Elements("content")
	return list
}

// addProvided adds a call that the provider made for the model while it answered.
func (l *log) addProvided(p rawjson.Object, name string, at time.Time) {
	id := cmp.Or(p.Text("id"), l.timeID("search-", at))
	l.answered("", id)
	r := hook.ToolResult{
		ID: id, Agent: l.agent, Turn: l.turn, Name: name, Input: l.Texts.KeepJSON(rawjson.Canonical(p.Get("action", "arguments"))), Asked: at, At: at,
	}
	if name != webSearchTool && name != toolSearch {
		r.Input = l.Texts.KeepJSON(object("prompt", rawjson.Encode(p.Text("revised_prompt"))))
	}
	if status := p.Text("status"); status == "failed" {
		r.Status = hook.ToolFailed
	} else if status == "in_progress" {
		r.Status = hook.ToolUnknown
	}
	l.addResult(r)
}

// script is the tool that runs a script of the model's, which calls other tools. poll asks
// for the output of a command that was left running, wait for that of a script.
const (
	script = "exec"
	poll   = "write_stdin"
	wait   = "wait"
	// bash is what the hooks call each tool that runs a command.
	bash          = "Bash"
	webSearchTool = "web_search"
	toolSearch    = "tool_search"
	spawnAgent    = "collaborationspawn_agent"
)

// nested begins the ids of the calls of a script.
const nested = "exec-"

// Types of items.
const (
	userMessage   = "UserMessage"
	agentActivity = "SubAgentActivity"
	webSearch     = "WebSearch"
)

func (l *log) addMade(p rawjson.Object, at time.Time) {
	id, name := p.Text("call_id"), p.Text("name")
	if id == "" {
		return
	}
	l.answered("", id)
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
	case "":
		if p.Text("type") == toolSearch+"_call" {
			call.Name, arguments = toolSearch, rawjson.Canonical(p.Get("arguments"))
			break
		}
		call.Name, line = bash, p.Members("action").Get("command") // a local_shell_call
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
	l.openCalls[id] = call
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
	call, known := l.openCalls[id]
	text, status, took, isJSON := jsonOutput(text)
	whole := text
	if _, output, found := strings.Cut(text, "\nOutput:\n"); found && call.Name == bash {
		text = output // what precedes it is about the process
	}
	delete(l.openCalls, id)
	if i, ok := l.done[callKey{l.agent, id}]; ok {
		if r := &l.Results[i]; r.Text == "" {
			r.Text, r.Row = l.Texts.Keep(text), l.Line
		}
		return
	}
	if !known {
		return
	}
	if call.Status, call.At = status, at; !isJSON {
		call.Status = statusOf(whole)
	}
	if began := at.Add(-took); took > 0 && began.After(call.Asked) {
		call.Asked = began
	}
	call.Text = l.Texts.Keep(strings.TrimSpace(text))
	l.addResult(l.leftRunning(call, whole))
}

// leftRunning follows the calls that were left running, of which another call tells how
// they ended.
func (l *log) leftRunning(call hook.ToolResult, output string) hook.ToolResult {
	head, _, _ := strings.Cut(output, "\nOutput:")
	for _, words := range [...]string{"Process running with session ID ", "Script running with cell ID "} {
		if _, after, left := strings.Cut(head, words); left && call.Name != poll && call.Name != wait {
			name, _, _ := strings.Cut(after, "\n")
			l.running[words+name] = callKey{call.Agent, call.ID}
		}
	}
	given, words := rawjson.Members([]byte(call.Input)), ""
	switch call.Name {
	case poll:
		words = "Process running with session ID " + rawjson.Text(given.Get("session_id"))
	case wait:
		words = "Script running with cell ID " + rawjson.Text(given.Get("cell_id"))
	default:
		return call
	}
	if _, ended := exitCode(output); !ended && (!strings.HasPrefix(head, "Script ") || strings.Contains(head, " running with ")) {
		return call // it still runs
	}
	key, known := l.running[words]
	delete(l.running, words)
	if i, ok := l.done[key]; known && ok {
		l.Results[i].Status = call.Status
		if call.Name == wait {
			l.Results[i].At = call.At
		}
	}
	call.Status = hook.ToolOK // that of the other call says how it ended
	return call
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
	r := hook.ToolResult{ID: id, Agent: l.agent, Turn: l.turn, Asked: started, At: ended, Name: l.openCalls[id].Name, Input: l.openCalls[id].Input}
	switch item.Text("type") {
	case userMessage:
		var texts []string
		for _, raw := range contents(item) {
			texts = append(texts, rawjson.Members(raw).Text("text"))
		}
		l.addPrompt(hook.Lines(texts...), ended)
		return
	case "HookPrompt":
		// One of the user's hooks refused the end of the turn.
		l.replied = false
		l.end(hook.TurnEnd{Turn: l.turn, At: ended, Kind: hook.KindRunResume})
		return
	case agentActivity:
		if item.Text("kind") != "started" {
			return
		}
		l.addSpawn(item.Text("agent_thread_id"), id, started)
		if strings.HasPrefix(id, nested) {
			r.Name, r.Input = spawnAgent, l.Texts.KeepJSON(object("agent_path", string(item.Get("agent_path"))))
		}
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
	case webSearch: // of a script; those of the provider are items of the answer
		if !strings.HasPrefix(id, nested) {
			return
		}
		r.Name, r.Input = webSearchTool, l.Texts.KeepJSON(rawjson.Canonical(item.Get("action")))
	case "ImageView":
		r.Name = cmp.Or(r.Name, "view_image")
		r.Input = cmp.Or(r.Input, l.Texts.KeepJSON(object("path", string(item.Get("path")))))
	case "DynamicToolCall":
		r.Name = cmp.Or(r.Name, hookName(item.Text("namespace"), item.Text("tool")))
		r.Input = cmp.Or(r.Input, l.Texts.KeepJSON(rawjson.Canonical(item.Get("arguments"))))
		r.Text = outputText(item.Get("content_items"))
	default:
		l.meet(idleDone, itemDone+"/", item.Text("type"), item, ended)
		return
	}
	if r.Name == "" && item.Text("type") == agentActivity {
		return // not of a call of the model's
	}
	r.Status = l.itemStatus(item)
	r.Ran = r.Status == hook.ToolCancelled
	r.Text = l.Texts.Keep(r.Text)
	if i, ok := l.done[callKey{r.Agent, id}]; ok {
		l.Results[i].Status, l.Results[i].Ran, l.Results[i].Asked, l.Results[i].At = r.Status, r.Ran, r.Asked, r.At
		return
	}
	l.addResult(r)
}

func (l *log) addSpawn(thread, call string, at time.Time) {
	if transcript.CheckID("thread", thread) != nil || l.agents[thread] {
		return
	}
	task := rawjson.Members([]byte(l.openCalls[call].Input)).Text("message")
	l.spawn(spawn{thread: thread, call: call, turn: l.turn, task: task, at: at})
}

package codex

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// row is one line of a rollout file. Its members alias the line.
type row struct {
	kind    string
	at      time.Time
	payload rawjson.Object
}

func (r *row) parse(line []byte) bool {
	o := rawjson.Members(line)
	if o == nil {
		return false
	}
	*r = row{kind: o.Text("type"), at: transcript.ISOTime(o.Text("timestamp")), payload: o.Members("payload")}
	return r.payload != nil
}

// log gathers what the files of one session say.
type log struct {
	session string
	// agent is the subagent whose file is read, empty for the session's.
	agent string
	texts transcript.Texts
	rows  *int
	// file and line are the place of the row that is added, in a reading of whole texts.
	file string
	line int

	calls   []hook.LLMCall
	results []hook.ToolResult
	prompts []hook.Prompt
	ends    []hook.TurnEnd
	// spawned are the subagents in the order of their starts.
	spawned []spawn

	// turn is the current turn of the run, open reports that it has not ended, and
	// aborted that the user has interrupted it.
	turn          string
	open, aborted bool
	// input is when the model was last given something: the next request begins then.
	input time.Time
	// words and asked are the text and the calls of the answer whose tokens are still
	// to come.
	words []string
	asked []string
	// began and said are when that answer's request began and its last part came:
	// older versions count the tokens later.
	began, said time.Time
	// recorded reports that the file has records of tokens, total is the running total
	// of the newest count in a file without them.
	recorded bool
	total    string
	// made are the calls without a result, by id; done has the place of each result.
	made map[string]hook.ToolResult
	done map[callKey]int

	// settingsWithin is how many bytes of rows before the part that is read are searched
	// for the newest settings: each turn's delivery does so.
	settingsWithin int
	// costs reports that the costs are of interest. tier is the service tier that the
	// newest settings ask for, and priced reports that the current turn has had no
	// other than the standard one.
	costs  bool
	tier   string
	priced bool

	version, cwd, provider, model string
	// system are the instructions before all prompts.
	system      string
	first, last time.Time
	result      string
}

// maxSettings is that number outside of tests.
const maxSettings = 32 << 20

type callKey struct{ agent, id string }

// spawn is the call that started a subagent.
type spawn struct {
	thread, call, caller, turn, task string
	at                               time.Time
}

func newLog(session string, maxText int) *log {
	return &log{
		session: session, priced: true, settingsWithin: maxSettings, texts: transcript.Texts{Max: maxText}, rows: new(int),
		made: make(map[string]hook.ToolResult), done: make(map[callKey]int),
	}
}

// readAll reads the session's file at path and those of its subagents.
func readAll(ctx context.Context, f *transcript.Files, q transcript.Query, path string, maxText int) (*hook.Transcript, error) {
	t := &hook.Transcript{Session: q.Session}
	var errs []error
	l := newLog(q.Session, maxText)
	l.costs = q.Whole == nil
	read := func(l *log, path string) {
		err := l.readFile(ctx, f, path, q)
		errs = append(errs, err)
		if !errors.Is(err, transcript.ErrNotFound) {
			t.Sources = append(t.Sources, path)
		}
	}
	read(l, path)
	lead := *l
	for i := 0; i < len(l.spawned) && i < maxAgents; i++ {
		s := l.spawned[i]
		files := agentFiles(path, s.thread)
		sub := *l
		sub.agent, sub.turn, sub.open, sub.aborted, sub.first, sub.last = s.thread, s.turn, false, false, s.at, time.Time{}
		sub.words, sub.asked, sub.recorded, sub.total, sub.result = nil, nil, false, "", ""
		sub.tier, sub.priced = "", true
		for _, file := range files {
			read(&sub, file)
		}
		l.calls, l.results, l.texts, l.spawned = sub.calls, sub.results, sub.texts, sub.spawned
		a := hook.Agent{
			ID: s.thread, CallID: s.call, ParentAgent: s.caller, Turn: s.turn, Task: s.task, Result: sub.result, Start: s.at,
		}
		if !sub.open {
			a.End = sub.last
		}
		if !a.End.Before(q.Since) || a.End.IsZero() {
			t.Agents = append(t.Agents, a)
		}
	}
	t.Calls = slices.DeleteFunc(l.calls, func(c hook.LLMCall) bool { return c.End.Before(q.Since) })
	t.ToolResults = slices.DeleteFunc(l.results, func(r hook.ToolResult) bool { return r.At.Before(q.Since) })
	t.Prompts = slices.DeleteFunc(lead.prompts, func(p hook.Prompt) bool { return p.At.Before(q.Since) })
	t.Ends = slices.DeleteFunc(lead.ends, func(e hook.TurnEnd) bool { return e.At.Before(q.Since) })
	slices.SortStableFunc(t.Calls, func(a, b hook.LLMCall) int { return a.Start.Compare(b.Start) })
	t.Provider, t.Model, t.HostVersion, t.Cwd, t.System = lead.provider, lead.model, lead.version, lead.cwd, lead.system
	// The tokens of an answer are written just after it.
	t.Pending = lead.open && len(lead.words)+len(lead.asked) > 0 && f.Now().Sub(lead.last) < transcript.PendingAge
	return t, errors.Join(errs...)
}

// add adds the next row.
func (l *log) add(r *row) {
	p := r.payload
	if r.at.After(l.last) {
		l.last = r.at
	}
	switch r.kind {
	case "session_meta":
		if l.agent == "" {
			l.version, l.cwd, l.provider = p.Text("cli_version"), p.Text("cwd"), p.Text("model_provider")
			l.system = l.texts.Keep(cmp.Or(p.Text("base_instructions"), p.Members("base_instructions").Text("text")))
		}
	case "turn_context":
		l.model = cmp.Or(p.Text("model"), l.model)
		l.cwd = cmp.Or(p.Text("cwd"), l.cwd)
	case "token_usage_record":
		l.recorded = true
		l.addCall(p.Text("response_id"), p.Members("usage"), r.at)
	case "compacted":
		l.input = r.at
	case "response_item":
		l.addItem(p, r.at)
	case "event_msg":
		l.addEvent(p, r.at)
	}
	if l.texts.Over() {
		l.texts.Shrink(l.eachText)
	}
}

func (l *log) eachText(text, input func(*string)) {
	for i := range l.calls {
		text(&l.calls[i].Text)
	}
	for i := range l.results {
		text(&l.results[i].Text)
		input(&l.results[i].Input)
	}
	for i := range l.prompts {
		text(&l.prompts[i].Text)
	}
	for i := range l.ends {
		text(&l.ends[i].Result)
	}
}

func (l *log) addEvent(p rawjson.Object, at time.Time) {
	switch p.Text("type") {
	case settings:
		l.setTier(p.Members("thread_settings").Text("service_tier"))
	case "task_started":
		l.open, l.aborted, l.input, l.priced = true, false, at, standard(l.tier)
		if turn := cmp.Or(p.Text("root_turn_id"), p.Text("turn_id")); l.agent == "" {
			l.turn = turn
		}
	case "user_message": // before 0.160
		l.addPrompt(p.Text("message"), at)
	case "item_completed":
		l.addDone(p.Members("item"), instant(p, "started_at_ms", at), instant(p, "completed_at_ms", at))
	case "token_count":
		info := p.Members("info")
		if total := rawjson.Canonical(info.Get("total_token_usage")); !l.recorded && info != nil && total != l.total {
			l.total = total
			l.addCall("", info.Members("last_token_usage"), at)
		}
	case "task_complete":
		l.complete(p, at)
	case "turn_aborted":
		l.open, l.aborted = false, true
		l.end(hook.TurnEnd{Turn: l.turn, At: at, Kind: hook.KindSessionEnd, Message: "interrupted by the user"})
	}
}

func instant(p rawjson.Object, name string, otherwise time.Time) time.Time {
	if at := rawjson.Instant(p.Get(name)); !at.IsZero() {
		return at
	}
	return otherwise
}

func (l *log) end(e hook.TurnEnd) {
	if l.agent == "" {
		l.ends = append(l.ends, e)
	}
}

func (l *log) addPrompt(text string, at time.Time) {
	l.input = at
	if n := len(l.prompts); l.agent == "" && text != "" && (n == 0 || l.prompts[n-1].Text != text || l.prompts[n-1].Turn != l.turn) {
		l.prompts = append(l.prompts, hook.Prompt{At: at, Text: l.texts.Keep(text), Turn: l.turn})
	}
}

// complete adds the end of a turn, and the request that it failed with.
func (l *log) complete(p rawjson.Object, at time.Time) {
	l.open = false
	l.result = cmp.Or(p.Text("last_agent_message"), l.result)
	failure := p.Members("error")
	if failure == nil {
		l.end(hook.TurnEnd{Turn: l.turn, At: at, Kind: hook.KindRunComplete, Result: l.texts.Keep(p.Text("last_agent_message"))})
		return
	}
	message := failure.Text("message")
	// Of a refused request it is the provider's answer.
	message = cmp.Or(rawjson.Members([]byte(message)).Members("error").Text("message"), message)
	class := errorClass(failure)
	l.calls = append(l.calls, hook.LLMCall{
		Kind: hook.CallRequest, ID: transcript.TimeID("req-", l.input), Turn: l.turn, Agent: l.agent, Start: l.input, End: at,
		Provider: l.provider, Model: l.model, Error: cmp.Or(class, unclassed), Message: message,
	})
	l.words, l.asked = nil, nil
	l.end(hook.TurnEnd{Turn: l.turn, At: at, Kind: hook.KindRunError, Message: message, ErrorType: class})
}

// answered notes that a part of an answer came.
func (l *log) answered(at time.Time) {
	if len(l.words)+len(l.asked) == 0 {
		l.began = l.input
	}
	l.said = at
}

// addItem adds what went to the model or came from it.
func (l *log) addItem(p rawjson.Object, at time.Time) {
	switch p.Text("type") {
	case "message":
		if p.Text("role") != "assistant" {
			l.input = at
			return
		}
		parts, _ := p.Elements("content")
		for _, raw := range parts {
			if text := rawjson.Members(raw).Text("text"); text != "" {
				l.answered(at)
				l.words = append(l.words, text)
				l.result = text
			}
		}
	case "function_call", "custom_tool_call":
		l.addMade(p, at)
	case "function_call_output", "custom_tool_call_output":
		l.input = at
		l.addOutput(p.Text("call_id"), outputText(p.Get("output")), at)
	case "agent_message":
		l.input = at
	}
}

// codeMode is the tool that runs a script of the model's, poll the one that asks for the
// output of a command that was left running.
const (
	codeMode = "exec"
	poll     = "write_stdin"
)

func (l *log) addMade(p rawjson.Object, at time.Time) {
	id, name := p.Text("call_id"), p.Text("name")
	if id == "" {
		return
	}
	l.answered(at)
	l.asked = append(l.asked, id)
	delete(l.done, callKey{l.agent, id}) // a model may number its calls anew in each reply
	call := hook.ToolResult{ID: id, Agent: l.agent, Turn: l.turn, Name: hookName(p.Text("namespace"), name), Asked: at}
	arguments := p.Text("arguments")
	if name == "exec_command" {
		call.Name = "Bash" // as in the hooks
	}
	switch cmd := rawjson.Members([]byte(arguments)).Get("cmd"); {
	case name == "exec_command" && rawjson.IsString(cmd):
		call.Input = command(rawjson.Unquote(cmd))
	case arguments != "":
		// Arguments that no tool understands are what the model wrote.
		call.Input = cmp.Or(rawjson.Canonical([]byte(arguments)), rawjson.Encode(arguments))
	default:
		call.Input = command(p.Text("input"))
	}
	call.Input = l.texts.KeepJSON(call.Input)
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

func command(text string) string { return rawjson.Encode(map[string]any{"command": text}) }

// addOutput adds what the model was told of a call.
func (l *log) addOutput(id, text string, at time.Time) {
	call, known := l.made[id]
	whole := text
	if _, output, found := strings.Cut(text, "\nOutput:\n"); found && call.Name == "Bash" {
		text = output // what precedes it is about the process
	}
	delete(l.made, id)
	if i, ok := l.done[callKey{l.agent, id}]; ok {
		if r := &l.results[i]; r.Text == "" {
			r.Text, r.Row = l.texts.Keep(text), l.line
		}
		return
	}
	if !known || call.Name == codeMode && !strings.HasPrefix(whole, "Script failed") {
		return // its nested calls count
	}
	call.Status, call.At = statusOf(whole), at
	if head, _, _ := strings.Cut(whole, "\nOutput:"); call.Name == poll && strings.Contains(head, "Process exited with code ") {
		call.Status = hook.ToolOK // how the command ended is said where it was started
	}
	call.Text = l.texts.Keep(strings.TrimSpace(text))
	l.addResult(call)
}

func (l *log) addResult(r hook.ToolResult) {
	l.done[callKey{r.Agent, r.ID}] = len(l.results)
	r.File, r.Row = l.file, l.line
	l.results = append(l.results, r)
}

// outputText reads an output: a text, or parts with texts.
func outputText(raw []byte) string {
	if rawjson.IsString(raw) {
		return rawjson.Unquote(raw)
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
		words, _ := item.Elements("command")
		if r.Name == "" && len(words) > 0 {
			r.Name, r.Input = "Bash", l.texts.KeepJSON(command(rawjson.Text(words[len(words)-1])))
		}
		r.Text = item.Text("aggregated_output")
	case "FileChange":
		r.Name = cmp.Or(r.Name, "apply_patch")
		if changes := item.Get("changes"); r.Input == "" && changes != nil {
			r.Input = l.texts.KeepJSON(command(patch(changes, l.cwd)))
		}
		r.Text = hook.Lines(item.Text("stdout"), item.Text("stderr"))
	case "McpToolCall":
		r.Name = "mcp__" + item.Text("server") + "__" + item.Text("tool")
		r.Input = l.texts.KeepJSON(rawjson.Canonical(item.Get("arguments")))
		r.Text = outputText(item.Members("result").Get("content"))
	default:
		return
	}
	r.Status = l.itemStatus(item)
	r.Text = l.texts.Keep(r.Text)
	if i, ok := l.done[callKey{r.Agent, id}]; ok {
		l.results[i].Status, l.results[i].Asked, l.results[i].At = r.Status, r.Asked, r.At
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

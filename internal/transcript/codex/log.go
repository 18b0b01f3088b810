package codex

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
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
	// flat reports that the row is its own payload.
	flat bool
}

func (r *row) parse(line []byte) bool {
	o := rawjson.Members(line)
	if o == nil {
		return false
	}
	*r = row{kind: o.Text("type"), at: transcript.ISOTime(o.Text("timestamp")), payload: o.Members("payload")}
	if r.payload == nil && o.Get("payload") == nil {
		r.flatten(o)
	}
	return r.payload != nil
}

// take calls add for each row of a line, of which a damaged one may have several, until it
// returns false.
func (r *row) take(line []byte, damaged *transcript.Damaged, add func() bool) (more bool) {
	if r.parse(line) {
		damaged.End()
		return add()
	}
	more = true
	damaged.Add(line, func(text []byte) bool {
		found := r.parse(text)
		more = more && (!found || add())
		return found
	})
	return more
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

	// clock is the time of the newest row: rows without a time get the next millisecond.
	clock time.Time
	// history is what the file has of other threads, turns are those of the session.
	history history
	turns   map[string]bool

	// turn is the current turn of the run, open reports that it has not ended, and
	// aborted that the user has interrupted it.
	turn          string
	open, aborted bool
	// numbered reports that the file has the begin and the end of turns. Where it has
	// none (before 0.99), each prompt begins one, and final is its end: the last answer.
	numbered bool
	final    *hook.TurnEnd
	// turnBegan is when the turn began. compacted reports that the conversation was shortened
	// in it, and prompted that it has a prompt.
	turnBegan           time.Time
	compacted, prompted bool
	// ids count the ids that were made of times.
	ids map[string]int
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
	// early is the request whose tokens were counted before the first part of its answer
	// (0.34 to 0.63), -1 for none, and heard are the texts of the answer. late reports that the file counts them after it, and
	// came that a part of the answer, thoughts included, has come since the last input.
	early      int
	heard      []string
	late, came bool
	// left are the calls without a result in files that were read.
	left []hook.ToolResult
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
	repository                    hook.Repository
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
		session: session, priced: true, settingsWithin: maxSettings, texts: transcript.Texts{Max: maxText}, rows: new(int), early: -1,
		made: make(map[string]hook.ToolResult), done: make(map[callKey]int), ids: make(map[string]int), turns: make(map[string]bool),
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
	l.await(-1)
	l.left = append(l.left, unanswered(l.made)...)
	if f.Now().Sub(l.last) >= transcript.PendingAge {
		l.finish()
	}
	lead := *l
	for i := 0; i < len(l.spawned) && i < maxAgents; i++ {
		s := l.spawned[i]
		files := agentFiles(path, s.thread)
		sub := *l
		sub.agent, sub.turn, sub.open, sub.aborted, sub.first, sub.last = s.thread, s.turn, false, false, s.at, time.Time{}
		sub.words, sub.asked, sub.recorded, sub.total, sub.result = nil, nil, false, "", ""
		sub.tier, sub.priced = "", true
		sub.numbered, sub.final, sub.early, sub.late, sub.came = false, nil, -1, false, false
		for _, file := range files {
			read(&sub, file)
		}
		sub.await(-1)
		l.left = append(l.left, unanswered(sub.made)...)
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
	if q.Full || q.Whole != nil {
		l.leave()
	}
	t.Calls = slices.DeleteFunc(l.calls, func(c hook.LLMCall) bool { return c.End.Before(q.Since) })
	t.ToolResults = slices.DeleteFunc(l.results, func(r hook.ToolResult) bool { return !r.At.IsZero() && r.At.Before(q.Since) })
	t.Prompts = slices.DeleteFunc(lead.prompts, func(p hook.Prompt) bool { return p.At.Before(q.Since) })
	t.Ends = slices.DeleteFunc(lead.ends, func(e hook.TurnEnd) bool { return e.At.Before(q.Since) })
	slices.SortStableFunc(t.Calls, func(a, b hook.LLMCall) int { return a.Start.Compare(b.Start) })
	if h := &lead.history; h.inherited {
		t.Origin, t.OriginTurn = h.from[0].id, h.turn
	}
	t.Provider, t.Model, t.HostVersion, t.Cwd, t.System = lead.provider, lead.model, lead.version, lead.cwd, lead.system
	t.Repository = lead.repository
	// The tokens of an answer are written just after it.
	t.Pending = lead.open && len(lead.words)+len(lead.asked) > 0 && f.Now().Sub(lead.last) < transcript.PendingAge
	return t, errors.Join(errs...)
}

// unanswered are calls that have no result yet, in their order, which it forgets.
func unanswered(made map[string]hook.ToolResult) []hook.ToolResult {
	calls := slices.SortedFunc(maps.Values(made), func(a, b hook.ToolResult) int {
		return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.ID, b.ID))
	})
	clear(made)
	return slices.DeleteFunc(calls, func(c hook.ToolResult) bool { return c.Name == codeMode }) // its nested calls count
}

// leave adds the calls without a result.
func (l *log) leave() {
	for _, call := range l.left {
		call.Status = hook.ToolUnknown
		l.results = append(l.results, call)
	}
}

// add adds the next row.
func (l *log) add(r *row) {
	p := r.payload
	if r.at.IsZero() && !l.clock.IsZero() {
		r.at = l.clock.Add(time.Millisecond)
	}
	l.clock = r.at
	known := l.turns
	if l.agent == "" {
		known = nil
	}
	if r.kind != "session_meta" && l.history.copied(r, known) && !l.setting(r) {
		return
	}
	if r.at.After(l.last) {
		l.last = r.at
	}
	switch r.kind {
	case "session_meta":
		if own := l.history.add(p, r.at); own && l.agent == "" {
			l.version, l.cwd, l.provider = p.Text("cli_version"), p.Text("cwd"), p.Text("model_provider")
			git := p.Members("git")
			l.repository.Name, l.repository.URL = hook.RepositoryAt(git.Text("repository_url"))
			l.repository.Branch = hook.PlainWord(git.Text("branch"))
			l.system = l.texts.Keep(cmp.Or(p.Text("base_instructions"), p.Members("base_instructions").Text("text")))
		}
	case "turn_context":
		l.model = cmp.Or(p.Text("model"), l.model)
		l.cwd = cmp.Or(p.Text("cwd"), l.cwd)
	case "token_usage_record":
		l.recorded = true
		l.addCall(p.Text("response_id"), p.Members("usage"), r.at)
	case "compacted":
		l.given(r.at)
		l.compacted = true
	case "response_item":
		l.addItem(p, r.at)
		if r.flat && p.Text("type") == "message" {
			l.addFlat(p)
		}
	case "event_msg":
		l.addEvent(p, r.at)
	}
	if l.texts.Over() {
		l.texts.Shrink(l.eachText)
	}
}

// setting reports that a copied row is about the model of the rows that follow. A count
// of tokens may be repeated after the copies.
func (l *log) setting(r *row) bool {
	switch {
	case r.kind == "turn_context":
		return true
	case r.kind != "event_msg":
		return false
	case r.payload.Text("type") == "token_count":
		if total := rawjson.Canonical(r.payload.Members("info").Get("total_token_usage")); total != "" {
			l.total = total
		}
	}
	return r.payload.Text("type") == settings
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
		l.finish()
		l.given(at)
		l.turnBegan, l.compacted, l.prompted = at, false, false
		l.await(-1)
		l.open, l.aborted, l.numbered, l.priced = true, false, true, standard(l.tier)
		if turn := cmp.Or(p.Text("root_turn_id"), p.Text("turn_id")); l.agent == "" {
			l.turn, l.turns[turn] = turn, true
		}
	case "user_message": // before 0.160
		text := p.Text("message")
		if images, _ := p.Elements("images"); text == "" && len(images) > 0 {
			text = "[image]"
		}
		l.addPrompt(text, at)
	case "item_completed":
		l.addDone(p.Members("item"), instant(p, "started_at_ms", at), instant(p, "completed_at_ms", at))
	case "token_count":
		info := p.Members("info")
		if total := rawjson.Canonical(info.Get("total_token_usage")); !l.recorded && info != nil && total != l.total {
			l.total = total
			// The result of a call may have come since.
			l.late = l.late || l.came || len(l.words)+len(l.asked) > 0
			l.await(-1)
			l.addCall("", info.Members("last_token_usage"), at)
			if !l.late {
				l.await(len(l.calls) - 1)
			}
		}
	case "collab_agent_spawn_end":
		l.addSpawn(p.Text("new_thread_id"), p.Text("call_id"), at)
	case "task_complete":
		l.complete(p, at)
	case "turn_aborted":
		l.open, l.aborted, l.final = false, true, nil
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

// given notes that the model was given something.
func (l *log) given(at time.Time) { l.input, l.came = at, false }

// finish ends a turn without a record of its end with the last answer.
func (l *log) finish() {
	if l.final != nil {
		l.final.Result = l.texts.Keep(l.final.Result)
		l.end(*l.final)
	}
	l.final = nil
}

// timeID is an id that no other time has.
func (l *log) timeID(prefix string, at time.Time) string {
	id := transcript.TimeID(prefix, at)
	key := l.agent + "/" + id
	if l.ids[key]++; l.ids[key] > 1 {
		id += "-" + strconv.Itoa(l.ids[key])
	}
	return id
}

// await notes that the parts of the request at place i are to come, of none if i is -1, and
// those of the one before have come.
func (l *log) await(i int) {
	if len(l.heard) > 0 {
		l.calls[l.early].Text = l.texts.Keep(strings.Join(l.heard, "\n"))
	}
	l.early, l.heard = i, nil
}

func (l *log) addPrompt(text string, at time.Time) {
	l.given(at)
	l.prompted = true
	if !l.numbered && l.agent == "" {
		l.finish()
		l.await(-1)
		l.turn, l.aborted, l.priced = l.timeID("turn-", at), false, standard(l.tier)
	}
	if n := len(l.prompts); l.agent == "" && text != "" && (n == 0 || l.prompts[n-1].Text != text || l.prompts[n-1].Turn != l.turn) {
		l.prompts = append(l.prompts, hook.Prompt{At: at, Text: l.texts.Keep(text), Turn: l.turn})
	}
}

// complete adds the end of a turn, and the request that it failed with.
func (l *log) complete(p rawjson.Object, at time.Time) {
	l.open = false
	if l.compacted && !l.prompted && l.agent == "" && p.Text("last_agent_message") == "" {
		l.prompts = append(l.prompts, hook.Prompt{At: l.turnBegan, Text: "/compact", Turn: l.turn})
	}
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
		Kind: hook.CallRequest, ID: l.timeID("req-", l.input), Turn: l.turn, Agent: l.agent, Start: l.input, End: at,
		Provider: l.provider, Model: l.model, Error: cmp.Or(class, unclassed), Message: message,
	})
	l.words, l.asked = nil, nil
	l.end(hook.TurnEnd{Turn: l.turn, At: at, Kind: hook.KindRunError, Message: message, ErrorType: class})
}

// answered notes that a part of an answer came: words, or a call if id is not empty.
func (l *log) answered(words, id string, at time.Time) {
	l.came = true
	switch {
	case l.early >= 0 && id != "":
		l.calls[l.early].ToolCallIDs = append(l.calls[l.early].ToolCallIDs, id)
		return
	case l.early >= 0:
		l.heard = append(l.heard, words)
		return
	}
	if len(l.words)+len(l.asked) == 0 {
		l.began = l.input
	}
	l.said = at
	if id != "" {
		l.asked = append(l.asked, id)
		return
	}
	l.words = append(l.words, words)
}

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
		if !l.numbered {
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
		ID: id, Agent: l.agent, Turn: l.turn, Name: "web_search", Input: l.texts.KeepJSON(rawjson.Canonical(p.Get("action"))), Asked: at, At: at,
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
		call.Input = cmp.Or(rawjson.Canonical([]byte(arguments)), rawjson.Encode(arguments))
	default:
		call.Input = command(p.Text("input"))
	}
	call.Input, call.File, call.Row = l.texts.KeepJSON(call.Input), l.file, l.line
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
		if r := &l.results[i]; r.Text == "" {
			r.Text, r.Row = l.texts.Keep(text), l.line
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
	call.Text = l.texts.Keep(strings.TrimSpace(text))
	l.addResult(call)
}

func (l *log) addResult(r hook.ToolResult) {
	l.done[callKey{r.Agent, r.ID}] = len(l.results)
	r.File, r.Row = l.file, l.line
	l.results = append(l.results, r)
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
			r.Name, r.Input = bash, l.texts.KeepJSON(command(line))
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

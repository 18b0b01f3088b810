package gemini

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/gemini"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// log adds the rows of one file of a session.
type log struct {
	*transcript.Log
	// requests and tools are the places of the requests and of the results, by their ids, those of
	// results behind the id of the request or of the agent.
	requests, tools map[string]int
	// agent is the subagent whose file is read, empty for the session's.
	agent string
	// seen are the rows of the session's files, nil for a subagent's.
	seen map[string]bool
	// end is how the current turn seems to have ended, nil while it is open.
	end  *hook.TurnEnd
	open bool

	// model is that of the newest request of the file that names one.
	model string
	clock transcript.Clock
	// last is the time of the newest row of the file.
	last time.Time
	// task and words are a subagent's first prompt and last text.
	task, words string
}

// Read reads the session's file at path and those of its subagents.
func Read(ctx context.Context, f *transcript.Files, q transcript.Query, path string) (*hook.Transcript, error) {
	l := &log{Log: transcript.NewLog(q.TextLimit()), requests: make(map[string]int), tools: make(map[string]int), seen: make(map[string]bool), clock: transcript.Clock{Off: !q.Full}}
	paths, delegates := twins(ctx, f, path, q.Session)
	h, _ := headOf(ctx, f, path)
	gone, dir := h.kind == kindSubagent, agentsDir(path, q.Session)
	if gone {
		paths, dir = nil, filepath.Dir(path)
	}
	for _, path := range paths {
		_ = l.readFile(ctx, f, path, q) // the log has the error
	}
	pending := l.open && l.end == nil && !hook.Elapsed(f.Now(), l.last, transcript.PendingAge)
	l.flush()
	agents, listed := agentFiles(dir)
	for _, path := range agents {
		id := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		// A file's time may be coarser than a row's.
		s, ok := transcript.Stat(id, path)
		if !ok || s.ModTime.Before(q.Since.Add(-transcript.LineSlack)) {
			continue
		}
		sub := &log{Log: l.Log, requests: l.requests, tools: l.tools, agent: id, clock: transcript.Clock{Off: !q.Full}}
		_ = sub.readFile(ctx, f, path, q) // the log has the error
		sub.addAgent(ctx, f, path)
	}
	for _, path := range delegates {
		sub := &log{Log: l.Log, requests: l.requests, tools: l.tools, agent: nameID(path), clock: transcript.Clock{Off: !q.Full}}
		calls := slices.Clone(l.Results)
		_ = sub.readFile(ctx, f, path, q) // the log has the error
		sub.addAgent(ctx, f, path)
		l.link(&l.Agents[len(l.Agents)-1], calls, sub.last)
	}
	l.Agents = slices.DeleteFunc(l.Agents, func(a hook.Subagent) bool { return a.Start.IsZero() || a.Start.Before(q.Since) })
	t, err := l.Transcript(q)
	transcript.SetModel(t)
	t.Folders = hook.Union(transcript.AddFolders(nil, "", h.folders), l.Folders)
	t.Cwd, t.Pending = projectDir(ctx, f, path), pending
	if gone || len(paths) == 0 {
		t.Unread = append(t.Unread, transcript.FileGone(path))
	}
	return t, errors.Join(err, listed)
}

// addAgent adds what the file of a subagent says of it.
func (l *log) addAgent(ctx context.Context, f *transcript.Files, path string) {
	i := slices.IndexFunc(l.Agents, func(a hook.Subagent) bool { return a.ID == l.agent })
	if i < 0 {
		i = len(l.Agents)
		l.Agents = append(l.Agents, hook.Subagent{ID: l.agent, Task: l.task, Result: l.words})
	}
	a := &l.Agents[i]
	h, _ := headOf(ctx, f, path)
	l.Folders, a.Start = transcript.AddFolders(l.Folders, "", h.folders), h.started
	if a.Start.IsZero() {
		a.Start = l.last
	}
}

// link gives a subagent without a name the call that was under way when it began: one that no
// other subagent has, before others one that is named after an agent.
func (l *log) link(a *hook.Subagent, calls []hook.ToolResult, last time.Time) {
	var of *hook.ToolResult
	a.End = last
	for i := range calls {
		r := &calls[i]
		if r.Agent != "" || r.Asked.After(a.Start) || !r.At.IsZero() && r.At.Before(a.Start) ||
			slices.ContainsFunc(l.Agents, func(other hook.Subagent) bool { return other.CallID == r.ID }) {
			continue
		}
		if named := strings.Contains(r.Name, "agent") || strings.Contains(r.Name, "investigator") || strings.Contains(r.Name, "help"); of == nil || named {
			of = r
			if named {
				break
			}
		}
	}
	if of == nil {
		return
	}
	a.CallID, a.Result = of.ID, cmp.Or(of.Text, a.Result)
	a.Type = cmp.Or(rawjson.Members([]byte(of.Input)).Text("agent_name"), of.Name)
}

// add adds the next row.
func (l *log) add(r *row) {
	if r.id == "" {
		l.Folders = transcript.AddFolders(l.Folders, "", r.Members("$set").Get("directories"))
		return
	}
	answer := r.kind == kindModel || r.kind == kindQwen
	if l.seen != nil && !answer {
		if l.seen[r.id] {
			return
		}
		l.seen[r.id] = true
	}
	if _, again := l.requests[r.id]; !again { // a row that is written again has its old time
		r.at = l.clock.At(r.at, r.Opens())
	}
	switch {
	case r.prompt():
		l.addPrompt(r)
	case answer:
		l.addAnswer(r)
	case r.kind == kindUser:
		l.addRefused(r)
	case r.cancelled() && l.agent == "" && l.open:
		l.end = &hook.TurnEnd{At: r.at, Kind: hook.KindSessionEnd, Message: "interrupted by the user"}
	case !strings.Contains(kinds, " "+r.kind+" "):
		l.Meet(r.kind, r.at, r.Object)
	case r.kind == "error" && l.agent == "" && l.open && l.end == nil:
		text, _ := r.text()
		l.end = &hook.TurnEnd{At: r.at, Kind: hook.KindRunError, Message: l.Texts.Keep(text)}
	}
	if r.at.After(l.last) {
		l.last = r.at
	}
	l.Shrink()
}

func (l *log) addPrompt(r *row) {
	text, _ := r.text()
	if l.agent != "" {
		l.task = cmp.Or(l.task, text)
		return
	}
	typed, meanwhile := steered(text)
	if meanwhile {
		text = typed
	}
	if meanwhile = meanwhile && l.open && l.end == nil; !meanwhile {
		l.flush()
		l.open = true
	}
	l.Prompts = append(l.Prompts, hook.Prompt{At: r.at, Text: l.Texts.Keep(text), Queued: meanwhile})
}

// flush counts the end of the current turn.
func (l *log) flush() {
	if l.end != nil {
		l.Ends = append(l.Ends, *l.end)
	}
	l.end, l.open = nil, false
}

// addAnswer adds a model's answer, or what has become of one: its tools.
func (l *log) addAnswer(r *row) {
	text, _ := r.text()
	l.words = cmp.Or(text, l.words)
	i, again := l.requests[r.id]
	if !again {
		i = len(l.Calls)
		l.requests[r.id] = i
		began := l.last
		if began.IsZero() || began.After(r.at) {
			began = r.at
		}
		// The row of an answer without a text and without a call has no model.
		l.model = cmp.Or(r.Text("model"), l.model)
		l.Calls = append(l.Calls, hook.Request{
			Kind: hook.RequestSingle, ID: r.id, Agent: l.agent, Start: began, End: r.at, Model: l.model, ResponseModel: r.Text("model"), Text: l.Texts.Keep(text),
		})
	}
	c := &l.Calls[i]
	thoughts, _ := r.Elements("thoughts")
	for n, raw := range thoughts {
		if n == 0 {
			c.Reasoning = "" // the row is a later state of the answer
		}
		o := rawjson.Members(raw)
		c.Reasoning = l.Texts.Keep(hook.Lines(c.Reasoning, hook.Lines(o.Text("subject"), o.Text("description"))))
	}
	if u := usage(r.Members("tokens")); u != nil {
		c.Usage = u
		u.CostUSD = transcript.ListCost(c, true) // the cache is Google's: nothing is written to it
	}
	calls, _ := r.Elements("toolCalls")
	for _, raw := range calls {
		l.addTool(rawjson.Members(raw), c)
	}
	switch {
	case l.agent != "":
	case len(calls) > 0:
		if l.end != nil && !l.end.At.After(r.at) {
			l.end = nil
		}
	case !again && (text != "" || r.Text("model") == ""):
		// An answer that was interrupted before its tools had ended looks like this, too.
		l.end = &hook.TurnEnd{At: r.at, Kind: hook.KindRunComplete, Result: l.Texts.Keep(text)}
	}
}

// addTool adds a call, which mostly has ended.
func (l *log) addTool(o rawjson.Object, asked *hook.Request) {
	id, name := o.Text("id"), o.Text("name")
	forModel, displayed := reply(o), o.Get("resultDisplay")
	r := hook.ToolResult{
		ID: id, Agent: l.agent, Name: name, Input: l.Texts.KeepJSON(rawjson.Canonical(o.Get("args"))),
		Text: l.Texts.Keep(gemini.Output(name, forModel, displayed)), Status: gemini.Status(name, o.Text("status"), forModel, displayed),
		Asked: asked.End, At: l.clock.Move(transcript.ISOTime(o.Text("timestamp"))), File: l.File, Row: l.Line,
	}
	switch o.Text("status") {
	case "validating", "scheduled", "awaiting_approval", "executing":
		r.At = time.Time{} // it has not ended
	case "success", "error", "cancelled":
		if r.At.IsZero() { // other programs write rows without the time
			r.At = asked.End
		}
	}
	key := asked.ID + "/" + id // some models count the calls of each answer anew
	if i, again := l.tools[key]; again {
		if !r.At.IsZero() || l.Results[i].At.IsZero() {
			l.Results[i] = r
		}
		return
	}
	l.tools[key], l.tools[l.agent+"/"+id] = len(l.Results), len(l.Results)
	l.Results = append(l.Results, r)
	asked.ToolCallIDs = append(asked.ToolCallIDs, id)
	if agent := o.Text("agentId"); agent != "" {
		args := o.Members("args")
		l.Agents = append(l.Agents, hook.Subagent{
			ID: agent, Type: args.Text("agent_name"), CallID: id,
			Task: l.Texts.Keep(args.Text("prompt")), Result: r.Text, End: r.At,
		})
	}
}

// unauthorized begins what a subagent is told that calls a tool which it does not have.
const unauthorized = "Unauthorized tool call: "

// addRefused adds the calls of tools that a subagent does not have: only the model is told.
func (l *log) addRefused(r *row) {
	parts, _ := r.Elements("content")
	for _, raw := range parts {
		o := rawjson.Members(raw).Members("functionResponse")
		id, reason := o.Text("id"), o.Members("response").Text("error")
		if _, known := l.tools[l.agent+"/"+id]; known || !strings.HasPrefix(reason, unauthorized) {
			continue
		}
		res := hook.ToolResult{ID: id, Agent: l.agent, Name: o.Text("name"), Text: l.Texts.Keep(reason), Status: hook.ToolFailed, At: r.at, File: l.File, Row: l.Line}
		if n := len(l.Calls); n > 0 && l.Calls[n-1].Agent == l.agent {
			l.Calls[n-1].ToolCallIDs = append(l.Calls[n-1].ToolCallIDs, id)
			res.Asked = l.Calls[n-1].End
		}
		l.tools[l.agent+"/"+id] = len(l.Results)
		l.Results = append(l.Results, res)
	}
}

// reply is what the model was told of a call.
func reply(call rawjson.Object) []byte {
	parts, _ := call.Elements("result")
	for _, raw := range parts {
		response := rawjson.Members(raw).Members("functionResponse").Members("response")
		if forModel := response.Get("error", "output"); forModel != nil {
			return forModel
		}
	}
	return nil
}

// usage is what a request took. The input includes what came from the cache, the output
// does not include the thoughts.
func usage(o rawjson.Object) *hook.Usage {
	if o == nil {
		return nil
	}
	count := func(name string) int64 { return transcript.TokenCount(o, name) }
	return &hook.Usage{
		Input: count("input") + count("tool"), Output: count("output") + count("thoughts"), Reasoning: count("thoughts"), CacheRead: count("cached"), InputIncludesCache: true,
	}
}

// addEvents adds the events of the Gemini CLI's hooks, and those of subagents, for
// which it has none.
func addEvents(b *transcript.EventBuilder, _ string) {
	for _, p := range b.Transcript.Prompts {
		b.AddPrompt(&p, hook.Event{Name: "BeforeAgent"})
	}
	b.AddTools(nil)
	b.AddAgents("BeforeAgent", "AfterAgent", nil)
	// There is no hook for an interruption and for a failure.
	b.AddEnds(map[hook.Kind]string{hook.KindRunComplete: "AfterAgent", hook.KindSessionEnd: "session file", hook.KindRunError: "session file"}, nil)
}

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

// log gathers what the files of one session say.
type log struct {
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
	agents  []hook.Subagent
	ends    []hook.TurnEnd
	// end is how the current turn seems to have ended, nil while it is open.
	end  *hook.TurnEnd
	open bool
	// places are those of the requests and of the results, by their ids.
	requests, tools map[string]int

	// model is that of the newest request of the file that names one.
	model string
	// last is the time of the newest row of the file.
	last time.Time
	// task and words are a subagent's first prompt and last text.
	task, words string
}

func newLog(maxText int) *log {
	return &log{
		texts: transcript.Texts{Max: maxText}, rows: new(int), requests: make(map[string]int), tools: make(map[string]int),
	}
}

// Read reads the session's file at path and those of its subagents.
func Read(ctx context.Context, f *transcript.Files, q transcript.Query, path string) (*hook.Transcript, error) {
	t := &hook.Transcript{Session: q.Session, Cwd: projectDir(ctx, f, path), Sources: []string{path}}
	l := newLog(q.TextLimit())
	errs := []error{l.readFile(ctx, f, path, q)}
	t.Pending = l.open && l.end == nil && !hook.Elapsed(f.Now(), l.last, transcript.PendingAge)
	l.flush()
	paths, err := agentFiles(agentsDir(path, q.Session))
	errs = append(errs, err)
	for _, path := range paths {
		id := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		// A file's time may be coarser than a row's.
		s, ok := transcript.Stat(id, path)
		if !ok || s.ModTime.Before(q.Since.Add(-transcript.LineSlack)) {
			continue
		}
		sub := *l
		sub.agent, sub.last, sub.model, sub.task, sub.words = id, time.Time{}, "", "", ""
		errs = append(errs, sub.readFile(ctx, f, path, q))
		l.calls, l.results, l.agents, l.texts = sub.calls, sub.results, sub.agents, sub.texts
		l.addAgent(ctx, f, &sub, path)
		t.Sources = append(t.Sources, path)
	}
	t.Calls = slices.DeleteFunc(l.calls, func(c hook.LLMCall) bool { return c.End.Before(q.Since) })
	t.ToolResults = slices.DeleteFunc(l.results, func(r hook.ToolResult) bool { return cmp.Or(r.At, r.Asked).Before(q.Since) })
	t.Prompts = slices.DeleteFunc(l.prompts, func(p hook.Prompt) bool { return p.At.Before(q.Since) })
	t.Ends = slices.DeleteFunc(l.ends, func(e hook.TurnEnd) bool { return e.At.Before(q.Since) })
	t.Agents = slices.DeleteFunc(l.agents, func(a hook.Subagent) bool { return a.Start.IsZero() || a.Start.Before(q.Since) })
	slices.SortStableFunc(t.Calls, func(a, b hook.LLMCall) int { return a.Start.Compare(b.Start) })
	slices.SortStableFunc(t.Agents, func(a, b hook.Subagent) int { return a.Start.Compare(b.Start) })
	for _, c := range slices.Backward(t.Calls) {
		if c.Model != "" && c.Agent == "" {
			t.Model = c.Model
			break
		}
	}
	return t, errors.Join(errs...)
}

// addAgent adds what the file of a subagent says of it.
func (l *log) addAgent(ctx context.Context, f *transcript.Files, sub *log, path string) {
	i := slices.IndexFunc(l.agents, func(a hook.Subagent) bool { return a.ID == sub.agent })
	if i < 0 {
		i = len(l.agents)
		l.agents = append(l.agents, hook.Subagent{ID: sub.agent, Task: sub.task, Result: sub.words})
	}
	a := &l.agents[i]
	h, _ := headOf(ctx, f, path)
	a.Start = h.started
	if a.Start.IsZero() {
		a.Start = sub.last
	}
}

// add adds the next row.
func (l *log) add(r *row) {
	switch {
	case r.prompt():
		l.addPrompt(r)
	case r.kind == kindModel, r.kind == kindQwen:
		l.addAnswer(r)
	case r.cancelled() && l.agent == "" && l.open:
		l.end = &hook.TurnEnd{At: r.at, Kind: hook.KindSessionEnd, Message: "interrupted by the user"}
	}
	if r.at.After(l.last) {
		l.last = r.at
	}
	if l.texts.Over() {
		l.texts.Shrink(func(text, input func(*string)) {
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
		})
	}
}

func (l *log) addPrompt(r *row) {
	text, _ := r.text()
	if l.agent != "" {
		l.task = cmp.Or(l.task, text)
		return
	}
	l.flush()
	l.open = true
	l.prompts = append(l.prompts, hook.Prompt{At: r.at, Text: l.texts.Keep(text)})
}

// flush counts the end of the current turn.
func (l *log) flush() {
	if l.end != nil {
		l.ends = append(l.ends, *l.end)
	}
	l.end, l.open = nil, false
}

// addAnswer adds a model's answer, or what has become of one: its tools.
func (l *log) addAnswer(r *row) {
	text, _ := r.text()
	l.words = cmp.Or(text, l.words)
	i, again := l.requests[r.id]
	if !again {
		i = len(l.calls)
		l.requests[r.id] = i
		began := l.last
		if began.IsZero() || began.After(r.at) {
			began = r.at
		}
		// The row of an answer without a text and without a call has no model.
		l.model = cmp.Or(r.Text("model"), l.model)
		l.calls = append(l.calls, hook.LLMCall{
			Kind: hook.CallRequest, ID: r.id, Agent: l.agent, Start: began, End: r.at, Model: l.model, ResponseModel: r.Text("model"), Text: l.texts.Keep(text),
		})
	}
	c := &l.calls[i]
	thoughts, _ := r.Elements("thoughts")
	for n, raw := range thoughts {
		if n == 0 {
			c.Reasoning = "" // the row is a later state of the answer
		}
		o := rawjson.Members(raw)
		c.Reasoning = l.texts.Keep(hook.Lines(c.Reasoning, hook.Lines(o.Text("subject"), o.Text("description"))))
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
		l.end = nil
	case !again && (text != "" || r.Text("model") == ""):
		// An answer that was interrupted before its tools had ended looks like this, too.
		l.end = &hook.TurnEnd{At: r.at, Kind: hook.KindRunComplete, Result: l.texts.Keep(text)}
	}
}

// addTool adds a call, which mostly has ended.
func (l *log) addTool(o rawjson.Object, asked *hook.LLMCall) {
	id, name := o.Text("id"), o.Text("name")
	told, displayed := reply(o), o.Get("resultDisplay")
	r := hook.ToolResult{
		ID: id, Agent: l.agent, Name: name, Input: l.texts.KeepJSON(rawjson.Canonical(o.Get("args"))),
		Text: l.texts.Keep(gemini.Output(name, told, displayed)), Status: gemini.Status(name, o.Text("status"), told, displayed),
		Asked: asked.End, At: transcript.ISOTime(o.Text("timestamp")), File: l.file, Row: l.line,
	}
	switch o.Text("status") {
	case "validating", "scheduled", "awaiting_approval", "executing":
		r.At = time.Time{} // it has not ended
	}
	if i, again := l.tools[l.agent+"/"+id]; again {
		l.results[i] = r
		return
	}
	l.tools[l.agent+"/"+id] = len(l.results)
	l.results = append(l.results, r)
	asked.ToolCallIDs = append(asked.ToolCallIDs, id)
	if agent := o.Text("agentId"); agent != "" {
		args := o.Members("args")
		l.agents = append(l.agents, hook.Subagent{
			ID: agent, Type: args.Text("agent_name"), CallID: id, ParentAgent: l.agent,
			Task: l.texts.Keep(args.Text("prompt")), Result: r.Text, End: r.At,
		})
	}
}

// reply is what the model was told of a call.
func reply(call rawjson.Object) []byte {
	parts, _ := call.Elements("result")
	for _, raw := range parts {
		response := rawjson.Members(raw).Members("functionResponse").Members("response")
		if told := response.Get("error", "output"); told != nil {
			return told
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
	count := func(name string) int64 {
		n, ok := rawjson.Float(o.Get(name))
		if !ok {
			return 0
		}
		return transcript.Tokens(&n)
	}
	return &hook.Usage{
		Input: count("input") + count("tool"), Output: count("output") + count("thoughts"), Reasoning: count("thoughts"), CacheRead: count("cached"), InputIncludesCache: true,
	}
}

// addEvents adds the events of the Gemini CLI's hooks, and those of subagents, for
// which it has none.
func addEvents(b *transcript.EventBuilder, _ string) {
	for _, p := range b.Transcript.Prompts {
		b.Add(p.At, hook.Event{Kind: hook.KindPrompt, Name: "BeforeAgent", Prompt: p.Text})
	}
	b.AddTools(nil)
	for i := range b.Transcript.Agents {
		a := &b.Transcript.Agents[i]
		b.AddFor(a.ID, a.Start, hook.Event{Kind: hook.KindRunStart, Name: "BeforeAgent", Prompt: a.Task})
		b.AddFor(a.ID, a.End, hook.Event{Kind: hook.KindRunComplete, Name: "AfterAgent", Result: a.Result})
	}
	for _, end := range b.Transcript.Ends {
		e := hook.Event{Kind: end.Kind, Name: "AfterAgent", Result: end.Result, Message: end.Message}
		if end.Kind == hook.KindSessionEnd {
			e.Kind, e.Name = hook.KindRunCancel, "session file" // there is no hook for it
		}
		b.Add(end.At, e)
	}
}

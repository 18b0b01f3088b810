package pi

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/pi"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// The kinds of the messages of the user and of the model.
const (
	roleUser      = "message/user"
	roleAssistant = "message/assistant"
)

// idle are the rows that say nothing of the work: what Pi keeps for its screen and for
// extensions, and commands that the user runs.
const idle = " session thinking_level_change context_edit custom label session_info message/system message/bashExecution message/custom message/hookMessage" +
	" message/branchSummary message/compactionSummary "

// justTyped is how long after it was typed the row of a prompt is written that has not waited
// for the agent's work.
const justTyped = time.Second

// row is one line of a session's file, whose members alias the line. kind is the type, of a
// message with its role. said is the time of the message, which a prompt has from when it was
// typed, and an answer from when it was asked for.
type row struct {
	kind, id   string
	at, said   time.Time
	o, message rawjson.Object
}

// Parse implements transcript.Row.
func (r *row) Parse(line []byte) bool {
	o := rawjson.Members(line)
	*r = row{kind: o.Text("type"), id: o.Text("id"), at: transcript.ISOTime(o.Text("timestamp")), o: o}
	if r.kind == "message" {
		r.message = o.Members("message")
		r.kind += "/" + r.message.Text("role")
		r.said = rawjson.Instant(r.message.Get("timestamp"))
	}
	return r.kind != ""
}

// Time implements transcript.Row.
func (r *row) Time() time.Time { return r.at }

// Opens implements transcript.Row.
func (r *row) Opens() bool {
	return r.kind == roleUser && (r.said.IsZero() || r.at.Sub(r.said) < justTyped)
}

// log gathers what the file of a session says.
type log struct {
	out   *transcript.Log
	head  head
	query transcript.Query
	// copies are the rows of other files, copied reports that all rows from before the session
	// began count elsewhere, own that one of the session's own has come.
	copies      []map[rowKey]bool
	copied, own bool
	// inherited counts the requests that count elsewhere, base begins the last turn that does.
	inherited int
	base      row
	// turn is the newest one, end how it seems to have ended, nil while it is open.
	turn string
	end  *hook.TurnEnd
	// custom is a message of an extension, which begins a turn if the model answers it.
	custom *hook.Prompt
	// cut reports that a call since the newest answer was broken off.
	cut bool
	// model and provider are what was chosen, or was asked last.
	model, provider string
	clock           transcript.Clock
	// worked is the time of the newest answer or result, last that of the newest row.
	worked, last time.Time
}

// transcript is what the rows come to.
func (l *log) transcript(f *transcript.Files) (*hook.Transcript, error) {
	late := l.turn != "" && l.end == nil && !hook.Elapsed(f.Now(), l.last, transcript.PendingAge)
	l.flush()
	l.out.Leave(hook.ToolUnknown, time.Time{})
	slices.SortStableFunc(l.out.Prompts, func(a, b hook.Prompt) int { return a.At.Compare(b.At) }) // those that waited
	t, err := l.out.Transcript(l.query)
	t.Cwd, t.Provider, t.Model, t.Pending, t.Inherited = l.head.cwd, l.provider, l.model, late, l.inherited
	return t, err
}

// elsewhere reports that a row counts for the session that it was copied from.
func (l *log) elsewhere(r *row) bool {
	l.own = l.own || r.at.After(l.head.born)
	if l.own || l.head.parent == "" {
		return false
	}
	key := rowKey{r.id, r.at.UnixNano()}
	return l.copied || slices.ContainsFunc(l.copies, func(rows map[rowKey]bool) bool { return rows[key] })
}

// add adds the next row.
func (l *log) add(r *row) {
	if l.out.Again("", r.id, r.at) {
		return
	}
	if l.elsewhere(r) {
		switch {
		case r.Opens():
			l.base = row{id: r.id, at: r.at}
		case r.kind == roleAssistant:
			l.inherited++
			l.asks(r)
		case r.kind == "model_change":
			l.chooses(r)
		}
		return
	}
	// Rows of prompts that have waited come after what was done meanwhile.
	queued := r.kind == roleUser && l.turn != "" && !r.said.IsZero() && r.said.Before(l.worked) && !r.at.Before(l.worked)
	r.at = l.clock.At(r.at, r.Opens() && !queued)
	r.said = l.clock.Move(r.said)
	switch r.kind {
	case roleUser:
		l.addPrompt(r, queued)
	case roleAssistant:
		l.addAnswer(r)
	case "message/toolResult":
		l.addResult(r)
	case "model_change":
		l.chooses(r)
	case "custom_message":
		l.custom = &hook.Prompt{At: r.at, Text: words(r.o.Get("content"), "text", "\n"), Turn: r.id, Injected: true}
	case "usage", "branch_summary":
		l.addUsage(r)
	case "compaction":
		l.out.Compactions = append(l.out.Compactions, r.at)
		l.addUsage(r)
	default:
		if !strings.Contains(idle, " "+r.kind+" ") {
			l.out.Meet(r.kind, r.at, r.o)
		}
	}
	if r.at.After(l.last) {
		l.last = r.at
	}
	l.out.Shrink()
}

// chooses and asks note the model that the user chose, or that was asked.
func (l *log) chooses(r *row) { l.provider, l.model = r.o.Text("provider"), r.o.Text("modelId") }

func (l *log) asks(r *row) {
	l.provider, l.model = cmp.Or(r.message.Text("provider"), l.provider), cmp.Or(r.message.Text("model"), l.model)
}

// words joins the parts of a message that have a kind of text.
func words(content []byte, kind, by string) string {
	if rawjson.IsString(content) {
		return rawjson.Unquote(content)
	}
	parts, _ := rawjson.Elements(content)
	var texts []string
	for _, raw := range parts {
		if o := rawjson.Members(raw); o.Text("type") == kind {
			texts = append(texts, o.Text(kind))
		}
	}
	return strings.Join(texts, by)
}

// addPrompt adds a prompt. One that was typed while the agent worked is of the turn under way.
func (l *log) addPrompt(r *row, queued bool) {
	text := words(r.message.Get("content"), "text", "\n")
	if text == "" && r.message.Get("content") != nil {
		text = "[image]"
	}
	p := hook.Prompt{At: cmp.Or(r.said, r.at), Text: text, Turn: r.id, Queued: queued}
	if queued {
		p.Turn = l.turn
	}
	l.begin(&p)
}

// begin adds a prompt, with which a turn begins if it is not queued.
func (l *log) begin(p *hook.Prompt) {
	if !p.Queued {
		l.flush()
		l.out.Leave(hook.ToolUnknown, time.Time{}) // the next process may have calls with their ids
		l.turn, l.cut = p.Turn, false
	}
	l.end, l.custom = nil, nil
	p.Text = l.out.Texts.Keep(p.Text)
	l.out.Prompts = append(l.out.Prompts, *p)
}

// flush counts the end of the current turn.
func (l *log) flush() {
	if l.end != nil {
		l.out.Ends = append(l.out.Ends, *l.end)
	}
	l.end = nil
}

// addAnswer adds a message of the model: a request, and what the turn comes to.
func (l *log) addAnswer(r *row) {
	if l.custom != nil && (l.end != nil || l.turn == "") {
		l.begin(l.custom)
	}
	m := r.message
	l.asks(r)
	content := m.Get("content")
	text := words(content, "text", "")
	kind, class := pi.End(m.Text("stopReason"))
	took, timed := rawjson.Millis(m.Get("durationMs"))
	c := pi.Answer(m, r.id)
	c.Turn, c.Start, c.End, c.Provider, c.Model, c.Message = l.turn, cmp.Or(r.said, l.last, r.at), r.at, l.provider, l.model, m.Text("errorMessage")
	c.Text, c.Reasoning = l.out.Texts.Keep(text), l.out.Texts.Keep(words(content, "thinking", "\n"))
	if ended := c.Start.Add(took); timed && ended.Before(r.at) {
		c.End = ended
	}
	if c.Start.After(c.End) {
		c.Start = c.End
	}
	parts, _ := rawjson.Elements(content)
	for _, raw := range parts {
		switch o := rawjson.Members(raw); o.Text("type") {
		case "text", "thinking":
		case "toolCall":
			if kind != hook.KindRunComplete {
				continue // Pi runs none of an answer that broke off
			}
			id := o.Text("id")
			c.ToolCallIDs = append(c.ToolCallIDs, id)
			l.out.Ask(hook.ToolResult{ID: id, Turn: l.turn, Name: o.Text("name"), Input: rawjson.Canonical(o.Get("arguments")), Asked: r.at})
		default:
			l.out.Meet("parts/"+o.Text("type"), r.at, r.o)
		}
	}
	// One that was aborted before it was sent is none.
	if unsent := l.cut || timed && took == 0; kind != hook.KindRunCancel || len(parts) > 0 || c.Usage != nil || !unsent {
		l.out.Calls = append(l.out.Calls, c)
	}
	l.end, l.custom, l.worked, l.cut = nil, nil, r.at, false
	if len(c.ToolCallIDs) > 0 {
		return
	}
	l.end = &hook.TurnEnd{Turn: l.turn, At: r.at, Kind: kind, Message: c.Message, ErrorType: class}
	switch kind {
	case hook.KindRunComplete:
		l.end.Result = c.Text
	case hook.KindRunCancel:
		l.end.Kind = hook.KindSessionEnd
	}
}

// addUsage adds requests that are no message.
func (l *log) addUsage(r *row) {
	c := hook.Request{
		ID: r.id, Turn: l.turn, Start: r.at, End: r.at, Provider: cmp.Or(r.o.Text("provider"), l.provider), Model: cmp.Or(r.o.Text("model"), l.model),
		Usage: pi.Usage(r.o.Members("usage")),
	}
	switch {
	case c.Usage == nil:
		return
	case l.end == nil && len(l.out.Asked) == 0 && !l.worked.IsZero():
		c.Start = l.worked // the turn waits for it
	case l.end == nil:
	case l.query.Full || r.kind != "usage":
		c.Start, c.End = l.end.At, l.end.At
	default:
		c.Turn = "" // no hook reports it after the turn's end: it is of the one that comes next
	}
	l.out.Calls = append(l.out.Calls, c)
}

// addResult adds a call that has ended, and the calls that it has made itself.
func (l *log) addResult(r *row) {
	m := r.message
	id := m.Text("toolCallId")
	text := words(m.Get("content"), "text", "\n")
	took, ran := rawjson.Millis(m.Get("durationMs"))
	res, known := l.out.Asked[transcript.CallKey{ID: id}]
	if !known {
		res = hook.ToolResult{ID: id, Turn: l.turn, Name: m.Text("toolName")}
	}
	res.Status, res.At = pi.Status(m.Is("isError"), ran, text), r.at
	// Pi writes the results of calls that run side by side when all have ended.
	if ended := res.Asked.Add(took); ran && !res.Asked.IsZero() && ended.Before(r.at) && r.at.Add(-took).Before(l.worked) {
		res.At = ended
	}
	l.out.Answer(res, text)
	l.worked, l.cut = r.at, l.cut || res.Status == hook.ToolCancelled
	nested, _ := m.Members("nestedCalls").Elements("calls")
	for _, raw := range nested {
		o := rawjson.Members(raw)
		n := hook.ToolResult{ID: o.Text("id"), Turn: l.turn, Name: o.Text("name"), Input: rawjson.Canonical(o.Get("arguments")), Asked: res.Asked, At: res.At}
		switch o.Text("status") {
		case "error":
			n.Status = hook.ToolFailed
		case "unfinished":
			n.Status, n.At = hook.ToolUnknown, time.Time{}
		}
		l.out.Answer(n, o.Text("error"))
	}
	if u := pi.Usage(m.Members("usage")); u != nil {
		l.out.Calls = append(l.out.Calls, hook.Request{Kind: hook.RequestsOfSubagents, ID: r.id, Turn: l.turn, Start: res.At, End: res.At, Usage: u})
	}
}

// addEvents adds the events that the extension would have handed on.
func addEvents(b *transcript.EventBuilder, _ string) {
	for _, p := range b.Transcript.Prompts {
		b.AddPrompt(&p, hook.Event{Name: "message_end", Turn: p.Turn})
	}
	b.AddTools(nil)
	const settled = "agent_settled"
	b.AddEnds(map[hook.Kind]string{hook.KindRunComplete: settled, hook.KindRunError: settled, hook.KindSessionEnd: settled}, nil)
}

package agentfiles

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookspan/hookspan/internal/pattern"
)

type claudeUsage struct {
	Type, Model                                                               string
	InputTokens, OutputTokens, CacheReadInputTokens, CacheCreationInputTokens float64
	CacheCreation                                                             struct{ Ephemeral5mInputTokens, Ephemeral1hInputTokens float64 }
	Iterations                                                                []claudeUsage
}

func (u *claudeUsage) request() Request {
	var parts Request
	if u.InputTokens+u.OutputTokens+u.CacheReadInputTokens+u.CacheCreationInputTokens == 0 {
		parts.add("message", u.Iterations)
	}
	if parts.Input+parts.Output > 0 {
		return parts
	}
	write := cmp.Or(u.CacheCreationInputTokens, u.CacheCreation.Ephemeral5mInputTokens+u.CacheCreation.Ephemeral1hInputTokens)
	return counted(u.InputTokens+u.CacheReadInputTokens+write, u.OutputTokens, u.CacheReadInputTokens, write)
}

// counted is a request whose input is a count with the cache.
func counted(input, output, read, write float64) Request {
	return Request{Input: int64(input), Bare: int64(input), Output: int64(output), CacheRead: int64(read), CacheWrite: int64(write)}
}

// add adds the tokens of the parts of a type.
func (q *Request) add(kind string, parts []claudeUsage) {
	for i := range parts {
		if parts[i].Type == kind {
			part := parts[i].request()
			q.Input, q.Bare, q.Output = q.Input+part.Input, q.Bare+part.Bare, q.Output+part.Output
			q.CacheRead, q.CacheWrite = q.CacheRead+part.CacheRead, q.CacheWrite+part.CacheWrite
		}
	}
}

type claudeRow struct {
	Type, UUID, SessionID, RequestSessionID, RequestID, Timestamp, CWD string
	PromptSource, Operation, Subtype, ToolDenialKind, AgentID          string
	IsSidechain, IsMeta, IsCompactSummary, IsAPIErrorMessage           bool
	ForkedFrom                                                         struct{ SessionID string }
	Origin                                                             struct{ Kind string }
	Content                                                            jsontext.Value
	Attachment                                                         struct {
		Type, CommandMode string
		Prompt            blockList
	}
	Message struct {
		ID, Model, StopReason string
		Usage                 *claudeUsage
		Content               blockList
	}
}

// block is a part of a message, of Claude Code, Cline and the Gemini CLI.
type block struct {
	Type, ID, Name, Text, ToolUseID string
	IsError                         bool
	Content                         ends
	InlineData                      jsontext.Value
	FunctionResponse                struct {
		ID, Name string
		Response struct{ Error string }
	}
}

// maxHead is how much of a result is kept, in bytes.
const maxHead = 600

// blockList is a content, which may be one text.
type blockList []block

// UnmarshalJSONFrom reads a content without a copy of what is not kept.
func (l *blockList) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	switch in.PeekKind() {
	case '"':
		var text string
		err := json.UnmarshalDecode(in, &text)
		*l = blockList{{Type: "text", Text: text}}
		return err
	case '[':
		return json.UnmarshalDecode(in, (*[]block)(l))
	}
	return in.SkipValue()
}

// claudeFile is what is known of a transcript while it is read.
type claudeFile struct {
	*file
	name string
	// side is a subagent's file, lead that the row is of the main agent.
	side, lead bool
	// queued are prompts that were typed and not yet given to the model, given those that the
	// queue says were, less than 0 where attachments say so.
	queued []string
	given  map[string]int
	// pending is the key of a command, a prompt only if the model is asked.
	pending, command string
}

func openClaude(r *file) func([]byte) {
	c := &claudeFile{file: r, name: strings.TrimSuffix(filepath.Base(r.path), ".jsonl"), given: make(map[string]int)}
	if c.side = strings.HasPrefix(c.name, "agent-"); !c.side {
		r.owner = c.name
	}
	return rows(r, c.take)
}

// whose notes the session and the agent of a row.
func (c *claudeFile) whose(row *claudeRow) {
	from := cmp.Or(row.RequestSessionID, row.ForkedFrom.SessionID)
	c.at, c.session = timeOf(row.Timestamp), cmp.Or(from, row.SessionID, c.session, c.name)
	c.agent = row.AgentID
	if c.side {
		c.agent = cmp.Or(row.AgentID, strings.TrimPrefix(c.name, "agent-"))
	}
	c.lead = !c.side && !row.IsSidechain && row.AgentID == ""
	if !c.lead {
		c.agent = cmp.Or(c.agent, "?")
	}
	c.in(row.CWD)
	if from != "" && from != cmp.Or(row.SessionID, c.name) {
		c.give(cmp.Or(row.SessionID, c.name))
	}
}

func (c *claudeFile) take(row *claudeRow, line []byte) {
	c.whose(row)
	switch row.Type {
	case "assistant":
		c.answer(row)
		if c.pending != "" && c.lead && row.Message.Model != "<synthetic>" {
			c.ask()
		}
	case "user":
		c.user(row)
	case "system":
		if c.lead && !c.turn.Cut && (row.Subtype == "stop_hook_summary" || row.Subtype == "turn_duration") {
			c.finish(c.turn.Failed)
		}
	case "queue-operation":
		c.queue(row)
	case "attachment":
		c.attached(row)
	default:
		c.kind("claude-code", row.Type, line)
	}
	for i := range row.Message.Content {
		c.kind("claude-code parts", row.Message.Content[i].Type, line)
	}
}

// attached notes a prompt that was typed while the agent worked.
func (c *claudeFile) attached(row *claudeRow) {
	text := joined(row.Attachment.Prompt)
	if row.Attachment.Type != "queued_command" || !c.lead || !known("prompt", row.Attachment.CommandMode) || claudeHost(text) {
		return
	}
	if c.given[text]--; c.given[text] < 0 {
		c.typed(1, hashed(row.Timestamp, text), text)
	}
}

// known reports an empty text, or one of a list.
func known(kinds, kind string) bool {
	return kind == "" || slices.Contains(strings.Fields(kinds), kind)
}

// ask notes the pending command as a prompt.
func (c *claudeFile) ask() {
	c.typed(1, c.pending, c.command)
	c.pending = ""
}

// results adds the results of calls, and reports whether there are some.
func (c *claudeFile) results(row *claudeRow) (found bool) {
	for i := range row.Message.Content {
		if b := &row.Message.Content[i]; b.Type == "tool_result" && b.ToolUseID != "" {
			found = true
			c.result(b.ToolUseID, claudeStatus(row.ToolDenialKind, b))
		}
	}
	return found
}

func (c *claudeFile) user(row *claudeRow) {
	result, text := c.results(row), withoutEditor(joined(row.Message.Content))
	typed := known("typed sdk queued", row.PromptSource) && known("human", row.Origin.Kind)
	trimmed := strings.TrimSpace(text)
	switch {
	case c.lead && row.IsMeta && strings.HasPrefix(text, "Stop hook feedback:"):
		c.turn.Answered = false
	case c.lead && row.IsMeta && c.pending != "" && !strings.HasPrefix(text, "<local-command-"):
		c.ask() // its text for the model
		c.turn.Answered, c.turn.ended = false, false
	case result || !c.lead || row.IsMeta || row.IsCompactSummary || text == "":
	case interruption(text):
		if c.pending != "" {
			c.ask() // for the model, which had yet to answer
		}
		c.interrupt()
	case strings.Contains(text, "<command-name>") && strings.HasPrefix(trimmed, "<command-"):
		c.pending, c.command = hashed(row.Timestamp, text), commandOf(text)
		c.begin(c.pending)
		c.turn.Answered = true // until the model is asked
	case strings.HasPrefix(trimmed, "<local-command-"), claudeUnknown().MatchString(text):
		c.pending = "" // it was carried out
	case strings.HasPrefix(trimmed, "<bash-"):
	case !typed || claudeHost(text):
		c.begin("")
		c.pending = ""
	default:
		c.pending = ""
		c.prompt(1, hashed(row.Timestamp, text), text)
	}
}

// withoutEditor returns a prompt without what the editor shows, which comes before the words.
func withoutEditor(text string) string {
	for strings.HasPrefix(text, "<ide_") {
		_, text = element(text, "ide_")
		text = strings.TrimSpace(text)
	}
	return text
}

// commandOf returns a command as it was typed.
func commandOf(text string) string {
	name, _ := element(text, "command-name")
	args, _ := element(text, "command-args")
	return strings.TrimSpace(strings.TrimSpace(name) + " " + strings.TrimSpace(args))
}

// Beginnings of results of calls that did not run, of those that failed by themselves, and of
// words of the host in place of a prompt.
var (
	claudeDenials = []string{
		"The user doesn't want to", "Permission to use", "Permission for this action was denied", "Claude requested permissions",
		"PreToolUse:", "[Request interrupted by user", "User rejected tool use",
	}
	claudeFailures = []string{"Exit code ", "<tool_use_error>"}
	claudeNotices  = []string{"<task-notification", "<agent-notification", "<bash-notification", "<teammate-message", `{"task_id":"`}
	claudeStops    = pattern.Of(`ancelled|(?m:^)\[Request interrupted by user`)
	claudeUnknown  = pattern.Of(`^Unknown (?:skill|slash command): \S+$`) // that is a command
)

func claudeStatus(denial string, b *block) Status {
	if !b.IsError {
		return OK
	}
	said := b.Content.text()
	switch {
	case denial != "" || begins(said, claudeDenials):
		return Denied
	case begins(said, claudeFailures) && !claudeStops().MatchString(said):
		return Failed
	}
	return Bad
}

// queue follows the prompts that were typed while the agent worked.
func (c *claudeFile) queue(row *claudeRow) {
	text := value[string](row.Content)
	c.of() // may be older than the first prompt
	switch {
	case row.Operation == "enqueue" && (text == "" || !claudeHost(text)): // notices wait longer
		c.queued = append(c.queued, text)
	case row.Operation == "dequeue" && len(c.queued) > 0:
		c.queued = c.queued[1:]
	case row.Operation == "remove":
		i := slices.IndexFunc(c.queued, func(text string) bool { return !strings.HasPrefix(text, "/") }) // a command waits
		if i < 0 {
			return
		}
		text = c.queued[i]
		if c.given[text]++; text != "" && c.given[text] > 0 {
			c.typed(1, hashed(row.Timestamp, text), text)
		}
		c.queued = slices.Delete(c.queued, i, i+1)
	case row.Operation == "popAll":
		c.queued = nil
	}
}

// claudeHost reports words of the host in place of a prompt.
func claudeHost(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || interruption(text) || begins(text, claudeNotices)
}

// answer adds an answer's tokens and calls.
func (c *claudeFile) answer(row *claudeRow) {
	m := &row.Message
	if m.Model == "<synthetic>" || row.IsAPIErrorMessage {
		if row.IsAPIErrorMessage {
			c.failure(row.UUID)
		}
		if c.lead && row.IsAPIErrorMessage && !c.turn.Answered {
			c.finish(true) // and was not interrupted
		}
		return
	}
	if c.lead {
		c.within()
	}
	id := cmp.Or(m.ID, row.RequestID, row.UUID)
	if m.Usage != nil {
		q, advice := m.Usage.request(), 0
		q.add("compaction", m.Usage.Iterations)
		for i := range m.Usage.Iterations {
			if it := &m.Usage.Iterations[i]; it.Type == "advisor_message" {
				advice++
				c.request(1, fmt.Sprintf("%s-advisor-%d", id, advice), cmp.Or(it.Model, m.Model), it.request())
			}
		}
		q.final = m.StopReason != "" && q.Input+q.Output > 0
		c.request(1, id, m.Model, q)
	}
	for i := range m.Content {
		switch b := &m.Content[i]; {
		case b.Type == "tool_use" && b.ID != "":
			c.call(b.ID, b.Name)
			c.turn.Answered = c.turn.Answered && !c.lead
		case b.Type == "text" && c.lead:
			c.turn.Answered, c.turn.Failed = true, false
		}
	}
	if c.lead && m.StopReason != "" {
		if c.turn.Answered = m.StopReason != "tool_use" && m.StopReason != "pause_turn"; c.turn.Answered {
			c.finish(false)
		}
	}
}

// give gives the prompts that a fork's file began with to the session of the row, whose copies
// they are.
func (r *file) give(session string) {
	s, to := r.sessions[session], r.of()
	if s == nil || s == to {
		return
	}
	kept, given := s.Without(func(f Fact) bool { return !f.At.After(r.at) }), s.Without(func(f Fact) bool { return f.At.After(r.at) })
	for _, p := range given.Prompts {
		to.addPrompt(to.rank[1], p)
	}
	to.Turns = append(to.Turns, given.Turns...)
	s.Prompts, s.Turns = kept.Prompts, kept.Turns
	if len(s.Prompts) == 0 {
		s.Began = time.Time{}
	}
}

// joined joins texts. Without one, an image or a document is a prompt, too.
func joined(content []block) string {
	var texts []string
	shown := ""
	for _, b := range content {
		switch {
		case known("image input_image document", b.Type) && b.Type+string(b.InlineData) != "":
			shown = "[image]"
		case known("text input_text", b.Type) && b.Text != "":
			texts = append(texts, b.Text)
		}
	}
	return cmp.Or(strings.Join(texts, "\n"), shown)
}
